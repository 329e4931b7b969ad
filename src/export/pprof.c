/* SPDX-License-Identifier: Apache-2.0 */
/* pprof's protocol buffer format; import/pprof.c lists its messages. `stoke convert`
 * compresses it with gzip, which pprof expects in files.
 *
 * Every event is a sample type. Samples of the same thread, stack and labels become one,
 * with a value for each event. Inlined functions and the function that contains them are
 * the lines of one location. Values are integers in the format, so weights are
 * rounded. */
#include "base/array.h"
#include "base/hash.h"
#include "base/number.h"
#include "codec/protobuf.h"
#include "export/exporter.h"
#include "export/order.h"
#include "export/threads.h"
#include "model/sample_labels.h"

/* Times before the year 2000 are of a clock that does not count from 1970. */
#define EPOCH_MIN 946684800000000000u

/* Deeper inlining begins another location. */
#define LINES_MAX 128

/* A location: a frame inlined into the location `outer`, or one that is not inlined. */
struct location {
    uint32_t outer; /* 0 for none */
    frame_id frame;
    uint32_t lines; /* the frame and those that it is inlined into */
    bool used;
};

struct named {
    string_id name, file;
};

struct pprof_writer {
    struct arena arena;
    const struct profile *p;
    const struct export_options *options;
    struct output *out;
    struct output message, part; /* current: a message, and a nested message */
    struct strings strings;
    struct thread_set threads;
    struct location *locations;
    uint32_t *location_of_stack;
    struct named *functions;
    uint32_t *function_of_frame; /* 0: only its address is known */
    uint32_t *mapping_of_module;
    uint32_t kernel_mapping, guest_mapping; /* for frames without a module, or 0 */
    size_t location_count, location_cap, function_count, function_cap, mapping_count;
    struct index location_index, function_index;
    size_t *type_of_event;
    uint64_t *values; /* of the current sample */
    size_t type_count;
    bool counts; /* the first type counts samples */
    uint32_t *order;
    size_t sample_count;
};

static uint64_t add_string(struct pprof_writer *w, struct str s)
{
    return strings_add(&w->strings, s);
}

static uint64_t add_known(struct pprof_writer *w, string_id id)
{
    return add_string(w, profile_string(w->p, id));
}

/* Writes the current message as a field of the profile, and clears it. */
static void end_message(struct pprof_writer *w, uint32_t field)
{
    proto_put_bytes(w->out, field, output_contents(&w->message));
    w->message.used = 0;
}

/* The same for the nested message. */
static void end_part(struct pprof_writer *w, uint32_t field)
{
    proto_put_bytes(&w->message, field, output_contents(&w->part));
    w->part.used = 0;
}

/* --- Functions and locations ------------------------------------------------------- */

struct function_search {
    const struct named *items;
    struct named function;
};

static bool same_function(const void *context, uint32_t id)
{
    const struct function_search *w = context;
    return w->items[id].name == w->function.name && w->items[id].file == w->function.file;
}

static uint32_t add_function(struct pprof_writer *w, struct named function)
{
    if (!ARRAY_RESERVE(&w->arena, w->functions, w->function_cap, w->function_count + 2) ||
        !index_reserve(&w->function_index, &w->arena, 1))
        return 0;
    struct function_search search = {w->functions, function};
    uint32_t hash = (uint32_t)hash_pair(function.name, function.file);
    struct index_slot *slot =
        index_find(&w->function_index, hash, same_function, &search);
    if (!slot->id) {
        w->functions[++w->function_count] = function;
        index_fill(&w->function_index, slot, hash, (uint32_t)w->function_count);
    }
    return slot->id;
}

/* Sets every frame's function. A frame with only an address has none, so that pprof
 * can resolve it. */
static bool make_functions(struct pprof_writer *w)
{
    const struct profile *p = w->p;
    struct label_style style = w->options->tree.label;
    struct output text = OUTPUT_BUFFER;
    style.plain = true;
    w->function_of_frame =
        arena_zalloc(&w->arena, p->frame_count, sizeof *w->function_of_frame);
    for (frame_id f = 1; w->function_of_frame && f < p->frame_count; f++) {
        const struct frame *frame = &p->frames[f];
        if (!frame->name && frame->address && frame->kind != FRAME_INLINED)
            continue;
        text.used = 0;
        label_frame(&text, p, f, &style);
        struct named function = {.name = strings_add(&w->strings, output_contents(&text)),
                                 .file = (string_id)add_known(w, frame->file)};
        w->function_of_frame[f] = add_function(w, function);
    }
    bool ok = w->function_of_frame && !text.failed;
    output_deinit(&text);
    return ok;
}

