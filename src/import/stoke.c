/* SPDX-License-Identifier: Apache-2.0 */
/* stoke's own file: see base/stoke_format.h.
 *
 * The rows of each table get the ids that the builder gives them. A section whose
 * checksum is wrong is left out: the ids of its rows are 0, a stack with such a caller is
 * left out with its samples, and all of it is counted. Where a section's head is damaged
 * nobody knows where the next one begins, and what was read until then stands. */
#include "base/bytes.h"
#include "base/crc32.h"
#include "base/stoke_format.h"
#include "import/importer.h"

#define COLUMNS_MAX 8

enum table { STRINGS, MODULES, FRAMES, STACKS, THREADS, EVENTS, SAMPLES, TABLES };

/* The new ids of a table's rows. */
struct id_map {
    uint32_t *ids;
    size_t count, cap;
};

struct section {
    char tag[4];
    uint32_t first, rows, size, sum;
    uint64_t offset; /* of its head, in what was unpacked */
};

struct stoke_reader {
    struct source *in;
    const struct import_options *options;
    struct builder *b;
    struct error *err;
    struct arena arena;
    struct crc32 crc;
    struct id_map maps[TABLES];
    struct section section;
    struct str body;
    uint64_t *columns[COLUMNS_MAX]; /* of STOKE_SECTION_ROWS each */
    struct facts facts;
    bool has_facts, kept, ended;
    uint64_t samples; /* how many the rows stand for */
    uint64_t first, last;
};

static void warn(struct stoke_reader *r, const char *what)
{
    builder_warn_offset(r->b, what, r->section.offset);
}

static bool memory(struct stoke_reader *r)
{
    r->b->profile->arena.failed |= r->arena.failed;
    return !r->b->profile->arena.failed;
}

/* --- Columns: 'u' uleb, 's' sleb, 'd' delta, 'w' weight; behind '?' all may be missing */

static uint64_t unfold(uint64_t v)
{
    return v >> 1 ^ (v & 1 ? UINT64_MAX : 0);
}

/* The bits of the weight. */
static uint64_t take_weight(struct bytes *in)
{
    uint64_t v = bytes_uleb(in), half = v >> 1, bits;
    double whole = (double)half;
    if (v == STOKE_WEIGHT_DOUBLE)
        return bytes_u64(in);
    memcpy(&bits, &whole, sizeof bits);
    return bits;
}

static void take_column(struct bytes *in, char kind, uint32_t rows, uint64_t *out)
{
    uint64_t before = 0;
    for (uint32_t i = 0; i < rows && !in->failed; i++) {
        if (kind == 'w')
            out[i] = take_weight(in);
        else if (kind == 'u')
            out[i] = bytes_uleb(in);
        else
            out[i] = unfold(bytes_uleb(in)) + (kind == 'd' ? before : 0);
        before = out[i];
    }
}

/* The columns of the section at hand, and what stands behind them. A column that is missing
 * is zero. */
static bool take_columns(struct stoke_reader *r, const char *kinds, struct str *rest)
{
    struct bytes in = bytes_of(r->body, false);
    bool optional = false, missing = false;
    size_t i = 0;
    for (; *kinds; kinds++) {
        if (*kinds == '?') {
            optional = true;
            continue;
        }
        if (!r->columns[i])
            r->columns[i] =
                arena_zalloc(&r->arena, STOKE_SECTION_ROWS, sizeof **r->columns);
        if (!r->columns[i])
            return false; /* the arena tells */
        missing |= optional && bytes_left(&in) == 0;
        if (missing)
            memset(r->columns[i], 0, r->section.rows * sizeof **r->columns);
        else
            take_column(&in, *kinds, r->section.rows, r->columns[i]);
        i++;
    }
    if (in.failed) {
        warn(r, "a section that is shorter than its rows");
        return false;
    }
    *rest = bytes_take(&in, bytes_left(&in));
    return true;
}

/* --- Ids ---------------------------------------------------------------------------- */

