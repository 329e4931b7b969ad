/* SPDX-License-Identifier: Apache-2.0 */
/* stoke info: what is in a profile. */
#include "analysis/losses.h"
#include "analysis/measure.h"
#include "analysis/summary.h"
#include "base/number.h"
#include "base/visible.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/load.h"
#include "cli/options/view.h"
#include "codec/json.h"
#include "engine/trace/load.h"
#include "os/file.h"
#include "os/terminal.h"
#include <time.h>

/* Rows of a list, unless all are asked for. */
#define ROWS 10

/* Times from the year 2000 on count from 1970; others are of a clock of the machine's. */
#define EPOCH_MIN 946684800000000000u

struct info_settings {
    struct load_settings load;
    struct view_settings view;
    struct name_list binaries, users;
    const char *output;
    bool json, all;
};

#define OFF(field) offsetof(struct info_settings, field)

static const struct option info_options[] = {
    {"json", 0, NULL, "as JSON, for programs", OPTION_FLAG, OFF(json)},
    {"all", 0, NULL, "all threads and modules, not the ten heaviest", OPTION_FLAG,
     OFF(all)},
    {"output", 'o', "FILE", "write there (default: standard output)", OPTION_STRING,
     OFF(output)},
    {0}};

static const struct option info_trace_options[] = {
    {"dwarf", 0, "FILE", "the binary that ran: see stoke trace (repeatable)", OPTION_LIST,
     OFF(binaries)},
    {"user", 0, "FILE", "a program that ran above the kernel (repeatable)", OPTION_LIST,
     OFF(users)},
    {0}};

static const struct option_group info_groups[] = {
    {"options", info_options, 0},
    {"instruction traces", info_trace_options, 0},
    {"what is looked at", view_options, OFF(view)},
    {"input", load_options, OFF(load)},
    {0}};

struct report {
    const struct info_settings *settings;
    const struct profile *p;
    const struct summary *s;
    struct output *out;
    bool colour;
    int file_count;
    char **files;
};

static double share_of(const struct report *r, double weight)
{
    return r->s->all.weight > 0 ? 100 * weight / r->s->all.weight : 0;
}

static struct str event_name(const struct report *r, event_id event)
{
    return profile_string(r->p, r->p->events[event].name);
}

/* --- Text -------------------------------------------------------------------------- */

static void print_count(struct output *o, double count, const char *one, const char *many)
{
    char text[MEASURE_TEXT_MAX];
    output_bytes(o, text, measure_write(&(struct measure){1, 0, ""}, count, text));
    output_format(o, " %s", count == 1 ? one : many);
}

static void print_heading(const struct report *r, const char *text)
{
    output_format(r->out, r->colour ? "\n\x1b[1m%s\x1b[0m" : "\n%s", text);
}

static void print_field(const struct report *r, const char *name)
{
    output_format(r->out, r->colour ? "\x1b[1m%-11s\x1b[0m" : "%-11s", name);
}

static void print_fact(const struct report *r, const char *name, struct str text)
{
    if (text.len == 0)
        return;
    print_field(r, name);
    visible_print(r->out, text);
    output_char(r->out, '\n');
}

static void print_format_name(const struct report *r)
{
    struct str name = profile_string(r->p, r->p->facts.format);
    const struct importer *im = importer_named(name);
    print_field(r, "format");
    visible_print(r->out, name);
    if (im)
        output_format(r->out, ": %s", im->summary);
    output_char(r->out, '\n');
}

static void print_moment(struct output *o, uint64_t ns)
{
    char text[64];
    struct tm tm;
    time_t seconds = (time_t)(ns / 1000000000);
    if (ns < EPOCH_MIN || !gmtime_r(&seconds, &tm))
        output_format(o, "%.6f s", (double)ns / 1e9);
    else if (strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &tm))
        output_text(o, text);
}

static void print_times(const struct report *r)
{
    const struct facts *facts = &r->p->facts;
    struct output *o = r->out;
    if (facts->time_first != TIME_NONE) {
        double seconds = (double)(facts->time_last - facts->time_first) / 1e9;
        print_field(r, "time");
        print_moment(o, facts->time_first);
        output_text(o, " to ");
        print_moment(o, facts->time_last);
        output_format(o, ", %.3f s\n", seconds);
    }
    if (facts->rate > 0) {
        print_field(r, "rate");
        print_count(o, (double)(uint64_t)(facts->rate + 0.5), "sample", "samples");
        output_text(o, " a second and CPU\n");
    }
}