struct location_search {
    const struct location *items;
    uint32_t outer;
    frame_id frame;
};

static bool same_location(const void *context, uint32_t id)
{
    const struct location_search *w = context;
    return w->items[id].outer == w->outer && w->items[id].frame == w->frame;
}

static uint32_t add_location(struct pprof_writer *w, uint32_t outer, frame_id frame)
{
    if (!ARRAY_RESERVE(&w->arena, w->locations, w->location_cap, w->location_count + 2) ||
        !index_reserve(&w->location_index, &w->arena, 1))
        return 0;
    struct location *items = w->locations;
    struct location_search search = {items, outer, frame};
    uint32_t hash = (uint32_t)hash_pair(outer, frame);
    struct index_slot *slot =
        index_find(&w->location_index, hash, same_location, &search);
    if (!slot->id) {
        items[++w->location_count] = (struct location){
            .outer = outer, .frame = frame, .lines = outer ? items[outer].lines + 1 : 1};
        index_fill(&w->location_index, slot, hash, (uint32_t)w->location_count);
    }
    return slot->id;
}

/* Sets every stack's location of its leaf. A caller comes before its callees, so an
 * inlined frame finds the location that contains it. */
static bool make_locations(struct pprof_writer *w)
{
    const struct profile *p = w->p;
    w->location_of_stack =
        arena_zalloc(&w->arena, p->stack_count, sizeof *w->location_of_stack);
    for (stack_id s = 1; w->location_of_stack && s < p->stack_count; s++) {
        frame_id frame = p->stacks[s].frame;
        bool inlined = p->frames[frame].kind == FRAME_INLINED;
        uint32_t outer = inlined ? w->location_of_stack[p->stacks[s].parent] : 0;
        if (outer && w->locations[outer].lines >= LINES_MAX)
            outer = 0;
        w->location_of_stack[s] = add_location(w, outer, frame);
    }
    return w->location_of_stack != NULL && !w->arena.failed;
}

static void write_functions(struct pprof_writer *w)
{
    for (uint32_t i = 1; i <= w->function_count; i++) {
        proto_put_u64(&w->message, 1, i);
        proto_put_u64(&w->message, 2, w->functions[i].name);
        proto_put_u64(&w->message, 3, w->functions[i].name);
        proto_put_u64(&w->message, 4, w->functions[i].file);
        end_message(w, 5);
    }
}

static uint64_t mapping_of(const struct pprof_writer *w, const struct frame *frame)
{
    if (frame->module)
        return w->mapping_of_module[frame->module];
    if (frame->kind == FRAME_KERNEL)
        return w->kernel_mapping;
    return frame->kind == FRAME_GUEST ? w->guest_mapping : 0;
}

/* A location has the address and the module of the frame that is not inlined, which is
 * its last line. */
static void write_location(struct pprof_writer *w, uint32_t id)
{
    const struct frame *frame = NULL;
    for (uint32_t at = id; at; at = w->locations[at].outer)
        frame = &w->p->frames[w->locations[at].frame];
    proto_put_u64(&w->message, 1, id);
    proto_put_u64(&w->message, 2, mapping_of(w, frame));
    if (frame->kind != FRAME_WAKER) /* a thread ID */
        proto_put_u64(&w->message, 3, frame->address);
    for (uint32_t at = id; at; at = w->locations[at].outer) {
        frame_id f = w->locations[at].frame;
        if (!w->function_of_frame[f])
            continue;
        proto_put_u64(&w->part, 1, w->function_of_frame[f]);
        proto_put_u64(&w->part, 2, w->p->frames[f].line);
        end_part(w, 4);
    }
    end_message(w, 4);
}

/* --- Mappings ---------------------------------------------------------------------- */

static void write_mapping(struct pprof_writer *w, uint32_t id, struct str path,
                          struct str build_id)
{
    proto_put_u64(&w->message, 1, id);
    proto_put_u64(&w->message, 5, add_string(w, path));
    proto_put_u64(&w->message, 6, add_string(w, build_id));
    for (uint32_t flag = 7; flag <= 10;
         flag++) /* has functions, filenames, line numbers, inline frames */
        proto_put_u64(&w->message, flag, 1);
    end_message(w, 3);
}

