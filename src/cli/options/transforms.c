/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options/transforms.h"
#include "analysis/losses.h"
#include "cli/message.h"
#include "cli/options/suppressions.h"
#include "transform/pattern.h"

bool transforms_add_word(const char *text, void *value, struct error *err)
{
    struct transform_words *words = value;
    if (words->count == TRANSFORM_WORDS_MAX)
        return error_set(err, "too many values at '%s': at most %d per option", text,
                         TRANSFORM_WORDS_MAX);
    words->items[words->count++] = text;
    return true;
}

static bool add_pattern(const char *text, void *value, struct error *err)
{
    return pattern_check(text, err) && transforms_add_word(text, value, err);
}

bool transforms_parse_numbers(const char *text, void *value, struct error *err)
{
    return number_set_add(value, str_of(text), err);
}

static bool parse_time(const char *text, void *value, struct error *err)
{
    return time_point_parse(str_of(text), value, err);
}

static bool parse_spans(const char *text, void *value, struct error *err)
{
    return time_spans_parse(str_of(text), value, err);
}

/* In the order of the enums in transform.h. */
static const char *const groups[] = {"function", "module", "file",      "comm",
                                     "process",  "thread", "label:KEY", NULL};
static const char *const splits[] = {"none", "each", "leaf", NULL};

static bool parse_group(const char *text, void *value, struct error *err)
{
    struct transform_options *o = value;
    struct str label = STR("label:");
    if (str_starts(str_of(text), label) && text[label.len]) {
        o->group = GROUP_LABEL;
        o->group_label = text + label.len;
        return true;
    }
    for (unsigned i = GROUP_FUNCTION; i < GROUP_LABEL; i++) {
        if (strcmp(text, groups[i]) == 0) {
            o->group = (enum group_by)i;
            return true;
        }
    }
    error_set(err, "invalid value '%s'", text);
    return error_hint(err, "one of: function, module, file, comm, process, thread, "
                           "label:KEY");
}

#define OFF(field) offsetof(struct transforms_settings, options.field)
#define WORD(field) OPTION_PARSED, OFF(field), .parse = transforms_add_word
#define PATTERN(field) OPTION_PARSED, OFF(field), .parse = add_pattern
#define NUMBERS(field) OPTION_PARSED, OFF(field), .parse = transforms_parse_numbers
#define TIME(field) OPTION_PARSED, OFF(field), .parse = parse_time

const struct option transforms_options[] = {
    {"event,event-filter,only-event", 0, "NAME",
     "only this event; * and ? are wildcards (repeatable)", WORD(filter.events)},
    {"drop-event", 0, "NAME", "exclude this event", WORD(filter.drop_events)},
    {"comm,only-comm", 0, "NAME", "only threads of this name; * and ? are wildcards",
     WORD(filter.comms)},
    {"drop-comm", 0, "NAME", "exclude threads of this name", WORD(filter.drop_comms)},
    {"only-pid", 0, "LIST", "only these processes: 7,12-15", NUMBERS(filter.pids)},
    {"drop-pid", 0, "LIST", "exclude these processes", NUMBERS(filter.drop_pids)},
    {"only-tid", 0, "LIST", "only these threads", NUMBERS(filter.tids)},
    {"drop-tid", 0, "LIST", "exclude these threads", NUMBERS(filter.drop_tids)},
    {"cpu,only-cpu", 'C', "LIST", "only these CPUs", NUMBERS(filter.cpus)},
    {"drop-cpu", 0, "LIST", "exclude these CPUs", NUMBERS(filter.drop_cpus)},
    {"label", 0, "KEY=VALUE",
     "only samples with this label; * and ? in VALUE are wildcards (repeatable)",
     WORD(filter.labels)},
    {"drop-label", 0, "KEY=VALUE", "exclude samples with this label",
     WORD(filter.drop_labels)},
    {"start", 0, "TIME",
     "only samples from this time: 12.5 (s, on the input's clock), +1.5, 20%",
     TIME(filter.start)},
    {"end", 0, "TIME", "only samples before this time", TIME(filter.end)},
    {"time", 0, "START,STOP",
     "only samples from START to STOP, as --start; or shares: 10%-20%,30%-40%, 10%/2 "
     "(the "
     "second tenth)",
     OPTION_PARSED, OFF(filter.spans), .parse = parse_spans},
    {"focus", 0, "PATTERN",
     "keep stacks with a matching frame (repeated: all must match)", PATTERN(focus)},
    {"ignore", 0, "PATTERN", "drop stacks with a matching frame", PATTERN(ignore)},
    {"hide", 0, "PATTERN", "remove matching frames", PATTERN(hide)},
    {"show", 0, "PATTERN", "remove frames that do not match", PATTERN(show)},
    {"show-module", 0, "PATTERN",
     "remove frames whose module does not match (repeatable)", PATTERN(show_module)},
    {"show-from", 0, "PATTERN", "start stacks at the outermost matching frame",
     PATTERN(show_from)},
    {"base", 0, "NAME",
     "keep stacks with this function, without its callers and threads (repeatable)",
     WORD(base)},
    {"by", 0, "WHAT", "what a frame is (default: function)", OPTION_PARSED,
     offsetof(struct transforms_settings, options), groups, .parse = parse_group},
    {"package-split", 0, "WHICH",
     "split package names into frames: for each frame or only for the leaf",
     OPTION_CHOICE, OFF(split), splits},
    {"collapse-recursion", 0, NULL, "merge a function that calls itself into one frame",
     OPTION_SET, OFF(collapse), .value = COLLAPSE_ADJACENT},
    {"collapse-cycles", 0, NULL, "merge indirect recursion, too", OPTION_SET,
     OFF(collapse), .value = COLLAPSE_CYCLES},
    {"collapse-module", 0, "PATTERN",
     "merge calls inside a matching module into one frame (repeatable)",
     PATTERN(collapse_module)},
    {"wall-clock", 0, NULL,
     "weight by wall-clock time: running and waiting (record --off-cpu)", OPTION_FLAG,
     OFF(wall)},
    {"latency", 0, NULL,
     "weight by the time of the run: CPU time by the number of threads that run then",
     OPTION_FLAG, OFF(latency)},
    {"graft", 0, NULL,
     "continue truncated stacks with the usual callers in their thread (inferred)",
     OPTION_FLAG, OFF(graft)},
    {"strip-arguments", 0, NULL, "remove argument lists from names", OPTION_FLAG,
     OFF(strip.arguments)},
    {"strip-templates", 0, NULL, "remove template arguments from names", OPTION_FLAG,
     OFF(strip.templates)},
    {"strip-offsets", 0, NULL, "remove offsets (+0x1f) from names", OPTION_FLAG,
     OFF(strip.offsets)},
    {"strip-hex", 's', NULL, "replace hexadecimal numbers in names by 0x...", OPTION_FLAG,
     OFF(strip.hex)},
    {"shorten-packages,shorten-pkgs", 0, NULL,
     "Java: initials of packages, j.l.Thread.run for java.lang.Thread.run", OPTION_FLAG,
     OFF(strip.initials)},
    {"no-packages,no-pkgs", 0, NULL, "Java: names without packages", OPTION_FLAG,
     OFF(strip.packages)},
    {"suppressions", 0, "FILE",
     "exclude the leaks that FILE suppresses: leak:NAME lines, or valgrind's "
     "(repeatable)",
     OPTION_PARSED, OFF(suppressions), .parse = suppressions_parse},
    {"reverse", 0, NULL, "reverse the stacks: leaf first, then its callers", OPTION_FLAG,
     OFF(reverse)},
    {"scale", 0, "FACTOR", "multiply all weights by FACTOR", OPTION_NUMBER, OFF(scale),
     .least = 1e-15, .most = 1e15},
    {"scale-to", 0, "TOTAL", "scale the weights of each event to this sum", OPTION_NUMBER,
     OFF(scale_to), .least = 1e-15, .most = 1e18},
    {0}};

