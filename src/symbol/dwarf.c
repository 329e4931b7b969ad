/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/dwarf.h"
#include "base/array.h"
#include "base/sort.h"
#include "symbol/dwarf_name.h"
#include "symbol/dwarf_table.h"
#include <stdlib.h>

/* The cost of a returned frame in steps of the budget, because it needs memory. */
#define FRAME_STEPS 32

/* --- The whole ---------------------------------------------------------------------- */

/* Several units may claim the same code: a function of a header that the linker retained
 * once. The linker keeps the first copy and makes the ranges of the other units point
 * to it. */
bool dwarf_init(struct dwarf *d, const struct dwarf_input *input, struct arena *arena,
                struct error *err)
{
    *d = (struct dwarf){.input = *input, .arena = arena};
    d->main.alternate = &d->alternate;
    if (!dwarf_file_init(&d->alternate, &input->alternate, NULL, NULL, arena) ||
        !dwarf_file_init(&d->main, &input->sections, NULL, d, arena) ||
        !dwarf_table_sort(&d->ranges, true))
        return error_memory(err);
    return true;
}

uint32_t dwarf_unit_at(const struct dwarf *d, uint64_t address)
{
    const struct dwarf_range *found = dwarf_table_find(&d->ranges, address);
    return found ? found->value : DWARF_NO_UNIT;
}

bool dwarf_order(const struct dwarf *d, struct dwarf_query *queries, size_t count)
{
    for (size_t i = 0; i < count; i++)
        queries[i].unit = dwarf_unit_at(d, queries[i].address);
    if (count < 2)
        return true;
    if (count > UINT32_MAX / 2)
        return false;
    struct dwarf_query *copy =
        malloc(count * (sizeof *copy + 2 * sizeof(struct sort_key)));
    if (!copy)
        return false;
    struct sort_key *order = (struct sort_key *)(void *)(copy + count);
    memcpy(copy, queries, count * sizeof *copy);
    for (size_t i = 0; i < count; i++)
        order[i] = (struct sort_key){queries[i].address, (uint32_t)i};
    sort_keys(order, count, order + count);
    for (size_t i = 0; i < count; i++)
        order[i].key = copy[order[i].id].unit;
    sort_keys(order, count, order + count);
    for (size_t i = 0; i < count; i++)
        queries[i] = copy[order[i].id];
    free(copy);
    return true;
}

size_t dwarf_cut(const struct dwarf_query *queries, size_t count, size_t min_count)
{
    size_t end = min_count < count ? min_count : count;
    while (end && end < count && queries[end].unit == queries[end - 1].unit)
        end++;
    return end;
}

/* --- Readers ------------------------------------------------------------------------ */

/* An entry has at least two bytes, and each is read at most twice. */
static void add_range_budget(struct dwarf_reader *r, const struct dwarf_sections *s)
{
    r->caches->range_budget += (uint64_t)s->ranges.len + s->rnglists.len;
}

bool dwarf_reader_init(struct dwarf_reader *r, const struct dwarf *d, struct error *err)
{
    *r = (struct dwarf_reader){.dwarf = d, .arena = ARENA_INIT, .results = ARENA_INIT};
    r->caches = arena_zalloc(&r->arena, 1, sizeof *r->caches);
    r->main = dwarf_file_state_make(r, &d->main);
    if (!r->caches || !r->main) {
        dwarf_reader_deinit(r);
        return error_memory(err);
    }
    r->caches->line_budget = 2 * (uint64_t)d->input.sections.line.len;
    add_range_budget(r, &d->input.sections);
    return true;
}

void dwarf_reader_deinit(struct dwarf_reader *r)
{
    if (r->caches) {
        arena_deinit(&r->caches->scratch.arena);
        output_deinit(&r->caches->text);
        output_deinit(&r->caches->other);
        output_deinit(&r->caches->demangled);
    }
    arena_deinit(&r->results);
    arena_deinit(&r->arena);
    *r = (struct dwarf_reader){0};
}

