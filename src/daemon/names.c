/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/names.h"
#include "base/array.h"
#include "base/hash.h"
#include "os/machine.h"
#include "os/restriction.h"
#include "os/shared_memory.h"
#include "resolve/namer.h"
#include <string.h>

#define NS STORE_SECOND
#define BYTES_MAX ((size_t)4 << 20) /* of functions and files */
#define PENDING_MAX ((size_t)16384) /* addresses */
#define LATE_MAX ((size_t)16384)

/* A child starts when BATCH addresses wait, or the first has waited for WAIT_MAX. */
#define BATCH ((size_t)64)
#define WAIT_MAX (20 * NS)
#define BETWEEN (5 * NS)

/* A child pays for its CPU time with this many times as much time in which no other child
 * starts: on a machine where new programs start all the time, naming still has a small
 * share. Time without a child is saved for the next ones, up to a limit: the functions of a
 * program that just started have names soon, unless many started before. */
#define SHARE 3000
#define PAY_MAX (300 * NS)
#define SAVED_MAX (300 * NS)
#define FAILURES_MAX 3      /* children of one file */
#define JIT_AGAIN (60 * NS) /* until a perf map is read again */

#define ANSWERS_SIZE ((size_t)1 << 20)
#define KERNEL_ITEMS ((size_t)512 << 10)
#define KERNEL_NAMES ((size_t)16 << 20)
#define KERNEL_SIZE (KERNEL_ITEMS * sizeof(struct kernel_function) + KERNEL_NAMES)

struct function {
    uint64_t start, end;                /* as in requests: offsets, or addresses */
    const struct resolved_frame *frame; /* NULL: it has no name */
};

struct pending {
    uint64_t address;
    bool is_call, stored;
};

struct daemon_names_file {
    struct object_request request; /* the arena owns its texts */
    struct function *functions;    /* ascending, without overlaps */
    size_t count, cap;
    struct pending *pending; /* ascending by address */
    size_t pending_count, pending_cap;
    uint64_t again;    /* ns: no request before */
    unsigned failures; /* children that ended while they read it */
    bool refused;      /* it made several children crash */
};

/* In shared memory: this head, then struct answer and a name, aligned to 8, repeatedly. */
struct daemon_names_answers {
    uint32_t file; /* that the child reads */
    uint32_t used; /* bytes after the head */
    bool kernel;   /* its functions are complete */
};

struct answer {
    uint32_t file, length; /* of the name; 0: there is none */
    uint64_t address, start, end;
};

/* --- Files -------------------------------------------------------------------------- */

static bool same_request(const struct object_request *a, const struct object_request *b)
{
    return a->kind == b->kind && a->inode == b->inode && a->major == b->major &&
           a->minor == b->minor && (a->kind != FRAME_JIT || a->pid == b->pid) &&
           str_equal(a->path, b->path) && str_equal(a->build_id, b->build_id);
}

struct lookup {
    const struct daemon_names *n;
    const struct object_request *request;
};

static bool same_file(const void *context, uint32_t id)
{
    const struct lookup *l = context;
    return same_request(&l->n->files[id].request, l->request);
}

static uint32_t request_hash(const struct object_request *r)
{
    uint64_t hash = hash_bytes(r->path.ptr, r->path.len);
    hash = hash_mix(hash ^ HASH_A, hash_bytes(r->build_id.ptr, r->build_id.len));
    uint64_t pid = r->kind == FRAME_JIT ? (uint64_t)r->pid : 0;
    return (uint32_t)hash_mix(hash ^ r->inode, pid ^ HASH_B);
}

static void copy_request(struct daemon_names *n, struct object_request *to,
                         const struct object_request *r)
{
    *to = *r;
    to->path = arena_str(&n->arena, r->path);
    to->build_id = arena_str(&n->arena, r->build_id);
    to->release = arena_str(&n->arena, r->release);
    to->host = to->jit_map = STR("");
}

static object_id find_file(void *context, const struct object_request *r)
{
    struct daemon_names *n = context;
    uint32_t hash = request_hash(r);
    if (!index_reserve(&n->index, &n->arena, 1))
        return 0;
    struct index_slot *slot =
        index_find(&n->index, hash, same_file, &(struct lookup){n, r});
    if (slot->id) { /* a later process: that of the first may have ended */
        n->files[slot->id].request.pid = r->pid;
        return slot->id;
    }
    struct daemon_names_file *f =
        ARRAY_APPEND_FROM_1(&n->arena, n->files, n->file_count, n->file_cap);
    if (!f)
        return 0;
    *f = (struct daemon_names_file){.pending = NULL};
    copy_request(n, &f->request, r);
    index_fill(&n->index, slot, hash, (uint32_t)n->file_count);
    return (object_id)n->file_count;
}

