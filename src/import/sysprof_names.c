/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/bytes.h"
#include "import/sysprof.h"

#define CHUNK_PATH 256
#define ROW 32

/* Programs count their JIT functions by themselves. */
static uint64_t jit_key(int32_t pid, uint64_t address)
{
    return (address - SYSPROF_JIT) << 24 ^ (uint32_t)pid;
}

static void add_jit_names(struct sysprof_names *n, const struct sysprof_frame *f)
{
    struct bytes b = bytes_of(f->bytes, n->big_endian);
    bytes_skip(&b, SYSPROF_FRAME_HEADER);
    for (uint32_t count = bytes_u32(&b); count && bytes_left(&b) > 8; count--) {
        uint64_t address = bytes_u64(&b);
        struct str rest = {b.at, bytes_left(&b)};
        struct str name = str_head(rest, str_find(rest, 0));
        bytes_skip(&b, name.len + (name.len < rest.len));
        uint64_t *id = idmap_put(&n->jit, &n->arena, jit_key(f->pid, address));
        struct str *added =
            id ? ARRAY_APPEND(&n->arena, n->names, n->name_count, n->name_cap) : NULL;
        if (!added)
            return;
        *added = name;
        *id = n->name_count;
    }
}

static void add_chunk(struct sysprof_names *n, const struct sysprof_frame *f)
{
    struct bytes b = bytes_of(f->bytes, n->big_endian);
    bytes_skip(&b, SYSPROF_FRAME_HEADER + 2);
    uint16_t size = bytes_u16(&b);
    struct str path = bytes_take(&b, CHUNK_PATH);
    path = str_head(path, str_find(path, 0));
    if (str_equal(path, STR("__symbols__")))
        output_str(&n->chunks,
                   bytes_take(&b, size < bytes_left(&b) ? size : bytes_left(&b)));
}

static uint64_t field(const struct sysprof_names *n, size_t row, size_t at, bool wide)
{
    struct bytes b = bytes_of(str_part(n->table, row * ROW + at, 8), n->big_endian);
    return wide ? bytes_u64(&b) : bytes_u32(&b);
}

/* The names follow a row of zeros. */
static void count_rows(struct sysprof_names *n)
{
    static const char zeros[ROW];
    n->table = output_contents(&n->chunks);
    while ((n->rows + 1) * ROW <= n->table.len &&
           memcmp(n->table.ptr + n->rows * ROW, zeros, ROW) != 0)
        n->rows++;
    if ((n->rows + 1) * ROW > n->table.len)
        n->rows = 0; /* incomplete */
}

bool sysprof_names_read(struct sysprof_names *n, struct str frames, bool big_endian)
{
    struct sysprof_frame f;
    bool damaged;
    *n = (struct sysprof_names){.big_endian = big_endian, .chunks = OUTPUT_BUFFER};
    while (sysprof_next(&frames, big_endian, &f, &damaged))
        if (f.type == SYSPROF_JITMAP)
            add_jit_names(n, &f);
        else if (f.type == SYSPROF_FILE_CHUNK)
            add_chunk(n, &f);
    count_rows(n);
    return !n->arena.failed && !n->chunks.failed;
}

void sysprof_names_deinit(struct sysprof_names *n)
{
    arena_deinit(&n->arena);
    output_deinit(&n->chunks);
}

/* The row of an address; n->rows if there is none. */
static size_t find_row(const struct sysprof_names *n, int32_t pid, uint64_t address)
{
    size_t low = 0, high = n->rows;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t of = field(n, middle, 16, false);
        if (of < (uint32_t)pid ||
            (of == (uint32_t)pid && field(n, middle, 8, true) < address))
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < n->rows && field(n, low, 16, false) == (uint32_t)pid &&
                 field(n, low, 0, true) <= address;
    return found ? low : n->rows;
}

static struct str text_at(const struct sysprof_names *n, uint64_t position)
{
    if (position == 0 || position >= n->table.len)
        return STR("");
    struct str rest = str_skip(n->table, position);
    return str_head(rest, str_find(rest, 0));
}

struct str sysprof_name(const struct sysprof_names *n, int32_t pid, uint64_t address,
                        struct str *tag, uint64_t *number)
{
    const uint64_t *id =
        address >= SYSPROF_JIT ? idmap_find(&n->jit, jit_key(pid, address)) : NULL;
    *tag = STR("");
    if (id && *id) {
        *number = *id << 1;
        return n->names[*id - 1];
    }
    size_t row = find_row(n, pid, address);
    if (row == n->rows)
        return STR("");
    *number = field(n, row, 20, false) << 1 | 1;
    *tag = text_at(n, field(n, row, 24, false));
    return text_at(n, field(n, row, 20, false));
}
