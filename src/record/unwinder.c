/* SPDX-License-Identifier: Apache-2.0 */
#include "record/unwinder.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "os/file.h"
#include "os/machine.h"
#include "os/process_probe.h"
#include <stdlib.h>

/* The parts of a sample after its fixed fields. */
struct dump {
    struct str chain; /* the kernel's frames */
    struct str user;  /* the user's frames, if the kernel unwound by frame pointers */
    uint64_t abi;     /* of the registers; 0: there are none */
    struct str raw;   /* of a tracepoint, after its length */
    struct str registers, stack;
};

struct unwinder_batch {
    size_t count;
    struct record samples[UNWINDER_BATCH];
    struct str chains[UNWINDER_BATCH], users[UNWINDER_BATCH], raws[UNWINDER_BATCH];
    struct unwind_job jobs[UNWINDER_BATCH];
    uint64_t registers[UNWINDER_BATCH][UNWIND_REGISTERS_MAX];
    uint64_t addresses[UNWINDER_BATCH][UNWIND_FRAMES_MAX];
    uint32_t signals[UNWINDER_BATCH][UNWIND_FRAMES_MAX / 32];
};

#define FILES_AT_FIRST 4096

/* If the tables need more memory than this, all are freed and built again on demand. */
#define TABLES_MOST ((size_t)6 << 20)

/* Number of file accesses before pages are released: each access may have read some
 * tens of kilobytes. */
#define ACCESSES_MOST 1024

#if defined(__aarch64__)
#define OWN_MACHINE ARCH_ARM64
#elif defined(__x86_64__)
#define OWN_MACHINE ARCH_X86_64
#else
#define OWN_MACHINE ARCH_UNKNOWN
#endif

/* --- Files ------------------------------------------------------------------------- */

static struct str mapped_build_id(struct record_unwinder *u, const struct record *r)
{
    uint8_t size = (uint8_t)r->bytes.ptr[RECORD_MMAP_BUILD_ID_SIZE];
    if (!(r->misc & PERF_MISC_MMAP_BUILD_ID) || size > 20)
        return STR("");
    return find_hexadecimal((struct str){r->bytes.ptr + RECORD_MMAP_BUILD_ID, size},
                            &u->texts);
}

/* Identifies the file: its build ID, or device and inode; and its path. Memory without a file
 * is private to a process. */
static uint64_t key_of(const struct record *r, struct str path, bool jit)
{
    struct hash128 id =
        hash_bytes128(r->bytes.ptr + RECORD_MMAP_MAJOR, RECORD_MMAP_FILE_SIZE);
    struct hash128 name = hash_bytes128(path.ptr, path.len);
    uint64_t owner = jit ? record_u32(r->bytes, RECORD_MMAP_PID) : 0;
    return hash_mix(id.lo ^ name.hi, id.hi ^ name.lo ^ owner) | 1;
}

static bool is_jit(struct str path)
{
    return str_equal(path, STR("//anon")) || str_starts(path, STR("/dev/zero")) ||
           str_starts(path, STR("/anon_hugepage"));
}

/* An id for a file; 0 if out of memory. */
static uint32_t new_number(struct record_unwinder *u)
{
    uint32_t number = u->free_number;
    if (number) {
        u->free_number = u->files[number].next_free;
        return number;
    }
    bool is_first = u->file_cap == 0;
    if (!ARRAY_RESERVE_HEAP(u->files, u->file_cap, u->file_count + 1))
        return 0;
    if (is_first)
        u->files[0] = (struct unwinder_file){.key = 0};
    return (uint32_t)u->file_count++;
}

/* The id of the file that the record maps; 0 if out of memory. */
static uint32_t file_of(struct record_unwinder *u, const struct record *r)
{
    struct str path = record_mmap_path(u->layout, r);
    bool jit = is_jit(path);
    uint64_t key = key_of(r, path, jit);
    uint64_t *number = idmap_put(&u->numbers, &u->texts, key);
    if (!number)
        return 0;
    if (*number == 0 && (*number = new_number(u)) != 0) {
        u->files[*number] =
            (struct unwinder_file){.key = key,
                                   .path = arena_str(&u->texts, path),
                                   .build_id = mapped_build_id(u, r),
                                   .pid = record_u32(r->bytes, RECORD_MMAP_PID),
                                   .is_jit = jit};
        u->known++;
    }
    return (uint32_t)*number;
}

/* A file that is not at its path is searched below /proc/PID: only if the process answers at once.
 * Until then, the file has no unwind information. */
