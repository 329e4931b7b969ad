/* SPDX-License-Identifier: Apache-2.0 */
/* A call graph begins with the row's function and continues with callers (-g callee, the
 * default without --children), or begins with the outermost caller and ends with the
 * function (-g caller). With --children, it has also what the function calls. The report
 * does not say which: the names of the first and last lines do.
 *
 * The percentages of a branch are of the event, or of the branch above (-g fractal): then
 * those of the branches below one add up to 100, which is more than its own. Branches
 * below the limit of perf report are not printed: what remains of a branch without those
 * below it ends there. */
#include "base/idmap.h"
#include "import/perf_line.h"
#include "import/perf_report.h"
#include "import/stated.h"
#include <math.h>

#define PERCENT_DOUBT 0.005 /* of a percentage with two decimals */

struct settling {
    struct report *r;
    bool callers_first; /* -g caller */
    bool relative;      /* -g fractal */
    double unit;        /* the value of 1 percent in the unit of the graph's values */
    double doubt;       /* of a value */
    double sum;         /* of the weights */
    struct arena arena;
    struct idmap modules; /* by name: module and kind + 1; 1 << 63: several */
    event_id event;
};

/* The samples of a row, divided among its stacks: sums of rounded parts stay exact. */
struct division {
    const struct report_row *row;
    double weight, count; /* of the row */
    double whole;         /* sum of all parts */
    double done;          /* of the parts so far */
};

static bool row_has(const struct report_row *row, uint32_t node)
{
    return node != REPORT_NO_NODE && node >= row->first_node;
}

/* --- The form of the graph ----------------------------------------------------------- */

static void count_children(struct report *r)
{
    for (size_t i = 0; i < r->node_count; i++)
        if (r->nodes[i].parent != REPORT_NO_NODE)
            r->nodes[r->nodes[i].parent].children++;
}

/* The row's self value as a vote for the order of its graph: positive if it begins with
 * callers, 0 if the graph does not say it. */
static double row_vote(const struct report *r, const struct report_row *row)
{
    bool begins = false, differs = false, ends = false, branches = false;
    for (uint32_t n = 0; n < row->node_count && row->name; n++) {
        const struct report_node *node = &r->nodes[row->first_node + n];
        bool is_top = node->parent == REPORT_NO_NODE;
        bool is_function = node->name == row->name;
        branches |= !is_top;
        begins |= is_top && is_function;
        differs |= is_top && !is_function;
        ends |= !is_top && !node->children && is_function;
    }
    if (differs && ends)
        return row->self;
    return branches && begins && !differs && row->self >= row->total ? -row->self : 0;
}

static void find_order(struct settling *s)
{
    const struct report *r = s->r;
    double vote = 0;
    for (size_t i = 0; i < r->row_count; i++)
        vote += row_vote(r, &r->rows[i]);
    s->callers_first = vote > 0 || (r->has_children && vote == 0);
}

static double node_total(const struct settling *s, const struct report_row *row,
                         const struct report_node *node)
{
    double above = row->total * s->unit;
    if (node->parent != REPORT_NO_NODE)
        above = s->r->nodes[node->parent].total;
    if (node->value_kind == VALUE_NONE)
        return above;
    if (node->value_kind == VALUE_NUMBER)
        return node->value;
    return s->relative ? node->value * above / 100 : node->value;
}

/* Sets the totals, and what remains of them. False if a total is smaller than those of its
 * branches. */
static bool fill_totals(const struct settling *s, const struct report_row *row)
{
    struct report_node *nodes = s->r->nodes;
    bool fits = true;
    double top = 0;
    uint32_t top_count = 1;
    for (uint32_t n = 0; n < row->node_count; n++) {
        struct report_node *node = &nodes[row->first_node + n];
        node->total = node->rest = node_total(s, row, node);
        if (node->parent != REPORT_NO_NODE) {
            nodes[node->parent].rest -= node->total;
        } else {
            top += node->total;
            top_count++;
        }
    }
    for (uint32_t n = 0; n < row->node_count; n++) {
        const struct report_node *node = &nodes[row->first_node + n];
        fits &= node->rest >= -s->doubt * (node->children + 1);
    }
    return fits && top <= row->total * s->unit + s->doubt * top_count;
}

static void find_values(struct settling *s)
{
    const struct report *r = s->r;
    double most = 0;
    bool percent = true;
    for (size_t i = 0; i < r->node_count; i++) {
        percent &= r->nodes[i].value_kind != VALUE_NUMBER;
        if (r->nodes[i].value_kind == VALUE_NUMBER && r->nodes[i].value > most)
            most = r->nodes[i].value;
    }
    s->unit = 1;
    if (!percent && (r->samples > 0 || r->total > 0))
        s->unit = (most <= r->samples || r->total <= 0 ? r->samples : r->total) / 100;
    s->doubt = PERCENT_DOUBT * s->unit;
    for (size_t i = 0; i < r->row_count && percent && !s->relative; i++)
        s->relative = !fill_totals(s, &r->rows[i]);
}

