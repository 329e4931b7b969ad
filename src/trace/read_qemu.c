/* SPDX-License-Identifier: Apache-2.0 */
/* The traces of libstoke_qemu.so: see qemu_format.h. */
#include "base/array.h"
#include "base/format.h"
#include "trace/qemu_reader.h"

#define CHUNK_MAX ((uint32_t)256 << 20)
#define BLOCK_COUNT_MAX 32767

/* A word can say that a block with a call ran half a billion times more. To limit the
 * time of reading, each byte allows a recursion of this depth, and the whole trace one
 * more. */
#define STEPS_PER_BYTE 1024
#define STEPS_AT_ALL ((uint64_t)1 << 19) /* frames of 16 bytes in a stack of 8 MB */

void qemu_flaw(struct qemu_reading *q, const char *what)
{
    trace_reader_flaw(q->r, what, 0, q->offset, STR(""));
}

/* --- Maps -------------------------------------------------------------------------- */

static bool read_map(struct qemu_reading *q, struct bytes *b)
{
    struct trace_reader *r = q->r;
    uint32_t id = bytes_u32(b), size = bytes_u32(b);
    struct qemu_map m = {.start = bytes_u64(b)};
    m.end = bytes_u64(b);
    m.offset = bytes_u64(b);
    struct str path = bytes_take(b, size);
    bytes_skip(b, -size & 3);
    if (b->failed || id != q->map_count + 1)
        return false;
    if (r->options->find)
        m.binary = r->options->find(r->options->find_context, path);
    struct qemu_map *item = ARRAY_APPEND(&r->arena, q->maps, q->map_count, q->map_cap);
    if (!item)
        return false;
    *item = m;
    return true;
}

/* --- Blocks ------------------------------------------------------------------------ */

static bool read_block(struct qemu_reading *q, struct bytes *b)
{
    struct arena *a = &q->r->arena;
    uint32_t id = bytes_u32(b);
    struct qemu_block block = {.map = bytes_u32(b)};
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
    struct qemu_block *item = ARRAY_APPEND(a, q->blocks, q->block_count, q->block_cap);
    if (!item)
        return false;
    *item = block;
    return true;
}

/* --- Threads ----------------------------------------------------------------------- */

static struct qemu_lane *add_lane(struct qemu_reading *q, uint32_t cpu)
{
    struct trace_reader *r = q->r;
    if (q->lane_count == TRACE_CORES_MAX)
        return NULL;
    struct qemu_lane *lane = arena_zalloc(&r->arena, 1, sizeof *lane);
    if (!lane || !ARRAY_RESERVE(&r->arena, q->lanes, q->lane_cap, q->lane_count + 1))
        return NULL;
    q->lanes[q->lane_count++] = lane;
    lane->cpu = cpu;
    return lane;
}

/* The lane of the current thread of a virtual CPU. */
static struct qemu_lane *lane_of(struct qemu_reading *q, uint32_t cpu)
{
    for (size_t i = q->lane_count; i-- > 0;)
        if (q->lanes[i]->cpu == cpu)
            return q->lanes[i];
    return add_lane(q, cpu);
}

/* The lane for another thread of the same virtual CPU. Words of the thread before may
 * still wait for contexts of other lanes: then they remain in a lane of their own. */
static struct qemu_lane *next_lane(struct qemu_reading *q, struct qemu_lane *lane)
{
    struct qemu_lane *next = qemu_must_wait(q, lane) ? add_lane(q, lane->cpu) : lane;
    if (!next) {
        qemu_read_waiting(q, true);
        next = lane;
    }
    next->blocks = (struct qemu_core_blocks){.items = NULL};
    next->number = 0;
    next->word_count = next->context_count = next->block = 0;
    return next;
}

