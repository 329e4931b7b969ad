/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes event lists of -e: the text up to the first zero byte of the input. Accepted
 * events must be bounded, have a name, and be in valid groups; rejections must have a
 * message.
 *
 * The machine is simulated (linked with --wrap for the functions that read it), so that
 * results are the same everywhere: two PMUs and two tracepoints. The bytes after the
 * zero are the content of the files of the PMU "any". */
#include "fuzz.h"
#include "os/machine.h"
#include "os/mapping.h"
#include "perf/format.h"
#include "record/event.h"
#include <string.h>

#define TEXT_MAX 4096

FUZZ_ONE_WAY("events")

/* --- The machine ------------------------------------------------------------------- */

#define UNITS "/sys/bus/event_source/devices"
#define TRACING "/sys/kernel/tracing/"

static const struct {
    const char *path, *text;
} files[] = {
    {UNITS "/cpu/type", "4\n"},
    {UNITS "/cpu/format/event", "config:0-7,32-35\n"},
    {UNITS "/cpu/format/umask", "config:8-15\n"},
    {UNITS "/cpu/format/far", "config2:63\n"},
    {UNITS "/cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n"},
    {UNITS "/cpu/events/cache", "event=0x2e,umask=0x41\n"},
    {UNITS "/any/type", "7\n"},
    {TRACING "events/sched/sched_switch/id", "314\n"},
    {TRACING "events/sched/sched_waking/id", "316\n"},
    {TRACING "available_events", "sched:sched_switch\nsched:sched_waking\nno:id\n"},
};

static struct str any; /* content of the files of the PMU "any" */

static struct str content_of(const char *path)
{
    if (strcmp(path, UNITS "/any/format/f") == 0 ||
        strcmp(path, UNITS "/any/events/e") == 0)
        return any;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strcmp(path, files[i].path) == 0)
            return str_of(files[i].text);
    return STR("");
}

/* Names that the linker requires. NOLINTBEGIN */
struct str __wrap_os_read_text(const char *path, char *room, size_t size);
bool __wrap_os_folder_each(const char *path, void (*each)(void *, struct str),
                           void *context);
bool __wrap_os_mapping_read(struct os_mapping *m, const char *path, size_t limit,
                            struct error *err);
void __wrap_os_mapping_close(struct os_mapping *m);

struct str __wrap_os_read_text(const char *path, char *room, size_t size)
{
    struct str text = str_head(content_of(path), size);
    memcpy(room, text.ptr, text.len);
    return (struct str){room, text.len};
}

bool __wrap_os_folder_each(const char *path, void (*each)(void *, struct str),
                           void *context)
{
    CHECK(strcmp(path, UNITS) == 0);
    each(context, STR("cpu"));
    each(context, STR("any"));
    return true;
}

bool __wrap_os_mapping_read(struct os_mapping *m, const char *path, size_t limit,
                            struct error *err)
{
    *m = (struct os_mapping){.bytes = content_of(path)};
    return (m->bytes.len && m->bytes.len <= limit) || error_set(err, "no such file");
}

void __wrap_os_mapping_close(struct os_mapping *m)
{
    m->bytes.len = 0;
}
/* NOLINTEND */

/* --- Events ------------------------------------------------------------------------ */

/* The name is displayed, and written to the file. */
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
    struct str input = {(const char *)data, size};
    struct str named = str_head(str_head(input, str_find(input, 0)), TEXT_MAX);
    any = str_skip(input, named.len + 1);
    memcpy(text, named.ptr, named.len);
    text[named.len] = 0;
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