/* --- Frames ---------------------------------------------------------------------------- */

/* The rows name the modules of functions, which the lines of a graph lack. */
static void learn_modules(struct settling *s)
{
    const struct report *r = s->r;
    for (size_t i = 0; i < r->row_count; i++) {
        const struct report_row *row = &r->rows[i];
        uint64_t value = ((uint64_t)row->module << 8 | (uint64_t)row->kind) + 1;
        uint64_t *known = row->name ? idmap_put(&s->modules, &s->arena, row->name) : NULL;
        if (known)
            *known = *known && *known != value ? (uint64_t)1 << 63 : value;
    }
}

static frame_id frame_of(const struct settling *s, string_id name, bool is_inlined)
{
    const uint64_t *known = idmap_find(&s->modules, name);
    struct frame frame = {.name = name};
    if (known && *known && !(*known >> 63)) {
        frame.module = (module_id)((*known - 1) >> 8);
        frame.kind = (uint32_t)((*known - 1) & 0xff);
    }
    if (is_inlined)
        frame.kind = FRAME_INLINED;
    return builder_frame(s->r->b, &frame);
}

static frame_id row_frame(const struct settling *s, const struct report_row *row)
{
    string_id name = row->name ? row->name : row->label;
    return builder_frame(s->r->b, &(struct frame){.name = name,
                                                  .module = row->module,
                                                  .kind = (uint32_t)row->kind});
}

/* The stack of a row whose callers are not known. */
static stack_id row_stack(const struct settling *s, const struct report_row *row)
{
    bool is_named = row->name || row->label;
    return is_named ? builder_push(s->r->b, 0, row_frame(s, row)) : 0;
}

/* The stack of the lines from the first one to `last`. */
static stack_id stack_of(const struct settling *s, const struct report_row *row,
                         uint32_t last)
{
    struct builder *b = s->r->b;
    builder_path_clear(b);
    uint32_t first = last;
    for (uint32_t at = last; row_has(row, at); at = s->r->nodes[at].parent) {
        const struct report_node *node = &s->r->nodes[at];
        bool is_end = s->callers_first ? at == last : !row_has(row, node->parent);
        frame_id frame = is_end && node->name == row->name && !node->is_inlined
                             ? row_frame(s, row)
                             : frame_of(s, node->name, node->is_inlined);
        builder_path_add(b, frame);
        first = at;
    }
    if (s->callers_first)
        return builder_path_from_leaf(b);
    /* With --sort sym, perf does not repeat the function. */
    if (row->name && s->r->nodes[first].name != row->name)
        builder_path_add(b, row_frame(s, row));
    return builder_path_from_root(b);
}

/* --- Samples --------------------------------------------------------------------------- */

static void add_part(struct settling *s, struct division *d, stack_id stack, double part)
{
    double before = d->whole > 0 ? d->done / d->whole : 0;
    d->done += part;
    double after = d->whole > 0 ? d->done / d->whole : 1;
    if (after > 1)
        after = 1;
    double weight = round(after * d->weight) - round(before * d->weight);
    double count = round(after * d->count) - round(before * d->count);
    if (!(weight > 0))
        return;
    s->sum += weight;
    builder_add(s->r->b, &(struct sample){.time = TIME_NONE,
                                          .thread = d->row->thread,
                                          .cpu = d->row->cpu,
                                          .event = s->event,
                                          .stack = stack,
                                          .count = count >= 1 ? (uint64_t)count : 1,
                                          .weight = weight});
}

/* What remains of a node and belongs to the row's function itself; 0 if less than the
 * rounding of the values. */
static double own_part(const struct settling *s, const struct report_row *row,
                       uint32_t index)
{
    const struct report_node *node = &s->r->nodes[index];
    if (!(node->rest > (node->children ? s->doubt * (node->children + 1) : 0)))
        return 0;
    if (!s->callers_first || !row->name || node->name == row->name)
        return node->rest;
    return 0;
}

/* Whether a line's path from the outermost caller to the row's function may also be what
 * the function calls: it begins with the function. */
static bool is_doubtful(const struct settling *s, const struct report_row *row,
                        uint32_t index)
{
    uint32_t at = index;
    if (!s->callers_first || !s->r->has_children)
        return false;
    while (row_has(row, s->r->nodes[at].parent))
        at = s->r->nodes[at].parent;
    return s->r->nodes[at].name == row->name;
}

