/* SPDX-License-Identifier: Apache-2.0 */
/* One annotated function: its range, lines and instructions. */
#include "base/sort.h"
#include "engine/annotate_parts.h"
#include "model/name.h"

/* --- Addresses --------------------------------------------------------------------- */

static bool by_address(const void *context, uint32_t a, uint32_t b)
{
    const struct annotated_address *addresses = context;
    return addresses[a].address < addresses[b].address;
}

/* Sorts the addresses and removes duplicates. */
static bool order_addresses(struct annotation *f, struct arena *arena)
{
    size_t n = f->address_count, count = 0;
    uint32_t *order = arena_alloc(arena, (n + 1) * sizeof *order);
    uint32_t *room = arena_alloc(arena, (n + 1) * sizeof *room);
    struct annotated_address *sorted = arena_alloc(arena, (n + 1) * sizeof *sorted);
    if (!order || !room || !sorted)
        return false;
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    sort_u32(order, n, room, by_address, f->addresses);
    for (size_t i = 0; i < n; i++) {
        const struct annotated_address *a = &f->addresses[order[i]];
        if (count && sorted[count - 1].address == a->address) {
            sorted[count - 1].samples.weight += a->samples.weight;
            sorted[count - 1].samples.count += a->samples.count;
        } else {
            sorted[count++] = *a;
        }
    }
    f->addresses = sorted;
    f->address_count = count;
    return true;
}

static void keep_rows(struct annotation *f, const struct dwarf_row *rows, size_t count,
                      struct arena *arena)
{
    f->rows = arena_alloc(arena, (count + 1) * sizeof *f->rows);
    for (size_t i = 0; f->rows && i < count; i++) {
        bool known = rows[i].line && rows[i].file.len;
        f->rows[f->row_count++] = (struct annotated_row){
            rows[i].address, known ? strings_add(&f->files, rows[i].file) : 0,
            known ? rows[i].line : 0};
    }
}

static void add_dwarf_rows(struct annotation *f, const struct object *o,
                           struct arena *arena)
{
    struct dwarf_reader reader;
    struct error ignored;
    struct dwarf_row *rows;
    size_t count;
    if (!o->has_dwarf || !dwarf_reader_init(&reader, &o->dwarf, &ignored))
        return;
    if (!dwarf_rows(&reader, f->low, f->high, &rows, &count, &ignored))
        count = 0;
    keep_rows(f, rows, count, arena);
    dwarf_reader_deinit(&reader);
}

/* Source: DWARF, else Go's own table. */
static void add_rows(struct annotation *f, const struct object *o, struct arena *arena)
{
    struct go_reader reader;
    struct dwarf_row *rows;
    size_t count;
    add_dwarf_rows(f, o, arena);
    if (f->row_count || !o->has_go)
        return;
    go_reader_init(&reader, &o->go);
    if (go_rows(&reader, f->low, f->high, &rows, &count))
        keep_rows(f, rows, count, arena);
    go_reader_deinit(&reader);
}

const struct annotated_row *annotation_row(const struct annotation *f, uint64_t address)
{
    size_t from = 0, to = f->row_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (f->rows[middle].address <= address)
            from = middle + 1;
        else
            to = middle;
    }
    return from && f->rows[from - 1].line ? &f->rows[from - 1] : NULL;
}

static bool by_line(const void *context, uint32_t a, uint32_t b)
{
    const struct annotated_row *rows = context;
    return rows[a].file != rows[b].file ? rows[a].file < rows[b].file
                                        : rows[a].line < rows[b].line;
}

static struct annotated_line *find_line(const struct annotation *f,
                                        const struct annotated_row *row)
{
    size_t from = 0, to = f->line_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        const struct annotated_line *line = &f->lines[middle];
        if (line->file == row->file && line->line == row->line)
            return &f->lines[middle];
        if (line->file < row->file || (line->file == row->file && line->line < row->line))
            from = middle + 1;
        else
            to = middle;
    }
    return NULL;
}

