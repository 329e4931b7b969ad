/* SPDX-License-Identifier: Apache-2.0 */
#include "record/refusal.h"
#include "base/format.h"
#include "base/number.h"
#include "os/machine.h"
#include "os/mapping.h"
#include "perf/format.h"
#include <errno.h>

int record_paranoid(void)
{
    char room[32];
    double value;
    struct str text =
        str_trim(os_read_text("/proc/sys/kernel/perf_event_paranoid", room, sizeof room));
    return number_parse_double(text, &value) ? (int)value : 2;
}

uint32_t record_rate_most(void)
{
    char room[32];
    uint64_t value;
    struct str text = str_trim(
        os_read_text("/proc/sys/kernel/perf_event_max_sample_rate", room, sizeof room));
    bool known = number_parse_u64(text, &value) && value && value < UINT32_MAX;
    return known ? (uint32_t)value : UINT32_MAX;
}

/* "the kernel does not let you record WHAT", and the setting that forbids it, which must
 * be `wanted` at most. */
static bool by_setting(const char *command, const char *what, int wanted,
                       struct error *err)
{
    error_set(err,
              "the kernel does not let you record %s: "
              "/proc/sys/kernel/perf_event_paranoid is %d, and stoke has no CAP_PERFMON",
              what, record_paranoid());
    return error_hint(err,
                      "sudo stoke %s ..., or sudo sysctl kernel.perf_event_paranoid=%d",
                      command, wanted);
}

/* Others' processes: there, no setting helps. */
static bool not_yours(const char *command, struct error *err)
{
    error_set(
        err,
        "the kernel does not let you record processes that are not yours: stoke has "
        "no CAP_PERFMON, without which kernel.perf_event_paranoid, %d, is for your "
        "own alone",
        record_paranoid());
    return error_hint(err, "sudo stoke %s ...", command);
}

static bool not_allowed(const struct perf_sampler_settings *settings,
                        const struct record_event *e, struct error *err)
{
    const char *command = settings->command ? settings->command : "record";
    char what[RECORD_EVENT_NAME_MAX + 32];
    if (os_user() == 0) {
        error_set(err, "the kernel does not let even root record here "
                       "(a container without CAP_PERFMON?)");
        return error_hint(err, "give the container CAP_PERFMON and a seccomp profile "
                               "that allows perf_event_open");
    }
    if (e->type == PERF_TYPE_TRACEPOINT) {
        format_text(what, sizeof what, "the tracepoint %s", e->name);
        return by_setting(command, what, -1, err);
    }
    if (settings->targets.everyone)
        return by_setting(command, "the whole machine", 0, err);
    if (e->asks_kernel && record_paranoid() > 1) {
        format_text(what, sizeof what, "its own code (%s)", e->name);
        return by_setting(command, what, 1, err);
    }
    return record_paranoid() <= 2 ? not_yours(command, err)
                                  : by_setting(command, "anything", 2, err);
}

static bool no_such_event(const struct perf_sampler_settings *settings, const char *event,
                          struct error *err)
{
    if (settings->stacks == RECORD_STACKS_LBR) {
        error_set(err, "this processor does not record calls by itself (LBR)");
        return error_hint(err, "-g fp, or -g dwarf");
    }
    error_set(err, "this machine has no counter for '%s'", event);
    return error_hint(err, "-e cpu-clock, which needs none: many virtual machines have "
                           "no counters of the processor");
}

/* What is asked for makes no sense to the kernel. */
static bool not_so(const struct perf_sampler_settings *settings,
                   const struct record_event *e, struct error *err)
{
    uint32_t most = record_rate_most(), own = e->rate;
    uint32_t rate = own || e->period ? own : settings->rate;
    if (rate > most) {
        error_set(err,
                  "%u samples a second are more than the kernel gives: "
                  "/proc/sys/kernel/perf_event_max_sample_rate is %u",
                  rate, most);
        return error_hint(
            err, "-F max, or sudo sysctl kernel.perf_event_max_sample_rate=%u", rate);
    }
    if (e->type == PERF_TYPE_BREAKPOINT) {
        error_set(err, "this processor does not watch memory as '%s' says", e->name);
        return error_hint(err,
                          "a multiple of 1, 2, 4 or 8 bytes, read and written (rw) or "
                          "written (w); or run (x), by its first byte");
    }
    if (e->group && !settings->events.groups[e->group - 1].weak) {
        error_set(err, "'%s' cannot be sampled together with the others of its group",
                  e->name);
        return error_hint(err,
                          "without the braces, or {...}:W, which groups what can be");
    }
    error_set(err,
              "'%s' cannot be sampled: the kernel takes it for counting alone, or "
              "not with such values",
              e->name);
    return error_hint(err, "perf stat counts; -e cpu-clock works nearly always");
}

static bool no_room(const struct record_event *e, struct error *err)
{
    error_set(err, "there is no counter left for '%s': the processor has but a few",
              e->name);
    return error_hint(err, "fewer events, or fewer mem: at a time");
}

bool record_refusal(const struct perf_sampler_settings *settings, size_t event, int why,
                    struct error *err)
{
    const struct record_event *e = &settings->events.items[event];
    const char *name = e->name;
    switch (why) {
    case EACCES:
    case EPERM:
        return not_allowed(settings, e, err);
    case EINVAL:
        return not_so(settings, e, err);
    case ENOSPC:
        return no_room(e, err);
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
        return no_such_event(settings, name, err);
    case ESRCH:
        error_set(err, "there is no such process or thread");
        return error_hint(err, "it may have ended; ps shows which run");
    case EMFILE:
        error_set(err, "there are more counters to open (threads by CPUs) than this "
                       "process may have files open");
        return error_hint(err, "ulimit -n 100000, or -a");
    case ENOSYS:
        return error_set(err, "this kernel has no perf events (CONFIG_PERF_EVENTS)");
    case EBUSY:
        error_set(err, "the counter for '%s' is taken by another", name);
        return error_hint(err, "another profiler or the NMI watchdog may have it; "
                               "-e cpu-clock");
    default:
        error_set(err, "the kernel does not open a counter for '%s': %s", name,
                  strerror(why));
        return error_hint(err, "dmesg may tell why; -e cpu-clock works nearly always");
    }
}

bool record_refusal_filter(const struct perf_sampler_settings *settings, size_t event,
                           int why, struct error *err)
{
    const struct record_event *e = &settings->events.items[event];
    error_set(err, "the kernel does not filter '%s' by '%s': %s", e->name, e->filter,
              strerror(why));
    return error_hint(err, "the fields that its format names, such as \"prev_pid == 1\": "
                           "/sys/kernel/tracing/events/*/*/format");
}

bool record_refusal_ring(size_t size, int why, struct error *err)
{
    if (why != EPERM)
        return error_set(err, "cannot map the kernel's ring of %zu kB: %s", size >> 10,
                         strerror(why));
    error_set(err, "you may not lock the memory that the kernel writes samples to");
    return error_hint(err, "wait until your other recordings end, or sudo sysctl "
                           "kernel.perf_event_mlock_kb=4096");
}