static void add_stacks(struct settling *s, const struct report_row *row,
                       struct division *d)
{
    double own = row->self * s->unit, certain = 0, doubtful = 0;
    uint32_t end = row->first_node + row->node_count;
    for (uint32_t i = row->first_node; i < end; i++) {
        double part = own_part(s, row, i);
        *(part > 0 && is_doubtful(s, row, i) ? &doubtful : &certain) += part;
    }
    double left = own > certain ? own - certain : 0;
    double share = doubtful > left ? left / doubtful : 1;
    double slack = s->doubt * (row->node_count + 1);
    bool all_callers = !s->callers_first && s->r->has_children;
    left -= doubtful * share;
    if (left <= slack || all_callers)
        left = 0;
    d->whole = certain + doubtful * share + left;
    if (all_callers && row->self < row->total && certain > 0)
        builder_infer_times(
            s->r->b, "callers of a function's self value, in the proportion of its total",
            1);
    for (uint32_t i = row->first_node; i < end; i++) {
        double part = own_part(s, row, i);
        if (part > 0)
            add_part(s, d, stack_of(s, row, i),
                     is_doubtful(s, row, i) ? part * share : part);
    }
    if (d->whole > 0 && left <= 0)
        return;
    if (s->r->node_count)
        s->r->b->profile->facts.truncated++;
    add_part(s, d, row_stack(s, row), left);
}

static void add_row(struct settling *s, const struct report_row *row)
{
    const struct report *r = s->r;
    struct division d = {.row = row};
    double whole = r->counts || r->total < 0 ? r->samples : r->total;
    d.weight = row->self * whole / 100;
    if (r->counts && row->samples >= 0)
        d.weight = row->samples;
    else if (!r->counts && row->period >= 0)
        d.weight = row->period;
    d.count = row->samples >= 0 ? row->samples : row->self * r->samples / 100;
    if (!(d.weight > 0))
        return;
    fill_totals(s, row);
    if (row->node_count)
        add_stacks(s, row, &d);
    else
        add_part(s, &d, row_stack(s, row), 0);
}

/* Self values are exact in any case. */
static void report_missing_graphs(const struct report *r)
{
    uint64_t missing = 0;
    for (size_t i = 0; i < r->row_count; i++)
        missing += r->rows[i].node_count == 0 && r->rows[i].total > 0;
    if (r->has_children && !r->node_count)
        builder_warn_times(r->b,
                           "a row with a total but no call graph: only its self value is "
                           "read; perf report -g graph,0 prints call graphs",
                           missing);
    else if (r->node_count)
        builder_warn_times(r->b,
                           "a row without a call graph: the totals of its callers lack "
                           "it; perf report -g graph,0 prints all",
                           missing);
}

/* Rows without percentages have those of their numbers. */
static void fill_shares(struct report *r)
{
    double sum = 0;
    for (size_t i = 0; i < r->row_count; i++) {
        const struct report_row *row = &r->rows[i];
        sum += row->period >= 0 ? row->period : row->samples >= 0 ? row->samples : 0;
    }
    for (size_t i = 0; i < r->row_count; i++) {
        struct report_row *row = &r->rows[i];
        double part = row->period >= 0 ? row->period : row->samples;
        if (row->self < 0)
            row->self = sum > 0 && part > 0 ? 100 * part / sum : 0;
        if (row->total < 0)
            row->total = row->self;
    }
}

void perf_report_settle(struct report *r)
{
    fill_shares(r);
    struct settling s = {.r = r, .unit = 1, .doubt = PERCENT_DOUBT};
    double whole = r->counts || r->total < 0 ? r->samples : r->total;
    if (r->row_count && whole < 0) {
        builder_warn_times(r->b, "rows without a total of their event", r->row_count);
        r->row_count = 0;
    }
    if (r->row_count) {
        struct str name =
            r->event ? profile_string(r->b->profile, r->event) : STR("samples");
        bool has_period = !r->counts && r->total >= 0;
        s.event = builder_event(r->b, name, perf_event_unit(name, has_period));
        count_children(r);
        find_order(&s);
        find_values(&s);
        learn_modules(&s);
        report_missing_graphs(r);
        for (size_t i = 0; i < r->row_count && !builder_failed(r->b); i++)
            add_row(&s, &r->rows[i]);
        if (has_period)
            stated_check_about(r->b, STR("weights"), s.sum, whole,
                               whole * (double)r->row_count * PERCENT_DOUBT / 100 + 0.5);
    }
    builder_end_scratch(r->b, &s.arena);
    r->row_count = r->node_count = 0;
}
