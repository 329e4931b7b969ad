/* SPDX-License-Identifier: Apache-2.0 */
/* What the page calls. Text and binary come back as the reply: its place and length are
 * told by core_reply and core_reply_length, and it is good until the next call. Where a
 * function returns an int, 0 means that the reply is an error (tell_error). */
#include "web/core/core.h"
#include "base/hash.h"
#include "base/limits.h"
#include "export/table.h"
#include "transform/transform.h"

#define EXPORT(name) __attribute__((export_name(#name))) name
#define PROFILES 2 /* the one looked at, and the one it is compared with */
#define CHART_TIME TREE_COUNT
#define STACK_TOLD 2000 /* frames of a box's stack */

static struct {
    struct loading loading;
    struct profile *opened[PROFILES];
    struct profile *both;     /* compared; or NULL */
    struct profile *filtered; /* NULL: nothing is filtered */
    struct profile *retired;  /* still shown, but opened no longer; or NULL */
    struct shown shown;
    struct tree trees[TREE_COUNT];
    enum tree_order orders[TREE_COUNT];
    struct chart charts[TREE_COUNT + 1];
    struct functions functions;
    struct search search;
    struct graph graph;
    enum tone_by tone_by;
    uint8_t *tones; /* by label; the arena's */
    struct arena tone_arena;
    string_id chosen; /* whose callers and callees are shown */
    struct output reply;
    struct error err;
} core;

/* --- Replies ----------------------------------------------------------------------- */

static struct json_writer begin_reply(void)
{
    core.reply.used = 0;
    core.err = (struct error){.place = PLACE_NONE};
    return (struct json_writer){.out = &core.reply};
}

static int end_reply(bool ok)
{
    if (ok && !core.reply.failed)
        return 1;
    output_deinit(&core.reply);
    core.reply = OUTPUT_KEEP;
    struct json_writer w = {.out = &core.reply};
    if (ok)
        error_memory(&core.err);
    tell_error(&w, &core.err);
    return 0;
}

const char *EXPORT(core_reply)(void)
{
    return core.reply.bytes;
}

uint32_t EXPORT(core_reply_length)(void)
{
    return (uint32_t)core.reply.used;
}

/* --- What is made on demand -------------------------------------------------------- */

static void forget_tree(enum tree_kind kind)
{
    chart_deinit(&core.charts[kind]);
    tree_deinit(&core.trees[kind]);
}

static void forget_shown(void)
{
    for (unsigned i = 0; i < TREE_COUNT; i++)
        forget_tree((enum tree_kind)i);
    chart_deinit(&core.charts[CHART_TIME]);
    functions_deinit(&core.functions);
    search_deinit(&core.search);
    graph_deinit(&core.graph);
    arena_deinit(&core.tone_arena);
    core.tones = NULL;
    core.chosen = 0;
    shown_deinit(&core.shown);
    profile_destroy(core.retired);
    core.retired = NULL;
}

/* What is shown stays until something else is: the page may ask for it in between. */
static void retire(struct profile **p)
{
    if (*p && *p == core.shown.p)
        core.retired = *p;
    else
        profile_destroy(*p);
    *p = NULL;
}

static bool need_shown(void)
{
    return core.shown.p || error_set(&core.err, "nothing is shown");
}

static bool need_tree(enum tree_kind kind)
{
    struct tree *t = &core.trees[kind];
    if (!need_shown())
        return false;
    return t->made ||
           tree_init(t, &core.shown, kind, core.chosen, core.orders[kind], &core.err);
}

static bool need_chart(uint32_t kind)
{
    struct chart *c = &core.charts[kind];
    if (c->made)
        return true;
    if (!need_shown())
        return false;
    if (kind == CHART_TIME ? !chart_of_time(c, &core.shown, &core.err)
                           : !need_tree((enum tree_kind)kind) ||
                                 !chart_of_tree(c, &core.trees[kind], &core.err))
        return false;
    chart_sum_up(c, &core.shown);
    return true;
}

static bool need_functions(void)
{
    return core.functions.made ||
           (need_tree(TREE_DOWN) && functions_init(&core.functions, &core.shown,
                                                   &core.trees[TREE_DOWN], &core.err));
}

