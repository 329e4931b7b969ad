#include "model/profile.h"
#include <stdlib.h>

void profile_destroy(struct profile *p)
{
    if (!p)
        return;
    arena_deinit(&p->arena);
    free(p);
}

event_id profile_find_event(const struct profile *p, struct str name)
{
    for (event_id e = 1; e < p->event_count; e++)
        if (str_equal(profile_string(p, p->events[e].name), name))
            return e;
    return 0;
}

enum frame_kind module_kind(struct str path)
{
    if (str_equal(path, STR("[unknown]")))
        return FRAME_USER;
    if (str_starts(path, STR("[guest")))
        return FRAME_GUEST;
    if (str_starts(path, STR("[")) || str_ends(path, STR("vmlinux")) ||
        str_ends(path, STR(".ko")) || str_has(path, STR(".ko.")))
        return FRAME_KERNEL;
    if ((str_has(path, STR("/perf-")) && str_ends(path, STR(".map"))) ||
        str_has(path, STR("/jitted-")))
        return FRAME_JIT;
    return FRAME_USER;
}

const char *unit_name(enum unit unit)
{
    static const char *const names[] = {"samples", "ns", "bytes",
                                        "cycles",  "ms", "events"};
    return names[unit];
}