/* The lines of all rows, each with the weight of its samples. */
static bool add_lines(struct annotation *f, struct arena *arena)
{
    size_t n = f->row_count;
    uint32_t *order = arena_alloc(arena, (n + 1) * sizeof *order);
    uint32_t *room = arena_alloc(arena, (n + 1) * sizeof *room);
    f->lines = arena_alloc(arena, (n + 1) * sizeof *f->lines);
    if (!order || !room || !f->lines)
        return false;
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    sort_u32(order, n, room, by_line, f->rows);
    for (size_t i = 0; i < n; i++) {
        const struct annotated_row *row = &f->rows[order[i]];
        const struct annotated_line *last =
            f->line_count ? &f->lines[f->line_count - 1] : NULL;
        bool again = last && last->file == row->file && last->line == row->line;
        if (row->line && !again)
            f->lines[f->line_count++] =
                (struct annotated_line){row->file, row->line, {0, 0}};
    }
    for (size_t i = 0; i < f->address_count; i++) {
        const struct annotated_row *row = annotation_row(f, f->addresses[i].address);
        struct annotated_line *line = row ? find_line(f, row) : NULL;
        if (line) {
            line->samples.weight += f->addresses[i].samples.weight;
            line->samples.count += f->addresses[i].samples.count;
        }
    }
    return true;
}

/* The range of the function's code: the range of the symbol, else from its start to the
 * last sample. */
static void set_range(struct annotation *f, const struct object *o,
                      const struct annotation_code *code)
{
    struct symbol symbol;
    uint64_t first = f->address_count ? f->addresses[0].address : 0;
    uint64_t last = f->address_count ? f->addresses[f->address_count - 1].address : 0;
    f->low = first;
    f->high = last + 1;
    if (code->high > last) {
        f->low = code->low;
        f->high = code->high;
    } else if (o && o->has_symbols && symbol_table_find(&o->symbols, first, &symbol)) {
        f->low = symbol.address;
        f->high = symbol.end > last ? symbol.end : last + 1;
    }
}

/* The flags of an ELF file, which say more about its processor. */
static uint32_t machine_flags(const struct elf *e)
{
    struct bytes header = elf_cursor(e, e->file);
    bytes_skip(&header, e->is_64 ? 48 : 36);
    return bytes_u32(&header);
}

/* Why the code is missing, or NULL. */
static const char *add_bytes(struct annotation *f, struct object *o, struct arena *arena)
{
    struct elf *e = o ? &o->file.elf : NULL;
    if (f->is_jit)
        return "a JIT generated the code; it is not in a file";
    if (!e || e->file.len == 0)
        return "the file with the code is not on this machine";
    if (e->type == ELF_RELOCATABLE)
        return "the addresses in its code are set when it is loaded";
    struct str bytes = elf_bytes_at(e, f->low, f->high - f->low);
    if (bytes.len == 0)
        return "its address is not in the file with the code";
    f->bytes = arena_str(arena, bytes);
    f->machine =
        (struct annotated_machine){e->machine, e->is_64, e->big_endian, machine_flags(e)};
    if (e->machine == ELF_ARM || e->machine == ELF_AARCH64 || e->machine == ELF_RISCV)
        f->mark_count = symtab_marks(e, f->low, f->high, &f->marks, arena);
    return NULL;
}

/* --- Instructions ------------------------------------------------------------------ */

/* An address of the file, in the form of a request for names. */
static uint64_t asked_address(const struct object *o, uint64_t address)
{
    uint64_t offset = UINT64_MAX;
    if (o->addressing == BY_ADDRESS)
        return address + o->moved;
    elf_offset_of_address(&o->file.elf, address, &offset);
    return offset;
}

struct str annotation_target_name(const struct annotation *f, uint64_t address,
                                  const struct resolved_frame *frame,
                                  struct output *scratch)
{
    bool own = address >= f->low && address < f->high && !f->is_stripped;
    uint64_t offset = own ? address - f->low : frame ? frame->offset : address;
    struct str name = own                        ? name_without_arguments(f->symbol)
                      : frame && frame->name.len ? name_without_arguments(frame->name)
                                                 : str_basename(f->module);
    scratch->used = 0;
    output_str(scratch, name);
    if (offset)
        output_format(scratch, "+0x%llx", (unsigned long long)offset);
    return output_contents(scratch);
}

