/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/runtime.h"
#include "base/array.h"
#include "base/hash.h"
#include "os/inspect.h"
#include "os/mapping.h"
#include "os/proc.h"

#define ABSENT_MAX 65536

void runtimes_init(struct runtimes *known, bool isolated)
{
    *known = (struct runtimes){.absent = {0}};
    runtime_files_init(&known->files, isolated);
}

void runtimes_deinit(struct runtimes *known)
{
    runtime_files_deinit(&known->files);
    arena_deinit(&known->arena);
}

/* --- The search --------------------------------------------------------------------- */

static uint64_t hash_file(const struct os_code *code)
{
    uint64_t device = (uint64_t)code->major << 32 | code->minor;
    uint64_t hash = hash_mix(code->inode ^ HASH_A, device ^ HASH_B);
    return hash_mix(hash ^ code->offset, hash_bytes(code->path.ptr, code->path.len));
}

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
    struct runtime_mapping *m =
        ARRAY_APPEND(&r->arena, r->modules, r->module_count, r->module_cap);
    if (m)
        *m = (struct runtime_mapping){.path = arena_str(&r->arena, code->path),
                                      .start = code->start,
                                      .offset = code->offset,
                                      .file = hash_file(code)};
}

static bool read_memory(void *context, uint64_t address, void *into, size_t size)
{
    const struct process_runtime *r = context;
    return os_process_read(r->pid, address, into, size);
}

static bool find_symbol(void *context, size_t module, struct str name, uint64_t *address)
{
    const struct process_runtime *r = context;
    return runtime_files_symbol(&r->known->files, r->pid, &r->modules[module], name,
                                address);
}

/* Keeps what roles need: where the code of the runtime's module is. */
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
    const struct runtime_mapping *m = &r->modules[r->runtime.module];
    r->module = m->path;
    os_process_code(r->pid, r->pid, add_runtime_code, r);
    r->roles = runtime_files_roles(&r->known->files, r->pid, m, r->runtime.interpreter,
                                   &r->bias);
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
        .first_tid = (uint64_t)os_process_own_pid(r->pid), .modules = paths,
        .module_count = paths ? r->module_count : 0, .read = read_memory,
        .symbol = find_symbol,
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
        r->is_starting |= found == INTERPRETER_STARTING;
        if (found == INTERPRETER_REFUSED)
            r->refused = why;
    }
}

/* Searches for a runtime unless the same modules had none. */
static void find_unless_absent(struct process_runtime *r)
{
    struct runtimes *known = r->known;
    if (known->absent.count > ABSENT_MAX) {
        arena_deinit(&known->arena);
        known->absent = (struct idmap){0};
    }
    uint64_t *absent = idmap_put(&known->absent, &known->arena, r->set);
    if (absent && *absent)
        return;
    find_runtime(r);
    if (absent && !r->runtime.interpreter && !r->refused.message[0] && !r->is_starting)
        *absent = 1;
}

struct process_runtime *process_runtime_create(uint32_t pid, const char *only,
                                               struct runtimes *known)
{
    struct process_runtime *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    *r = (struct process_runtime){
        .known = known, .pid = pid, .only = only, .module = STR("")};
    os_process_code(pid, pid, add_code, r);
    if (r->module_count)
        find_unless_absent(r);
    runtime_files_rest(&known->files);
    if (!r->arena.failed)
        return r;
    process_runtime_destroy(r);
    return NULL;
}

void process_runtime_destroy(struct process_runtime *r)
{
    if (!r)
        return;
    runtime_files_leave(&r->known->files, r->roles);
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

enum interpreter_native process_runtime_role(const struct process_runtime *r,
                                             uint64_t address, bool is_call)
{
    uint64_t pc = address - is_call;
    if (!is_in_module(r, pc))
        return NATIVE_WORK;
    return r->roles ? runtime_roles_find(r->roles, pc - r->bias) : NATIVE_UNNAMED;
}
