/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/dwarf_name.h"
#include "base/hash.h"
#include "symbol/demangle.h"
#include "symbol/dwarf_scope.h"

/* Maximum length of a chain from an entry to the entry that it is an instance of. */
#define ORIGINS_MAX 16

/* Maximum length of a chain of types. */
#define TYPES_MAX 16

/* Maximum number of parts of a name. */
#define PARTS_MAX 64

/* --- Entries ------------------------------------------------------------------------ */

/* The state of the unit that contains the entry at that offset, or NULL. */
static struct dwarf_unit_state *state_of(struct dwarf_reader *r,
                                         struct dwarf_unit_state *from,
                                         const struct dwarf_file *file, uint64_t offset)
{
    const struct dwarf_unit *u = from->unit;
    struct dwarf_file_state *home = from->file;
    if (file == home->file && offset >= u->first && offset < u->end)
        return from;
    if (file != home->file) {
        if (!r->alternate)
            r->alternate = dwarf_file_state_make(r, &r->dwarf->alternate);
        home = r->alternate;
    }
    u = home ? dwarf_file_unit_at(home->file, offset) : NULL;
    return u ? dwarf_unit_state_at(r, home, (size_t)(u - home->file->units)) : NULL;
}

/* An entry and its location. */
struct entry {
    struct dwarf_unit_state *state;
    uint64_t offset;
    const struct dwarf_abbrev *abbrev;
};

static bool read_entry(struct entry *e, struct dwarf_die *die)
{
    struct bytes b = dwarf_unit_bytes(e->state->unit, e->offset);
    e->abbrev = dwarf_next_entry(&b, e->state);
    if (!e->abbrev || b.failed)
        return false;
    dwarf_die_read(&b, e->state->unit, e->state->abbrevs, e->abbrev, die);
    return true;
}

/* Moves to the entry that the value refers to. If there is none, returns false and
 * leaves e unchanged. */
static bool follow(struct dwarf_reader *r, struct entry *e, struct dwarf_value v)
{
    const struct dwarf_file *file;
    uint64_t offset;
    if (!dwarf_value_reference(e->state->unit, v, &file, &offset))
        return false;
    struct dwarf_unit_state *s = state_of(r, e->state, file, offset);
    if (!s)
        return false;
    *e = (struct entry){s, offset, NULL};
    return true;
}

/* Follows the origins of the entry and returns the first linkage name, or else the
 * first plain name; sets *e to the last entry of the chain. */
static struct str find_name(struct dwarf_reader *r, struct entry *e, bool *is_linkage)
{
    struct dwarf_die die;
    struct str found = STR("");
    *is_linkage = false;
    for (int i = 0; i < ORIGINS_MAX && dwarf_spend(r, 1) && read_entry(e, &die); i++) {
        struct str name = dwarf_value_text(e->state->unit, die.linkage_name);
        *is_linkage = name.len != 0;
        if (!name.len && !found.len)
            name = dwarf_value_text(e->state->unit, die.name);
        dwarf_spend(r, name.len / 16);
        if (name.len)
            found = name;
        if (*is_linkage ||
            !follow(r, e, die.origin.form ? die.origin : die.specification))
            break;
    }
    return found;
}

/* --- Types -------------------------------------------------------------------------- */

/* Converts a compiler's name of a base type to the form that demanglers print. */
static struct str base_type_name(struct str name)
{
    static const struct str other[][2] = {
        {{"long int", 8}, {"long", 4}},
        {{"long unsigned int", 17}, {"unsigned long", 13}},
        {{"short int", 9}, {"short", 5}},
        {{"short unsigned int", 18}, {"unsigned short", 14}},
        {{"long long int", 13}, {"long long", 9}},
        {{"long long unsigned int", 22}, {"unsigned long long", 18}},
    };
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (str_equal(name, other[i][0]))
            return other[i][1];
    return name;
}

/* Returns true if names of inner entries include this one: blocks have no names. */
static bool is_named(const struct dwarf_abbrev *abbrev)
{
    return abbrev->role == DWARF_SCOPE || abbrev->role == DWARF_TYPE ||
           abbrev->role == DWARF_FUNCTION || abbrev->role == DWARF_ABSTRACT ||
           abbrev->role == DWARF_OTHER;
}

