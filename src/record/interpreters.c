/* SPDX-License-Identifier: Apache-2.0 */
#include "record/interpreters.h"
#include "base/array.h"
#include "base/format.h"
#include "base/hash.h"
#include "os/machine.h"
#include "os/process_probe.h"
#include "os/timer.h"
#include "perf/interpreted.h"
#include "record/event_source.h"
#include <sys/mman.h>

#define MS ((uint64_t)1000000)

/* A process without an interpreter may load one later, as a part of its start or much later:
 * how long the kernel waits until it announces the process again. It is searched again only if it
 * mapped a file since then. */
static const uint64_t retries[] = {10 * MS, 40 * MS, 250 * MS, 2000 * MS};
#define RETRIES (sizeof retries / sizeof *retries)

/* Until the next search while samples arrive faster than they are read. */
#define RETRY_BUSY (250 * MS)

/* Stacks that wait for their samples: more only if samples are lost. */
#define QUEUE_MAX 65536

/* Between the time of a sample and that of its stack, ns. The thread and the instruction must
 * be the same, too. */
#define DISTANCE_MAX MS

/* The age of a sample whose stack is read from outside, ns. */
#define AGE_MAX (5 * MS)

/* Names that are cached for one process. */
#define FRAMES_MAX ((size_t)1 << 20)

/* A stack that was read. A frame is its address in the recording and bits of
 * interpreter_walk.h, which fit below the line. */
struct walked {
    uint64_t time, ip;
    uint32_t pid, tid, end, count;
    uint64_t *pcs; /* of the frames, if they are native frames; or NULL */
    uint64_t frames[];
};

/* The stacks of a CPU, in the order of time. */
struct interpreters_queue {
    struct walked **items;
    size_t first, count, cap; /* items[first .. count) */
};

struct interpreters_process {
    uint64_t memory; /* identifies the address space; 0: not known yet */
    uint64_t number; /* differs between all processes of the recording */
    bool is_sampled; /* not only as the waker of a target */
    bool is_changed; /* the next search may find more than the last one */
    unsigned attempts;
    uint64_t retry;                  /* search the runtime again after this time, ns */
    struct interpreter_walk walk;    /* if there is a runtime */
    struct process_runtime *runtime; /* NULL: none is known */
    char refused[160];               /* why it is not read; or empty */
    struct interpreters_counts counts;
    struct arena arena;
    struct idmap frames; /* addresses by a hash of what the kernel found */
    struct arena given_arena;
    struct idmap given; /* functions whose mappings are in the recording */
};

/* --- Processes ---------------------------------------------------------------------- */

/* Whether there is something to report: samples of a target that has an interpreter. */
static bool is_reported(const struct interpreters_process *p)
{
    const struct interpreters_counts *n = &p->counts;
    return p->is_sampled && (p->runtime || p->refused[0]) &&
           n->merged + n->torn + n->missing > 0;
}

/* Writes a line about the process. */
static void put_process(const struct record_interpreters *s,
                        const struct interpreters_process *p, uint32_t pid,
                        struct output *out)
{
    const struct interpreters_counts *n = &p->counts;
    const struct interpreter_runtime *r = p->runtime ? &p->runtime->runtime : NULL;
    if (!r) {
        output_format(out, "process %u is not read: %s\n", pid, p->refused);
        return;
    }
    output_format(
        out,
        "%s %s, process %u, offsets: %s; samples: %llu with its functions, %llu "
        "of them doubtful and %llu truncated, %llu torn, %llu without",
        r->interpreter->title, r->version, pid, r->offsets, (unsigned long long)n->merged,
        (unsigned long long)n->doubtful, (unsigned long long)n->truncated,
        (unsigned long long)n->torn, (unsigned long long)n->missing);
    if (s->reads)
        output_format(out, " (%llu read too late); read from outside: %s",
                      (unsigned long long)n->late, s->why.message);
    if (s->by_frame_pointers && 2 * n->doubtful > n->merged)
        output_str(out, STR("; its native code has no frame pointers: -g dwarf records "
                            "whole stacks"));
    output_char(out, '\n');
}

void record_interpreters_put(const struct record_interpreters *s, struct output *out)
{
    output_str(out, output_contents(&s->ended));
    for (uint32_t pid = 0; pid < s->pid_end; pid++)
        if (s->processes[pid] && is_reported(s->processes[pid]))
            put_process(s, s->processes[pid], pid, out);
    if (s->ended_count > INTERPRETERS_ENDED)
        output_format(out, "%zu more processes\n", s->ended_count - INTERPRETERS_ENDED);
}

