#include "record/event.h"
#include "base/format.h"
#include "base/nearest.h"
#include "base/number.h"
#include "base/perf_format.h"
#include "os/machine.h"

/* The kernel's own, each under all its names; the first is shown. */
static const struct {
    const char *names;
    uint32_t type;
    uint64_t config;
} table[] = {
    {"cpu-clock", PERF_TYPE_SOFTWARE, PERF_SOFTWARE_CPU_CLOCK},
    {"task-clock", PERF_TYPE_SOFTWARE, PERF_SOFTWARE_TASK_CLOCK},
    {"cycles,cpu-cycles", PERF_TYPE_HARDWARE, PERF_HARDWARE_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_HARDWARE_INSTRUCTIONS},
    {"cache-references", PERF_TYPE_HARDWARE, PERF_HARDWARE_CACHE_REFERENCES},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_HARDWARE_CACHE_MISSES},
    {"branches,branch-instructions", PERF_TYPE_HARDWARE, PERF_HARDWARE_BRANCHES},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_HARDWARE_BRANCH_MISSES},
    {"bus-cycles", PERF_TYPE_HARDWARE, PERF_HARDWARE_BUS_CYCLES},
    {"stalled-cycles-frontend,idle-cycles-frontend", PERF_TYPE_HARDWARE,
     PERF_HARDWARE_STALLED_FRONTEND},
    {"stalled-cycles-backend,idle-cycles-backend", PERF_TYPE_HARDWARE,
     PERF_HARDWARE_STALLED_BACKEND},
    {"ref-cycles", PERF_TYPE_HARDWARE, PERF_HARDWARE_REF_CYCLES},
    {"page-faults,faults", PERF_TYPE_SOFTWARE, PERF_SOFTWARE_PAGE_FAULTS},
    {"minor-faults", PERF_TYPE_SOFTWARE, PERF_SOFTWARE_MINOR_FAULTS},
    {"major-faults", PERF_TYPE_SOFTWARE, PERF_SOFTWARE_MAJOR_FAULTS},
    {"context-switches,cs", PERF_TYPE_SOFTWARE, PERF_SOFTWARE_CONTEXT_SWITCHES},
    {"cpu-migrations,migrations", PERF_TYPE_SOFTWARE, PERF_SOFTWARE_CPU_MIGRATIONS},
    {"alignment-faults", PERF_TYPE_SOFTWARE, PERF_SOFTWARE_ALIGNMENT_FAULTS},
    {"emulation-faults", PERF_TYPE_SOFTWARE, PERF_SOFTWARE_EMULATION_FAULTS},
    {"cgroup-switches", PERF_TYPE_SOFTWARE, PERF_SOFTWARE_CGROUP_SWITCHES},
};

#define TABLE_SIZE (sizeof table / sizeof *table)

const char *record_event_name(size_t i)
{
    return i < TABLE_SIZE ? table[i].names : NULL;
}

static bool in_table(struct str name, struct record_event *e)
{
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        for (struct str names = str_of(table[i].names); names.len;) {
            if (!str_equal(str_cut(&names, ','), name))
                continue;
            e->type = table[i].type;
            e->config = table[i].config;
            return true;
        }
    }
    return false;
}

#define EXCLUDE_ALL \
    (PERF_FLAG_EXCLUDE_USER | PERF_FLAG_EXCLUDE_KERNEL | PERF_FLAG_EXCLUDE_HV)

/* ":ukhGHp": in which modes it counts, and how exactly it tells where. */
static bool take_modifiers(struct str modifiers, struct record_event *e)
{
    uint64_t only = 0;
    for (size_t i = 0; i < modifiers.len; i++) {
        switch (modifiers.ptr[i]) {
        case 'u':
            only |= PERF_FLAG_EXCLUDE_USER;
            break;
        case 'k':
            only |= PERF_FLAG_EXCLUDE_KERNEL;
            break;
        case 'h':
            only |= PERF_FLAG_EXCLUDE_HV;
            break;
        case 'p':
            e->precise++;
            break;
        default:
            return false;
        }
    }
    if (only)
        e->exclude |= EXCLUDE_ALL & ~only;
    return e->precise <= 3;
}

