/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/dwarf_line.h"
#include "base/array.h"
#include "base/sort.h"
#include "symbol/dwarf_table.h"
#include <stdlib.h>

/* Maximum number of operations between two rows, and of bytes from a mark to the
 * searched row; compilers do not write more. */
#define RUN_MAX 2048

/* Number of marks before the nearest one that are tried, for overlapping sequences. */
#define MARKS_BACK_MAX 4

/* Formats of the fields of a directory or a file. */
#define FIELDS_MAX 16

/* --- The head ----------------------------------------------------------------------- */

static bool add_file(struct dwarf_lines *l, struct arena *a, struct dwarf_line_file file)
{
    if (!ARRAY_RESERVE(a, l->files, l->file_cap, l->file_count + 1))
        return false;
    l->files[l->file_count++] = file;
    return true;
}

static bool add_dir(struct dwarf_lines *l, struct arena *a, struct dwarf_value dir)
{
    if (!ARRAY_RESERVE(a, l->dirs, l->dir_cap, l->dir_count + 1))
        return false;
    l->dirs[l->dir_count++] = dir;
    return true;
}

/* Offset of the inline string at the cursor, or DWARF_NONE for the empty one, which
 * ends a table. */
static uint64_t text_here(struct bytes *b)
{
    uint64_t offset = bytes_offset(b);
    return bytes_string(b).len ? offset : DWARF_NONE;
}

/* Directories and files of versions 2 to 4 (DWARF 4, 6.2.4). */
static bool read_old_tables(struct dwarf_lines *l, struct bytes *b, struct arena *a)
{
    uint64_t text;
    while ((text = text_here(b)) != DWARF_NONE)
        if (!add_dir(l, a, (struct dwarf_value){text, DW_FORM_string}))
            return false;
    while ((text = text_here(b)) != DWARF_NONE) {
        struct dwarf_line_file file = {.name = text, .form = DW_FORM_string};
        file.dir = (uint32_t)dwarf_uleb(b);
        (void)dwarf_uleb(b); /* time */
        (void)dwarf_uleb(b); /* size */
        if (!add_file(l, a, file))
            return false;
    }
    return true;
}

struct fields {
    uint64_t content[FIELDS_MAX], form[FIELDS_MAX];
    unsigned count;
};

static void read_fields(struct bytes *b, struct fields *fields)
{
    fields->count = bytes_u8(b);
    if (fields->count > FIELDS_MAX)
        b->failed = true;
    for (unsigned i = 0; i < fields->count && !b->failed; i++) {
        fields->content[i] = dwarf_uleb(b);
        fields->form[i] = dwarf_uleb(b);
    }
}

/* One directory or file of version 5. False if it is unreadable. */
static bool read_entry(struct bytes *b, const struct dwarf_unit *u,
                       const struct fields *fields, struct dwarf_line_file *out)
{
    uint64_t from = bytes_offset(b);
    *out = (struct dwarf_line_file){0};
    for (unsigned i = 0; i < fields->count; i++) {
        struct dwarf_value v = dwarf_value_read(b, u, fields->form[i], 0);
        if (fields->content[i] == DW_LNCT_path) {
            out->name = v.number;
            out->form = (uint16_t)v.form;
        } else if (fields->content[i] == DW_LNCT_directory_index) {
            out->dir = (uint32_t)v.number;
        }
    }
    return !b->failed && bytes_offset(b) > from;
}

/* Directories and files of version 5 (DWARF 5, 6.2.4.1). */
static bool read_new_tables(struct dwarf_lines *l, struct bytes *b,
                            const struct dwarf_unit *u, struct arena *a)
{
    struct fields fields = {.count = 0};
    struct dwarf_line_file entry;
    read_fields(b, &fields);
    for (uint64_t left = dwarf_uleb(b); left && !b->failed; left--) {
        if (!read_entry(b, u, &fields, &entry))
            break;
        if (!add_dir(l, a, (struct dwarf_value){entry.name, entry.form}))
            return false;
    }
    read_fields(b, &fields);
    for (uint64_t left = dwarf_uleb(b); left && !b->failed; left--) {
        if (!read_entry(b, u, &fields, &entry))
            break;
        if (!add_file(l, a, entry))
            return false;
    }
    return true;
}

