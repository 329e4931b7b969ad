/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/losses.h"
#include "analysis/measure.h"
#include "base/visible.h"
#include "cli/info/info.h"
#include "import/importer.h"
#include "model/sample_labels.h"
#include <time.h>

/* Rows of a list without --all. */
#define ROWS 10

/* Times after the year 2000 are since 1970; smaller times are of a clock that starts at
 * boot. */
#define EPOCH_MIN 946684800000000000u

static void print_count(struct output *o, double count, const char *one, const char *many)
{
    char text[MEASURE_TEXT_MAX];
    output_bytes(o, text, measure_write(&(struct measure){1, 0, ""}, count, text));
    output_format(o, " %s", count == 1 ? one : many);
}

static void print_heading(const struct info_report *r, const char *text)
{
    output_format(r->out, r->colour ? "\n\x1b[1m%s\x1b[0m" : "\n%s", text);
}

static void print_field(const struct info_report *r, const char *name)
{
    output_format(r->out, r->colour ? "\x1b[1m%-11s\x1b[0m" : "%-11s", name);
}

static void print_fact(const struct info_report *r, const char *name, struct str text)
{
    if (text.len == 0)
        return;
    print_field(r, name);
    visible_print(r->out, text);
    output_char(r->out, '\n');
}

static void print_interpreters(const struct info_report *r)
{
    struct str rest = profile_string(r->p, r->p->facts.interpreters);
    while (rest.len)
        print_fact(r, "runtime", str_cut(&rest, '\n'));
}

static void print_format_name(const struct info_report *r)
{
    struct str name = profile_string(r->p, r->p->facts.format);
    const struct importer *im = importer_named(name);
    print_field(r, "format");
    visible_print(r->out, name);
    if (im)
        output_format(r->out, ": %s", im->summary);
    output_char(r->out, '\n');
}

static void print_time(struct output *o, uint64_t ns)
{
    char text[64];
    struct tm tm;
    time_t seconds = (time_t)(ns / 1000000000);
    if (ns < EPOCH_MIN || !gmtime_r(&seconds, &tm))
        output_format(o, "%.6f s", (double)ns / 1e9);
    else if (strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &tm))
        output_text(o, text);
}

static void print_times(const struct info_report *r)
{
    const struct facts *facts = &r->p->facts;
    struct output *o = r->out;
    if (facts->time_first != TIME_NONE) {
        double seconds = (double)(facts->time_last - facts->time_first) / 1e9;
        print_field(r, "time");
        print_time(o, facts->time_first);
        output_text(o, " to ");
        print_time(o, facts->time_last);
        output_format(o, ", %.3f s\n", seconds);
    }
    if (facts->rate > 0) {
        print_field(r, "rate");
        print_count(o, (double)(uint64_t)(facts->rate + 0.5), "sample", "samples");
        output_text(o, " per second and CPU\n");
    }
    if (facts->sample_bytes) {
        print_field(r, "sampled");
        output_text(o, "one allocation per ");
        output_u64(o, facts->sample_bytes);
        output_text(o, " bytes on average\n");
    }
}

static void print_losses(const struct info_report *r)
{
    static const char *const fields[LOSS_LINES] = {"lost", "truncated", "truncated",
                                                   "inferred"};
    char line[LOSS_LINE_MAX];
    for (unsigned i = 0; i < LOSS_LINES; i++) {
        if (losses_line(&r->p->facts, i, line) == 0)
            continue;
        print_field(r, fields[i]);
        output_text(r->out, line);
        output_char(r->out, '\n');
    }
}

static void print_stacks(const struct info_report *r)
{
    const struct summary *s = r->s;
    struct output *o = r->out;
    print_field(r, "stacks");
    print_count(o, (double)s->stacks, "distinct, ", "distinct, ");
    print_count(o, s->deepest, "frame deep at most, ", "frames deep at most, ");
    print_count(o, (double)s->functions, "function\n", "functions\n");
    print_field(r, "unknown");
    if (s->unknown_any > 0)
        output_format(o,
                      "%.2f%% of the weight is in functions without a name, "
                      "%.2f%% has such a function in its stack\n",
                      info_share(r, s->unknown_leaf), info_share(r, s->unknown_any));
    else
        output_text(o, "all functions have names\n");
}

/* Prints the first column of a row: the number of samples. */
static void print_row(const struct info_report *r, const struct tally *t)
{
    char text[MEASURE_TEXT_MAX + 1];
    size_t n = measure_write(&(struct measure){1, 0, ""}, (double)t->samples, text);
    text[n] = 0;
    output_format(r->out, "%12s  ", text);
}

static void print_event(const struct info_report *r, event_id e)
{
    const struct tally *t = &r->s->events[e];
    enum unit unit = (enum unit)r->p->events[e].unit;
    bool fractions = t->weight < 9e15 && t->weight > (double)(uint64_t)t->weight;
    struct measure m = measure_for(unit, t->weight, fractions);
    char text[MEASURE_TEXT_MAX + 1];
    size_t n = measure_write(&m, t->weight, text);
    text[n] = 0;
    print_row(r, t);
    output_format(r->out, "%18s %-6s  ", text, m.unit[0] ? m.unit : unit_name(unit));
    visible_print(r->out, info_event_name(r, e));
    if (r->p->event_count > 2 && e == r->s->event)
        output_text(r->out, " (shown by default, see --event)");
    output_char(r->out, '\n');
}

