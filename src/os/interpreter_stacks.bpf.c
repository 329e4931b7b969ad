/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
 *
 * What runs in the kernel at each sample of a program that an interpreter runs: reads the
 * stack of the interpreter. The thread that is sampled is on this CPU and stopped, so its stack
 * does not change. The sample is written after that, as without this program.
 *
 * Every pointer comes from the process: all reads may fail, all loops are bounded. */
#include "os/interpreter_stacks_format.h"
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h> /* needs the types of those above */

#include <bpf/bpf_tracing.h>

/* The fields of the kernel's task_struct that are used. The loading process sets them
 * (os/kernel_fields.h). */
const volatile struct interpreter_stacks_kernel kernel;

#define PROCESSES_MAX 4096
#define THREADS_MAX 16384
#define FILTER_SIZE 4096                 /* 2 to the power of 12 */
#define STEPS_MAX 8192                   /* threads of a process that are searched */
#define RETRY_FIRST ((uint64_t)10000000) /* ns */

/* Records that the process reads at the latest. */
const volatile uint64_t wake_bytes;

/* A process is announced at its second sample. */
const volatile bool announce_second;

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __type(key, uint32_t);
    __type(value, struct interpreter_stacks_process);
    __uint(max_entries, PROCESSES_MAX);
} processes SEC(".maps");

/* The structure of a thread in its runtime, by thread id. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __type(key, uint32_t);
    __type(value, uint64_t);
    __uint(max_entries, THREADS_MAX);
} threads SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1); /* set before the map is created */
} records SEC(".maps");

/* The record that is made on a CPU, and the state of its walk. It is in a map because the kernel
 * checks a program for each combination of values on the stack, which takes much longer. */
struct walk {
    struct interpreter_stacks_record head;
    struct interpreter_walk_frame frames[INTERPRETER_STACKS_FRAMES];
    unsigned char bytes[2 * INTERPRETER_WALK_FRAME_BYTES]; /* of the frame being read */
    struct interpreter_walk p;
    uint64_t runtime, interpreter, state, pointer, frame;
    uint64_t stack_end; /* of an array of frames */
    uint64_t pc,
        stack;     /* CHAIN: what the frame executes; the stack pointer. CONTEXTS: what it
                           executes; the contexts */
    uint32_t left; /* contexts of the array */
    uint32_t count;
    bool failed, found, fresh;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __type(key, uint32_t);
    __type(value, struct walk);
    __uint(max_entries, 1);
} walks SEC(".maps");

/* Code objects that were seen: the process reads the name of a new one immediately. */
struct filter {
    uint64_t codes[FILTER_SIZE];
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __type(key, uint32_t);
    __type(value, struct filter);
    __uint(max_entries, 1);
} filters SEC(".maps");

/* Memory shared with the process that loads the program. */
struct interpreter_stacks_cpu cpus[INTERPRETER_STACKS_CPUS];

static __always_inline uint64_t read_u64(struct walk *w, uint64_t address)
{
    uint64_t value = 0;
    if (bpf_probe_read_user(&value, sizeof value, (const void *)address) != 0)
        w->failed = true;
    return value;
}

static __always_inline uint32_t read_u32(struct walk *w, uint64_t address)
{
    uint32_t value = 0;
    if (bpf_probe_read_user(&value, sizeof value, (const void *)address) != 0)
        w->failed = true;
    return value;
}

/* --- The thread --------------------------------------------------------------------- */

static __always_inline uint64_t innermost_frame(struct walk *w)
{
    uint64_t frame = read_u64(w, w->state + w->p.thread_frame);
    if (w->p.cframe_frame == INTERPRETER_WALK_ABSENT || frame == 0)
        return frame;
    if (w->p.form == INTERPRETER_WALK_ARRAY)
        w->stack_end = read_u64(w, frame) + read_u64(w, frame + 8) * 8;
    return read_u64(w, frame + w->p.cframe_frame);
}

/* The interpreter that a link refers to; 0: there is none. Ends of lists are links to their
 * heads. */
static __always_inline uint64_t linked_interpreter(const struct walk *w, uint64_t link)
{
    if (w->p.form != INTERPRETER_WALK_ARRAY || link == 0)
        return link;
    return link == w->runtime + w->p.runtime_interpreters ? 0
                                                          : link - w->p.interpreter_next;
}