bool annotation_find_target(const struct annotated_code *code,
                            struct annotation_target *t)
{
    if (!annotated_target(code->text, &t->address, &t->before, &t->said))
        return false;
    t->is_data = str_ends(str_trim_right(t->before), STR("#"));
    return true;
}

void annotation_set_target(struct annotated_code *code, const struct annotation_target *t,
                           struct str name, struct arena *arena)
{
    struct output text = OUTPUT_BUFFER;
    output_str(&text, t->before);
    output_format(&text, "%llx", (unsigned long long)t->address);
    if (name.len) {
        output_text(&text, " <");
        output_str(&text, name);
        output_char(&text, '>');
    }
    code->text = arena_str(arena, output_contents(&text));
    output_deinit(&text);
}

/* The variables that the instructions refer to, by address: named if one begins there. */
static struct symtab_variable *find_variables(const struct annotation *f,
                                              struct object *o, size_t *count,
                                              struct arena *room)
{
    struct annotation_target t;
    struct sort_key *keys = arena_alloc(room, (f->code_count + 1) * sizeof *keys);
    struct sort_key *scratch = arena_alloc(room, (f->code_count + 1) * sizeof *keys);
    struct symtab_variable *v = arena_zalloc(room, f->code_count + 1, sizeof *v);
    size_t found = 0;
    *count = 0;
    if (!keys || !scratch || !v)
        return NULL;
    for (size_t i = 0; i < f->code_count; i++)
        if (annotation_find_target(&f->code[i], &t) && t.is_data)
            keys[found++] = (struct sort_key){t.address, 0};
    sort_keys(keys, found, scratch);
    for (size_t i = 0; i < found; i++)
        if (!*count || v[*count - 1].address != keys[i].key)
            v[(*count)++].address = keys[i].key;
    symtab_name_variables(&o->file.elf, v, *count);
    if (o->debug.elf.file.len)
        symtab_name_variables(&o->debug.elf, v, *count);
    return v;
}

static struct str variable_name(struct symtab_variable *v, size_t count, uint64_t address,
                                struct output *scratch)
{
    const struct symtab_variable *found = symtab_variable_at(v, count, address);
    return found ? demangle(found->name, DEMANGLE_SIMPLE, scratch) : STR("");
}

/* Requests for names: of each instruction, and of its target. */
static struct name_job *name_jobs(const struct annotation *f,
                                  const struct resolver *resolver, object_id object,
                                  const struct object *o, struct arena *room)
{
    struct name_job *jobs = arena_zalloc(room, 2 * f->code_count + 1, sizeof *jobs);
    for (size_t i = 0; jobs && i < f->code_count; i++) {
        struct annotation_target t;
        jobs[2 * i].object = jobs[2 * i + 1].object = object;
        jobs[2 * i].address = asked_address(o, f->code[i].address);
        jobs[2 * i + 1].address = UINT64_MAX;
        if (annotation_find_target(&f->code[i], &t))
            jobs[2 * i + 1].address = asked_address(o, t.address);
    }
    if (jobs)
        resolver->name(resolver->context, jobs, 2 * f->code_count);
    return jobs;
}

