/* SPDX-License-Identifier: Apache-2.0 */
#include "record/heap_attach.h"
#include "base/format.h"
#include "base/heap_format.h"
#include "os/file.h"
#include "os/proc.h"
#include "os/wait.h"
#include "record/heap_target.h"
#include <string.h>

#define CONTROL_SIZE 4096
#define POLL_MS 1
#define WATCH_MS 20
#define STOPPED_CHECKS 250

/* A process whose threads are all in the C library, or do not stop in time, is detached later. The
 * caller waits for the first tries. */
#define DETACH_TRIES 3
#define DETACH_TRIES_ALONE 300
#define DETACH_PAUSE_MS 200

/* dlopen(3) */
#define OPEN_NOW 2
#define OPEN_NO_DELETE 0x1000

struct heap_attach_control {
    uint32_t state; /* enum heap_attach_state */
    uint32_t pid, caller;
    int64_t fd; /* in the process */
    uint64_t attach, detach;
    uint32_t process_count, processes[HEAP_ATTACH_PROCESSES]; /* without `pid` */
    bool is_last_try;                                         /* of detaching */
    char library[1792];
    char message[512], hint[256]; /* of HEAP_STATE_FAILED and HEAP_STATE_LEFT */
};

_Static_assert(sizeof(struct heap_attach_control) <= CONTROL_SIZE, "it fits");

static enum heap_attach_state state_of(const struct heap_attach_control *c)
{
    return (enum heap_attach_state)__atomic_load_n(&c->state, __ATOMIC_ACQUIRE);
}

static void set_state(struct heap_attach_control *c, enum heap_attach_state state)
{
    __atomic_store_n(&c->state, (uint32_t)state, __ATOMIC_RELEASE);
}

static void set_failure(struct heap_attach_control *c, enum heap_attach_state state,
                        const struct error *err)
{
    format_text(c->message, sizeof c->message, "%s", err->message);
    format_text(c->hint, sizeof c->hint, "%s", err->hint);
    set_state(c, state);
}

static bool caller_is_gone(const struct heap_attach_control *c)
{
    return !os_process_runs(c->caller);
}

/* --- Attaching ---------------------------------------------------------------------- */

/* The process must load the same file that the caller sees. */
static bool check_library(const struct heap_attach_control *c, struct error *err)
{
    char path[2112];
    struct os_file_facts own, seen;
    format_text(path, sizeof path, "/proc/%u/root%s", c->pid, c->library);
    if (os_file_facts(&own, str_of(c->library)) && os_file_facts(&seen, str_of(path)) &&
        own.inode == seen.inode && own.size == seen.size && own.changed == seen.changed)
        return true;
    error_set(err, "process %u does not see the file %s", c->pid, c->library);
    return error_hint(err, "it is in another root folder, such as a container's: run "
                           "stoke there");
}

/* The dynamic linker's message. */
static bool explain_open(struct os_injection *i, const struct heap_target *t,
                         const char *library, struct error *err)
{
    uint64_t address;
    char text[256] = "";
    if (!os_inject_call(i, t->error_text, 0, 0, &address, err))
        return false;
    for (size_t n = 0; n + 1 < sizeof text; n++)
        if (!os_process_read(i->tid, address + n, &text[n], 1) || !text[n])
            break;
    text[sizeof text - 1] = 0;
    return error_set(err, "process %u cannot load %s: %s", t->pid, library, text);
}

static bool load_library(struct os_injection *i, const struct heap_target *t,
                         struct heap_attach_control *c, struct error *err)
{
    uint64_t path, handle, base;
    struct heap_library library;
    if (!heap_library_read(&library, c->library, err) ||
        !os_inject_text(i, c->library, &path, err) ||
        !os_inject_call(i, t->open, path, OPEN_NOW | OPEN_NO_DELETE, &handle, err))
        return false;
    if (!handle)
        return explain_open(i, t, c->library, err);
    /* the first field of the dynamic linker's struct link_map */
    if (!os_process_read(t->pid, handle, &base, sizeof base))
        return error_set(err, "process %u: cannot find the loaded library", t->pid);
    c->attach = base + library.attach;
    c->detach = base + library.detach;
    return true;
}

static bool explain_result(const struct heap_target *t, uint64_t result,
                           struct error *err)
{
    switch (result) {
    case HEAP_ATTACHED:
        return true;
    case HEAP_ATTACH_BUSY:
        error_set(err, "the heap of process %u is recorded already", t->pid);
        return error_hint(err, "wait until the other recording ends");
    case HEAP_ATTACH_OTHER_MALLOC:
        error_set(err, "process %u does not use the C library's malloc", t->pid);
        return error_hint(err, "programs that bring their own, such as jemalloc or "
                               "tcmalloc, cannot be recorded");
    case HEAP_ATTACH_PROTECTED:
        return error_set(err, "process %u: its functions cannot be replaced", t->pid);
    default:
        return error_set(err, "process %u has no memory for the recording", t->pid);
    }
}

