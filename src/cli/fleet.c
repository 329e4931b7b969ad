/* SPDX-License-Identifier: Apache-2.0 */
/* stoke fleet: questions about the history of many machines, services and releases. */
#include "analysis/fleet.h"
#include "base/glob.h"
#include "base/visible.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/history.h"
#include "cli/options/transforms.h"
#include "model/sample_labels.h"
#include "os/machine.h"
#include "transform/transform.h"
#include <math.h>
#include <stdlib.h>
#include <time.h>

#define AT_DEFAULT "-1h"
#define ROWS_DEFAULT 20
#define HOUR ((uint64_t)3600 * STORE_SECOND)
#define OUTLIER 3.5 /* robust standard deviations (Iglewicz, Hoaglin 1993) */

struct fleet_settings {
    struct load_settings load;
    const char *at, *by, *pattern;
    struct transform_options filter;
    int64_t rows;
    int order; /* enum order */
    double price;
};

enum order { ORDER_TOTAL, ORDER_SELF };

#define OFF(field) offsetof(struct fleet_settings, field)

static const char *const orders[] = {"total", "self", NULL};

static const struct option history_options[] = {
    {"store", 0, "FILE|URL",
     "the store: a file, or clickhouse://... (default: that of stoke daemon)",
     OPTION_STRING, OFF(load.history.store)},
    {"at", 0, "SPAN", "the span of time: -1h (default), 14:30..14:35, 2026-11-23",
     OPTION_STRING, OFF(at)},
    {"label", 0, "KEY=VALUE",
     "only samples with this label; * and ? in VALUE are wildcards (repeatable)",
     OPTION_PARSED, OFF(filter.filter.labels), .parse = transforms_add_word},
    {"drop-label", 0, "KEY=VALUE", "exclude samples with this label", OPTION_PARSED,
     OFF(filter.filter.drop_labels), .parse = transforms_add_word},
    {"event", 0, "NAME", "the event (default: CPU time, or the first)", OPTION_PARSED,
     OFF(filter.filter.events), .parse = transforms_add_word},
    {0}};

static const struct option table_options[] = {
    {"by", 0, "KEY",
     "the label that divides the fleet (default: service of top, otherwise host); or "
     "minute, hour, day",
     OPTION_STRING, OFF(by)},
    {"name", 0, "PATTERN", "only functions of this name; * and ? are wildcards",
     OPTION_STRING, OFF(pattern)},
    {"sort", 0, "COLUMN", "order of functions: total (default) or self", OPTION_CHOICE,
     OFF(order), orders},
    {"limit", 'n', "N", "rows of the table (default: 20); 0: all", OPTION_INT, OFF(rows),
     .least = 0, .most = 1e9},
    {"price", 0, "N", "price of an hour of one CPU: adds the cost of the span",
     OPTION_NUMBER, OFF(price), .least = 0, .most = 1e9},
    {"quiet", 'q', NULL, "suppress warnings", OPTION_FLAG, OFF(load.quiet)},
    {0}};

static const struct option_group fleet_groups[] = {
    {"history", history_options, 0, NULL}, {"table", table_options, 0, NULL}, {0}};

/* --- A question ------------------------------------------------------------------------- */

struct asking {
    struct fleet_settings *settings;
    struct profile *p;
    struct fleet_question question;
    struct fleet fleet;
    double seconds; /* of the span, until now */
    bool is_cpu;    /* the weights are CPU time in ns */
    struct output out;
};

/* "minute", "hour" and "day" are steps; a label of such a name cannot be chosen. */
static uint64_t step_of(const char *by)
{
    static const char *const names[] = {"minute", "hour", "day"};
    static const uint64_t seconds[] = {60, 3600, 86400};
    for (size_t i = 0; by && i < sizeof names / sizeof *names; i++)
        if (strcmp(by, names[i]) == 0)
            return seconds[i] * STORE_SECOND;
    return 0;
}