/* The new id of a row; 0 where it was lost. */
static uint32_t new_id(struct stoke_reader *r, enum table table, uint64_t id)
{
    const struct id_map *map = &r->maps[table];
    if (id == 0)
        return 0;
    if (id < map->count)
        return map->ids[id];
    warn(r, "a row that names another one, which is not in the file");
    return 0;
}

/* Makes room in the map for the section's rows. Sections come in order; where one was
 * left out the ids of its rows are 0. What is not there yet takes at least a byte, so
 * there are no more rows than bytes were read. */
static bool place_rows(struct stoke_reader *r, enum table table)
{
    const struct section *s = &r->section;
    struct id_map *map = &r->maps[table];
    size_t to = (size_t)s->first + s->rows;
    if (s->first < map->count || s->first + (uint64_t)s->rows > s->offset + s->size) {
        warn(r, "rows that cannot be where they are said to be");
        return false;
    }
    if (table == SAMPLES) /* nothing names them */
        return true;
    uint32_t *ids = arena_grow(&r->arena, map->ids, &map->cap, to, sizeof *ids);
    if (!ids)
        return false;
    map->ids = ids;
    memset(ids + map->count, 0, (to - map->count) * sizeof *ids);
    map->count = to;
    return true;
}

/* --- Tables -------------------- */

static void add_strings(struct stoke_reader *r)
{
    struct str text;
    if (!take_columns(r, "u", &text) || !place_rows(r, STRINGS))
        return;
    for (uint32_t i = 0; i < r->section.rows; i++) {
        uint64_t length = r->columns[0][i];
        if (length > text.len) {
            warn(r, "strings that are longer than their section");
            return;
        }
        r->maps[STRINGS].ids[r->section.first + i] =
            builder_string(r->b, str_head(text, (size_t)length));
        text = str_skip(text, (size_t)length);
    }
}

static struct str string_at(struct stoke_reader *r, uint64_t id)
{
    return profile_string(r->b->profile, new_id(r, STRINGS, id));
}

static uint32_t add_module(struct stoke_reader *r, uint32_t i)
{
    return builder_module(r->b, string_at(r, r->columns[0][i]),
                          string_at(r, r->columns[1][i]));
}

/* What was not asked for is left out, and frames that differ in it alone are one. */
static uint32_t add_frame(struct stoke_reader *r, uint32_t i)
{
    const struct import_options *o = r->options;
    uint64_t *const *c = r->columns;
    struct frame f = {.name = new_id(r, STRINGS, c[0][i]),
                      .module = new_id(r, MODULES, c[1][i]),
                      .kind = c[4][i] <= FRAME_WAKER ? (uint32_t)c[4][i] : FRAME_USER};
    if (o->lines) {
        f.file = new_id(r, STRINGS, c[2][i]);
        f.line = c[3][i] <= UINT32_MAX ? (uint32_t)c[3][i] : 0;
    }
    if (o->addresses && (o->every_address || !f.name))
        f.address = c[5][i];
    return builder_frame(r->b, &f);
}

static uint32_t add_stack(struct stoke_reader *r, uint32_t i)
{
    uint64_t own = (uint64_t)r->section.first + i, back = r->columns[0][i];
    stack_id parent = 0;
    if (back > own) {
        warn(r, "a stack whose caller is not in the file");
        return 0;
    }
    if (back && back < own) {
        parent = new_id(r, STACKS, own - back);
        if (!parent)
            return 0;
    }
    frame_id frame = new_id(r, FRAMES, r->columns[1][i]);
    if (!frame)
        frame = builder_named_frame(r->b, STR(""));
    return builder_push(r->b, parent, frame);
}

static uint32_t add_thread(struct stoke_reader *r, uint32_t i)
{
    return builder_thread(r->b, (int64_t)r->columns[0][i], (int64_t)r->columns[1][i],
                          string_at(r, r->columns[2][i]));
}