/* --- Functions ---------------------------------------------------------------------- */

/* The position of the first function that ends after the address. */
static size_t function_after(const struct daemon_names_file *f, uint64_t address)
{
    size_t from = 0, to = f->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (f->functions[middle].end <= address)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static const struct function *find_function(const struct daemon_names_file *f,
                                            uint64_t address)
{
    size_t i = function_after(f, address);
    return i < f->count && f->functions[i].start <= address ? &f->functions[i] : NULL;
}

static const struct resolved_frame *make_frame(struct daemon_names *n, struct str name,
                                               enum frame_kind kind)
{
    struct resolved_frame *frame = arena_zalloc(&n->arena, 1, sizeof *frame);
    if (!frame)
        return NULL;
    frame->name = arena_str(&n->arena, name);
    frame->kind = kind;
    return n->arena.failed ? NULL : frame;
}

/* Adds the part of [start, end) around the address that no function has. */
static void add_function(struct daemon_names *n, struct daemon_names_file *f,
                         const struct answer *a, struct str name)
{
    size_t at = function_after(f, a->address);
    uint64_t start = a->start, end = a->end;
    if (a->start > a->address || a->end <= a->address ||
        (at < f->count && f->functions[at].start <= a->address))
        return;
    if (at && f->functions[at - 1].end > start)
        start = f->functions[at - 1].end;
    if (at < f->count && f->functions[at].start < end)
        end = f->functions[at].start;
    const struct resolved_frame *frame =
        name.len ? make_frame(n, name, f->request.kind) : NULL;
    if ((name.len && !frame) ||
        !ARRAY_RESERVE(&n->arena, f->functions, f->cap, f->count + 1))
        return;
    memmove(f->functions + at + 1, f->functions + at,
            (f->count - at) * sizeof *f->functions);
    f->functions[at] = (struct function){start, end, frame};
    f->count++;
}

/* --- Requests of the reader --------------------------------------------------------- */

static bool is_of_kernel(const struct daemon_names_file *f)
{
    return f->request.kind == FRAME_KERNEL;
}

static void ask(struct daemon_names *n, struct daemon_names_file *f,
                const struct name_job *job)
{
    size_t from = 0, to = f->pending_count;
    uint64_t now = os_clock_monotonic();
    if (f->refused || now < f->again || n->pending >= PENDING_MAX)
        return;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (f->pending[middle].address < job->address)
            from = middle + 1;
        else
            to = middle;
    }
    if ((from < f->pending_count && f->pending[from].address == job->address) ||
        !ARRAY_RESERVE(&n->arena, f->pending, f->pending_cap, f->pending_count + 1))
        return;
    memmove(f->pending + from + 1, f->pending + from,
            (f->pending_count - from) * sizeof *f->pending);
    f->pending[from] = (struct pending){job->address, job->is_call, false};
    f->pending_count++;
    if (!is_of_kernel(f) && n->pending++ == 0)
        n->pending_since = now;
}

/* Makes a function of the kernel known that is used for the first time. */
static const struct function *take_kernel_function(struct daemon_names *n,
                                                   struct daemon_names_file *f,
                                                   uint64_t address, bool is_call)
{
    struct answer a = {.address = address - is_call};
    const struct kernel_function *k =
        kernel_functions_find(&n->kernel, address, is_call, &a.end);
    if (!k)
        return NULL;
    if (k->address > a.address)
        a.address = k->address;
    a.start = k->address;
    add_function(n, f, &a, kernel_function_name(&n->kernel, k));
    return find_function(f, a.address);
}

/* Samples in different lines of a function without a name have the same frame. */
static const struct resolved_frame *unnamed_frame(struct daemon_names *n,
                                                  const struct function *f,
                                                  const struct name_job *job)
{
    if (f->end - f->start <= 1)
        return NULL;
    struct resolved_frame *frame = arena_zalloc(&n->arena, 1, sizeof *frame);
    if (frame)
        *frame =
            (struct resolved_frame){.name = STR(""),
                                    .file = STR(""),
                                    .offset = job->address - job->is_call - f->start};
    return frame;
}