static void print_events(const struct info_report *r)
{
    print_heading(r, "     samples               total         event");
    output_char(r->out, '\n');
    for (event_id e = 1; e < r->p->event_count; e++)
        print_event(r, e);
}

static void print_thread(const struct info_report *r, uint32_t id)
{
    const struct thread *t = &r->p->threads[id];
    visible_print(r->out, t->name ? profile_string(r->p, t->name) : STR("(no name)"));
    if (t->pid != ID_NONE)
        output_format(r->out, "  pid %lld", (long long)t->pid);
    if (t->tid != ID_NONE)
        output_format(r->out, "  tid %lld", (long long)t->tid);
}

static void print_module(const struct info_report *r, uint32_t id)
{
    const struct module *m = &r->p->modules[id];
    visible_print(r->out, m->path ? profile_string(r->p, m->path) : STR("(no path)"));
    if (m->build_id) {
        output_text(r->out, "  build ID ");
        visible_print(r->out, profile_string(r->p, m->build_id));
    }
}

static void print_label(const struct info_report *r, uint32_t id)
{
    struct output value = OUTPUT_BUFFER;
    visible_print(r->out, sample_label_key(r->p, id));
    output_char(r->out, '=');
    sample_label_write(&value, r->p, id);
    visible_print(r->out, output_contents(&value));
    r->out->failed |= value.failed;
    output_deinit(&value);
}

static void print_list(const struct info_report *r, const struct tally *tallies,
                       const uint32_t *order, size_t count,
                       void (*print)(const struct info_report *, uint32_t))
{
    size_t shown = count > ROWS && !r->all ? ROWS : count;
    output_char(r->out, '\n');
    for (size_t i = 0; i < shown; i++) {
        print_row(r, &tallies[order[i]]);
        output_format(r->out, "%6.2f%%  ", info_share(r, tallies[order[i]].weight));
        print(r, order[i]);
        output_char(r->out, '\n');
    }
    if (shown < count) {
        output_format(r->out, "%23s", "");
        print_count(r->out, (double)(count - shown), "more, with --all\n",
                    "more, with --all\n");
    }
}

static void print_threads(const struct info_report *r)
{
    const struct summary *s = r->s;
    if (s->thread_count) {
        print_heading(r, "     samples   share  thread");
        output_text(r->out, s->thread_count > 1 ? " (" : "");
        if (s->thread_count > 1)
            print_count(r->out, (double)s->thread_count, "", "in total");
        if (s->thread_count > 1 && s->process_count) {
            output_text(r->out, ", of ");
            print_count(r->out, (double)s->process_count, "process", "processes");
        }
        output_text(r->out, s->thread_count > 1 ? ")" : "");
        print_list(r, s->threads, s->thread_order, s->thread_count, print_thread);
    }
    if (s->label_count) {
        print_heading(r, "     samples   share  label");
        print_list(r, s->labels, s->label_order, s->label_count, print_label);
    }
    if (s->module_count) {
        print_heading(r, "     samples   share  module of the leaf");
        print_list(r, s->modules, s->module_order, s->module_count, print_module);
    }
}

static void print_warnings(const struct info_report *r, const char *title, bool inferred)
{
    const struct facts *facts = &r->p->facts;
    bool any = false;
    for (unsigned i = 0; i < facts->warning_count; i++) {
        const struct warning *w = &facts->warnings[i];
        if (w->inferred != inferred)
            continue;
        if (!any) {
            print_heading(r, title);
            output_char(r->out, '\n');
        }
        any = true;
        print_row(r, &(struct tally){.samples = w->count});
        visible_print(r->out, str_of(w->what));
        if (w->first.line)
            output_format(r->out, ", first on line %llu",
                          (unsigned long long)w->first.line);
        else if (w->first.offset != UINT64_MAX)
            output_format(r->out, ", first at byte %llu",
                          (unsigned long long)w->first.offset);
        output_char(r->out, '\n');
    }
}

void info_print_text(const struct info_report *r)
{
    const struct facts *facts = &r->p->facts;
    for (int i = 0; i < r->file_count; i++)
        print_fact(r, "file", str_of(r->files[i]));
    print_format_name(r);
    print_fact(r, "host", profile_string(r->p, facts->host));
    print_fact(r, "command", profile_string(r->p, facts->command));
    print_interpreters(r);
    print_times(r);
    print_field(r, "samples");
    print_count(r->out, (double)facts->samples, "read\n", "read\n");
    if (facts->samples)
        print_stacks(r);
    print_losses(r);
    print_events(r);
    print_threads(r);
    print_warnings(r, "       times  omitted or repaired while reading", false);
    print_warnings(r, "       times  inferred, not in the input", true);
}
