/* SPDX-License-Identifier: Apache-2.0 */
/* The traces of libstoke_qemu.so: see qemu_format.h. */
#include "base/format.h"
#include "base/output.h"
#include "base/qemu_format.h"
#include "trace/reader.h"
#include <stdlib.h>

#define CHUNK_MAX ((uint32_t)256 << 20)
#define BLOCK_COUNT_MAX 32767

/* A word may say that a block which calls ran half a billion times more. So that no trace
 * takes for ever, each byte allows for a recursion of this depth, and all for one more.
 */
#define STEPS_PER_BYTE 1024
#define STEPS_AT_ALL ((uint64_t)1 << 19) /* frames of 16 bytes in a stack of 8 MB */

/* A block as it was described. */
struct block {
    uint64_t pc;
    uint32_t count, size, map;
    const char *bytes; /* the arena's */
};

struct map {
    uint64_t start, end, offset;
    const struct trace_binary *binary; /* or NULL */
};

/* What a core makes of the blocks: the same in each, but found when it first runs there.
 */
struct core_blocks {
    struct trace_block *items; /* by id; without sites until it ran */
    size_t cap;
    size_t placed; /* maps that its code knows of */
};

/* Where the next execution stores or loads a stack's context. */
struct context {
    uint64_t address;
    uint32_t number;
    bool loads;
};

#define CONTEXTS_MAX 32

/* So many bytes may wait for the contexts of other lanes that come before theirs: more
 * than the plugin's rings hold. */
#define WAITING_MAX ((size_t)64 << 20)

/* A virtual CPU: the thread that it runs, and the words that wait for the next chunk. */
struct lane {
    uint32_t cpu;
    struct trace_core *core;
    struct core_blocks blocks;
    uint64_t number; /* of the next instruction */
    uint32_t words[4];
    size_t word_count;
    struct context contexts[CONTEXTS_MAX]; /* of the next execution */
    size_t context_count;
    uint32_t block, first, count; /* of the execution before; block 0: none */
    struct output waiting;        /* words behind a context that comes later */
    size_t waited;                /* bytes of it that were read */
};

struct reading {
    struct trace_reader *r;
    uint32_t flags, process;
    struct block *blocks; /* by id, [0] is none */
    size_t block_count, block_cap;
    struct map *maps;
    size_t map_count, map_cap;
    struct lane **lanes;
    size_t lane_count, lane_cap;
    struct trace_shared shared;
    uint32_t context; /* number of the next one, over all lanes */
    size_t waiting;   /* bytes, of all lanes */
    uint64_t steps;   /* that words which repeat an execution may still take */
    uint64_t offset;  /* of the chunk under way, for messages */
    bool ended;
};

static void flaw(struct reading *q, const char *what)
{
    trace_reader_flaw(q->r, what, 0, q->offset, STR(""));
}

/* --- Maps -------------------------------------------------------------------------- */

static bool read_map(struct reading *q, struct bytes *b)
{
    struct trace_reader *r = q->r;
    uint32_t id = bytes_u32(b), size = bytes_u32(b);
    struct map m = {.start = bytes_u64(b)};
    m.end = bytes_u64(b);
    m.offset = bytes_u64(b);
    struct str path = bytes_take(b, size);
    bytes_skip(b, -size & 3);
    if (b->failed || id != q->map_count + 1)
        return false;
    if (r->options->find)
        m.binary = r->options->find(r->options->find_context, path);
    struct map *grown =
        arena_grow(&r->arena, q->maps, &q->map_cap, q->map_count + 1, sizeof *grown);
    if (!grown)
        return false;
    q->maps = grown;
    grown[q->map_count++] = m;
    return true;
}

