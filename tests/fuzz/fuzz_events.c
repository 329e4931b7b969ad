/* Fuzzes what -e names: any text. What is taken is bounded, has a name, and stays within
 * its groups; what is refused says why. What it finds in sysfs and tracefs is this
 * machine's. */
#include "base/perf_format.h"
#include "fuzz.h"
#include "record/event.h"
#include <string.h>

#define TEXT_MAX 4096

FUZZ_ONE_WAY("events")

/* It is shown, and written to the file. */
static void check_name(const struct record_event *e)
{
    CHECK(memchr(e->name, 0, sizeof e->name) && e->name[0]);
    CHECK(memchr(e->tracepoint, 0, sizeof e->tracepoint));
    CHECK(!e->tracepoint[0] == (e->type != PERF_TYPE_TRACEPOINT));
}

static void check_groups(const struct record_events *events)
{
    size_t leaders = 0;
    CHECK(events->group_count <= sizeof events->groups / sizeof *events->groups);
    for (size_t i = 0; i < events->count; i++) {
        const struct record_event *e = &events->items[i];
        size_t leader = record_events_leader(events, i);
        CHECK(leader <= i && e->group <= events->group_count);
        CHECK(events->items[leader].group == e->group);
        CHECK(leader == i || !(e->flags & (PERF_FLAG_PINNED | PERF_FLAG_EXCLUSIVE)));
        leaders += e->group && leader == i;
    }
    CHECK(leaders == events->group_count);
}

int fuzz_one(const uint8_t *data, size_t size)
{
    struct record_events events = {.count = 0};
    struct error err = {.message = ""};
    char text[TEXT_MAX + 1];
    size_t length = size < TEXT_MAX ? size : TEXT_MAX;
    memcpy(text, data, length);
    text[length] = 0;
    bool ok = record_events_parse(text, &events, &err);
    CHECK(events.count <= RECORD_EVENTS_MAX);
    CHECK(ok ? events.count > 0 : err.message[0] != 0);
    if (!ok)
        return 0;
    check_groups(&events);
    record_events_pace(&events, 99, 0);
    for (size_t i = 0; i < events.count; i++) {
        struct record_event *e = &events.items[i];
        check_name(e);
        CHECK(e->precise <= 3 && !(e->period && e->rate));
        record_event_only_user(e);
        CHECK(e->exclude & PERF_FLAG_EXCLUDE_KERNEL);
        check_name(e);
    }
    return 0;
}