static void print_losses(const struct report *r)
{
    static const char *const fields[LOSS_LINES] = {"lost", "truncated"};
    char line[LOSS_LINE_MAX];
    for (unsigned i = 0; i < LOSS_LINES; i++) {
        if (losses_line(&r->p->facts, i, line) == 0)
            continue;
        print_field(r, fields[i]);
        output_text(r->out, line);
        output_char(r->out, '\n');
    }
}

static void print_stacks(const struct report *r)
{
    const struct summary *s = r->s;
    struct output *o = r->out;
    print_field(r, "stacks");
    print_count(o, (double)s->stacks, "distinct, ", "distinct, ");
    print_count(o, s->deepest, "frame deep at most, of ", "frames deep at most, of ");
    print_count(o, (double)s->functions, "function\n", "functions\n");
    print_field(r, "unknown");
    if (s->unknown_any > 0)
        output_format(o,
                      "%.2f%% of the weight ends in a function without a name, "
                      "%.2f%% passes through one\n",
                      share_of(r, s->unknown_leaf), share_of(r, s->unknown_any));
    else
        output_text(o, "no function is without a name\n");
}

/* The number that a row begins with. */
static void print_row(const struct report *r, const struct tally *t)
{
    char text[MEASURE_TEXT_MAX + 1];
    size_t n = measure_write(&(struct measure){1, 0, ""}, (double)t->samples, text);
    text[n] = 0;
    output_format(r->out, "%12s  ", text);
}

static void print_event(const struct report *r, event_id e)
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
    visible_print(r->out, event_name(r, e));
    if (r->p->event_count > 2 && e == r->s->event)
        output_text(r->out, " (shown unless --event names another)");
    output_char(r->out, '\n');
}

static void print_events(const struct report *r)
{
    print_heading(r, "     samples               total         event");
    output_char(r->out, '\n');
    for (event_id e = 1; e < r->p->event_count; e++)
        print_event(r, e);
}

static void print_thread(const struct report *r, uint32_t id)
{
    const struct thread *t = &r->p->threads[id];
    visible_print(r->out, t->name ? profile_string(r->p, t->name) : STR("(no name)"));
    if (t->pid != ID_NONE)
        output_format(r->out, "  pid %lld", (long long)t->pid);
    if (t->tid != ID_NONE)
        output_format(r->out, "  tid %lld", (long long)t->tid);
}

static void print_module(const struct report *r, uint32_t id)
{
    const struct module *m = &r->p->modules[id];
    visible_print(r->out, m->path ? profile_string(r->p, m->path) : STR("(no path)"));
    if (m->build_id) {
        output_text(r->out, "  build id ");
        visible_print(r->out, profile_string(r->p, m->build_id));
    }
}

static void print_list(const struct report *r, const struct tally *tallies,
                       const uint32_t *order, size_t count,
                       void (*print)(const struct report *, uint32_t))
{
    size_t shown = count > ROWS && !r->settings->all ? ROWS : count;
    output_char(r->out, '\n');
    for (size_t i = 0; i < shown; i++) {
        print_row(r, &tallies[order[i]]);
        output_format(r->out, "%6.2f%%  ", share_of(r, tallies[order[i]].weight));
        print(r, order[i]);
        output_char(r->out, '\n');
    }
    if (shown < count) {
        output_format(r->out, "%23s", "");
        print_count(r->out, (double)(count - shown), "more, with --all\n",
                    "more, with --all\n");
    }
}

static void print_threads(const struct report *r)
{
    const struct summary *s = r->s;
    if (s->thread_count) {
        print_heading(r, "     samples   share  thread");
        output_text(r->out, s->thread_count > 1 ? " (" : "");
        if (s->thread_count > 1)
            print_count(r->out, (double)s->thread_count, "", "in all");
        if (s->thread_count > 1 && s->process_count) {
            output_text(r->out, ", of ");
            print_count(r->out, (double)s->process_count, "process", "processes");
        }
        output_text(r->out, s->thread_count > 1 ? ")" : "");
        print_list(r, s->threads, s->thread_order, s->thread_count, print_thread);
    }
    if (s->module_count) {
        print_heading(r, "     samples   share  ends in");
        print_list(r, s->modules, s->module_order, s->module_count, print_module);
    }
}