/* Reads the header; the program follows it. False when out of memory. */
static bool read_head(struct dwarf_lines *l, struct bytes *b, struct arena *a)
{
    struct dwarf_unit u = *l->unit; /* with the sizes of this program */
    uint64_t length = bytes_u32(b);
    u.offset_size = length == UINT32_MAX ? 8 : 4;
    if (u.offset_size == 8)
        length = bytes_u64(b);
    if (length < bytes_left(b))
        b->end = b->at + length;
    l->version = bytes_u16(b);
    if (l->version < 2 || l->version > 5)
        return true;
    if (l->version >= 5) {
        u.address_size = bytes_u8(b);
        (void)bytes_u8(b); /* size of segment selectors */
    }
    uint64_t head = bytes_number(b, u.offset_size);
    uint64_t program = bytes_offset(b) + head;
    l->min_length = bytes_u8(b);
    l->max_ops = l->version >= 4 ? bytes_u8(b) : 1;
    (void)bytes_u8(b); /* whether a row begins a statement */
    l->line_base = (int8_t)bytes_u8(b);
    l->line_range = bytes_u8(b);
    l->opcode_base = bytes_u8(b);
    l->lengths = bytes_take(b, l->opcode_base ? l->opcode_base - 1u : 0);
    bool ok = l->version >= 5 ? read_new_tables(l, b, &u, a) : read_old_tables(l, b, a);
    if (l->line_range)
        l->reciprocal = 65536u / l->line_range + 1;
    if (head <= (size_t)(b->end - b->begin) && l->line_range && l->opcode_base)
        l->program = str_skip(str_span(b->begin, b->end), program);
    return ok;
}

/* --- The machine -------------------------------------------------------------------- */

static inline void advance(const struct dwarf_lines *l, struct dwarf_line_state *s,
                           uint64_t operations)
{
    if (l->max_ops <= 1) {
        s->address += l->min_length * operations;
        return;
    }
    uint64_t index = s->op_index + operations;
    s->address += l->min_length * (index / l->max_ops);
    s->op_index = (uint8_t)(index % l->max_ops);
}

static enum dwarf_line_event run_extended(struct bytes *b, struct dwarf_line_state *s)
{
    uint64_t length = dwarf_uleb(b);
    struct bytes in = *b;
    bytes_skip(b, length);
    if (!length || b->failed)
        return DWARF_LINE_NONE;
    switch (bytes_u8(&in)) {
    case DW_LNE_end_sequence:
        return DWARF_LINE_END;
    case DW_LNE_set_address:
        s->address = bytes_number(&in, (unsigned)(length - 1));
        s->op_index = 0;
        break;
    default:
        break;
    }
    return DWARF_LINE_NONE;
}

/* Skips an unknown operation: its arguments are LEB128. */
static void skip_unknown(const struct dwarf_lines *l, struct bytes *b, unsigned op)
{
    unsigned arguments = op - 1 < l->lengths.len ? (uint8_t)l->lengths.ptr[op - 1] : 0;
    while (arguments--)
        (void)dwarf_uleb(b);
}

static inline enum dwarf_line_event run_standard(const struct dwarf_lines *l,
                                                 struct bytes *b,
                                                 struct dwarf_line_state *s, unsigned op)
{
    switch (op) {
    case DW_LNS_copy:
        return DWARF_LINE_ROW;
    case DW_LNS_advance_pc:
        advance(l, s, dwarf_uleb(b));
        break;
    case DW_LNS_advance_line:
        s->line += (uint32_t)dwarf_sleb(b);
        break;
    case DW_LNS_set_file:
        s->file = (uint32_t)dwarf_uleb(b);
        break;
    case DW_LNS_set_column:
        s->column = (uint16_t)dwarf_uleb(b);
        break;
    case DW_LNS_negate_stmt:
    case DW_LNS_set_basic_block:
    case DW_LNS_set_prologue_end:
    case DW_LNS_set_epilogue_begin:
        break;
    case DW_LNS_const_add_pc:
        advance(l, s, (255u - l->opcode_base) / l->line_range);
        break;
    case DW_LNS_fixed_advance_pc:
        s->address += bytes_u16(b);
        s->op_index = 0;
        break;
    default:
        skip_unknown(l, b, op);
        break;
    }
    return DWARF_LINE_NONE;
}

