/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread writes behind its caller: all of it, in order, whatever the sizes; failures. */
#include "os/write_behind.h"
#include "unit.h"
#include <stdlib.h>

#define SIZE ((size_t)24 << 20)

/* A file in memory, whose writes fail from a number on. */
struct file {
    char *bytes;
    uint64_t size;
    size_t writes, fails_at, cuts;
    uint64_t last_offset; /* of writes that must come in order */
    bool disordered;
};

static bool write_bytes(void *context, uint64_t offset, struct str bytes,
                        struct error *err)
{
    struct file *f = context;
    if (++f->writes >= f->fails_at)
        return error_set(err, "no room for write %zu", f->writes);
    memcpy(f->bytes + offset, bytes.ptr, bytes.len);
    f->disordered |= offset < f->last_offset;
    f->last_offset = offset;
    if (offset + bytes.len > f->size)
        f->size = offset + bytes.len;
    return true;
}

static void cut(void *context, uint64_t end)
{
    struct file *f = context;
    f->cuts++;
    f->size = end;
}

static struct file file_of(size_t fails_at)
{
    struct file f = {.bytes = malloc(SIZE), .fails_at = fails_at};
    assert_non_null(f.bytes);
    return f;
}

static struct write_behind *start(struct file *f)
{
    struct write_behind_target target = {f, write_bytes, cut};
    struct write_behind *w = write_behind_start(&target);
    assert_non_null(w);
    return w;
}

/* Short and long requests, up to more than the ring has room for. */
static size_t length_of(unsigned *seed)
{
    static const size_t most[] = {1, 40, 4000, 300000, 5000000};
    return (size_t)rand_r(seed) % most[(size_t)rand_r(seed) % 5];
}

static void test_all_in_order(void **state)
{
    (void)state;
    for (unsigned run = 1; run <= 20; run++) {
        unsigned seed = run;
        struct error err;
        struct file f = file_of(SIZE_MAX);
        struct write_behind *w = start(&f);
        char *expected = malloc(SIZE);
        uint64_t at = 0, mark = 0;
        assert_non_null(expected);
        for (size_t length; (length = length_of(&seed)) < SIZE - at; at += length) {
            for (size_t i = 0; i < length; i++)
                expected[at + i] = (char)(at + i * run);
            struct write_request r = {
                .offset = at, .bytes = {expected + at, length}, .mark = ++mark};
            assert_true(write_behind_add(w, &r, &err));
        }
        assert_int_equal(write_behind_mark(w), mark);
        assert_true(write_behind_end(w, &err));
        assert_false(f.disordered);
        assert_int_equal(f.size, at);
        assert_memory_equal(f.bytes, expected, at);
        free(expected);
        free(f.bytes);
    }
}

static bool add(struct write_behind *w, uint64_t offset, uint64_t mark, bool cuts)
{
    struct error err;
    struct write_request r = {
        .offset = offset, .bytes = STR("12345678"), .mark = mark, .cuts = cuts};
    return write_behind_add(w, &r, &err);
}

/* A failure is returned once at least; what follows is not written. */
static void test_failures(void **state)
{
    struct error err;
    (void)state;
    struct file f = file_of(3);
    struct write_behind *w = start(&f);
    add(w, 0, 1, true);
    add(w, 8, 2, true);
    add(w, 16, 3, true); /* fails */
    assert_false(write_behind_wait(w, &err));
    assert_string_equal(err.message, "no room for write 3");
    assert_false(add(w, 24, 4, true));
    assert_int_equal(write_behind_mark(w), 2);
    assert_int_equal(f.size, 16);
    assert_int_equal(f.cuts, 1);
    assert_int_equal(f.writes, 3);
    assert_true(write_behind_end(w, &err)); /* it was returned before */
    free(f.bytes);
    f = file_of(1);
    w = start(&f);
    add(w, 0, 1, false); /* fails; not yet known */
    assert_false(write_behind_end(w, &err));
    assert_string_equal(err.message, "no room for write 1");
    assert_int_equal(f.cuts, 0);
    free(f.bytes);
    assert_true(write_behind_end(NULL, &err));
}

int main(void)
{
    const struct CMUnitTest units[] = {UNIT(test_all_in_order), UNIT(test_failures)};
    return UNITS_RUN(units);
}
