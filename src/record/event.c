/* SPDX-License-Identifier: Apache-2.0 */
#include "record/event.h"
#include "base/format.h"
#include "base/number.h"
#include "perf/format.h"
#include "record/event_kind.h"

/* --- Modifiers --------------------------------------------------------------------- */

#define EXCLUDE_ALL \
    (PERF_FLAG_EXCLUDE_USER | PERF_FLAG_EXCLUDE_KERNEL | PERF_FLAG_EXCLUDE_HV)

/* The flag of a modifier letter that restricts where the event counts; 0 for other letters. */
static uint64_t mode_of(char letter)
{
    switch (letter) {
    case 'u':
        return PERF_FLAG_EXCLUDE_USER;
    case 'k':
        return PERF_FLAG_EXCLUDE_KERNEL;
    case 'h':
        return PERF_FLAG_EXCLUDE_HV;
    case 'H':
        return PERF_FLAG_EXCLUDE_HOST;
    case 'G':
        return PERF_FLAG_EXCLUDE_GUEST;
    default:
        return 0;
    }
}

/* Modifier letters that change how the event counts; false for other letters. */
static bool apply_modifier(char letter, struct record_event *e)
{
    switch (letter) {
    case 'p':
        e->precise++;
        return e->precise <= 3;
    case 'P':
        e->most_precise = true;
        return true;
    case 'I':
        e->exclude |= PERF_FLAG_EXCLUDE_IDLE;
        return true;
    case 'D':
        e->flags |= PERF_FLAG_PINNED;
        return true;
    case 'e':
        e->flags |= PERF_FLAG_EXCLUSIVE;
        return true;
    case 'W': /* for groups */
        return true;
    default:
        return false;
    }
}

/* ":ukhGHpPIDeW": the modes in which the event counts, and its precision. `rest` has the event's
 * own modifiers, or its group's. */
static bool take_modifiers(struct str own, struct str group, struct record_event *e)
{
    uint64_t only = 0;
    for (size_t i = 0; i < own.len + group.len; i++) {
        char letter = i < own.len ? own.ptr[i] : group.ptr[i - own.len];
        uint64_t mode = mode_of(letter);
        if (!mode && !apply_modifier(letter, e))
            return false;
        only |= mode;
    }
    if (only & EXCLUDE_ALL)
        e->exclude |= EXCLUDE_ALL & ~only;
    e->needs_kernel = only & PERF_FLAG_EXCLUDE_KERNEL;
    e->guests = only & PERF_FLAG_EXCLUDE_GUEST;
    if (e->guests && !(only & PERF_FLAG_EXCLUDE_HOST))
        e->exclude |= PERF_FLAG_EXCLUDE_HOST;
    return true;
}

static bool are_modifiers(struct str text)
{
    struct record_event ignored = {.type = 0};
    return take_modifiers(text, STR(""), &ignored);
}

static bool bad_modifier(struct str text, struct error *err)
{
    error_set(err, "unknown modifier in '%.*s'", STR_ARG(text));
    return error_hint(err, "u: in user code, k: in the kernel, h: in the hypervisor, G: "
                           "in guests, H: outside of guests, p: precise, ppp at most");
}

/* --- Memory accesses ---------------------------------------------------------------- */

#define ACCESS_READ 1 /* the kernel's bits (hw_breakpoint.h) */
#define ACCESS_WRITE 2
#define ACCESS_EXECUTE 4
#define LENGTH_USUAL 4

static bool bad_breakpoint(struct str text, struct error *err)
{
    error_set(err, "invalid memory event '%.*s'", STR_ARG(text));
    return error_hint(err, "mem:0x7f001000/8:rw: an address, the number of bytes (1, 2, "
                           "4, 8), and the accesses to count: r, w, rw or x");
}

static uint32_t access_of(struct str letters)
{
    uint32_t access = 0;
    for (size_t i = 0; i < letters.len; i++) {
        uint32_t bit = letters.ptr[i] == 'r'   ? ACCESS_READ
                       : letters.ptr[i] == 'w' ? ACCESS_WRITE
                       : letters.ptr[i] == 'x' ? ACCESS_EXECUTE
                                               : 0;
        if (!bit || access & bit)
            return 0;
        access |= bit;
    }
    return access;
}