/* Adds the names of jump targets, of variables and of inlined functions. */
static void name_code(struct annotation *f, const struct resolver *resolver,
                      object_id object, struct object *o, struct arena *arena)
{
    struct output scratch = OUTPUT_BUFFER;
    struct arena room = ARENA_INIT;
    struct annotation_target t;
    size_t variable_count;
    struct name_job *jobs = name_jobs(f, resolver, object, o, &room);
    struct symtab_variable *variables = find_variables(f, o, &variable_count, &room);
    for (size_t i = 0; jobs && variables && i < f->code_count; i++) {
        struct annotated_code *code = &f->code[i];
        const struct name_job *job = &jobs[2 * i], *of_target = &jobs[2 * i + 1];
        if (job->count > 1)
            code->function = arena_str(arena, job->frames[0].name);
        if (!annotation_find_target(code, &t))
            continue;
        const struct resolved_frame *frame =
            of_target->count ? &of_target->frames[of_target->count - 1] : NULL;
        annotation_set_target(
            code, &t,
            t.is_data && !frame
                ? variable_name(variables, variable_count, t.address, &scratch)
                : annotation_target_name(f, t.address, frame, &scratch),
            arena);
    }
    arena->failed |= room.failed;
    output_deinit(&scratch);
    arena_deinit(&room);
}

/* --- Other events of a group ------------------------------------------------------- */

_Static_assert(offsetof(struct annotated_address, address) == 0, "see last_before");
_Static_assert(offsetof(struct annotated_code, address) == 0, "see last_before");

bool annotation_add_others(struct annotation *f, size_t count, struct arena *arena)
{
    size_t size = sizeof *f->others;
    f->other_count = count;
    f->others = arena_zalloc(arena, count, size);
    f->address_others = arena_zalloc(arena, (f->address_count + 1) * count, size);
    f->line_others = arena_zalloc(arena, (f->line_count + 1) * count, size);
    f->code_others = arena_zalloc(arena, (f->code_count + 1) * count, size);
    return !arena->failed;
}

static void add_samples(struct annotated *to, const struct annotated *samples)
{
    to->weight += samples->weight;
    to->count += samples->count;
}

/* The index of the last of these ascending addresses that is at or before `address`; 0 if there is
 * none. They are `stride` bytes apart. */
static size_t last_before(const void *addresses, size_t stride, size_t count,
                          uint64_t address)
{
    size_t from = 0, to = count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        uint64_t at;
        memcpy(&at, (const char *)addresses + middle * stride, sizeof at);
        if (at <= address)
            from = middle + 1;
        else
            to = middle;
    }
    return from ? from - 1 : 0;
}

void annotation_count_other(struct annotation *f, size_t other, uint64_t address,
                            const struct annotated *samples)
{
    const struct annotated_row *row = annotation_row(f, address);
    const struct annotated_line *line = row ? find_line(f, row) : NULL;
    size_t n = f->other_count;
    add_samples(&f->others[other], samples);
    size_t at =
        last_before(f->addresses, sizeof *f->addresses, f->address_count, address);
    size_t instruction = last_before(f->code, sizeof *f->code, f->code_count, address);
    add_samples(&f->address_others[at * n + other], samples);
    if (line)
        add_samples(&f->line_others[(size_t)(line - f->lines) * n + other], samples);
    add_samples(&f->code_others[instruction * n + other], samples);
}

/* --- The whole --------------------------------------------------------------------- */

static bool build_bundled(struct annotation *f, const struct annotation_code *code,
                          struct arena *arena)
{
    set_range(f, NULL, code);
    if (!annotation_take(f, code->bundle, code->bundled_function, arena) ||
        !add_lines(f, arena))
        return false;
    if (annotation_disassemble(f, arena))
        annotation_take_names(f, code->bundle, code->bundled_function, arena);
    return !arena->failed;
}

bool annotation_build(struct annotation *f, const struct annotation_code *code,
                      const struct resolver *resolver, struct arena *arena)
{
    if (!strings_init(&f->files, arena) || !order_addresses(f, arena))
        return false;
    if (code->bundle)
        return build_bundled(f, code, arena);
    struct object *o = local_resolver_tables(resolver, code->object);
    set_range(f, o, code);
    f->is_stripped = code->high != 0;
    f->is_jit = o && (o->request.kind == FRAME_JIT || o->is_dump);
    const char *why = add_bytes(f, o, arena);
    f->no_code = str_of(why ? why : "");
    if (o)
        add_rows(f, o, arena);
    if (!add_lines(f, arena))
        return false;
    if (annotation_disassemble(f, arena))
        name_code(f, resolver, code->object, o, arena);
    return !arena->failed;
}