static bool can_search(const struct record_unwinder *u, const struct unwinder_file *f)
{
    char path[4096];
    return !u->probe ||
           (find_is_path(f->path) &&
            format_text(path, sizeof path, "%.*s", STR_ARG(f->path)) < sizeof path &&
            os_output_exists(path)) ||
           os_process_probe_answers(u->probe, f->pid);
}

struct unwinder_file *unwinder_file_of(struct record_unwinder *u, object_id number)
{
    struct unwinder_file *f = number && number < u->file_count ? &u->files[number] : NULL;
    if (!f || f->is_jit)
        return NULL;
    if (!f->object && !can_search(u, f))
        return NULL;
    if (!f->object) {
        struct object_request request = {.path = f->path,
                                         .build_id = f->build_id,
                                         .pid = f->pid,
                                         .kind = FRAME_USER,
                                         .release = STR("")};
        f->object = object_create(&request);
    }
    f->is_awake = true;
    u->accesses++;
    return f->object ? f : NULL;
}

const struct unwind_table *unwinder_table_at(void *unwinder, object_id number,
                                             uint64_t offset)
{
    struct record_unwinder *u = unwinder;
    struct unwinder_file *f = unwinder_file_of(u, number);
    return f ? object_unwind_table_at(f->object, u->settings, offset) : NULL;
}

static void unwind_waiting(struct record_unwinder *u);
static void drop_exited(struct record_unwinder *u);

/* --- Release ------------------------------------------------------------------------ */

static void mark_mapped(struct record_unwinder *u)
{
    for (uint32_t pid = 0; pid < u->pid_limit; pid++) {
        const struct address_map *map = space_from(&u->spaces, u->space_of[pid], 0);
        for (; map; map = space_from(&u->spaces, u->space_of[pid], map->end))
            u->files[map->object].is_mapped = true;
    }
}

static void forget_file(struct record_unwinder *u, uint32_t number)
{
    struct unwinder_file *f = &u->files[number];
    object_destroy(f->object);
    *f = (struct unwinder_file){.next_free = u->free_number};
    u->free_number = number;
    u->known--;
}

/* Removes files that no process maps any more. The others keep their ids, which the spaces
 * contain. No stack is waiting to be unwound. */
static void forget_unmapped(struct record_unwinder *u)
{
    struct arena texts = ARENA_INIT;
    struct idmap numbers = {0};
    mark_mapped(u);
    for (uint32_t i = 1; i < u->file_count; i++) {
        struct unwinder_file *f = &u->files[i];
        if (f->key && !f->is_mapped)
            forget_file(u, i);
        if (!f->key)
            continue;
        uint64_t *number = idmap_put(&numbers, &texts, f->key);
        if (number)
            *number = i;
        f->path = arena_str(&texts, f->path);
        f->build_id = arena_str(&texts, f->build_id);
        f->is_mapped = false;
    }
    arena_deinit(&u->texts);
    u->texts = texts;
    u->numbers = numbers;
    arena_deinit(&u->arena); /* its rules refer to files by id */
    u->cache = unwind_cache_create(&u->arena);
    u->known_limit = 2 * u->known > FILES_AT_FIRST ? 2 * u->known : FILES_AT_FIRST;
}

/* --- Processes --------------------------------------------------------------------- */

static void set_space(struct record_unwinder *u, uint32_t pid, space_id space)
{
    space_drop(&u->spaces, u->space_of[pid]);
    u->space_of[pid] = space;
}

static void take_map(struct record_unwinder *u, const struct record *r)
{
    uint32_t pid = record_u32(r->bytes, RECORD_MMAP_PID);
    uint64_t start = record_u64(r->bytes, RECORD_MMAP_START);
    bool kernel = (r->misc & PERF_CPU_MODE) == PERF_MODE_KERNEL;
    if (pid >= u->pid_limit || kernel ||
        r->bytes.len < RECORD_MMAP_PATH + 8 + u->layout->trailer)
        return;
    if (u->known >= u->known_limit) {
        unwind_waiting(u);
        drop_exited(u);
        forget_unmapped(u);
    }
    struct address_map map = {.start = start,
                              .end = start + record_u64(r->bytes, RECORD_MMAP_SIZE),
                              .offset = record_u64(r->bytes, RECORD_MMAP_OFFSET),
                              .object = file_of(u, r),
                              .no_code = (r->misc & PERF_MISC_MMAP_DATA) != 0};
    if (str_equal(record_mmap_path(u->layout, r), STR("[vdso]")))
        map.offset = 0;
    u->space_of[pid] = space_add(&u->spaces, u->space_of[pid], &map);
}

