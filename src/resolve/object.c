/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/object.h"
#include "base/format.h"
#include "base/hash.h"
#include "os/child.h"
#include "resolve/code_version.h"
#include "resolve/kernel.h"
#include "symbol/perf_map.h"
#include "symbol/symtab.h"
#include <stdlib.h>

#define PAGE ((uint64_t)4096)
#define SHARED_FILE_MAX ((uint64_t)1 << 30)

/* Smaller tables are built as fast as they are loaded. */
#define CACHED_TABLE_MIN ((size_t)64 << 10)

static bool is_jitdump(struct str path)
{
    struct str base = str_basename(path);
    return str_starts(base, STR("jit-")) && str_ends(base, STR(".dump")) &&
           find_is_path(path);
}

struct object *object_create(const struct object_request *request)
{
    struct object *o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    o->request = *request;
    o->request.path = arena_str(&o->arena, request->path);
    o->request.build_id = arena_str(&o->arena, request->build_id);
    o->request.release = arena_str(&o->arena, request->release);
    o->request.host = arena_str(&o->arena, request->host);
    o->request.jit_map = arena_str(&o->arena, request->jit_map);
    o->unpacked = &o->alone;
    o->is_dump = request->kind == FRAME_USER && is_jitdump(request->path);
    o->file.mapping = o->debug.mapping = o->alternate.mapping = o->text = OS_MAPPING_NONE;
    if (!o->arena.failed && os_lock_init(&o->lock) && os_lock_init(&o->table_lock))
        return o;
    object_destroy(o);
    return NULL;
}

void object_destroy(struct object *o)
{
    if (!o)
        return;
    split_deinit(&o->split);
    name_cache_close(&o->names);
    os_mapping_close(&o->file.mapping);
    os_mapping_close(&o->debug.mapping);
    os_mapping_close(&o->alternate.mapping);
    os_mapping_close(&o->text);
    arena_deinit(&o->arena);
    arena_deinit(&o->table_arena);
    os_lock_deinit(&o->lock);
    os_lock_deinit(&o->table_lock);
    free(o);
}

static bool is_vdso(const struct object *o)
{
    return str_equal(o->request.path, STR("[vdso]"));
}

/* Returns true if the vDSO of the running kernel is the recorded one: by its build ID,
 * or, in recordings without one, by the kernel's release. */
static bool is_own_vdso(struct object *o, const struct resolve_settings *s)
{
    char room[256];
    struct error ignored;
    struct str id = o->request.build_id, release = o->request.release;
    if (s->find.symfs || !elf_init(&o->file.elf, os_vdso(), &o->arena, &ignored))
        return false;
    if (id.len)
        return find_same_build_id(
            id, find_hexadecimal(elf_build_id(&o->file.elf), &o->arena));
    return release.len == 0 || str_equal(release, os_kernel_release(room, sizeof room));
}

static void find_vdso(struct object *o, const struct resolve_settings *s)
{
    char path[4096];
    struct error ignored;
    struct str id = o->request.build_id;
    if (is_own_vdso(o, s)) {
        o->result = FIND_FOUND;
        return;
    }
    if (find_cached(id, "vdso", path, sizeof path) &&
        os_mapping_open(&o->file.mapping, path, &ignored) &&
        elf_init(&o->file.elf, o->file.mapping.bytes, &o->arena, &ignored))
        o->result = FIND_FOUND;
}

static void search(struct object *o, const struct resolve_settings *s)
{
    if (o->searched)
        return;
    o->searched = true;
    o->alone.limits = s->find.limits;
    if (o->request.kind == FRAME_KERNEL || o->request.kind == FRAME_GUEST)
        return;
    if (is_vdso(o))
        find_vdso(o, s);
    else if (o->request.kind != FRAME_JIT && !o->is_dump)
        o->result = find_object(&s->find, &o->request, &o->file, &o->other, &o->arena);
    o->file.elf.unpacked = o->unpacked;
    if (is_vdso(o) || o->request.kind == FRAME_JIT || o->is_dump)
        return;
    bool found = o->result == FIND_FOUND;
    o->beside =
        find_beside(&s->find, &o->request, found ? o->file.path : STR(""), &o->arena);
    find_debug(&s->find, found ? &o->file.elf : NULL, o->request.build_id, &o->beside,
               &o->debug, &o->arena);
    o->is_stripped =
        found && !o->debug.mapping.map && !elf_section_typed(&o->file.elf, ELF_SYMTAB);
    o->has_build_id = found && elf_build_id(&o->file.elf).len;
    o->debug.elf.unpacked = o->unpacked;
}