static void forget_paths(struct dwarf_reader *r)
{
    const struct dwarf_caches *c = r->caches;
    for (size_t i = 1; i < c->lines.count; i++) { /* [0] is unused */
        struct dwarf_lines *l =
            (struct dwarf_lines *)(uintptr_t)c->lines.entries[i].value;
        for (size_t k = 0; l && k < l->file_count; k++)
            l->files[k].path = 0;
    }
}

void dwarf_reader_forget(struct dwarf_reader *r)
{
    forget_paths(r);
    arena_deinit(&r->results);
    r->caches->paths = NULL;
    r->caches->path_count = r->caches->path_cap = 0;
}

/* Sets the maximum number of steps for a call: more than any file of a compiler needs. */
static void set_budget(struct dwarf_reader *r, size_t queries)
{
    const struct dwarf_sections *s = &r->dwarf->input.sections;
    uint64_t bytes = (uint64_t)s->info.len + s->abbrev.len + s->line.len + s->ranges.len +
                     s->rnglists.len + r->dwarf->input.alternate.info.len;
    r->budget = 8 * bytes + 4096 * (uint64_t)queries + 65536;
}

/* --- Units -------------------------------------------------------------------------- */

static bool prepare_lines(struct dwarf_reader *r, struct dwarf_unit_state *s)
{
    struct dwarf_caches *c = r->caches;
    if (s->lines)
        return true;
    uint64_t *known = idmap_put(&c->lines, &r->arena, s->unit->line);
    if (!known)
        return false;
    if (!*known)
        *known = (uintptr_t)dwarf_lines_make(s->unit, r->dwarf, &r->arena,
                                             &c->line_budget, NULL);
    s->lines = (struct dwarf_lines *)(uintptr_t)*known;
    return s->lines != NULL;
}

/* Returns the split unit that belongs to this unit, or the unit itself if there is
 * none. False when out of memory. */
static bool find_split(struct dwarf_reader *r, struct dwarf_unit_state *s)
{
    const struct dwarf_input *input = &r->dwarf->input;
    const struct dwarf_unit *u = s->unit;
    struct dwarf_split unit = {u->split_name, u->directory, u->split_id};
    struct dwarf_sections sections = DWARF_NO_SECTIONS;
    s->body = s;
    if (!u->split_name.len || !input->split ||
        !input->split(input->split_context, &unit, &sections))
        return true;
    struct dwarf_file *file = arena_zalloc(&r->arena, 1, sizeof *file);
    if (!file || !dwarf_file_init(file, &sections, u, NULL, &r->arena))
        return false;
    struct dwarf_file_state *state = dwarf_file_state_make(r, file);
    r->budget += 8 * (uint64_t)sections.info.len;
    add_range_budget(r, &sections);
    for (size_t i = 0; state && i < file->count; i++)
        if (file->units[i].version && file->units[i].split_id == u->split_id) {
            s->body = dwarf_unit_state_at(r, state, i);
            break;
        }
    return state && s->body;
}

static struct dwarf_unit_state *prepare_unit(struct dwarf_reader *r, size_t index)
{
    struct dwarf_unit_state *s = dwarf_unit_state_at(r, r->main, index);
    if (!s || !prepare_lines(r, s) || (!s->body && !find_split(r, s)))
        return NULL;
    return s;
}

/* --- Paths -------------------------------------------------------------------------- */

static bool is_absolute(struct str path)
{
    return path.len && path.ptr[0] == '/';
}

static char *put_part(char *at, const char *begin, struct str part)
{
    if (!part.len)
        return at;
    if (at > begin && at[-1] != '/')
        *at++ = '/';
    memcpy(at, part.ptr, part.len);
    return at + part.len;
}

static struct str join_path(struct arena *a, struct str first, struct str dir,
                            struct str name)
{
    char *begin = arena_alloc(a, first.len + dir.len + name.len + 2), *at = begin;
    if (!begin)
        return STR("");
    at = put_part(at, begin, first);
    at = put_part(at, begin, dir);
    return str_span(begin, put_part(at, begin, name));
}

