/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/heap/got.h"
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FUNCTIONS_MAX 24
#define PAGE ((uintptr_t)4096)

/* How often the list of objects is read again when it changes meanwhile. */
#define TRIES 16

static struct got_function functions[FUNCTIONS_MAX];
static size_t function_count;

bool got_add(const struct got_function *function)
{
    if (function_count == FUNCTIONS_MAX)
        return false;
    functions[function_count++] = *function;
    return true;
}

/* --- What was replaced -------------------------------------------------------------- */

struct change {
    uintptr_t *entry;
    uintptr_t original;
};

static struct change *changes;
static size_t change_count, change_cap, last_found;

static bool reserve_change(void)
{
    size_t cap = change_cap ? 2 * change_cap : 1024;
    if (change_count < change_cap)
        return true;
    long address = syscall(SYS_mmap, NULL, cap * sizeof *changes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == -1)
        return false;
    struct change *more =
        (struct change *)address; /* NOLINT(performance-no-int-to-ptr) */
    if (change_count) {
        memcpy(more, changes, change_count * sizeof *changes);
        syscall(SYS_munmap, changes, change_cap * sizeof *changes);
    }
    changes = more;
    change_cap = cap;
    return true;
}

/* Entries are mostly searched in the order in which they were added. */
static struct change *find_change(const uintptr_t *entry)
{
    for (size_t i = 0; i < change_count; i++) {
        size_t at = (last_found + 1 + i) % change_count;
        if (changes[at].entry == entry) {
            last_found = at;
            return &changes[at];
        }
    }
    return NULL;
}

/* The address may have been that of an entry of an object that was unloaded. */
static bool note_change(uintptr_t *entry, uintptr_t original)
{
    struct change *known = find_change(entry);
    if (known) {
        known->original = original;
        return true;
    }
    if (!reserve_change())
        return false;
    changes[change_count++] = (struct change){entry, original};
    return true;
}

/* --- Objects ------------------------------------------------------------------------ */

/* A loaded object. */
struct object {
    const struct dl_phdr_info *info;
    uintptr_t base;
    const Elf64_Sym *symbols;
    const char *strings;
    const Elf64_Rela *relocations[2]; /* .rela.plt, .rela.dyn */
    size_t counts[2];
    uintptr_t protected_start, protected_end; /* read-only after relocation */
    bool is_open;                             /* meanwhile it is not */
    bool failed;
};

/* An entry that holds the address of a function. */
struct entry {
    uintptr_t *at;
    const char *name;
    bool is_lazy; /* it may still refer to the object's own stub */
    bool is_defined;
    uintptr_t stub; /* of an undefined function: its address in the program, or 0 */
};

/* glibc relocates most, but not all, addresses of the dynamic section. */
static uintptr_t address_in(const struct object *o, uintptr_t value)
{
    return value >= o->base ? value : o->base + value;
}

static void read_dynamic(struct object *o, const Elf64_Dyn *dynamic)
{
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        uintptr_t address = address_in(o, dynamic->d_un.d_ptr);
        const void *at = (const void *)address; /* NOLINT(performance-no-int-to-ptr) */
        switch (dynamic->d_tag) {
        case DT_SYMTAB:
            o->symbols = at;
            break;
        case DT_STRTAB:
            o->strings = at;
            break;
        case DT_JMPREL:
            o->relocations[0] = at;
            break;
        case DT_PLTRELSZ:
            o->counts[0] = dynamic->d_un.d_val / sizeof(Elf64_Rela);
            break;
        case DT_RELA:
            o->relocations[1] = at;
            break;
        case DT_RELASZ:
            o->counts[1] = dynamic->d_un.d_val / sizeof(Elf64_Rela);
            break;
        default:
            break;
        }
    }
}

/* Whether a segment with these flags has the address. */
static bool has_address(const struct object *o, uintptr_t address, uint32_t flags)
{
    for (int i = 0; i < o->info->dlpi_phnum; i++) {
        const Elf64_Phdr *p = &o->info->dlpi_phdr[i];
        uintptr_t start = o->base + p->p_vaddr;
        if (p->p_type == PT_LOAD && (p->p_flags & flags) == flags && address >= start &&
            address - start < p->p_memsz)
            return true;
    }
    return false;
}

