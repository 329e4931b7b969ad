/* SPDX-License-Identifier: Apache-2.0 */
/* Austin's binary form, MOJO, versions 1 to 4: "MOJ", the version, then events of one byte with
 * their data: texts that end with a zero byte, and numbers of variable length, with 6 bits and
 * the sign in the first byte, and 7 bits in each other one.
 *
 *   1 metadata        key, value
 *   2 stack           process, interpreter (from version 3), thread: a sample begins
 *   3 frame           key, file, function, line; from version 2, file and function are keys of
 *                     texts; from version 3 also last line and both columns
 *   4 invalid frame   5 frame: key     6 frame of the kernel: function
 *   7 GC              8 idle           9 time in microseconds    10 memory in bytes
 *   11 text           key, text        12 text: key
 *   13 the frames of the thread's sample before
 *   14 stack of an asyncio task that waits: task, name           15 task, waiter
 *
 * Source: Austin's documentation, "The MOJO File Format". */
#include "base/array.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "base/output.h"
#include "import/austin.h"

#define MAGIC "MOJ"
#define VERSION_MOST 4

enum mojo_event {
    MOJO_METADATA = 1,
    MOJO_STACK,
    MOJO_FRAME,
    MOJO_FRAME_INVALID,
    MOJO_FRAME_REF,
    MOJO_FRAME_KERNEL,
    MOJO_GC,
    MOJO_IDLE,
    MOJO_TIME,
    MOJO_MEMORY,
    MOJO_STRING,
    MOJO_STRING_REF,
    MOJO_STACK_REPEAT,
    MOJO_TASK_STACK,
    MOJO_TASK_WAITER,
};

struct mojo {
    struct austin *a;
    struct bytes in;
    uint64_t version;
    struct arena arena;
    struct idmap string_ids, frames; /* key -> index + 1 in `strings`; frame + 1 */
    struct idmap last;               /* thread -> its last stack + 1 */
    struct str *strings;
    size_t string_count, string_cap;
    struct output text; /* scratch */
    /* The current sample. */
    struct austin_sample sample;
    char thread[64];
    uint64_t thread_key;
    stack_id stack;
    bool is_open, has_time, has_memory, is_idle, in_gc, is_task;
    double time, memory;
};

/* --- Data --------------------------------------------------------------------------- */

static double take_signed(struct mojo *m)
{
    uint8_t byte = bytes_u8(&m->in);
    bool negative = byte & 0x40;
    uint64_t value = byte & 0x3f;
    for (unsigned shift = 6; byte & 0x80 && !m->in.failed; shift += 7) {
        byte = bytes_u8(&m->in);
        if (shift > 62)
            m->in.failed = true;
        else
            value |= (uint64_t)(byte & 0x7f) << shift;
    }
    return negative ? -(double)value : (double)value;
}

static uint64_t take_number(struct mojo *m)
{
    double value = take_signed(m);
    return value >= 0x1p64 ? UINT64_MAX : value > 0 ? (uint64_t)value : 0;
}

static struct str take_text(struct mojo *m)
{
    struct str rest = {m->in.at, bytes_left(&m->in)};
    size_t length = str_find(rest, 0);
    if (length == rest.len)
        m->in.failed = true;
    struct str text = bytes_take(&m->in, length);
    bytes_skip(&m->in, 1);
    return text;
}

static void set_string(struct mojo *m, uint64_t key, struct str text)
{
    uint64_t *id = idmap_put(&m->string_ids, &m->arena, key);
    struct str *added =
        id ? ARRAY_APPEND(&m->arena, m->strings, m->string_count, m->string_cap) : NULL;
    if (!added)
        return;
    *added = text;
    *id = m->string_count;
}

static struct str string_at(const struct mojo *m, uint64_t key)
{
    const uint64_t *id = idmap_find(&m->string_ids, key);
    return id && *id ? m->strings[*id - 1] : STR("<unknown>");
}

/* --- Samples ------------------------------------------------------------------------ */

static void end_sample(struct mojo *m)
{
    struct austin *a = m->a;
    struct austin_sample *s = &m->sample;
    bool is_whole = m->is_open && !m->is_task && (m->has_time || m->has_memory);
    m->is_open = m->is_task = false;
    if (!is_whole)
        return;
    if (m->in_gc)
        m->stack = builder_push(a->b, m->stack, austin_frame(a, STR(":GC:"), 0));
    if (!m->stack)
        m->stack = builder_push(a->b, 0, builder_frame(a->b, &(struct frame){0}));
    s->full = m->has_time && m->has_memory;
    s->metric_count = s->full ? AUSTIN_METRICS : 1;
    s->metrics[0] = m->has_time ? m->time : m->memory;
    s->metrics[1] = m->is_idle;
    s->metrics[2] = m->memory;
    if (!m->has_time)
        a->memory = true;
    s->thread = str_of(m->thread);
    austin_add(a, s, m->stack);
}

/* The stack is stored with its first metric: frames of the kernel come before it. */
static void keep_stack(struct mojo *m)
{
    uint64_t *last = idmap_put(&m->last, &m->arena, m->thread_key);
    if (last && !m->has_time && !m->has_memory)
        *last = (uint64_t)m->stack + 1;
}