/* Waits for the caller, with the thread stopped. */
static bool wait_for_go(struct heap_attach_control *c, struct error *err)
{
    while (state_of(c) == HEAP_STATE_FILE && !caller_is_gone(c))
        os_sleep(POLL_MS);
    return state_of(c) == HEAP_STATE_GO ||
           error_set(err, "the recording was not started");
}

static bool attach_on(struct os_injection *i, const struct heap_target *t,
                      struct heap_attach_control *c, struct error *err)
{
    uint64_t result;
    if (!os_inject_memory_file(i, &c->fd, err))
        return false;
    set_state(c, HEAP_STATE_FILE);
    bool ok = wait_for_go(c, err) && load_library(i, t, c, err) &&
              os_inject_call(i, c->attach, (uint64_t)c->fd, 0, &result, err) &&
              explain_result(t, result, err);
    os_inject_close(i, c->fd);
    return ok;
}

/* Calls `work` on a thread of the process. */
static bool with_thread(struct heap_target *t, struct heap_attach_control *c,
                        bool (*work)(struct os_injection *i, const struct heap_target *t,
                                     struct heap_attach_control *c, struct error *err),
                        struct error *err)
{
    struct os_stopped stopped;
    struct os_injection i;
    if (!heap_target_stop(t, &stopped, err))
        return false;
    bool ok = os_inject_begin(&i, &stopped, &t->code, err) && work(&i, t, c, err);
    os_inject_end(&i);
    return ok;
}

static int attach(void *control)
{
    struct heap_attach_control *c = control;
    struct heap_target t;
    struct error err = {.location = LOCATION_NONE};
    bool ok = heap_target_examine(&t, c->pid, &err) && check_library(c, &err) &&
              with_thread(&t, c, attach_on, &err);
    if (ok)
        set_state(c, HEAP_STATE_RECORDING);
    else
        set_failure(c, HEAP_STATE_FAILED, &err);
    return 0;
}

/* --- Detaching ---------------------------------------------------------------------- */

/* A process that executes another program has nothing left. */
static bool has_library(const struct heap_target *t, const struct heap_attach_control *c)
{
    return c->detach >= t->library.start && c->detach < t->library.end;
}

static bool detach_on(struct os_injection *i, const struct heap_target *t,
                      struct heap_attach_control *c, struct error *err)
{
    uint64_t left;
    if (!has_library(t, c))
        return true;
    if (!os_inject_call(i, c->detach, 0, 0, &left, err))
        return false;
    if (left == 0)
        return true;
    return error_set(err, "process %u: %llu replaced functions could not be restored",
                     t->pid, (unsigned long long)left);
}

/* A stopped process may be continued soon. */
static void wait_while_stopped(uint32_t pid)
{
    for (int i = 0; i < STOPPED_CHECKS && os_process_is_stopped(pid); i++)
        os_sleep(WATCH_MS);
}

/* A process that ended meanwhile has nothing left. */
static bool detach_process(struct heap_attach_control *c, uint32_t pid, struct error *err)
{
    struct heap_target t;
    wait_while_stopped(pid);
    if (!os_process_runs(pid))
        return true;
    bool ok = heap_target_examine(&t, pid, err);
    if (ok && has_library(&t, c))
        ok = with_thread(&t, c, detach_on, err);
    return ok || !os_process_runs(pid);
}

static int detach(void *control)
{
    struct heap_attach_control *c = control;
    struct error err = {.location = LOCATION_NONE};
    bool ok = detach_process(c, c->pid, &err);
    uint32_t count = __atomic_load_n(&c->process_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++)
        ok &= detach_process(c, c->processes[i], ok ? &err : NULL);
    if (ok)
        set_state(c, HEAP_STATE_RESTORED);
    else if (c->is_last_try)
        set_failure(c, HEAP_STATE_LEFT, &err);
    return 0;
}

/* --- The guardian ------------------------------------------------------------------- */

/* Threads that did not stop in time are released when the process that stopped them ends.
 * So each step is a process of its own. */
static bool run_step(int (*step)(void *control), struct heap_attach_control *c)
{
    struct os_child child;
    struct error err = {.location = LOCATION_NONE};
    if (!os_child_run(&child, step, c, &err)) {
        set_failure(c, HEAP_STATE_FAILED, &err);
        return false;
    }
    os_child_wait(&child);
    return true;
}

