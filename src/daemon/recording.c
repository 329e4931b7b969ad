/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/recording.h"
#include "base/format.h"
#include "os/file.h"
#include "os/machine.h"
#include "store/store.h"
#include <unistd.h>

bool daemon_recording_init(struct daemon_recording *r, const char *store)
{
    char name[17];
    r->job = OS_JOB_NONE;
    if (!store_location_is_address(store))
        format_text(r->path, sizeof r->path, "%s.recording.stoke", store);
    else if (os_random_text(name, sizeof name)) /* it is unpredictable */
        format_text(r->path, sizeof r->path, "/tmp/stoke-%s.recording.stoke", name);
    unlink(r->path); /* of a daemon that was killed */
    return os_lock_init(&r->lock);
}

void daemon_recording_deinit(struct daemon_recording *r)
{
    os_job_close(&r->job);
    home_request_deinit(&r->request);
    if (r->path[0])
        unlink(r->path);
    os_lock_deinit(&r->lock);
}

/* --- Threads of the server ---------------------------------------------------------------- */

static bool is_active(const struct daemon_recording *r)
{
    return r->state == RECORDING_REQUESTED || r->state == RECORDING_RUNS;
}

static bool take(struct daemon_recording *r, const struct home_request *request,
                 struct error *err)
{
    os_lock_acquire(&r->lock);
    bool busy = is_active(r);
    if (busy) {
        error_set(err, "a recording of %s is in progress", r->request.title);
        error_hint(err, "stop it first");
    } else {
        home_request_deinit(&r->request);
        r->request = *request;
        r->state = RECORDING_REQUESTED;
        r->stops = false;
        r->number++;
    }
    os_lock_release(&r->lock);
    return !busy;
}

bool daemon_recording_request(struct daemon_recording *r, struct str settings, bool *busy,
                              struct error *err)
{
    const struct home_request_limits limits = {.path = r->path,
                                               .only_processes = true,
                                               .rate = DAEMON_RECORDING_RATE_MAX,
                                               .seconds = DAEMON_RECORDING_SECONDS_MAX};
    struct home_request request;
    *busy = false;
    bool ok = home_request_read(&request, settings, &limits, err);
    if (ok && take(r, &request, err))
        return true;
    *busy = ok;
    home_request_deinit(&request);
    return false;
}

void daemon_recording_stop(struct daemon_recording *r)
{
    os_lock_acquire(&r->lock);
    r->stops |= is_active(r);
    os_lock_release(&r->lock);
}

static const char *state_name(const struct daemon_recording *r)
{
    switch (r->state) {
    case RECORDING_REQUESTED:
        return "waiting";
    case RECORDING_RUNS:
        return r->stops ? "ending" : "recording";
    case RECORDING_DONE:
        return "recorded";
    case RECORDING_FAILED:
        return "failed";
    default:
        return "none";
    }
}

void daemon_recording_write(struct daemon_recording *r, struct json_writer *w)
{
    os_lock_acquire(&r->lock);
    uint64_t now = os_clock_monotonic();
    bool runs = r->state == RECORDING_RUNS, has_begun = r->state > RECORDING_REQUESTED;
    json_begin(w, JSON_OBJECT);
    json_member_str(w, "state", str_of(state_name(r)));
    json_member_u64(w, "number", r->number);
    if (r->state != RECORDING_NONE) {
        json_member_str(w, "title", str_of(r->request.title));
        json_member_double(w, "duration", r->request.duration);
    }
    if (has_begun)
        json_member_double(w, "seconds",
                           (double)((runs ? now : r->ended) - r->began) / 1e9);
    if (r->state == RECORDING_FAILED)
        json_member_str(w, "error", str_of(r->messages));
    json_end(w, JSON_OBJECT);
    os_lock_release(&r->lock);
}

bool daemon_recording_read(struct daemon_recording *r, struct output *o,
                           struct error *err)
{
    struct os_mapping m = OS_MAPPING_NONE;
    os_lock_acquire(&r->lock);
    bool ok = r->state == RECORDING_DONE || error_set(err, "there is no recording");
    ok = ok && os_mapping_open(&m, r->path, err);
    os_lock_release(&r->lock); /* a later recording is another file */
    if (ok)
        output_str(o, m.bytes);
    os_mapping_close(&m);
    return ok;
}

/* --- The loop ----------------------------------------------------------------------------- */

static void fail(struct daemon_recording *r, struct str why)
{
    r->state = RECORDING_FAILED;
    r->ended = os_clock_monotonic();
    format_text(r->messages, sizeof r->messages, "%.*s",
                STR_ARG(why.len ? why : STR("the recorder was ended")));
}

static void start(struct daemon_recording *r, struct os_wait *wait)
{
    struct error err;
    r->began = os_clock_monotonic();
    r->has_stopped = false;
    unlink(r->path);
    if (os_job_execute(&r->job, r->request.argv, wait, &err))
        r->state = RECORDING_RUNS;
    else
        fail(r, str_of(err.message));
}

/* The first message, without the name of the program. */
static struct str reason(const struct os_job *job)
{
    struct str text = str_trim(os_job_messages(job));
    struct str line = str_cut(&text, '\n'), prefix = STR("stoke: ");
    return str_starts(line, prefix) ? str_skip(line, prefix.len) : line;
}

static void finish(struct daemon_recording *r)
{
    r->ended = os_clock_monotonic();
    if (os_output_exists(r->path))
        r->state = RECORDING_DONE;
    else
        fail(r, reason(&r->job));
    os_job_close(&r->job);
}

void daemon_recording_turn(struct daemon_recording *r, struct os_wait *wait)
{
    os_lock_acquire(&r->lock);
    if (r->state == RECORDING_REQUESTED)
        start(r, wait);
    else if (r->state == RECORDING_RUNS && os_job_ended(&r->job))
        finish(r);
    if (r->state == RECORDING_RUNS && r->stops && !r->has_stopped) {
        os_job_stop(&r->job);
        r->has_stopped = true; /* a second signal would end it immediately */
    }
    os_lock_release(&r->lock);
}

bool daemon_recording_is_active(const struct daemon_recording *r)
{
    return r->job.child.pid != 0;
}