static bool is_this_library(const struct object *o)
{
    return has_address(o, (uintptr_t)functions, PF_W);
}

/* False if the object has nothing to replace. The dynamic section of the vDSO is not
 * relocated, and it calls nothing. */
static bool read_object(struct object *o, const struct dl_phdr_info *info)
{
    *o = (struct object){.info = info, .base = info->dlpi_addr};
    const Elf64_Dyn *dynamic = NULL;
    bool is_written = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *p = &info->dlpi_phdr[i];
        uintptr_t at = o->base + p->p_vaddr;
        is_written |= p->p_type == PT_LOAD && p->p_flags & PF_W;
        if (p->p_type == PT_DYNAMIC)
            dynamic = (const Elf64_Dyn *)at; /* NOLINT(performance-no-int-to-ptr) */
        if (p->p_type == PT_GNU_RELRO) {
            o->protected_start = at & ~(PAGE - 1);
            o->protected_end = (at + p->p_memsz) & ~(PAGE - 1);
        }
    }
    if (!dynamic || !is_written)
        return false;
    read_dynamic(o, dynamic);
    return o->symbols && o->strings && !is_this_library(o);
}

/* Reads a relocation; false if it is of another kind. */
static bool read_entry(const struct object *o, const Elf64_Rela *r, struct entry *e)
{
    const Elf64_Sym *symbol = &o->symbols[ELF64_R_SYM(r->r_info)];
    uint32_t type = ELF64_R_TYPE(r->r_info);
    uintptr_t at = o->base + r->r_offset;
    if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT &&
         (type != R_X86_64_64 || r->r_addend != 0)) ||
        ELF64_R_SYM(r->r_info) == 0 || at % sizeof at != 0 || !has_address(o, at, PF_W))
        return false;
    *e = (struct entry){.at = (uintptr_t *)at, /* NOLINT(performance-no-int-to-ptr) */
                        .name = o->strings + symbol->st_name,
                        .is_lazy = type == R_X86_64_JUMP_SLOT,
                        .is_defined = symbol->st_shndx != SHN_UNDEF};
    if (!e->is_defined && symbol->st_value)
        e->stub = o->base + symbol->st_value;
    return true;
}

/* Calls `each` for every entry of an object. */
static void each_entry(struct object *o,
                       void (*each)(void *context, struct object *o,
                                    const struct entry *e),
                       void *context)
{
    struct entry e;
    for (int table = 0; table < 2; table++)
        for (size_t i = 0; o->relocations[table] && i < o->counts[table]; i++)
            if (read_entry(o, &o->relocations[table][i], &e))
                each(context, o, &e);
}

/* --- Writing ------------------------------------------------------------------------ */

static bool protect(const struct object *o, int protection)
{
    return syscall(SYS_mprotect, o->protected_start,
                   o->protected_end - o->protected_start, protection) == 0;
}

/* Other threads read the entry meanwhile. */
static bool write_entry(struct object *o, uintptr_t *at, uintptr_t value)
{
    bool is_protected =
        (uintptr_t)at >= o->protected_start && (uintptr_t)at < o->protected_end;
    if (is_protected && !o->is_open)
        o->is_open = protect(o, PROT_READ | PROT_WRITE);
    if (is_protected && !o->is_open) {
        o->failed = true;
        return false;
    }
    __atomic_store_n(at, value, __ATOMIC_RELEASE);
    return true;
}

static void close_object(struct object *o)
{
    if (o->is_open)
        o->failed |= !protect(o, PROT_READ);
    o->is_open = false;
}

/* --- Replacing ---------------------------------------------------------------------- */

/* What an entry holds: the C library's function, or the object's own stub, which finds the
 * function at the first call. */
static bool is_replaceable(const struct object *o, const struct entry *e, uintptr_t value,
                           const struct got_function *f)
{
    if (value != f->original &&
        !(e->is_lazy && !e->is_defined && has_address(o, value, PF_X)))
        return false;
    return strcmp(e->name, f->name) == 0;
}

static void replace_entry(void *context, struct object *o, const struct entry *e)
{
    uintptr_t value = __atomic_load_n(e->at, __ATOMIC_ACQUIRE);
    (void)context;
    for (size_t i = 0; i < function_count; i++) {
        if (!is_replaceable(o, e, value, &functions[i]))
            continue;
        if (!note_change(e->at, value) ||
            !write_entry(o, e->at, functions[i].replacement))
            o->failed = true;
        return;
    }
}