static uint8_t tone_of(string_id label)
{
    const struct shown *s = &core.shown;
    const struct frame *f = &s->p->frames[s->frame_of_label[label]];
    struct str text = strings_get(&s->paths.labels, label);
    if (core.tone_by == TONE_KIND)
        return s->kind_of_label[label];
    if (core.tone_by == TONE_MODULE)
        text = profile_string(s->p, s->p->modules[f->module].path);
    return (uint8_t)(hash_bytes(text.ptr, text.len) >> 7);
}

static bool need_tones(void)
{
    size_t labels = core.shown.paths.labels.count;
    if (core.tones)
        return true;
    if (!need_shown())
        return false;
    core.tones = arena_zalloc(&core.tone_arena, labels, 1);
    for (string_id label = 1; core.tones && label < labels; label++)
        core.tones[label] = tone_of(label);
    return core.tones || error_memory(&core.err);
}

/* --- Opening ----------------------------------------------------------------------- */

int EXPORT(core_begin)(const char *name, uint32_t length)
{
    begin_reply();
    return end_reply(loading_begin(&core.loading, (struct str){name, length}, &core.err));
}

int EXPORT(core_format)(const char *name, uint32_t length)
{
    begin_reply();
    return end_reply(
        loading_format(&core.loading, (struct str){name, length}, &core.err));
}

void EXPORT(core_flaw)(uint32_t flaw)
{
    loading_flaw(&core.loading, (enum flaw)flaw);
}

/* Whether packed data is refused: the limit that the command line has. */
int EXPORT(core_unpacks_too_far)(double in, double out)
{
    return limits_exceeded((uint64_t)in, (uint64_t)out);
}

char *EXPORT(core_room)(uint32_t length)
{
    return loading_room(&core.loading, length);
}

int EXPORT(core_feed)(uint32_t length, int last)
{
    begin_reply();
    return end_reply(loading_feed(&core.loading, length, last, &core.err));
}

void EXPORT(core_cancel)(void)
{
    loading_deinit(&core.loading);
}

static bool compare(void)
{
    struct diff_options options = {.threads = THREAD_COMM};
    retire(&core.both);
    if (!core.opened[1])
        return true;
    core.both = transform_diff(core.opened[1], core.opened[0], &options, &core.err);
    return core.both != NULL;
}

/* What is read so far becomes the profile; reading goes on. */
int EXPORT(core_partial)(void)
{
    struct json_writer w = begin_reply();
    struct profile *p = loading_so_far(&core.loading, &core.err);
    if (!p)
        return end_reply(false);
    retire(&core.both);
    retire(&core.filtered);
    retire(&core.opened[1]);
    retire(&core.opened[0]);
    core.opened[0] = p;
    tell_profile(&w, p);
    return end_reply(true);
}

/* Reads no more. 0 where nothing was read: core_finish then has nothing to give. */
int EXPORT(core_stop)(void)
{
    return loading_stop(&core.loading);
}

/* What was read becomes the profile (0), or the one that it is compared with (1). Nothing
 * is shown until core_show. */
int EXPORT(core_finish)(uint32_t slot)
{
    struct json_writer w = begin_reply();
    struct profile *p = loading_finish(&core.loading, &core.err);
    if (!p || slot >= PROFILES)
        return end_reply(false);
    retire(&core.filtered);
    if (slot == 0)
        retire(&core.opened[1]);
    retire(&core.opened[slot]);
    core.opened[slot] = p;
    if (!compare())
        return end_reply(false);
    tell_profile(&w, core.both ? core.both : p);
    return end_reply(true);
}

/* Ends the comparison. */
int EXPORT(core_alone)(void)
{
    struct json_writer w = begin_reply();
    retire(&core.filtered);
    retire(&core.opened[1]);
    compare();
    tell_profile(&w, core.opened[0]);
    return end_reply(true);
}

/* --- Showing ----------------------------------------------------------------------- */