static void forget_process(struct record_interpreters *s, uint32_t pid)
{
    struct interpreters_process *p = pid < s->pid_limit ? s->processes[pid] : NULL;
    if (!p)
        return;
    if (is_reported(p) && s->ended_count++ < INTERPRETERS_ENDED)
        put_process(s, p, pid, &s->ended);
    s->readable -= p->runtime != NULL;
    process_runtime_destroy(p->runtime);
    arena_deinit(&p->arena);
    arena_deinit(&p->given_arena);
    free(p);
    s->processes[pid] = NULL;
}

/* The functions of a process must be in the recording again: a new file has begun, or a
 * new program. */
static void give_again(struct record_interpreters *s, uint32_t pid)
{
    struct interpreters_process *p = pid < s->pid_limit ? s->processes[pid] : NULL;
    if (!p)
        return;
    arena_deinit(&p->given_arena);
    p->given = (struct idmap){0};
}

/* The process with that address space; NULL if out of memory. */
static struct interpreters_process *process_of(struct record_interpreters *s,
                                               uint32_t pid, uint64_t memory)
{
    if (pid >= s->pid_limit)
        return NULL;
    if (s->processes[pid] && s->processes[pid]->memory == 0)
        s->processes[pid]->memory = memory;
    if (s->processes[pid] && s->processes[pid]->memory != memory)
        forget_process(s, pid);
    if (!s->processes[pid]) {
        s->processes[pid] = calloc(1, sizeof *s->processes[pid]);
        if (s->processes[pid])
            *s->processes[pid] =
                (struct interpreters_process){.memory = memory, .number = ++s->created};
        s->pid_end = pid >= s->pid_end ? pid + 1 : s->pid_end;
    }
    return s->processes[pid];
}

/* Searches for the interpreter of a process. */
static void search_runtime(struct record_interpreters *s, struct interpreters_process *p,
                           uint32_t pid)
{
    p->retry = UINT64_MAX;
    p->is_changed =
        s->of_cpus; /* mappings of its threads on other CPUs are not recorded */
    p->runtime = process_runtime_create(pid, s->only, &s->runtimes);
    struct interpreter_runtime *r = p->runtime ? &p->runtime->runtime : NULL;
    if (r && r->interpreter && r->interpreter->layout(r, &p->walk)) {
        s->readable++;
        return;
    }
    const struct process_runtime *none = p->runtime;
    p->is_changed |= !none || none->is_starting || none->module_count == 0;
    if (none && none->refused.message[0])
        format_text(p->refused, sizeof p->refused, "%s", none->refused.message);
    process_runtime_destroy(p->runtime);
    p->runtime = NULL;
}

/* Searches if the result may differ from the last one. Without an interpreter, sets when to try
 * again. A search reads the mappings of the process, whose lock a thread without CPU time may
 * hold: samples that arrive meanwhile must not be lost because of that. If many threads wait for
 * CPUs, it hurries, so that the process has little time to lock them again. */
static void try_runtime(struct record_interpreters *s, struct interpreters_process *p,
                        uint32_t pid)
{
    if ((s->copier && ring_copier_is_filling(s->copier)) ||
        !os_process_probe_answers(s->probe, pid)) {
        p->retry = os_clock_monotonic() + RETRY_BUSY;
        return;
    }
    if (p->attempts == 0 || p->is_changed) {
        bool hurries = s->copier && os_is_crowded();
        if (hurries)
            ring_copier_hurry(s->copier, true);
        search_runtime(s, p, pid);
        if (hurries)
            ring_copier_hurry(s->copier, false);
    }
    if (p->runtime)
        return;
    p->retry = !p->refused[0] && p->attempts < RETRIES
                   ? os_clock_monotonic() + retries[p->attempts++]
                   : UINT64_MAX;
}

/* Searches for the interpreter of a process, and passes its layout to the kernel. */
static void find_runtime(struct record_interpreters *s, uint32_t pid, uint64_t memory)
{
    struct interpreters_process *p = process_of(s, pid, memory);
    if (!p)
        return;
    if (!p->runtime)
        try_runtime(s, p, pid);
    struct interpreter_stacks_process known = {.memory = memory, .retry = p->retry};
    if (p->runtime) {
        known.state = INTERPRETER_STACKS_KNOWN;
        known.walk = p->walk;
    }
    if (!s->reads)
        os_interpreter_stacks_set(&s->stacks, pid, &known);
}