static inline enum dwarf_line_event step(const struct dwarf_lines *l, struct bytes *b,
                                         struct dwarf_line_state *s)
{
    unsigned op = bytes_u8(b);
    if (op >= l->opcode_base) {
        unsigned adjusted = op - l->opcode_base;
        unsigned operations = adjusted * l->reciprocal >> 16;
        advance(l, s, operations);
        s->line +=
            (uint32_t)(l->line_base + (int)(adjusted - operations * l->line_range));
        return DWARF_LINE_ROW;
    }
    return op == DW_LNS_extended ? run_extended(b, s) : run_standard(l, b, s, op);
}

static struct dwarf_line_state begin_state(void)
{
    return (struct dwarf_line_state){.file = 1, .line = 1};
}

static struct bytes program_bytes(const struct dwarf_lines *l, uint32_t from)
{
    struct bytes b = bytes_of(l->program, l->unit->file->sections.big_endian);
    b.at += from;
    return b;
}

/* --- Making marks ------------------------------------------------------------------- */

/* Rows sorted by address, up to a DW_LNE_end_sequence. */
struct sequence {
    uint64_t low;
    size_t mark, mark_count;
};

/* The state of the first run of a program. */
struct first_run {
    struct dwarf_lines *lines;
    const struct dwarf *dwarf;
    struct arena *arena;
    struct dwarf_table *ranges;
    struct sequence *sequences;
    size_t sequence_count, sequence_cap;
    uint64_t first, last; /* addresses of the sequence's rows */
    size_t first_mark;    /* of the sequence */
    bool in_sequence;
    bool failed;
};

static void add_mark(struct first_run *run, const struct dwarf_line_state *s)
{
    struct dwarf_lines *l = run->lines;
    if (!ARRAY_RESERVE(run->arena, l->marks, l->mark_cap, l->mark_count + 1)) {
        run->failed = true;
        return;
    }
    l->marks[l->mark_count++] = *s;
}

static void begin_sequence(struct first_run *run, uint64_t address)
{
    run->in_sequence = true;
    run->first = address;
    run->first_mark = run->lines->mark_count;
}

static void add_sequence(struct first_run *run, uint64_t end)
{
    if (!ARRAY_RESERVE_HEAP(run->sequences, run->sequence_cap, run->sequence_count + 1)) {
        run->failed = true;
        return;
    }
    run->sequences[run->sequence_count++] = (struct sequence){
        run->first, run->first_mark, run->lines->mark_count - run->first_mark};
    if (run->ranges)
        run->failed |= !dwarf_table_add(run->ranges, run->arena, run->first, end, 0);
}

static void end_sequence(struct first_run *run, uint64_t address)
{
    const struct dwarf_input *input = &run->dwarf->input;
    bool is_code = run->in_sequence && run->first >= input->code_low &&
                   run->first < input->code_high && run->first < address;
    if (run->in_sequence && !is_code)
        run->lines->mark_count = run->first_mark;
    if (is_code)
        add_sequence(run, address);
    run->in_sequence = false;
}

static void run_first(struct first_run *run)
{
    const struct dwarf_lines *l = run->lines;
    struct bytes b = program_bytes(l, 0);
    struct dwarf_line_state s = begin_state();
    unsigned since = 0; /* operations since the last mark */
    while (b.at < b.end && !b.failed && !run->failed) {
        enum dwarf_line_event event = step(l, &b, &s);
        since++;
        if (event == DWARF_LINE_NONE)
            continue;
        if (event == DWARF_LINE_END) {
            end_sequence(run, s.address);
            s = begin_state();
            continue;
        }
        bool is_first = !run->in_sequence;
        if (is_first)
            begin_sequence(run, s.address);
        if (is_first || since >= DWARF_MARK_EVERY || s.address < run->last) {
            s.next = (uint32_t)bytes_offset(&b);
            add_mark(run, &s);
            since = 0;
        }
        run->last = s.address;
    }
    end_sequence(run, run->last);
}