static void tell_shown(struct json_writer *w)
{
    const struct shown *s = &core.shown;
    const struct event *e = &s->p->events[s->event];
    json_begin(w, JSON_OBJECT);
    json_member_double(w, "total", s->total);
    json_member_double(w, "base_total", s->base_total);
    json_member_double(w, "unnamed", s->unnamed);
    json_member_u64(w, "event", s->event);
    json_member_str(w, "unit",
                    s->count ? STR("samples") : str_of(unit_name((enum unit)e->unit)));
    json_member_str(w, "event_name", profile_string(s->p, e->name));
    json_member_u64(w, "samples", s->samples);
    json_end(w, JSON_OBJECT);
}

/* Applies the filters (JSON) and takes an event (0: the first) as the weight, or counts
 * samples. Where that fails all stays as it was shown before. */
int EXPORT(core_show)(const char *filters, uint32_t length, uint32_t event, int count)
{
    struct json_writer w = begin_reply();
    struct profile *from = core.both ? core.both : core.opened[0];
    struct shown shown;
    if (!from)
        return end_reply(error_set(&core.err, "nothing is open"));
    struct profile *p = filter_apply(from, (struct str){filters, length}, &core.err);
    if (!p)
        return end_reply(false);
    if (!shown_init(&shown, p, event, count, &core.err)) {
        shown_deinit(&shown);
        if (p != from)
            profile_destroy(p);
        return end_reply(false);
    }
    retire(&core.filtered);
    forget_shown();
    core.filtered = p != from ? p : NULL;
    core.shown = shown;
    /* the tables point into the struct that was copied */
    core.shown.paths.labels.arena = &core.shown.paths.arena;
    tell_shown(&w);
    return end_reply(true);
}

int EXPORT(core_color)(uint32_t by)
{
    begin_reply();
    core.tone_by = (enum tone_by)by;
    arena_deinit(&core.tone_arena);
    core.tones = NULL;
    return end_reply(need_tones());
}

/* By label how it is drawn: the tones of all labels, then the marks (enum drawn_flag) of
 * all, a byte each. */
int EXPORT(core_looks)(void)
{
    begin_reply();
    if (!need_tones())
        return end_reply(false);
    size_t labels = core.shown.paths.labels.count;
    output_bytes(&core.reply, (const char *)core.tones, labels);
    output_bytes(&core.reply, (const char *)core.shown.marks_of_label, labels);
    return end_reply(true);
}

/* Chooses the function that TREE_CALLERS and TREE_CALLEES are of. */
int EXPORT(core_choose)(uint32_t label)
{
    struct json_writer w = begin_reply();
    if (!need_functions() || label >= core.shown.paths.labels.count)
        return end_reply(false);
    if (label != core.chosen) {
        forget_tree(TREE_CALLERS);
        forget_tree(TREE_CALLEES);
    }
    core.chosen = label;
    tell_function(&w, &core.shown, &core.functions, label);
    return end_reply(true);
}

/* The label of that name; 0 where there is none. */
uint32_t EXPORT(core_find)(const char *name, uint32_t length)
{
    return strings_find(&core.shown.paths.labels, (struct str){name, length});
}

/* --- Charts ------------------------------------------------------------------------ */

int EXPORT(core_chart)(uint32_t kind, uint32_t order)
{
    struct json_writer w = begin_reply();
    if (kind > CHART_TIME)
        return end_reply(false);
    if (kind < TREE_COUNT && core.orders[kind] != (enum tree_order)order) {
        forget_tree((enum tree_kind)kind);
        if (kind == TREE_DOWN)
            functions_deinit(&core.functions);
        core.orders[kind] = (enum tree_order)order;
    }
    if (!need_chart(kind))
        return end_reply(false);
    const struct chart *c = &core.charts[kind];
    json_begin(&w, JSON_OBJECT);
    json_member_u64(&w, "rows", c->rows);
    json_member_u64(&w, "boxes", c->row_first[c->rows]);
    json_member_double(&w, "to", c->to);
    json_put_key(&w, "timed");
    json_put_bool(&w, c->timed);
    tell_lanes(&w, &core.shown, c);
    tell_losses(&w, &core.shown, c);
    json_end(&w, JSON_OBJECT);
    return end_reply(true);
}

