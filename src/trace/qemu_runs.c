/* SPDX-License-Identifier: Apache-2.0 */
/* Executed code of the guest: converts words to blocks, and feeds blocks to the
 * tracers. */
#include "base/array.h"
#include "trace/qemu_reader.h"

/* --- Blocks ------------------------------------------------------------------------ */

/* The difference between the mapped addresses and those of the file. */
static bool find_bias(const struct qemu_map *m, uint64_t *bias)
{
    const struct elf *e = m->binary->elf;
    for (size_t i = 0; e && i < e->segment_count; i++) {
        const struct elf_segment *s = &e->segments[i];
        /* A map begins with the first page of the segment. */
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

/* Adds the new maps to the code of a core. */
static void add_placements(const struct qemu_reading *q, struct qemu_lane *lane)
{
    struct trace_code *code = &lane->core->tracer.code;
    for (; lane->blocks.mapped < q->map_count; lane->blocks.mapped++) {
        const struct qemu_map *m = &q->maps[lane->blocks.mapped];
        uint64_t bias;
        if (m->binary && find_bias(m, &bias))
            trace_code_add_placement(
                code, (struct trace_placement){m->start, m->end, bias,
                                               trace_code_add(code, m->binary)});
    }
}

static uint32_t bits_at(const struct qemu_block *block, size_t at)
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
static bool make_block(struct qemu_reading *q, struct qemu_lane *lane, uint32_t id)
{
    struct trace_code *code = &lane->core->tracer.code;
    struct arena *a = &lane->core->tracer.arena;
    struct trace_block *made = &lane->blocks.items[id];
    const struct qemu_block *block = &q->blocks[id];
    add_placements(q, lane);
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

/* Decodes a block when a core runs it first. NULL if the trace does not describe it. */
static __attribute__((noinline)) struct trace_block *first_block(struct qemu_reading *q,
                                                                 struct qemu_lane *lane,
                                                                 uint32_t id)
{
    struct qemu_core_blocks *blocks = &lane->blocks;
    if (id == 0 || id >= q->block_count)
        return NULL;
    if (id >= blocks->cap &&
        !ARRAY_RESERVE_ZEROED(&lane->core->tracer.arena, blocks->items, blocks->cap,
                              q->block_count))
        return NULL;
    return make_block(q, lane, id) ? &blocks->items[id] : NULL;
}

static struct trace_block *block_of(struct qemu_reading *q, struct qemu_lane *lane,
                                    uint32_t id)
{
    struct qemu_core_blocks *blocks = &lane->blocks;
    bool known = id < blocks->cap && blocks->items[id].sites;
    return known ? &blocks->items[id] : first_block(q, lane, id);
}

/* --- Runs -------------------------------------------------------------------------- */

static void take_again(struct qemu_reading *q, struct qemu_lane *lane,
                       struct trace_block *b, uint64_t number, uint64_t times)
{
    if (!tracer_take_again(&lane->core->tracer, b, lane->first, lane->count, number,
                           times, &q->steps))
        qemu_flaw(
            q, "a block that calls runs again too often: the rest of it is not followed");
}

/* One by one, because each may change the trigger. */
static void run_gated(struct qemu_reading *q, struct qemu_lane *lane,
                      struct trace_block *b)
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

/* How often the block may run while the trigger keeps the state after its first
 * instruction: nothing in the block changes it. */
static uint64_t runs_unturned(const struct qemu_reading *q, const struct qemu_lane *lane,
                              const struct trace_block *b, uint64_t times)
{
    const struct trace_trigger *trigger = &q->r->options->trigger;
    uint64_t edge = trace_trigger_edge(trigger, lane->number);
    if (b->turns)
        return 0;
    uint64_t most = edge == UINT64_MAX ? times : (edge - lane->number) / lane->count;
    return most < times ? most : times;
}

/* Processes an execution and its repetitions, if the trigger selects them. */
static void run_triggered(struct qemu_reading *q, struct qemu_lane *lane,
                          struct trace_block *b, uint64_t times)
{
    struct trace_core *core = lane->core;
    while (times > 0 && !tracer_failed(&core->tracer)) {
        uint64_t alike = runs_unturned(q, lane, b, times);
        if (alike == 0) {
            if (q->steps < lane->count) {
                qemu_flaw(q, "a block that turns the trigger runs again too often");
                return;
            }
            q->steps -= lane->count;
            run_gated(q, lane, b);
            alike = 1;
        } else {
            bool passes = trace_reader_pass(q->r, core, b->pc, b->sites[lane->first].bits,
                                            lane->number);
            core->left_out += passes ? 0 : lane->count * alike - 1;
            tracer_mute(&core->tracer, !passes, lane->number);
            tracer_take_block(&core->tracer, b, lane->first, lane->count, lane->number);
            take_again(q, lane, b, lane->number + lane->count, alike - 1);
        }
        lane->number += lane->count * alike;
        times -= alike;
    }
}

static void add_context(struct qemu_reading *q, struct qemu_lane *lane,
                        const uint32_t *words)
{
    if (lane->context_count == CONTEXTS_MAX) {
        qemu_pass_context(q, words[3]);
        return;
    }
    lane->contexts[lane->context_count++] =
        (struct qemu_context){.address = (uint64_t)words[2] << 32 | words[1],
                              .number = words[3],
                              .loads = words[0] == QEMU_RUN_LOAD};
}

/* Reports the contexts that the execution stored and loaded. */
static void take_contexts(struct qemu_reading *q, struct qemu_lane *lane)
{
    struct tracer *t = &lane->core->tracer;
    for (size_t i = 0; i < lane->context_count; i++) {
        if (lane->contexts[i].loads)
            tracer_load_context(t, lane->contexts[i].address);
        else
            tracer_save_context(t, lane->contexts[i].address);
        qemu_pass_context(q, lane->contexts[i].number);
    }
    lane->context_count = 0;
}

static void run_part(struct qemu_reading *q, struct qemu_lane *lane, uint32_t id,
                     uint32_t first, uint32_t count)
{
    struct trace_block *b = block_of(q, lane, id);
    lane->block = 0;
    if (!b) {
        qemu_flaw(q, "a block runs that was not described");
        return;
    }
    if (count == 0)
        count = b->count;
    if (first >= b->count || count > b->count - first) {
        qemu_flaw(q, "an execution has more instructions than its block");
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

static void run_again(struct qemu_reading *q, struct qemu_lane *lane, uint64_t times)
{
    if (lane->block == 0) {
        qemu_flaw(q, "the trace repeats a block before any block ran");
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

/* The number of words in the entry that begins with this word. */
static size_t words_of(uint32_t word)
{
    return word < QEMU_RUN_PART    ? 1
           : word < QEMU_RUN_AGAIN ? 2
           : word < QEMU_RUN_GAP   ? 1
           : word == QEMU_RUN_GAP  ? 3
                                   : 4;
}

static void run(struct qemu_reading *q, struct qemu_lane *lane, const uint32_t *words)
{
    uint32_t word = words[0], mask = (1u << QEMU_RUN_PART_BITS) - 1;
    if (word > QEMU_RUN_LOAD) {
        qemu_flaw(q, "a word of the trace is of a kind that is not known");
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
            qemu_flaw(q, "an execution has more instructions than its block");
    } else if (word) {
        run_part(q, lane, word, 0, 0);
    }
}

/* Processes whole blocks, the most common words, up to a word of another kind. */
static void run_blocks(struct qemu_lane *lane, struct bytes *words)
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

bool qemu_has_words(const struct qemu_lane *lane)
{
    return lane->word_count && lane->word_count == words_of(lane->words[0]);
}

void qemu_read_words(struct qemu_reading *q, struct qemu_lane *lane, struct bytes *b)
{
    bool gated = q->r->options->trigger.selector != TRACE_ALWAYS;
    while (!tracer_failed(&lane->core->tracer) && !qemu_must_wait(q, lane)) {
        if (qemu_has_words(lane)) {
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
