/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/go_lines.h"
#include "base/array.h"

/* Maximum nesting of inlined calls. */
#define INLINED_MAX 128

/* Maximum number of steps of a reader per byte of the table: linkers share value tables
 * between functions. */
#define STEPS_A_BYTE 16
#define STEPS_MIN ((uint64_t)1 << 20)

void go_reader_init(struct go_reader *r, const struct go_table *t)
{
    *r = (struct go_reader){.table = t,
                            .budget = STEPS_MIN + (uint64_t)STEPS_A_BYTE * t->all.len};
}

void go_reader_deinit(struct go_reader *r)
{
    arena_deinit(&r->arena);
    arena_deinit(&r->results);
    *r = (struct go_reader){.table = NULL};
}

/* --- Tables of values by address ---------------------------------------------------- */

static bool add_run(struct go_reader *r, struct go_runs *runs, uint64_t end,
                    int32_t value)
{
    struct go_run *item = ARRAY_APPEND(&r->arena, runs->items, runs->count, runs->cap);
    if (!item)
        return false;
    *item = (struct go_run){end, value};
    return true;
}

static void read_runs(struct go_reader *r, uint32_t offset, struct go_runs *runs)
{
    struct go_values v = go_values_of(r->table, &r->function, offset);
    runs->count = 0;
    while (r->budget && go_values_next(&v) && add_run(r, runs, v.end, v.value))
        r->budget--;
}

/* The run at an address, or runs->count. */
static size_t run_at(const struct go_runs *runs, uint64_t address)
{
    size_t from = 0, to = runs->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (runs->items[middle].end <= address)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static int32_t value_at(const struct go_runs *runs, uint64_t address)
{
    size_t i = run_at(runs, address);
    return i < runs->count ? runs->items[i].value : -1;
}

/* Makes the function at an address the current one. */
static bool enter(struct go_reader *r, uint64_t address)
{
    size_t i;
    if (r->has_function && address >= r->function.start && address < r->function.end)
        return true;
    r->has_function = false;
    if (!go_table_find(r->table, address, &i) || !go_table_get(r->table, i, &r->function))
        return false;
    read_runs(r, r->function.file_values, &r->files);
    read_runs(r, r->function.line_values, &r->lines);
    read_runs(r, r->function.tree_values, &r->trees);
    r->has_function = !r->arena.failed;
    return r->has_function;
}

/* --- Files -------------------------------------------------------------------------- */

static struct str file_named(const struct go_reader *r, int32_t number)
{
    const struct go_table *t = r->table;
    struct str numbers = t->version == GO_1_2 ? t->files : t->units;
    struct bytes b = bytes_of(numbers, t->big_endian);
    /* in that version, file numbers begin at 1: the first word is their count */
    if (number < (t->version == GO_1_2))
        return STR("");
    bytes_seek(&b, ((uint64_t)r->function.unit + (uint32_t)number) * 4);
    uint32_t offset = bytes_u32(&b);
    if (b.failed || offset == UINT32_MAX)
        return STR("");
    return go_table_text(t->version == GO_1_2 ? t->all : t->files, offset);
}

static void set_location(const struct go_reader *r, uint64_t address,
                         struct dwarf_frame *f)
{
    int32_t line = value_at(&r->lines, address);
    f->file = file_named(r, value_at(&r->files, address));
    f->line = line > 0 ? (uint32_t)line : 0;
}

/* --- Inlined calls ------------------------------------------------------------------ */

/* Reads a call of the inlining tree: the name of the inlined function, and an address
 * in the caller whose location is that of the call. */
static bool read_call(const struct go_reader *r, int32_t number, struct str *name,
                      uint64_t *caller)
{
    const struct go_table *t = r->table;
    bool is_new = t->version == GO_1_20;
    struct bytes b = bytes_of(r->function.tree, t->big_endian);
    bytes_seek(&b, (uint64_t)(uint32_t)number * (is_new ? 16 : 20));
    bytes_skip(&b, is_new ? 4 : 12);
    *name = go_table_text(t->names, bytes_u32(&b));
    *caller = r->function.start + bytes_u32(&b);
    return !b.failed && name->len && *caller < r->function.end;
}

/* Collects the frames of an address, innermost first; returns their number. */
static size_t collect(const struct go_reader *r, uint64_t address,
                      struct dwarf_frame *frames)
{
    size_t count = 0;
    while (count + 1 < INLINED_MAX) {
        struct dwarf_frame *f = &frames[count++];
        int32_t call = value_at(&r->trees, address);
        struct str name;
        uint64_t caller;
        *f = (struct dwarf_frame){.name = r->function.name};
        set_location(r, address, f);
        if (call < 0 || !read_call(r, call, &name, &caller))
            break;
        f->name = name;
        f->is_inlined = true;
        address = caller;
    }
    frames[count - 1].name = r->function.name;
    frames[count - 1].is_inlined = false;
    return count;
}

void go_find(struct go_reader *r, struct dwarf_query *q)
{
    struct dwarf_frame frames[INLINED_MAX], *copy;
    if (q->count || !enter(r, q->address))
        return;
    size_t count = collect(r, q->address, frames);
    if (!(copy = arena_alloc(&r->results, count * sizeof *copy)))
        return;
    memcpy(copy, frames, count * sizeof *copy);
    q->frames = copy;
    q->count = count;
}

/* --- Rows --------------------------------------------------------------------------- */

/* The address up to which file and line are those of `address`. */
static uint64_t row_end(const struct go_reader *r, uint64_t address)
{
    size_t file = run_at(&r->files, address), line = run_at(&r->lines, address);
    uint64_t end = r->function.end;
    if (file < r->files.count && r->files.items[file].end < end)
        end = r->files.items[file].end;
    if (line < r->lines.count && r->lines.items[line].end < end)
        end = r->lines.items[line].end;
    return end;
}

bool go_rows(struct go_reader *r, uint64_t low, uint64_t high, struct dwarf_row **rows,
             size_t *count)
{
    size_t cap = 0;
    *rows = NULL;
    *count = 0;
    while (low < high && enter(r, low)) {
        struct dwarf_frame frame = {.name = STR("")};
        if (!ARRAY_RESERVE(&r->results, *rows, cap, *count + 1))
            return false;
        set_location(r, low, &frame);
        (*rows)[(*count)++] =
            (struct dwarf_row){.address = low, .file = frame.file, .line = frame.line};
        low = row_end(r, low);
    }
    return !r->arena.failed;
}
