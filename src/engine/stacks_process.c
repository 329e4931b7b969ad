/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a process maps, and the runtime among them. */
#include "base/array.h"
#include "base/format.h"
#include "engine/stacks_parts.h"
#include "os/mapping.h"
#include "os/proc.h"

static object_id request_object(struct stacks_reader *r, const struct os_code *code,
                                struct str path, bool is_jit)
{
    struct object_request request = {
        .path = path,
        .build_id = find_hexadecimal(
            (struct str){(const char *)code->build_id, code->build_id_size}, &r->arena),
        .pid = r->process,
        .kind = is_jit ? FRAME_JIT : FRAME_USER,
        .start = code->start,
        .end = code->end,
        .offset = code->offset,
        .major = code->major,
        .minor = code->minor,
        .inode = code->inode,
        .host = STR(""),
        .release = STR(""),
        .jit_map = STR(""),
    };
    const struct resolver *resolver = &r->symbols.seam;
    return resolver->object(resolver->context, &request);
}

/* The number of the module of a path: a file has several mappings. */
static size_t module_of(struct stacks_reader *r, const struct os_code *code,
                        struct str path, bool is_jit)
{
    for (size_t i = r->module_count; i-- > 0;)
        if (str_equal(r->modules[i].file.path, path))
            return i;
    struct stacks_module *m =
        ARRAY_APPEND(&r->arena, r->modules, r->module_count, r->module_cap);
    if (m)
        *m = (struct stacks_module){
            .file.path = arena_str(&r->out->arena, path),
            .file.start = code->start,
            .file.offset = code->offset,
            .file.build_id = find_hexadecimal(
                (struct str){(const char *)code->build_id, code->build_id_size},
                &r->arena),
            .object = request_object(r, code, path, is_jit),
            .is_jit = is_jit};
    return r->module_count - 1;
}

void stacks_add_code(void *context, const struct os_code *code)
{
    struct stacks_reader *r = context;
    char map[64];
    bool is_jit = str_starts(code->path, STR("//anon"));
    struct str path = code->path;
    if (is_jit)
        path = (struct str){map, format_text(map, sizeof map, "/tmp/perf-%lld.map",
                                             (long long)r->out->pid)};
    size_t module = module_of(r, code, path, is_jit);
    if (r->arena.failed || r->module_count == 0)
        return;
    struct address_map added = {.start = code->start,
                                .end = code->end,
                                .offset = is_jit ? code->start : code->offset,
                                .object = r->modules[module].object,
                                .tag = (uint32_t)module};
    if (str_equal(path, STR("[vdso]")))
        added.offset = 0;
    r->space = space_add(&r->spaces, r->space, &added);
}

static void add_range(void *context, uint64_t start, uint64_t end)
{
    struct stacks_reader *r = context;
    struct stacks_range *range =
        ARRAY_APPEND(&r->arena, r->ranges, r->range_count, r->range_cap);
    if (range)
        *range = (struct stacks_range){start, end};
}

static bool read_process(void *context, uint64_t address, void *into, size_t size)
{
    struct stacks_reader *r = context;
    return os_process_read(r->process, address, into, size);
}

bool stacks_read_process(struct stacks_reader *r, struct error *err)
{
    uint32_t pid = (uint32_t)r->process;
    r->read = read_process;
    if (!os_process_ranges(pid, add_range, r) ||
        os_process_code_ids(pid, pid, stacks_add_code, r) == 0) {
        error_set(err, "the memory of process %u is not accessible", pid);
        return error_hint(err,
                          "run as the user of the process or as root; threads of the "
                          "kernel have no memory of their own");
    }
    return !(r->arena.failed || r->spaces.arena.failed) || error_memory(err);
}

/* --- The runtime -------------------------------------------------------------------- */

static bool find_symbol(void *context, size_t module, struct str name, uint64_t *address)
{
    struct stacks_reader *r = context;
    struct stacks_module *m = &r->modules[module];
    return !m->is_jit &&
           mapped_file_open(&m->file, (uint32_t)r->process, &r->symbols.settings.find,
                            &r->arena) &&
           mapped_file_symbol(&m->file, name, address);
}

void stacks_close_modules(struct stacks_reader *r)
{
    for (size_t i = 0; i < r->module_count; i++)
        mapped_file_close(&r->modules[i].file);
}

bool stacks_find_runtime(struct stacks_reader *r, struct error *err)
{
    struct stacks *s = r->out;
    struct error why;
    r->paths = arena_zalloc(&r->arena, r->module_count, sizeof *r->paths);
    if (!r->paths)
        return error_memory(err);
    for (size_t i = 0; i < r->module_count; i++)
        r->paths[i] = r->modules[i].file.path;
    r->access = (struct interpreter_access)
    {
        .context = r,
#if defined(__x86_64__)
        .machine = r->process ? ARCH_X86_64 : r->core.machine,
#endif
        .first_tid = (uint64_t)(r->process ? os_process_own_pid((int64_t)r->process)
                                           : r->core.pid),
        .modules = r->paths, .module_count = r->module_count, .read = r->read,
        .symbol = find_symbol,
    };
    for (size_t i = 0; interpreters[i]; i++) {
        enum interpreter_found found =
            interpreter_find(interpreters[i], &r->access, &s->arena, &s->runtime, &why);
        if (found == INTERPRETER_FOUND) {
            s->runtime_module = r->paths[s->runtime.module];
            return true;
        }
        s->runtime.interpreter = NULL;
        if (found == INTERPRETER_REFUSED)
            s->refused = arena_str(&s->arena, str_of(why.message));
    }
    return true;
}
