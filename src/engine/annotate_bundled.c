/* SPDX-License-Identifier: Apache-2.0 */
/* Annotated functions to and from the tables of a bundle (model/code.h).
 *
 * A bundle has the names of targets that annotation_take_names cannot infer: those inside of the
 * function itself, and those without a name, need no note. */
#include "base/array.h"
#include "engine/annotate_parts.h"

/* The name of a target without a note. */
static struct str usual_name(const struct annotation *f,
                             const struct annotation_target *t, struct output *scratch)
{
    return t->is_data ? STR("") : annotation_target_name(f, t->address, NULL, scratch);
}

/* The number of a target among the notes. */
static uint64_t target_key(uint64_t address, bool is_data)
{
    return address << 1 | is_data;
}

/* --- To a bundle ------------------------------------------------------------------- */

static void add_note(struct code *c, uint32_t function, enum code_note_kind kind,
                     uint64_t address, struct str text)
{
    string_id id = strings_add(&c->strings, text);
    struct code_note *note =
        ARRAY_APPEND(&c->arena, c->notes, c->note_count, c->note_cap);
    if (note)
        *note = (struct code_note){address, function, kind, id};
}

static void keep_targets(const struct annotation *f, struct code *c, uint32_t function)
{
    struct arena room = ARENA_INIT;
    struct output scratch = OUTPUT_BUFFER;
    struct idmap met = {0};
    struct annotation_target t;
    for (size_t i = 0; i < f->code_count; i++) {
        if (!annotation_find_target(&f->code[i], &t) ||
            str_equal(t.said, usual_name(f, &t, &scratch)))
            continue;
        uint64_t *again = idmap_put(&met, &room, target_key(t.address, t.is_data));
        if (again && (*again)++ == 0)
            add_note(c, function, t.is_data ? CODE_VARIABLE : CODE_TARGET, t.address,
                     t.said);
    }
    c->arena.failed |= room.failed;
    output_deinit(&scratch);
    arena_deinit(&room);
}

static void keep_rows(const struct annotation *f, struct code *c, uint32_t function)
{
    for (size_t i = 0; i < f->row_count; i++) {
        const struct annotated_row *row = &f->rows[i];
        string_id file = strings_add(&c->strings, strings_get(&f->files, row->file));
        struct code_row *to = ARRAY_APPEND(&c->arena, c->rows, c->row_count, c->row_cap);
        if (to)
            *to = (struct code_row){row->address, function, file, row->line};
    }
}

void annotation_keep(const struct annotation *f, struct code *c, uint32_t number)
{
    struct code_function *to = &c->functions[number];
    struct str inlined = STR("");
    to->low = f->low;
    to->high = f->high;
    to->machine = f->machine.machine;
    to->machine_flags = f->machine.flags;
    to->flags = CODE_INCLUDED | (f->is_jit ? CODE_JIT : 0u) |
                (f->is_stripped ? CODE_STRIPPED : 0u) |
                (f->machine.is_64 ? CODE_64 : 0u) |
                (f->machine.big_endian ? CODE_BIG_ENDIAN : 0u);
    to->bytes = strings_add(&c->strings, f->bytes);
    to->why = f->bytes.len ? 0 : strings_add(&c->strings, f->no_code);
    keep_rows(f, c, number);
    for (size_t i = 0; i < f->mark_count; i++)
        add_note(c, number, CODE_MARK, f->marks[i].address,
                 (struct str){&f->marks[i].kind, 1});
    for (size_t i = 0; i < f->code_count; i++) {
        if (!str_equal(f->code[i].function, inlined))
            add_note(c, number, CODE_INLINED, f->code[i].address, f->code[i].function);
        inlined = f->code[i].function;
    }
    keep_targets(f, c, number);
}

/* --- From a bundle ----------------------------------------------------------------- */

