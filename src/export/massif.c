/* SPDX-License-Identifier: Apache-2.0 */
/* massif.out, for ms_print and massif-visualizer; import/massif.c describes the format.
 *
 * A profile with live bytes over time becomes snapshots at equal distances, and one at the
 * peak; some of them have a tree. Of another profile, the bytes of one event are the only
 * snapshot. Times are whole milliseconds from the start. */
#include "base/array.h"
#include "base/idmap.h"
#include "base/sort.h"
#include "export/exporter.h"

#define SNAPSHOTS_MAX 100 /* as massif's default */
#define TREE_EVERY 10     /* snapshots */
#define DEPTH_MAX 128     /* of a tree; callers beyond are not written */
#define THRESHOLD 0.01    /* of the snapshot: smaller nodes are not written */
#define NS_PER_MS 1000000.0

struct node {
    frame_id frame;
    uint32_t parent, first, count; /* its callers, in `sorted` */
    double bytes;
};

struct massif_writer {
    const struct profile *p;
    const struct export_options *options;
    struct output *out;
    struct arena arena;
    event_id event; /* whose bytes are written */
    event_id peak;  /* has the stacks at the peak; 0: none */
    bool is_timed;
    uint64_t start, end;    /* ns */
    struct sort_key *order; /* samples of the event by time */
    size_t order_count, next;
    double *bytes; /* by stack, at this moment */
    uint32_t snapshot;
    struct arena tree;  /* of the current snapshot */
    struct node *nodes; /* [0] is the root */
    uint32_t *sorted;
    size_t node_count, node_cap;
    struct idmap ids;
};

/* --- Bytes that are in no tree -------------------------------------------------------- */

enum part { PART_HEAP, PART_EXTRA, PART_STACKS, PART_COUNT };

/* What a stack of massif's own is; import/massif.c makes them. */
static enum part part_of(const struct profile *p, stack_id stack)
{
    struct stack s = p->stacks[stack];
    if (s.parent || p->frames[s.frame].kind != FRAME_MARKER)
        return PART_HEAP;
    struct str name = profile_string(p, p->frames[s.frame].name);
    return str_equal(name, STR("[extra heap]")) ? PART_EXTRA
           : str_equal(name, STR("[stacks]"))   ? PART_STACKS
                                                : PART_HEAP;
}

static void sum_parts(const struct massif_writer *w, double *parts)
{
    for (int i = 0; i < PART_COUNT; i++)
        parts[i] = 0;
    for (stack_id s = 0; s < w->p->stack_count; s++)
        if (w->bytes[s] > 0)
            parts[part_of(w->p, s)] += w->bytes[s];
}

/* --- The tree: allocating functions first, then their callers -------------------------- */

static uint32_t node_of(struct massif_writer *w, uint32_t parent, frame_id frame)
{
    uint64_t *id = idmap_put(&w->ids, &w->tree, (uint64_t)parent << 32 | frame);
    if (!id)
        return 0;
    if (!*id) {
        struct node *added = ARRAY_APPEND(&w->tree, w->nodes, w->node_count, w->node_cap);
        if (!added)
            return 0;
        *added = (struct node){.frame = frame, .parent = parent};
        *id = w->node_count - 1;
    }
    return (uint32_t)*id;
}

/* Markers are no functions: their bytes are part of the remainder. */
static void add_stack(struct massif_writer *w, stack_id stack, double bytes)
{
    const struct profile *p = w->p;
    uint32_t at = 0;
    w->nodes[0].bytes += bytes;
    for (int depth = 0; stack && depth < DEPTH_MAX; depth++) {
        frame_id frame = p->stacks[stack].frame;
        stack = p->stacks[stack].parent;
        if (p->frames[frame].kind == FRAME_MARKER)
            continue;
        at = node_of(w, at, frame);
        if (!at)
            return;
        w->nodes[at].bytes += bytes;
    }
}

static bool node_before(const void *context, uint32_t a, uint32_t b)
{
    const struct node *nodes = context, *x = &nodes[a], *y = &nodes[b];
    if (x->parent != y->parent)
        return x->parent < y->parent;
    return x->bytes != y->bytes ? x->bytes > y->bytes : x->frame < y->frame;
}