static void name(void *context, struct name_job *jobs, size_t count)
{
    struct daemon_names *n = context;
    for (size_t i = 0; i < count; i++) {
        struct name_job *job = &jobs[i];
        if (job->object == 0 || job->object > n->file_count)
            continue;
        struct daemon_names_file *f = &n->files[job->object];
        const struct function *known = find_function(f, job->address - job->is_call);
        n->kernel_asked |= is_of_kernel(f);
        if (!known && is_of_kernel(f) && n->kernel_ready)
            known = take_kernel_function(n, f, job->address, job->is_call);
        else if (!known)
            ask(n, f, job);
        const struct resolved_frame *frame = known && !known->frame
                                                 ? unnamed_frame(n, known, job)
                                             : known ? known->frame
                                                     : NULL;
        if (frame) {
            job->frames = frame;
            job->count = 1;
        }
    }
}

/* --- The child ---------------------------------------------------------------------- */

static char *answers_end(struct daemon_names_answers *a)
{
    return (char *)(a + 1) + a->used;
}

static bool put_answer(struct daemon_names_answers *to, struct answer a, struct str text)
{
    size_t size = sizeof a + (text.len + 7) / 8 * 8;
    if (sizeof *to + to->used + size > ANSWERS_SIZE)
        return false;
    a.length = (uint32_t)text.len;
    memcpy(answers_end(to), &a, sizeof a);
    memcpy(answers_end(to) + sizeof a, text.ptr, text.len);
    to->used += (uint32_t)size;
    return true;
}

/* Of a function without a name, the range is still known. */
static bool answer_range(struct daemon_names_answers *to, struct object *o,
                         struct answer a, uint64_t table)
{
    uint64_t start, end;
    if (object_function_at(o, table, &start, &end)) {
        a.start = a.address - (table - start);
        a.end = a.address + (end - table);
    }
    return put_answer(to, a, STR(""));
}

/* The function at one address, as the namer finds it. */
static bool answer_one(struct daemon_names_answers *to, struct namer *namer,
                       struct object *o, const struct pending *p, uint32_t file)
{
    struct answer a = {
        .file = file, .address = p->address, .start = p->address, .end = p->address + 1};
    struct name_job job = {.address = p->address, .is_call = p->is_call};
    struct dwarf_query query = {.tag = 0};
    uint64_t table, start, end;
    if (p->is_call)
        a.address = a.start = p->address - 1, a.end = p->address;
    if (!object_address(o, p->address, &table))
        return put_answer(to, a, STR(""));
    query.address = p->is_call ? namer_call_address(o, table) : table;
    if (!namer_answer(namer, o, &query, 1, &job) || job.count == 0)
        return answer_range(to, o, a, table - p->is_call);
    symbol_table_part(&o->symbols, query.address, &start, &end);
    if (o->has_symbols && start <= query.address && end > query.address) {
        a.address = p->address - (table - query.address);
        a.start = a.address - (query.address - start);
        a.end = a.address + (end - query.address);
    }
    return put_answer(to, a, job.frames[0].name);
}

static bool answer_file(struct daemon_names *n, uint32_t file,
                        const struct resolve_settings *s)
{
    const struct daemon_names_file *f = &n->files[file];
    struct arena arena = ARENA_INIT;
    struct object *o = object_create(&f->request);
    struct namer *namer = namer_create(s, &arena);
    uint64_t *addresses = arena_alloc(&arena, 2 * f->pending_count * sizeof *addresses);
    bool room = o && namer && addresses;
    for (size_t i = 0; room && i < f->pending_count; i++) {
        addresses[2 * i] = f->pending[i].address;
        addresses[2 * i + 1] = f->pending[i].address - f->pending[i].is_call;
    }
    if (room)
        object_load_symbols_at(o, s, addresses, 2 * f->pending_count);
    for (size_t i = 0; room && i < f->pending_count; i++)
        room = answer_one(n->answers, namer, o, &f->pending[i], file);
    namer_destroy(namer);
    object_destroy(o);
    arena_deinit(&arena);
    return room;
}