static struct str make_path(struct dwarf_reader *r, const struct dwarf_unit_state *s,
                            const struct dwarf_line_file *file)
{
    struct str name = dwarf_lines_name(s->lines, file);
    struct str dir = dwarf_lines_dir(s->lines, file);
    struct str first = s->unit->directory;
    if (is_absolute(name))
        first = dir = STR("");
    else if (is_absolute(dir))
        first = STR("");
    size_t length = first.len + dir.len + name.len;
    if (length > r->budget)
        return STR("");
    r->budget -= length;
    return join_path(&r->results, first, dir, name);
}

/* The path of a file of the unit; empty if it is unknown. */
static struct str path_of(struct dwarf_reader *r, const struct dwarf_unit_state *s,
                          uint64_t number)
{
    struct dwarf_caches *c = r->caches;
    struct dwarf_line_file *file = dwarf_lines_file(s->lines, number);
    if (!file)
        return STR("");
    if (!file->path) {
        if (!ARRAY_RESERVE(&r->results, c->paths, c->path_cap, c->path_count + 1))
            return STR("");
        c->paths[c->path_count++] = make_path(r, s, file);
        file->path = (uint32_t)c->path_count;
    }
    return c->paths[file->path - 1];
}

/* --- Answers ------------------------------------------------------------------------ */

static size_t chain_length(const struct dwarf_reader *r, size_t inner)
{
    size_t length = 1;
    for (; inner; inner = r->inlined[inner].parent)
        length++;
    return length;
}

static void set_line(struct dwarf_reader *r, const struct dwarf_unit_state *s,
                     uint64_t address, struct dwarf_frame *frame)
{
    struct dwarf_line_state row;
    frame->name = frame->file = STR("");
    if (!dwarf_lines_find(s->lines, address, &row))
        return;
    frame->file = path_of(r, s, row.file);
    frame->line = row.line;
    frame->column = row.column;
}

/* Sets the frames of one query in the body that was walked. */
static void answer(struct dwarf_reader *r, struct dwarf_unit_state *s,
                   struct dwarf_query *q)
{
    size_t inner = q->count, length = chain_length(r, inner);
    q->count = 0;
    if (length * FRAME_STEPS > r->budget)
        return;
    r->budget -= length * FRAME_STEPS;
    struct dwarf_frame *frames = arena_zalloc(&r->results, length, sizeof *frames);
    if (!frames)
        return;
    set_line(r, s, q->address, &frames[0]);
    for (size_t i = 0;; i++) {
        struct dwarf_inlined *in = &r->inlined[inner];
        dwarf_name_inlined(r, s->body, in);
        frames[i].name = in->name;
        frames[i].is_linkage_name = in->is_linkage_name;
        frames[i].is_made = in->is_made;
        frames[i].is_inlined = inner != 0;
        if (!inner)
            break;
        frames[i + 1].file = path_of(r, s, in->file);
        frames[i + 1].line = in->line;
        frames[i + 1].column = in->column;
        inner = in->parent;
    }
    q->frames = frames;
    q->count = length;
}

/* Answers a query outside all functions: one frame without a name, if a line is known. */
static void answer_line(struct dwarf_reader *r, struct dwarf_unit_state *s,
                        struct dwarf_query *q)
{
    struct dwarf_frame frame = {0}, *copy;
    set_line(r, s, q->address, &frame);
    if (!frame.file.len || !(copy = arena_alloc(&r->results, sizeof *copy)))
        return;
    *copy = frame;
    q->frames = copy;
    q->count = 1;
}

/* Finds the function of the first query, and how many queries it covers. */
static bool find_body(struct dwarf_reader *r, struct dwarf_unit_state *s,
                      const struct dwarf_query *queries, size_t count, uint64_t *entry,
                      size_t *same)
{
    uint64_t next;
    if (!dwarf_function_at(r, s, queries[0].address, entry))
        return false;
    for (*same = 1; *same < count; ++*same)
        if (!dwarf_function_at(r, s, queries[*same].address, &next))
            return false;
        else if (next != *entry)
            break;
    return true;
}

