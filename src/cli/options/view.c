/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options/view.h"
#include "transform/pattern.h"

static bool add_word(const char *text, void *value, struct error *err)
{
    struct transform_words *words = value;
    if (words->count == TRANSFORM_WORDS_MAX)
        return error_set(err, "'%s' is one too many: at most %d of an option", text,
                         TRANSFORM_WORDS_MAX);
    words->items[words->count++] = text;
    return true;
}

static bool add_pattern(const char *text, void *value, struct error *err)
{
    return pattern_check(text, err) && add_word(text, value, err);
}

static bool add_numbers(const char *text, void *value, struct error *err)
{
    return number_set_add(value, str_of(text), err);
}

static bool parse_time(const char *text, void *value, struct error *err)
{
    return time_point_parse(str_of(text), value, err);
}

/* In the order of the enums in transform.h. */
static const char *const groups[] = {"function", "module", "file", "comm",
                                     "process",  "thread", NULL};
static const char *const splits[] = {"none", "each", "leaf", NULL};

#define OFF(field) offsetof(struct view_settings, transform.field)
#define WORD(field) OPTION_PARSED, OFF(field), .parse = add_word
#define PATTERN(field) OPTION_PARSED, OFF(field), .parse = add_pattern
#define NUMBERS(field) OPTION_PARSED, OFF(field), .parse = add_numbers
#define TIME(field) OPTION_PARSED, OFF(field), .parse = parse_time

const struct option view_options[] = {
    {"event,event-filter,only-event", 0, "NAME",
     "this event alone; * and ? stand for others (repeatable)", WORD(filter.events)},
    {"drop-event", 0, "NAME", "without this event", WORD(filter.drop_events)},
    {"comm,only-comm", 0, "NAME", "threads of this name alone; * and ? as above",
     WORD(filter.comms)},
    {"drop-comm", 0, "NAME", "without threads of this name", WORD(filter.drop_comms)},
    {"only-pid", 0, "LIST", "these processes alone: 7,12-15", NUMBERS(filter.pids)},
    {"drop-pid", 0, "LIST", "without these processes", NUMBERS(filter.drop_pids)},
    {"only-tid", 0, "LIST", "these threads alone", NUMBERS(filter.tids)},
    {"drop-tid", 0, "LIST", "without these threads", NUMBERS(filter.drop_tids)},
    {"cpu,only-cpu", 0, "LIST", "these CPUs alone", NUMBERS(filter.cpus)},
    {"drop-cpu", 0, "LIST", "without these CPUs", NUMBERS(filter.drop_cpus)},
    {"start", 0, "TIME", "from there on: 12.5 (s, by the input's clock), +1.5, 20%",
     TIME(filter.start)},
    {"end", 0, "TIME", "up to there", TIME(filter.end)},
    {"focus", 0, "PATTERN", "stacks with a frame that matches (repeated: each must)",
     PATTERN(focus)},
    {"ignore", 0, "PATTERN", "without stacks with a frame that matches", PATTERN(ignore)},
    {"hide", 0, "PATTERN", "leave out frames that match", PATTERN(hide)},
    {"show", 0, "PATTERN", "leave out frames that do not match", PATTERN(show)},
    {"show-from", 0, "PATTERN", "begin stacks at the outermost frame that matches",
     PATTERN(show_from)},
    {"base", 0, "NAME",
     "stacks with this function, without its callers and threads (repeatable)",
     WORD(base)},
    {"by", 0, "WHAT", "in place of functions: module, file, comm, process, thread",
     OPTION_CHOICE, OFF(group), groups},
    {"package-split", 0, "WHICH",
     "packages in names as frames: of each frame, or of the leaf alone", OPTION_CHOICE,
     OFF(split), splits},
    {"collapse-recursion", 0, NULL, "a function that calls itself is one frame",
     OPTION_SET, OFF(collapse), .value = COLLAPSE_ADJACENT},
    {"collapse-cycles", 0, NULL, "and one that it calls over others too", OPTION_SET,
     OFF(collapse), .value = COLLAPSE_CYCLES},
    {"collapse-module", 0, "PATTERN",
     "what happens inside of a module that matches is one frame (repeatable)",
     PATTERN(collapse_module)},
    {"wall-clock", 0, NULL,
     "weigh by time, running and waiting (record --off-cpu) together", OPTION_FLAG,
     OFF(wall)},
    {"strip-arguments", 0, NULL, "names without arguments", OPTION_FLAG,
     OFF(strip.arguments)},
    {"strip-templates", 0, NULL, "names without template arguments", OPTION_FLAG,
     OFF(strip.templates)},
    {"strip-offsets", 0, NULL, "names without +0x1f", OPTION_FLAG, OFF(strip.offsets)},
    {"strip-hex", 's', NULL, "0x... in place of hexadecimal numbers in names",
     OPTION_FLAG, OFF(strip.hex)},
    {"reverse", 0, NULL, "stacks leaf first: who calls what is hot", OPTION_FLAG,
     OFF(reverse)},
    {"scale", 0, "FACTOR", "multiply all weights", OPTION_NUMBER, OFF(scale),
     .least = 1e-15, .most = 1e15},
    {"scale-to", 0, "TOTAL", "make each event's weights add up to this", OPTION_NUMBER,
     OFF(scale_to), .least = 1e-15, .most = 1e18},
    {0}};

void view_prepare(const struct view_settings *view, struct load_settings *load)
{
    const struct filter_options *f = &view->transform.filter;
    load->keep |= f->start.at || f->end.at || f->cpus.count || f->drop_cpus.count;
    load->keep |= view->transform.wall;
    load->events_apart |= f->events.count || f->drop_events.count || view->transform.wall;
    load->import.lines |= view->transform.group == GROUP_FILE;
    load->modules_alike &= view->transform.group != GROUP_MODULE;
    load->modules_alike &= view->transform.collapse_module.count == 0;
}

struct profile *view_apply_any(const struct view_settings *view, struct profile *p,
                               struct error *err)
{
    const struct transform *emptied;
    return transform_apply(&view->transform, p, &emptied, err);
}

struct profile *view_apply(const struct view_settings *view, struct profile *p,
                           struct error *err)
{
    const struct transform *emptied;
    p = transform_apply(&view->transform, p, &emptied, err);
    if (!p || !emptied)
        return p;
    profile_destroy(p);
    if (emptied == transform_named(STR("filter")))
        error_set(err, "no sample is left by the choice of event, comm, process, "
                       "thread, CPU and time");
    else
        error_set(err, "no sample is left by --%s", emptied->name);
    error_hint(err, "'stoke info FILE' lists its events and threads");
    return NULL;
}