/* "ADDRESS[/LENGTH][:rwx][:MODIFIERS]", after "mem:" */
static bool parse_breakpoint(struct str text, struct str rest, struct str group,
                             struct record_event *e, struct error *err)
{
    struct str range = str_cut(&rest, ':'), length = range;
    struct str address = str_cut(&length, '/'), letters = rest;
    struct str first = str_cut(&letters, ':');
    e->type = PERF_TYPE_BREAKPOINT;
    e->breakpoint = access_of(first);
    if (!e->breakpoint)
        letters = rest;
    if (!e->breakpoint)
        e->breakpoint = ACCESS_READ | ACCESS_WRITE;
    e->config2 = e->breakpoint & ACCESS_EXECUTE ? sizeof(long) : LENGTH_USUAL;
    if (!event_number(address, &e->config1) ||
        (length.len && !event_number(length, &e->config2)))
        return bad_breakpoint(text, err);
    e->period = 1;
    e->usual = true;
    return take_modifiers(letters, group, e) || bad_modifier(text, err);
}

/* --- Names ------------------------------------------------------------------------- */

static bool no_event(struct str text, struct str name, struct error *err)
{
    char room[EVENT_CACHE_NAMES];
    struct nearest nearest = {.word = name};
    struct str caches = event_cache_names(room, sizeof room);
    for (size_t i = 0; record_event_name(i); i++)
        for (struct str names = str_of(record_event_name(i)); names.len;)
            nearest_offer(&nearest, str_cut(&names, ','));
    while (caches.len)
        nearest_offer(&nearest, str_cut(&caches, ','));
    error_set(err, "unknown event '%.*s'", STR_ARG(text));
    return nearest_hint(&nearest, "",
                        "stoke record --list-events; cycles, cpu-clock, page-faults, ...",
                        err);
}

/* Terms after a name, as units have them: "cycles/period=1000/". */
static bool take_words(struct str text, struct str words, struct record_event *e,
                       struct error *err)
{
    while (words.len) {
        struct str value = str_trim(str_cut(&words, ',')), key = str_cut(&value, '=');
        if (event_take_word(key, value, e, err))
            continue;
        if (err->message[0])
            return false;
        error_set(err, "unknown term in '%.*s': '%.*s'", STR_ARG(text), STR_ARG(key));
        return error_hint(err, "period=N, freq=HZ, name=TEXT");
    }
    return true;
}

/* The parts of an event as the user wrote it. */
struct parts {
    struct str text;      /* the whole text */
    struct str name;      /* before the terms and modifiers */
    struct str words;     /* between slashes */
    struct str modifiers; /* after the terms */
    struct str group;     /* its group's modifiers */
    bool slashes;
};

/* "name/terms/modifiers", "name:modifiers", "system:name:modifiers" */
static struct parts take_apart(struct str text, struct str group)
{
    struct parts p = {.text = text, .name = text, .group = group};
    size_t slash = str_find(text, '/');
    if (slash < text.len) {
        p.slashes = true;
        p.name = str_head(text, slash);
        p.words = str_skip(text, slash + 1);
        size_t last = str_rfind(p.words, '/');
        p.modifiers = str_skip(p.words, last + 1);
        p.words = str_head(p.words, last);
        if (str_starts(p.modifiers, STR(":")))
            p.modifiers = str_skip(p.modifiers, 1);
        return p;
    }
    size_t colon = str_rfind(text, ':');
    struct record_event ignored = {.type = 0};
    struct str front = str_head(text, colon);
    bool known = event_of_name(front, &ignored) || str_find(front, ':') < front.len;
    if (colon < text.len && (known || are_modifiers(str_skip(text, colon + 1)))) {
        p.name = front;
        p.modifiers = str_skip(text, colon + 1);
    }
    return p;
}

/* Adds the events that the parts name. */
static bool add_named(const struct parts *p, struct record_event *e,
                      struct record_events *events, struct error *err)
{
    bool named = event_of_name(p->name, e);
    bool trace = !named && str_find(p->name, ':') < p->name.len;
    if (named || trace) {
        if (!take_words(p->text, p->words, e, err))
            return false;
    } else if (p->slashes) {
        if (!event_of_unit(p->name, p->words, e, err))
            return false;
    } else if (!event_of_any_unit(p->name, e)) {
        return no_event(p->text, p->name, err);
    }
    if (!take_modifiers(p->modifiers, p->group, e))
        return bad_modifier(p->text, err);
    if (trace)
        return event_add_tracepoints(p->name, e, events, err);
    events->items[events->count++] = *e;
    return true;
}

