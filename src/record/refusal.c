#include "record/refusal.h"
#include "base/number.h"
#include "os/machine.h"
#include "os/mapping.h"
#include <errno.h>

int record_paranoid(void)
{
    char room[32];
    double value;
    struct str text =
        str_trim(os_read_text("/proc/sys/kernel/perf_event_paranoid", room, sizeof room));
    return number_parse_double(text, &value) ? (int)value : 2;
}

static bool not_allowed(const struct perf_sampler_settings *settings, struct error *err)
{
    int paranoid = record_paranoid();
    const char *command = settings->command ? settings->command : "record";
    const char *what =
        settings->targets.everyone ? "the whole machine" : "processes that are not yours";
    if (os_user() == 0) {
        error_set(err, "the kernel does not let even root record here "
                       "(a container without CAP_PERFMON?)");
        return error_hint(err, "give the container CAP_PERFMON and a seccomp profile "
                               "that allows perf_event_open");
    }
    if (!settings->targets.everyone && paranoid <= 2) {
        error_set(err, "the kernel does not let you record %s", what);
        return error_hint(err, "sudo stoke %s ...", command);
    }
    error_set(err,
              "the kernel does not let you record %s: "
              "/proc/sys/kernel/perf_event_paranoid is %d, and stoke has no CAP_PERFMON",
              settings->targets.everyone ? what : "anything", paranoid);
    return error_hint(err,
                      "sudo stoke %s ..., or sudo sysctl kernel.perf_event_paranoid=%d",
                      command, settings->targets.everyone ? 0 : 2);
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

bool record_refusal(const struct perf_sampler_settings *settings, size_t event, int why,
                    struct error *err)
{
    const char *name = settings->events.items[event].name;
    switch (why) {
    case EACCES:
    case EPERM:
        return not_allowed(settings, err);
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

bool record_refusal_ring(size_t size, int why, struct error *err)
{
    if (why != EPERM)
        return error_set(err, "cannot map the kernel's ring of %zu kB: %s", size >> 10,
                         strerror(why));
    error_set(err, "you may not lock the memory that the kernel writes samples to");
    return error_hint(err, "wait until your other recordings end, or sudo sysctl "
                           "kernel.perf_event_mlock_kb=4096");
}