/* The reply is the struct drawn_box of all that is visible. */
int EXPORT(core_draw)(uint32_t kind, double from, double to, double width,
                      uint32_t first_row, uint32_t last_row)
{
    begin_reply();
    if (kind > CHART_TIME || !need_chart(kind) || !need_tones())
        return end_reply(false);
    struct window window = {from, to, width, first_row, last_row};
    struct looks looks = {core.tones, core.search.matches, core.tone_by, core.chosen};
    chart_draw(&core.charts[kind], &core.shown, &window, &looks, &core.reply);
    return end_reply(true);
}

/* The box at a place; NONE where there is none. */
uint32_t EXPORT(core_hit)(uint32_t kind, uint32_t row, double x)
{
    if (kind > CHART_TIME || !core.charts[kind].made || row >= core.charts[kind].rows)
        return NONE;
    const struct chart *c = &core.charts[kind];
    uint32_t box = chart_find(c, row, c->row_first[row], x);
    return box < c->row_first[row + 1] && c->begin[box] <= x ? box : NONE;
}

/* Names for labels: a JSON array. */
int EXPORT(core_names)(const uint32_t *labels, uint32_t count)
{
    struct json_writer w = begin_reply();
    json_begin(&w, JSON_ARRAY);
    for (uint32_t i = 0; i < count; i++)
        json_put_str(&w, labels[i] < core.shown.paths.labels.count
                             ? strings_get(&core.shown.paths.labels, labels[i])
                             : STR(""));
    json_end(&w, JSON_ARRAY);
    return end_reply(true);
}

static uint32_t node_parent(const struct chart *c, uint32_t node)
{
    return c->tree ? c->tree->nodes[node].parent : core.shown.paths.nodes[node].parent;
}

static string_id node_label(const struct chart *c, uint32_t node)
{
    return c->tree ? tree_label(c->tree, node) : path_label(&core.shown.paths, node);
}

/* A box: where it is, what it weighs, and the frames from it to the root. */
int EXPORT(core_box)(uint32_t kind, uint32_t box)
{
    struct json_writer w = begin_reply();
    if (kind > CHART_TIME || !need_chart(kind) || !need_functions())
        return end_reply(false);
    const struct chart *c = &core.charts[kind];
    if (box >= c->row_first[c->rows])
        return end_reply(error_set(&core.err, "there is no such box"));
    uint32_t row = 0, node = c->node[box];
    while (c->row_first[row + 1] <= box)
        row++;
    json_begin(&w, JSON_OBJECT);
    json_member_u64(&w, "box", box);
    json_member_u64(&w, "row", row);
    json_member_double(&w, "from", c->begin[box]);
    json_member_double(&w, "to", c->end[box]);
    if (c->tree) {
        json_member_double(&w, "self", c->tree->self[node]);
        json_member_double(&w, "total", c->tree->total[node]);
        if (c->tree->base_total)
            json_member_double(&w, "base_total", c->tree->base_total[node]);
        if (c->tree->waiting)
            json_member_double(&w, "waiting", c->tree->waiting[node]);
    }
    if (c->timed) {
        json_put_key(&w, "off");
        json_put_bool(&w, chart_waits(c, box) >= ALL_WAITS);
        if (c->waited)
            json_member_double(&w, "waiting", (double)c->waited[box]);
    }
    json_put_key(&w, "function");
    tell_function(&w, &core.shown, &core.functions, node_label(c, node));
    json_put_key(&w, "stack");
    json_begin(&w, JSON_ARRAY);
    for (unsigned i = 0; node && i < STACK_TOLD; i++, node = node_parent(c, node))
        json_put_str(&w, strings_get(&core.shown.paths.labels, node_label(c, node)));
    json_end(&w, JSON_ARRAY);
    json_put_key(&w, "labels");
    json_begin(&w, JSON_ARRAY);
    node = c->node[box];
    for (unsigned i = 0; node && i < STACK_TOLD; i++, node = node_parent(c, node))
        json_put_u64(&w, node_label(c, node));
    json_end(&w, JSON_ARRAY);
    json_end(&w, JSON_OBJECT);
    return end_reply(true);
}