/* The text that the user wrote, with the modifiers of its group. */
static void set_name(const struct parts *p, struct record_event *e)
{
    bool joined = p->modifiers.len || str_ends(p->text, STR("/"));
    size_t used = format_text(e->name, sizeof e->name, "%.*s", STR_ARG(p->text));
    for (size_t i = 0, put = 0; i < p->group.len && used + 3 < sizeof e->name; i++) {
        if (p->group.ptr[i] != 'W')
            used += format_text(e->name + used, sizeof e->name - used, "%s%c",
                                put++ || joined ? "" : ":", p->group.ptr[i]);
    }
}

/* `group`: the modifiers of its group. */
static bool parse_one(struct str text, struct str group, struct record_events *events,
                      struct error *err)
{
    struct record_event e = {.type = 0};
    if (events->count == RECORD_EVENTS_MAX)
        return error_set(err, "there are more than %d events", RECORD_EVENTS_MAX);
    struct parts p = take_apart(text, group);
    set_name(&p, &e);
    if (str_starts(text, STR("mem:"))) {
        if (!parse_breakpoint(text, str_skip(text, 4), group, &e, err))
            return false;
        events->items[events->count++] = e;
        return true;
    }
    return add_named(&p, &e, events, err);
}

/* --- Lists ------------------------------------------------------------------------- */

/* Removes the event before the next comma that is neither between slashes nor in braces. */
static struct str next_event(struct str *rest)
{
    bool slashes = false, memory = false, begins = true;
    size_t at = 0, depth = 0;
    for (; at < rest->len; at++) {
        char c = rest->ptr[at];
        if (begins)
            memory = str_starts(str_skip(*rest, at), STR("mem:"));
        if (c == '/' && !memory)
            slashes = !slashes;
        if (c == ',' && !slashes && !depth)
            break;
        begins = !slashes && (c == ',' || c == '{' || (begins && c == ' '));
        depth += c == '{' && !slashes;
        depth -= c == '}' && !slashes && depth;
    }
    struct str one = str_head(*rest, at);
    *rest = str_trim_left(str_skip(*rest, at + 1));
    return str_trim(one);
}

/* Whether the text is "NAME{...", and not an event with a brace in its terms: then
 * *brace is its position. */
static bool is_group(struct str text, size_t *brace)
{
    *brace = str_find(text, '{');
    return *brace < text.len && *brace < str_find(text, '/') &&
           *brace < str_find(text, ':');
}

/* Makes a group of the events from `first` on. Only the leader can be pinned or exclusive. */
static void join(struct str name, struct str modifiers, size_t first,
                 struct record_events *events)
{
    const uint64_t of_leader = PERF_FLAG_PINNED | PERF_FLAG_EXCLUSIVE;
    if (events->count - first < 2)
        return;
    struct record_event_group *g = &events->groups[events->group_count++];
    format_text(g->name, sizeof g->name, "%.*s", STR_ARG(name));
    g->weak = str_find(modifiers, 'W') < modifiers.len;
    for (size_t i = first; i < events->count; i++) {
        events->items[i].group = (uint32_t)events->group_count;
        events->items[i].flags &= i > first ? ~of_leader : UINT64_MAX;
    }
}

/* "NAME{EVENT,EVENT}:MODIFIERS" */
static bool parse_group(struct str text, size_t brace, struct record_events *events,
                        struct error *err)
{
    struct str inner = str_skip(text, brace + 1);
    size_t end = str_rfind(inner, '}'), first = events->count, ignored;
    struct str modifiers = str_skip(inner, end + 1);
    if (end == inner.len || (modifiers.len && modifiers.ptr[0] != ':')) {
        error_set(err, "no '}' after the group '%.*s'", STR_ARG(text));
        return error_hint(err, "{EVENT,EVENT}, or {EVENT,EVENT}:u");
    }
    modifiers = str_skip(modifiers, 1);
    if (str_find(modifiers, 'S') < modifiers.len) {
        error_set(err,
                  "'%.*s' requests samples of the group's first event only, which stoke "
                  "does not record",
                  STR_ARG(text));
        return error_hint(err, "without the S, each event of the group is sampled");
    }
    for (struct str rest = str_trim_left(str_head(inner, end)); rest.len;) {
        struct str one = next_event(&rest);
        if (is_group(one, &ignored))
            return error_set(err, "group in a group: '%.*s'", STR_ARG(one));
        if (!parse_one(one, modifiers, events, err))
            return false;
    }
    join(str_trim(str_head(text, brace)), modifiers, first, events);
    return events->count > first ||
           error_set(err, "no events in the group '%.*s'", STR_ARG(text));
}

