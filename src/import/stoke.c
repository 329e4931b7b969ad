/* SPDX-License-Identifier: Apache-2.0 */
/* stoke's own format: see base/stoke_format.h.
 *
 * The rows of each table get the ids of the builder. A section with a wrong checksum is
 * left out: the ids of its rows are 0, and a stack with such a caller is left out with
 * its samples; everything omitted is counted. If the head of a section is damaged, the
 * start of the next section is unknown: reading ends, and the data read so far is
 * used. */
#include "base/array.h"
#include "base/bytes.h"
#include "base/stoke_format.h"
#include "import/stoke_reader.h"
#include "model/code.h"
#include "model/sample_labels.h"

#define SAMPLE_LEAST 7 /* bytes of a row: one of each column that is not optional */

void stoke_warn(struct stoke_reader *r, const char *what)
{
    builder_warn_offset(r->b, what, r->section.offset);
}

static bool memory(struct stoke_reader *r)
{
    r->b->profile->arena.failed |=
        r->arena.failed || (r->options->code && r->options->code->arena.failed);
    return !r->b->profile->arena.failed;
}

/* --- Columns: 'u' uleb, 's' sleb, 'd' delta, 'w' weight; after '?' all are optional
 --- */

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

/* Reads the columns of the current section; *rest is the data after them. A missing
 * column is zero. */
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
        uint64_t *column = arena_grow(&r->arena, r->columns[i], &r->column_caps[i],
                                      r->section.rows, sizeof *column);
        if (!column && r->section.rows)
            return false; /* the arena reports it */
        r->columns[i++] = column;
        missing |= optional && bytes_left(&in) == 0;
        if (!missing)
            take_column(&in, *kinds, r->section.rows, column);
        else if (column)
            memset(column, 0, r->section.rows * sizeof *column);
    }
    if (in.failed) {
        stoke_warn(r, "a section is shorter than its rows");
        return false;
    }
    *rest = bytes_take(&in, bytes_left(&in));
    return true;
}

/* --- Ids ---------------------------------------------------------------------------- */

uint32_t stoke_new_id(struct stoke_reader *r, enum table table, uint64_t id)
{
    const struct id_map *map = &r->maps[table];
    if (id == 0)
        return 0;
    if (id < map->count)
        return map->ids[id];
    stoke_warn(r, "a row refers to a missing row");
    return 0;
}

/* Makes room in the map for the section's rows. Sections come in order; if one was left
 * out, the ids of its rows are 0. Each row takes at least a byte, so there cannot be
 * more rows than bytes. */
static bool map_rows(struct stoke_reader *r, enum table table)
{
    const struct section *s = &r->section;
    struct id_map *map = &r->maps[table];
    size_t to = (size_t)s->first + s->rows;
    if (s->first < map->count || s->first + (uint64_t)s->rows > s->offset + s->size) {
        stoke_warn(r, "rows with an invalid position");
        return false;
    }
    if (table >= SAMPLES) /* nothing refers to samples and calls */
        return true;
    if (!ARRAY_RESERVE(&r->arena, map->ids, map->cap, to))
        return false;
    memset(map->ids + map->count, 0, (to - map->count) * sizeof *map->ids);
    map->count = to;
    return true;
}

/* --- Tables -------------------- */

/* `table`: the strings of the profile or of the code. */
static void add_strings(struct stoke_reader *r, enum table table)
{
    struct str text;
    if (!take_columns(r, "u", &text) || !map_rows(r, table))
        return;
    for (uint32_t i = 0; i < r->section.rows; i++) {
        uint64_t length = r->columns[0][i];
        if (length > text.len) {
            stoke_warn(r, "strings are longer than their section");
            return;
        }
        struct str string = str_head(text, (size_t)length);
        r->maps[table].ids[r->section.first + i] =
            table == STRINGS ? builder_string(r->b, string)
                             : strings_add(&r->options->code->strings, string);
        text = str_skip(text, (size_t)length);
    }
}

static struct str string_at(struct stoke_reader *r, uint64_t id)
{
    return profile_string(r->b->profile, stoke_new_id(r, STRINGS, id));
}

static uint32_t add_module(struct stoke_reader *r, uint32_t i)
{
    return builder_module(r->b, string_at(r, r->columns[0][i]),
                          string_at(r, r->columns[1][i]));
}