void transforms_prepare(struct transforms_settings *t, struct load_settings *load)
{
    const struct filter_options *f = &t->options.filter;
    load->keep |=
        f->start.at || f->end.at || f->spans.count || f->cpus.count || f->drop_cpus.count;
    load->keep |= t->options.wall || t->options.latency;
    load->events_apart |=
        f->events.count || f->drop_events.count || t->options.wall || t->options.latency;
    load->import.lines |= t->options.group == GROUP_FILE;
    t->quiet = load->quiet;
    t->options.marks_truncated = load->import.cuts;
    load->import.cuts |= t->options.graft;
    load->modules_alike &= t->options.group != GROUP_MODULE;
    load->modules_alike &= t->options.collapse_module.count == 0;
    load->modules_alike &= t->options.show_module.count == 0;
    if (t->options.suppressions) {
        load->events_apart = load->import.lines = true;
        load->modules_alike = false;
        t->options.suppressions->is_quiet = load->quiet;
    }
}

/* How many stacks are inferred. */
static void note_grafts(const struct transforms_settings *t, const struct profile *p)
{
    char line[LOSS_LINE_MAX];
    if (!p || !t->options.graft || t->quiet)
        return;
    if (losses_line(&p->facts, LOSS_GRAFTS, line))
        message_note("%s", line);
    else if (p->facts.truncated)
        message_note("--graft: the callers of no truncated stack are known");
    else
        message_note("--graft: the input has no truncated stacks");
}

struct profile *transforms_apply_any(const struct transforms_settings *t,
                                     struct profile *p, struct error *err)
{
    const struct transform *emptied;
    p = transform_apply(&t->options, p, &emptied, err);
    suppressions_report(p ? t->options.suppressions : NULL);
    note_grafts(t, p);
    return p;
}

struct profile *transforms_apply(const struct transforms_settings *t, struct profile *p,
                                 struct error *err)
{
    const struct transform *emptied;
    p = transform_apply(&t->options, p, &emptied, err);
    suppressions_report(p ? t->options.suppressions : NULL);
    note_grafts(t, p);
    if (!p || !emptied)
        return p;
    profile_destroy(p);
    if (emptied == transform_named(STR("filter")))
        error_set(err,
                  "the filters for event, comm, process, thread, CPU, label and time "
                  "match no sample");
    else if (emptied == transform_named(STR("suppressions")))
        error_set(err, "all leaks are suppressed");
    else
        error_set(err, "no sample is left after --%s", emptied->name);
    error_hint(err, "'stoke info FILE' lists its events and threads");
    return NULL;
}