static uint32_t add_event(struct stoke_reader *r, uint32_t i)
{
    uint64_t unit = r->columns[1][i];
    if (unit > UNIT_EVENTS || r->options->samples)
        unit = UNIT_COUNT;
    return builder_event(r->b, string_at(r, r->columns[0][i]), (enum unit)unit);
}

static void note_time(struct stoke_reader *r, uint64_t time)
{
    if (time == TIME_NONE)
        return;
    if (r->first == TIME_NONE || time < r->first)
        r->first = time;
    if (r->last == TIME_NONE || time > r->last)
        r->last = time;
}

static uint32_t add_sample(struct stoke_reader *r, uint32_t i)
{
    uint64_t *const *c = r->columns;
    struct sample s = {.time = c[0][i],
                       .thread = new_id(r, THREADS, c[1][i]),
                       .cpu = (uint32_t)c[2][i] - 1,
                       .event = new_id(r, EVENTS, c[3][i]),
                       .stack = new_id(r, STACKS, c[4][i]),
                       .count = c[5][i]};
    memcpy(&s.weight, &c[6][i], sizeof s.weight);
    if (!s.event || (c[4][i] && !s.stack)) {
        warn(r, "a sample whose stack or event is not in the file");
        return 0;
    }
    if (!(s.weight - s.weight == 0) || r->samples + s.count < s.count ||
        s.count > UINT64_MAX / 2) {
        warn(r, "a sample with a weight that is no number");
        return 0;
    }
    memcpy(&s.rest, &c[7][i], sizeof s.rest);
    double most = s.weight < 0 ? -s.weight : s.weight;
    if (!(s.rest <= most && s.rest >= -most)) {
        warn(r, "a weight whose low part is larger than itself");
        s.rest = 0;
    }
    if (r->options->samples) {
        s.weight = (double)s.count;
        s.rest = 0;
    }
    r->samples += s.count;
    note_time(r, s.time);
    builder_add_mapped(r->b, &s);
    return 0;
}

/* --- Facts -------------------- */

static struct str take_text(struct bytes *in)
{
    return bytes_take(in, bytes_uleb(in));
}

/* A warning that was given when the profile was made. */
static void take_warning(struct stoke_reader *r, struct bytes *in)
{
    struct str what = take_text(in);
    uint64_t count = bytes_uleb(in);
    struct place place = PLACE_NONE;
    place.line = bytes_uleb(in);
    place.column = bytes_uleb(in);
    place.offset = bytes_uleb(in) - 1;
    place.caret = (unsigned)bytes_uleb(in);
    struct str text = str_head(take_text(in), sizeof place.text - 1);
    char *kept = arena_alloc(&r->b->profile->arena, what.len + 1);
    if (in->failed || !kept || !what.len)
        return;
    memcpy(kept, what.ptr, what.len);
    kept[what.len] = 0;
    memcpy(place.text, text.ptr, text.len);
    if (place.caret > text.len + 1)
        place.caret = 0;
    builder_warn_place(r->b, kept, count, &place);
}

static void take_facts(struct stoke_reader *r)
{
    struct bytes in = bytes_of(r->body, false);
    struct facts *f = &r->facts;
    f->format = (string_id)bytes_uleb(&in);
    f->host = (string_id)bytes_uleb(&in);
    f->command = (string_id)bytes_uleb(&in);
    f->samples = bytes_uleb(&in);
    f->lost = bytes_uleb(&in);
    f->truncated = bytes_uleb(&in);
    f->time_first = bytes_uleb(&in) - 1;
    f->time_last = bytes_uleb(&in) - 1;
    uint64_t bits = bytes_u64(&in);
    memcpy(&f->rate, &bits, sizeof bits);
    uint64_t flags = bytes_uleb(&in);
    f->filtered = flags & STOKE_FILTERED;
    f->differential = flags & STOKE_DIFFERENTIAL;
    uint64_t warnings = bytes_uleb(&in);
    r->has_facts = !in.failed;
    for (uint64_t i = 0; i < warnings && i < WARNINGS_MAX && !in.failed; i++)
        take_warning(r, &in);
    uint64_t losses = in.failed || bytes_left(&in) == 0 ? 0 : bytes_uleb(&in);
    for (uint64_t i = 0; i < losses && i < LOSSES_MAX && !in.failed; i++) {
        struct loss *loss = &f->losses[f->loss_count];
        loss->time = bytes_uleb(&in);
        loss->count = bytes_uleb(&in);
        f->loss_count += !in.failed && loss->time != TIME_NONE;
    }
    if (in.failed)
        warn(r, "facts that are cut short");
}