static event_id event_of(const struct profile *p, bool is_chosen)
{
    event_id cpu = is_chosen ? 0 : profile_find_kind(p, EVENT_ON_CPU);
    return cpu ? cpu : profile_default_event(p);
}

static bool measure_span(struct asking *a, struct error *err)
{
    struct store_span span;
    uint64_t now = os_clock_real();
    if (!history_parse(a->settings->at, now, &span, err))
        return false;
    if (span.to > now && span.from < now)
        span.to = now;
    a->seconds = (double)(span.to - span.from) / (double)STORE_SECOND;
    return true;
}

/* Reads the samples, and measures them by the question. */
static bool ask(struct asking *a, const char *by, struct error *err)
{
    struct fleet_settings *s = a->settings;
    const struct transform *emptied = NULL;
    struct fleet_question *q = &a->question;
    by = s->by ? s->by : by;
    q->step = step_of(by);
    q->key = q->step ? STR("") : str_of(by);
    s->load.keep = q->step != 0;
    if (!measure_span(a, err))
        return false;
    a->p = history_load(&s->load, s->at, err);
    if (a->p && !s->load.quiet)
        message_warnings(a->p, NULL);
    a->p = transform_apply(&s->filter, a->p, &emptied, err);
    if (!a->p)
        return false;
    if (a->p->sample_count == 0) {
        error_set(err, "the filters leave no sample");
        return error_hint(err, "stoke info --at %s lists events and labels", s->at);
    }
    for (unsigned side = 0; side < 2 && q->side_keys[0].len; side++)
        if (!label_key_check(a->p, q->side_keys[side], err))
            return false;
    if (q->key.len && !label_key_check(a->p, q->key, err))
        return false;
    q->event = event_of(a->p, s->filter.filter.events.count > 0);
    const struct event *e = &a->p->events[q->event];
    a->is_cpu = e->kind == EVENT_ON_CPU && e->unit == UNIT_NANOSECONDS;
    if (s->price > 0 && !a->is_cpu) {
        error_set(err, "--price needs CPU time, not the event %.*s",
                  STR_ARG(profile_string(a->p, e->name)));
        return error_hint(err, "--event cpu");
    }
    return fleet_init(&a->fleet, a->p, q, err);
}

static double all_weight(const struct asking *a)
{
    return a->fleet.weight[0] + a->fleet.weight[1];
}

static double part(double weight, double of)
{
    return of > 0 ? 100 * weight / of : 0;
}

/* The columns of an amount: CPUs, cost. */
static void put_amount(struct asking *a, double weight)
{
    if (a->is_cpu)
        output_format(&a->out, " %9.3f", weight / 1e9 / a->seconds);
    else
        output_format(&a->out, " %9.4g", weight);
    if (a->settings->price > 0)
        output_format(&a->out, " %10.2f", weight / (double)HOUR * a->settings->price);
}

static void put_amount_heading(struct asking *a)
{
    output_format(&a->out, " %9s",
                  a->is_cpu ? "CPUs" : unit_name(a->p->events[a->question.event].unit));
    if (a->settings->price > 0)
        output_format(&a->out, " %10s", "cost");
}

static void put_function(struct asking *a, string_id name)
{
    struct str text = profile_string(a->p, name);
    visible_print(&a->out, text.len ? text : STR("[unknown]"));
}

static void put_group(struct asking *a, const struct fleet_group *g)
{
    struct output value = OUTPUT_BUFFER;
    time_t second = (time_t)(g->time / STORE_SECOND);
    struct tm t;
    char text[32] = "";
    if (a->question.step && localtime_r(&second, &t) &&
        strftime(text, sizeof text, "%Y-%m-%d %H:%M", &t))
        output_text(&value, text);
    else if (g->label)
        sample_label_write(&value, a->p, g->label);
    else
        output_format(&value, "[no %.*s]", STR_ARG(a->question.key));
    visible_print(&a->out, output_contents(&value));
    a->out.failed |= value.failed;
    output_deinit(&value);
}