static __always_inline bool is_end_of_threads(const struct walk *w)
{
    return w->state == 0 || (w->p.form == INTERPRETER_WALK_ARRAY &&
                             w->state == w->interpreter + w->p.interpreter_threads);
}

/* One step of the search: a thread, or the next interpreter. */
static long search(uint32_t step, struct walk **context)
{
    struct walk *w = *context;
    (void)step;
    if (w->failed)
        return 1;
    if (is_end_of_threads(w)) {
        w->interpreter =
            linked_interpreter(w, read_u64(w, w->interpreter + w->p.interpreter_next));
        if (w->failed || w->interpreter == 0)
            return 1;
        w->state = read_u64(w, w->interpreter + w->p.interpreter_threads);
        return 0;
    }
    if (read_u64(w, w->state + w->p.thread_pointer) == w->pointer) {
        w->frame = innermost_frame(w);
        if (w->frame && !w->failed) {
            w->found = true;
            return 1;
        }
    }
    w->state = read_u64(w, w->state + w->p.thread_next);
    return 0;
}

/* Finds the innermost frame of the current thread. */
static __always_inline bool find_thread(struct walk *w, uint32_t tid)
{
    if (w->p.form == INTERPRETER_WALK_SINGLE) {
        w->state = w->p.runtime;
        w->frame = tid == w->head.pid ? innermost_frame(w) : 0;
        return w->frame && !w->failed;
    }
    uint64_t *cached = bpf_map_lookup_elem(&threads, &tid);
    if (cached) {
        w->state = *cached;
        if (read_u64(w, w->state + w->p.thread_pointer) == w->pointer && !w->failed)
            w->frame = innermost_frame(w);
        if (w->frame && !w->failed)
            return true;
    }
    w->failed = false;
    w->frame = 0;
    w->runtime = w->p.runtime;
    if (w->p.form == INTERPRETER_WALK_ARRAY)
        w->runtime = read_u64(w, w->p.runtime);
    w->interpreter =
        linked_interpreter(w, read_u64(w, w->runtime + w->p.runtime_interpreters));
    w->state = 0;
    if (w->interpreter && !w->failed)
        w->state = read_u64(w, w->interpreter + w->p.interpreter_threads);
    if (w->interpreter && !w->failed)
        bpf_loop(STEPS_MAX, search, &w, 0);
    if (w->found) {
        uint64_t state = w->state;
        bpf_map_update_elem(&threads, &tid, &state, BPF_ANY);
    }
    return w->found;
}

/* --- Frames ------------------------------------------------------------------------- */

/* A field of the frame that was read. */
static __always_inline uint64_t field_u64(const struct walk *w, uint32_t offset)
{
    uint64_t value;
    __builtin_memcpy(&value, w->bytes + (offset & (INTERPRETER_WALK_FRAME_BYTES - 1)),
                     sizeof value);
    return value;
}

static __always_inline uint8_t field_u8(const struct walk *w, uint32_t offset)
{
    return w->bytes[offset & (INTERPRETER_WALK_FRAME_BYTES - 1)];
}

/* Whether a code object is new to this CPU. */
static __always_inline void look_up_code(struct walk *w, uint64_t code, uint32_t check)
{
    uint64_t key = code ^ (uint64_t)w->head.pid << 48 ^ (uint64_t)check << 16;
    uint64_t slot = (key * 0x9e3779b97f4a7c15ull) >> 52;
    uint32_t zero = 0;
    struct filter *filter = bpf_map_lookup_elem(&filters, &zero);
    if (!filter)
        return;
    uint64_t *seen = &filter->codes[slot & (FILTER_SIZE - 1)];
    if (*seen != key) {
        *seen = key;
        w->fresh = true;
    }
}

