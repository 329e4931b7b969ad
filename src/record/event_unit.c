/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a unit (PMU): each unit has a folder in sysfs with the format of its terms and the
 * names of its events. */
#include "base/format.h"
#include "base/number.h"
#include "os/machine.h"
#include "perf/format.h"
#include "record/event_kind.h"
#include <stdlib.h>

#define UNITS "/sys/bus/event_source/devices"
#define TEXT_MAX 1024
#define CONFIGS 3

bool event_number(struct str text, uint64_t *value)
{
    if (str_starts(text, STR("0x")) || str_starts(text, STR("0X")))
        return number_parse_hex(text, value);
    return number_parse_u64(text, value);
}

/* Reads a file of a unit; the name must not leave its folder. */
static struct str unit_file(struct str unit, const char *folder, struct str file,
                            char *room, size_t size)
{
    char path[512];
    if (unit.len == 0 || str_find(unit, '/') < unit.len || unit.ptr[0] == '.' ||
        str_find(file, '/') < file.len || str_starts(file, STR(".")))
        return STR("");
    format_text(path, sizeof path, UNITS "/%.*s/%s%.*s", STR_ARG(unit), folder,
                STR_ARG(file));
    return str_trim(os_read_text(path, room, size));
}

/* --- Words ------------------------------------------------------------------------- */

static uint64_t *config_of(struct str name, struct record_event *e)
{
    if (str_equal(name, STR("config")))
        return &e->config;
    if (str_equal(name, STR("config1")))
        return &e->config1;
    return str_equal(name, STR("config2")) ? &e->config2 : NULL;
}

/* Puts the low bits of the value at the positions of the format: "config:0-7,32-35". False if
 * the value has more bits than that, or the format is invalid. */
static bool spread(struct str format, uint64_t value, struct record_event *e)
{
    uint64_t *config = config_of(str_cut(&format, ':'), e);
    while (config && format.len) {
        struct str last = str_cut(&format, ','), first = str_cut(&last, '-');
        uint64_t from, to;
        if (!number_parse_u64(first, &from))
            return false;
        if (last.len == 0)
            to = from;
        else if (!number_parse_u64(last, &to))
            return false;
        if (from > to || to > 63)
            return false;
        uint64_t width = to - from + 1;
        uint64_t mask = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
        *config = (*config & ~(mask << from)) | (value & mask) << from;
        value = width == 64 ? 0 : value >> width;
    }
    return config && value == 0;
}

static bool bad_value(struct str key, struct str value, struct error *err)
{
    error_set(err, "invalid value of '%.*s': '%.*s'", STR_ARG(key), STR_ARG(value));
    return error_hint(err, "a number: 1000, or 0x3c");
}

/* Terms that all events have: rate, period and name. */
bool event_take_word(struct str key, struct str value, struct record_event *e,
                     struct error *err)
{
    uint64_t number = 0;
    bool is_number = event_number(value, &number) && number > 0;
    error_set(err, "%s", "");
    if (str_equal(key, STR("name"))) {
        if (value.len)
            format_text(e->name, sizeof e->name, "%.*s", STR_ARG(value));
        return value.len || bad_value(key, value, err);
    }
    if (str_equal(key, STR("period"))) {
        e->period = number;
        e->rate = 0;
    } else if (str_equal(key, STR("freq")) && number <= UINT32_MAX) {
        e->rate = (uint32_t)number;
        e->period = 0;
    } else {
        return false;
    }
    e->usual = false;
    return is_number || bad_value(key, value, err);
}

static bool no_word(struct str unit, struct str key, struct error *err)
{
    key = str_head(key, str_find(key, '='));
    error_set(err, "the unit '%.*s' has no '%.*s'", STR_ARG(unit), STR_ARG(key));
    return error_hint(err, "ls " UNITS "/%.*s/format " UNITS "/%.*s/events",
                      STR_ARG(unit), STR_ARG(unit));
}

/* A term that all units have, or one of the unit's format; false, with *err empty, if it is
 * neither. */
static bool take_plain(struct str unit, struct str word, struct record_event *e,
                       struct error *err)
{
    char room[TEXT_MAX];
    struct str value = word, key = str_cut(&value, '=');
    uint64_t number = 1;
    bool alone = key.len == word.len;
    if (event_take_word(key, value, e, err))
        return true;
    if (err->message[0])
        return false;
    if (alone && key.len > 1 && key.ptr[0] == 'r' &&
        number_parse_hex(str_skip(key, 1), &e->config))
        return true;
    if (!alone && !event_number(value, &number))
        return bad_value(key, value, err);
    uint64_t *config = alone ? NULL : config_of(key, e);
    if (config) {
        *config = number;
        return true;
    }
    struct str format = unit_file(unit, "format/", key, room, sizeof room);
    return format.len && (spread(format, number, e) || bad_value(key, value, err));
}

/* The unit of measure of an event and its scale: the files NAME.unit and NAME.scale. */
static void take_measure(struct str unit, struct str name, struct record_event *e)
{
    char file[RECORD_EVENT_NAME_MAX], room[TEXT_MAX];
    format_text(file, sizeof file, "%.*s.scale", STR_ARG(name));
    struct str text = unit_file(unit, "events/", str_of(file), room, sizeof room);
    if (text.len && !number_parse_double(text, &e->scale))
        e->scale = 0;
    format_text(file, sizeof file, "%.*s.unit", STR_ARG(name));
    text = unit_file(unit, "events/", str_of(file), room, sizeof room);
    if (text.len)
        format_text(e->unit, sizeof e->unit, "%.*s", STR_ARG(text));
}