static bool make_tree(struct massif_writer *w)
{
    w->nodes = NULL;
    w->node_count = w->node_cap = 0;
    w->ids = (struct idmap){0};
    struct node *root = ARRAY_APPEND(&w->tree, w->nodes, w->node_count, w->node_cap);
    if (!root)
        return false;
    *root = (struct node){0};
    for (stack_id s = 0; s < w->p->stack_count; s++)
        if (w->bytes[s] > 0 && part_of(w->p, s) == PART_HEAP)
            add_stack(w, s, w->bytes[s]);
    size_t count = w->node_count;
    w->sorted = arena_alloc(&w->tree, 2 * count * sizeof *w->sorted);
    if (!w->sorted || w->tree.failed)
        return false;
    for (uint32_t i = 0; i < count; i++)
        w->sorted[i] = i;
    sort_u32(w->sorted + 1, count - 1, w->sorted + count, node_before, w->nodes);
    for (uint32_t i = 1; i < count; i++) {
        struct node *parent = &w->nodes[w->nodes[w->sorted[i]].parent];
        parent->first = parent->count++ ? parent->first : i;
    }
    return true;
}

/* --- Rows ------------------------------------------------------------------------------ */

/* A name on a single line. */
static void put_name(struct output *out, struct str name)
{
    for (size_t i = 0; i < name.len; i++)
        output_char(out, (unsigned char)name.ptr[i] < ' ' ? ' ' : name.ptr[i]);
}

/* An address that no other function has: that of the frame, or a number. An inlined function
 * has the address of its caller, if it has one caller only. */
static uint64_t address_of(const struct massif_writer *w, uint32_t node)
{
    const struct profile *p = w->p;
    while (p->frames[w->nodes[node].frame].kind == FRAME_INLINED &&
           w->nodes[node].count == 1)
        node = w->sorted[w->nodes[node].first];
    const struct frame *f = &p->frames[w->nodes[node].frame];
    return f->address && f->kind != FRAME_INLINED ? f->address : w->nodes[node].frame;
}

static void put_function(struct massif_writer *w, uint32_t node)
{
    const struct profile *p = w->p;
    const struct frame *f = &p->frames[w->nodes[node].frame];
    struct str name = profile_string(p, f->name), file = profile_string(p, f->file);
    struct str module = profile_string(p, p->modules[f->module].path);
    output_format(w->out, "0x%llx: ", (unsigned long long)address_of(w, node));
    put_name(w->out, name.len ? name : STR("???"));
    if (file.len && f->line) {
        output_text(w->out, " (");
        put_name(w->out, file);
        output_format(w->out, ":%u)", f->line);
    } else if (f->module && module.len) {
        output_text(w->out, " (in ");
        put_name(w->out, module);
        output_char(w->out, ')');
    }
}

static void put_row(struct massif_writer *w, unsigned depth, uint32_t kids, double bytes)
{
    for (unsigned i = 0; i < depth; i++)
        output_char(w->out, ' ');
    output_format(w->out, "n%u: %.0f ", kids, bytes);
}

/* What is written of a node's callers: those above the threshold, and the sum of the others. */
struct shown {
    uint32_t count, others;
    double rest;
};

static struct shown shown_of(const struct massif_writer *w, const struct node *n)
{
    struct shown s = {.rest = 0};
    for (uint32_t i = 0; i < n->count; i++) {
        double bytes = w->nodes[w->sorted[n->first + i]].bytes;
        bool is_shown = bytes >= THRESHOLD * w->nodes[0].bytes;
        s.count += is_shown;
        s.others += !is_shown;
        s.rest += is_shown ? 0 : bytes;
    }
    return s;
}

static void put_rest(struct massif_writer *w, unsigned depth, const struct shown *s)
{
    put_row(w, depth, 0, s->rest);
    if (s->others == 1)
        output_text(w->out, "in 1 place, below massif's threshold (1.00%)\n");
    else
        output_format(w->out, "in %u places, all below massif's threshold (1.00%%)\n",
                      s->others);
}