/* How far a map moves the addresses of its file. */
static bool find_bias(const struct map *m, uint64_t *bias)
{
    const struct elf *e = m->binary->elf;
    for (size_t i = 0; e && i < e->segment_count; i++) {
        const struct elf_segment *s = &e->segments[i];
        /* A map begins at the page that the segment begins in. */
        uint64_t before = s->offset & 4095;
        if (s->type != ELF_PT_LOAD || m->offset + before < s->offset ||
            m->offset >= s->offset + s->file_size)
            continue;
        *bias = m->start - (s->address + (m->offset - s->offset));
        if (s->flags & ELF_PF_X)
            return true;
    }
    return false;
}

/* Tells a core's code of the maps that are new. */
static void place_maps(const struct reading *q, struct lane *lane)
{
    struct trace_code *code = &lane->core->tracer.code;
    for (; lane->blocks.placed < q->map_count; lane->blocks.placed++) {
        const struct map *m = &q->maps[lane->blocks.placed];
        uint64_t bias;
        if (m->binary && find_bias(m, &bias))
            trace_code_place(code,
                             (struct trace_placement){m->start, m->end, bias,
                                                      trace_code_add(code, m->binary)});
    }
}

/* --- Blocks ------------------------------------------------------------------------ */

static bool read_block(struct reading *q, struct bytes *b)
{
    struct arena *a = &q->r->arena;
    uint32_t id = bytes_u32(b);
    struct block block = {.map = bytes_u32(b)};
    block.pc = bytes_u64(b);
    block.size = bytes_u32(b);
    block.count = bytes_u32(b);
    struct str bytes = bytes_take(b, block.size);
    bytes_skip(b, -block.size & 3);
    bool sound = !b->failed && id == q->block_count && block.count > 0 &&
                 block.count <= BLOCK_COUNT_MAX && block.size >= 2 * block.count &&
                 block.size <= 8 * block.count;
    if (!sound)
        return false;
    block.bytes = arena_str(a, bytes).ptr;
    struct block *grown =
        arena_grow(a, q->blocks, &q->block_cap, q->block_count + 1, sizeof *grown);
    if (!grown)
        return false;
    q->blocks = grown;
    grown[q->block_count++] = block;
    return true;
}