/* Data that was not requested is left out, and frames that differ only in this data are
 * one. */
static uint32_t add_frame(struct stoke_reader *r, uint32_t i)
{
    const struct import_options *o = r->options;
    uint64_t *const *c = r->columns;
    struct frame f = {.name = stoke_new_id(r, STRINGS, c[0][i]),
                      .module = stoke_new_id(r, MODULES, c[1][i]),
                      .kind = c[4][i] <= FRAME_WAKER ? (uint32_t)c[4][i] : FRAME_USER};
    if (o->lines) {
        f.file = stoke_new_id(r, STRINGS, c[2][i]);
        f.line = c[3][i] <= UINT32_MAX ? (uint32_t)c[3][i] : 0;
    }
    bool is_waker = f.kind == FRAME_WAKER && !f.module; /* the address is a thread ID */
    if (is_waker || (o->addresses && (o->every_address || !f.name)))
        f.address = c[5][i];
    if (o->addresses && !f.name)
        f.offset = c[6][i];
    return builder_frame(r->b, &f);
}

/* Whether the frame is the mark of truncated stacks, which is left out unless it is
 * requested. */
static bool skips_mark(const struct stoke_reader *r, frame_id frame)
{
    const struct profile *p = r->b->profile;
    const struct frame *f = &p->frames[frame];
    return !r->options->cuts && f->kind == FRAME_MARKER &&
           str_equal(profile_string(p, f->name), STR(TRUNCATED_MARK));
}

static uint32_t add_stack(struct stoke_reader *r, uint32_t i)
{
    uint64_t own = (uint64_t)r->section.first + i, back = r->columns[0][i];
    bool is_below_mark = r->mark && own - back == r->mark;
    stack_id parent = 0;
    if (back > own) {
        stoke_warn(r, "a stack without its caller");
        return 0;
    }
    if (back && back < own && !is_below_mark) {
        parent = stoke_new_id(r, STACKS, own - back);
        if (!parent)
            return 0;
    }
    frame_id frame = stoke_new_id(r, FRAMES, r->columns[1][i]);
    if (frame && skips_mark(r, frame)) {
        if (parent) /* frames between callers are missing */
            return parent;
        if (!is_below_mark && !r->mark) {
            r->mark = own;
            return 0;
        }
    }
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

static uint32_t add_label(struct stoke_reader *r, uint32_t i)
{
    uint64_t *const *c = r->columns;
    struct str key = string_at(r, c[0][i]);
    return c[4][i]
               ? builder_label_number(r->b, key, (int64_t)c[2][i], string_at(r, c[3][i]))
               : builder_label_text(r->b, key, string_at(r, c[1][i]));
}

/* The number of labels of each set, for the section's rows and all rows before. */
static uint32_t *set_sizes(struct stoke_reader *r)
{
    size_t count = r->maps[LABEL_SETS].count;
    return ARRAY_RESERVE(&r->arena, r->set_sizes, r->set_size_cap, count) ? r->set_sizes
                                                                          : NULL;
}

/* A set whose parent or label was lost becomes set 0. */
static uint32_t add_label_set(struct stoke_reader *r, uint32_t i)
{
    uint64_t own = (uint64_t)r->section.first + i, back = r->columns[0][i];
    uint32_t *sizes = set_sizes(r);
    if (!sizes)
        return 0;
    sizes[own] = 0;
    if (back && back >= own) {
        stoke_warn(r, "a label set without its parent");
        return 0;
    }
    label_set_id parent = back ? stoke_new_id(r, LABEL_SETS, own - back) : 0;
    label_id label = stoke_new_id(r, LABELS, r->columns[1][i]);
    if (!label || (back && !parent))
        return 0;
    sizes[own] = back ? sizes[own - back] + 1 : 1;
    label_set_id set =
        sizes[own] <= LABELS_MAX ? builder_label_set_add(r->b, parent, label) : 0;
    if (!set)
        stoke_warn(r, "a label set with too many labels");
    return set;
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
                       .thread = stoke_new_id(r, THREADS, c[1][i]),
                       .cpu = (uint32_t)c[2][i] - 1,
                       .event = stoke_new_id(r, EVENTS, c[3][i]),
                       .stack = stoke_new_id(r, STACKS, c[4][i]),
                       .count = c[5][i]};
    memcpy(&s.weight, &c[6][i], sizeof s.weight);
    if (!s.event || (c[4][i] && !s.stack)) {
        stoke_warn(r, "a sample without its stack or event");
        return 0;
    }
    if (!(s.weight - s.weight == 0) || r->samples + s.count < s.count ||
        s.count > UINT64_MAX / 2) {
        stoke_warn(r, "a sample with an invalid weight");
        return 0;
    }
    memcpy(&s.rest, &c[7][i], sizeof s.rest);
    double most = s.weight < 0 ? -s.weight : s.weight;
    if (!(s.rest <= most && s.rest >= -most)) {
        stoke_warn(r, "a weight with an invalid rest");
        s.rest = 0;
    }
    if (r->options->samples) {
        s.weight = (double)s.count;
        s.rest = 0;
    }
    r->samples += s.count;
    note_time(r, s.time);
    builder_add_mapped_labelled(r->b, &s, stoke_new_id(r, LABEL_SETS, c[8][i]));
    return 0;
}

