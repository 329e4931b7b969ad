/* SPDX-License-Identifier: Apache-2.0 */
/* Tracepoints: the kernel shows them in tracefs. */
#include "base/format.h"
#include "base/glob.h"
#include "base/number.h"
#include "os/machine.h"
#include "os/mapping.h"
#include "perf/format.h"
#include "record/event_kind.h"
#include <stdlib.h>

#define NAMES_MOST ((size_t)8 << 20)
#define FORMAT_MOST ((size_t)1 << 20)

static const char *const mounts[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

#define MOUNTS (sizeof mounts / sizeof *mounts)

/* Reads a file of tracefs into memory; the caller closes it. */
static bool open_file(struct os_mapping *m, size_t most, const char *name)
{
    char path[512];
    struct error ignored;
    for (size_t i = 0; i < MOUNTS; i++) {
        format_text(path, sizeof path, "%s/%s", mounts[i], name);
        if (os_mapping_read(m, path, most, &ignored))
            return true;
    }
    return false;
}

/* "sched:sched_switch" to "events/sched/sched_switch/FILE"; false for an invalid name. */
static bool file_of(const char *name, const char *file, char *path, size_t size)
{
    struct str event = str_of(name), system = str_cut(&event, ':');
    if (system.len == 0 || event.len == 0 || system.ptr[0] == '.' ||
        event.ptr[0] == '.' || str_find(str_of(name), '/') < strlen(name))
        return false;
    format_text(path, size, "events/%.*s/%.*s/%s", STR_ARG(system), STR_ARG(event), file);
    return true;
}

static struct str read_small(const char *name, const char *file, char *room, size_t size)
{
    char inner[384], path[512];
    struct str text = STR("");
    if (!file_of(name, file, inner, sizeof inner))
        return text;
    for (size_t i = 0; text.len == 0 && i < MOUNTS; i++) {
        format_text(path, sizeof path, "%s/%s", mounts[i], inner);
        text = os_read_text(path, room, size);
    }
    return text;
}

static bool no_tracefs(struct error *err)
{
    error_set(err, "cannot read the kernel's tracepoints");
    return error_hint(err, "as root, with tracefs mounted on %s", mounts[0]);
}

/* The kernel's number of the tracepoint. */
static bool set_tracepoint(struct record_event *e, const char *name)
{
    char text[32];
    struct str number = str_trim(read_small(name, "id", text, sizeof text));
    if (!number_parse_u64(number, &e->config))
        return false;
    e->type = PERF_TYPE_TRACEPOINT;
    format_text(e->tracepoint, sizeof e->tracepoint, "%s", name);
    if (!e->period && !e->rate) {
        e->period = 1;
        e->usual = true;
    }
    return true;
}

bool record_event_tracepoint(const char *name, struct record_event *e, char *format,
                             size_t room, struct error *err)
{
    *e = (struct record_event){0};
    format_text(e->name, sizeof e->name, "%s", name);
    if (!set_tracepoint(e, name)) {
        error_set(err, "cannot read the kernel's tracepoint %s", name);
        return error_hint(err, "as root, with tracefs mounted on %s", mounts[0]);
    }
    e->usual = false;
    struct str all = read_small(name, "format", format, room - 1);
    format[all.len] = 0;
    return true;
}

/* --- By their names ---------------------------------------------------------------- */

/* `pattern` is also the event's name if only one tracepoint matches. */
static bool add(struct str name, struct str pattern, const struct record_event *like,
                struct record_events *events, struct error *err)
{
    char text[RECORD_EVENT_NAME_MAX];
    if (events->count == RECORD_EVENTS_MAX)
        return error_set(err, "more than %d events: '%.*s' matches many",
                         RECORD_EVENTS_MAX, STR_ARG(pattern));
    struct record_event *e = &events->items[events->count];
    *e = *like;
    format_text(text, sizeof text, "%.*s", STR_ARG(name));
    if (!set_tracepoint(e, text))
        return no_tracefs(err);
    if (!str_equal(name, pattern))
        format_text(e->name, sizeof e->name, "%s", text);
    events->count++;
    return true;
}

/* The name in a line of available_events, "sched:sched_switch". */
static struct str next_name(struct str *text)
{
    return str_trim(str_cut(text, '\n'));
}

static bool add_many(struct str text, struct str pattern, const struct record_event *like,
                     struct record_events *events, struct error *err)
{
    struct nearest nearest = {.word = pattern};
    size_t before = events->count;
    while (text.len) {
        struct str name = next_name(&text);
        nearest_offer(&nearest, name);
        if (glob_match(pattern, name) && !add(name, pattern, like, events, err))
            return false;
    }
    if (events->count > before)
        return true;
    error_set(err, "this kernel has no tracepoint '%.*s'", STR_ARG(pattern));
    return nearest_hint(&nearest, "", "stoke record --list-events", err);
}

bool event_add_tracepoints(struct str pattern, const struct record_event *like,
                           struct record_events *events, struct error *err)
{
    struct os_mapping names;
    char text[RECORD_EVENT_NAME_MAX];
    struct record_event e = *like;
    format_text(text, sizeof text, "%.*s", STR_ARG(pattern));
    bool many =
        str_find(pattern, '*') < pattern.len || str_find(pattern, '?') < pattern.len;
    if (!many && set_tracepoint(&e, text))
        return add(pattern, pattern, like, events, err);
    if (!open_file(&names, NAMES_MOST, "available_events"))
        return no_tracefs(err);
    bool ok = add_many(names.bytes, pattern, like, events, err);
    os_mapping_close(&names);
    return ok;
}

void event_list_tracepoints(struct output *out)
{
    struct os_mapping names;
    if (!open_file(&names, NAMES_MOST, "available_events")) {
        output_format(out, "  (only root can read them, with tracefs mounted on %s)\n",
                      mounts[0]);
        return;
    }
    for (struct str rest = names.bytes; rest.len;) {
        struct str name = next_name(&rest);
        if (name.len)
            output_format(out, "  %.*s\n", STR_ARG(name));
    }
    os_mapping_close(&names);
}

/* --- Formats, for the file --------------------------------------------------------- */

static void put_u32(struct output *out, uint32_t value)
{
    output_bytes(out, (const char *)&value, sizeof value);
}

static void put_u64(struct output *out, uint64_t value)
{
    output_bytes(out, (const char *)&value, sizeof value);
}

/* A file, after its length; empty if it cannot be read. */
static void put_file(struct output *out, const char *path)
{
    struct os_mapping m;
    if (!open_file(&m, FORMAT_MOST, path)) {
        put_u64(out, 0);
        return;
    }
    put_u64(out, m.bytes.len);
    output_str(out, m.bytes);
    os_mapping_close(&m);
}

static struct str system_of(const char *name)
{
    struct str rest = str_of(name);
    return str_cut(&rest, ':');
}

/* Whether no earlier tracepoint has the same name, or the same system. */
static bool is_first(const char *const *names, size_t at, bool system)
{
    for (size_t i = 0; i < at; i++)
        if (system ? str_equal(system_of(names[i]), system_of(names[at]))
                   : strcmp(names[i], names[at]) == 0)
            return false;
    return true;
}

/* Whether `at` is the first with its name in the system of `of`. */
static bool belongs(const char *const *names, size_t at, size_t of)
{
    return str_equal(system_of(names[at]), system_of(names[of])) &&
           is_first(names, at, false);
}

static void put_system(const char *const *names, size_t count, size_t of,
                       struct output *out)
{
    char path[512];
    uint32_t members = 0;
    output_str(out, system_of(names[of]));
    output_char(out, 0);
    for (size_t i = 0; i < count; i++)
        members += belongs(names, i, of);
    put_u32(out, members);
    for (size_t i = 0; i < count; i++)
        if (belongs(names, i, of) && file_of(names[i], "format", path, sizeof path))
            put_file(out, path);
}

#define TRACE_MAGIC "\x17\x08\x44tracing"
#define TRACE_VERSION "0.6"

void record_tracepoint_formats(const char *const *names, size_t count, struct output *out)
{
    const uint16_t one = 1;
    uint32_t systems = 0;
    output_text(out, TRACE_MAGIC TRACE_VERSION);
    output_char(out, 0);
    output_char(out, *(const char *)&one == 0); /* big-endian */
    output_char(out, (char)sizeof(long));
    put_u32(out, (uint32_t)os_page_size());
    output_bytes(out, "header_page", sizeof "header_page");
    put_file(out, "events/header_page");
    output_bytes(out, "header_event", sizeof "header_event");
    put_file(out, "events/header_event");
    put_u32(out, 0); /* no formats of ftrace */
    for (size_t i = 0; i < count; i++)
        systems += is_first(names, i, true);
    put_u32(out, systems);
    for (size_t i = 0; i < count; i++)
        if (is_first(names, i, true))
            put_system(names, count, i, out);
    put_u32(out, 0); /* no names of kernel functions */
    put_u32(out, 0); /* no texts of trace_printk */
    put_u64(out, 0); /* no names of threads */
}