static __always_inline void make_frame(struct walk *w, struct interpreter_walk_frame *f)
{
    const struct interpreter_walk *p = &w->p;
    uint64_t code = field_u64(w, p->frame_code) & ~INTERPRETER_WALK_BITS;
    uint64_t instruction = field_u64(w, p->frame_instruction);
    *f = (struct interpreter_walk_frame){0};
    if (p->frame_owner != INTERPRETER_WALK_ABSENT &&
        field_u8(w, p->frame_owner) >= p->owner_native) {
        f->code = INTERPRETER_WALK_ENTRY | INTERPRETER_WALK_MARK;
        return;
    }
    f->code = code;
    f->instruction = (int32_t)instruction;
    uint32_t first_line = read_u32(w, code + p->code_first_line);
    f->check = interpreter_walk_check(read_u64(w, code + p->code_lines), first_line);
    if (p->code_start != INTERPRETER_WALK_ABSENT) {
        uint64_t offset = instruction - code - p->code_start;
        /* a copy of the code, or before the first instruction */
        f->instruction = offset + 64 < ((uint64_t)1 << 30) ? (int32_t)offset
                                                           : INTERPRETER_WALK_NOWHERE;
        if (p->frame_is_entry != INTERPRETER_WALK_ABSENT &&
            field_u8(w, p->frame_is_entry))
            f->code |= INTERPRETER_WALK_ENTRY;
    } else {
        f->code |= INTERPRETER_WALK_ENTRY;
    }
    look_up_code(w, code, f->check);
}

/* The method of a frame that executes one; 0 if it is not known. */
static __always_inline uint64_t method_of(struct walk *w, uint64_t environment)
{
    uint64_t method = read_u64(w, environment - INTERPRETER_WALK_METHOD);
    if (method == 0 || method & INTERPRETER_WALK_BITS)
        return 0;
    uint64_t object = read_u64(w, method) & INTERPRETER_WALK_OBJECT;
    if (object == INTERPRETER_WALK_OBJECT_VARIABLES) {
        method = read_u64(w, method + INTERPRETER_WALK_VARIABLES_METHOD);
        object = read_u64(w, method) & INTERPRETER_WALK_OBJECT;
    }
    return object == INTERPRETER_WALK_OBJECT_METHOD ? method & ~INTERPRETER_WALK_BITS : 0;
}

/* A frame of an array; false: there is none, or it is not readable. */
static __always_inline bool make_array_frame(struct walk *w,
                                             struct interpreter_walk_frame *f)
{
    const struct interpreter_walk *p = &w->p;
    uint64_t environment = field_u64(w, p->frame_environment);
    uint64_t flags = read_u64(w, environment), type = flags & INTERPRETER_WALK_TYPE;
    uint64_t code = field_u64(w, p->frame_code) & ~INTERPRETER_WALK_BITS;
    *f = (struct interpreter_walk_frame){.code = INTERPRETER_WALK_MARK,
                                         .instruction = INTERPRETER_WALK_NOWHERE};
    if (type == INTERPRETER_WALK_TYPE_NONE || w->failed)
        return false;
    if (flags & INTERPRETER_WALK_NATIVE && type != INTERPRETER_WALK_TYPE_METHOD)
        return true;
    if (flags & INTERPRETER_WALK_NATIVE) {
        code =
            read_u64(w, environment - INTERPRETER_WALK_METHOD) & ~INTERPRETER_WALK_BITS;
        f->check = interpreter_walk_check(read_u64(w, code + p->method_owner),
                                          (uint32_t)read_u64(w, code + p->method_name));
        f->code = code | INTERPRETER_WALK_CALLEE;
    } else {
        uint64_t body = read_u64(w, code + p->code_body);
        uint64_t start = read_u64(w, body + p->code_start);
        f->check = interpreter_walk_check(
            start, (uint32_t)read_u64(w, body + p->code_first_line));
        f->instruction =
            interpreter_walk_index(field_u64(w, p->frame_instruction), start);
        uint64_t method =
            type == INTERPRETER_WALK_TYPE_CODE ? method_of(w, environment) : 0;
        code = method ? method : code;
        f->code = code | (flags & INTERPRETER_WALK_FINISH ? INTERPRETER_WALK_ENTRY : 0);
    }
    look_up_code(w, code, f->check);
    return !w->failed;
}

/* Makes a frame, and sets where the next one is. */
static __always_inline bool step_array(struct walk *w, struct interpreter_walk_frame *f)
{
    uint64_t next = w->frame + w->p.frame_stride;
    bool is_frame = make_array_frame(w, f);
    w->frame = is_frame && next < w->stack_end ? next : 0;
    return is_frame;
}