static struct elf *debug_elf(struct object *o)
{
    return o->debug.mapping.map ? &o->debug.elf : NULL;
}

/* --- Unwinding --------------------------------------------------------------------- */

static bool cache_path(const struct object *o, const struct resolve_settings *s,
                       char *path, size_t size)
{
    struct arena scratch = ARENA_INIT;
    struct str id = find_hexadecimal(elf_build_id(&o->file.elf), &scratch);
    bool ok = s->cache_dir && id.len >= 16 &&
              format_text(path, size, "%s/unwind/%.*s-%016llx", s->cache_dir, STR_ARG(id),
                          CODE_VERSION) +
                      1 <
                  size;
    arena_deinit(&scratch);
    return ok;
}

static bool load_table(struct object *o, const struct unwind_source *source,
                       const char *path)
{
    struct os_mapping m;
    struct error ignored;
    if (!os_cache_open(&m, path))
        return false;
    bool ok = unwind_table_load(&o->table, m.bytes, source, &o->table_arena, &ignored);
    os_mapping_close(&m); /* the table is a copy */
    return ok;
}

static bool make_table(struct object *o, const struct resolve_settings *s)
{
    struct unwind_source source;
    struct error ignored;
    char path[4096];
    os_lock_acquire(&o->lock);
    search(o, s);
    bool found = o->result == FIND_FOUND;
    if (found)
        unwind_source_of(&source, &o->file.elf, debug_elf(o));
    os_lock_release(&o->lock);
    if (!found)
        return false;
    size_t size = 0;
    for (size_t i = 0; i < source.section_count; i++)
        size += source.sections[i].bytes.len;
    bool cached = size >= CACHED_TABLE_MIN && cache_path(o, s, path, sizeof path);
    bool loaded = cached && load_table(o, &source, path);
    if (!loaded && !unwind_table_build(&o->table, &source, &o->table_arena, &ignored))
        return false;
    if (cached && !loaded)
        os_cache_write(path, unwind_table_bytes(&o->table, &o->table_arena));
    if (!source.is_go || !unwind_table_go_code(&o->table, &o->go_start, &o->go_end))
        o->go_start = o->go_end = 0;
    return true;
}

const struct unwind_table *object_unwind_table(struct object *o,
                                               const struct resolve_settings *s)
{
    int state = __atomic_load_n(&o->table_state, __ATOMIC_ACQUIRE);
    if (state == 0) {
        os_lock_acquire(&o->table_lock);
        state = o->table_state;
        if (state == 0) {
            state = make_table(o, s) ? 2 : 1;
            __atomic_store_n(&o->table_state, state, __ATOMIC_RELEASE);
        }
        os_lock_release(&o->table_lock);
    }
    return state == 2 ? &o->table : NULL;
}

/* Prepares tables of single functions for a large file; false if the file is small, or
 * has no list of functions. */
static bool find_functions(struct object *o, const struct resolve_settings *s)
{
    struct unwind_source source;
    search(o, s);
    if (o->result != FIND_FOUND)
        return false;
    unwind_source_of(&source, &o->file.elf, debug_elf(o));
    return source.section_count && source.sections[0].bytes.len >= CACHED_TABLE_MIN &&
           unwind_functions_init(&o->functions, &source, &o->file.elf, &o->arena);
}

const struct unwind_table *object_unwind_table_at(struct object *o,
                                                  const struct resolve_settings *s,
                                                  uint64_t offset)
{
    if (!o->searched)
        o->by_function = find_functions(o, s);
    return o->by_function ? unwind_functions_table(&o->functions, offset)
                          : object_unwind_table(o, s);
}

bool object_is_go_code(struct object *o, const struct resolve_settings *s,
                       uint64_t offset)
{
    uint64_t address;
    const struct unwind_table *whole = object_unwind_table_at(o, s, 0);
    return whole && !o->by_function && o->go_end &&
           unwind_table_address(whole, offset, &address) && address >= o->go_start &&
           address < o->go_end;
}