/* The facts go with what was read of the samples, which a damaged file holds less of. */
static void set_facts(struct stoke_reader *r)
{
    struct facts *to = &r->b->profile->facts;
    const struct facts *f = &r->facts;
    bool times = f->time_first <= f->time_last && f->time_last != TIME_NONE;
    note_time(r, r->has_facts && times ? f->time_first : TIME_NONE);
    note_time(r, r->has_facts && times ? f->time_last : TIME_NONE);
    if (to->time_first == TIME_NONE ||
        (r->first != TIME_NONE && r->first < to->time_first))
        to->time_first = r->first;
    if (to->time_last == TIME_NONE || (r->last != TIME_NONE && r->last > to->time_last))
        to->time_last = r->last;
    to->format = new_id(r, STRINGS, f->format);
    if (!r->has_facts) {
        to->samples += r->samples;
        return;
    }
    to->samples += f->samples < r->samples || f->filtered ? f->samples : r->samples;
    to->host = new_id(r, STRINGS, f->host);
    to->command = new_id(r, STRINGS, f->command);
    to->lost += f->lost;
    for (unsigned i = 0; i < f->loss_count; i++) {
        to->lost -= f->losses[i].count <= to->lost ? f->losses[i].count : to->lost;
        builder_lost(r->b, f->losses[i].time, f->losses[i].count);
    }
    to->truncated += f->truncated;
    to->filtered |= f->filtered;
    to->differential |= f->differential && r->b->profile->event_count == 3;
    if (f->rate - f->rate == 0 && f->rate > to->rate)
        to->rate = f->rate;
}

/* --- Sections ---------------------------------------------------------------------- */

static const struct table_reader {
    char tag[5];
    enum table table;
    const char *columns;
    uint32_t (*add)(struct stoke_reader *r, uint32_t row);
} table_readers[] = {
    {"MODS", MODULES, "uu", add_module}, {"FRMS", FRAMES, "uuuuud", add_frame},
    {"STKS", STACKS, "uu", add_stack},   {"THRS", THREADS, "ssu", add_thread},
    {"EVTS", EVENTS, "uu", add_event},   {"SMPS", SAMPLES, "duuuduw?w", add_sample},
};

static void add_table(struct stoke_reader *r, const struct table_reader *t)
{
    struct str rest;
    if (!take_columns(r, t->columns, &rest) || !place_rows(r, t->table) || !memory(r))
        return;
    uint32_t *ids = r->maps[t->table].ids;
    for (uint32_t i = 0; i < r->section.rows; i++) {
        uint32_t id = t->add(r, i);
        if (t->table != SAMPLES)
            ids[r->section.first + i] = id;
    }
}

static void add_section(struct stoke_reader *r)
{
    struct str tag = {r->section.tag, sizeof r->section.tag};
    if (crc32_sum(&r->crc, r->body) != r->section.sum) {
        warn(r, "a section whose checksum is wrong: it is left out");
        return;
    }
    r->ended = str_equal(tag, STR("END "));
    if (r->section.rows > STOKE_SECTION_ROWS) {
        warn(r, "a section of too many rows: it is left out");
        return;
    }
    if (str_equal(tag, STR("FACT")))
        take_facts(r);
    else if (str_equal(tag, STR("STRS")))
        add_strings(r);
    for (size_t i = 0; i < sizeof table_readers / sizeof *table_readers; i++)
        if (str_equal(tag, str_of(table_readers[i].tag)))
            add_table(r, &table_readers[i]);
}