static int answer_all(void *context)
{
    struct daemon_names *n = context;
    struct resolve_settings s = {.find = {.no_debuginfod = true},
                                 .no_inline = true,
                                 .no_lines = true,
                                 .threads = 1};
    os_run_in_background();
    os_thread_restrict();
    for (size_t i = 1; i <= n->file_count; i++) {
        n->answers->file = (uint32_t)i;
        if (n->files[i].pending_count && !is_of_kernel(&n->files[i]) &&
            !answer_file(n, (uint32_t)i, &s))
            break;
    }
    n->answers->file = 0;
    if (n->kernel_reading)
        n->answers->kernel = kernel_functions_read(&n->kernel);
    return 0;
}

/* --- Starting it, and taking its answers -------------------------------------------- */

static void *map_shared(size_t size)
{
    struct os_shared_memory memory;
    struct error ignored;
    if (!os_shared_memory_create(&memory, size, &ignored))
        return NULL;
    void *at = os_shared_memory_map(&memory, 0, size, 1, &ignored);
    os_shared_memory_close(&memory);
    return at;
}

/* The counts of the functions are in the child's copy: the memory ends with zeros. */
static void count_kernel_functions(struct kernel_functions *k)
{
    k->count = 0;
    while (k->count < k->cap && k->items[k->count].address)
        k->count++;
}

static void map_kernel(struct daemon_names *n)
{
    if (!n->kernel.items)
        n->kernel.items = map_shared(KERNEL_SIZE);
    n->kernel.cap = KERNEL_ITEMS;
    n->kernel.names = (char *)(n->kernel.items + KERNEL_ITEMS);
    n->kernel.size = KERNEL_NAMES;
    n->kernel_reading = n->kernel.items != NULL;
}

static void start(struct daemon_names *n)
{
    struct error ignored;
    n->answers = map_shared(ANSWERS_SIZE);
    if (!n->answers)
        return;
    if (n->kernel_asked && !n->kernel.items)
        map_kernel(n);
    if (os_child_run(&n->child, answer_all, n, &ignored))
        return;
    os_shared_memory_unmap(n->answers, ANSWERS_SIZE, 1);
    n->answers = NULL;
}

static void add_late(struct daemon_names *n, const struct daemon_names_file *f,
                     const struct answer *a, struct str text)
{
    uint64_t base = 0;
    struct str path = f->request.path;
    if (n->late_count == LATE_MAX || f->request.kind == FRAME_JIT)
        return;
    if (is_of_kernel(f)) { /* as the reader shows it: stable_offset in finish.c */
        base = f->request.reference ? f->request.reference : f->request.start;
        path = path.ptr[0] == '[' ? str_head(path, str_find(path, ']') + 1) : path;
    }
    if (a->start < base)
        return;
    struct store_name *late =
        ARRAY_APPEND(&n->late_arena, n->late, n->late_count, n->late_cap);
    if (late)
        *late = (struct store_name){.path = arena_str(&n->late_arena, path),
                                    .build_id =
                                        arena_str(&n->late_arena, f->request.build_id),
                                    .name = arena_str(&n->late_arena, text),
                                    .start = a->start - base,
                                    .end = a->end - base};
}

/* Removes the addresses from the pending ones that the function answers. */
static bool remove_pending(struct daemon_names *n, struct daemon_names_file *f,
                           const struct answer *a)
{
    size_t retained = 0;
    bool stored = false;
    for (size_t i = 0; i < f->pending_count; i++) {
        uint64_t at = f->pending[i].address - f->pending[i].is_call;
        if (at >= a->start && at < a->end)
            stored |= f->pending[i].stored;
        else
            f->pending[retained++] = f->pending[i];
    }
    n->pending -= f->pending_count - retained;
    f->pending_count = retained;
    return stored;
}

static void take_answer(struct daemon_names *n, const struct answer *a, struct str text,
                        uint64_t now)
{
    struct daemon_names_file *f = &n->files[a->file];
    bool stored = remove_pending(n, f, a);
    if (text.len || f->request.kind != FRAME_JIT)
        add_function(n, f, a, text);
    else
        f->again = now + JIT_AGAIN;
    if (!text.len)
        return;
    n->learned = true;
    if (stored)
        add_late(n, f, a, text);
}

static void take_answers(struct daemon_names *n, uint64_t now)
{
    const char *at = (const char *)(n->answers + 1);
    size_t left = n->answers->used;
    struct answer a;
    while (left >= sizeof a) {
        memcpy(&a, at, sizeof a);
        size_t size = sizeof a + ((size_t)a.length + 7) / 8 * 8;
        if (size > left || a.file == 0 || a.file > n->file_count)
            return;
        take_answer(n, &a, (struct str){at + sizeof a, a.length}, now);
        at += size;
        left -= size;
    }
}