static bool take_rows(struct annotation *f, const struct code *c,
                      const struct code_range *range, struct arena *arena)
{
    f->rows = arena_alloc(arena, (range->count + 1) * sizeof *f->rows);
    for (size_t i = 0; f->rows && i < range->count; i++) {
        const struct code_row *row = &c->rows[range->first + i];
        struct str file = code_string(c, row->file);
        bool known = row->line && file.len;
        if (i && row->address < row[-1].address) /* damaged: the search needs the order */
            break;
        f->rows[f->row_count++] =
            (struct annotated_row){row->address, known ? strings_add(&f->files, file) : 0,
                                   known ? row->line : 0};
    }
    return f->rows != NULL;
}

static void take_marks(struct annotation *f, const struct code *c,
                       const struct code_range *range, struct arena *arena)
{
    size_t cap = 0;
    for (size_t i = 0; i < range->count; i++) {
        const struct code_note *note = &c->notes[range->first + i];
        struct str kind = code_string(c, note->text);
        struct symtab_mark *mark = note->kind == CODE_MARK && kind.len
                                       ? ARRAY_APPEND(arena, f->marks, f->mark_count, cap)
                                       : NULL;
        if (mark)
            *mark = (struct symtab_mark){note->address, kind.ptr[0]};
    }
}

bool annotation_take(struct annotation *f, const struct code *c, uint32_t number,
                     struct arena *arena)
{
    const struct code_function *from = &c->functions[number];
    f->is_bundled = true;
    f->is_left_out = !(from->flags & CODE_INCLUDED);
    f->no_code = STR("the bundle does not have the code");
    if (f->is_left_out)
        return true;
    f->low = from->low;
    f->high = from->high;
    f->is_jit = from->flags & CODE_JIT;
    f->is_stripped = from->flags & CODE_STRIPPED;
    f->bytes = arena_str(arena, code_string(c, from->bytes));
    f->no_code = arena_str(arena, code_string(c, from->why));
    f->machine =
        (struct annotated_machine){(uint16_t)from->machine, from->flags & CODE_64,
                                   from->flags & CODE_BIG_ENDIAN, from->machine_flags};
    take_marks(f, c, &from->notes, arena);
    return take_rows(f, c, &from->rows, arena);
}

/* Names the inlined functions; those of the notes come in the order of the code. */
static void take_inlined(struct annotation *f, const struct code *c,
                         const struct code_range *range, struct arena *arena)
{
    size_t at = 0;
    struct str now = STR("");
    for (size_t i = 0; i < f->code_count; i++) {
        for (; at < range->count; at++) {
            const struct code_note *note = &c->notes[range->first + at];
            if (note->kind != CODE_INLINED)
                continue;
            if (note->address > f->code[i].address)
                break;
            now = arena_str(arena, code_string(c, note->text));
        }
        f->code[i].function = now;
    }
}

void annotation_take_names(struct annotation *f, const struct code *c, uint32_t number,
                           struct arena *arena)
{
    const struct code_range *range = &c->functions[number].notes;
    struct arena room = ARENA_INIT;
    struct output scratch = OUTPUT_BUFFER;
    struct idmap names = {0};
    struct annotation_target t;
    for (size_t i = 0; i < range->count; i++) {
        const struct code_note *note = &c->notes[range->first + i];
        uint64_t key = target_key(note->address, note->kind == CODE_VARIABLE);
        uint64_t *at = note->kind == CODE_TARGET || note->kind == CODE_VARIABLE
                           ? idmap_put(&names, &room, key)
                           : NULL;
        if (at)
            *at = note->text + (uint64_t)1;
    }
    for (size_t i = 0; i < f->code_count; i++) {
        if (!annotation_find_target(&f->code[i], &t))
            continue;
        const uint64_t *name = idmap_find(&names, target_key(t.address, t.is_data));
        annotation_set_target(&f->code[i], &t,
                              name ? code_string(c, (string_id)(*name - 1))
                                   : usual_name(f, &t, &scratch),
                              arena);
    }
    take_inlined(f, c, range, arena);
    arena->failed |= room.failed;
    output_deinit(&scratch);
    arena_deinit(&room);
}