static bool is_attached(const struct heap_attach_control *c)
{
    enum heap_attach_state state = state_of(c);
    return state == HEAP_STATE_RECORDING || state == HEAP_STATE_STOP;
}

static void detach_all(struct heap_attach_control *c)
{
    for (unsigned try = 1; is_attached(c); try++) {
        if (try > 1)
            os_sleep(DETACH_PAUSE_MS);
        c->is_last_try = try >= (caller_is_gone(c) ? DETACH_TRIES_ALONE : DETACH_TRIES);
        run_step(detach, c);
        if (c->is_last_try)
            return;
    }
}

static int watch(void *control)
{
    struct heap_attach_control *c = control;
    os_child_leave_group();
    if (!run_step(attach, c))
        return 1;
    while (state_of(c) == HEAP_STATE_RECORDING && !caller_is_gone(c))
        os_sleep(WATCH_MS);
    detach_all(c);
    return 0;
}

/* --- The caller --------------------------------------------------------------------- */

bool heap_attach_start(struct heap_attachment *a, uint32_t pid, const char *library,
                       struct error *err)
{
    *a = (struct heap_attachment){.memory.fd = -1};
    if (!os_shared_memory_create(&a->memory, CONTROL_SIZE, err))
        return false;
    a->control = os_shared_memory_map(&a->memory, 0, CONTROL_SIZE, 1, err);
    if (!a->control)
        return false;
    a->control->pid = pid;
    a->control->caller = os_own_pid();
    if (strlen(library) >= sizeof a->control->library)
        return error_set(err, "the path %s is too long", library);
    format_text(a->control->library, sizeof a->control->library, "%s", library);
    return os_child_run(&a->guardian, watch, a->control, err);
}

enum heap_attach_state heap_attach_state(struct heap_attachment *a, struct error *err)
{
    bool ended = os_child_ended(&a->guardian);
    enum heap_attach_state state = state_of(a->control);
    if (state == HEAP_STATE_FAILED || state == HEAP_STATE_LEFT) {
        a->control->message[sizeof a->control->message - 1] = 0;
        error_set(err, "%s", a->control->message);
        if (a->control->hint[0])
            error_hint(err, "%s", a->control->hint);
    } else if (ended && state != HEAP_STATE_RESTORED) {
        error_set(err, "the process that attaches the recorder has ended");
        state = HEAP_STATE_LEFT;
    }
    return state;
}

bool heap_attach_file(struct heap_attachment *a, struct os_shared_memory *file,
                      uint64_t size, struct error *err)
{
    enum heap_attach_state state;
    while ((state = heap_attach_state(a, err)) == HEAP_STATE_STARTING)
        os_sleep(POLL_MS);
    return state == HEAP_STATE_FILE &&
           os_shared_memory_open(file, a->control->pid, a->control->fd, size, err);
}

bool heap_attach_add(struct heap_attachment *a, uint32_t pid)
{
    struct heap_attach_control *c = a->control;
    if (pid == c->pid)
        return true;
    if (c->process_count == HEAP_ATTACH_PROCESSES)
        return false;
    c->processes[c->process_count] = pid;
    __atomic_store_n(&c->process_count, c->process_count + 1, __ATOMIC_RELEASE);
    return true;
}

void heap_attach_go(struct heap_attachment *a)
{
    set_state(a->control, HEAP_STATE_GO);
}

bool heap_attach_stop(struct heap_attachment *a, struct error *err)
{
    enum heap_attach_state state;
    uint32_t recording = HEAP_STATE_RECORDING;
    while (heap_attach_state(a, err) == HEAP_STATE_GO)
        os_sleep(POLL_MS);
    (void)__atomic_compare_exchange_n(&a->control->state, &recording, HEAP_STATE_STOP,
                                      false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    while ((state = heap_attach_state(a, err)) == HEAP_STATE_STOP)
        os_sleep(POLL_MS);
    return state == HEAP_STATE_RESTORED;
}

void heap_attach_close(struct heap_attachment *a)
{
    struct error ignored;
    if (a->guardian.pid && state_of(a->control) == HEAP_STATE_FILE)
        set_state(a->control, HEAP_STATE_STOP);
    else if (a->guardian.pid)
        heap_attach_stop(a, &ignored);
    if (a->guardian.pid && !a->guardian.ended)
        os_child_wait(&a->guardian);
    os_shared_memory_unmap(a->control, CONTROL_SIZE, 1);
    os_shared_memory_close(&a->memory);
}