/* Whether the row is still shown. */
static bool has_room(const struct asking *a, size_t row)
{
    return a->settings->rows == 0 || row < (size_t)a->settings->rows;
}

/* The functions of --name. NULL when out of memory. */
static bool *choose_functions(struct asking *a, const char *pattern, size_t *count)
{
    struct fleet *f = &a->fleet;
    bool *chosen = arena_zalloc(&f->arena, f->function_count + 1, sizeof *chosen);
    *count = 0;
    for (size_t i = 0; chosen && i < f->function_count; i++) {
        struct str name = profile_string(a->p, f->functions[i].name);
        chosen[i] = !pattern || glob_match(str_of(pattern), name) ||
                    str_equal(str_of(pattern), name);
        *count += chosen[i];
    }
    return chosen;
}

static bool no_function(const char *pattern, struct error *err)
{
    error_set(err, "no function has the name '%s'", pattern);
    return error_hint(err, "* and ? are wildcards: stoke fleet top --name '*%s*'",
                      pattern);
}

/* --- top -------------------------------------------------------------------------------- */

struct ranked {
    uint32_t index;
    double key;
};

static int by_key(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* The chosen functions with a weight, in the order of --sort. */
static struct ranked *rank_functions(struct asking *a, const bool *chosen, size_t *count)
{
    struct fleet *f = &a->fleet;
    struct ranked *r = arena_alloc(&f->arena, (f->function_count + 1) * sizeof *r);
    *count = 0;
    for (uint32_t i = 0; r && i < f->function_count; i++) {
        const struct fleet_sums *s = &f->functions[i].sides[0];
        double key = a->settings->order == ORDER_SELF ? s->self : s->total;
        if (chosen[i] && key > 0)
            r[(*count)++] = (struct ranked){i, key};
    }
    if (r && *count)
        qsort(r, *count, sizeof *r, by_key);
    return r;
}

static void put_top_row(struct asking *a, const struct fleet_function *f)
{
    const struct fleet_sums *s = &f->sides[0];
    double all = all_weight(a);
    output_format(&a->out, "%6.2f%% %6.2f%%", part(s->total, all), part(s->self, all));
    put_amount(a, s->total);
    output_format(&a->out, " %6u  ", f->groups);
    put_function(a, f->name);
    output_format(&a->out, "  (%.0f%% in ", part(f->most_weight, s->total));
    put_group(a, &a->fleet.groups[f->most]);
    output_text(&a->out, ")\n");
}

static bool top(struct asking *a, char **words, struct error *err)
{
    size_t count;
    (void)words;
    if (!ask(a, "service", err))
        return false;
    bool *chosen = choose_functions(a, a->settings->pattern, &count);
    if (!chosen)
        return error_memory(err);
    if (count == 0)
        return no_function(a->settings->pattern, err);
    struct ranked *r = rank_functions(a, chosen, &count);
    if (!r)
        return error_memory(err);
    output_format(&a->out, "%7s %7s", "total", "self");
    put_amount_heading(a);
    output_format(&a->out, " %3s/%zu  function (most of it in)\n", "in",
                  a->fleet.group_count);
    for (size_t i = 0; i < count && has_room(a, i); i++)
        put_top_row(a, &a->fleet.functions[r[i].index]);
    return true;
}

/* --- function NAME ---------------------------------------------------------------------- */

static bool function(struct asking *a, char **words, struct error *err)
{
    size_t count;
    double *self, *total;
    const struct fleet *f = &a->fleet;
    if (!ask(a, "host", err))
        return false;
    bool *chosen = choose_functions(a, words[0], &count);
    if (!chosen || !fleet_by_group(&a->fleet, chosen, &self, &total))
        return error_memory(err);
    if (count == 0)
        return no_function(words[0], err);
    struct ranked *r = arena_alloc(&a->fleet.arena, (f->group_count + 1) * sizeof *r);
    if (!r)
        return error_memory(err);
    for (uint32_t i = 0; i < f->group_count; i++)
        r[i] = (struct ranked){i, a->settings->order == ORDER_SELF ? self[i] : total[i]};
    if (!a->question.step && f->group_count)
        qsort(r, f->group_count, sizeof *r, by_key);
    output_format(&a->out, "%7s %7s", "total", "self");
    put_amount_heading(a);
    output_format(&a->out, "  %s\n", a->settings->by ? a->settings->by : "host");
    for (size_t i = 0; i < f->group_count && has_room(a, i); i++) {
        const struct fleet_group *g = &f->groups[r[i].index];
        output_format(&a->out, "%6.2f%% %6.2f%%", part(total[r[i].index], g->weight),
                      part(self[r[i].index], g->weight));
        put_amount(a, total[r[i].index]);
        output_text(&a->out, "  ");
        put_group(a, g);
        output_char(&a->out, '\n');
    }
    return true;
}

/* --- compare KEY=A KEY=B ----------------------------------------------------------------- */

/* The largest p of a finding: see noise_limit. */
static double limit_of(const struct difference *d, size_t count, struct arena *arena)
{
    double *p = arena_alloc(arena, (count + 1) * sizeof *p);
    size_t tested = 0;
    for (size_t i = 0; p && i < count; i++)
        if (!d[i].few)
            p[tested++] = d[i].p;
    return p ? noise_limit(p, tested) : 0;
}

static const char *verdict_of(const struct asking *a, const struct difference *d,
                              double limit)
{
    size_t least = FLEET_GROUPS_LEAST;
    if (a->fleet.side_groups[0] < least || a->fleet.side_groups[1] < least || d->few)
        return "too few";
    if (d->p > limit)
        return "noise";
    return d->after > d->before ? "more" : "less";
}

/* A difference of shares, in points, with its sign. */
static void put_points(struct asking *a, double share)
{
    char text[32];
    format_text(text, sizeof text, "%s%.2f", share < 0 ? "-" : "+", 100 * fabs(share));
    output_format(&a->out, " %7s", text);
}

static void put_difference(struct asking *a, const struct fleet_function *f,
                           const struct difference *d, double limit)
{
    output_format(&a->out, "%6.2f%% %6.2f%%", 100 * d->before, 100 * d->after);
    put_points(a, d->after - d->before);
    if (d->few) {
        output_format(&a->out, " %19s", "");
    } else {
        put_points(a, d->low);
        output_text(&a->out, " to");
        put_points(a, d->high);
    }
    output_format(&a->out, "  %-7s  ", verdict_of(a, d, limit));
    put_function(a, f->name);
    output_char(&a->out, '\n');
}

/* Orders functions: findings by the bound of the interval that is nearer to 0, then the others by
 * the difference. */
static double key_of(const struct difference *d, double limit)
{
    double delta = fabs(d->after - d->before);
    bool is_found = !d->few && d->p <= limit;
    return is_found ? 2 + fmin(fabs(d->low), fabs(d->high)) : delta;
}

static bool put_comparison(struct asking *a, const bool *chosen, struct error *err)
{
    struct fleet *f = &a->fleet;
    size_t count = 0;
    struct difference *d = arena_alloc(&f->arena, (f->function_count + 1) * sizeof *d);
    struct ranked *r = arena_alloc(&f->arena, (f->function_count + 1) * sizeof *r);
    if (!d || !r)
        return error_memory(err);
    for (size_t i = 0; i < f->function_count; i++)
        d[i] = fleet_compare(f, &f->functions[i]);
    double limit = limit_of(d, f->function_count, &f->arena);
    for (uint32_t i = 0; i < f->function_count; i++)
        if (chosen[i] && f->functions[i].groups)
            r[count++] = (struct ranked){i, key_of(&d[i], limit)};
    if (count)
        qsort(r, count, sizeof *r, by_key);
    output_format(&a->out, "%7s %7s %7s %19s  %-7s  function\n", "before", "after",
                  "change", "95% interval", "verdict");
    for (size_t i = 0; i < count && has_room(a, i); i++)
        put_difference(a, &f->functions[r[i].index], &d[r[i].index], limit);
    return true;
}

static bool parse_side(struct asking *a, unsigned side, const char *word,
                       struct error *err)
{
    struct str value = str_of(word), key = str_cut(&value, '=');
    if (!key.len || key.len == strlen(word)) {
        error_set(err, "invalid label '%s'", word);
        return error_hint(err, "KEY=VALUE: stoke fleet compare version=1.4 version=1.5");
    }
    a->question.side_keys[side] = key;
    a->question.side_values[side] = value;
    return true;
}

static bool compare(struct asking *a, char **words, struct error *err)
{
    size_t count;
    struct fleet *f = &a->fleet;
    if (!parse_side(a, 0, words[0], err) || !parse_side(a, 1, words[1], err) ||
        !ask(a, "host", err))
        return false;
    for (unsigned side = 0; side < 2; side++)
        if (f->weight[side] <= 0) {
            error_set(err, "no sample has the label %s", words[side]);
            return error_hint(err, "stoke info --at %s lists the labels",
                              a->settings->at);
        }
    bool *chosen = choose_functions(a, a->settings->pattern, &count);
    if (!chosen)
        return error_memory(err);
    if (count == 0)
        return no_function(a->settings->pattern, err);
    if (f->side_groups[0] < FLEET_GROUPS_LEAST || f->side_groups[1] < FLEET_GROUPS_LEAST)
        message_note(
            "differences are not judged: there are %zu and %zu values of %s, and "
            "at least %d of each side are needed",
            f->side_groups[0], f->side_groups[1],
            a->settings->by ? a->settings->by : "host", FLEET_GROUPS_LEAST);
    return put_comparison(a, chosen, err);
}

/* --- outliers ----------------------------------------------------------------------------- */

static double median(struct ranked *r, size_t count)
{
    qsort(r, count, sizeof *r, by_key);
    return count % 2 ? r[count / 2].key : (r[count / 2 - 1].key + r[count / 2].key) / 2;
}

/* A group with few samples has a large distance by chance: the spread is at least this. */
static double least_spread(const struct fleet_group *g)
{
    return g->samples ? 0.5 / sqrt((double)g->samples) : 1;
}

/* 1.4826 times the median of the distances from the median, as of a normal distribution. */
static double spread(struct asking *a, const struct ranked *r, size_t count,
                     double middle)
{
    struct ranked *from = arena_alloc(&a->fleet.arena, (count + 1) * sizeof *from);
    for (size_t i = 0; from && i < count; i++)
        from[i] = (struct ranked){r[i].index, fabs(r[i].key - middle)};
    return from ? 1.4826 * median(from, count) : 0;
}

static void put_outlier(struct asking *a, const struct fleet_group *g,
                        const struct fleet_distance *d, bool is_outlier)
{
    output_format(&a->out, "%7.2f%%", 100 * d->distance);
    put_amount(a, g->weight);
    output_format(&a->out, "  %-7s  ", is_outlier ? "outlier" : "");
    put_group(a, g);
    output_text(&a->out, "  (");
    put_function(a, a->fleet.functions[d->function].name);
    output_format(&a->out, " %.2f%%, usually %.2f%%)\n", 100 * d->share, 100 * d->usual);
}

static bool outliers(struct asking *a, char **words, struct error *err)
{
    (void)words;
    if (!ask(a, "host", err))
        return false;
    size_t count = a->fleet.group_count;
    struct fleet_distance *d = fleet_distances(&a->fleet);
    struct ranked *r = arena_alloc(&a->fleet.arena, (count + 1) * sizeof *r);
    if (!d || !r)
        return error_memory(err);
    if (count == 0 || a->fleet.function_count == 0)
        return error_set(err, "the event has no stacks");
    for (uint32_t i = 0; i < count; i++)
        r[i] = (struct ranked){i, d[i].distance};
    double middle = median(r, count), deviation = spread(a, r, count, middle);
    output_format(&a->out, "%8s", "distance");
    put_amount_heading(a);
    output_format(&a->out, "  %-7s  %s (largest difference)\n", "",
                  a->settings->by ? a->settings->by : "host");
    for (size_t i = 0; i < count && has_room(a, i); i++)
        put_outlier(a, &a->fleet.groups[r[i].index], &d[r[i].index],
                    count > FLEET_GROUPS_LEAST &&
                        r[i].key - middle >
                            OUTLIER * fmax(deviation,
                                           least_spread(&a->fleet.groups[r[i].index])));
    return true;
}

/* --- The command -------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int words; /* that follow it */
    bool (*run)(struct asking *a, char **words, struct error *err);
} actions[] = {{"top", 0, top},
               {"function", 1, function},
               {"compare", 2, compare},
               {"outliers", 0, outliers}};