/* With the weight 1 for every sample, the calls would not fit the stacks. */
static uint32_t add_call(struct stoke_reader *r, uint32_t i)
{
    uint64_t *const *c = r->columns;
    struct stated_call call = {.caller = stoke_new_id(r, FRAMES, c[0][i]),
                               .callee = stoke_new_id(r, FRAMES, c[1][i]),
                               .event = stoke_new_id(r, EVENTS, c[2][i]),
                               .summed = c[5][i] != 0};
    memcpy(&call.count, &c[3][i], sizeof call.count);
    memcpy(&call.total, &c[4][i], sizeof call.total);
    bool complete = call.callee && !call.caller == !c[0][i] && !call.event == !c[2][i];
    bool numbers = call.count - call.count == 0 && call.total - call.total == 0;
    if (!complete || !numbers)
        stoke_warn(r, "a call without its function, event or numbers");
    else if (!r->options->samples)
        builder_add_call(r->b, &call);
    return 0;
}

/* --- Facts -------------------- */

static struct str take_text(struct bytes *in)
{
    return bytes_take(in, bytes_uleb(in));
}

/* A warning that was reported when the profile was made. */
static void take_warning(struct stoke_reader *r, struct bytes *in)
{
    struct str what = take_text(in);
    uint64_t count = bytes_uleb(in);
    struct input_location location = LOCATION_NONE;
    location.line = bytes_uleb(in);
    location.column = bytes_uleb(in);
    location.offset = bytes_uleb(in) - 1;
    uint64_t caret = bytes_uleb(in);
    location.caret = (unsigned)(caret & ~STOKE_INFERRED);
    struct str text = str_head(take_text(in), sizeof location.text - 1);
    char *copy = arena_alloc(&r->b->profile->arena, what.len + 1);
    if (in->failed || !copy || !what.len)
        return;
    memcpy(copy, what.ptr, what.len);
    copy[what.len] = 0;
    memcpy(location.text, text.ptr, text.len);
    if (location.caret > text.len + 1)
        location.caret = 0;
    if (caret & STOKE_INFERRED)
        builder_infer_times(r->b, copy, count);
    else
        builder_warn_location(r->b, copy, count, &location);
}

/* A fact that the file may not have: 0. */
static uint64_t take_later(struct bytes *in)
{
    return in->failed || bytes_left(in) == 0 ? 0 : bytes_uleb(in);
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
    uint64_t losses = take_later(&in);
    for (uint64_t i = 0; i < losses && i < LOSSES_MAX && !in.failed; i++) {
        struct loss *loss = &f->losses[f->loss_count];
        loss->time = bytes_uleb(&in);
        loss->count = bytes_uleb(&in);
        f->loss_count += !in.failed && loss->time != TIME_NONE;
    }
    uint64_t gaps = take_later(&in);
    for (uint64_t i = 0; i < gaps && i < UNWIND_GAPS_MAX && !in.failed; i++) {
        uint64_t stacks = bytes_uleb(&in);
        struct str file = take_text(&in);
        if (!in.failed)
            unwind_gaps_add(&f->unwind_gaps, file, stacks);
    }
    f->sample_bytes = take_later(&in);
    f->grafted = take_later(&in);
    f->interpreters = (string_id)take_later(&in);
    if (in.failed)
        stoke_warn(r, "truncated facts");
}