struct replacing {
    size_t complete; /* this number of objects, from the first, is loaded completely */
    size_t seen;
    unsigned long long removed; /* objects, when `complete` was counted */
    bool is_changed, failed;
};

static int replace_object(struct dl_phdr_info *info, size_t size, void *context)
{
    struct replacing *r = context;
    struct object o;
    (void)size;
    r->is_changed = info->dlpi_subs != r->removed;
    if (r->is_changed || r->seen++ == r->complete)
        return 1;
    if (read_object(&o, info)) {
        each_entry(&o, replace_entry, NULL);
        close_object(&o);
        r->failed |= o.failed;
    }
    return 0;
}

/* As of the last got_replace. */
static unsigned long long known_added, known_removed;

static int count_object(struct dl_phdr_info *info, size_t size, void *context)
{
    struct replacing *r = context;
    (void)size;
    r->complete++;
    r->removed = known_removed = info->dlpi_subs;
    known_added = info->dlpi_adds;
    return 0;
}

bool got_replace(void)
{
    struct replacing r = {.is_changed = true};
    for (int i = 0; i < TRIES && r.is_changed; i++) {
        r = (struct replacing){0};
        dl_iterate_phdr(count_object, &r);
        (void)dlopen(NULL, RTLD_NOW | RTLD_NOLOAD); /* waits for the lock */
        dl_iterate_phdr(replace_object, &r);
    }
    return !r.is_changed && !r.failed;
}

static int compare_counts(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(bool *)context = info->dlpi_adds != known_added || info->dlpi_subs != known_removed;
    return 1;
}

bool got_is_outdated(void)
{
    bool is_outdated = false;
    dl_iterate_phdr(compare_counts, &is_outdated);
    return is_outdated;
}

/* --- Restoring ---------------------------------------------------------------------- */

static const struct got_function *replacement_of(uintptr_t value)
{
    for (size_t i = 0; i < function_count; i++)
        if (value == functions[i].replacement)
            return &functions[i];
    return NULL;
}

static void restore_entry(void *context, struct object *o, const struct entry *e)
{
    const struct got_function *f = replacement_of(*e->at);
    size_t *left = context;
    if (!f)
        return;
    const struct change *change = find_change(e->at);
    if (!write_entry(o, e->at, change ? change->original : f->original))
        ++*left;
}

static int restore_object(struct dl_phdr_info *info, size_t size, void *context)
{
    struct object o;
    (void)size;
    if (read_object(&o, info)) {
        each_entry(&o, restore_entry, context);
        close_object(&o);
    }
    return 0;
}

static void count_entry(void *context, struct object *o, const struct entry *e)
{
    size_t *left = context;
    (void)o;
    *left += replacement_of(*e->at) != NULL;
}

static int count_left(struct dl_phdr_info *info, size_t size, void *context)
{
    struct object o;
    (void)size;
    if (read_object(&o, info))
        each_entry(&o, count_entry, context);
    return 0;
}

size_t got_restore(void)
{
    size_t failed = 0, left = 0;
    dl_iterate_phdr(restore_object, &failed);
    dl_iterate_phdr(count_left, &left);
    if (left == 0)
        change_count = last_found = 0;
    return left;
}

/* --- The program's functions -------------------------------------------------------- */

struct stub_search {
    const char *name;
    uintptr_t stub;
};

static void find_stub(void *context, struct object *o, const struct entry *e)
{
    struct stub_search *s = context;
    (void)o;
    if (e->stub && strcmp(e->name, s->name) == 0)
        s->stub = e->stub;
}

static int search_program(struct dl_phdr_info *info, size_t size, void *context)
{
    struct object o;
    (void)size;
    if (read_object(&o, info))
        each_entry(&o, find_stub, context);
    return 1; /* the program is the first object */
}

bool got_is_of_library(const struct got_function *function)
{
    struct stub_search s = {.name = function->name};
    void *program = dlopen(NULL, RTLD_NOW | RTLD_NOLOAD);
    uintptr_t found = program ? (uintptr_t)dlsym(program, function->name) : 0;
    if (found == function->original)
        return true;
    dl_iterate_phdr(search_program, &s);
    return found && found == s.stub;
}