bool record_events_parse(const char *text, struct record_events *events,
                         struct error *err)
{
    for (struct str rest = str_trim_left(str_of(text)); rest.len;) {
        size_t brace;
        struct str one = next_event(&rest);
        if (is_group(one, &brace) ? !parse_group(one, brace, events, err)
                                  : !parse_one(one, STR(""), events, err))
            return false;
    }
    return events->count || error_set(err, "no event given");
}

size_t record_events_leader(const struct record_events *events, size_t i)
{
    uint32_t group = events->items[i].group;
    while (group && i && events->items[i - 1].group == group)
        i--;
    return i;
}

void record_events_pace(struct record_events *events, uint32_t rate, uint64_t period)
{
    for (size_t i = 0; i < events->count; i++) {
        struct record_event *e = &events->items[i];
        if (e->usual && (rate || period)) {
            e->period = period;
            e->rate = period ? 0 : rate;
        }
    }
}

/* --- Predefined events ------------------------------------------------------------- */

static struct record_event event_of(const char *name)
{
    struct record_event e = {.type = 0};
    format_text(e.name, sizeof e.name, "%s", name);
    event_of_name(str_of(name), &e);
    return e;
}

struct record_event record_event_cycles(void)
{
    return event_of("cycles");
}

struct record_event record_event_clock(void)
{
    return event_of("cpu-clock");
}

struct record_event record_event_switches(void)
{
    struct record_event e = event_of("context-switches");
    e.period = 1;
    e.flags = PERF_FLAG_CONTEXT_SWITCH;
    return e;
}

#define BRIEF_DUMP 1024 /* thousands of them fit into a ring */

struct record_event record_event_filtered_wakings(bool brief)
{
    return (struct record_event){.name = "sched:sched_waking",
                                 .type = PERF_TYPE_SOFTWARE,
                                 .config = PERF_SOFTWARE_BPF_OUTPUT,
                                 .period = 1,
                                 .of_everyone = true,
                                 .dump_most = brief ? BRIEF_DUMP : 0,
                                 .maker = brief ? EVENT_MAKER_FILTER_BRIEF
                                                : EVENT_MAKER_FILTER};
}

struct record_event record_event_wait_files(void)
{
    return (struct record_event){.name = "wait-files",
                                 .type = PERF_TYPE_SOFTWARE,
                                 .config = PERF_SOFTWARE_BPF_OUTPUT,
                                 .period = 1,
                                 .of_everyone = true,
                                 .no_stacks = true,
                                 .maker = EVENT_MAKER_WAIT_FILES};
}

/* Adds the modifier to the event's name. */
static void add_to_name(struct record_event *e, char modifier)
{
    size_t used = strlen(e->name);
    const char *colon = memchr(e->name, ':', used) ? "" : ":";
    if (used + 2 < sizeof e->name)
        format_text(e->name + used, sizeof e->name - used, "%s%c", colon, modifier);
}

void record_event_only_user(struct record_event *e)
{
    if (e->exclude & PERF_FLAG_EXCLUDE_KERNEL)
        return;
    e->exclude |= EXCLUDE_ALL & ~PERF_FLAG_EXCLUDE_USER;
    add_to_name(e, 'u');
}

void record_event_only_kernel(struct record_event *e)
{
    e->needs_kernel = true;
    if (e->exclude & PERF_FLAG_EXCLUDE_USER)
        return;
    e->exclude |= EXCLUDE_ALL & ~PERF_FLAG_EXCLUDE_KERNEL;
    e->exclude &= ~PERF_FLAG_EXCLUDE_KERNEL;
    add_to_name(e, 'k');
}

struct perf_attr record_event_attr(const struct record_event *e)
{
    return (struct perf_attr){
        .type = e->type,
        .size = PERF_ATTR_SIZE,
        .config = e->config,
        .config1 = e->config1,
        .config2 = e->config2,
        .breakpoint_type = e->breakpoint,
        .flags = PERF_FLAG_DISABLED | e->exclude | e->flags |
                 (e->guests ? 0 : PERF_FLAG_EXCLUDE_GUEST) |
                 (uint64_t)e->precise << PERF_FLAG_PRECISE_SHIFT,
    };
}
