/* SPDX-License-Identifier: Apache-2.0 */
#include "record/tasks.h"
#include "base/number.h"
#include "os/file.h"
#include "os/machine.h"
#include "os/mapping.h"
#include "os/proc.h"
#include "os/process_probe.h"
#include <stdlib.h>

enum {
    KNOWN_NAME = 1, /* of the thread */
    KNOWN_CODE = 2, /* of the process */
    KNOWN_GONE = 4, /* it has ended: /proc has nothing about it */
    KNOWN_MAPS = 8, /* the process is sampled: jit_maps has it */
};

static bool is_known(const struct record_tasks *t, uint32_t id, uint8_t what)
{
    return id >= t->limit || t->known[id] & (what | KNOWN_GONE);
}

static void note(struct record_tasks *t, uint32_t id, uint8_t what)
{
    if (id < t->limit)
        t->known[id] |= what;
}

/* --- Reading ----------------------------------------------------------------------- */

static void add_name(struct record_tasks *t, uint32_t pid, uint32_t tid, uint64_t time)
{
    char room[64];
    struct str name = os_thread_name(pid, tid, room, sizeof room);
    note(t, tid, KNOWN_NAME);
    if (name.len == 0)
        return;
    thread_counts_see(&t->threads, pid, tid);
    struct record r = record_make_name(&t->maker, pid, tid, name, time);
    record_pass(&t->next, &r);
}

struct adding {
    struct record_tasks *t;
    uint32_t pid;
    uint64_t time;
};

/* A MMAP2 record, as the kernel writes it. */
static void add_code(void *context, const struct os_code *code)
{
    const struct adding *a = context;
    struct record_maker *m = &a->t->maker;
    bool identified = code->build_id_size > 0;
    record_begin(m, PERF_MMAP2,
                 (uint16_t)(PERF_MODE_USER | (identified ? PERF_MISC_MMAP_BUILD_ID : 0)));
    record_put_u32(m, a->pid);
    record_put_u32(m, a->pid);
    record_put_u64(m, code->start);
    record_put_u64(m, code->end - code->start);
    record_put_u64(m, code->offset);
    if (identified) {
        record_put_u32(m, (uint32_t)code->build_id_size);
        record_put(m, code->build_id, OS_BUILD_ID_MAX);
    } else {
        record_put_u32(m, code->major);
        record_put_u32(m, code->minor);
        record_put_u64(m, code->inode);
        record_put_u64(m, 0);
    }
    record_put_u32(m, code->protection);
    record_put_u32(m, code->flags);
    record_put_text(m, code->path);
    struct record r = record_end(m, a->pid, a->pid, a->time);
    record_pass(&a->t->next, &r);
}

/* The mappings of a process, read through one of its threads: the main thread may have ended. */
static void add_process(struct record_tasks *t, uint32_t pid, uint32_t tid, uint64_t time)
{
    struct adding a = {t, pid, time};
    note(t, pid, KNOWN_CODE);
    os_process_code_ids(pid, tid, add_code, &a);
}

/* Adds the name and the mappings of a task, unless the recording has them. Mappings that cannot be
 * read now come with a later sample. */
static void need(struct record_tasks *t, uint32_t pid, uint32_t tid, uint64_t time)
{
    if (!is_known(t, tid, KNOWN_NAME))
        add_name(t, pid, tid, time);
    if (!is_known(t, pid, KNOWN_CODE) && os_process_probe_answers(t->probe, pid))
        add_process(t, pid, tid, time);
}

static void note_sampled(struct record_tasks *t, uint32_t pid)
{
    if (!t->jit_maps || is_known(t, pid, KNOWN_MAPS))
        return;
    note(t, pid, KNOWN_MAPS);
    record_jit_maps_add(t->jit_maps, pid);
}

/* --- Records ----------------------------------------------------------------------- */