/* Answers the queries of one unit. */
static bool find_in_unit(struct dwarf_reader *r, struct dwarf_query *queries,
                         size_t count)
{
    struct dwarf_unit_state *s = prepare_unit(r, queries[0].unit);
    for (size_t same; count; queries += same, count -= same) {
        uint64_t entry;
        if (!s || !find_body(r, s->body, queries, count, &entry, &same))
            return false;
        if (entry != DWARF_NONE && !dwarf_walk_body(r, s->body, entry, queries, same))
            return false;
        for (size_t i = 0; i < same; i++)
            if (entry != DWARF_NONE)
                answer(r, s, &queries[i]);
            else
                answer_line(r, s, &queries[i]);
    }
    return true;
}

bool dwarf_find(struct dwarf_reader *r, struct dwarf_query *queries, size_t count,
                struct error *err)
{
    set_budget(r, count);
    for (size_t i = 0; i < count; i++) {
        queries[i].frames = NULL;
        queries[i].count = 0;
    }
    for (size_t i = 0, share; i < count; i += share) {
        share = dwarf_cut(queries + i, count - i, 1);
        if (queries[i].unit != DWARF_NO_UNIT && !find_in_unit(r, queries + i, share))
            return error_memory(err);
    }
    return !r->results.failed || error_memory(err);
}

size_t dwarf_find_one(struct dwarf_reader *r, uint64_t address,
                      struct dwarf_frame *frames, size_t room)
{
    struct dwarf_query q = {address, dwarf_unit_at(r->dwarf, address), 0, NULL, 0};
    if (!dwarf_find(r, &q, 1, NULL))
        return 0;
    size_t count = q.count < room ? q.count : room;
    if (count)
        memcpy(frames, q.frames, count * sizeof *frames);
    return count;
}

/* --- Rows --------------------------------------------------------------------------- */

struct rows {
    struct dwarf_row *items;
    size_t count, cap;
};

static bool add_row(struct dwarf_reader *r, const struct dwarf_unit_state *s,
                    const struct dwarf_line_state *row, struct rows *rows)
{
    if (!ARRAY_RESERVE(&r->results, rows->items, rows->cap, rows->count + 1))
        return false;
    rows->items[rows->count++] = (struct dwarf_row){
        row->address, path_of(r, s, row->file), row->line, row->column};
    return true;
}

/* Adds the rows from *row on up to `high`; sets *row to the row where the run ended. */
static bool add_run(struct dwarf_reader *r, const struct dwarf_unit_state *s,
                    struct dwarf_line_state *row, uint64_t high, struct rows *rows)
{
    enum dwarf_line_event event = DWARF_LINE_ROW;
    while (event == DWARF_LINE_ROW && row->address < high && r->budget) {
        uint64_t address = row->address;
        r->budget--;
        if (!add_row(r, s, row, rows))
            return false;
        event = dwarf_lines_next(s->lines, row);
        if (event == DWARF_LINE_STOP || row->address < address)
            row->address = address + 1;
    }
    return true;
}

bool dwarf_rows(struct dwarf_reader *r, uint64_t low, uint64_t high,
                struct dwarf_row **out, size_t *count, struct error *err)
{
    uint32_t unit = dwarf_unit_at(r->dwarf, low);
    struct rows rows = {0};
    *out = NULL;
    *count = 0;
    set_budget(r, 1);
    if (unit == DWARF_NO_UNIT)
        return true;
    struct dwarf_unit_state *s = prepare_unit(r, unit);
    if (!s)
        return error_memory(err);
    while (low < high && r->budget) {
        struct dwarf_line_state row;
        if (!dwarf_lines_find(s->lines, low, &row) &&
            !dwarf_lines_after(s->lines, low, &row))
            break;
        if (!add_run(r, s, &row, high, &rows))
            return error_memory(err);
        low = row.address > low ? row.address : low + 1;
    }
    *out = rows.items;
    *count = rows.count;
    return !r->results.failed || error_memory(err);
}