/* A process executes another program. The kernel notices this by the address space. */
static void begin_program(struct record_interpreters *s, uint32_t pid)
{
    struct interpreters_process *p = pid < s->pid_limit ? s->processes[pid] : NULL;
    struct interpreter_stacks_process unknown = {0};
    if (!p || p->memory)
        return;
    forget_process(s, pid);
    if (!s->reads)
        os_interpreter_stacks_set(&s->stacks, pid, &unknown);
}

static bool names_interpreter(struct str path)
{
    for (size_t i = 0; interpreters[i]; i++)
        if (str_has(str_basename(path), str_of(interpreters[i]->file)))
            return true;
    return false;
}

/* A process maps an interpreter: before its first sample, or later than it was searched. */
static void search_mapped(struct record_interpreters *s, uint32_t pid)
{
    struct interpreters_process *p = pid < s->pid_limit ? s->processes[pid] : NULL;
    if (p && p->runtime)
        return;
    if (p)
        p->attempts = 0;
    find_runtime(s, pid, p ? p->memory : 0);
}

static void note_mapping(struct record_interpreters *s, const struct record *r)
{
    uint32_t pid = record_u32(r->bytes, RECORD_MMAP_PID);
    struct interpreters_process *p = pid < s->pid_limit ? s->processes[pid] : NULL;
    if (p)
        p->is_changed = true;
    if (names_interpreter(record_mmap_path(s->layout, r)))
        search_mapped(s, pid);
}

/* --- Names -------------------------------------------------------------------------- */

/* The number of a function; 0 if out of memory. */
static uint32_t function_of(struct record_interpreters *s, const char *language,
                            const struct interpreter_frame *f)
{
    struct output path = OUTPUT_BUFFER;
    uint32_t number = 0;
    if (perf_interpreted_path(&path, language, f->file, f->function) &&
        s->paths.count < PERF_INTERPRETED_MAX)
        number = strings_add(&s->paths, output_contents(&path));
    output_deinit(&path);
    return number;
}

/* The address of a frame in the recording. */
static uint64_t address_of(struct record_interpreters *s, struct interpreters_process *p,
                           const struct interpreter_walk_frame *walked)
{
    struct interpreter_runtime *r = &p->runtime->runtime;
    struct interpreter_frame f;
    uint64_t key =
        hash_mix(walked->code ^ HASH_A,
                 (uint64_t)(uint32_t)walked->instruction << 32 | walked->check);
    if (p->frames.count > FRAMES_MAX) {
        arena_deinit(&p->arena);
        p->frames = (struct idmap){0};
    }
    uint64_t *known = idmap_put(&p->frames, &p->arena, key);
    if (known && *known)
        return *known;
    bool described = r->interpreter->describe(r, walked, &f);
    if (!described)
        f = (struct interpreter_frame){.function = STR("[code that was freed]"),
                                       .file = STR("")};
    uint64_t address =
        perf_interpreted_address(function_of(s, r->interpreter->name, &f), f.line);
    if (known && described) /* the next sample may succeed */
        *known = address;
    return address;
}

/* --- Stacks ------------------------------------------------------------------------- */

static void add_walked(struct record_interpreters *s, struct walked *w, uint32_t cpu)
{
    struct interpreters_queue *q = &s->queues[cpu];
    if (q->first == q->count)
        q->first = q->count = 0;
    if (q->count >= QUEUE_MAX || !ARRAY_RESERVE_HEAP(q->items, q->cap, q->count + 1)) {
        free(w);
        return;
    }
    q->items[q->count++] = w;
}

/* A stack with room for its frames; NULL if out of memory. `elements` are those of the
 * walk. */
static struct walked *new_walked(const struct interpreters_process *p, uint32_t elements,
                                 uint32_t end)
{
    bool is_chain = p->walk.form == INTERPRETER_WALK_CHAIN;
    uint32_t count = is_chain ? elements / 2 : elements;
    struct walked *w = malloc(sizeof *w + elements * sizeof *w->frames);
    if (w)
        *w = (struct walked){
            .end = end, .count = count, .pcs = is_chain ? w->frames + count : NULL};
    return w;
}

