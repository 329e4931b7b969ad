/* SPDX-License-Identifier: Apache-2.0 */
#include "store/rows.h"
#include "base/bytes.h"
#include "codec/encode.h"
#include "codec/protobuf.h"
#include "codec/unpack.h"
#include <stdlib.h>

#define VERSION 2
#define VERSION_OLDEST 1
#define LEVEL 6 /* of zstd */

/* What a series has in place of a unit that is the same as before. */
enum unit_mark { UNIT_SAME, UNIT_OTHER };

/* --- Sorting ------------------------------------------------------------------------ */

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_rows(const void *left, const void *right)
{
    const struct store_row *a = left, *b = right;
    int order = compare_u64(a->series, b->series);
    if (order == 0)
        order = compare_u64(a->stack, b->stack);
    return order ? order : compare_u64(a->second, b->second);
}

size_t store_rows_merge(struct store_row *rows, size_t count)
{
    size_t to = 0;
    if (count == 0)
        return 0;
    qsort(rows, count, sizeof *rows, compare_rows);
    for (size_t i = 1; i < count; i++) {
        if (compare_rows(&rows[to], &rows[i]) == 0) {
            rows[to].count += rows[i].count;
            rows[to].weight += rows[i].weight;
        } else {
            rows[++to] = rows[i];
        }
    }
    return to + 1;
}

/* --- Sums --------------------------------------------------------------------------- */

static int compare_stacks(const struct store_row *a, const struct store_row *b)
{
    int order = compare_u64(a->series, b->series);
    return order ? order : compare_u64(a->stack, b->stack);
}

static void put_row(struct store_row *to, size_t *count, const struct store_row *row)
{
    struct store_row *last = *count ? &to[*count - 1] : NULL;
    if (last && compare_stacks(last, row) == 0) {
        last->count += row->count;
        last->weight += row->weight;
        return;
    }
    to[*count] = *row;
    to[(*count)++].second = 0;
}

bool store_sum_add(struct store_sum *sum, const struct store_row *rows, size_t count,
                   struct error *err)
{
    struct arena arena = ARENA_INIT;
    struct store_row *to = arena_alloc(&arena, (sum->count + count + 1) * sizeof *to);
    size_t put = 0, old = 0;
    if (!to)
        return error_memory(err);
    for (size_t i = 0; i < count; i++) {
        while (old < sum->count && compare_stacks(&sum->rows[old], &rows[i]) <= 0)
            put_row(to, &put, &sum->rows[old++]);
        put_row(to, &put, &rows[i]);
    }
    while (old < sum->count)
        put_row(to, &put, &sum->rows[old++]);
    arena_deinit(&sum->arena);
    *sum = (struct store_sum){arena, to, put};
    return true;
}

/* --- Bytes -------------------------------------------------------------------------- */

static void put_double(struct output *o, double v)
{
    output_bytes(o, (const char *)&v, sizeof v);
}

static size_t series_end(const struct store_row *rows, size_t count, size_t from)
{
    size_t i = from;
    while (i < count && rows[i].series == rows[from].series)
        i++;
    return i;
}

/* The weight of one sample if it is the same in all rows; else 0. */
static double common_unit(const struct store_row *rows, size_t from, size_t to)
{
    double unit = rows[from].count ? rows[from].weight / (double)rows[from].count : 0;
    for (size_t i = from; i < to; i++)
        if (unit * (double)rows[i].count != rows[i].weight)
            return 0;
    return unit;
}

/* The second of the row before if it has the same stack; else 0. */
static uint64_t second_before(const struct store_row *rows, size_t i)
{
    bool same = i > 0 && rows[i - 1].stack == rows[i].stack &&
                rows[i - 1].series == rows[i].series;
    return same ? rows[i - 1].second : 0;
}

/* Nearly all series have the unit of the one before. */
static void put_units(struct output *o, const struct store_row *rows, size_t count)
{
    double last = 0;
    for (size_t i = 0, end; i < count; i = end) {
        end = series_end(rows, count, i);
        double unit = common_unit(rows, i, end);
        output_char(o, unit == last ? UNIT_SAME : UNIT_OTHER);
        if (unit != last)
            put_double(o, unit);
        last = unit;
    }
}

/* Column by column: similar bytes are adjacent, which compresses well. */
static void put_columns(struct output *o, const struct store_row *rows, size_t count)
{
    size_t series = 0;
    uint64_t before = 0;
    for (size_t i = 0; i < count; i = series_end(rows, count, i))
        series++;
    proto_put_varint(o, series);
    for (size_t i = 0; i < count; i = series_end(rows, count, i)) {
        proto_put_varint(o, rows[i].series - before);
        before = rows[i].series;
    }
    for (size_t i = 0, end; i < count; i = end) {
        end = series_end(rows, count, i);
        proto_put_varint(o, end - i);
    }
    put_units(o, rows, count);
    for (size_t i = 0; i < count; i++) {
        bool first = i == 0 || rows[i - 1].series != rows[i].series;
        proto_put_varint(o, rows[i].stack - (first ? 0 : rows[i - 1].stack));
    }
    for (size_t i = 0; i < count; i++)
        proto_put_varint(o, rows[i].second - second_before(rows, i));
    for (size_t i = 0; i < count; i++)
        proto_put_varint(o, rows[i].count);
    for (size_t i = 0, end; i < count; i = end) {
        end = series_end(rows, count, i);
        if (common_unit(rows, i, end) == 0)
            for (size_t k = i; k < end; k++)
                put_double(o, rows[k].weight);
    }
}

