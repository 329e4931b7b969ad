/* SPDX-License-Identifier: Apache-2.0 */
/* A recording that another event loop drives, and the table of event sources. */
#include "os/machine.h"
#include "record/session.h"
#include "unit.h"
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND ((uint64_t)1000000000)

static struct record_report last;

static void note_progress(void *context, const struct record_report *r)
{
    ++*(unsigned *)context;
    last = *r;
}

/* A process to sample, until it is killed. */
static pid_t spin(void)
{
    pid_t child = fork();
    if (child == 0)
        for (volatile unsigned i = 0;; i++)
            ;
    return child;
}

/* Waits as a program with its own loop does: for the file descriptor, or the deadline. */
static unsigned run_own_loop(struct record_session *s)
{
    unsigned turns = 0;
    do {
        struct pollfd fd = {.fd = record_session_fd(s), .events = POLLIN};
        uint64_t now = os_clock_monotonic(), until = record_session_deadline(s);
        poll(&fd, 1, until > now ? (int)((until - now) / 1000000 + 1) : 0);
        turns++;
    } while (record_session_step(s));
    return turns;
}

static void another_loop_drives_a_recording(void **state)
{
    sigset_t before, after;
    struct error err;
    struct record_report r;
    unsigned progress = 0;
    uint32_t pid = (uint32_t)spin();
    struct record_settings settings = {
        .sampler = {.targets = {.tids = &pid, .tid_count = 1},
                    .stacks = RECORD_STACKS_NONE,
                    .rate = 499},
        .duration = SECOND,
        .hosted = true,
        .context = &progress,
        .progress = note_progress};
    (void)state;
    settings.sampler.events.items[settings.sampler.events.count++] = record_event_clock();
    record_event_only_user(&settings.sampler.events.items[0]);
    sigprocmask(SIG_SETMASK, NULL, &before);
    struct record_session *s = record_session_create(&settings, &err);
    bool opened = s && record_session_open(s, &err);
    unsigned turns = 0;
    bool ok = opened && record_session_start(s, &err);
    if (ok) {
        turns = run_own_loop(s);
        ok = record_session_finish(s, &err);
        record_session_report(s, &r);
    }
    sigprocmask(SIG_SETMASK, NULL, &after);
    kill((pid_t)pid, SIGKILL);
    waitpid((pid_t)pid, NULL, 0);
    if (!opened) {
        record_session_destroy(s);
        skip(); /* the kernel does not allow it */
    }
    if (!ok)
        fail_msg("%s", err.message);
    assert_true(turns > 1);
    assert_true(progress > 1);
    assert_true(r.samples > 0);
    assert_true(r.samples >= last.samples);
    assert_int_equal(r.files.samples, r.samples);
    assert_true(r.duration >= SECOND);
    assert_true(r.cpus > 0);
    assert_string_equal(r.event, "cpu-clock:u");
    for (int i = 1; i < SIGRTMAX; i++)
        assert_int_equal(sigismember(&before, i), sigismember(&after, i));
    record_session_destroy(s);
}

static void a_target_that_ends_is_the_end(void **state)
{
    struct error err;
    uint32_t pid = (uint32_t)spin();
    struct record_settings settings = {
        .sampler = {.targets = {.tids = &pid, .tid_count = 1},
                    .stacks = RECORD_STACKS_NONE,
                    .rate = 99},
        .hosted = true};
    (void)state;
    settings.sampler.events.items[settings.sampler.events.count++] = record_event_clock();
    record_event_only_user(&settings.sampler.events.items[0]);
    struct record_session *s = record_session_create(&settings, &err);
    bool opened = s && record_session_open(s, &err);
    bool ok = opened && record_session_start(s, &err);
    bool continues = ok && record_session_step(s);
    kill((pid_t)pid, SIGKILL);
    waitpid((pid_t)pid, NULL, 0);
    if (continues)
        run_own_loop(s);
    record_session_destroy(s);
    if (!opened)
        skip();
    assert_true(ok);
    assert_true(continues);
}

/* Every source has a name of its own, and those that are part of another one name it. */
static void sources_are_complete(void **state)
{
    (void)state;
    for (size_t i = 0; i < EVENT_SOURCE_COUNT; i++) {
        const struct event_source *source = event_sources[i];
        bool found = !source->part_of;
        assert_true(source->name[0]);
        for (size_t k = 0; k < EVENT_SOURCE_COUNT; k++) {
            found |= event_sources[k] == source->part_of;
            if (k < i)
                assert_string_not_equal(source->name, event_sources[k]->name);
        }
        assert_true(found);
        assert_true(!source->event || source->items);
        assert_true(source->part_of || source->size > 0);
    }
}

static void contradictions_are_refused(void **state)
{
    struct perf_sampler_settings sampler = {.stacks = RECORD_STACKS_LBR};
    struct event_source_request request = {.on = {[EVENT_SOURCE_off_cpu] = true}};
    struct event_source_setup setup = {.sampler = &sampler, .request = &request};
    struct error err;
    (void)state;
    assert_true(event_sources_check(&setup, &err));
    setup.keeps_dumps = true;
    assert_false(event_sources_check(&setup, &err));
    assert_non_null(strstr(err.message, "--keep-stacks"));
    setup.keeps_dumps = false;
    request.on[EVENT_SOURCE_wakers] = true;
    assert_false(event_sources_check(&setup, &err));
    assert_non_null(strstr(err.message, "lbr"));
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(another_loop_drives_a_recording),
        UNIT(a_target_that_ends_is_the_end),
        UNIT(sources_are_complete),
        UNIT(contradictions_are_refused),
    };
    return UNITS_RUN(units);
}