static bool sequence_before(const void *context, uint32_t a, uint32_t b)
{
    const struct sequence *sequences = context;
    return sequences[a].low < sequences[b].low;
}

static bool mark_before(const void *context, uint32_t a, uint32_t b)
{
    const struct dwarf_line_state *marks = context;
    return marks[a].address < marks[b].address;
}

static bool marks_are_sorted(const struct dwarf_lines *l)
{
    size_t i = 1;
    while (i < l->mark_count && l->marks[i - 1].address <= l->marks[i].address)
        i++;
    return i >= l->mark_count;
}

/* The numbers below n, sorted by `before`; the caller frees them. NULL
 * when out of memory. */
static uint32_t *make_order(size_t n,
                            bool (*before)(const void *context, uint32_t a, uint32_t b),
                            const void *context)
{
    uint32_t *order = malloc(2 * n * sizeof *order + 1);
    for (size_t i = 0; order && i < n; i++)
        order[i] = (uint32_t)i;
    if (order)
        sort_u32(order, n, order + n, before, context);
    return order;
}

/* Moves the marks into the order of their sequences. If several sequences begin at the
 * same address (the linker merged identical functions), the first one stays. */
static void order_marks(struct first_run *run, const struct dwarf_line_state *marks,
                        const uint32_t *order)
{
    struct dwarf_lines *l = run->lines;
    const struct sequence *last = NULL;
    l->mark_count = 0;
    for (size_t i = 0; i < run->sequence_count; i++) {
        const struct sequence *s = &run->sequences[order[i]];
        if (last && last->low == s->low)
            continue;
        memcpy(l->marks + l->mark_count, marks + s->mark, s->mark_count * sizeof *marks);
        l->mark_count += s->mark_count;
        last = s;
    }
}

/* Sorts the marks by address. False when out of memory. */
static bool sort_marks(struct first_run *run)
{
    struct dwarf_lines *l = run->lines;
    size_t n = l->mark_count, size = n * sizeof *l->marks;
    if (marks_are_sorted(l) && run->sequence_count < 2)
        return true;
    struct dwarf_line_state *copy = malloc(size + 1);
    uint32_t *order = make_order(run->sequence_count, sequence_before, run->sequences);
    bool ok = copy && order;
    if (ok && n) {
        memcpy(copy, l->marks, size);
        order_marks(run, copy, order);
    }
    if (ok && !marks_are_sorted(l)) { /* nested sequences */
        free(order);
        order = make_order(l->mark_count, mark_before, l->marks);
        ok = order != NULL;
        memcpy(copy, l->marks, l->mark_count * sizeof *copy);
        for (size_t i = 0; ok && i < l->mark_count; i++)
            l->marks[i] = copy[order[i]];
    }
    free(copy);
    free(order);
    return ok;
}

struct dwarf_lines *dwarf_lines_make(const struct dwarf_unit *u, const struct dwarf *d,
                                     struct arena *a, uint64_t *budget,
                                     struct dwarf_table *ranges)
{
    const struct dwarf_sections *s = &u->file->sections;
    struct first_run run = {.dwarf = d, .arena = a, .ranges = ranges};
    run.lines = arena_zalloc(a, 1, sizeof *run.lines);
    if (!run.lines)
        return NULL;
    run.lines->unit = u;
    run.lines->program = run.lines->lengths = STR("");
    if (u->line >= s->line.len)
        return run.lines;
    /* String offsets are relative to the section, so `b` begins there. */
    struct bytes b = bytes_of(str_head(s->line, UINT32_MAX), s->big_endian);
    bytes_seek(&b, u->line);
    if (*budget < bytes_left(&b))
        b.end = b.at + *budget;
    if (!read_head(run.lines, &b, a))
        return NULL;
    *budget -= (uint64_t)(b.end - b.begin) - u->line;
    run_first(&run);
    bool ok = !run.failed && sort_marks(&run);
    free(run.sequences);
    return ok ? run.lines : NULL;
}

