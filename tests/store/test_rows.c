/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a window: what is written is read back; damaged bytes are refused. */
#include "codec/encode.h"
#include "codec/protobuf.h"
#include "store/rows.h"
#include "unit.h"
#include <stdlib.h>

#define ROWS 500

static uint64_t random_state;

static uint64_t next_random(uint64_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % below;
}

/* Few values, so that rows are equal now and then. */
static size_t make_rows(struct store_row *rows, uint64_t seed)
{
    random_state = seed;
    size_t count = next_random(ROWS);
    for (size_t i = 0; i < count; i++) {
        rows[i] = (struct store_row){.series = 1 + next_random(5) * 1000,
                                     .stack = next_random(2) ? next_random(9)
                                                             : next_random(1u << 28),
                                     .second = next_random(10),
                                     .count = 1 + next_random(3)};
        rows[i].weight = seed % 2 ? 1e9 / 19 * (double)rows[i].count
                                  : 0.1 * (double)next_random(1000000);
    }
    return count;
}

static double sum_of(const struct store_row *rows, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += rows[i].weight;
    return sum;
}

static void written_rows_are_read_back(void **state)
{
    struct store_row rows[ROWS], *read;
    struct error err;
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct output out = OUTPUT_BUFFER;
        struct arena arena = ARENA_INIT;
        size_t made = make_rows(rows, seed), read_count;
        double before = sum_of(rows, made);
        size_t count = store_rows_merge(rows, made);
        double change = sum_of(rows, count) - before;
        assert_true(change < 1 && change > -1);
        assert_true(store_rows_encode(rows, count, &out, &err));
        assert_true(
            store_rows_decode(output_contents(&out), &arena, &read, &read_count, &err));
        assert_int_equal(read_count, count);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(read[i].series, rows[i].series);
            assert_int_equal(read[i].stack, rows[i].stack);
            assert_int_equal(read[i].second, rows[i].second);
            assert_int_equal(read[i].count, rows[i].count);
            assert_true(read[i].weight == rows[i].weight);
        }
        arena_deinit(&arena);
        output_deinit(&out);
    }
}

static void put_version_1(struct output *o)
{
    static const uint64_t numbers[] = {3, 1, 2, 0, 9, 1}; /* stacks, seconds, counts */
    double unit = 0.5;
    proto_put_varint(o, 1); /* series: one, 7, of 2 rows */
    proto_put_varint(o, 7);
    proto_put_varint(o, 2);
    output_bytes(o, (const char *)&unit, sizeof unit);
    for (size_t i = 0; i < 6; i++)
        proto_put_varint(o, numbers[i]);
}

/* Stores of earlier versions have bytes of version 1. */
static void bytes_of_version_1_are_read(void **state)
{
    struct output columns = OUTPUT_BUFFER, out = OUTPUT_BUFFER;
    struct arena arena = ARENA_INIT;
    struct packer packer;
    struct store_row *read;
    struct error err;
    size_t count;
    (void)state;
    put_version_1(&columns);
    struct str plain = output_contents(&columns);
    size_t room = packer_bound(plain.len);
    assert_true(packer_init(&packer, 6, &err));
    output_char(&out, 1);
    assert_true(output_reserve(&out, room));
    out.used += packer_end(&packer, plain, out.bytes + out.used, room);
    packer_deinit(&packer);
    assert_true(store_rows_decode(output_contents(&out), &arena, &read, &count, &err));
    assert_int_equal(count, 2);
    assert_true(read[0].series == 7 && read[0].stack == 3 && read[0].second == 2 &&
                read[0].count == 9 && read[0].weight == 4.5);
    assert_true(read[1].series == 7 && read[1].stack == 4 && read[1].second == 0 &&
                read[1].count == 1 && read[1].weight == 0.5);
    arena_deinit(&arena);
    output_deinit(&out);
    output_deinit(&columns);
}

static void damaged_bytes_are_refused(void **state)
{
    struct store_row rows[ROWS], *read;
    struct error err;
    size_t count, read_count;
    struct output out = OUTPUT_BUFFER;
    (void)state;
    count = store_rows_merge(rows, make_rows(rows, 7));
    assert_true(store_rows_encode(rows, count, &out, &err));
    for (size_t length = 0; length < out.used; length++) {
        struct arena arena = ARENA_INIT;
        struct str part = {out.bytes, length};
        assert_false(store_rows_decode(part, &arena, &read, &read_count, &err));
        arena_deinit(&arena);
    }
    output_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_rows_are_read_back),
        cmocka_unit_test(bytes_of_version_1_are_read),
        cmocka_unit_test(damaged_bytes_are_refused),
    };
    return cmocka_run_group_tests_name("store/rows", tests, NULL, NULL);
}