/* The box next to another: 0 its caller's, 1 its first callee's, 2 left, 3 right of it;
 * NONE where there is none. From NONE: the first box of the first row. */
uint32_t EXPORT(core_step)(uint32_t kind, uint32_t box, uint32_t way)
{
    if (kind > CHART_TIME || !core.charts[kind].made)
        return NONE;
    const struct chart *c = &core.charts[kind];
    uint32_t row = 0, count = c->row_first[c->rows];
    if (box >= count)
        return count ? 0 : NONE;
    while (c->row_first[row + 1] <= box)
        row++;
    if (way == 2)
        return box > c->row_first[row] ? box - 1 : NONE;
    if (way == 3)
        return box + 1 < c->row_first[row + 1] ? box + 1 : NONE;
    if (way == 0 && row == 0)
        return NONE;
    uint32_t to = way == 0 ? row - 1 : row + 1;
    if (to >= c->rows)
        return NONE;
    uint32_t found = chart_find(c, to, c->row_first[to], c->begin[box]);
    return found < c->row_first[to + 1] && c->begin[found] < c->end[box] ? found : NONE;
}

/* The next (or, with `back`, the last) box whose function matches the search; NONE. */
uint32_t EXPORT(core_next_match)(uint32_t kind, uint32_t box, int back)
{
    if (kind > CHART_TIME || !core.charts[kind].made || !core.search.matches)
        return NONE;
    const struct chart *c = &core.charts[kind];
    uint32_t count = c->row_first[c->rows];
    uint32_t at = box < count ? box : back ? 0 : count - 1;
    for (uint32_t i = 0; i < count; i++) {
        at = back ? (at ? at - 1 : count - 1) : (at + 1 < count ? at + 1 : 0);
        if (core.search.matches[chart_label(c, &core.shown, at)])
            return at;
    }
    return NONE;
}

/* --- Tables and trees -------------------------------------------------------------- */

int EXPORT(core_search)(const char *text, uint32_t length, int pattern)
{
    struct json_writer w = begin_reply();
    if (!need_shown() || !search_init(&core.search, &core.shown,
                                      (struct str){text, length}, pattern, &core.err))
        return end_reply(false);
    json_begin(&w, JSON_OBJECT);
    json_member_u64(&w, "functions", core.search.functions);
    json_member_double(&w, "total", core.search.total);
    json_end(&w, JSON_OBJECT);
    return end_reply(true);
}

/* Sorts the functions, with `searched` those that the search found; tells how many. */
int EXPORT(core_functions)(uint32_t sort, int up, int searched)
{
    struct json_writer w = begin_reply();
    if (!need_functions() ||
        !functions_sort(&core.functions, &core.shown, (enum function_sort)sort, up,
                        searched ? core.search.matches : NULL, &core.err))
        return end_reply(false);
    json_put_u64(&w, core.functions.count);
    return end_reply(true);
}

int EXPORT(core_function_rows)(uint32_t from, uint32_t to)
{
    struct json_writer w = begin_reply();
    if (!need_functions())
        return end_reply(false);
    json_begin(&w, JSON_ARRAY);
    for (uint32_t i = from; i < to && i < core.functions.count; i++)
        tell_function(&w, &core.shown, &core.functions, core.functions.order[i]);
    json_end(&w, JSON_ARRAY);
    return end_reply(true);
}

/* The children of a node: what a tree shows when it is opened there. */
int EXPORT(core_children)(uint32_t kind, uint32_t node)
{
    struct json_writer w = begin_reply();
    if (kind >= TREE_COUNT || !need_tree((enum tree_kind)kind) || !need_functions())
        return end_reply(false);
    const struct tree *t = &core.trees[kind];
    const struct children *c = &t->children;
    json_begin(&w, JSON_ARRAY);
    for (uint32_t i = node < t->count ? c->first[node] : 0;
         node < t->count && i < c->first[node + 1]; i++) {
        uint32_t child = c->items[i];
        json_begin(&w, JSON_OBJECT);
        json_member_u64(&w, "node", child);
        json_member_u64(&w, "children", c->first[child + 1] - c->first[child]);
        json_member_double(&w, "self", t->self[child]);
        json_member_double(&w, "total", t->total[child]);
        if (t->base_total)
            json_member_double(&w, "base_total", t->base_total[child]);
        json_put_key(&w, "function");
        tell_function(&w, &core.shown, &core.functions, tree_label(t, child));
        json_end(&w, JSON_OBJECT);
    }
    json_end(&w, JSON_ARRAY);
    return end_reply(true);
}