/* Each thread has its own tracer. */
static bool read_thread(struct qemu_reading *q, struct qemu_lane *lane, struct bytes *b)
{
    struct trace_reader *r = q->r;
    uint32_t id = bytes_u32(b), size = bytes_u32(b);
    struct str name = bytes_take(b, size);
    if (b->failed)
        return false;
    bool is_system = q->flags & QEMU_TRACE_SYSTEM;
    int64_t number = is_system ? lane->cpu : (int64_t)id;
    if (!lane->core || lane->core->number != number) {
        lane = next_lane(q, lane);
        lane->core = trace_reader_core(r, number);
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

static bool read_all(struct qemu_reading *q, struct bytes *b,
                     bool (*read)(struct qemu_reading *q, struct bytes *b))
{
    while (bytes_left(b) >= 4)
        if (!read(q, b))
            return false;
    return true;
}

/* Processes a chunk; false if the rest of it is invalid. */
static bool read_chunk(struct qemu_reading *q, uint32_t type, uint32_t cpu,
                       struct str payload)
{
    struct bytes b = bytes_of(payload, false);
    struct qemu_lane *lane = NULL;
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
        return qemu_read_runs(q, lane, &b);
    case QEMU_CHUNK_END:
        q->ended = true;
        return true;
    default:
        qemu_flaw(q, "a part of the trace is of a kind that is not known");
        return true;
    }
}

static void leave_behind(struct source *in, size_t bytes)
{
    in->begin += bytes;
    in->offset += bytes;
}

/* The next chunk; false at the end, and if it cannot be read (err is then set). */
static bool next_chunk(struct qemu_reading *q, struct error *err)
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
            qemu_flaw(q, q->ended ? "data follows the end of the trace"
                                  : "the trace is truncated");
        return false;
    }
    if (size > CHUNK_MAX) {
        qemu_flaw(q, "a part of the trace is too large: the rest is left out");
        return false;
    }
    if (!source_peek(in, QEMU_TRACE_CHUNK_SIZE + (size_t)size, err))
        return false;
    struct str payload = str_skip(str_span(in->begin, in->end), QEMU_TRACE_CHUNK_SIZE);
    bool whole = payload.len >= size;
    payload = str_head(payload, size);
    q->steps += (uint64_t)payload.len *
                STEPS_PER_BYTE; /* a truncated trace has another message */
    if (!read_chunk(q, type, cpu, payload) && whole) {
        qemu_flaw(q, "a part of the trace is damaged: the rest is left out");
        return false;
    }
    leave_behind(in, QEMU_TRACE_CHUNK_SIZE + payload.len);
    if (!whole)
        qemu_flaw(q, "the trace is truncated");
    return whole;
}

static bool read_head(struct qemu_reading *q, struct error *err)
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
    /* Version 1 has no contexts, and the plugin records those of 64 bits. */
    q->shared.has_contexts = version > 1 && !(q->flags & QEMU_TRACE_32);
    if (!source_peek(in, size, err))
        return false;
    size_t there = (size_t)(in->end - in->begin);
    leave_behind(in, size < there ? size : there);
    return true;
}

static void end_reading(struct qemu_reading *q)
{
    for (size_t i = 0; i < q->lane_count; i++)
        output_deinit(&q->lanes[i]->waiting);
    for (size_t i = 0; i < q->r->core_count; i++)
        q->r->cores[i]->tracer.shared = NULL;
    arena_deinit(&q->shared.arena);
}

static bool qemu_read(struct trace_reader *r, struct error *err)
{
    struct qemu_reading q = {.r = r, .block_count = 1, .steps = STEPS_AT_ALL};
    struct error failure = {.message = ""};
    q.blocks = arena_grow(&r->arena, NULL, &q.block_cap, 64, sizeof *q.blocks);
    if (!q.blocks)
        return error_memory(err);
    q.blocks[0] = (struct qemu_block){.count = 0};
    if (!read_head(&q, err))
        return false;
    while (next_chunk(&q, &failure))
        ;
    qemu_read_waiting(&q, true);
    r->arena.failed |= q.shared.arena.failed;
    end_reading(&q);
    if (failure.message[0]) {
        *err = failure;
        return false;
    }
    if (r->arena.failed)
        return error_memory(err);
    if (!q.ended)
        qemu_flaw(&q, "the trace has no end: its writer was stopped");
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