/* Writes a type with its enclosing scopes. */
static void write_type_path(struct dwarf_reader *r, struct entry e, struct output *out)
{
    uint64_t around[DWARF_SCOPES_MAX];
    size_t count = dwarf_scopes_around(r, e.state, e.offset, around);
    for (size_t i = 0; i <= count; i++) {
        struct entry scope = {e.state, i < count ? around[i] : e.offset, NULL};
        struct dwarf_die die;
        if (!read_entry(&scope, &die) || !is_named(scope.abbrev))
            continue;
        struct str name = dwarf_value_text(scope.state->unit, die.name);
        dwarf_spend(r, name.len);
        if (name.len)
            output_str(out, name);
        else
            output_text(out, scope.abbrev->role == DWARF_SCOPE ? "(anonymous namespace)"
                                                               : "{unnamed type}");
        if (i < count)
            output_text(out, "::");
    }
}

/* The suffix of a derived type after its base type; NULL: not a derived type. */
static const char *type_suffix(const struct dwarf_abbrev *abbrev)
{
    switch (abbrev->tag) {
    case DW_TAG_pointer_type:
        return "*";
    case DW_TAG_reference_type:
        return "&";
    case DW_TAG_rvalue_reference_type:
        return "&&";
    case DW_TAG_const_type:
        return " const";
    case DW_TAG_volatile_type:
        return " volatile";
    case DW_TAG_restrict_type:
        return " __restrict";
    case DW_TAG_typedef:
        return "";
    default:
        return NULL;
    }
}

/* The types that replace "auto" in a generic lambda, in order. The position is
 * determined as the parameters are read. */
struct autos {
    struct dwarf_value types[TYPES_MAX];
    size_t count, used;
};

/* Returns true if the type is the next one. */
static bool take_auto(struct autos *autos, struct dwarf_value type)
{
    if (autos->used == autos->count || !type.form ||
        autos->types[autos->used].number != type.number)
        return false;
    autos->used++;
    return true;
}

static void write_named_type(struct dwarf_reader *r, struct entry e,
                             const struct dwarf_die *die, struct output *out)
{
    if (e.abbrev->tag == DW_TAG_base_type)
        output_str(out, base_type_name(dwarf_value_text(e.state->unit, die->name)));
    else if (e.abbrev->tag == DW_TAG_subroutine_type)
        output_text(out, "function");
    else if (e.abbrev->role == DWARF_SKIP)
        output_text(out, e.abbrev->tag == DW_TAG_array_type ? "array" : "member");
    else
        write_type_path(r, e, out);
}

/* Writes the type of a parameter. Function, array and member pointer types are only
 * written by kind. */
static void write_type(struct dwarf_reader *r, struct dwarf_unit_state *s,
                       struct dwarf_value type, struct autos *autos, struct output *out)
{
    const char *suffixes[TYPES_MAX], *suffix = "";
    size_t count = 0;
    struct entry e = {s, 0, NULL};
    struct dwarf_die die = {.type = type};
    bool is_auto = false;
    while (!(is_auto = take_auto(autos, die.type)) && follow(r, &e, die.type)) {
        suffix = read_entry(&e, &die) ? type_suffix(e.abbrev) : NULL;
        if (!suffix || count == TYPES_MAX || !dwarf_spend(r, 1))
            break;
        suffixes[count++] = suffix;
    }
    if (is_auto)
        output_format(out, "auto:%zu", autos->used);
    else if (!suffix && e.abbrev)
        write_named_type(r, e, &die, out);
    else
        output_text(out, die.type.form ? "..." : "void");
    while (count)
        output_text(out, suffixes[--count]);
}

/* --- Types without a name ----------------------------------------------------------- */

/* Writes the parameters of a lambda's function. Returns true if it is the function of a
 * lambda. */
static bool write_parameters(struct dwarf_reader *r, struct dwarf_unit_state *s,
                             uint64_t function, struct output *out)
{
    struct autos autos = {.count = 0};
    struct dwarf_children c;
    struct dwarf_die die;
    bool is_lambda = false, is_open = false;
    size_t begin = out->used;
    dwarf_children_init(&c, r, s, function);
    while (dwarf_children_next(&c)) {
        uint16_t tag = c.abbrev->tag;
        dwarf_children_read(&c, &die);
        struct str name = dwarf_value_text(s->unit, die.name);
        if (tag == DW_TAG_GNU_formal_parameter_pack) {
            dwarf_children_enter(&c);
        } else if (tag == DW_TAG_template_type_parameter) {
            if (str_starts(name, STR("auto:")) && autos.count < TYPES_MAX)
                autos.types[autos.count++] = die.type;
        } else if (die.is_artificial) {
            is_lambda |= str_equal(name, STR("__closure"));
        } else if (tag == DW_TAG_formal_parameter) {
            output_text(out, out->used > begin ? ", " : "");
            write_type(r, s, die.type, &autos, out);
        }
        is_open |= tag == DW_TAG_unspecified_parameters;
    }
    if (is_open)
        output_text(out, out->used > begin ? ", ..." : "...");
    return is_lambda;
}