static void print_warnings(const struct report *r, const char *title, bool inferred)
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

static void print_text(const struct report *r)
{
    const struct facts *facts = &r->p->facts;
    for (int i = 0; i < r->file_count; i++)
        print_fact(r, "file", str_of(r->files[i]));
    print_format_name(r);
    print_fact(r, "host", profile_string(r->p, facts->host));
    print_fact(r, "command", profile_string(r->p, facts->command));
    print_times(r);
    print_field(r, "samples");
    print_count(r->out, (double)facts->samples, "read\n", "read\n");
    if (facts->samples)
        print_stacks(r);
    print_losses(r);
    print_events(r);
    print_threads(r);
    print_warnings(r, "       times  left out or repaired while reading", false);
    print_warnings(r, "       times  not in the input, but worked out", true);
}

/* --- JSON -------------------------------------------------------------------------- */

static void put_known(struct json_writer *j, const struct report *r, const char *key,
                      string_id id)
{
    json_put_key(j, key);
    if (id)
        json_put_str(j, profile_string(r->p, id));
    else
        json_put_null(j);
}

static void put_id(struct json_writer *j, const char *key, int64_t id)
{
    json_put_key(j, key);
    if (id == ID_NONE)
        json_put_null(j);
    else
        json_put_double(j, (double)id);
}

static void begin_row(struct json_writer *j)
{
    json_put_line(j);
    json_begin(j, JSON_OBJECT);
}

static void put_facts(struct json_writer *j, const struct report *r)
{
    const struct facts *facts = &r->p->facts;
    json_put_key(j, "files");
    json_begin(j, JSON_ARRAY);
    for (int i = 0; i < r->file_count; i++)
        json_put_str(j, str_of(r->files[i]));
    json_end(j, JSON_ARRAY);
    put_known(j, r, "format", facts->format);
    put_known(j, r, "host", facts->host);
    put_known(j, r, "command", facts->command);
    if (facts->time_first != TIME_NONE) {
        json_member_u64(j, "time_first_ns", facts->time_first);
        json_member_u64(j, "time_last_ns", facts->time_last);
    }
    if (facts->rate > 0)
        json_member_double(j, "rate", facts->rate);
    json_member_u64(j, "samples", facts->samples);
    json_member_u64(j, "lost", facts->lost);
    json_member_u64(j, "truncated", facts->truncated);
    json_put_key(j, "differential");
    json_put_bool(j, facts->differential);
}

static void put_stacks(struct json_writer *j, const struct report *r)
{
    const struct summary *s = r->s;
    json_member_str(j, "event", event_name(r, s->event));
    json_member_u64(j, "stacks", s->stacks);
    json_member_u64(j, "functions", s->functions);
    json_member_u64(j, "deepest", s->deepest);
    json_member_double(j, "unknown_leaf_share", share_of(r, s->unknown_leaf) / 100);
    json_member_double(j, "unknown_any_share", share_of(r, s->unknown_any) / 100);
    json_member_u64(j, "processes", s->process_count);
}

static void put_events(struct json_writer *j, const struct report *r)
{
    json_put_key(j, "events");
    json_begin(j, JSON_ARRAY);
    for (event_id e = 1; e < r->p->event_count; e++) {
        begin_row(j);
        json_member_str(j, "name", event_name(r, e));
        json_member_str(j, "unit", str_of(unit_name((enum unit)r->p->events[e].unit)));
        json_member_u64(j, "samples", r->s->events[e].samples);
        json_member_double(j, "total", r->s->events[e].weight);
        json_end(j, JSON_OBJECT);
    }
    json_end(j, JSON_ARRAY);
}

static void put_tally(struct json_writer *j, const struct report *r,
                      const struct tally *t)
{
    json_member_u64(j, "samples", t->samples);
    json_member_double(j, "weight", t->weight);
    json_member_double(j, "share", share_of(r, t->weight) / 100);
    json_end(j, JSON_OBJECT);
}