static uint32_t bits_at(const struct block *block, size_t at)
{
    unsigned char bytes[4] = {0};
    size_t left = block->size - at;
    memcpy(bytes, block->bytes + at, left < 4 ? left : 4);
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static bool turns_trigger(const struct trace_trigger *trigger,
                          const struct trace_block *b)
{
    uint64_t pc = b->pc;
    for (uint32_t i = 0; i < b->count; pc += b->sites[i++].length)
        if (trace_trigger_turns(trigger, pc, b->sites[i].bits))
            return true;
    return false;
}

/* Decodes a block for a core. */
static bool make_block(struct reading *q, struct lane *lane, uint32_t id)
{
    struct trace_code *code = &lane->core->tracer.code;
    struct arena *a = &lane->core->tracer.arena;
    struct trace_block *made = &lane->blocks.items[id];
    const struct block *block = &q->blocks[id];
    place_maps(q, lane);
    struct trace_where where =
        trace_code_match(code, block->pc, (struct str){block->bytes, block->size});
    const struct trace_site *before = lane->core->tracer.site;
    if (before && before->kind == INSTRUCTION_CALL_REGISTER)
        trace_code_call(code, where, block->pc);
    made->sites = arena_alloc(a, block->count * sizeof *made->sites);
    if (!made->sites)
        return false;
    made->pc = block->pc;
    made->count = 0;
    for (size_t at = 0; at < block->size && made->count < block->count;) {
        struct trace_site *s = &made->sites[made->count++];
        trace_code_describe(code, block->pc + at, bits_at(block, at), where, s);
        if (made->count > 1)
            trace_code_follow(s - 1, s);
        at += s->length;
    }
    made->turns = turns_trigger(&q->r->options->trigger, made);
    return trace_block_ready(&lane->core->tracer, made);
}

/* The first time that a core comes to a block. NULL where that was not described. */
static __attribute__((noinline)) struct trace_block *first_block(struct reading *q,
                                                                 struct lane *lane,
                                                                 uint32_t id)
{
    struct core_blocks *blocks = &lane->blocks;
    if (id == 0 || id >= q->block_count)
        return NULL;
    size_t before = blocks->cap;
    if (id >= before) {
        struct trace_block *grown =
            arena_grow(&lane->core->tracer.arena, blocks->items, &blocks->cap,
                       q->block_count, sizeof *grown);
        if (!grown)
            return NULL;
        memset(grown + before, 0, (blocks->cap - before) * sizeof *grown);
        blocks->items = grown;
    }
    return make_block(q, lane, id) ? &blocks->items[id] : NULL;
}

static struct trace_block *block_of(struct reading *q, struct lane *lane, uint32_t id)
{
    struct core_blocks *blocks = &lane->blocks;
    bool known = id < blocks->cap && blocks->items[id].sites;
    return known ? &blocks->items[id] : first_block(q, lane, id);
}

/* --- Runs -------------------------------------------------------------------------- */

static void take_again(struct reading *q, struct lane *lane, struct trace_block *b,
                       uint64_t number, uint64_t times)
{
    if (!tracer_take_again(&lane->core->tracer, b, lane->first, lane->count, number,
                           times, &q->steps))
        flaw(q,
             "a block that calls runs again too often: the rest of it is not followed");
}

/* One by one, as each may turn the trigger. */
static void run_gated(struct reading *q, struct lane *lane, struct trace_block *b)
{
    struct trace_core *core = lane->core;
    uint64_t pc = b->pc;
    uint32_t from = 0, i = 0, end = lane->first + lane->count;
    for (; i < lane->first; i++)
        pc += b->sites[i].length;
    for (from = i; i < end; pc += b->sites[i++].length) {
        uint64_t now = lane->number + (i - lane->first);
        bool passes = trace_reader_pass(q->r, core, pc, b->sites[i].bits, now);
        if (passes == !core->tracer.is_muted)
            continue;
        if (i > from)
            tracer_take_block(&core->tracer, b, from, i - from, now - (i - from));
        tracer_mute(&core->tracer, !passes, now);
        from = i;
    }
    if (from < end)
        tracer_take_block(&core->tracer, b, from, end - from,
                          lane->number + (from - lane->first));
}

/* How often the lane's block may run with the trigger as it is after its first
 * instruction: nothing in it turns it. */
static uint64_t runs_unturned(const struct reading *q, const struct lane *lane,
                              const struct trace_block *b, uint64_t times)
{
    const struct trace_trigger *trigger = &q->r->options->trigger;
    uint64_t edge = trace_trigger_edge(trigger, lane->number);
    if (b->turns)
        return 0;
    uint64_t most = edge == UINT64_MAX ? times : (edge - lane->number) / lane->count;
    return most < times ? most : times;
}

/* An execution, and more of the same, as far as the trigger lets them pass. */
static void run_triggered(struct reading *q, struct lane *lane, struct trace_block *b,
                          uint64_t times)
{
    struct trace_core *core = lane->core;
    while (times > 0 && !tracer_failed(&core->tracer)) {
        uint64_t alike = runs_unturned(q, lane, b, times);
        if (alike == 0) {
            if (q->steps < lane->count) {
                flaw(q, "a block that turns the trigger runs again too often");
                return;
            }
            q->steps -= lane->count;
            run_gated(q, lane, b);
            alike = 1;
        } else {
            bool passes = trace_reader_pass(q->r, core, b->pc, b->sites[lane->first].bits,
                                            lane->number);
            core->kept_out += passes ? 0 : lane->count * alike - 1;
            tracer_mute(&core->tracer, !passes, lane->number);
            tracer_take_block(&core->tracer, b, lane->first, lane->count, lane->number);
            take_again(q, lane, b, lane->number + lane->count, alike - 1);
        }
        lane->number += lane->count * alike;
        times -= alike;
    }
}

/* Numbers are counted modulo 2^32. */
static bool is_before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

static void pass_context(struct reading *q, uint32_t number)
{
    if (!is_before(number, q->context))
        q->context = number + 1;
}

static void add_context(struct reading *q, struct lane *lane, const uint32_t *words)
{
    if (lane->context_count == CONTEXTS_MAX) {
        pass_context(q, words[3]);
        return;
    }
    lane->contexts[lane->context_count++] =
        (struct context){.address = (uint64_t)words[2] << 32 | words[1],
                         .number = words[3],
                         .loads = words[0] == QEMU_RUN_LOAD};
}

/* What was executed has stored and loaded these. */
static void take_contexts(struct reading *q, struct lane *lane)
{
    struct tracer *t = &lane->core->tracer;
    for (size_t i = 0; i < lane->context_count; i++) {
        if (lane->contexts[i].loads)
            tracer_load_context(t, lane->contexts[i].address);
        else
            tracer_save_context(t, lane->contexts[i].address);
        pass_context(q, lane->contexts[i].number);
    }
    lane->context_count = 0;
}

static void run_part(struct reading *q, struct lane *lane, uint32_t id, uint32_t first,
                     uint32_t count)
{
    struct trace_block *b = block_of(q, lane, id);
    lane->block = 0;
    if (!b) {
        flaw(q, "a block runs that was not described");
        return;
    }
    if (count == 0)
        count = b->count;
    if (first >= b->count || count > b->count - first) {
        flaw(q, "more of a block runs than there is of it");
        return;
    }
    lane->block = id;
    lane->first = first;
    lane->count = count;
    if (q->r->options->trigger.selector != TRACE_ALWAYS) {
        run_triggered(q, lane, b, 1);
    } else {
        tracer_take_block(&lane->core->tracer, b, first, count, lane->number);
        lane->number += count;
    }
    take_contexts(q, lane);
}

static void run_again(struct reading *q, struct lane *lane, uint64_t times)
{
    if (lane->block == 0) {
        flaw(q, "what did not run runs again");
        return;
    }
    struct trace_block *b = &lane->blocks.items[lane->block];
    if (q->r->options->trigger.selector != TRACE_ALWAYS) {
        run_triggered(q, lane, b, times);
        return;
    }
    take_again(q, lane, b, lane->number, times);
    lane->number += lane->count * times;
}

/* How many words belong together, the first of which is this. */
static size_t words_of(uint32_t word)
{
    return word < QEMU_RUN_PART    ? 1
           : word < QEMU_RUN_AGAIN ? 2
           : word < QEMU_RUN_GAP   ? 1
           : word == QEMU_RUN_GAP  ? 3
                                   : 4;
}

static void run(struct reading *q, struct lane *lane, const uint32_t *words)
{
    uint32_t word = words[0], mask = (1u << QEMU_RUN_PART_BITS) - 1;
    if (word > QEMU_RUN_LOAD) {
        flaw(q, "a word of the trace is of a kind that is not known");
    } else if (word > QEMU_RUN_GAP) {
        add_context(q, lane, words);
    } else if (word == QEMU_RUN_GAP) {
        uint64_t gap = (uint64_t)words[2] << 32 | words[1];
        lane->number = gap < UINT64_MAX - lane->number ? lane->number + gap : UINT64_MAX;
        tracer_gap(&lane->core->tracer, lane->number);
        lane->block = 0;
    } else if (word >= QEMU_RUN_AGAIN) {
        run_again(q, lane, word & QEMU_RUN_AGAIN_MAX);
    } else if (word >= QEMU_RUN_PART) {
        uint32_t count = word & mask;
        if (count)
            run_part(q, lane, words[1], word >> QEMU_RUN_PART_BITS & mask, count);
        else
            flaw(q, "more of a block runs than there is of it");
    } else if (word) {
        run_part(q, lane, word, 0, 0);
    }
}

/* Whole blocks, as most words are, up to a word that is none, or says something new. */
static void run_blocks(struct lane *lane, struct bytes *words)
{
    struct tracer *t = &lane->core->tracer;
    struct trace_block *items = lane->blocks.items;
    uint64_t number = lane->number;
    size_t cap = lane->blocks.cap, count = bytes_left(words) / 4, i = 0;
    struct bytes b = *words;
    for (; i < count && !tracer_failed(t); i++) {
        uint32_t id = bytes_u32(&b);
        if (id >= cap || !items[id].sites)
            break;
        tracer_take_block(t, &items[id], 0, items[id].count, number);
        number += items[id].count;
        lane->block = id;
    }
    bytes_skip(words, i * 4);
    if (number == lane->number)
        return;
    lane->first = 0;
    lane->count = items[lane->block].count;
    lane->number = number;
}

/* The words that belong together are there. */
static bool has_words(const struct lane *lane)
{
    return lane->word_count && lane->word_count == words_of(lane->words[0]);
}

/* The next of the lane is a context, and others of other lanes are before it. Those of
 * one block are not parted. */
static bool must_wait(const struct reading *q, const struct lane *lane)
{
    bool is_context = has_words(lane) && lane->words[0] > QEMU_RUN_GAP &&
                      lane->words[0] <= QEMU_RUN_LOAD;
    return is_context && lane->context_count == 0 &&
           is_before(q->context, lane->words[3]);
}

/* Goes through words, up to a context that has to wait. */
static void read_words(struct reading *q, struct lane *lane, struct bytes *b)
{
    bool gated = q->r->options->trigger.selector != TRACE_ALWAYS;
    while (!tracer_failed(&lane->core->tracer) && !must_wait(q, lane)) {
        if (has_words(lane)) {
            run(q, lane, lane->words);
            lane->word_count = 0;
            continue;
        }
        if (lane->word_count == 0 && lane->context_count == 0 && !gated)
            run_blocks(lane, b);
        if (tracer_failed(&lane->core->tracer) || bytes_left(b) < 4)
            return;
        lane->words[lane->word_count++] = bytes_u32(b);
    }
}

/* --- The order of contexts ---------------------------------------------------------- */

/* Keeps what is left of the words. */
static void keep_waiting(struct reading *q, struct lane *lane, struct bytes *b)
{
    struct str rest = bytes_take(b, bytes_left(b));
    output_str(&lane->waiting, rest);
    q->waiting += rest.len;
}

/* The waiting lane whose context is the first; NULL where none waits. */
static struct lane *first_waiting(const struct reading *q)
{
    struct lane *first = NULL;
    for (size_t i = 0; i < q->lane_count; i++) {
        struct lane *lane = q->lanes[i];
        bool waits = lane->waiting.used > lane->waited || has_words(lane);
        if (waits && (!first || is_before(lane->words[3], first->words[3])))
            first = lane;
    }
    return first;
}

/* Goes on with what has waited; with all of it where `all` is set. */
static void read_waiting(struct reading *q, bool all)
{
    struct lane *lane;
    while ((lane = first_waiting(q)) != NULL) {
        if (must_wait(q, lane)) {
            if (!all && q->waiting <= WAITING_MAX)
                return;
            q->context = lane->words[3]; /* what is before it is not in the trace */
        }
        struct output *kept = &lane->waiting;
        struct bytes b = bytes_of(
            (struct str){kept->bytes + lane->waited, kept->used - lane->waited}, false);
        size_t before = bytes_left(&b);
        read_words(q, lane, &b);
        bool is_read = tracer_failed(&lane->core->tracer) || bytes_left(&b) < 4;
        size_t read = is_read ? before : before - bytes_left(&b);
        lane->waited += read;
        q->waiting -= read;
        if (is_read)
            kept->used = lane->waited = 0;
        if (tracer_failed(&lane->core->tracer))
            lane->word_count = 0;
    }
}

static bool read_runs(struct reading *q, struct lane *lane, struct bytes *b)
{
    if (must_wait(q, lane)) {
        keep_waiting(q, lane, b);
    } else {
        read_words(q, lane, b);
        if (must_wait(q, lane))
            keep_waiting(q, lane, b);
    }
    read_waiting(q, false);
    return !tracer_failed(&lane->core->tracer) && !lane->waiting.failed;
}

/* --- Threads ----------------------------------------------------------------------- */

static struct lane *lane_of(struct reading *q, uint32_t cpu)
{
    struct trace_reader *r = q->r;
    for (size_t i = 0; i < q->lane_count; i++)
        if (q->lanes[i]->cpu == cpu)
            return q->lanes[i];
    if (q->lane_count == TRACE_CORES_MAX)
        return NULL;
    struct lane **grown = arena_grow(&r->arena, q->lanes, &q->lane_cap, q->lane_count + 1,
                                     sizeof(struct lane *));
    struct lane *lane = arena_zalloc(&r->arena, 1, sizeof *lane);
    if (!grown || !lane)
        return NULL;
    q->lanes = grown;
    grown[q->lane_count++] = lane;
    lane->cpu = cpu;
    return lane;
}

/* A thread is a core of its own. */
static bool read_thread(struct reading *q, struct lane *lane, struct bytes *b)
{
    struct trace_reader *r = q->r;
    uint32_t id = bytes_u32(b), size = bytes_u32(b);
    struct str name = bytes_take(b, size);
    if (b->failed)
        return false;
    bool is_system = q->flags & QEMU_TRACE_SYSTEM;
    int64_t number = is_system ? lane->cpu : (int64_t)id;
    if (!lane->core || lane->core->number != number) {
        read_waiting(q, true);
        lane->core = trace_reader_core(r, number);
        lane->blocks = (struct core_blocks){.items = NULL};
        lane->number = 0;
        lane->word_count = lane->context_count = lane->block = 0;
    }
    if (!lane->core)
        return false;
    lane->core->tracer.shared = &q->shared;
    lane->core->tracer.code.is_32 |= (q->flags & QEMU_TRACE_32) != 0;
    lane->core->process = is_system ? ID_NONE : (int64_t)q->process;
    lane->core->name = is_system ? STR("") : arena_str(&r->arena, name);
    return true;
}

/* --- Chunks ------------------------------------------------------------------------ */

static bool read_all(struct reading *q, struct bytes *b,
                     bool (*read)(struct reading *q, struct bytes *b))
{
    while (bytes_left(b) >= 4)
        if (!read(q, b))
            return false;
    return true;
}

/* What is in a chunk; false where the rest makes no sense. */
static bool read_chunk(struct reading *q, uint32_t type, uint32_t cpu, struct str payload)
{
    struct bytes b = bytes_of(payload, false);
    struct lane *lane = NULL;
    if (type == QEMU_CHUNK_THREAD || type == QEMU_CHUNK_RUNS) {
        lane = lane_of(q, cpu);
        if (!lane || (type == QEMU_CHUNK_RUNS && !lane->core))
            return false;
    }
    switch (type) {
    case QEMU_CHUNK_MAPS:
        return read_all(q, &b, read_map);
    case QEMU_CHUNK_BLOCKS:
        return read_all(q, &b, read_block);
    case QEMU_CHUNK_THREAD:
        return read_thread(q, lane, &b);
    case QEMU_CHUNK_RUNS:
        return read_runs(q, lane, &b);
    case QEMU_CHUNK_END:
        q->ended = true;
        return true;
    default:
        flaw(q, "a part of the trace is of a kind that is not known");
        return true;
    }
}

static void leave_behind(struct source *in, size_t bytes)
{
    in->begin += bytes;
    in->offset += bytes;
}

/* The next chunk; false at the end, and where it cannot be read (err is then set). */
static bool next_chunk(struct reading *q, struct error *err)
{
    struct source *in = q->r->in;
    q->offset = in->offset;
    if (!source_peek(in, QEMU_TRACE_CHUNK_SIZE, err))
        return false;
    struct bytes b = bytes_of(str_span(in->begin, in->end), false);
    uint32_t type = bytes_u32(&b), cpu = bytes_u32(&b), size = bytes_u32(&b);
    bytes_u32(&b); /* its number */
    if (b.failed || q->ended) {
        if (in->begin != in->end)
            flaw(q, q->ended ? "something follows the end of the trace"
                             : "the trace is cut short");
        return false;
    }
    if (size > CHUNK_MAX) {
        flaw(q, "a part of the trace is too large: the rest is left out");
        return false;
    }
    if (!source_peek(in, QEMU_TRACE_CHUNK_SIZE + (size_t)size, err))
        return false;
    struct str payload = str_skip(str_span(in->begin, in->end), QEMU_TRACE_CHUNK_SIZE);
    q->steps += (uint64_t)size * STEPS_PER_BYTE;
    bool whole = payload.len >= size;
    payload = str_head(payload, size);
    if (!read_chunk(q, type, cpu, payload) && whole) {
        flaw(q, "a part of the trace is damaged: the rest is left out");
        return false;
    }
    leave_behind(in, QEMU_TRACE_CHUNK_SIZE + payload.len);
    if (!whole)
        flaw(q, "the trace is cut short");
    return whole;
}

static bool read_head(struct reading *q, struct error *err)
{
    struct source *in = q->r->in;
    if (!source_peek(in, QEMU_TRACE_HEADER_SIZE, err))
        return false;
    struct bytes b = bytes_of(str_span(in->begin, in->end), false);
    bytes_skip(&b, sizeof QEMU_TRACE_MAGIC - 1);
    uint32_t version = bytes_u32(&b), size = bytes_u32(&b);
    q->flags = bytes_u32(&b);
    struct trace_trigger *recorded = &q->r->recorded;
    recorded->selector = bytes_u32(&b) & 3;
    recorded->start = bytes_u64(&b);
    recorded->end = bytes_u64(&b);
    recorded->has_end = recorded->end != UINT64_MAX;
    q->process = bytes_u32(&b);
    if (b.failed || size < QEMU_TRACE_HEADER_SIZE || size > TRACE_HEAD_SIZE)
        return error_set(err, "the head of the trace is damaged");
    if (version < QEMU_TRACE_VERSION_OLDEST || version > QEMU_TRACE_VERSION)
        return error_set(err, "the trace is of version %u, which is not known", version);
    if (!source_peek(in, size, err))
        return false;
    size_t there = (size_t)(in->end - in->begin);
    leave_behind(in, size < there ? size : there);
    return true;
}

static void end_reading(struct reading *q)
{
    for (size_t i = 0; i < q->lane_count; i++)
        output_deinit(&q->lanes[i]->waiting);
    for (size_t i = 0; i < q->r->core_count; i++)
        q->r->cores[i]->tracer.shared = NULL;
    arena_deinit(&q->shared.arena);
}

static bool qemu_read(struct trace_reader *r, struct error *err)
{
    struct reading q = {.r = r, .block_count = 1, .steps = STEPS_AT_ALL};
    struct error failure = {.message = ""};
    q.blocks = arena_grow(&r->arena, NULL, &q.block_cap, 64, sizeof *q.blocks);
    if (!q.blocks)
        return error_memory(err);
    q.blocks[0] = (struct block){.count = 0};
    if (!read_head(&q, err))
        return false;
    while (next_chunk(&q, &failure))
        ;
    read_waiting(&q, true);
    r->arena.failed |= q.shared.arena.failed;
    end_reading(&q);
    if (failure.message[0]) {
        *err = failure;
        return false;
    }
    if (r->arena.failed)
        return error_memory(err);
    if (!q.ended)
        flaw(&q, "the trace has no end: its writer was stopped");
    return true;
}

static int qemu_probe(struct str head)
{
    return str_starts(head, STR(QEMU_TRACE_MAGIC)) ? 100 : 0;
}

const struct trace_format trace_format_qemu = {
    .name = "qemu",
    .summary = "what libstoke_qemu.so writes",
    .probe = qemu_probe,
    .read = qemu_read,
};
