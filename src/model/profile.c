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

const char *unit_name(enum unit unit)
{
    static const char *const names[] = {"samples", "ns", "bytes", "cycles"};
    return names[unit];
}