/* Adapts the facts to the samples that were read: a damaged file contains fewer. */
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
    to->format = stoke_new_id(r, STRINGS, f->format);
    if (!r->has_facts) {
        to->samples += r->samples;
        return;
    }
    to->samples += f->samples < r->samples || f->filtered ? f->samples : r->samples;
    to->host = stoke_new_id(r, STRINGS, f->host);
    to->command = stoke_new_id(r, STRINGS, f->command);
    to->interpreters = stoke_new_id(r, STRINGS, f->interpreters);
    to->lost += f->lost;
    for (unsigned i = 0; i < f->loss_count; i++) {
        to->lost -= f->losses[i].count <= to->lost ? f->losses[i].count : to->lost;
        builder_lost(r->b, f->losses[i].time, f->losses[i].count);
    }
    to->truncated += f->truncated;
    to->grafted += f->grafted;
    unwind_gaps_merge(&to->unwind_gaps, &f->unwind_gaps);
    to->filtered |= f->filtered;
    to->differential |= f->differential && r->b->profile->event_count == 3;
    if (f->rate - f->rate == 0 && f->rate > to->rate)
        to->rate = f->rate;
    if (f->sample_bytes > to->sample_bytes)
        to->sample_bytes = f->sample_bytes;
}

/* --- Sections ---------------------------------------------------------------------- */

static const struct table_reader {
    char tag[5];
    enum table table;
    const char *columns;
    uint32_t (*add)(struct stoke_reader *r, uint32_t row);
} table_readers[] = {
    {"MODS", MODULES, "uu", add_module},
    {"FRMS", FRAMES, "uuuuud?d", add_frame},
    {"STKS", STACKS, "uu", add_stack},
    {"THRS", THREADS, "ssu", add_thread},
    {"EVTS", EVENTS, "uu", add_event},
    {"LBLS", LABELS, "uusuu", add_label},
    {"LSET", LABEL_SETS, "uu", add_label_set},
    {"SMPS", SAMPLES, "duuuduw?wu", add_sample},
    {"CALS", CALLS, "uuuwwu", add_call},
    {"CEVT", CODE_EVENTS, "uu", stoke_add_code_event},
    {"CFUN", CODE_FUNCTIONS, "uuuuuudduuuu", stoke_add_code_function},
    {"CROW", CODE_ROWS, "uduu", stoke_add_code_row},
    {"CNTE", CODE_NOTES, "uduu", stoke_add_code_note},
    {"CSPT", CODE_SPOTS, "uuuduw", stoke_add_code_spot},
    {"CSRC", CODE_SOURCES, "uu", stoke_add_code_source},
};

/* Whether the table is left out unless it is asked for. */
static bool is_of_code(enum table table)
{
    return table >= CODE_STRINGS && table != SAMPLES && table != CALLS;
}

static void add_table(struct stoke_reader *r, const struct table_reader *t)
{
    struct str rest;
    if (!take_columns(r, t->columns, &rest) || !map_rows(r, t->table) || !memory(r))
        return;
    uint32_t *ids = r->maps[t->table].ids;
    for (uint32_t i = 0; i < r->section.rows; i++) {
        uint32_t id = t->add(r, i);
        if (t->table < SAMPLES)
            ids[r->section.first + i] = id;
    }
}

static size_t sample_rows(const struct section *s)
{
    bool valid = memcmp(s->tag, "SMPS", sizeof s->tag) == 0 &&
                 s->rows <= STOKE_SECTION_ROWS && s->rows <= s->size / SAMPLE_LEAST;
    return valid ? s->rows : 0;
}

static void parse_head(struct str head, struct section *s, uint32_t *sum)
{
    struct bytes in = bytes_of(head, false);
    memcpy(s->tag, bytes_take(&in, sizeof s->tag).ptr, sizeof s->tag);
    s->first = bytes_u32(&in);
    s->rows = bytes_u32(&in);
    s->size = bytes_u32(&in);
    s->sum = bytes_u32(&in);
    *sum = bytes_u32(&in);
}