/* Writes the part of an unnamed type's name before its number. Returns true if it is a
 * lambda. */
static bool write_kind(struct dwarf_reader *r, struct dwarf_unit_state *s, uint64_t type,
                       struct output *out)
{
    size_t begin = out->used;
    struct dwarf_children c;
    struct dwarf_die die;
    dwarf_children_init(&c, r, s, type);
    output_text(out, "{lambda(");
    while (dwarf_children_next(&c)) {
        if (c.abbrev->role != DWARF_FUNCTION && c.abbrev->role != DWARF_ABSTRACT)
            continue;
        dwarf_children_read(&c, &die);
        struct str name = dwarf_value_text(s->unit, die.name);
        if (str_starts(name, STR("operator()")) && write_parameters(r, s, c.entry, out)) {
            output_text(out, ")#");
            return true;
        }
    }
    out->used = begin;
    output_text(out, "{unnamed type#");
    return false;
}

static bool is_before(const struct dwarf_die *a, const struct dwarf_die *b)
{
    return a->call_line < b->call_line ||
           (a->call_line == b->call_line && a->call_column < b->call_column);
}

/* The number of lambdas, or of other unnamed types, before this one in its scope. */
static uint64_t count_before(struct dwarf_reader *r, struct dwarf_unit_state *s,
                             uint64_t scope, const struct dwarf_die *type, bool is_lambda)
{
    struct output *ignored = &r->caches->other;
    struct dwarf_children c;
    struct dwarf_die die;
    uint64_t count = 0;
    dwarf_children_init(&c, r, s, scope);
    while (dwarf_children_next(&c)) {
        if (c.abbrev->role == DWARF_BLOCK)
            dwarf_children_enter(&c);
        if (!c.abbrev || c.abbrev->role != DWARF_TYPE)
            continue;
        dwarf_children_read(&c, &die);
        if (die.name.form || !is_before(&die, type))
            continue;
        ignored->used = 0;
        count += write_kind(r, s, c.entry, ignored) == is_lambda;
        dwarf_spend(r, ignored->used);
    }
    return count;
}

/* --- Qualified names ---------------------------------------------------------------- */

/* Parts of a name, innermost first; parts without a text are in the reader's buffer. */
struct parts {
    struct dwarf_reader *reader;
    struct part {
        struct str text;
        size_t at; /* offset in the reader's buffer, if text.ptr is NULL */
    } items[PARTS_MAX];
    size_t count;
};

static void add_part(struct parts *p, struct str text)
{
    if (text.len && p->count < PARTS_MAX)
        p->items[p->count++] = (struct part){text, 0};
}

/* Adds what was written to the reader's buffer after `from`. */
static void add_written(struct parts *p, size_t from)
{
    struct str text = {NULL, p->reader->caches->text.used - from};
    if (p->count < PARTS_MAX)
        p->items[p->count++] = (struct part){text, from};
}

static void add_unnamed_type(struct parts *p, struct dwarf_unit_state *s, uint64_t type,
                             uint64_t scope, const struct dwarf_die *die)
{
    struct dwarf_reader *r = p->reader;
    struct output *text = &r->caches->text;
    size_t from = text->used;
    bool is_lambda = write_kind(r, s, type, text);
    output_u64(text, 1 + count_before(r, s, scope, die, is_lambda));
    output_char(text, '}');
    dwarf_spend(r, text->used - from);
    add_written(p, from);
}

static void add_demangled(struct parts *p, struct str name)
{
    struct output *text = &p->reader->caches->text;
    size_t from = text->used;
    output_str(text, demangle(name, DEMANGLE_FULL, &p->reader->caches->demangled));
    dwarf_spend(p->reader, text->used - from);
    add_written(p, from);
}

/* The scope in which unnamed types are counted: not a block. */
static uint64_t counted_in(struct dwarf_unit_state *s, const uint64_t *around,
                           size_t count)
{
    while (count) {
        struct entry e = {s, around[--count], NULL};
        struct dwarf_die die;
        if (read_entry(&e, &die) && is_named(e.abbrev))
            return e.offset;
    }
    return s->unit->first;
}

/* Adds the scopes of the entry within one unit. Returns true if there may be more, and
 * sets *e to the entry where to continue. */