int EXPORT(core_summary)(void)
{
    struct json_writer w = begin_reply();
    return end_reply(need_shown() && tell_summary(&w, &core.shown, &core.err));
}

int EXPORT(core_heat)(double column, uint32_t rows)
{
    struct json_writer w = begin_reply();
    return end_reply(need_shown() && tell_heat(&w, &core.shown, column, rows, &core.err));
}

/* The call graph down to these shares of the whole, of at most so many functions. */
int EXPORT(core_graph)(double function_share, double call_share, uint32_t most)
{
    struct json_writer w = begin_reply();
    const struct call_limits limits = {function_share, call_share, most};
    if (!need_functions() || !need_tones() ||
        !(core.graph.made || graph_init(&core.graph, &core.shown, &core.err)))
        return end_reply(false);
    struct looks looks = {core.tones, core.search.matches, core.tone_by, core.chosen};
    return end_reply(tell_graph(&w, &core.graph, &core.shown, &core.functions, &limits,
                                &looks, &core.err));
}

int EXPORT(core_files)(void)
{
    struct json_writer w = begin_reply();
    return end_reply(need_shown() && tell_files(&w, &core.shown, &core.err));
}

int EXPORT(core_lines)(const char *file, uint32_t length)
{
    struct json_writer w = begin_reply();
    return end_reply(need_shown() &&
                     tell_lines(&w, &core.shown, (struct str){file, length}, &core.err));
}

/* --- Formats ----------------------------------------------------------------------- */

/* Others do not know what the marks of stacks that were cut short mean. NULL with the
 * error set. */
static struct profile *without_marks(void)
{
    const struct transform_options options = {.hide = {{CUT_MARK}, 1, true}};
    return transform_run(transform_named(STR("hide")), core.shown.p, &options, &core.err);
}

/* What is shown, in a format that stoke writes, or "page": a .stoke with all that the
 * page marks. The reply is the file. */
int EXPORT(core_export)(const char *name, uint32_t length)
{
    static const struct table_options csv = {.form = TABLE_CSV};
    struct str format = {name, length};
    begin_reply();
    bool page = str_equal(format, STR("page")), table = str_equal(format, STR("csv"));
    const struct exporter *e = exporter_named(page    ? STR("stoke")
                                              : table ? STR("table")
                                                      : format);
    struct export_options options = {
        .table = &csv,
        .tree = {.event = core.shown.event,
                 .label = {.kernel = true, .jit = true},
                 .weight = core.shown.count ? CALLTREE_SAMPLES : CALLTREE_VALUE}};
    if (!need_shown())
        return end_reply(false);
    if (!e)
        return end_reply(error_set(&core.err, "there is no such format"));
    struct profile *plain = page ? NULL : without_marks();
    bool ok = (page || plain) &&
              e->write(plain ? plain : core.shown.p, &options, &core.reply, &core.err) &&
              output_finish(&core.reply);
    profile_destroy(plain);
    return end_reply(ok);
}

/* The formats that are read: JSON, for the page without a profile. */
int EXPORT(core_formats)(void)
{
    struct json_writer w = begin_reply();
    json_begin(&w, JSON_ARRAY);
    for (size_t i = 0; importers[i]; i++) {
        json_begin(&w, JSON_OBJECT);
        json_member_str(&w, "name", str_of(importers[i]->name));
        json_member_str(&w, "summary", str_of(importers[i]->summary));
        json_end(&w, JSON_OBJECT);
    }
    json_end(&w, JSON_ARRAY);
    return end_reply(true);
}