/* The same, and names of the unit's events, each of which is a list of terms. */
static bool take_word(struct str unit, struct str word, struct record_event *e,
                      struct error *err)
{
    char room[TEXT_MAX];
    if (take_plain(unit, word, e, err))
        return true;
    if (err->message[0])
        return false;
    struct str words = unit_file(unit, "events/", word, room, sizeof room);
    if (words.len == 0)
        return no_word(unit, word, err);
    while (words.len) {
        struct str one = str_trim(str_cut(&words, ','));
        if (!take_plain(unit, one, e, err))
            return err->message[0] ? false : no_word(unit, one, err);
    }
    take_measure(unit, word, e);
    return true;
}

static bool take_words(struct str unit, struct str words, struct record_event *e,
                       struct error *err)
{
    while (words.len)
        if (!take_word(unit, str_trim(str_cut(&words, ',')), e, err))
            return false;
    return true;
}

/* --- Units ------------------------------------------------------------------------- */

struct unit_names {
    char text[TEXT_MAX];
    size_t used;
};

static void add_unit(void *context, struct str name)
{
    struct unit_names *names = context;
    if (names->used + name.len + 3 < sizeof names->text)
        names->used +=
            format_text(names->text + names->used, sizeof names->text - names->used,
                        "%s%.*s", names->used ? ", " : "", STR_ARG(name));
}

static struct str all_units(struct unit_names *names)
{
    names->used = 0;
    os_folder_each(UNITS, add_unit, names);
    return (struct str){names->text, names->used};
}

static bool unit_type(struct str unit, struct record_event *e)
{
    char room[32];
    uint64_t type;
    struct str text = unit_file(unit, "type", STR(""), room, sizeof room);
    if (!number_parse_u64(text, &type) || type > UINT32_MAX)
        return false;
    e->type = (uint32_t)type;
    return true;
}

bool event_of_unit(struct str unit, struct str terms, struct record_event *e,
                   struct error *err)
{
    struct unit_names names;
    if (unit_type(unit, e))
        return take_words(unit, terms, e, err);
    error_set(err, "this machine has no unit '%.*s' with counters", STR_ARG(unit));
    return error_hint(err, "it has %.*s", STR_ARG(all_units(&names)));
}

struct unit_search {
    struct str name;
    struct record_event *event;
    bool found;
};

static void search_unit(void *context, struct str unit)
{
    struct unit_search *s = context;
    char room[TEXT_MAX];
    struct error ignored;
    struct record_event e = *s->event;
    if (s->found || unit_file(unit, "events/", s->name, room, sizeof room).len == 0 ||
        !event_of_unit(unit, s->name, &e, &ignored))
        return;
    *s->event = e;
    s->found = true;
}

bool event_of_any_unit(struct str name, struct record_event *e)
{
    struct unit_search s = {.name = name, .event = e};
    if (name.len)
        os_folder_each(UNITS, search_unit, &s);
    return s.found;
}

struct type_search {
    uint32_t type;
    uint32_t *cpus;
    size_t count;
};

static void search_type(void *context, struct str unit)
{
    struct type_search *s = context;
    char room[TEXT_MAX];
    struct record_event e = {.type = 0};
    if (!s->count && unit_type(unit, &e) && e.type == s->type)
        s->count =
            os_cpu_list(unit_file(unit, "cpumask", STR(""), room, sizeof room), s->cpus);
}

size_t record_event_unit_cpus(const struct record_event *e, uint32_t *cpus)
{
    struct type_search s = {.type = e->type, .cpus = cpus};
    if (e->type > PERF_TYPE_BREAKPOINT)
        os_folder_each(UNITS, search_type, &s);
    return s.count;
}

/* --- The list ---------------------------------------------------------------------- */

struct unit_list {
    struct output *out;
    struct str unit;
    bool any;
};

static void list_event(void *context, struct str name)
{
    struct unit_list *l = context;
    if (str_find(name, '.') < name.len)
        return; /* its unit, or its scale */
    output_format(l->out, "  %.*s/%.*s/\n", STR_ARG(l->unit), STR_ARG(name));
}

static void list_word(void *context, struct str name)
{
    struct unit_list *l = context;
    output_format(l->out, "%s%.*s=N", l->any ? "," : "", STR_ARG(name));
    l->any = true;
}

static void list_unit(void *context, struct str unit)
{
    struct unit_list l = {.out = context, .unit = unit};
    char path[512];
    format_text(path, sizeof path, UNITS "/%.*s/format", STR_ARG(unit));
    output_format(l.out, "  %.*s/", STR_ARG(unit));
    if (!os_folder_each(path, list_word, &l))
        output_text(l.out, "config=N");
    output_text(l.out, "/\n");
    format_text(path, sizeof path, UNITS "/%.*s/events", STR_ARG(unit));
    os_folder_each(path, list_event, &l);
}

void event_list_units(struct output *out)
{
    os_folder_each(UNITS, list_unit, out);
}