/* pprof uses the first mapping as the program: libraries and the kernel follow. */
static bool is_program(const struct profile *p, module_id m)
{
    struct str path = profile_string(p, p->modules[m].path);
    return module_kind(path) == FRAME_USER && str_starts(path, STR("/")) &&
           !str_has(path, STR(".so"));
}

/* For frames of the kernel or of a guest without a module. */
static uint32_t write_nameless(struct pprof_writer *w, enum frame_kind kind,
                               struct str path)
{
    for (frame_id f = 1; f < w->p->frame_count; f++) {
        if (w->p->frames[f].kind != (uint32_t)kind || w->p->frames[f].module)
            continue;
        write_mapping(w, (uint32_t)++w->mapping_count, path, STR(""));
        return (uint32_t)w->mapping_count;
    }
    return 0;
}

static bool write_mappings(struct pprof_writer *w)
{
    const struct profile *p = w->p;
    w->mapping_of_module =
        arena_zalloc(&w->arena, p->module_count, sizeof *w->mapping_of_module);
    if (!w->mapping_of_module)
        return false;
    for (int programs = 1; programs >= 0; programs--) {
        for (module_id m = 1; m < p->module_count; m++) {
            if (is_program(p, m) != programs)
                continue;
            w->mapping_of_module[m] = (uint32_t)++w->mapping_count;
            write_mapping(w, w->mapping_of_module[m],
                          profile_string(p, p->modules[m].path),
                          profile_string(p, p->modules[m].build_id));
        }
    }
    w->kernel_mapping = write_nameless(w, FRAME_KERNEL, STR("[kernel]"));
    w->guest_mapping = write_nameless(w, FRAME_GUEST, STR("[guest]"));
    return true;
}

/* --- Sample types ------------------------------------------------------------------ */

static void write_type(struct pprof_writer *w, uint32_t field, struct str name,
                       struct str unit)
{
    proto_put_u64(&w->message, 1, add_string(w, name));
    proto_put_u64(&w->message, 2, add_string(w, unit));
    end_message(w, field);
}

static struct str unit_text(enum unit unit)
{
    switch (unit) {
    case UNIT_NANOSECONDS:
    case UNIT_MILLISECONDS: /* these are often fractions */
        return STR("nanoseconds");
    case UNIT_BYTES:
        return STR("bytes");
    case UNIT_CYCLES:
        return STR("cycles");
    default:
        return STR("count");
    }
}

/* Events of heaps have the names of Go's sample types, which pprof's users and scripts
 * expect. */
static struct str type_name(const struct profile *p, event_id event)
{
    static const struct {
        const char *event, *type;
        enum unit unit;
    } heap[] = {{"live", "inuse_space", UNIT_BYTES},
                {"allocated", "alloc_space", UNIT_BYTES},
                {"allocations", "alloc_objects", UNIT_COUNT}};
    struct str name = profile_string(p, p->events[event].name);
    for (size_t i = 0; i < sizeof heap / sizeof *heap; i++)
        if (str_equal(name, str_of(heap[i].event)) &&
            p->events[event].unit == (uint32_t)heap[i].unit)
            return str_of(heap[i].type);
    return name;
}

/* What pprof shows at first: of a heap, what is in use as in Go, or the peak if all was
 * freed. A heap profile of pprof states its default, which is its first event. */
static event_id default_event(const struct pprof_writer *w, event_id shown)
{
    const struct profile *p = w->p;
    event_id live = profile_find_kind(p, EVENT_LIVE);
    event_id peak = profile_find_event(p, STR("peak"));
    double in_use = 0;
    bool is_pprof =
        str_equal(type_name(p, live), profile_string(p, p->events[live].name));
    if (!live || is_pprof || w->options->tree.event)
        return shown;
    for (size_t i = 0; i < p->sample_count; i++)
        in_use += p->samples[i].event == live ? p->samples[i].weight : 0;
    return in_use >= 1 || !peak ? live : peak;
}

/* Writes the requested events. If there is a single one that does not count samples,
 * the number of samples is the first type, as pprof's users expect; an event that does
 * comes first. */
