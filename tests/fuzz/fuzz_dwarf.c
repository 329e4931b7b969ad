/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the DWARF reader: for any sections, lookups end, all results are readable, and
 * a second reader gives the same results.
 *
 * An input is an ELF file, or a file as described in tests/dwarf_input.h. */
#include "dwarf_input.h"
#include "fuzz.h"
#include "symbol/dwarf_package.h"

#define QUERIES_MAX 96

static bool make_input(struct str bytes, struct dwarf_input *input,
                       struct dwarf_sections *split, struct elf *elf, struct arena *arena)
{
    if (!str_starts(bytes, STR("\177ELF")))
        return dwarf_input_read(bytes, input, split);
    if (!elf_init(elf, bytes, arena, NULL))
        return false;
    *input = dwarf_elf_input(elf, elf);
    return true;
}

/* Reads all bytes, so that a sanitizer checks each one. */
static unsigned touch(struct str text)
{
    unsigned sum = 0;
    for (size_t i = 0; i < text.len; i++)
        sum += (unsigned char)text.ptr[i];
    return sum;
}

static void check_frames(const struct dwarf_query *q)
{
    static volatile unsigned seen;
    unsigned sum = 0;
    for (size_t i = 0; i < q->count; i++) {
        sum += touch(q->frames[i].name) + touch(q->frames[i].file);
        CHECK(q->frames[i].is_inlined == (i + 1 < q->count));
    }
    seen = sum;
    (void)seen;
}

static size_t make_queries(const struct dwarf *d, struct dwarf_query *queries)
{
    size_t count = 0;
    for (size_t i = 0; i < d->ranges.count && count + 8 <= QUERIES_MAX; i++) {
        uint64_t low = d->ranges.items[i].low, size = d->ranges.items[i].high - low;
        CHECK(size > 0);
        for (uint64_t k = 0; k < 8; k++)
            queries[count++] =
                (struct dwarf_query){.address = low + size / 8 * k + k % 3};
    }
    return count;
}

/* A single address: corrupt entries may be skipped differently then, so its frames may
 * differ from those in a batch. */
static void check_alone(struct dwarf_reader *r, uint64_t address)
{
    static struct dwarf_frame frames[2000];
    struct dwarf_query q = {.address = address, .frames = frames};
    q.count = dwarf_find_one(r, address, frames, 2000);
    check_frames(&q);
}

/* A second reader must give the same answers. */
static void check_again(const struct dwarf *d, const struct dwarf_query *queries,
                        size_t count)
{
    struct dwarf_query again[QUERIES_MAX];
    struct dwarf_reader r;
    memcpy(again, queries, sizeof again);
    CHECK(dwarf_reader_init(&r, d, NULL) && dwarf_find(&r, again, count, NULL));
    for (size_t i = 0; i < count; i++) {
        CHECK(again[i].count == queries[i].count);
        for (size_t k = 0; k < again[i].count; k++) {
            CHECK(str_equal(again[i].frames[k].name, queries[i].frames[k].name));
            CHECK(str_equal(again[i].frames[k].file, queries[i].frames[k].file));
            CHECK(again[i].frames[k].line == queries[i].frames[k].line);
        }
    }
    dwarf_reader_deinit(&r);
}

static void check_rows(struct dwarf_reader *r, const struct dwarf *d)
{
    struct dwarf_row *rows;
    size_t count;
    for (size_t i = 0; i < d->ranges.count && i < 4; i++) {
        CHECK(dwarf_rows(r, d->ranges.items[i].low, d->ranges.items[i].high, &rows,
                         &count, NULL));
        for (size_t k = 0; k < count; k++)
            CHECK(rows[k].address < d->ranges.items[i].high && touch(rows[k].file) + 1);
    }
}

/* Any bytes may be the index of a package. */
static void check_package(const struct dwarf_input *input)
{
    struct dwarf_package p = {input->sections, input->sections.info};
    struct dwarf_sections found;
    for (uint64_t id = 0; id < 4; id++)
        if (dwarf_package_find(&p, id, &found))
            CHECK(touch(found.info) + touch(found.abbrev) + touch(found.line) + 1 > 0);
}

FUZZ_ONE_WAY("dwarf")

int fuzz_one(const uint8_t *data, size_t size)
{
    struct arena arena = ARENA_INIT;
    struct dwarf_input input;
    struct dwarf_sections split;
    struct elf elf;
    struct dwarf d;
    struct dwarf_reader r;
    struct dwarf_query queries[QUERIES_MAX];
    if (make_input((struct str){(const char *)data, size}, &input, &split, &elf,
                   &arena)) {
        CHECK(dwarf_init(&d, &input, &arena, NULL) && dwarf_reader_init(&r, &d, NULL));
        size_t count = make_queries(&d, queries);
        CHECK(dwarf_order(&d, queries, count) && dwarf_find(&r, queries, count, NULL));
        for (size_t i = 0; i < count; i++)
            check_frames(&queries[i]);
        for (size_t i = 0; i < count; i += 5)
            check_alone(&r, queries[i].address);
        check_again(&d, queries, count);
        check_rows(&r, &d);
        check_package(&input);
        dwarf_reader_deinit(&r);
    }
    arena_deinit(&arena);
    return 0;
}