/* FORK and EXIT: pid, parent's pid, tid, parent's tid. */
static void take_fork(struct record_unwinder *u, const struct record *r)
{
    uint32_t pid = record_u32(r->bytes, 8), parent = record_u32(r->bytes, 12);
    thread_counts_begin(&u->threads, pid, record_u32(r->bytes, 16));
    if (pid == parent || pid >= u->pid_limit || parent >= u->pid_limit)
        return;
    set_space(u, pid, space_share(&u->spaces, u->space_of[parent]));
}

static void take_exit(struct record_unwinder *u, const struct record *r)
{
    uint32_t pid = record_u32(r->bytes, 8);
    bool last = thread_counts_end(&u->threads, pid, record_u32(r->bytes, 16));
    if (!last || pid >= u->pid_limit || u->space_of[pid] == 0)
        return;
    if (ARRAY_RESERVE_HEAP(u->exits, u->exit_cap, u->exit_count + 1))
        u->exits[u->exit_count++] = (struct unwinder_exit){pid, u->space_of[pid]};
    else
        set_space(u, pid, 0);
}

/* At the end of the round: a new process may have got the id meanwhile. */
static void drop_exited(struct record_unwinder *u)
{
    for (size_t i = 0; i < u->exit_count; i++)
        if (u->space_of[u->exits[i].pid] == u->exits[i].space)
            set_space(u, u->exits[i].pid, 0);
    u->exit_count = 0;
}

/* COMM: a thread has this name, or its process executed another program. */
static void take_name(struct record_unwinder *u, const struct record *r)
{
    uint32_t pid = record_u32(r->bytes, 8);
    if (!(r->misc & PERF_MISC_COMM_EXEC)) {
        thread_counts_see(&u->threads, pid, record_u32(r->bytes, 12));
        return;
    }
    thread_counts_exec(&u->threads, pid);
    if (pid < u->pid_limit)
        set_space(u, pid, 0);
}

/* --- Samples ----------------------------------------------------------------------- */

/* A count of frames, and the frames. */
static struct str take_words(struct bytes *b)
{
    uint64_t count = bytes_u64(b);
    return count > bytes_left(b) / 8 ? STR("") : bytes_take(b, count * 8);
}

static uint64_t word_at(struct str words, size_t i)
{
    return record_u64(words, i * 8);
}

/* Removes the user's part, and the marker before it, from a chain. */
static struct str take_user(struct str *chain)
{
    size_t count = chain->len / 8, i = 0;
    while (i < count && word_at(*chain, i) != PERF_CONTEXT_USER)
        i++;
    struct str user = str_skip(*chain, (i + 1) * 8);
    *chain = str_head(*chain, i * 8);
    return user;
}

/* A tracepoint's raw data, after its length. */
static struct str take_raw(struct bytes *b)
{
    const char *from = b->at;
    bytes_skip(b, bytes_u32(b));
    return b->failed ? STR("") : str_span(from, b->at);
}

/* The fields after those of fixed length (perf_event.h, PERF_RECORD_SAMPLE). */
static bool dump_of(const struct record_unwinder *u, const struct record *r,
                    struct dump *d)
{
    struct bytes b = bytes_of(str_skip(r->bytes, u->layout->fixed_size), false);
    *d = (struct dump){
        .chain = take_words(&b), .raw = STR(""), .registers = STR(""), .stack = STR("")};
    d->user = take_user(&d->chain);
    if (u->layout->sample_type & PERF_SAMPLE_RAW)
        d->raw = take_raw(&b);
    d->abi = bytes_u64(&b);
    if (d->abi)
        d->registers = bytes_take(
            &b, 8 * (uint64_t)__builtin_popcountll((unsigned long long)u->registers));
    uint64_t room = bytes_u64(&b);
    if (room) {
        struct str all = bytes_take(&b, room);
        d->stack = str_head(all, bytes_u64(&b)); /* bytes of it that were dumped */
    }
    return !b.failed;
}

static bool is_no_return(const struct unwind_job *job, size_t i)
{
    return i && job->signals[i / 32] >> i % 32 & 1;
}

/* The addresses, in the form of the kernel's chains. */
static void put_frames(struct record_maker *m, const struct unwind_job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        if (is_no_return(job, i))
            record_put_u64(m, PERF_CONTEXT_USER);
        record_put_u64(m, job->addresses[i]);
    }
}