static bool no_event(struct str text, struct str name, struct error *err)
{
    struct nearest nearest = {.word = name};
    for (size_t i = 0; i < TABLE_SIZE; i++)
        for (struct str names = str_of(table[i].names); names.len;)
            nearest_offer(&nearest, str_cut(&names, ','));
    error_set(err, "there is no event '%.*s'", STR_ARG(text));
    return nearest_hint(&nearest, "", "cycles, cpu-clock, page-faults, ...", err);
}

static bool parse_one(struct str text, struct record_event *e, struct error *err)
{
    struct str rest = text, name = str_cut(&rest, ':');
    *e = (struct record_event){0};
    format_text(e->name, sizeof e->name, "%.*s", STR_ARG(text));
    if (!in_table(name, e))
        return no_event(text, name, err);
    if (take_modifiers(rest, e))
        return true;
    error_set(err, "'%.*s' has a modifier that is not known", STR_ARG(text));
    return error_hint(err, "u: in user code, k: in the kernel, p: precisely");
}

bool record_events_parse(const char *text, struct record_events *events,
                         struct error *err)
{
    for (struct str rest = str_of(text); rest.len;) {
        struct str one = str_trim(str_cut(&rest, ','));
        if (events->count == RECORD_EVENTS_MAX)
            return error_set(err, "there are more than %d events", RECORD_EVENTS_MAX);
        if (!parse_one(one, &events->items[events->count], err))
            return false;
        events->count++;
    }
    return events->count || error_set(err, "no event is named");
}

static struct record_event event_of(const char *name)
{
    struct record_event e = {0};
    format_text(e.name, sizeof e.name, "%s", name);
    in_table(str_of(name), &e);
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

/* A file of the tracepoint's, in one of the places where the kernel shows them. */
static struct str tracepoint_file(const char *name, const char *file, char *room,
                                  size_t size)
{
    static const char *const places[] = {"/sys/kernel/tracing",
                                         "/sys/kernel/debug/tracing"};
    struct str event = str_of(name), system = str_cut(&event, ':'), text = STR("");
    for (size_t i = 0; text.len == 0 && i < sizeof places / sizeof *places; i++) {
        char path[256];
        format_text(path, sizeof path, "%s/events/%.*s/%.*s/%s", places[i],
                    STR_ARG(system), STR_ARG(event), file);
        text = os_read_text(path, room, size);
    }
    return text;
}

bool record_event_tracepoint(const char *name, struct record_event *e, char *format,
                             size_t room, struct error *err)
{
    char text[32];
    *e = (struct record_event){.type = PERF_TYPE_TRACEPOINT, .period = 1};
    format_text(e->name, sizeof e->name, "%s", name);
    struct str number = str_trim(tracepoint_file(name, "id", text, sizeof text));
    if (!number_parse_u64(number, &e->config)) {
        error_set(err, "the kernel's tracepoint %s may not be looked at", name);
        return error_hint(err, "as root, with tracefs mounted on /sys/kernel/tracing");
    }
    struct str all = tracepoint_file(name, "format", format, room - 1);
    format[all.len] = 0;
    return true;
}

void record_event_only_user(struct record_event *e)
{
    size_t used = strlen(e->name);
    if (e->exclude & PERF_FLAG_EXCLUDE_KERNEL)
        return;
    e->exclude |= EXCLUDE_ALL & ~PERF_FLAG_EXCLUDE_USER;
    if (used + 2 < sizeof e->name)
        format_text(e->name + used, sizeof e->name - used,
                    memchr(e->name, ':', used) ? "u" : ":u");
}