bool object_uses_frame_pointers(struct object *o, const struct resolve_settings *s)
{
    const struct unwind_table *whole = object_unwind_table_at(o, s, 0);
    return o->by_function ? unwind_functions_use_frame_pointers(&o->functions)
                          : whole && unwind_table_uses_frame_pointers(whole);
}

/* --- Names ------------------------------------------------------------------------- */

/* Files that a process writes about its own code are in /tmp (of its own root, in a
 * container) and must belong to the user of the process. */
static bool open_shared_at(const struct object *o, const struct resolve_settings *s,
                           const char *path, struct os_mapping *m, struct error *err)
{
    char inside[8192];
    struct error ignored;
    uint32_t owner;
    if (s->find.symfs) {
        format_text(inside, sizeof inside, "%s%s", s->find.symfs, path);
        return os_mapping_open_shared(m, inside, os_user(), SHARED_FILE_MAX, err);
    }
    if (!os_process_owner(o->request.pid, &owner)) {
        struct os_user_ids person = os_invoking_user();
        owner = person.other ? person.user : os_user();
        return os_mapping_open_shared(m, path, owner, SHARED_FILE_MAX, err);
    }
    format_text(inside, sizeof inside, "/proc/%lld/root%s", (long long)o->request.pid,
                path);
    return os_mapping_open_shared(m, inside, owner, SHARED_FILE_MAX, &ignored) ||
           os_mapping_open_shared(m, path, owner, SHARED_FILE_MAX, err);
}

static bool open_shared(struct object *o, const struct resolve_settings *s,
                        const char *path, struct os_mapping *m)
{
    struct error err = {.message = ""};
    if (open_shared_at(o, s, path, m, &err))
        return true;
    o->refused = arena_str(&o->arena, str_of(err.message));
    return false;
}

static void read_perf_map(struct object *o, const struct resolve_settings *s)
{
    char path[4096];
    struct error ignored;
    uint64_t bad;
    int64_t pid = os_process_own_pid(o->request.pid);
    struct str text = o->request.jit_map;
    o->addressing = BY_ADDRESS;
    format_text(path, sizeof path, "/tmp/perf-%lld.map", (long long)pid);
    if (text.len == 0 && open_shared(o, s, path, &o->text))
        text = o->text.bytes;
    if (text.len)
        o->has_symbols = perf_map_init(&o->symbols, text, &o->arena, &bad, &ignored);
}

static bool read_jitdump(struct object *o, const struct resolve_settings *s)
{
    char path[4096];
    struct error err;
    format_text(path, sizeof path, "%.*s", STR_ARG(o->request.path));
    if (!open_shared(o, s, path, &o->text))
        return false;
    if (jitdump_init(&o->jit, o->text.bytes, &o->arena, &err))
        return true;
    format_text(path, sizeof path, "%.*s: %s", STR_ARG(o->request.path), err.message);
    o->refused = arena_str(&o->arena, str_of(path));
    return false;
}

const struct jitdump *object_jitdump(struct object *o, const struct resolve_settings *s)
{
    struct object *dump =
        o->process_dump ? __atomic_load_n(o->process_dump, __ATOMIC_ACQUIRE) : NULL;
    if (!dump)
        return NULL;
    int state = __atomic_load_n(&dump->jit_state, __ATOMIC_ACQUIRE);
    if (state == 0) {
        os_lock_acquire(&dump->lock);
        state = dump->jit_state;
        if (state == 0) {
            state = read_jitdump(dump, s) ? 2 : 1;
            __atomic_store_n(&dump->jit_state, state, __ATOMIC_RELEASE);
        }
        os_lock_release(&dump->lock);
    }
    return state == 2 ? &dump->jit : NULL;
}

static uint64_t page_below(uint64_t address)
{
    return address & ~(PAGE - 1);
}

/* Finds the distance between the program's addresses and those in a debug file, whose
 * offsets are not those of the program. It is known if the recorded mapping is that of
 * the only executable segment. If that segment is the first one, the kernel maps the
 * whole file with it, and then the others over it. */