static bool write_types(struct pprof_writer *w)
{
    const struct profile *p = w->p;
    event_id only = w->options->tree.event;
    w->type_of_event = arena_alloc(&w->arena, p->event_count * sizeof(size_t));
    w->values = arena_alloc(&w->arena, (p->event_count + 1) * sizeof *w->values);
    if (!w->type_of_event || !w->values)
        return false;
    event_id first = only ? only : 1;
    if ((only || p->event_count == 2) && p->events[first].unit != UNIT_COUNT) {
        w->counts = true;
        write_type(w, 1, STR("samples"), STR("count"));
        w->type_count++;
    }
    for (int counting = 1; counting >= 0; counting--) {
        for (event_id e = 1; e < p->event_count; e++) {
            struct str name = profile_string(p, p->events[e].name);
            if ((only && e != only) || str_equal(name, STR("samples")) != counting)
                continue;
            w->type_of_event[e] = w->type_count++;
            write_type(w, 1, type_name(p, e), unit_text((enum unit)p->events[e].unit));
        }
    }
    return true;
}

/* --- Samples ----------------------------------------------------------------------- */

static bool sample_before(const void *context, uint32_t a, uint32_t b)
{
    const struct pprof_writer *w = context;
    const struct sample *x = &w->p->samples[a], *y = &w->p->samples[b];
    uint32_t thread_x = w->threads.of_thread[x->thread];
    uint32_t thread_y = w->threads.of_thread[y->thread];
    if (thread_x != thread_y)
        return thread_x < thread_y;
    if (x->stack != y->stack)
        return x->stack < y->stack;
    return profile_labels(w->p, a) < profile_labels(w->p, b);
}

/* Negative numbers are written as two's complement, as always in protobuf. */
static uint64_t rounded(double weight)
{
    double size = weight < 0 ? -weight : weight;
    uint64_t whole = size < 9.2e18 ? (uint64_t)(size + 0.5) : (uint64_t)INT64_MAX;
    return weight < 0 ? (uint64_t)0 - whole : whole;
}

/* Adds the sample to the current values. Sums are rounded at the end. */
static void add_value(const struct pprof_writer *w, const struct sample *s, double *sums)
{
    double value = s->weight;
    if (w->p->events[s->event].unit == UNIT_MILLISECONDS)
        value *= 1e6;
    if (w->options->tree.weight == CALLTREE_SAMPLES)
        value = (double)s->count;
    sums[w->type_of_event[s->event]] += value;
    if (w->counts)
        sums[0] += (double)s->count;
}

/* The locations of a stack, leaf first: each contains the callers that it is inlined
 * into. */
static void write_stack(struct pprof_writer *w, stack_id stack)
{
    const struct stack *stacks = w->p->stacks;
    while (stack) {
        uint32_t at = w->location_of_stack[stack];
        w->locations[at].used = true;
        proto_put_varint(&w->part, at);
        for (; w->locations[at].outer; at = w->locations[at].outer)
            stack = stacks[stack].parent;
        stack = stacks[stack].parent;
    }
    end_part(w, 1);
}

/* The number is written even if it is 0: a label with neither text nor number has an empty
 * text. */
static void write_number(struct pprof_writer *w, struct str key, int64_t number,
                         struct str unit)
{
    proto_put_u64(&w->part, 1, add_string(w, key));
    proto_put_varint(&w->part, 3 << 3 | PROTO_VARINT);
    proto_put_varint(&w->part, (uint64_t)number);
    proto_put_u64(&w->part, 4, add_string(w, unit));
    end_part(w, 3);
}

static void write_text(struct pprof_writer *w, struct str key, struct str text)
{
    proto_put_u64(&w->part, 1, add_string(w, key));
    proto_put_u64(&w->part, 2, add_string(w, text));
    end_part(w, 3);
}

static void write_thread(struct pprof_writer *w, const struct thread *t)
{
    if (t->name)
        write_text(w, STR("thread"), profile_string(w->p, t->name));
    if (t->pid != ID_NONE)
        write_number(w, STR("pid"), t->pid, STR(""));
    if (t->tid != ID_NONE)
        write_number(w, STR("tid"), t->tid, STR(""));
}

/* The labels of a set, its first one last: their order has no meaning in the format. */
static void write_labels(struct pprof_writer *w, label_set_id set)
{
    const struct profile *p = w->p;
    for (; set; set = p->label_sets[set].parent) {
        const struct sample_label *l = &p->labels[p->label_sets[set].label];
        if (l->is_number)
            write_number(w, profile_string(p, l->key), l->number,
                         profile_string(p, l->unit));
        else
            write_text(w, profile_string(p, l->key), profile_string(p, l->text));
    }
}