/* FORK and EXIT: pid, parent's pid, tid, parent's tid. */
static void begins(struct record_tasks *t, const struct record *r)
{
    uint32_t pid = record_u32(r->bytes, 8), parent = record_u32(r->bytes, 12);
    uint32_t tid = record_u32(r->bytes, 16), parent_tid = record_u32(r->bytes, 20);
    thread_counts_begin(&t->threads, pid, tid);
    if (pid != parent)
        need(t, parent, parent_tid, r->time);
    bool named = parent_tid < t->limit && t->known[parent_tid] & KNOWN_NAME;
    if (tid < t->limit)
        t->known[tid] = named ? KNOWN_NAME : 0;
    if (pid != parent && is_known(t, parent, KNOWN_CODE))
        note(t, pid, KNOWN_CODE);
}

/* A process whose main thread has ended runs on in the others. */
static void ends(struct record_tasks *t, const struct record *r)
{
    uint32_t pid = record_u32(r->bytes, 8), tid = record_u32(r->bytes, 16);
    bool last = thread_counts_end(&t->threads, pid, tid);
    if (tid < t->limit && (last || tid != pid))
        t->known[tid] = KNOWN_GONE;
    if (pid < t->limit && last)
        t->known[pid] = KNOWN_GONE;
}

/* COMM: after an exec, the kernel reports all mappings from then on. */
static void is_named(struct record_tasks *t, const struct record *r)
{
    uint32_t pid = record_u32(r->bytes, 8), tid = record_u32(r->bytes, 12);
    note(t, tid, KNOWN_NAME);
    if (!(r->misc & PERF_MISC_COMM_EXEC)) {
        thread_counts_see(&t->threads, pid, tid);
        return;
    }
    thread_counts_exec(&t->threads, pid);
    note(t, pid, KNOWN_CODE);
}

static void take(void *context, const struct record *r)
{
    struct record_tasks *t = context;
    bool whole = r->bytes.len >= 24 + t->layout->trailer;
    if (r->type == PERF_SAMPLE) {
        uint32_t pid = record_pid(t->layout, r), tid = record_tid(t->layout, r);
        if (tid) {
            need(t, pid, tid, t->earliest ? t->earliest : r->time);
            note_sampled(t, pid);
        }
    } else if (r->type == PERF_FORK && whole) {
        begins(t, r);
    } else if (r->type == PERF_EXIT && whole) {
        ends(t, r);
    } else if (r->type == PERF_COMM && whole) {
        is_named(t, r);
    }
    record_pass(&t->next, r);
}

static void round_over(void *context)
{
    struct record_tasks *t = context;
    t->next.round(t->next.context);
}

struct record_sink record_tasks_sink(struct record_tasks *t)
{
    return (struct record_sink){t, take, round_over};
}

/* --- Processes at the start --------------------------------------------------------- */

static void add_thread(void *context, uint32_t tid)
{
    const struct adding *a = context;
    if (!is_known(a->t, tid, KNOWN_NAME))
        add_name(a->t, a->pid, tid, a->time);
}

static void add_all(struct record_tasks *t, uint32_t pid, uint64_t time)
{
    struct adding a = {t, pid, time};
    os_process_threads(pid, add_thread, &a);
    add_process(t, pid, pid, time);
}

void record_tasks_add(struct record_tasks *t, uint32_t pid)
{
    add_all(t, pid, 0);
}

struct crowded {
    struct record_tasks *t;
    uint32_t least;
};

static void add_if_crowded(void *context, struct str name)
{
    const struct crowded *c = context;
    uint64_t pid;
    if (number_parse_u64(name, &pid) && pid < c->t->limit &&
        os_process_thread_count((uint32_t)pid) >= c->least &&
        !is_known(c->t, (uint32_t)pid, KNOWN_CODE))
        add_process(c->t, (uint32_t)pid, (uint32_t)pid, 0);
}

void record_tasks_add_crowded(struct record_tasks *t, uint32_t threads_least)
{
    struct crowded c = {t, threads_least};
    os_folder_each("/proc", add_if_crowded, &c);
}

void record_tasks_add_again(struct record_tasks *t, uint64_t time)
{
    record_tasks_add_kernel(t);
    for (uint32_t id = 0; id < t->limit; id++)
        t->known[id] &= KNOWN_CODE | KNOWN_GONE | KNOWN_MAPS;
    for (uint32_t id = 0; id < t->limit; id++)
        if ((t->known[id] & ~KNOWN_MAPS) == KNOWN_CODE)
            add_all(t, id, time);
}