static bool find_moved(struct object *o)
{
    const struct elf *e = &o->debug.elf;
    const struct object_request *w = &o->request;
    const struct elf_segment *code = NULL;
    uint64_t first = UINT64_MAX, last = 0;
    for (size_t i = 0; i < e->segment_count; i++) {
        const struct elf_segment *s = &e->segments[i];
        if (s->type != ELF_PT_LOAD)
            continue;
        if (s->memory_size > UINT64_MAX - s->address - PAGE ||
            (code && s->flags & ELF_PF_X))
            return false;
        code = s->flags & ELF_PF_X ? s : code;
        first = s->address < first ? s->address : first;
        last = s->address + s->memory_size > last ? s->address + s->memory_size : last;
    }
    if (!code)
        return false;
    uint64_t low = page_below(code->address), size = w->end - w->start;
    uint64_t high = page_below(code->address + code->memory_size + PAGE - 1);
    o->addressing = BY_ADDRESS;
    o->moved = w->offset - low;
    return size == high - low ||
           (code->address == first && size == page_below(last + PAGE - 1) - low);
}

static void read_file(struct object *o, const struct resolve_settings *s)
{
    struct error ignored;
    bool found = o->result == FIND_FOUND;
    struct elf *debug = debug_elf(o), *with_dwarf = debug ? debug : &o->file.elf;
    o->has_symbols = symtab_init(&o->symbols, found ? &o->file.elf : debug,
                                 found ? debug : NULL, &o->arena, &ignored);
    if (s->no_inline && s->no_lines)
        return;
    o->has_go = found && go_table_init(&o->go, &o->file.elf);
    struct str path = debug ? o->debug.path : o->file.path;
    bool dwz =
        find_alternate(&s->find, with_dwarf, &o->beside, path, &o->alternate, &o->arena);
    o->alternate.elf.unpacked = o->unpacked;
    struct dwarf_input input =
        dwarf_elf_input(with_dwarf, dwz ? &o->alternate.elf : NULL);
    o->split = (struct split_files){.lock = &o->lock,
                                    .arena = &o->arena,
                                    .symfs = s->find.symfs,
                                    .unpacked = o->unpacked,
                                    .beside = &o->beside,
                                    .path = path};
    input.split = split_find;
    input.split_context = &o->split;
    o->has_dwarf =
        dwarf_init(&o->dwarf, &input, &o->arena, &ignored) && o->dwarf.main.count > 0;
    struct str link, id;
    if (!dwz && o->has_dwarf && elf_alt_link(with_dwarf, &link, &id))
        o->missing_alternate = arena_str(&o->arena, link);
}