/* A file that makes each child crash is not read again. A child can also be killed for other
 * reasons. */
static void refuse_file(struct daemon_names *n, uint32_t file)
{
    if (file == 0 || file > n->file_count || ++n->files[file].failures < FAILURES_MAX)
        return;
    n->files[file].refused = true;
    n->pending -= n->files[file].pending_count;
    n->files[file].pending_count = 0;
}

/* Names the kernel's addresses of windows that are stored. */
static void take_kernel(struct daemon_names *n)
{
    count_kernel_functions(&n->kernel);
    n->kernel_ready = n->learned = true;
    for (size_t i = 1; i <= n->file_count; i++) {
        struct daemon_names_file *f = &n->files[i];
        for (size_t k = 0; is_of_kernel(f) && k < f->pending_count; k++) {
            const struct pending *p = &f->pending[k];
            const struct function *known =
                take_kernel_function(n, f, p->address, p->is_call);
            if (known && known->frame && p->stored)
                add_late(n, f, &(struct answer){.start = known->start, .end = known->end},
                         known->frame->name);
        }
        if (is_of_kernel(f))
            f->pending_count = 0;
    }
}

/* The functions of the kernel are read once, so that time does not count. */
static void pay(struct daemon_names *n, uint64_t now)
{
    uint64_t price = (n->child.user_time + n->child.kernel_time) * SHARE;
    if (n->paid + SAVED_MAX < now)
        n->paid = now - SAVED_MAX;
    if (!n->kernel_reading)
        n->paid += price < PAY_MAX ? price : PAY_MAX;
    n->next = now + BETWEEN > n->paid ? now + BETWEEN : n->paid;
}

static void finish(struct daemon_names *n, uint64_t now)
{
    take_answers(n, now);
    if (n->child.status)
        refuse_file(n, n->answers->file);
    if (n->kernel_reading && n->answers->kernel)
        take_kernel(n);
    pay(n, now);
    n->kernel_reading = false;
    os_shared_memory_unmap(n->answers, ANSWERS_SIZE, 1);
    n->answers = NULL;
    n->pending_since = now;
}

bool daemon_names_turn(struct daemon_names *n, uint64_t now)
{
    bool kernel = n->kernel_asked && !n->kernel.items;
    bool due = n->pending >= BATCH || (n->pending && now > n->pending_since + WAIT_MAX);
    if (n->answers && os_child_ended(&n->child))
        finish(n, now);
    else if (!n->answers && now >= n->next && (due || kernel))
        start(n);
    bool learned = n->learned;
    n->learned = false;
    return learned;
}

/* --- Names for the store ------------------------------------------------------------ */

void daemon_names_stored(struct daemon_names *n)
{
    for (size_t i = 1; i <= n->file_count; i++)
        for (size_t k = 0; k < n->files[i].pending_count; k++)
            n->files[i].pending[k].stored = true;
}

const struct store_name *daemon_names_late(const struct daemon_names *n, size_t *count)
{
    *count = n->late_count;
    return n->late;
}

void daemon_names_forget_late(struct daemon_names *n)
{
    arena_deinit(&n->late_arena);
    n->late = NULL;
    n->late_count = n->late_cap = 0;
}

/* --- Begin and end ------------------------------------------------------------------ */

void daemon_names_init(struct daemon_names *n)
{
    *n = (struct daemon_names){.seam = {.context = n, .object = find_file, .name = name}};
}

static void end_child(struct daemon_names *n)
{
    if (!n->answers)
        return;
    os_child_kill(&n->child);
    os_child_wait(&n->child);
    os_shared_memory_unmap(n->answers, ANSWERS_SIZE, 1);
    n->answers = NULL;
}

void daemon_names_trim(struct daemon_names *n)
{
    if (n->arena.total < BYTES_MAX || n->kernel_reading)
        return;
    end_child(n);
    arena_deinit(&n->arena);
    n->files = NULL;
    n->file_count = n->file_cap = n->pending = 0;
    n->index = (struct index){0};
}

void daemon_names_deinit(struct daemon_names *n)
{
    end_child(n);
    if (n->kernel.items)
        os_shared_memory_unmap(n->kernel.items, KERNEL_SIZE, 1);
    arena_deinit(&n->arena);
    daemon_names_forget_late(n);
}