void record_tasks_forget(struct record_tasks *t, uint32_t id)
{
    if (id < t->limit)
        t->known[id] &= KNOWN_MAPS;
}

/* A MMAP record of the kernel. `reference` is the address of the symbol in the name. */
static void add_kernel_map(struct record_tasks *t, struct str name, uint64_t start,
                           uint64_t size, uint64_t reference)
{
    struct record_maker *m = &t->maker;
    record_begin(m, PERF_MMAP, PERF_MODE_KERNEL);
    record_put_u32(m, UINT32_MAX);
    record_put_u32(m, 0);
    record_put_u64(m, start);
    record_put_u64(m, size);
    record_put_u64(m, reference);
    record_put_text(m, name);
    struct record r = record_end(m, UINT32_MAX, 0, 0);
    record_pass(&t->next, &r);
}

/* /proc/kallsyms is long, but sorted by address, and starts with the kernel's text. */
static uint64_t find_text(void)
{
    char room[32768];
    uint64_t address = 0;
    struct str rest = os_read_text("/proc/kallsyms", room, sizeof room);
    while (rest.len && address == 0) {
        struct str line = str_cut(&rest, '\n'), value = str_word(&line);
        str_word(&line);
        if (str_equal(str_word(&line), STR("_text")))
            number_parse_hex(value, &address);
    }
    return address;
}

/* "  01000000-0220bb07 : Kernel code": 0 if the system hides it. */
static uint64_t text_size(void)
{
    struct os_mapping map;
    struct error ignored;
    uint64_t start, end, size = 0;
    if (!os_mapping_read(&map, "/proc/iomem", (size_t)1 << 20, &ignored))
        return 0;
    struct str rest = map.bytes;
    while (rest.len && size == 0) {
        struct str line = str_cut(&rest, '\n'), range = str_trim(str_cut(&line, ':'));
        struct str first = str_cut(&range, '-');
        if (str_equal(str_trim(line), STR("Kernel code")) &&
            number_parse_hex(first, &start) && number_parse_hex(range, &end) &&
            end > start)
            size = end - start + 1;
    }
    os_mapping_close(&map);
    return size;
}

/* The size of the region of the kernel's image, if its own is not known (Linux,
 * Documentation/arch/x86/x86_64/mm.rst). */
#define TEXT_SIZE_DEFAULT ((uint64_t)512 << 20)

/* "ext4 1011712 2 - Live 0xffffffffc0a41000" */
static void add_modules(struct record_tasks *t)
{
    struct os_mapping map;
    struct error ignored;
    char name[128];
    if (!os_mapping_read(&map, "/proc/modules", (size_t)4 << 20, &ignored))
        return;
    for (struct str rest = map.bytes; rest.len;) {
        struct str line = str_cut(&rest, '\n'), module = str_word(&line), word;
        uint64_t size = 0, address = 0;
        number_parse_u64(str_word(&line), &size);
        for (word = str_word(&line); word.len; word = str_word(&line))
            if (str_starts(word, STR("0x")))
                number_parse_hex(word, &address);
        if (!address || !size || module.len + 3 > sizeof name)
            continue;
        name[0] = '[';
        memcpy(name + 1, module.ptr, module.len);
        name[module.len + 1] = ']';
        add_kernel_map(t, (struct str){name, module.len + 2}, address, size, 0);
    }
    os_mapping_close(&map);
}

bool record_tasks_add_kernel(struct record_tasks *t)
{
    uint64_t text = find_text(), size = text ? text_size() : 0;
    if (!text)
        return false;
    add_kernel_map(t, STR("[kernel.kallsyms]_text"), text,
                   size ? size : TEXT_SIZE_DEFAULT, text);
    add_modules(t);
    return true;
}

bool record_tasks_init(struct record_tasks *t, const struct record_layout *layout,
                       struct record_sink next, struct error *err)
{
    *t = (struct record_tasks){
        .layout = layout, .next = next, .limit = os_pid_max(), .maker.layout = layout};
    t->known = calloc(t->limit, 1);
    return (thread_counts_init(&t->threads, t->limit) && t->known) || error_memory(err);
}

void record_tasks_deinit(struct record_tasks *t)
{
    free(t->known);
    thread_counts_deinit(&t->threads);
    t->known = NULL;
}