/* Names the frames. */
static void fill_walked(struct record_interpreters *s, struct interpreters_process *p,
                        struct walked *w, const struct interpreter_walk_frame *frames)
{
    for (uint32_t i = 0; w->pcs && i < w->count; i++) {
        const struct interpreter_walk_frame *f = &frames[2 * (size_t)i];
        w->frames[i] = address_of(s, p, f) | (f->code & INTERPRETER_WALK_CALLEE);
        w->pcs[i] = f[1].code;
    }
    for (uint32_t i = 0; !w->pcs && i < w->count; i++) {
        uint64_t bits = frames[i].code & INTERPRETER_WALK_BITS;
        w->frames[i] =
            bits & INTERPRETER_WALK_MARK ? bits : address_of(s, p, &frames[i]) | bits;
    }
}

static void take_stack(struct record_interpreters *s,
                       const struct interpreter_stacks_record *r,
                       const struct interpreter_walk_frame *frames)
{
    struct interpreters_process *p = process_of(s, r->pid, r->memory);
    if (p && !p->runtime)
        find_runtime(s, r->pid, r->memory);
    if (!p || !p->runtime || r->cpu >= s->cpu_count)
        return;
    struct walked *w = new_walked(p, r->count, r->end);
    if (!w)
        return;
    w->time = r->time;
    w->ip = r->ip;
    w->pid = r->pid;
    w->tid = r->tid;
    fill_walked(s, p, w, frames);
    add_walked(s, w, r->cpu);
}

/* Where this process reads: the process of a sample; NULL if it has no interpreter. */
static struct interpreters_process *readable_process(struct record_interpreters *s,
                                                     uint32_t pid)
{
    struct interpreters_process *p = pid ? process_of(s, pid, 0) : NULL;
    if (p && !p->runtime && os_clock_monotonic() >= p->retry)
        find_runtime(s, pid, 0);
    record_stack_reading_activate(&s->reading, s->readable > 0);
    return p;
}

/* Reads the stack of a sample; NULL if that is not possible. */
static struct walked *read_walked(struct record_interpreters *s,
                                  struct interpreters_process *p, const struct record *r)
{
    enum interpreter_end end;
    if (os_clock_monotonic() > r->time + AGE_MAX) {
        p->counts.late++;
        return NULL;
    }
    if (p->walk.form == INTERPRETER_WALK_CHAIN && !r->job)
        return NULL;
    if (p->walk.form == INTERPRETER_WALK_CHAIN)
        record_stack_reading_chain(&s->reading, &p->runtime->runtime, &p->walk, r->job,
                                   &end);
    else if (!record_stack_reading_read(&s->reading, &p->runtime->runtime, &p->walk,
                                        record_tid(s->layout, r), &end))
        return NULL;
    struct walked *w =
        new_walked(p, (uint32_t)s->reading.count,
                   end == INTERPRETER_TORN        ? INTERPRETER_STACKS_TORN
                   : end == INTERPRETER_TRUNCATED ? INTERPRETER_STACKS_TRUNCATED
                                                  : INTERPRETER_STACKS_WHOLE);
    if (w)
        fill_walked(s, p, w, s->reading.frames);
    return w;
}