/* Makes a frame of a runtime with one thread. A frame without code is only a mark. */
static __always_inline void make_single_frame(struct walk *w,
                                              struct interpreter_walk_frame *f)
{
    const struct interpreter_walk *p = &w->p;
    uint64_t code = field_u64(w, p->frame_code) & ~INTERPRETER_WALK_BITS;
    uint64_t instruction = field_u64(w, p->frame_instruction);
    uint32_t line = 0, first_line = 0;
    uint8_t type = 0;
    *f = (struct interpreter_walk_frame){.code = INTERPRETER_WALK_MARK,
                                         .instruction = INTERPRETER_WALK_NOWHERE};
    if (code == 0)
        return;
    if (bpf_probe_read_user(&type, sizeof type, (const void *)code) != 0 ||
        bpf_probe_read_user(&first_line, sizeof first_line,
                            (const void *)(code + p->code_first_line)) != 0)
        w->failed = true;
    f->check = interpreter_walk_check(read_u64(w, code + p->code_lines), first_line);
    f->code = code;
    if (type == p->type_native) {
        f->code |= INTERPRETER_WALK_CALLEE;
    } else {
        if (bpf_probe_read_user(&line, sizeof line,
                                (const void *)(instruction + p->instruction_line)) == 0)
            f->instruction = (int32_t)line;
        if ((uint32_t)field_u64(w, p->frame_flags) & p->flag_entry)
            f->code |= INTERPRETER_WALK_ENTRY;
    }
    look_up_code(w, code, f->check);
}

/* --- Frames of the native stack ------------------------------------------------------- */

#define CHAIN_STEPS 8192 /* native frames, too */

/* Memory that may be anything; 0 if it is not readable. */
static __always_inline uint64_t peek_u64(uint64_t address)
{
    uint64_t value = 0;
    bpf_probe_read_user(&value, sizeof value, (const void *)address);
    return value;
}

/* Whether a value is a pointer to an object of that type. */
static __always_inline bool is_of_type(const struct walk *w, uint64_t object,
                                       uint32_t type)
{
    uint16_t found = 0;
    if (!(object & INTERPRETER_WALK_OBJECT_TAG))
        return false;
    uint64_t map = peek_u64(object - INTERPRETER_WALK_OBJECT_TAG);
    return map & INTERPRETER_WALK_OBJECT_TAG &&
           bpf_probe_read_user(&found, sizeof found,
                               (const void *)(map + w->p.map_type)) == 0 &&
           found == type;
}

/* The code object of a frame; 0 if the frame is not that of a function. */
static __always_inline uint64_t function_of(const struct walk *w)
{
    uint64_t function = field_u64(w, w->p.frame_code);
    uint64_t context = field_u64(w, w->p.frame_environment);
    if (!(function & context & INTERPRETER_WALK_OBJECT_TAG))
        return 0;
    uint64_t code = peek_u64(function + w->p.code_body);
    return is_of_type(w, code, w->p.type_code) ? code : 0;
}

static __always_inline void make_chain_frame(struct walk *w, uint64_t code,
                                             struct interpreter_walk_frame *f)
{
    uint64_t instruction = field_u64(w, w->p.frame_instruction);
    bool is_interpreted =
        !(uint32_t)instruction &&
        is_of_type(w, field_u64(w, w->p.frame_bytecode), w->p.type_bytecode);
    uint32_t first_line = 0;
    bpf_probe_read_user(&first_line, sizeof first_line,
                        (const void *)(code + w->p.code_first_line));
    f->code = code & ~INTERPRETER_WALK_BITS;
    f->check = interpreter_walk_check(peek_u64(code + w->p.code_lines), first_line);
    f->instruction = is_interpreted ? (int32_t)(instruction >> 32)
                                    : (int32_t)(w->pc & INTERPRETER_WALK_PC_MASK);
    look_up_code(w, f->code, f->check);
    if (!is_interpreted)
        f->code |= INTERPRETER_WALK_COMPILED;
    if (!(peek_u64(code + w->p.code_data) & INTERPRETER_WALK_OBJECT_TAG))
        f->code |= INTERPRETER_WALK_CALLEE;
}