/* The bytes of the root that no row has are those of markers. */
static struct shown shown_of_root(const struct massif_writer *w)
{
    const struct node *root = &w->nodes[0];
    struct shown s = shown_of(w, root);
    double known = 0;
    for (uint32_t i = 0; i < root->count; i++)
        known += w->nodes[w->sorted[root->first + i]].bytes;
    if (root->bytes > known) {
        s.rest += root->bytes - known;
        s.others++;
    }
    return s;
}

/* A node that is being written: its callers up to `next` are. */
struct level {
    uint32_t node, next;
    struct shown shown;
};

static void put_node(struct massif_writer *w, struct level *level, unsigned depth)
{
    const struct node *n = &w->nodes[level->node];
    level->shown = depth ? shown_of(w, n) : shown_of_root(w);
    level->next = 0;
    put_row(w, depth, level->shown.count + (level->shown.others > 0), n->bytes);
    if (depth)
        put_function(w, level->node);
    else
        output_text(w->out, "(heap allocation functions) malloc/new/new[], --alloc-fns, "
                            "etc.");
    output_char(w->out, '\n');
}

static void put_tree(struct massif_writer *w)
{
    struct level levels[DEPTH_MAX + 2];
    unsigned depth = 1; /* the number of levels */
    levels[0].node = 0;
    put_node(w, &levels[0], 0);
    while (depth) {
        struct level *top = &levels[depth - 1];
        if (top->next < top->shown.count) {
            levels[depth].node = w->sorted[w->nodes[top->node].first + top->next++];
            put_node(w, &levels[depth], depth);
            depth++;
        } else {
            if (top->shown.others)
                put_rest(w, depth, &top->shown);
            depth--;
        }
    }
}

/* --- Snapshots -------------------------------------------------------------------------- */

static bool put_snapshot(struct massif_writer *w, uint64_t time, const char *tree)
{
    double parts[PART_COUNT];
    bool has_tree = strcmp(tree, "empty") != 0;
    sum_parts(w, parts);
    output_format(w->out,
                  "#-----------\nsnapshot=%u\n#-----------\ntime=%.0f\nmem_heap_B=%.0f\n"
                  "mem_heap_extra_B=%.0f\nmem_stacks_B=%.0f\nheap_tree=%s\n",
                  w->snapshot++, (double)(time - w->start) / NS_PER_MS, parts[PART_HEAP],
                  parts[PART_EXTRA], parts[PART_STACKS], tree);
    bool ok = !has_tree || make_tree(w);
    if (ok && has_tree)
        put_tree(w);
    arena_deinit(&w->tree);
    w->tree = ARENA_INIT;
    return ok;
}

static double weight_of(const struct massif_writer *w, size_t i)
{
    const struct sample *s = &w->p->samples[w->order[i].id];
    return s->weight;
}

static void move_to(struct massif_writer *w, uint64_t time)
{
    for (; w->next < w->order_count && w->order[w->next].key <= time; w->next++)
        w->bytes[w->p->samples[w->order[w->next].id].stack] += weight_of(w, w->next);
}

/* The first time at which most bytes are live. */
static uint64_t peak_time(const struct massif_writer *w)
{
    double now = 0, most = 0;
    uint64_t found = w->start;
    for (size_t i = 0; i < w->order_count; i++) {
        now += weight_of(w, i);
        bool is_last = i + 1 == w->order_count || w->order[i + 1].key > w->order[i].key;
        if (is_last && now > most) {
            most = now;
            found = w->order[i].key;
        }
    }
    return found;
}

/* Sets the bytes to the sums of an event. */
static void take_event(struct massif_writer *w, event_id event)
{
    const struct profile *p = w->p;
    memset(w->bytes, 0, p->stack_count * sizeof *w->bytes);
    for (size_t i = 0; i < p->sample_count; i++)
        if (p->samples[i].event == event)
            w->bytes[p->samples[i].stack] += p->samples[i].weight;
}

/* The recorder knows the stacks at the peak exactly; the live bytes are of slices of time. */
static bool put_peak(struct massif_writer *w, uint64_t time)
{
    double *now = w->bytes;
    if (!w->peak)
        return put_snapshot(w, time, "peak");
    w->bytes = arena_zalloc(&w->arena, w->p->stack_count, sizeof *w->bytes);
    if (!w->bytes)
        return false;
    take_event(w, w->peak);
    bool ok = put_snapshot(w, time, "peak");
    w->bytes = now;
    return ok;
}