static void end_early(struct stoke_reader *r)
{
    r->b->profile->facts.incomplete = true;
    warn(r, "the file ends too early: what lies behind is missing");
}

/* So many bytes, which are then left behind. False, with the window as it was, where the
 * input ends before. */
static bool take(struct stoke_reader *r, size_t size, struct str *out, bool *failed)
{
    struct source *in = r->in;
    *failed = !source_peek(in, size, r->err);
    if (*failed || (size_t)(in->end - in->begin) < size)
        return false;
    *out = (struct str){in->begin, size};
    in->begin += size;
    in->offset += size;
    return true;
}

/* The head of the next section; false where there is none that can be read. */
static bool take_head(struct stoke_reader *r, bool *failed)
{
    struct section *s = &r->section;
    struct str head;
    s->offset = r->in->offset;
    if (!take(r, STOKE_SECTION_HEAD, &head, failed)) {
        end_early(r);
        return false;
    }
    struct bytes in = bytes_of(head, false);
    memcpy(s->tag, bytes_take(&in, sizeof s->tag).ptr, sizeof s->tag);
    s->first = bytes_u32(&in);
    s->rows = bytes_u32(&in);
    s->size = bytes_u32(&in);
    s->sum = bytes_u32(&in);
    if (bytes_u32(&in) == crc32_sum(&r->crc, str_head(head, STOKE_HEAD_SUMMED)) &&
        s->size <= STOKE_SECTION_MOST)
        return true;
    r->b->profile->facts.incomplete = true;
    warn(r, "the checksum of a section's head is wrong: what lies behind is left out");
    return false;
}

static bool read_sections(struct stoke_reader *r)
{
    bool failed = false;
    while (!r->ended && take_head(r, &failed)) {
        if (!take(r, r->section.size, &r->body, &failed)) {
            end_early(r);
            break;
        }
        add_section(r);
        if (!memory(r))
            return error_memory(r->err);
    }
    return !failed;
}

static bool read_file_head(struct stoke_reader *r)
{
    struct str head;
    bool failed;
    if (!take(r, STOKE_FILE_HEAD, &head, &failed))
        return !failed && error_set(r->err, "this .stoke file is cut short: there is "
                                            "nothing but its name in it");
    struct bytes in = bytes_of(head, false);
    if (!str_equal(bytes_take(&in, STOKE_MAGIC.len), STOKE_MAGIC)) {
        error_set(r->err, "this is no .stoke file: it does not begin as one");
        return error_at_offset(r->err, 0);
    }
    uint32_t version = bytes_u32(&in);
    r->kept = bytes_u32(&in) & STOKE_KEPT;
    if (version == STOKE_FORMAT_VERSION)
        return true;
    error_set(r->err, "a .stoke file of version %u, and this stoke reads version %u",
              version, (unsigned)STOKE_FORMAT_VERSION);
    error_at_offset(r->err, STOKE_MAGIC.len);
    return error_hint(r->err, "read it with the stoke that wrote it, or a later one");
}

static bool stoke_read(struct source *in, const struct import_options *options,
                       struct builder *b, struct error *err)
{
    struct stoke_reader r = {.in = in,
                             .options = options,
                             .b = b,
                             .err = err,
                             .first = TIME_NONE,
                             .last = TIME_NONE};
    r.facts.time_first = r.facts.time_last = TIME_NONE;
    crc32_init(&r.crc);
    bool ok = read_file_head(&r) && read_sections(&r);
    if (ok) {
        set_facts(&r);
        b->profile->kept &= r.kept;
    }
    arena_deinit(&r.arena);
    return ok;
}

static int stoke_probe(struct str head)
{
    return str_starts(head, STOKE_MAGIC) ? 100 : 0;
}

const struct importer import_stoke = {
    .name = "stoke",
    .suffixes = "stoke",
    .summary = "stoke's own file, with all that a profile holds",
    .probe = stoke_probe,
    .shape = SHAPE_BINARY,
    .empty = "there are no samples in this profile",
    .keeps_format = true,
    .read = stoke_read,
};