static long step_chain(uint32_t step, struct walk **context)
{
    struct walk *w = *context;
    uint32_t size = w->p.frame_size, n = w->count;
    (void)step;
    if (n >= INTERPRETER_STACKS_FRAMES - 1)
        return 1;
    if (size > INTERPRETER_WALK_FRAME_BYTES)
        size = INTERPRETER_WALK_FRAME_BYTES;
    if (bpf_probe_read_user(w->bytes, size,
                            (const void *)(w->frame - w->p.frame_before)) != 0) {
        w->frame = 0;
        return 1;
    }
    uint64_t code = function_of(w);
    if (code) {
        make_chain_frame(w, code, &w->frames[n]);
        w->frames[n + 1] = (struct interpreter_walk_frame){.code = w->pc};
        w->count = n + 2;
    }
    uint64_t caller = field_u64(w, w->p.frame_previous);
    w->pc = field_u64(w, w->p.frame_previous + 8);
    w->frame = interpreter_walk_is_caller(w->frame, caller) ? caller : 0;
    return w->frame == 0;
}

/* A word of the stack: if it is the frame pointer of a function, which native code has saved,
 * the walk starts there. */
static long search_chain(uint32_t step, struct walk **context)
{
    struct walk *w = *context;
    uint64_t at = w->stack + (uint64_t)step * 8, words[2];
    uint32_t size = w->p.frame_size;
    if (bpf_probe_read_user(words, sizeof words, (const void *)at) != 0)
        return 1;
    if (!interpreter_walk_is_caller(at, words[0]))
        return 0;
    if (size > INTERPRETER_WALK_FRAME_BYTES)
        size = INTERPRETER_WALK_FRAME_BYTES;
    if (bpf_probe_read_user(w->bytes, size,
                            (const void *)(words[0] - w->p.frame_before)) != 0 ||
        !function_of(w))
        return 0;
    w->frame = words[0];
    w->pc = words[1];
    w->found = true;
    return 1;
}

/* Walks the frames; those of threads that have executed functions are searched. */
static __always_inline void walk_chain(struct walk *w, uint32_t tid)
{
    uint64_t known = 1;
    bpf_loop(CHAIN_STEPS, step_chain, &w, 0);
    if (w->count) {
        if (!bpf_map_lookup_elem(&threads, &tid))
            bpf_map_update_elem(&threads, &tid, &known, BPF_ANY);
    } else if (bpf_map_lookup_elem(&threads, &tid)) {
        bpf_loop(INTERPRETER_WALK_SEARCH / 8, search_chain, &w, 0);
        if (w->found)
            bpf_loop(CHAIN_STEPS, step_chain, &w, 0);
    }
}

static long step_frame(uint32_t i, struct walk **context)
{
    struct walk *w = *context;
    uint32_t size = w->p.frame_size;
    if (i >= INTERPRETER_STACKS_FRAMES)
        return 1;
    if (size > INTERPRETER_WALK_FRAME_BYTES)
        size = INTERPRETER_WALK_FRAME_BYTES;
    if (bpf_probe_read_user(w->bytes, size, (const void *)w->frame) != 0) {
        w->failed = true;
        return 1;
    }
    if (w->p.form == INTERPRETER_WALK_ARRAY) {
        w->count = i;
        if (step_array(w, &w->frames[i]))
            w->count = i + 1;
        return w->frame == 0;
    }
    if (w->p.form == INTERPRETER_WALK_SINGLE)
        make_single_frame(w, &w->frames[i]);
    else
        make_frame(w, &w->frames[i]);
    if (w->failed)
        return 1;
    w->count = i + 1;
    w->frame = field_u64(w, w->p.frame_previous);
    return w->frame == 0;
}

/* --- Contexts ----------------------------------------------------------------------- */

#define CONTEXT_STEPS 8192 /* blocks and loops, too */

/* Begins with an array of contexts. */
static __always_inline void enter_contexts(struct walk *w, uint64_t array)
{
    int32_t last = (int32_t)read_u32(w, array + INTERPRETER_WALK_CONTEXTS_LAST);
    w->frame = array;
    w->stack = read_u64(w, array + INTERPRETER_WALK_CONTEXTS_FIRST);
    w->left = last < 0 ? 0 : (uint32_t)last + 1;
}

/* Code without a code object: of the program, a text or a file. */
static __always_inline void make_file_frame(struct walk *w, uint32_t kind,
                                            struct interpreter_walk_frame *f)
{
    f->code = read_u64(w, w->pc + w->p.instruction_file) & ~INTERPRETER_WALK_BITS;
    f->instruction |= (int32_t)kind;
    f->check = 0;
}

