/* SPDX-License-Identifier: Apache-2.0 */
#include "lepd/server.h"
#include "lepd/machine.h"
#include "lepd/session.h"
#include "os/restriction.h"
#include "os/stream_server.h"
#include "os/thread.h"
#include <stdlib.h>

#define SECOND 1000000000ULL
#define MILLISECOND 1000000ULL
#define METHODS_MAX 64                /* at least the number of lines in methods.def */
#define SAMPLES_TIME (30 * SECOND)    /* samples are published after a request for them */
#define PROCESSES_TIME (15 * SECOND)  /* the same for readings of all processes */
#define QUICK_AGE (100 * MILLISECOND) /* texts are shared until they are this old */
#define SLOW_AGE (500 * MILLISECOND)

enum { WORKER_QUICK, WORKER_SLOW, WORKERS };

/* A connection; the session is first. */
struct connection {
    struct lepd_session session;
    struct connection *previous, *next; /* that wait for the same text */
    bool in_list;
};

/* A reading or a profile that several threads use. */
struct shared {
    size_t references; /* under the lock */
    struct metrics metrics;
    struct profile *profile; /* or NULL */
};

/* A method whose text is made by a worker. */
struct entry {
    bool requested, running;
    bool done; /* `result` is new: for the serving thread */
    struct lepd_text *result;
    /* of the serving thread alone */
    struct lepd_text *text;
    uint64_t made; /* when `text` was; 0: never, or it is not available */
    struct connection *waiting;
};

struct lepd_server {
    struct os_stream_server *stream;
    struct os_machine facts;
    struct os_thread serving, workers[WORKERS];
    struct os_lock lock; /* for all below, except parts of the entries */
    struct os_condition changed;
    bool stops;
    struct entry entries[METHODS_MAX];
    struct shared *before, *now; /* readings; before may be NULL */
    struct shared *samples;      /* or NULL */
    uint64_t samples_asked, processes_asked;
};

/* --- Shared data -------------------------------------------------------------------- */

static struct shared *hold(struct shared *x)
{
    if (x)
        x->references++;
    return x;
}

/* Under the lock. */
static void release(struct shared *x)
{
    if (!x || --x->references)
        return;
    metrics_deinit(&x->metrics);
    profile_destroy(x->profile);
    free(x);
}

static struct shared *shared_create(void)
{
    struct shared *x = calloc(1, sizeof *x);
    if (x)
        x->references = 1;
    return x;
}

void lepd_server_publish(struct lepd_server *s, struct profile *p)
{
    struct shared *x = shared_create();
    if (!x) {
        profile_destroy(p);
        return;
    }
    x->profile = p;
    os_lock_acquire(&s->lock);
    release(s->samples);
    s->samples = x;
    os_lock_release(&s->lock);
}

static bool asked_within(uint64_t asked, uint64_t time)
{
    return asked && os_clock_monotonic() - asked < time;
}

bool lepd_server_needs_samples(struct lepd_server *s)
{
    os_lock_acquire(&s->lock);
    bool needs = asked_within(s->samples_asked, SAMPLES_TIME);
    os_lock_release(&s->lock);
    return needs;
}

/* Reads the metrics, in the quick worker. `with_processes`: of all processes too. */
static void read_metrics(struct lepd_server *s, bool with_processes)
{
    struct shared *x = shared_create();
    unsigned parts = METRICS_SYSTEM | (with_processes ? METRICS_PROCESSES : 0);
    if (!x)
        return;
    bool ok = metrics_read(&x->metrics, &lepd_metrics_source, parts, os_clock_monotonic(),
                           os_clock_real());
    os_lock_acquire(&s->lock);
    if (ok && s->now && x->metrics.time - s->now->metrics.time < SECOND / 2) {
        release(s->now); /* too close for rates: the one before is compared with this */
        s->now = x;
    } else if (ok) {
        release(s->before);
        s->before = s->now;
        s->now = x;
    } else {
        release(x);
    }
    os_condition_wake(&s->changed);
    os_lock_release(&s->lock);
}

/* --- Workers ------------------------------------------------------------------------ */

static bool is_process_method(const struct lepd_method *m)
{
    static const char *const names[] = {"GetCmdTop", "GetCmdIotop", "GetCmdProcrank",
                                        "GetCmdCgtop"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_equal(str_of(m->name), str_of(names[i])))
            return true;
    return false;
}