/* Passes on the sample with the kernel's part of its chain, and the user's. */
static void pass_sample(struct record_unwinder *u, const struct record *r,
                        struct str kernel, struct str raw, const struct unwind_job *job)
{
    struct record_maker *m = &u->maker;
    unsigned markers = !job || job->end == UNWIND_WHOLE ? 0
                       : unwind_is_truncated(job->end)  ? 1
                                                        : 2;
    uint64_t count = kernel.len / 8 + (job ? 1 + job->count + markers : 0);
    for (size_t i = 0; job && i < job->count; i++)
        count += is_no_return(job, i);
    m->used = 0;
    record_put(m, r->bytes.ptr, u->layout->fixed_size);
    record_put_u64(m, count);
    record_put(m, kernel.ptr, kernel.len);
    if (job) {
        record_put_u64(m, PERF_CONTEXT_USER);
        put_frames(m, job);
        for (unsigned i = 0; i < markers; i++)
            record_put_u64(m, PERF_CONTEXT_USER);
    }
    record_put(m, raw.ptr, raw.len);
    struct record out = record_end_bare(m, r->time);
    out.job = job;
    record_pass(&u->next, &out);
}

static void count_end(struct record_unwinder *u, enum unwind_end end)
{
    u->counts.stacks++;
    if (end == UNWIND_SWITCHED)
        u->counts.switched++;
    else if (unwind_is_truncated(end))
        u->counts.truncated++;
    else if (end != UNWIND_WHOLE)
        u->counts.broken++;
}

/* Counts a stack that ends in code without unwind information, by its file. */
static void count_gap(struct record_unwinder *u, const struct unwind_job *job)
{
    uint64_t last = job->count ? job->addresses[job->count - 1] : 0;
    const struct address_map *map = space_find(&u->spaces, job->space, last);
    struct str path = map ? u->files[map->object].path : STR("");
    if (job->machine == ARCH_UNKNOWN)
        path = STR("32-bit code");
    unwind_gaps_add(&u->counts.gaps, path, 1);
}

/* Only the instruction pointer. */
static void take_first_only(struct unwind_job *job)
{
    const struct register_roles *roles = register_roles_of(OWN_MACHINE);
    if (job->count || !roles)
        return;
    job->addresses[0] = job->registers[roles->perf_pc];
    job->count = 1;
}

static void unwind_waiting(struct record_unwinder *u)
{
    struct unwinder_batch *b = u->batch;
    struct unwind_objects objects = {.table_at = unwinder_table_at, .context = u};
    if (u->cache)
        unwind_batch(u->cache, &objects, b->jobs, b->count);
    for (size_t i = 0; i < b->count; i++) {
        struct unwind_job *job = &b->jobs[i];
        take_first_only(job);
        unwinder_go_on(u, job, b->users[i]);
        count_end(u, job->end);
        if (job->end != UNWIND_WHOLE && !unwind_is_truncated(job->end))
            count_gap(u, job);
        pass_sample(u, &b->samples[i], b->chains[i], b->raws[i], job);
        space_drop(&u->spaces, job->space);
    }
    b->count = 0;
}

/* Registers by perf's numbers, as the mask selects them. */
static void spread(uint64_t mask, struct str values, uint64_t *registers)
{
    size_t next = 0;
    memset(registers, 0, UNWIND_REGISTERS_MAX * sizeof *registers);
    for (unsigned i = 0; i < UNWIND_REGISTERS_MAX; i++)
        if (mask >> i & 1)
            memcpy(&registers[i], values.ptr + 8 * next++, sizeof *registers);
}

#define ABI_32 1

/* Whether the instruction pointer is in memory without a file: JIT code, or an invalid
 * address. */
static bool is_in_no_file(const struct record_unwinder *u, const struct unwind_job *job)
{
    const struct register_roles *roles = register_roles_of(job->machine);
    const struct address_map *map =
        roles ? space_find(&u->spaces, job->space, job->registers[roles->perf_pc]) : NULL;
    return roles && (!map || u->files[map->object].is_jit);
}