static __always_inline void make_context_frame(struct walk *w,
                                               struct interpreter_walk_frame *f)
{
    uint64_t code = field_u64(w, w->p.frame_code), body = read_u64(w, code);
    f->code = code & ~INTERPRETER_WALK_BITS;
    f->check = interpreter_walk_check(read_u64(w, body + w->p.code_lines),
                                      read_u32(w, body + w->p.code_first_line));
}

/* The next context: a function, or a block that is not a frame. */
static long step_contexts(uint32_t step, struct walk **context)
{
    struct walk *w = *context;
    uint32_t n = w->count, size = w->p.frame_size;
    (void)step;
    if (n >= INTERPRETER_STACKS_FRAMES || w->failed)
        return 1;
    struct interpreter_walk_frame *f = &w->frames[n];
    f->instruction =
        (int32_t)(read_u32(w, w->pc + w->p.instruction_line) & INTERPRETER_WALK_LINES);
    if (w->left == 0) {
        uint64_t caller = read_u64(w, w->frame + INTERPRETER_WALK_CONTEXTS_CALLER);
        if (caller) {
            enter_contexts(w, caller);
            return 0;
        }
        make_file_frame(w, INTERPRETER_WALK_MAIN, f);
        f->code |= INTERPRETER_WALK_ENTRY;
        look_up_code(w, f->code, f->check);
        w->count = n + 1;
        w->frame = 0;
        return 1;
    }
    w->left--;
    if (size > INTERPRETER_WALK_FRAME_BYTES)
        size = INTERPRETER_WALK_FRAME_BYTES;
    if (bpf_probe_read_user(
            w->bytes, size,
            (const void *)(w->stack + (uint64_t)w->left * w->p.frame_stride)) != 0) {
        w->failed = true;
        return 1;
    }
    int type = interpreter_walk_context(w->bytes[0]);
    if (type < 0)
        return 0;
    if (type == INTERPRETER_WALK_CONTEXT_SORT)
        *f = (struct interpreter_walk_frame){.code = INTERPRETER_WALK_MARK |
                                                     INTERPRETER_WALK_ENTRY};
    else if (type == INTERPRETER_WALK_CONTEXT_EVAL)
        make_file_frame(w, INTERPRETER_WALK_EVAL, f);
    else
        make_context_frame(w, f);
    /* an innermost context that is being made has a former function, which may be freed */
    if (w->failed && n == 0) {
        w->failed = false;
        return 0;
    }
    if (type != INTERPRETER_WALK_CONTEXT_SORT) {
        w->pc = field_u64(w, w->p.frame_instruction);
        if (field_u64(w, INTERPRETER_WALK_CONTEXT_RETURN) == 0)
            f->code |= INTERPRETER_WALK_ENTRY;
        look_up_code(w, f->code, f->check);
    }
    w->count = n + 1;
    return 0;
}

static __always_inline void walk_contexts(struct walk *w)
{
    w->pc = read_u64(w, w->p.runtime + w->p.thread_instruction);
    enter_contexts(w, read_u64(w, w->p.runtime + w->p.thread_frame));
    if (w->frame && !w->failed)
        bpf_loop(CONTEXT_STEPS, step_contexts, &w, 0);
}

/* --- Records ------------------------------------------------------------------------ */

static __always_inline void write(struct walk *w, uint64_t flags)
{
    uint32_t number = w->head.cpu, count = w->count;
    if (count > INTERPRETER_STACKS_FRAMES)
        count = INTERPRETER_STACKS_FRAMES;
    w->head.count = count;
    w->head.time = bpf_ktime_get_ns();
    if (bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) > wake_bytes)
        flags = BPF_RB_FORCE_WAKEUP;
    if (bpf_ringbuf_output(&records, w, sizeof w->head + count * sizeof w->frames[0],
                           flags) != 0 &&
        number < INTERPRETER_STACKS_CPUS)
        cpus[number].lost++;
}

/* A process that is not known, or was not recognised some time ago. */
static __always_inline void announce(struct walk *w, uint64_t memory, uint64_t now)
{
    struct interpreter_stacks_process p = {.memory = memory, .retry = now + RETRY_FIRST};
    bpf_map_update_elem(&processes, &w->head.pid, &p, BPF_ANY);
    w->head.kind = INTERPRETER_STACKS_ANNOUNCE;
    w->head.end = 0;
    w->count = 0;
    write(w, BPF_RB_FORCE_WAKEUP);
}