/* Makes the text of a method. The lock is released meanwhile. */
static void make_text(struct lepd_server *s, size_t which)
{
    const struct lepd_method *method = &lepd_methods[which];
    struct entry *e = &s->entries[which];
    struct shared *now = hold(s->now), *before = hold(s->before);
    struct shared *samples = hold(s->samples);
    struct output text = OUTPUT_BUFFER;
    struct lepd_machine machine;
    os_lock_release(&s->lock);
    lepd_machine_init(&machine, &s->facts);
    machine.now = &now->metrics;
    bool comparable =
        before && (!is_process_method(method) || before->metrics.has_processes);
    machine.before = comparable ? &before->metrics : NULL;
    machine.profile = samples ? samples->profile : NULL;
    struct lepd_text *result = lepd_method_write(method, &machine, &text)
                                   ? lepd_text_create(output_contents(&text))
                                   : NULL;
    output_deinit(&text);
    os_lock_acquire(&s->lock);
    release(now);
    release(before);
    release(samples);
    lepd_text_release(e->result);
    e->result = result;
    e->running = false;
    e->done = true;
    os_stream_server_wake(s->stream);
}

/* A method that is requested of this worker; lepd_method_count if there is none. Under
 * the lock. Begins with `from`, so that no method waits for ever. */
static size_t find_request(const struct lepd_server *s, bool slow, size_t from)
{
    for (size_t n = 0; n < lepd_method_count; n++) {
        size_t i = (from + n) % lepd_method_count;
        if (lepd_methods[i].is_slow == slow && s->entries[i].requested)
            return i;
    }
    return lepd_method_count;
}

/* Makes all texts that are requested. Under the lock. */
static void make_texts(struct lepd_server *s, bool slow, size_t *from)
{
    size_t which = find_request(s, slow, *from);
    while (which < lepd_method_count && !s->stops) {
        s->entries[which].requested = false;
        s->entries[which].running = true;
        make_text(s, which);
        *from = which + 1;
        which = find_request(s, slow, *from);
    }
}

/* Whether all processes are read now: while clients ask for them. Under the lock. */
static bool reads_processes(const struct lepd_server *s)
{
    return asked_within(s->processes_asked, PROCESSES_TIME);
}

static void run_quick(void *context)
{
    struct lepd_server *s = context;
    uint64_t next = os_clock_monotonic() + SECOND;
    size_t from = 0;
    os_thread_restrict();
    os_lock_acquire(&s->lock);
    while (!s->stops) {
        uint64_t now = os_clock_monotonic();
        bool missing = reads_processes(s) && !s->now->metrics.has_processes;
        if (now >= next || missing) {
            bool with_processes = reads_processes(s);
            os_lock_release(&s->lock);
            read_metrics(s, with_processes);
            os_lock_acquire(&s->lock);
            if (now >= next)
                next = now + SECOND;
        }
        make_texts(s, false, &from);
        if (!s->stops && find_request(s, false, 0) == lepd_method_count)
            os_condition_wait(&s->changed, &s->lock, next);
    }
    os_lock_release(&s->lock);
}

static void run_slow(void *context)
{
    struct lepd_server *s = context;
    size_t from = 0;
    os_thread_restrict();
    os_lock_acquire(&s->lock);
    while (!s->stops) {
        /* the quick worker reads the processes first */
        if (!reads_processes(s) || s->now->metrics.has_processes)
            make_texts(s, true, &from);
        if (!s->stops)
            os_condition_wait(&s->changed, &s->lock, os_clock_monotonic() + SECOND);
    }
    os_lock_release(&s->lock);
}

/* --- Connections: the serving thread ------------------------------------------------- */

static void leave_list(struct lepd_server *s, struct connection *c)
{
    if (!c->in_list)
        return;
    for (size_t i = 0; i < lepd_method_count; i++)
        if (s->entries[i].waiting == c)
            s->entries[i].waiting = c->next;
    if (c->previous)
        c->previous->next = c->next;
    if (c->next)
        c->next->previous = c->previous;
    c->previous = c->next = NULL;
    c->in_list = false;
}

static void enter_list(struct entry *e, struct connection *c)
{
    c->previous = NULL;
    c->next = e->waiting;
    if (e->waiting)
        e->waiting->previous = c;
    e->waiting = c;
    c->in_list = true;
}

/* Asks a worker for the text. */
static void request_text(struct lepd_server *s, const struct lepd_method *method,
                         struct entry *e)
{
    uint64_t now = os_clock_monotonic();
    os_lock_acquire(&s->lock);
    if (is_process_method(method))
        s->processes_asked = now;
    if (str_starts(str_of(method->name), STR("GetCmdPerf")))
        s->samples_asked = now;
    if (!e->requested && !e->running && !e->done) {
        e->requested = true;
        os_condition_wake(&s->changed);
    }
    os_lock_release(&s->lock);
}

/* Supplies the text that the session waits for, if it is recent; or requests it. */
static void serve(struct lepd_server *s, struct connection *c)
{
    while (c->session.waiting && !c->in_list) {
        const struct lepd_method *method = c->session.waiting;
        struct entry *e = &s->entries[method - lepd_methods];
        uint64_t age = method->is_slow ? SLOW_AGE : QUICK_AGE;
        if (e->made && os_clock_monotonic() - e->made < age) {
            lepd_session_supply(&c->session, e->text);
        } else {
            enter_list(e, c);
            request_text(s, method, e);
        }
    }
}