#define ACTIONS (sizeof actions / sizeof *actions)

static int bad_usage(const char *word, bool is_known)
{
    struct error err = {.location = LOCATION_NONE};
    if (!word)
        error_set(&err, "what to ask the store is missing");
    else if (is_known)
        error_set(&err, "wrong number of arguments after '%s'", word);
    else
        error_set(&err, "unknown question '%s'", word);
    error_hint(&err, "stoke fleet top, function NAME, compare KEY=VALUE KEY=VALUE, or "
                     "outliers");
    message_error(&err);
    return STATUS_USAGE;
}

static bool answer(size_t action, struct fleet_settings *s, char **words,
                   struct error *err)
{
    struct asking a = {.settings = s, .out = OUTPUT_BUFFER};
    bool ok = actions[action].run(&a, words, err);
    if (ok && (a.out.failed || a.fleet.arena.failed))
        ok = error_memory(err);
    if (ok)
        ok = message_lines(output_contents(&a.out)) ||
             error_set(err, "cannot write the output");
    output_deinit(&a.out);
    fleet_deinit(&a.fleet);
    profile_destroy(a.p);
    return ok;
}

static int fleet_command(void *settings, int word_count, char **words)
{
    struct error err = {.location = LOCATION_NONE};
    if (word_count == 0)
        return bad_usage(NULL, false);
    for (size_t i = 0; i < ACTIONS; i++) {
        if (strcmp(words[0], actions[i].name) != 0)
            continue;
        return word_count - 1 == actions[i].words
                   ? command_status(answer(i, settings, words + 1, &err), &err)
                   : bad_usage(words[0], true);
    }
    return bad_usage(words[0], false);
}

static const struct fleet_settings fleet_defaults = {.at = AT_DEFAULT,
                                                     .rows = ROWS_DEFAULT};

const struct command command_fleet = {
    .name = "fleet",
    .summary = "ask the history of many machines",
    .usage = "top|outliers|function NAME|compare KEY=VALUE KEY=VALUE [OPTION...]",
    .examples = "  stoke fleet top --store clickhouse://reader@db:8443/stoke --at -1h\n"
                "  stoke fleet top --name '*json*' --price 0.04\n"
                "  stoke fleet function parse --by hour --at -1d --label service=api\n"
                "  stoke fleet compare version=1.4 version=1.5 --label service=api\n"
                "  stoke fleet outliers --label service=api\n",
    .groups = fleet_groups,
    .settings_size = sizeof(struct fleet_settings),
    .defaults = &fleet_defaults,
    .run = fleet_command,
};