static __always_inline void walk(struct walk *w, uint32_t tid)
{
    w->head.kind = INTERPRETER_STACKS_STACK;
    w->head.end = INTERPRETER_STACKS_WHOLE;
    if (w->p.form == INTERPRETER_WALK_CHAIN) {
        walk_chain(w, tid);
        if (w->frame)
            w->head.end = INTERPRETER_STACKS_TRUNCATED;
    } else if (w->p.form == INTERPRETER_WALK_CONTEXTS && tid == w->head.pid) {
        walk_contexts(w);
        if (w->failed)
            w->head.end = INTERPRETER_STACKS_TORN;
        else if (w->frame)
            w->head.end = INTERPRETER_STACKS_TRUNCATED;
    } else if (w->p.form != INTERPRETER_WALK_CONTEXTS && find_thread(w, tid)) {
        bpf_loop(INTERPRETER_STACKS_FRAMES, step_frame, &w, 0);
        if (w->failed)
            w->head.end = INTERPRETER_STACKS_TORN;
        else if (w->frame)
            w->head.end = INTERPRETER_STACKS_TRUNCATED;
    } else {
        w->head.end = INTERPRETER_STACKS_NO_THREAD;
    }
    write(w, w->fresh ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

/* A field of the current task, as a number; 0 if it is not readable. */
static __always_inline uint64_t task_field(uint32_t offset)
{
    uint64_t value = 0;
    bpf_probe_read_kernel(&value, sizeof value,
                          (const char *)bpf_get_current_task() + offset);
    return value;
}

/* The registers of the program, also if the kernel works for it. */
static __always_inline void start_chain(struct walk *w, struct bpf_perf_event_data *ctx)
{
    struct pt_regs user = {0};
    w->pc = PT_REGS_IP(&ctx->regs);
    w->frame = PT_REGS_FP(&ctx->regs);
    w->stack = PT_REGS_SP(&ctx->regs);
    if ((int64_t)w->pc >= 0)
        return;
    const void *task_registers =
        (const void *)bpf_task_pt_regs(bpf_get_current_task_btf());
    bpf_probe_read_kernel(&user, sizeof user, task_registers);
    w->pc = PT_REGS_IP(&user);
    w->frame = PT_REGS_FP(&user);
    w->stack = PT_REGS_SP(&user);
}

SEC("perf_event")
int walk_interpreter(struct bpf_perf_event_data *ctx)
{
    uint64_t both = bpf_get_current_pid_tgid(), now = bpf_ktime_get_ns();
    uint32_t zero = 0, pid = (uint32_t)(both >> 32), tid = (uint32_t)both;
    uint64_t memory = task_field(kernel.task_memory);
    struct walk *w = bpf_map_lookup_elem(&walks, &zero);
    if (!w || !memory || !pid)
        return 1; /* the sample is written */
    w->count = 0;
    w->frame = 0;
    w->failed = w->found = w->fresh = false;
    w->head.cpu = bpf_get_smp_processor_id();
    w->head.pid = pid;
    w->head.tid = tid;
    w->head.ip = PT_REGS_IP(&ctx->regs);
    w->head.memory = memory;
    struct interpreter_stacks_process *p = bpf_map_lookup_elem(&processes, &pid);
    if (p && !p->memory)
        p->memory = memory; /* known before its first sample */
    if (announce_second && (!p || p->memory != memory)) {
        struct interpreter_stacks_process first = {.memory = memory};
        bpf_map_update_elem(&processes, &pid, &first, BPF_ANY);
        return 1;
    }
    if (!p || p->memory != memory ||
        (p->state == INTERPRETER_STACKS_UNKNOWN && now >= p->retry)) {
        announce(w, memory, now);
        return 1;
    }
    if (p->state != INTERPRETER_STACKS_KNOWN)
        return 1;
    w->p = p->walk;
    w->pointer = task_field(kernel.task_thread_pointer);
    if (w->p.form == INTERPRETER_WALK_CHAIN)
        start_chain(w, ctx);
    walk(w, tid);
    return 1;
}

char program_license[] SEC("license") = "GPL"; /* bpf_probe_read_user requires it */