static void on_end(void *context, void *session)
{
    struct connection *c = session;
    leave_list(context, c);
    lepd_session_deinit(&c->session);
}

static size_t on_room(const void *session)
{
    return lepd_session_room(&((const struct connection *)session)->session);
}

static void on_receive(void *context, void *session, struct str bytes)
{
    struct connection *c = session;
    lepd_session_receive(&c->session, bytes);
    serve(context, c);
}

static void on_closed(void *session)
{
    ((struct connection *)session)->session.closed = true;
}

static size_t on_output(const void *session, struct str pieces[OS_STREAM_PIECES])
{
    return lepd_session_output(&((const struct connection *)session)->session, pieces);
}

static void on_sent(void *context, void *session, size_t count)
{
    struct connection *c = session;
    lepd_session_sent(&c->session, count);
    serve(context, c);
}

static bool on_ends(const void *session)
{
    return lepd_session_is_over(&((const struct connection *)session)->session);
}

static bool on_failed(const void *session)
{
    return ((const struct connection *)session)->session.failed;
}

/* Takes a new text from its worker; false if there is none. */
static bool take_text(struct lepd_server *s, struct entry *e)
{
    os_lock_acquire(&s->lock);
    bool done = e->done;
    if (done) {
        lepd_text_release(e->text);
        e->text = e->result;
        e->result = NULL;
        e->done = false;
    }
    os_lock_release(&s->lock);
    return done;
}

static void on_woken(void *context)
{
    struct lepd_server *s = context;
    for (size_t i = 0; i < lepd_method_count; i++) {
        struct entry *e = &s->entries[i];
        if (!take_text(s, e))
            continue;
        e->made = os_clock_monotonic();
        while (e->waiting) {
            struct connection *c = e->waiting;
            leave_list(s, c);
            lepd_session_supply(&c->session, e->text);
            serve(s, c);
            os_stream_server_changed(s->stream, c);
        }
    }
}

static const struct os_stream_protocol protocol = {
    .size = sizeof(struct connection),
    .end = on_end,
    .room = on_room,
    .receive = on_receive,
    .closed = on_closed,
    .output = on_output,
    .sent = on_sent,
    .ends = on_ends,
    .failed = on_failed,
    .woken = on_woken,
};

static void run_serving(void *context)
{
    os_thread_restrict();
    os_stream_server_run(((struct lepd_server *)context)->stream);
}

/* --- Start and stop ------------------------------------------------------------------- */

static bool start(struct lepd_server *s, const char *address, bool any_address,
                  struct error *err)
{
    if (!os_lock_init(&s->lock) || !os_condition_init(&s->changed))
        return error_memory(err);
    if (!any_address && !os_stream_address_is_local(address)) {
        error_set(err, "LEPD has no authentication, and %s is not a loopback address",
                  address);
        return error_hint(err, "listen on " LEPD_ADDRESS
                               ", and forward the port: ssh -L 12307:localhost:12307");
    }
    s->stream = os_stream_server_open(address, LEPD_CLIENTS_MAX, &protocol, s, err);
    if (!s->stream)
        return false;
    os_machine_read(&s->facts);
    read_metrics(s, false);
    if (!s->now)
        return error_memory(err);
    return os_thread_start(&s->workers[WORKER_QUICK], run_quick, s, err) &&
           os_thread_start(&s->workers[WORKER_SLOW], run_slow, s, err) &&
           os_thread_start(&s->serving, run_serving, s, err);
}

struct lepd_server *lepd_server_start(const char *address, bool any_address,
                                      struct error *err)
{
    struct lepd_server *s = calloc(1, sizeof *s);
    if (!s) {
        error_memory(err);
        return NULL;
    }
    if (start(s, address, any_address, err))
        return s;
    lepd_server_stop(s);
    return NULL;
}

static void stop_threads(struct lepd_server *s)
{
    if (!s->stream)
        return;
    os_lock_acquire(&s->lock);
    s->stops = true;
    os_condition_wake(&s->changed);
    os_lock_release(&s->lock);
    os_stream_server_stop(s->stream);
    os_thread_join(&s->serving);
    for (size_t i = 0; i < WORKERS; i++)
        os_thread_join(&s->workers[i]);
}

void lepd_server_stop(struct lepd_server *s)
{
    if (!s)
        return;
    stop_threads(s);
    os_stream_server_close(s->stream);
    for (size_t i = 0; i < METHODS_MAX; i++) {
        lepd_text_release(s->entries[i].text);
        lepd_text_release(s->entries[i].result);
    }
    release(s->before);
    release(s->now);
    release(s->samples);
    os_condition_deinit(&s->changed);
    os_lock_deinit(&s->lock);
    free(s);
}

unsigned lepd_server_port(const struct lepd_server *s)
{
    return os_stream_server_port(s->stream);
}
