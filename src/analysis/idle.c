/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/idle.h"

/* Prefixes of their names on all architectures: kernel/sched/idle.c, drivers/cpuidle,
 * drivers/idle and each arch_cpu_idle. */
static const char *const beginnings[] = {"cpu_startup_entry",
                                         "cpu_idle",
                                         "cpuidle_enter",
                                         "cpuidle_idle_call",
                                         "do_idle",
                                         "default_idle",
                                         "arch_cpu_idle",
                                         "native_halt",
                                         "intel_idle",
                                         "acpi_idle",
                                         "acpi_processor_ffh_cstate_enter",
                                         "mwait_idle",
                                         "poll_idle",
                                         "amd_e400_idle",
                                         "psci_enter_idle",
                                         "psci_cpu_suspend_enter",
                                         "cpu_do_idle",
                                         "snooze_loop",
                                         "stop_loop"};

bool frame_is_idle(const struct profile *p, frame_id frame)
{
    const struct frame *f = &p->frames[frame];
    if (f->kind != FRAME_KERNEL)
        return f->kind == FRAME_IDLE;
    struct str name = profile_string(p, f->name);
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (str_starts(name, str_of(beginnings[i])))
            return true;
    return str_has(name, STR("safe_halt")); /* native_, xen_, tdx_, and of other guests */
}

const uint8_t *frames_idle(const struct profile *p, struct arena *a)
{
    uint8_t *idle = NULL;
    for (frame_id f = 1; f < p->frame_count; f++) {
        if (!frame_is_idle(p, f))
            continue;
        if (!idle)
            idle = arena_zalloc(a, p->frame_count, sizeof *idle);
        if (!idle)
            return NULL;
        idle[f] = 1;
    }
    return idle;
}
