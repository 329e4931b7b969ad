/* SPDX-License-Identifier: Apache-2.0 */
/* The process of a core file: its mappings, its memory and its threads. */
#include "base/array.h"
#include "base/format.h"
#include "engine/stacks_parts.h"
#include "os/proc.h"

/* Largest part of a stack that is unwound: what the system allows by default. */
#define STACK_MAX ((uint64_t)8 << 20)

/* Each mapping is compared with segments, files and modules: how many comparisons are made. */
#define TESTS_MAX ((uint64_t)1 << 28)

#define FIRST_PAGE 4096 /* the kernel dumps this much of each ELF file */

/* --- Memory ------------------------------------------------------------------------- */

/* Bytes of a mapped file, which the core leaves out. Only modules are open. */
static struct str file_bytes(struct stacks_reader *r, uint64_t address)
{
    const struct core_file *f = core_file_at(&r->core, address);
    for (size_t i = 0; f && i < r->module_count; i++) {
        struct stacks_module *m = &r->modules[i];
        if (!str_equal(m->file.path, f->path))
            continue;
        if (!mapped_file_open(&m->file, 0, &r->symbols.settings.find, &r->arena))
            break;
        uint64_t into = address - f->start, offset;
        if (__builtin_add_overflow(f->offset, into, &offset))
            break;
        return str_part(m->file.found.elf.file, offset, f->end - address);
    }
    return STR("");
}

static bool read_core(void *context, uint64_t address, void *into, size_t size)
{
    struct stacks_reader *r = context;
    char *to = into;
    while (size) {
        struct str part = elf_bytes_at(&r->core.elf, address, size);
        if (part.len == 0)
            part = str_head(file_bytes(r, address), size);
        if (part.len == 0)
            return false;
        size_t count = part.len < size ? part.len : size;
        memcpy(to, part.ptr, count);
        to += count;
        address += count;
        size -= count;
    }
    return true;
}

/* --- Mappings ----------------------------------------------------------------------- */

/* The build ID from the first page of the file, which the core usually has. */
static void set_build_id(struct stacks_reader *r, const struct core_file *f,
                         struct os_code *code)
{
    struct elf e;
    struct error ignored;
    for (size_t i = 0; i < r->core.file_count; i++) {
        const struct core_file *first = &r->core.files[i];
        if (first->offset != 0 || !str_equal(first->path, f->path))
            continue;
        struct str bytes = elf_bytes_at(&r->core.elf, first->start, FIRST_PAGE);
        if (bytes.len == 0 || !elf_init(&e, bytes, &r->arena, &ignored))
            return;
        struct str id = elf_build_id(&e);
        if (id.len > OS_BUILD_ID_MAX)
            return;
        memcpy(code->build_id, id.ptr, id.len);
        code->build_id_size = id.len;
        return;
    }
}

bool stacks_open_core(struct stacks_reader *r, struct error *err)
{
    struct stacks *s = r->out;
    uint64_t tests = 0;
    if (!os_mapping_open(&r->mapping, r->request->core, err) ||
        !core_init(&r->core, r->mapping.bytes, &r->arena, err))
        return error_hint(err, "stoke stacks PID; 'pgrep -a NAME' lists processes; or a "
                               "core file of the kernel or of gcore");
    r->read = read_core;
    s->pid =
        r->core.pid ? r->core.pid : (r->core.thread_count ? r->core.threads[0].tid : 0);
    s->command =
        arena_str(&s->arena, r->core.command.len ? r->core.command : r->core.name);
    s->core = arena_str(&s->arena, str_of(r->request->core));
    s->signal = r->core.signal;
    s->missing = r->core.missing;
    s->rejected = r->core.rejected;
    for (size_t i = 0; i < r->core.file_count; i++) {
        const struct core_file *f = &r->core.files[i];
        tests += r->core.elf.segment_count + r->core.file_count + r->module_count;
        if (tests > TESTS_MAX) {
            s->rejected += r->core.file_count - i;
            break;
        }
        if (core_is_code(&r->core, f->start) == 0)
            continue;
        struct os_code code = {
            .start = f->start, .end = f->end, .offset = f->offset, .path = f->path};
        set_build_id(r, f, &code);
        stacks_add_code(r, &code);
    }
    return !(r->arena.failed || r->spaces.arena.failed) || error_memory(err);
}

/* --- Threads ------------------------------------------------------------------------ */

bool stacks_capture_core(struct stacks_reader *r, struct error *err)
{
    struct stacks *s = r->out;
    size_t count = r->core.thread_count;
    if (count == 0) {
        if (r->core.missing)
            return error_set(err,
                             "the core file is truncated: %llu bytes are missing, "
                             "among them the threads",
                             (unsigned long long)r->core.missing);
        return error_set(err, "the core file has no threads: its notes are missing");
    }
    r->captures = arena_zalloc(&r->arena, count, sizeof *r->captures);
    s->threads = arena_zalloc(&s->arena, count, sizeof *s->threads);
    if (!r->captures || !s->threads)
        return error_memory(err);
    for (size_t i = 0; i < count; i++) {
        const struct core_thread *from = &r->core.threads[i];
        struct stacks_capture *c = &r->captures[i];
        struct stacks_thread *t = &s->threads[i];
        *c = (struct stacks_capture){.own_tid = (uint64_t)from->tid, .stack = STR("")};
        c->registers.machine = r->core.machine;
        memcpy(c->registers.values, from->values, sizeof from->values);
        c->registers.present = from->present;
        c->registers.stack_pointer = from->stack_pointer;
        c->registers.thread_pointer = from->thread_pointer;
        if (!r->request->interpreted)
            c->stack = elf_bytes_at(&r->core.elf, from->stack_pointer, STACK_MAX);
        *t = (struct stacks_thread){.tid = from->tid,
                                    .name = arena_str(&s->arena, r->core.name)};
        t->state = (struct os_thread_state){STACKS_OF_CORE, OS_CALL_NONE};
        if (!stacks_read_interpreted(r, t, c))
            return error_memory(err);
    }
    s->count = count;
    return true;
}
