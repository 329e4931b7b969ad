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

/* "the kernel does not let you record WHAT", and the setting that forbids it, which must be at
 * most `limit`. */
static bool by_setting(const char *command, const char *what, int limit,
                       struct error *err)
{
    error_set(err,
              "the kernel does not let you record %s: "
              "/proc/sys/kernel/perf_event_paranoid is %d, and stoke has no CAP_PERFMON",
              what, record_paranoid());
    return error_hint(err,
                      "sudo stoke %s ..., or sudo sysctl kernel.perf_event_paranoid=%d",
                      command, limit);
}

/* Processes of other users: no setting allows that. */
static bool other_users(const char *command, struct error *err)
{
    error_set(err,
              "the kernel does not let you record processes of other users: stoke has no "
              "CAP_PERFMON, and kernel.perf_event_paranoid is %d",
              record_paranoid());
    return error_hint(err, "sudo stoke %s ...", command);
}

static bool not_allowed(const struct perf_sampler_settings *settings,
                        const struct record_event *e, struct error *err)
{
    const char *command = settings->command ? settings->command : "record";
    char what[RECORD_EVENT_NAME_MAX + 32];
    if (os_user() == 0) {
        error_set(err, "the kernel does not let even root record here (a container "
                       "without CAP_PERFMON?)");
        return error_hint(err, "give the container CAP_PERFMON and a seccomp profile "
                               "that allows perf_event_open");
    }
    if (e->type == PERF_TYPE_TRACEPOINT) {
        format_text(what, sizeof what, "the tracepoint %s", e->name);
        return by_setting(command, what, -1, err);
    }
    if (settings->targets.everyone)
        return by_setting(command, "the whole machine", 0, err);
    if (e->needs_kernel && record_paranoid() > 1) {
        format_text(what, sizeof what, "kernel code (%s)", e->name);
        return by_setting(command, what, 1, err);
    }
    return record_paranoid() <= 2 ? other_users(command, err)
                                  : by_setting(command, "anything", 2, err);
}

static bool no_such_event(const struct perf_sampler_settings *settings, const char *event,
                          struct error *err)
{
    if (settings->stacks == RECORD_STACKS_LBR) {
        error_set(err, "this processor does not record calls (LBR)");
        return error_hint(err, "-g fp, or -g dwarf");
    }
    error_set(err, "this machine has no counter for '%s'", event);
    return error_hint(err, "-e cpu-clock, which needs none: many virtual machines have "
                           "no hardware counters");
}

/* The kernel rejected the values. */
static bool invalid_values(const struct perf_sampler_settings *settings,
                           const struct record_event *e, struct error *err)
{
    uint32_t most = record_rate_most(), own = e->rate;
    uint32_t rate = own || e->period ? own : settings->rate;
    if (rate > most) {
        error_set(err,
                  "%u samples per second are more than the kernel allows: "
                  "/proc/sys/kernel/perf_event_max_sample_rate is %u",
                  rate, most);
        return error_hint(
            err, "-F max, or sudo sysctl kernel.perf_event_max_sample_rate=%u", rate);
    }
    if (e->type == PERF_TYPE_BREAKPOINT) {
        error_set(err, "this processor cannot watch memory as '%s' requests", e->name);
        return error_hint(err, "an address that is a multiple of 1, 2, 4 or 8 bytes, for "
                               "rw or w; or x, for the first byte of an instruction");
    }
    if (e->group && !settings->events.groups[e->group - 1].weak) {
        error_set(err, "'%s' cannot be sampled together with the others of its group",
                  e->name);
        return error_hint(
            err, "leave out the braces, or use {...}:W, which groups events if possible");
    }
    error_set(err,
              "'%s' cannot be sampled: the kernel only counts it, or rejects such values",
              e->name);
    return error_hint(err, "stoke stat counts it; -e cpu-clock nearly always works");
}

static bool no_counter(const struct record_event *e, struct error *err)
{
    error_set(err, "no free counter for '%s': the processor has only a few counters",
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
        return invalid_values(settings, e, err);
    case ENOSPC:
        return no_counter(e, err);
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
        return no_such_event(settings, name, err);
    case ESRCH:
        error_set(err, "no such process or thread");
        return error_hint(err, "it may have ended; ps lists those that run");
    case EMFILE:
        error_set(
            err,
            "more counters (threads times CPUs) than this process may have open files");
        return error_hint(err, "ulimit -n 100000, or -a");
    case ENOSYS:
        return error_set(err, "this kernel has no perf events (CONFIG_PERF_EVENTS)");
    case EBUSY:
        error_set(err, "the counter for '%s' is in use", name);
        return error_hint(
            err, "another profiler or the NMI watchdog may use it; -e cpu-clock");
    default:
        error_set(err, "the kernel cannot open a counter for '%s': %s", name,
                  strerror(why));
        return error_hint(err, "dmesg may say why; -e cpu-clock nearly always works");
    }
}

bool record_refusal_filter(const struct perf_sampler_settings *settings, size_t event,
                           int why, struct error *err)
{
    const struct record_event *e = &settings->events.items[event];
    error_set(err, "the kernel rejects the filter of '%s', '%s': %s", e->name, e->filter,
              strerror(why));
    return error_hint(err, "use the fields of its format, such as \"prev_pid == 1\": "
                           "/sys/kernel/tracing/events/*/*/format");
}

bool record_refusal_ring(size_t size, int why, struct error *err)
{
    if (why != EPERM)
        return error_set(err, "cannot map a ring of %zu kB: %s", size >> 10,
                         strerror(why));
    error_set(err, "this user may not lock the memory that the kernel writes samples to");
    return error_hint(err, "wait until your other recordings end, or sudo sysctl "
                           "kernel.perf_event_mlock_kb=4096");
}
