/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/variables.h"
#include "os/proc.h"
#include "symbol/demangle.h"
#include "symbol/symtab.h"

/* The mapping of code below an address: a file's variables are after its code. */
struct code_below {
    uint64_t address;
    bool found;
    uint64_t start, offset;
    char path[4096];
};

static void compare(void *context, const struct os_code *code)
{
    struct code_below *below = context;
    bool is_file = code->path.len && code->path.ptr[0] == '/' &&
                   !str_starts(code->path, STR("//")) &&
                   code->path.len < sizeof below->path;
    if (!is_file || code->start > below->address)
        return;
    below->found = true;
    below->start = code->start;
    below->offset = code->offset;
    memcpy(below->path, code->path.ptr, code->path.len);
    below->path[code->path.len] = 0;
}

/* Whether memory that the file's variables are in contains the address. */
static bool is_writable(const struct elf *e, uint64_t address)
{
    for (size_t i = 0; i < e->segment_count; i++) {
        const struct elf_segment *s = &e->segments[i];
        if (s->type == ELF_PT_LOAD && s->flags & ELF_PF_W && address >= s->address &&
            address - s->address < s->memory_size)
            return true;
    }
    return false;
}

/* A variable that is not larger than the objects of the C library is the lock itself: its
 * words are not named one by one. */
#define LOCK_SIZE_MOST 56 /* pthread_rwlock_t */

static void write_name(struct elf *e, const struct variable_code *code, uint64_t address,
                       struct output *out)
{
    uint64_t bias;
    struct symtab_variable v;
    struct output text = OUTPUT_BUFFER;
    if (!elf_load_bias(e, code->start, code->offset, &bias))
        return;
    address -= bias;
    if (is_writable(e, address) && symtab_find_variable(e, address, &v)) {
        uint64_t inside = address - v.address;
        output_str(out, demangle(v.name, DEMANGLE_SIMPLE, &text));
        if (inside && v.size > LOCK_SIZE_MOST)
            output_format(out, "+0x%llx", (unsigned long long)inside);
    }
    output_deinit(&text);
}

void variable_write_name_in(uint32_t pid, const struct variable_code *code,
                            uint64_t address, struct output *out)
{
    struct find_settings settings = {.no_debuginfod = true, .only_mapped = true};
    struct found found = {.mapping = OS_MAPPING_NONE};
    struct arena arena = ARENA_INIT;
    struct str other = STR("");
    struct object_request request = {.path = code->path,
                                     .build_id = STR(""),
                                     .pid = pid,
                                     .host = STR(""),
                                     .release = STR(""),
                                     .jit_map = STR("")};
    if (find_object(&settings, &request, &found, &other, &arena) == FIND_FOUND)
        write_name(&found.elf, code, address, out);
    os_mapping_close(&found.mapping);
    arena_deinit(&arena);
}

bool variable_write_name(uint32_t pid, uint64_t address, struct output *out)
{
    struct code_below below = {.address = address};
    bool runs = os_process_code(pid, pid, compare, &below) > 0;
    struct variable_code code = {str_of(below.path), below.start, below.offset};
    if (below.found)
        variable_write_name_in(pid, &code, address, out);
    return runs;
}