bool store_rows_encode(const struct store_row *rows, size_t count, struct output *out,
                       struct error *err)
{
    struct output columns = OUTPUT_BUFFER;
    put_columns(&columns, rows, count);
    output_char(out, VERSION);
    bool ok = !columns.failed && packer_write(LEVEL, output_contents(&columns), out, err);
    output_deinit(&columns);
    return ok || error_memory(err);
}

/* --- Reading ------------------------------------------------------------------------ */

struct section {
    uint64_t series, count;
    double unit;
};

static double take_double(struct bytes *b)
{
    uint64_t bits = bytes_u64(b);
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Each item takes at least one byte: a count above the rest is damage. */
static uint64_t take_count(struct bytes *b)
{
    uint64_t n = bytes_uleb(b);
    if (n > bytes_left(b))
        b->failed = true;
    return b->failed ? 0 : n;
}

/* A series, of version 1 with all that is known of it. */
static void take_section(struct bytes *b, int version, struct section *s)
{
    s->series = bytes_uleb(b);
    if (version > 1)
        return;
    s->count = take_count(b);
    s->unit = take_double(b);
}

/* The numbers of rows, then the units. */
static void take_section_columns(struct bytes *b, struct section *sections,
                                 uint64_t count)
{
    double unit = 0;
    for (uint64_t i = 0; i < count; i++)
        sections[i].count = take_count(b);
    for (uint64_t i = 0; i < count && !b->failed; i++) {
        uint64_t mark = bytes_uleb(b);
        if (mark == UNIT_OTHER)
            unit = take_double(b);
        b->failed |= mark > UNIT_OTHER;
        sections[i].unit = unit;
    }
}

static struct section *take_sections(struct bytes *b, int version, struct arena *a,
                                     uint64_t *count, uint64_t *rows)
{
    uint64_t series = 0;
    *rows = 0;
    *count = take_count(b);
    struct section *sections = arena_zalloc(a, (size_t)*count + 1, sizeof *sections);
    if (!sections)
        return NULL;
    for (uint64_t i = 0; i < *count && !b->failed; i++)
        take_section(b, version, &sections[i]);
    if (version > 1)
        take_section_columns(b, sections, *count);
    for (uint64_t i = 0; i < *count && !b->failed; i++) {
        series += sections[i].series;
        sections[i].series = series;
        *rows += sections[i].count;
        if (*rows > STORE_ROWS_MAX || *rows > bytes_left(b))
            b->failed = true;
    }
    return sections;
}

static void take_columns(struct bytes *b, int version, const struct section *sections,
                         uint64_t count, struct store_row *rows, size_t row_count)
{
    struct store_row *r = rows;
    for (uint64_t s = 0; s < count; s++) {
        uint64_t stack = 0;
        for (uint64_t i = 0; i < sections[s].count; i++, r++) {
            stack += bytes_uleb(b);
            *r = (struct store_row){.series = sections[s].series, .stack = stack};
        }
    }
    for (size_t i = 0; i < row_count; i++)
        rows[i].second = bytes_uleb(b) + (version > 1 ? second_before(rows, i) : 0);
    for (size_t i = 0; i < row_count; i++)
        rows[i].count = bytes_uleb(b);
    r = rows;
    for (uint64_t s = 0; s < count; s++)
        for (uint64_t i = 0; i < sections[s].count; i++, r++)
            r->weight = sections[s].unit != 0 ? sections[s].unit * (double)r->count
                                              : take_double(b);
}

static bool damaged(struct error *err)
{
    error_set(err, "the samples of a window are damaged");
    return error_hint(err, "other spans may be intact: choose them with --at");
}

bool store_rows_decode(struct str bytes, struct arena *arena, struct store_row **rows,
                       size_t *count, struct error *err)
{
    struct str plain;
    uint64_t sections_count, row_count;
    *count = 0;
    int version = bytes.len ? bytes.ptr[0] : 0;
    if (version < VERSION_OLDEST || version > VERSION) {
        error_set(err, "the samples of a window are in an unknown format");
        return error_hint(err, "a newer stoke wrote this store");
    }
    if (!unpack(PACK_ZSTD, str_skip(bytes, 1), UNPACK_SIZE_UNKNOWN, NULL, arena, &plain,
                err))
        return false;
    struct bytes b = bytes_of(plain, false);
    struct section *sections =
        take_sections(&b, version, arena, &sections_count, &row_count);
    *rows = sections && !b.failed
                ? arena_zalloc(arena, (size_t)row_count + 1, sizeof **rows)
                : NULL;
    if (arena->failed)
        return error_memory(err);
    if (b.failed)
        return damaged(err);
    take_columns(&b, version, sections, sections_count, *rows, (size_t)row_count);
    if (b.failed || bytes_left(&b))
        return damaged(err);
    *count = (size_t)row_count;
    return true;
}