static void begin_sample(struct mojo *m)
{
    end_sample(m);
    uint64_t pid = take_number(m), interpreter = m->version > 2 ? take_number(m) : 0;
    struct str thread = take_text(m);
    m->sample = (struct austin_sample){.pid = (int64_t)pid};
    format_text(m->thread, sizeof m->thread, "0x%.*s",
                STR_ARG(str_head(thread, thread.len < 32 ? thread.len : 32)));
    m->thread_key = hash_mix(hash_bytes(thread.ptr, thread.len) ^ HASH_A,
                             (pid << 20 ^ interpreter) ^ HASH_B);
    m->stack = 0;
    m->has_time = m->has_memory = m->is_idle = m->in_gc = false;
    m->time = m->memory = 0;
    m->is_open = true;
}

static void push(struct mojo *m, frame_id frame)
{
    if (m->is_open && !m->is_task)
        m->stack = builder_push(m->a->b, m->stack, frame);
}

static frame_id frame_named(struct mojo *m, struct str file, struct str function,
                            uint64_t line)
{
    m->text.used = 0;
    m->text.room = m->text.cap;
    output_format(&m->text, "%.*s:%.*s", STR_ARG(file), STR_ARG(function));
    return austin_frame(m->a, output_contents(&m->text), line);
}

static void define_frame(struct mojo *m)
{
    uint64_t key = take_number(m);
    bool has_keys = m->version > 1;
    struct str file = has_keys ? string_at(m, take_number(m)) : take_text(m);
    struct str function = has_keys ? string_at(m, take_number(m)) : take_text(m);
    uint64_t line = take_number(m);
    for (int i = 0; m->version > 2 && i < 3; i++)
        take_number(m);
    uint64_t *frame = idmap_put(&m->frames, &m->arena, key);
    if (frame && !m->in.failed)
        *frame = (uint64_t)frame_named(m, file, function, line) + 1;
}

static void use_frame(struct mojo *m)
{
    const uint64_t *frame = idmap_find(&m->frames, take_number(m));
    if (!m->in.failed)
        push(m, frame && *frame ? (frame_id)(*frame - 1)
                                : austin_frame(m->a, STR(":INVALID:"), 0));
}

static void repeat_stack(struct mojo *m)
{
    const uint64_t *last = idmap_find(&m->last, m->thread_key);
    if (m->is_open && !m->is_task && last && *last)
        m->stack = (stack_id)(*last - 1);
}

/* False for an event that is not known. */
static bool read_sample_event(struct mojo *m, enum mojo_event event)
{
    switch (event) {
    case MOJO_GC:
        m->in_gc = true;
        return true;
    case MOJO_IDLE:
        m->is_idle = true;
        return true;
    case MOJO_TIME:
        keep_stack(m);
        m->time = take_signed(m);
        m->has_time = !m->in.failed;
        return true;
    case MOJO_MEMORY:
        keep_stack(m);
        m->memory = take_signed(m);
        m->has_memory = !m->in.failed;
        return true;
    case MOJO_STACK_REPEAT:
        repeat_stack(m);
        return true;
    case MOJO_TASK_STACK:
        end_sample(m);
        m->is_task = true;
        take_number(m);
        take_number(m);
        return true;
    case MOJO_TASK_WAITER:
        take_number(m);
        take_number(m);
        return true;
    default:
        return false;
    }
}

static bool read_event(struct mojo *m)
{
    struct str key;
    uint64_t number;
    enum mojo_event event = (enum mojo_event)bytes_u8(&m->in);
    switch (event) {
    case MOJO_METADATA:
        key = take_text(m);
        austin_fact(m->a, key, take_text(m));
        return true;
    case MOJO_STACK:
        begin_sample(m);
        return true;
    case MOJO_FRAME:
        define_frame(m);
        return true;
    case MOJO_FRAME_INVALID:
        push(m, austin_frame(m->a, STR(":INVALID:"), 0));
        return true;
    case MOJO_FRAME_REF:
        use_frame(m);
        return true;
    case MOJO_FRAME_KERNEL:
        push(m, frame_named(m, STR("kernel"), take_text(m), 0));
        return true;
    case MOJO_STRING:
        number = take_number(m);
        set_string(m, number, take_text(m));
        return true;
    case MOJO_STRING_REF:
        take_number(m);
        return true;
    default:
        return read_sample_event(m, event);
    }
}

/* --- The file ----------------------------------------------------------------------- */

bool mojo_is(struct str head)
{
    return str_starts(head, STR(MAGIC)) && head.len > 3 && head.ptr[3] > 0 &&
           head.ptr[3] < 16;
}

static void read_events(struct mojo *m)
{
    struct builder *b = m->a->b;
    bool is_known = true;
    size_t at = 0;
    while (is_known && bytes_left(&m->in) && !m->arena.failed && !m->text.failed &&
           !builder_failed(b)) {
        at = bytes_offset(&m->in);
        is_known = read_event(m);
    }
    if (m->in.failed)
        builder_warn_offset(b, "the file ends inside an event", at);
    else if (!is_known)
        builder_warn_offset(b, "an unknown event: the rest is not read", at);
    b->profile->facts.incomplete |= m->in.failed || !is_known;
    end_sample(m);
}

bool mojo_read(struct austin *a, struct source *in, struct error *err)
{
    struct str all;
    if (!source_all(in, &all, err))
        return false;
    struct mojo m = {.a = a, .in = bytes_of(all, false), .text = OUTPUT_BUFFER};
    bytes_skip(&m.in, sizeof MAGIC - 1);
    m.version = take_number(&m);
    bool ok = m.version <= VERSION_MOST;
    if (ok)
        read_events(&m);
    else
        error_set(err, "unknown version %llu of Austin's MOJO",
                  (unsigned long long)m.version);
    if (ok && (m.arena.failed || m.text.failed))
        ok = error_memory(err);
    output_deinit(&m.text);
    arena_deinit(&m.arena);
    return ok;
}
