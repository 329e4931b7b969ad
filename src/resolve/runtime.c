/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/runtime.h"
#include "base/array.h"
#include "base/hash.h"
#include "os/inspect.h"
#include "os/mapping.h"
#include "os/proc.h"
#include "resolve/mapped_file.h"
#include "symbol/symbol_table.h"
#include "symbol/symtab.h"

/* Addresses whose roles are cached: a hostile process makes up many. */
#define ROLES_MAX 65536

#define ABSENT_MAX 65536

/* Files whose symbols remain although no process has them any more: its next process may start
 * soon. */
#define UNUSED_FILES_MAX 16

static const struct find_settings find_file = {.no_debuginfod = true};

/* --- Symbols of files --------------------------------------------------------------- */

struct runtime_symbols {
    struct runtime_symbols *next;
    uint64_t file; /* as in struct process_runtime */
    size_t users;  /* processes */
    struct arena arena;
    struct mapped_file module; /* open: the names are in it */
    struct symbol_table table;
    struct arena roles_arena;
    struct idmap roles; /* by address in the file: 1 + enum interpreter_native */
};

static void symbols_destroy(struct runtime_symbols *s)
{
    mapped_file_close(&s->module);
    arena_deinit(&s->roles_arena);
    arena_deinit(&s->arena);
    free(s);
}

/* NULL if they cannot be read. */
static struct runtime_symbols *symbols_create(const struct mapped_file *m, uint32_t pid)
{
    struct runtime_symbols *s = calloc(1, sizeof *s);
    struct error ignored;
    if (!s)
        return NULL;
    s->module = (struct mapped_file){.path = arena_str(&s->arena, m->path),
                                     .build_id = STR(""),
                                     .start = m->start,
                                     .offset = m->offset};
    if (mapped_file_open(&s->module, pid, &find_file, &s->arena) &&
        symtab_init(&s->table, &s->module.found.elf, NULL, &s->arena, &ignored)) {
        os_mapping_release(
            &s->module.found.mapping); /* few names of many are read again */
        return s;
    }
    symbols_destroy(s);
    return NULL;
}

/* The symbols of a process's file, which it then uses. NULL if they cannot be read. */
static struct runtime_symbols *use_symbols(struct runtimes *known, uint64_t file,
                                           const struct mapped_file *m, uint32_t pid)
{
    struct runtime_symbols *s = known->files;
    while (s && !(s->file == file && str_equal(s->module.path, m->path)))
        s = s->next;
    if (!s && (s = symbols_create(m, pid)) != NULL) {
        s->file = file;
        s->next = known->files;
        known->files = s;
        known->file_count++;
    }
    if (s)
        s->users++;
    return s;
}

static void leave_symbols(struct runtimes *known, struct runtime_symbols *s)
{
    struct runtime_symbols **at = &known->files;
    if (!s || --s->users || known->file_count <= UNUSED_FILES_MAX)
        return;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    known->file_count--;
    symbols_destroy(s);
}

void runtimes_deinit(struct runtimes *known)
{
    while (known->files) {
        struct runtime_symbols *s = known->files;
        known->files = s->next;
        symbols_destroy(s);
    }
    arena_deinit(&known->arena);
    *known = (struct runtimes){0};
}

/* --- The search --------------------------------------------------------------------- */

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
    struct process_runtime *r = context;
    struct mapped_file *m = &r->modules[module];
    return mapped_file_open(m, r->pid, &find_file, &r->arena) &&
           mapped_file_symbol(m, name, address);
}

static uint64_t hash_file(const struct os_code *code)
{
    return hash_mix(code->inode, hash_bytes(code->path.ptr, code->path.len));
}

/* Keeps what roles need: where the code of the runtime's module is. */
static void add_runtime_code(void *context, const struct os_code *code)
{
    struct process_runtime *r = context;
    struct process_code *added =
        str_equal(code->path, r->module)
            ? ARRAY_APPEND(&r->arena, r->code, r->code_count, r->code_cap)
            : NULL;
    if (!added)
        return;
    *added = (struct process_code){code->start, code->end, code->offset};
    r->file = hash_file(code);
}

/* The search for a symbol reads much of a file. */
static void release_modules(const struct process_runtime *r)
{
    for (size_t i = 0; i < r->module_count; i++)
        os_mapping_release(&r->modules[i].found.mapping);
}

static void load_module(struct process_runtime *r)
{
    struct mapped_file *m = &r->modules[r->runtime.module];
    uint64_t bias;
    release_modules(r);
    r->module = m->path;
    os_process_code(r->pid, r->pid, add_runtime_code, r);
    if (!mapped_file_bias(m, &bias))
        return;
    r->symbols = use_symbols(r->known, r->file, m, r->pid);
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
    release_modules(r);
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
    leave_symbols(r->known, r->symbols);
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
    if (!symbol_table_find(&r->symbols->table, address, &found))
        return NATIVE_UNNAMED;
    return r->runtime.interpreter->native(found.name);
}

enum interpreter_native process_runtime_role(struct process_runtime *r, uint64_t address,
                                             bool is_call)
{
    uint64_t pc = address - is_call;
    if (!is_in_module(r, pc))
        return NATIVE_WORK;
    struct runtime_symbols *s = r->symbols;
    if (!s)
        return NATIVE_UNNAMED;
    if (s->roles.count > ROLES_MAX) {
        arena_deinit(&s->roles_arena);
        s->roles = (struct idmap){0};
    }
    uint64_t at = pc - (uint64_t)r->moved;
    uint64_t *known = idmap_put(&s->roles, &s->roles_arena, at);
    if (known && !*known)
        *known = (uint64_t)find_role(r, at) + 1;
    return known ? (enum interpreter_native)(*known - 1) : NATIVE_UNNAMED;
}
