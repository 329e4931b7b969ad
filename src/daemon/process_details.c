/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/process_details.h"
#include "base/format.h"
#include "metrics/cgroup.h"
#include "os/machine.h"
#include "os/proc.h"

#define CGROUP_ROOM 4096

static uint64_t read_pss(uint32_t pid)
{
    char path[64], text[2048];
    uint64_t kib = 0;
    format_text(path, sizeof path, "/proc/%u/smaps_rollup", pid);
    struct str rest = os_read_text(path, text, sizeof text);
    while (rest.len && !kib) {
        struct str line = str_cut(&rest, '\n');
        if (str_starts(line, STR("Pss:")))
            for (size_t i = 4; i < line.len; i++)
                if (line.ptr[i] >= '0' && line.ptr[i] <= '9')
                    kib = kib * 10 + (uint64_t)(line.ptr[i] - '0');
    }
    return kib * 1024;
}

void process_details_read(struct process_details *d, const struct process_counters *c,
                          uint64_t time, bool with_pss, struct arena *a)
{
    char path[64], text[CGROUP_ROOM], user[64] = "";
    uint64_t ticks = c->user + c->system;
    format_text(path, sizeof path, "/proc/%u/cgroup", c->pid);
    struct cgroup_names group = cgroup_names_parse(os_read_text(path, text, sizeof text));
    d->time = time;
    d->service = arena_str(a, group.service);
    d->container = arena_str(a, group.container);
    d->user = arena_str(a, os_user_name(c->user_id, user, sizeof user));
    if (!with_pss ||
        (d->has_pss && d->ticks == ticks && d->resident_pages == c->resident_pages))
        return;
    d->ticks = ticks;
    d->resident_pages = c->resident_pages;
    d->pss = read_pss(c->pid);
    d->has_pss = true;
}

struct process_details process_details_copy(const struct process_details *d,
                                            struct arena *a)
{
    struct process_details copy = *d;
    copy.user = arena_str(a, d->user);
    copy.service = arena_str(a, d->service);
    copy.container = arena_str(a, d->container);
    return copy;
}