/* Programs get all of them. */
static void put_threads(struct json_writer *j, const struct report *r)
{
    const struct summary *s = r->s;
    json_put_key(j, "threads");
    json_begin(j, JSON_ARRAY);
    for (size_t i = 0; i < s->thread_count; i++) {
        const struct thread *t = &r->p->threads[s->thread_order[i]];
        begin_row(j);
        put_known(j, r, "name", t->name);
        put_id(j, "pid", t->pid);
        put_id(j, "tid", t->tid);
        put_tally(j, r, &s->threads[s->thread_order[i]]);
    }
    json_end(j, JSON_ARRAY);
    json_put_key(j, "modules");
    json_begin(j, JSON_ARRAY);
    for (size_t i = 0; i < s->module_count; i++) {
        const struct module *m = &r->p->modules[s->module_order[i]];
        begin_row(j);
        put_known(j, r, "path", m->path);
        put_known(j, r, "build_id", m->build_id);
        put_tally(j, r, &s->modules[s->module_order[i]]);
    }
    json_end(j, JSON_ARRAY);
}

static void put_warnings(struct json_writer *j, const struct report *r, const char *key,
                         bool inferred)
{
    json_put_key(j, key);
    json_begin(j, JSON_ARRAY);
    for (unsigned i = 0; i < r->p->facts.warning_count; i++) {
        const struct warning *w = &r->p->facts.warnings[i];
        if (w->inferred != inferred)
            continue;
        begin_row(j);
        json_member_str(j, "what", str_of(w->what));
        json_member_u64(j, "count", w->count);
        if (w->first.line)
            json_member_u64(j, "first_line", w->first.line);
        else if (w->first.offset != UINT64_MAX)
            json_member_u64(j, "first_byte", w->first.offset);
        json_end(j, JSON_OBJECT);
    }
    json_end(j, JSON_ARRAY);
}

static void print_json(const struct report *r)
{
    struct json_writer j = {.out = r->out};
    json_begin(&j, JSON_OBJECT);
    put_facts(&j, r);
    put_stacks(&j, r);
    put_events(&j, r);
    put_threads(&j, r);
    put_warnings(&j, r, "warnings", false);
    put_warnings(&j, r, "inferred", true);
    json_end(&j, JSON_OBJECT);
    output_char(r->out, '\n');
}

/* --- The command --------------------------------------------------------------- */

static bool write_report(struct report *r, struct error *err)
{
    struct os_output file;
    const char *path = r->settings->output ? r->settings->output : "-";
    if (!os_output_open(&file, path, err))
        return false;
    struct output out = os_output_stream(&file);
    r->out = &out;
    r->colour = strcmp(path, "-") == 0 && os_terminal_of(1).colour;
    if (r->settings->json)
        print_json(r);
    else
        print_text(r);
    bool ok = os_output_close(&file, &out, err);
    output_deinit(&out);
    r->out = NULL;
    return ok;
}

/* Profiles; or instruction traces, where the first file is one. */
static struct profile *load_files(struct info_settings *s, int file_count, char **files,
                                  struct error *err)
{
    bool asked = s->binaries.count || s->users.count;
    if (s->load.format || !(asked || engine_is_trace(files[0])))
        return load_profiles(&s->load, file_count, files, err);
    struct trace_load t = {.symbols = s->load.symbols,
                           .binaries = s->binaries,
                           .users = s->users,
                           .threads = s->load.threads,
                           .quiet = s->load.quiet,
                           .keep = s->load.keep};
    return engine_load_traces(&t, file_count, files, &message_report, err);
}

static int info_run(void *settings, int file_count, char **files)
{
    struct info_settings *s = settings;
    struct error err = {.place = PLACE_NONE};
    struct summary summary = {0};
    s->load.own_warnings = s->load.events_apart = s->load.import.empty = true;
    view_prepare(&s->view, &s->load);
    struct profile *p = NULL;
    if (load_inputs(NULL, &file_count, &files, &err))
        p = load_files(s, file_count, files, &err);
    p = view_apply(&s->view, p, &err);
    struct report r = {
        .settings = s, .p = p, .s = &summary, .file_count = file_count, .files = files};
    bool ok = p && summary_init(&summary, p, &err) && write_report(&r, &err);
    summary_deinit(&summary);
    profile_destroy(p);
    if (!ok)
        message_error(&err);
    return ok ? STATUS_OK : STATUS_FAILED;
}

const struct command command_info = {
    .name = "info",
    .summary = "what is in a profile",
    .usage = "[OPTION...] [FILE...]",
    .examples = "  stoke info perf.txt\n"
                "  stoke info --json cpu.pprof\n",
    .groups = info_groups,
    .settings_size = sizeof(struct info_settings),
    .run = info_run,
};