static bool write_samples(struct pprof_writer *w)
{
    double *sums = arena_alloc(&w->arena, (w->type_count + 1) * sizeof *sums);
    w->order = order_samples(&w->arena, w->p, w->options->tree.event, sample_before, w,
                             &w->sample_count);
    if (!sums || !w->order)
        return false;
    for (size_t i = 0; i < w->sample_count;) {
        const struct sample *s = &w->p->samples[w->order[i]];
        for (size_t t = 0; t < w->type_count; t++)
            sums[t] = 0;
        size_t first = i;
        while (i < w->sample_count && !sample_before(w, w->order[first], w->order[i]))
            add_value(w, &w->p->samples[w->order[i++]], sums);
        write_stack(w, s->stack);
        for (size_t t = 0; t < w->type_count; t++)
            proto_put_varint(&w->part, rounded(sums[t]));
        end_part(w, 2);
        write_thread(w, &w->threads.items[w->threads.of_thread[s->thread]]);
        write_labels(w, profile_labels(w->p, w->order[first]));
        end_message(w, 2);
    }
    return true;
}

/* --- The file ---------------------------------------------------------------------- */

static void write_comment(struct pprof_writer *w, const char *what, struct str text)
{
    w->part.used = 0;
    output_text(&w->part, what);
    output_str(&w->part, text);
    uint64_t id = text.len ? add_string(w, output_contents(&w->part)) : 0;
    proto_put_u64(w->out, 13, id);
    w->part.used = 0;
}

static void write_facts(struct pprof_writer *w)
{
    const struct profile *p = w->p;
    const struct facts *facts = &p->facts;
    event_id shown, base;
    calltree_events(p, &w->options->tree, &shown, &base);
    if (facts->time_first != TIME_NONE && facts->time_first >= EPOCH_MIN)
        proto_put_u64(w->out, 9, facts->time_first);
    if (facts->time_first != TIME_NONE && facts->time_last > facts->time_first)
        proto_put_u64(w->out, 10, facts->time_last - facts->time_first);
    if (facts->rate > 0) {
        write_type(w, 11, STR("cpu"), STR("nanoseconds"));
        proto_put_u64(w->out, 12, rounded(1e9 / facts->rate));
    } else if (facts->sample_bytes) {
        write_type(w, 11, STR("space"), STR("bytes"));
        proto_put_u64(w->out, 12, facts->sample_bytes);
    }
    write_comment(w, "", STR("stoke " STOKE_VERSION));
    write_comment(w, "host: ", profile_string(p, facts->host));
    write_comment(w, "command: ", profile_string(p, facts->command));
    if (facts->lost) {
        char text[NUMBER_TEXT_MAX];
        size_t length = number_write_u64(facts->lost, text);
        write_comment(w, "lost samples: ", (struct str){text, length});
    }
    shown = default_event(w, shown);
    proto_put_u64(w->out, 14, add_string(w, type_name(p, shown)));
}

/* The string table comes last, because every message adds to it. */
static bool write_profile(struct pprof_writer *w)
{
    if (!strings_init(&w->strings, &w->arena) ||
        !thread_set_init(&w->threads, &w->arena, w->p, w->options->tree.threads) ||
        !make_functions(w) || !make_locations(w) || !write_types(w) ||
        !write_samples(w) || !write_mappings(w))
        return false;
    for (uint32_t i = 1; i <= w->location_count; i++)
        if (w->locations[i].used)
            write_location(w, i);
    write_functions(w);
    write_facts(w);
    for (string_id i = 0; i < w->strings.count; i++)
        proto_put_str(w->out, 6, strings_get(&w->strings, i));
    return !w->arena.failed && !w->message.failed && !w->part.failed;
}

static bool pprof_write(const struct profile *p, const struct export_options *options,
                        struct output *out, struct error *err)
{
    struct pprof_writer w = {.p = p, .options = options, .out = out};
    bool ok = write_profile(&w);
    output_deinit(&w.message);
    output_deinit(&w.part);
    arena_deinit(&w.arena);
    return ok || error_memory(err);
}

const struct exporter export_pprof = {
    .name = "pprof",
    .suffixes = "pb.gz,pb,pprof,prof",
    .summary = "pprof protocol buffer, compressed with gzip",
    .whole = true,
    .integers = true,
    .write = pprof_write,
};