/* The number of distances between snapshots: times are whole milliseconds. */
static uint32_t step_count(const struct massif_writer *w)
{
    uint64_t most = (uint64_t)((double)(w->end - w->start) / NS_PER_MS) + 1;
    return most < SNAPSHOTS_MAX - 2 ? (uint32_t)most : SNAPSHOTS_MAX - 2;
}

static bool put_timeline(struct massif_writer *w)
{
    uint64_t peak = peak_time(w);
    uint32_t steps = step_count(w);
    bool has_peak = false, ok = true;
    for (uint32_t i = 0; ok && i <= steps; i++) {
        uint64_t span = w->end - w->start;
        uint64_t time = i == steps ? w->end : w->start + span / steps * i;
        if (!has_peak && peak <= time) {
            move_to(w, peak);
            ok = put_peak(w, peak);
            has_peak = true;
        }
        move_to(w, time);
        ok =
            ok && put_snapshot(w, time,
                               i % TREE_EVERY == TREE_EVERY - 1 || i == steps ? "detailed"
                                                                              : "empty");
    }
    return ok;
}

/* --- The profile ------------------------------------------------------------------------ */

static event_id first_of_bytes(const struct profile *p)
{
    event_id live = profile_find_kind(p, EVENT_LIVE);
    for (event_id e = 1; !live && e < p->event_count; e++)
        if (p->events[e].unit == UNIT_BYTES)
            return e;
    return live;
}

static bool choose_event(struct massif_writer *w, struct error *err)
{
    const struct profile *p = w->p;
    event_id requested = w->options->tree.event;
    w->event = requested ? requested : first_of_bytes(p);
    if (!w->event || p->events[w->event].unit != UNIT_BYTES) {
        error_set(err, "massif's format has bytes only: the profile has no such event");
        return error_hint(err, "'stoke info FILE' lists the events");
    }
    w->is_timed = p->events[w->event].kind == EVENT_LIVE &&
                  p->facts.time_first != TIME_NONE &&
                  p->facts.time_last >= p->facts.time_first;
    event_id peak = profile_find_event(p, STR("peak"));
    if (w->is_timed && peak && p->events[peak].unit == UNIT_BYTES)
        w->peak = peak;
    return true;
}

static bool order_samples(struct massif_writer *w)
{
    const struct profile *p = w->p;
    w->start = p->facts.time_first;
    w->end = p->facts.time_last;
    w->order = arena_alloc(&w->arena, 2 * (p->sample_count + 1) * sizeof *w->order);
    if (!w->order)
        return false;
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        if (s->event != w->event)
            continue;
        uint64_t time = s->time < w->start ? w->start : s->time;
        w->order[w->order_count++] =
            (struct sort_key){time < w->end ? time : w->end, (uint32_t)i};
    }
    sort_keys(w->order, w->order_count, w->order + w->order_count);
    return true;
}

static bool write_snapshots(struct massif_writer *w)
{
    w->bytes = arena_zalloc(&w->arena, w->p->stack_count, sizeof *w->bytes);
    if (!w->bytes)
        return false;
    if (w->is_timed)
        return order_samples(w) && put_timeline(w);
    take_event(w, w->event);
    return put_snapshot(w, w->start, "peak");
}

static bool massif_write(const struct profile *p, const struct export_options *options,
                         struct output *out, struct error *err)
{
    struct massif_writer w = {.p = p, .options = options, .out = out};
    if (!choose_event(&w, err))
        return false;
    output_text(out, "desc: (none)\ncmd: ");
    put_name(out,
             p->facts.command ? profile_string(p, p->facts.command) : STR("(unknown)"));
    output_text(out, "\ntime_unit: ms\n");
    bool ok = write_snapshots(&w);
    arena_deinit(&w.tree);
    arena_deinit(&w.arena);
    return ok || error_memory(err);
}

const struct exporter export_massif = {
    .name = "massif",
    .suffixes = "massif",
    .summary = "massif's format for ms_print and massif-visualizer",
    .needs_time = true,
    .whole = true,
    .write = massif_write,
};