/* Makes room for the samples of the current section and of the sections after it that are in
 * memory. An array that grows instead has up to twice the size, and the memory of the page
 * does not shrink. A head that is damaged ends the count: each row counted has its bytes. */
static void reserve_samples(struct stoke_reader *r)
{
    struct str rest = {r->in->begin, (size_t)(r->in->end - r->in->begin)};
    struct section s = r->section;
    size_t rows = sample_rows(&s);
    uint32_t sum;
    r->reserved = true;
    while (rest.len >= STOKE_SECTION_HEAD) {
        struct str head = str_head(rest, STOKE_SECTION_HEAD);
        parse_head(head, &s, &sum);
        rest = str_skip(rest, STOKE_SECTION_HEAD);
        if (sum != crc32_sum(&r->crc, str_head(head, STOKE_HEAD_SUMMED)) ||
            s.size > rest.len)
            break;
        rest = str_skip(rest, s.size);
        rows += sample_rows(&s);
    }
    builder_reserve_samples(r->b, rows);
}

static void add_section(struct stoke_reader *r)
{
    struct str tag = {r->section.tag, sizeof r->section.tag};
    if (crc32_sum(&r->crc, r->body) != r->section.sum) {
        stoke_warn(r, "a section with a wrong checksum was left out");
        return;
    }
    r->ended = str_equal(tag, STR("END "));
    if (r->section.rows > STOKE_SECTION_ROWS) {
        stoke_warn(r, "a section with too many rows was left out");
        return;
    }
    if (!r->reserved && sample_rows(&r->section))
        reserve_samples(r);
    if (str_equal(tag, STR("FACT")))
        take_facts(r);
    else if (str_equal(tag, STR("STRS")))
        add_strings(r, STRINGS);
    else if (str_equal(tag, STR("CSTR")) && r->options->code)
        add_strings(r, CODE_STRINGS);
    for (size_t i = 0; i < sizeof table_readers / sizeof *table_readers; i++)
        if (str_equal(tag, str_of(table_readers[i].tag)) &&
            (r->options->code || !is_of_code(table_readers[i].table)))
            add_table(r, &table_readers[i]);
}

static void end_early(struct stoke_reader *r)
{
    r->b->profile->facts.incomplete = true;
    stoke_warn(r, "the file is truncated");
}

/* Takes `size` bytes from the input. False, with the window unchanged, if the input ends
 * before. */
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

/* The head of the next section; false if no head can be read. */
static bool take_head(struct stoke_reader *r, bool *failed)
{
    struct section *s = &r->section;
    struct str head;
    uint32_t sum;
    s->offset = r->in->offset;
    if (!take(r, STOKE_SECTION_HEAD, &head, failed)) {
        end_early(r);
        return false;
    }
    parse_head(head, s, &sum);
    if (sum == crc32_sum(&r->crc, str_head(head, STOKE_HEAD_SUMMED)) &&
        s->size <= STOKE_SECTION_BYTES_MAX)
        return true;
    r->b->profile->facts.incomplete = true;
    stoke_warn(
        r, "a section header has a wrong checksum: the rest of the file was left out");
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
        return !failed &&
               error_set(r->err, "this .stoke file is truncated in its header");
    struct bytes in = bytes_of(head, false);
    if (!str_equal(bytes_take(&in, STOKE_MAGIC.len), STOKE_MAGIC)) {
        error_set(r->err, "not a .stoke file: the first bytes are wrong");
        return error_at_offset(r->err, 0);
    }
    uint32_t version = bytes_u32(&in);
    r->all_samples = bytes_u32(&in) & STOKE_ALL_SAMPLES;
    if (version == STOKE_FORMAT_VERSION)
        return true;
    error_set(r->err,
              "unsupported version %u of the .stoke format, this stoke reads version %u",
              version, (unsigned)STOKE_FORMAT_VERSION);
    error_at_offset(r->err, STOKE_MAGIC.len);
    return error_hint(r->err, "use the version of stoke that wrote it, or a later one");
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
        if (options->code)
            code_index(options->code);
        b->profile->all_samples &= r.all_samples;
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
    .summary = "stoke's own format: a complete profile",
    .probe = stoke_probe,
    .shape = SHAPE_BINARY,
    .empty = "there are no samples in this profile",
    .sets_format = true,
    .read = stoke_read,
};
