/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/runtime.h"
#include "base/array.h"
#include "base/hash.h"
#include "os/inspect.h"
#include "os/proc.h"
#include "resolve/mapped_file.h"
#include "symbol/symtab.h"

/* Addresses whose roles are cached: a hostile process makes up many. */
#define ROLES_MAX 65536

#define ABSENT_MAX 65536

static void add_code(void *context, const struct os_code *code)
{
    struct process_runtime *r = context;
    if (code->path.len == 0 || code->path.ptr[0] != '/' ||
        str_starts(code->path, STR("//")))
        return;
    for (size_t i = r->module_count; i-- > 0;)
        if (str_equal(r->modules[i].path, code->path))
            return;
    r->set = hash_mix(r->set ^ code->inode, hash_bytes(code->path.ptr, code->path.len));
    struct mapped_file *m =
        ARRAY_APPEND(&r->arena, r->modules, r->module_count, r->module_cap);
    if (m)
        *m = (struct mapped_file){.path = arena_str(&r->arena, code->path),
                                  .start = code->start,
                                  .offset = code->offset};
}

static bool read_memory(void *context, uint64_t address, void *into, size_t size)
{
    const struct process_runtime *r = context;
    return os_process_read(r->pid, address, into, size);
}

static bool find_symbol(void *context, size_t module, struct str name, uint64_t *address)
{
    static const struct find_settings find = {.no_debuginfod = true};
    struct process_runtime *r = context;
    struct mapped_file *m = &r->modules[module];
    return mapped_file_open(m, r->pid, &find, &r->arena) &&
           mapped_file_symbol(m, name, address);
}

/* Keeps what roles need: the code of the runtime's module and its symbols. */
static void add_runtime_code(void *context, const struct os_code *code)
{
    struct process_runtime *r = context;
    struct process_code *added =
        str_equal(code->path, r->module)
            ? ARRAY_APPEND(&r->arena, r->code, r->code_count, r->code_cap)
            : NULL;
    if (added)
        *added = (struct process_code){code->start, code->end, code->offset};
}

static void load_module(struct process_runtime *r)
{
    struct mapped_file *m = &r->modules[r->runtime.module];
    struct error ignored;
    uint64_t bias;
    r->module = m->path;
    os_process_code(r->pid, r->pid, add_runtime_code, r);
    if (mapped_file_bias(m, &bias) &&
        symtab_init(&r->symbols, &m->found.elf, NULL, &r->arena, &ignored))
        r->moved = (int64_t)bias;
}

static void find_runtime(struct process_runtime *r)
{
    struct str *paths = arena_zalloc(&r->arena, r->module_count + 1, sizeof *paths);
    for (size_t i = 0; paths && i < r->module_count; i++)
        paths[i] = r->modules[i].path;
    r->access = (struct interpreter_access)
    {
        .context = r,
#if defined(__x86_64__)
        .machine = ARCH_X86_64,
#elif defined(__aarch64__)
        .machine = ARCH_ARM64,
#endif
        .modules = paths, .module_count = paths ? r->module_count : 0,
        .read = read_memory, .symbol = find_symbol,
    };
    for (size_t i = 0; interpreters[i]; i++) {
        struct error why = {0};
        if (r->only && strcmp(r->only, interpreters[i]->name) != 0)
            continue;
        enum interpreter_found found =
            interpreter_find(interpreters[i], &r->access, &r->arena, &r->runtime, &why);
        if (found == INTERPRETER_FOUND) {
            load_module(r);
            return;
        }
        r->runtime.interpreter = NULL;
        if (found == INTERPRETER_REFUSED)
            r->refused = why;
    }
}

/* Searches for a runtime unless the same modules had none. */
static void find_unless_absent(struct process_runtime *r, struct runtimes_absent *absent)
{
    if (absent->sets.count > ABSENT_MAX) {
        arena_deinit(&absent->arena);
        absent->sets = (struct idmap){0};
    }
    uint64_t *known = idmap_put(&absent->sets, &absent->arena, r->set);
    if (known && *known)
        return;
    find_runtime(r);
    if (known && !r->runtime.interpreter && !r->refused.message[0])
        *known = 1;
}

struct process_runtime *process_runtime_create(uint32_t pid, const char *only,
                                               struct runtimes_absent *absent)
{
    struct process_runtime *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    *r = (struct process_runtime){.pid = pid, .only = only, .module = STR("")};
    os_process_code(pid, pid, add_code, r);
    if (r->module_count && absent)
        find_unless_absent(r, absent);
    else if (r->module_count)
        find_runtime(r);
    if (!r->arena.failed)
        return r;
    process_runtime_destroy(r);
    return NULL;
}

void process_runtime_destroy(struct process_runtime *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->module_count; i++)
        mapped_file_close(&r->modules[i]);
    arena_deinit(&r->roles_arena);
    arena_deinit(&r->arena);
    free(r);
}

/* --- Roles -------------------------------------------------------------------------- */

static bool is_in_module(const struct process_runtime *r, uint64_t address)
{
    for (size_t i = 0; i < r->code_count; i++)
        if (address >= r->code[i].start && address < r->code[i].end)
            return true;
    return false;
}

static enum interpreter_native find_role(const struct process_runtime *r,
                                         uint64_t address)
{
    struct symbol found;
    if (!symbol_table_find(&r->symbols, address - (uint64_t)r->moved, &found))
        return NATIVE_UNNAMED;
    return r->runtime.interpreter->native(found.name);
}

enum interpreter_native process_runtime_role(struct process_runtime *r, uint64_t address,
                                             bool is_call)
{
    uint64_t pc = address - is_call;
    if (!is_in_module(r, pc))
        return NATIVE_WORK;
    if (r->roles.count > ROLES_MAX) {
        arena_deinit(&r->roles_arena);
        r->roles = (struct idmap){0};
    }
    uint64_t *known = idmap_put(&r->roles, &r->roles_arena, pc);
    if (known && !*known)
        *known = (uint64_t)find_role(r, pc) + 1;
    return known ? (enum interpreter_native)(*known - 1) : NATIVE_UNNAMED;
}