static void add_job(struct record_unwinder *u, const struct record *r,
                    const struct dump *d)
{
    struct unwinder_batch *b = u->batch;
    size_t i = b->count++;
    uint32_t pid = record_pid(u->layout, r);
    space_id space = pid < u->pid_limit ? u->space_of[pid] : 0;
    b->samples[i] = *r;
    b->chains[i] = d->chain;
    b->users[i] = d->user;
    b->raws[i] = d->raw;
    spread(u->registers, d->registers, b->registers[i]);
    b->jobs[i] = (struct unwind_job){
        .machine = d->abi == ABI_32 ? ARCH_UNKNOWN : OWN_MACHINE,
        .spaces = &u->spaces,
        .space = space_share(&u->spaces, space),
        .registers = b->registers[i],
        .recorded = u->registers,
        .stack = d->stack,
        .addresses = b->addresses[i],
        .signals = b->signals[i],
        .room = UNWIND_FRAMES_MAX,
    };
    if (is_in_no_file(u, &b->jobs[i])) {
        u->counts.no_file++;
        if (pid < u->pid_limit)
            u->no_file_of[pid]++;
    }
    memset(b->signals[i], 0, sizeof b->signals[i]);
    if (unwinder_follow_frames(u, &b->jobs[i], d->user)) {
        b->count--;
        count_end(u, UNWIND_WHOLE);
        pass_sample(u, r, d->chain, d->raw, &b->jobs[i]);
        space_drop(&u->spaces, space);
    } else if (b->count == UNWINDER_BATCH) {
        unwind_waiting(u);
    }
}

static void take_sample(struct record_unwinder *u, const struct record *r)
{
    struct dump d;
    if (!dump_of(u, r, &d))
        return;
    if (d.abi && d.stack.len)
        add_job(u, r, &d);
    else
        pass_sample(u, r, d.chain, d.raw, NULL);
}

static void take(void *context, const struct record *r)
{
    struct record_unwinder *u = context;
    bool whole = r->bytes.len >= 24 + u->layout->trailer;
    if (r->type == PERF_SAMPLE) {
        take_sample(u, r);
        return;
    }
    if (r->type == PERF_MMAP2)
        take_map(u, r);
    else if (r->type == PERF_FORK && whole)
        take_fork(u, r);
    else if (r->type == PERF_EXIT && whole)
        take_exit(u, r);
    else if (r->type == PERF_COMM && whole)
        take_name(u, r);
    record_pass(&u->next, r);
}

/* Releases pages of files, and tables if there are many. The rules found in them stay. */
static void rest(struct record_unwinder *u)
{
    size_t held = 0;
    if (u->accesses < ACCESSES_MOST)
        return;
    u->accesses = 0;
    for (size_t i = 1; i < u->file_count; i++) {
        struct unwinder_file *f = &u->files[i];
        if (!f->object)
            continue;
        held += f->object->arena.total + f->object->table_arena.total;
        if (!f->is_awake)
            continue;
        f->is_awake = false;
        os_mapping_release(&f->object->file.mapping);
        os_mapping_release(&f->object->debug.mapping);
    }
    for (size_t i = 1; held > TABLES_MOST && i < u->file_count; i++) {
        object_destroy(u->files[i].object);
        u->files[i].object = NULL;
    }
}

static void round_over(void *context)
{
    struct record_unwinder *u = context;
    unwind_waiting(u);
    drop_exited(u);
    rest(u);
    u->next.round(u->next.context);
}

struct record_sink record_unwinder_sink(struct record_unwinder *u)
{
    return (struct record_sink){u, take, round_over};
}

/* --- The stage --------------------------------------------------------------------- */

bool record_unwinder_init(struct record_unwinder *u, const struct record_layout *layout,
                          uint64_t registers, const struct resolve_settings *settings,
                          struct record_sink next, struct error *err)
{
    *u = (struct record_unwinder){.layout = layout,
                                  .next = next,
                                  .settings = settings,
                                  .registers = registers,
                                  .pid_limit = os_pid_max(),
                                  .file_count = 1,
                                  .known_limit = FILES_AT_FIRST,
                                  .maker.layout = layout};
    u->space_of = calloc(u->pid_limit, sizeof *u->space_of);
    u->batch = calloc(1, sizeof *u->batch);
    u->cache = unwind_cache_create(&u->arena);
    u->no_file_of = calloc(u->pid_limit, sizeof *u->no_file_of);
    return (thread_counts_init(&u->threads, u->pid_limit) && u->space_of &&
            u->no_file_of && u->batch && u->cache) ||
           error_memory(err);
}

void record_unwinder_deinit(struct record_unwinder *u)
{
    for (size_t i = 1; u->files && i < u->file_count; i++)
        object_destroy(u->files[i].object);
    free(u->files);
    free(u->space_of);
    free(u->exits);
    thread_counts_deinit(&u->threads);
    free(u->no_file_of);
    free(u->batch);
    arena_deinit(&u->arena);
    arena_deinit(&u->texts);
    spaces_deinit(&u->spaces);
    *u = (struct record_unwinder){0};
}

void record_unwinder_attr(struct perf_attr *attr)
{
    attr->sample_type &= ~(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
    attr->flags &= ~PERF_FLAG_EXCLUDE_CHAIN_USER;
    attr->user_registers = 0;
    attr->stack_size = 0;
}