static void take_record(void *context, const struct interpreter_stacks_record *r,
                        const struct interpreter_walk_frame *frames)
{
    if (r->kind == INTERPRETER_STACKS_ANNOUNCE)
        find_runtime(context, r->pid, r->memory);
    else
        take_stack(context, r, frames);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static bool belongs(const struct record_interpreters *s, const struct walked *w,
                    const struct record *r)
{
    return w->tid == record_tid(s->layout, r) && w->pid == record_pid(s->layout, r) &&
           w->ip == record_u64(r->bytes, s->layout->ip) &&
           distance(w->time, r->time) < DISTANCE_MAX;
}

/* Removes the stack that belongs to a sample, with those before it, whose samples were lost;
 * NULL if there is none. Whether the time of a sample is before that of its stack or after it
 * depends on the kernel. */
static struct walked *take_walked(struct interpreters_queue *q,
                                  const struct record_interpreters *s,
                                  const struct record *r)
{
    size_t nearest = q->count;
    for (size_t i = q->first; i < q->count && q->items[i]->time < r->time + DISTANCE_MAX;
         i++)
        if (belongs(s, q->items[i], r) &&
            (nearest == q->count || distance(q->items[i]->time, r->time) <
                                        distance(q->items[nearest]->time, r->time)))
            nearest = i;
    if (nearest == q->count)
        return NULL;
    while (q->first < nearest)
        free(q->items[q->first++]);
    return q->items[q->first++];
}

/* Removes the stacks before that time. */
static void drop_walked(struct interpreters_queue *q, uint64_t time)
{
    while (q->first < q->count && q->items[q->first]->time < time)
        free(q->items[q->first++]);
}

/* The stack of a sample; NULL if there is none. */
static struct walked *find_walked(struct record_interpreters *s, const struct record *r)
{
    uint32_t cpu = record_u32(r->bytes, s->layout->cpu);
    struct interpreters_queue *q = cpu < s->cpu_count ? &s->queues[cpu] : NULL;
    struct walked *w = q ? take_walked(q, s, r) : NULL;
    if (w || !q)
        return w;
    os_interpreter_stacks_read(&s->stacks); /* it may have come after the last read */
    w = take_walked(q, s, r);
    if (r->time > DISTANCE_MAX)
        drop_walked(q, r->time - DISTANCE_MAX);
    return w;
}

/* --- Merging ------------------------------------------------------------------------ */

/* A call chain in its parts. */
struct chain {
    struct str words;
    size_t user;    /* index of the marker of the user's part */
    size_t end;     /* index after its last address: markers follow */
    size_t natives; /* addresses in it */
};

static uint64_t word_at(struct str words, size_t i)
{
    return record_u64(words, i * 8);
}

static bool is_marker(uint64_t word)
{
    return word >= PERF_CONTEXT_MAX;
}

static bool parse_chain(const struct record_layout *l, const struct record *r,
                        struct chain *c)
{
    if (!(l->sample_type & PERF_SAMPLE_CALLCHAIN) || r->bytes.len < l->fixed_size + 8)
        return false;
    uint64_t count = record_u64(r->bytes, l->fixed_size);
    struct str rest = str_skip(r->bytes, l->fixed_size + 8);
    if (count > rest.len / 8)
        return false;
    *c = (struct chain){.words = str_head(rest, (size_t)count * 8)};
    while (c->user < count && word_at(c->words, c->user) != PERF_CONTEXT_USER)
        c->user++;
    c->end = (size_t)count;
    while (c->end > c->user + 1 && is_marker(word_at(c->words, c->end - 1)))
        c->end--;
    for (size_t i = c->user; i < c->end; i++)
        c->natives += !is_marker(word_at(c->words, i));
    return c->user < count;
}

static bool reserve(struct record_interpreters *s, size_t natives, size_t frames)
{
    struct arena *a = &s->scratch;
    return ARRAY_RESERVE(a, s->roles, s->role_cap, natives + 1) &&
           ARRAY_RESERVE(a, s->addresses, s->address_cap, natives + 1) &&
           ARRAY_RESERVE(a, s->pcs, s->pc_cap, natives + 1) &&
           ARRAY_RESERVE(a, s->merged, s->merged_cap, natives + frames + 1) &&
           ARRAY_RESERVE(a, s->stack.frames, s->stack.cap, frames + 1);
}

/* The roles of the native frames. `addresses` gets the index of each in the chain. */
static void find_roles(struct record_interpreters *s, struct process_runtime *runtime,
                       const struct chain *c)
{
    size_t n = 0;
    for (size_t i = c->user; i < c->end; i++) {
        uint64_t address = word_at(c->words, i);
        if (is_marker(address))
            continue;
        bool is_call = !is_marker(word_at(c->words, i - 1));
        s->roles[n] = process_runtime_role(runtime, address, is_call);
        s->addresses[n++] = i;
    }
    interpreter_settle(runtime->runtime.interpreter, s->roles, n);
}

/* The addresses of the native frames. */
static const uint64_t *native_pcs(struct record_interpreters *s, const struct chain *c)
{
    for (size_t i = 0; i < c->natives; i++)
        s->pcs[i] = word_at(c->words, (size_t)s->addresses[i]);
    return s->pcs;
}

static void fill_stack(struct record_interpreters *s, const struct walked *w)
{
    s->stack.count = w->count;
    s->stack.end =
        w->end == INTERPRETER_STACKS_WHOLE ? INTERPRETER_WHOLE : INTERPRETER_TRUNCATED;
    for (uint32_t i = 0; i < w->count; i++)
        s->stack.frames[i] = (struct interpreter_frame){
            .is_entry = w->pcs || w->frames[i] & INTERPRETER_WALK_ENTRY,
            .is_native = w->frames[i] & INTERPRETER_WALK_CALLEE,
            .is_hidden = w->frames[i] & INTERPRETER_WALK_MARK,
            .pc = w->pcs ? w->pcs[i] : 0,
        };
}

/* Gives the mapping of a function, unless the recording has it. */
static void give_function(struct record_interpreters *s, struct interpreters_process *p,
                          const struct record *sample, uint64_t address)
{
    uint64_t function = (address - PERF_INTERPRETED_BASE) / PERF_INTERPRETED_SIZE;
    uint64_t *given = idmap_put(&p->given, &p->given_arena, function);
    struct record_maker *m = &s->mapping;
    uint32_t pid = record_pid(s->layout, sample);
    if (!given || *given)
        return;
    *given = 1;
    record_begin(m, PERF_MMAP2, PERF_MODE_USER);
    record_put_u32(m, pid);
    record_put_u32(m, pid);
    record_put_u64(m, perf_interpreted_start(function));
    record_put_u64(m, PERF_INTERPRETED_SIZE);
    record_put_u64(m, 0);
    record_put_u64(m, 0); /* device, inode, generation: none */
    record_put_u64(m, 0);
    record_put_u64(m, 0);
    record_put_u32(m, PROT_READ | PROT_EXEC);
    record_put_u32(m, MAP_PRIVATE);
    record_put_text(m, strings_get(&s->paths, (string_id)function));
    struct record r = record_end(m, pid, pid, sample->time);
    record_pass(&s->next, &r);
}

/* Adds a native frame. A marker before it states that the address is not a return address. */
static void put_native(struct record_maker *m, const struct chain *c, size_t index)
{
    if (index > c->user + 1 && is_marker(word_at(c->words, index - 1)))
        record_put_u64(m, PERF_CONTEXT_USER);
    record_put_u64(m, word_at(c->words, index));
}

static void pass_merged(struct record_interpreters *s, const struct record *r,
                        const struct chain *c, const struct walked *w, size_t count)
{
    struct record_maker *m = &s->maker;
    size_t begin = s->layout->fixed_size, tail = begin + 8 + c->words.len;
    m->used = 0;
    record_put(m, r->bytes.ptr, begin + 8); /* the number of words is set below */
    record_put(m, c->words.ptr, (c->user + 1) * 8);
    for (size_t i = 0; i < count; i++) {
        if (s->merged[i].is_interpreted)
            record_put_u64(m, w->frames[s->merged[i].index] & ~INTERPRETER_WALK_BITS);
        else
            put_native(m, c, (size_t)s->addresses[s->merged[i].index]);
    }
    for (size_t i = c->end; i < c->words.len / 8; i++)
        record_put_u64(m, PERF_CONTEXT_USER);
    uint64_t words = (m->used - begin - 8) / 8;
    memcpy(m->bytes + begin, &words, sizeof words);
    record_put(m, r->bytes.ptr + tail, r->bytes.len - tail);
    struct record out = record_end_bare(m, r->time);
    record_pass(&s->next, &out);
}

/* Passes the sample on with both stacks; false if it has no chain, or if the thread has continued
 * since the sample. */
static bool merge(struct record_interpreters *s, struct interpreters_process *p,
                  const struct record *r, const struct walked *w)
{
    struct chain c;
    size_t count;
    if (!parse_chain(s->layout, r, &c) || !reserve(s, c.natives, w->count))
        return false;
    find_roles(s, p->runtime, &c);
    fill_stack(s, w);
    bool is_whole = c.end == c.words.len / 8;
    enum merge_result result =
        w->pcs ? interpreter_merge_chain(s->roles, native_pcs(s, &c), c.natives, is_whole,
                                         &s->stack, s->merged, &count)
               : interpreter_merge(p->runtime->runtime.interpreter, s->roles, c.natives,
                                   is_whole, &s->stack, s->merged, &count);
    if (s->reads && result == MERGE_DOUBTFUL) {
        p->counts.torn++;
        return false;
    }
    p->counts.merged++;
    s->in_jit += w->pcs && count && s->merged[0].is_interpreted;
    p->counts.doubtful += result == MERGE_DOUBTFUL;
    p->counts.truncated += w->end == INTERPRETER_STACKS_TRUNCATED;
    for (uint32_t i = 0; i < w->count; i++)
        if (!(w->frames[i] & INTERPRETER_WALK_MARK))
            give_function(s, p, r, w->frames[i]);
    pass_merged(s, r, &c, w, count);
    return true;
}

/* Merges the sample with the stack, if that can be used; false if it was not passed on. */
static bool take_both(struct record_interpreters *s, struct interpreters_process *p,
                      const struct record *r, const struct walked *w)
{
    bool torn = w && w->end == INTERPRETER_STACKS_TORN;
    if (w && w->pcs && !w->count) /* a thread that executes only native code */
        return false;
    bool usable = w && w->count && !torn && w->end != INTERPRETER_STACKS_NO_THREAD;
    p->counts.torn += torn;
    p->counts.missing += !usable && !torn;
    return usable && merge(s, p, r, w);
}

/* What is special about a counter. */
enum {
    COUNTER_OF_EVERYONE = 1, /* it also samples other threads than the targets */
    COUNTER_ALONE = 2,       /* the eBPF program does not run at its samples */
};

static uint64_t counter_of(const struct record_interpreters *s, const struct record *r)
{
    const uint64_t *known =
        s->counters.count ? idmap_find(&s->counters, record_u64(r->bytes, s->layout->id))
                          : NULL;
    return known ? *known : 0;
}

static void take_sample(struct record_interpreters *s, const struct record *r)
{
    uint32_t pid = record_pid(s->layout, r);
    struct interpreters_process *p = pid < s->pid_limit ? s->processes[pid] : NULL;
    uint64_t number = p ? p->number : 0, counter = counter_of(s, r);
    struct walked *w = NULL;
    /* A sample of a tracepoint is not unwound, so it overtakes samples that are. A search for
     * its stack would remove the interpreter's stacks of those. */
    bool alone = counter & COUNTER_ALONE && !s->reads;
    if (s->reads) {
        p = readable_process(s, pid);
        w = p && p->runtime ? read_walked(s, p, r) : NULL;
    } else if (p && p->runtime && !alone) {
        w = find_walked(s, r);
        p = s->processes[pid]; /* the search can replace it: another program runs */
        p = p && p->number == number ? p : NULL;
    }
    if (p && !(counter & COUNTER_OF_EVERYONE))
        p->is_sampled = true;
    if (!p || alone || !take_both(s, p, r, w))
        record_pass(&s->next, r);
    free(w);
}

/* --- The stage ---------------------------------------------------------------------- */

static void take(void *context, const struct record *r)
{
    struct record_interpreters *s = context;
    bool whole = r->bytes.len >= 24 + s->layout->trailer;
    if (r->type == PERF_SAMPLE) {
        take_sample(s, r);
        return;
    }
    if (r->type == PERF_MMAP2 && whole)
        note_mapping(s, r);
    if (r->type == PERF_COMM && whole && r->misc & PERF_MISC_COMM_EXEC)
        begin_program(s, record_u32(r->bytes, 8));
    if (r->type == PERF_COMM && whole)
        give_again(s, record_u32(r->bytes, 8));
    if (r->type == PERF_EXIT && whole &&
        record_u32(r->bytes, 8) == record_u32(r->bytes, 16))
        forget_process(s, record_u32(r->bytes, 8));
    record_pass(&s->next, r);
}

static void round_over(void *context)
{
    struct record_interpreters *s = context;
    s->next.round(s->next.context);
}

static bool stage(void *state, const struct record_layout *layout,
                  struct record_sink *next, struct error *err)
{
    struct record_interpreters *s = state;
    (void)err;
    s->layout = s->maker.layout = s->mapping.layout = layout;
    s->next = *next;
    for (uint32_t pid = 0; pid < s->pid_end; pid++)
        give_again(s, pid);
    *next = (struct record_sink){s, take, round_over};
    return true;
}

/* --- The event source --------------------------------------------------------------- */

/* For the stacks of about a second: more are read before it is full. */
#define STACK_BYTES ((uint64_t)8 << 10)
#define ROOM_LEAST ((uint32_t)256 << 10)
#define ROOM_MOST ((uint32_t)4 << 20)

static uint32_t room_for(const struct perf_sampler_settings *settings, uint32_t cpus)
{
    uint64_t needed = (uint64_t)settings->rate * cpus * STACK_BYTES;
    uint32_t room = settings->rate ? ROOM_LEAST : ROOM_MOST;
    while (room < needed && room < ROOM_MOST)
        room *= 2;
    return room;
}

static bool prepare(void *state, struct event_source_setup *setup, struct error *err)
{
    struct record_interpreters *s = state;
    enum record_stacks stacks = setup->sampler->stacks;
    if (setup->sampler->program)
        return error_set(err, "the kernel counts stacks");
    if (setup->keeps_dumps)
        return error_set(err, "stacks are unwound after the recording");
    if (stacks == RECORD_STACKS_NONE || stacks == RECORD_STACKS_LBR)
        return error_set(err, "the recording has no stacks of user code");
    *s = (struct record_interpreters){.pid_limit = os_pid_max(),
                                      .cpu_count = (uint32_t)os_cpus_possible(),
                                      .only = setup->request->interpreter,
                                      .probe = setup->probe,
                                      .by_frame_pointers = stacks == RECORD_STACKS_FP,
                                      .of_cpus = setup->sampler->targets.cpus != NULL,
                                      .ended = OUTPUT_BUFFER};
    runtimes_init(&s->runtimes, setup->request->interpreters_by_kernel);
    s->processes = calloc(s->pid_limit, sizeof(*s->processes));
    s->queues = calloc(s->cpu_count, sizeof *s->queues);
    if (!s->processes || !s->queues || !strings_init(&s->paths, &s->arena))
        return error_memory(err);
    s->reading.timer = -1;
    struct os_interpreter_stacks_settings settings = {
        .room = room_for(setup->sampler, s->cpu_count),
        .announce_second = setup->request->interpreters_by_kernel};
    if (os_interpreter_stacks_open(&s->stacks, &settings, take_record, s, &s->why)) {
        setup->sampler->observer = s->stacks.handle;
        return true;
    }
    if (setup->request->interpreters_by_kernel) {
        *err = s->why;
        return false;
    }
    s->reads = true;
    return record_stack_reading_open(&s->reading, err);
}

static void add_counter(struct record_interpreters *s, uint64_t id, uint64_t special)
{
    uint64_t *value = idmap_put(&s->counters, &s->arena, id);
    if (value)
        *value = special;
}

/* Finds the counters of wake-ups, which sample the threads that wake targets up, and of
 * tracepoints. */
static void opened(void *state, struct perf_sampler *sampler)
{
    struct record_interpreters *s = state;
    const struct record_events *events = &sampler->settings->events;
    size_t room = sampler->counter_count;
    s->copier = &sampler->copier;
    uint64_t *ids = malloc((room + 1) * sizeof *ids);
    for (size_t i = 1; ids && i < events->count; i++) {
        const struct record_event *e = &events->items[i];
        bool other = e->of_everyone && !sampler->settings->targets.everyone;
        uint64_t special = (other ? COUNTER_OF_EVERYONE : 0) |
                           (e->type == PERF_TYPE_TRACEPOINT ? COUNTER_ALONE : 0);
        if (!special)
            continue;
        size_t count = perf_sampler_ids(sampler, i, ids, room);
        for (size_t k = 0; k < count; k++)
            add_counter(s, ids[k], special);
    }
    free(ids);
}

static int descriptor(const void *state)
{
    const struct record_interpreters *s = state;
    return s->reads ? s->reading.timer : s->stacks.records;
}

static void wake(void *state)
{
    struct record_interpreters *s = state;
    if (s->reads)
        os_timer_read(s->reading.timer);
    else
        os_interpreter_stacks_read(&s->stacks);
}

static void close_source(void *state)
{
    struct record_interpreters *s = state;
    os_interpreter_stacks_close(&s->stacks);
    record_stack_reading_close(&s->reading);
    for (uint32_t pid = 0; s->processes && pid < s->pid_end; pid++)
        forget_process(s, pid);
    for (uint32_t i = 0; s->queues && i < s->cpu_count; i++) {
        drop_walked(&s->queues[i], UINT64_MAX);
        free(s->queues[i].items);
    }
    free(s->processes);
    free(s->queues);
    output_deinit(&s->ended);
    runtimes_deinit(&s->runtimes);
    arena_deinit(&s->arena);
    arena_deinit(&s->scratch);
}

const struct event_source event_source_interpreters = {
    .name = "interpreters",
    .beside = true,
    .optional = true,
    .size = sizeof(struct record_interpreters),
    .prepare = prepare,
    .opened = opened,
    .stage = stage,
    .descriptor = descriptor,
    .wake = wake,
    .close = close_source,
};