static bool add_scopes(struct parts *p, struct entry *e)
{
    uint64_t around[DWARF_SCOPES_MAX];
    size_t count = dwarf_scopes_around(p->reader, e->state, e->offset, around);
    while (count) {
        struct entry scope = {e->state, around[--count], NULL}, origin = scope;
        struct dwarf_die die;
        bool is_linkage = false;
        if (!read_entry(&scope, &die) || !is_named(scope.abbrev))
            continue;
        struct str name = find_name(p->reader, &origin, &is_linkage);
        if (is_linkage) {
            add_demangled(p, name);
            return false;
        }
        add_part(p, name);
        if (!name.len && scope.abbrev->role == DWARF_SCOPE)
            add_part(p, STR("(anonymous namespace)"));
        else if (!name.len && scope.abbrev->role == DWARF_TYPE)
            add_unnamed_type(p, scope.state, scope.offset,
                             counted_in(e->state, around, count), &die);
        *e = origin;
        if (origin.state != scope.state || origin.offset != scope.offset)
            return true;
    }
    return false;
}

static struct str join_parts(const struct parts *p)
{
    struct dwarf_reader *r = p->reader;
    size_t length = 0;
    for (size_t i = 0; i < p->count; i++)
        length += p->items[i].text.len + 2;
    if (length >= r->budget || r->caches->text.failed)
        return p->items[0].text;
    dwarf_spend(r, length);
    char *begin = arena_alloc(&r->arena, length), *at = begin;
    if (!begin)
        return p->items[0].text;
    for (size_t i = p->count; i-- > 0;) {
        const struct part *part = &p->items[i];
        const char *text =
            part->text.ptr ? part->text.ptr : r->caches->text.bytes + part->at;
        memcpy(at, text, part->text.len);
        at += part->text.len;
        if (i) {
            *at++ = ':';
            *at++ = ':';
        }
    }
    return str_span(begin, at);
}

static bool is_c(const struct dwarf_unit *u)
{
    return u->language == 0x01 || u->language == 0x02 || u->language == 0x0c ||
           u->language == 0x1d || u->language == 0x2c;
}

/* Returns the name qualified with all scopes of the entry, in memory of the reader; the
 * name itself if there are none. */
static struct str qualify(struct dwarf_reader *r, struct entry e, struct str name)
{
    struct parts p = {.reader = r};
    if (!name.len || is_c(e.state->unit))
        return name;
    r->caches->text.used = 0;
    add_part(&p, name);
    for (int i = 0; i < ORIGINS_MAX && add_scopes(&p, &e); i++)
        ;
    return p.count > 1 ? join_parts(&p) : name;
}

/* --- Known names -------------------------------------------------------------------- */

static void find_name_of(struct dwarf_reader *r, struct dwarf_unit_state *s,
                         uint64_t offset, struct dwarf_known_name *out)
{
    struct entry e = {s, offset, NULL};
    struct str name = find_name(r, &e, &out->is_linkage_name);
    out->name = out->is_linkage_name ? name : qualify(r, e, name);
    out->is_made = out->name.ptr != name.ptr;
}

/* A function is inlined in many locations: its name is cached. */
static const struct dwarf_known_name *known_name(struct dwarf_reader *r,
                                                 struct dwarf_unit_state *s,
                                                 uint64_t offset)
{
    const struct dwarf_file *file = s->unit->file;
    struct dwarf_known_name *known =
        &r->caches->names[hash_mix(offset, HASH_A) & (DWARF_KNOWN_NAMES - 1)];
    if (known->file != file || known->entry != offset) {
        find_name_of(r, s, offset, known);
        /* without budget, the chain may be incomplete */
        known->file = r->budget ? file : NULL;
        known->entry = offset;
    }
    return known;
}

void dwarf_name_inlined(struct dwarf_reader *r, struct dwarf_unit_state *s,
                        struct dwarf_inlined *inlined)
{
    const struct dwarf_file *file;
    struct dwarf_known_name own = {.name = STR("")};
    const struct dwarf_known_name *found = &own;
    uint64_t offset;
    if (inlined->is_named)
        return;
    if (dwarf_value_reference(s->unit, inlined->origin, &file, &offset)) {
        s = state_of(r, s, file, offset);
        found = s ? known_name(r, s, offset) : &own;
    } else {
        find_name_of(r, s, inlined->entry, &own);
    }
    inlined->is_named = true;
    inlined->name = found->name;
    inlined->is_linkage_name = found->is_linkage_name;
    inlined->is_made = found->is_made;
}