/* --- Looking up --------------------------------------------------------------------- */

/* Runs from after one row to after the next; *b is at s->next. */
static inline enum dwarf_line_event run_on(const struct dwarf_lines *l, struct bytes *b,
                                           struct dwarf_line_state *s)
{
    for (int i = 0; i < RUN_MAX && b->at < b->end; i++) {
        enum dwarf_line_event event = step(l, b, s);
        if (b->failed)
            return DWARF_LINE_STOP;
        if (event != DWARF_LINE_NONE) {
            s->next = (uint32_t)bytes_offset(b);
            return event;
        }
    }
    return DWARF_LINE_STOP;
}

enum dwarf_line_event dwarf_lines_next(const struct dwarf_lines *l,
                                       struct dwarf_line_state *s)
{
    struct bytes b = program_bytes(l, s->next);
    return run_on(l, &b, s);
}

/* Runs from a row at or before the address to the last such row; `from` is the offset
 * of its mark in the program. */
static bool run_to(const struct dwarf_lines *l, struct dwarf_line_state s, uint32_t from,
                   uint64_t address, struct dwarf_line_state *out)
{
    struct bytes b = program_bytes(l, s.next);
    while (s.next - from < RUN_MAX) {
        *out = s;
        enum dwarf_line_event event = run_on(l, &b, &s);
        if (event == DWARF_LINE_STOP || s.address < out->address)
            return false;
        if (s.address > address)
            return true;
        if (event == DWARF_LINE_END)
            return false;
    }
    return false;
}

/* Number of marks at or before the address. */
static size_t marks_to(const struct dwarf_lines *l, uint64_t address)
{
    size_t low = 0, high = l->mark_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (l->marks[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool dwarf_lines_find(struct dwarf_lines *l, uint64_t address,
                      struct dwarf_line_state *out)
{
    size_t mark = marks_to(l, address);
    bool goes_on = mark && mark == l->last_mark && l->last.address <= address;
    for (int i = 0; i < MARKS_BACK_MAX && mark; i++, mark--) {
        const struct dwarf_line_state *s = &l->marks[mark - 1];
        if (run_to(l, i == 0 && goes_on ? l->last : *s, s->next, address, out)) {
            l->last = *out;
            l->last_mark = mark;
            return true;
        }
    }
    return false;
}

bool dwarf_lines_after(const struct dwarf_lines *l, uint64_t address,
                       struct dwarf_line_state *out)
{
    size_t mark = marks_to(l, address);
    if (mark < l->mark_count)
        *out = l->marks[mark];
    return mark < l->mark_count;
}

struct dwarf_line_file *dwarf_lines_file(const struct dwarf_lines *l, uint64_t number)
{
    if (l->version < 5)
        number--;
    return number < l->file_count ? &l->files[number] : NULL;
}

static struct str text_of(const struct dwarf_lines *l, struct dwarf_value v)
{
    if (v.form != DW_FORM_string)
        return dwarf_value_text(l->unit, v);
    struct bytes b = bytes_of(l->unit->file->sections.line, false);
    bytes_seek(&b, v.number);
    struct str text = bytes_string(&b);
    return b.failed ? STR("") : text;
}

struct str dwarf_lines_name(const struct dwarf_lines *l,
                            const struct dwarf_line_file *file)
{
    return text_of(l, (struct dwarf_value){file->name, file->form});
}

struct str dwarf_lines_dir(const struct dwarf_lines *l,
                           const struct dwarf_line_file *file)
{
    uint64_t number = file->dir;
    if (l->version < 5)
        number--;
    return number < l->dir_count ? text_of(l, l->dirs[number]) : STR("");
}