static int compare_addresses(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

void object_load_names(struct object *o, const struct resolve_settings *s)
{
    if (o->named)
        return;
    o->named = true;
    os_lock_acquire(&o->lock);
    search(o, s);
    if (o->request.kind == FRAME_KERNEL)
        kernel_names(o, s);
    else if (o->request.kind == FRAME_JIT)
        read_perf_map(o, s);
    else if (o->result == FIND_FOUND || (debug_elf(o) && find_moved(o)))
        read_file(o, s);
    os_lock_release(&o->lock);
}

/* Pages of symbol tables that were read. */
static void release_pages(void *context)
{
    const struct object *o = context;
    os_mapping_release(&o->file.mapping);
    os_mapping_release(&o->debug.mapping);
}

static void read_symbols_at(struct object *o, uint64_t *addresses, size_t count)
{
    struct error ignored;
    size_t inside = 0;
    struct elf *debug = debug_elf(o);
    bool found = o->result == FIND_FOUND;
    for (size_t i = 0; i < count; i++)
        inside += object_address(o, addresses[i], &addresses[inside]);
    qsort(addresses, inside, sizeof *addresses, compare_addresses);
    struct symbol_filter filter = {
        .addresses = addresses, .count = inside, .release = release_pages, .context = o};
    o->has_symbols =
        symtab_init_filtered(&o->symbols, found ? &o->file.elf : debug,
                             found ? debug : NULL, &filter, &o->arena, &ignored);
    o->symbols.filter = NULL;
}

bool object_load_symbols_at(struct object *o, const struct resolve_settings *s,
                            uint64_t *addresses, size_t count)
{
    if (o->named)
        return o->has_symbols;
    o->named = true;
    os_lock_acquire(&o->lock);
    search(o, s);
    if (o->request.kind == FRAME_JIT)
        read_perf_map(o, s);
    else if (o->request.kind != FRAME_KERNEL &&
             (o->result == FIND_FOUND || (debug_elf(o) && find_moved(o))))
        read_symbols_at(o, addresses, count);
    os_lock_release(&o->lock);
    return o->has_symbols;
}

bool object_function_at(struct object *o, uint64_t address, uint64_t *start,
                        uint64_t *end)
{
    struct unwind_source source;
    if (o->result != FIND_FOUND)
        return false;
    if (!o->functions_sought) {
        o->functions_sought = true;
        unwind_source_of(&source, &o->file.elf, NULL);
        o->by_function =
            source.section_count &&
            unwind_functions_init(&o->functions, &source, &o->file.elf, &o->arena);
    }
    return o->by_function && unwind_functions_range(&o->functions, address, start, end);
}

/* The path of the name cache depends on the file, its debug file, the naming options,
 * and the code that finds names. */
static bool names_path(struct object *o, const struct resolve_settings *s, char *path,
                       size_t size)
{
    if (!s->cache_dir || o->result != FIND_FOUND || o->request.kind != FRAME_USER ||
        is_vdso(o))
        return false;
    struct str id = find_hexadecimal(elf_build_id(&o->file.elf), &o->arena);
    uint64_t way = (uint64_t)s->demangle << 2 | (uint64_t)s->no_inline << 1 | s->no_lines;
    struct hash_keys k = HASH_FIXED_KEYS;
    uint64_t mixed = hash_fixed(o->debug.path.ptr, o->debug.path.len);
    mixed = hash_mix(mixed ^ k.a, o->debug.mapping.bytes.len ^ k.b);
    mixed = hash_mix(mixed ^ k.c, o->file.mapping.bytes.len ^ k.d);
    mixed = hash_mix(mixed ^ CODE_VERSION, k.b);
    return id.len >= 16 &&
           format_text(path, size, "%s/names/%.*s-%016llx", s->cache_dir, STR_ARG(id),
                       (unsigned long long)hash_mix(mixed ^ way, k.a)) +
                   1 <
               size;
}

void object_open_cache(struct object *o, const struct resolve_settings *s)
{
    char path[sizeof o->names.path];
    if (o->cache_opened)
        return;
    o->cache_opened = true;
    os_lock_acquire(&o->lock);
    search(o, s);
    if (names_path(o, s, path, sizeof path))
        name_cache_open(&o->names, path);
    os_lock_release(&o->lock);
}

/* Compressed sections that were not read because of the limits. */
static unsigned rejected_of(const struct object *o)
{
    return o->file.elf.rejected + o->debug.elf.rejected + o->alternate.elf.rejected +
           split_rejected(&o->split);
}

bool object_incomplete(const struct object *o, char why[INCOMPLETE_MAX])
{
    struct str path = str_head(o->request.path, INCOMPLETE_MAX / 2);
    unsigned rejected = rejected_of(o);
    if (rejected)
        format_text(why, INCOMPLETE_MAX,
                    "names in %.*s are incomplete: %u compressed section%s exceed%s a "
                    "limit; --limits x8 raises it",
                    STR_ARG(path), rejected, rejected == 1 ? "" : "s",
                    rejected == 1 ? "s" : "");
    else if (o->arena.failed || o->table_arena.failed)
        format_text(why, INCOMPLETE_MAX,
                    "names and stacks in %.*s are incomplete: out of memory",
                    STR_ARG(path));
    return rejected || o->arena.failed || o->table_arena.failed;
}

bool object_is_complete(const struct object *o)
{
    return o->named && o->split.missing.len == 0 && o->missing_alternate.len == 0 &&
           rejected_of(o) == 0 && !o->arena.failed;
}

void object_write_cache(struct object *o)
{
    if (object_is_complete(o))
        name_cache_write(&o->names);
}

bool object_was_truncated(const struct object *o)
{
    return o->was_truncated || os_mapping_was_truncated(&o->file.mapping) ||
           os_mapping_was_truncated(&o->debug.mapping) ||
           os_mapping_was_truncated(&o->alternate.mapping);
}

void object_close_files(struct object *o)
{
    o->was_truncated = object_was_truncated(o);
    os_mapping_close(&o->file.mapping);
    os_mapping_close(&o->debug.mapping);
    os_mapping_close(&o->alternate.mapping);
}

bool object_address(const struct object *o, uint64_t asked, uint64_t *address)
{
    *address = asked - o->moved;
    return o->addressing == BY_ADDRESS ||
           elf_address_of_offset(&o->file.elf, asked, address);
}
