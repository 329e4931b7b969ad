/* SPDX-License-Identifier: Apache-2.0 */
#include "base/output.h"
#include "symbol/jitdump.h"
#include "unit.h"

/* Writes a file for a test, in either byte order. */
struct writer {
    struct output out;
    bool big;
};

static void put(struct writer *w, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        output_char(&w->out, (char)(value >> 8 * (w->big ? size - 1 - i : i)));
}

static void put_header(struct writer *w, uint32_t version)
{
    put(w, 0x4a695444, 4);
    put(w, version, 4);
    put(w, 48, 4); /* with 8 extra bytes, as a later version may have */
    put(w, 62, 4);
    put(w, 0, 4);
    put(w, 77, 4);
    put(w, 1000, 8);
    put(w, 1, 8);
    put(w, 0, 8);
}

static void put_record(struct writer *w, uint32_t id, uint64_t time, struct writer *body)
{
    put(w, id, 4);
    put(w, 16 + body->out.used, 4);
    put(w, time, 8);
    output_str(&w->out, output_contents(&body->out));
    body->out.used = 0;
}

static void put_load(struct writer *w, struct writer *b, uint64_t time, uint64_t address,
                     uint64_t size, uint64_t index, const char *name)
{
    put(b, 77, 4);
    put(b, 78, 4);
    put(b, address, 8);
    put(b, address, 8);
    put(b, size, 8);
    put(b, index, 8);
    output_bytes(&b->out, name, strlen(name) + 1);
    for (uint64_t i = 0; i < size; i++)
        output_char(&b->out, '\x90');
    put_record(w, 0, time, b);
}

static void put_line(struct writer *b, uint64_t address, uint32_t line, const char *file)
{
    put(b, address, 8);
    put(b, line, 4);
    put(b, 0, 4);
    output_bytes(&b->out, file, strlen(file) + 1);
}

static void put_all(struct writer *w, struct writer *b)
{
    put_header(w, 1);
    put(b, 0x1000, 8);
    put(b, 3, 8);
    put_line(b, 0x1008, 12, "a.js");
    put_line(b, 0x1000, 10, "b.js"); /* not sorted */
    put_line(b, 0x1010, 15, "\xff");
    put_record(w, 2, 5, b);
    put(b, 4, 8);
    put(b, 2, 8);
    put(b, 4, 8);
    output_text(&b->out, "eehh");
    put_record(w, 4, 6, b);
    put_load(w, b, 10, 0x1000, 0x20, 1, "first");
    put_load(w, b, 20, 0x1010, 0x20, 2, "over it");
    put(b, 77, 4);
    put(b, 79, 4);
    put(b, 0x5000, 8);
    put(b, 0x1000, 8);
    put(b, 0x5000, 8);
    put(b, 0x20, 8);
    put(b, 1, 8);
    put_record(w, 1, 30, b);
    put_record(w, 99, 31, b); /* of a later version */
    put_record(w, 3, 40, b);
}

static struct str name_at(const struct jitdump *j, uint64_t address, uint64_t time)
{
    const struct jit_code *code = jitdump_find(j, address, time);
    return code ? code->name : STR("-");
}

static void check_all(const struct jitdump *j)
{
    assert_int_equal(j->machine, 62);
    assert_int_equal(j->pid, 77);
    assert_true(j->arch_timestamp);
    assert_int_equal(j->bad_records, 0);
    assert_false(j->cut);
    assert_int_equal(j->code_count, 3);
    assert_str(name_at(j, 0x1000, 9), "-");
    assert_str(name_at(j, 0x1000, 10), "first");
    assert_str(name_at(j, 0x1018, 19), "first");
    assert_str(name_at(j, 0x1018, 20), "over it");
    assert_str(name_at(j, 0x1018, UINT64_MAX), "over it");
    assert_str(name_at(j, 0x5018, 29), "-");
    assert_str(name_at(j, 0x5018, 30), "first");
    const struct jit_code *first = jitdump_find(j, 0x1000, 10);
    assert_int_equal(first->tid, 78);
    assert_int_equal(first->bytes.len, 0x20);
    assert_str(first->frames, "eehh");
    assert_int_equal(first->frames_header_size, 2);
    assert_int_equal(jitdump_line(j, first, 0x1007)->line, 10);
    assert_str(jitdump_line(j, first, 0x1007)->file, "b.js");
    assert_int_equal(jitdump_line(j, first, 0x1008)->line, 12);
    assert_str(jitdump_line(j, first, 0x101f)->file, "b.js");
    const struct jit_code *moved = jitdump_find(j, 0x5008, 30);
    assert_int_equal(jitdump_line(j, moved, 0x5008)->line, 12);
    assert_null(jitdump_line(j, jitdump_find(j, 0x1020, 30), 0x1020));
}

static void reads_both_byte_orders(void **state)
{
    (void)state;
    for (unsigned big = 0; big < 2; big++) {
        struct writer w = {.big = big}, b = {.big = big};
        struct arena arena = ARENA_INIT;
        struct error err;
        struct jitdump j;
        put_all(&w, &b);
        assert_true(jitdump_init(&j, output_contents(&w.out), &arena, &err));
        check_all(&j);
        arena_deinit(&arena);
        output_deinit(&w.out);
        output_deinit(&b.out);
    }
}

/* Every complete record before the truncation is read. */
static void reads_records_before_a_truncation(void **state)
{
    struct writer w = {0}, b = {0};
    size_t codes = 0;
    (void)state;
    put_all(&w, &b);
    for (size_t cut = 48; cut <= w.out.used; cut++) {
        struct arena arena = ARENA_INIT;
        struct error err;
        struct jitdump j;
        assert_true(
            jitdump_init(&j, str_head(output_contents(&w.out), cut), &arena, &err));
        assert_true(j.code_count >= codes);
        codes = j.code_count;
        arena_deinit(&arena);
    }
    assert_int_equal(codes, 3);
    output_deinit(&w.out);
    output_deinit(&b.out);
}

static void rejects_other_files(void **state)
{
    struct writer w = {0};
    struct arena arena = ARENA_INIT;
    struct error err;
    struct jitdump j;
    (void)state;
    assert_false(jitdump_init(&j, STR("ELF"), &arena, &err));
    put_header(&w, 2);
    assert_false(jitdump_init(&j, output_contents(&w.out), &arena, &err));
    assert_string_equal(err.message,
                        "jitdump file of version 2; only version 1 is supported");
    assert_false(jitdump_init(&j, str_head(output_contents(&w.out), 20), &arena, &err));
    output_deinit(&w.out);
}

/* Overlapping code: the answer for any time equals that of a linear search. */
static void lookups_at_any_time(void **state)
{
    enum { COUNT = 700 };
    static uint64_t starts[COUNT], sizes[COUNT];
    struct writer w = {0}, b = {0};
    struct arena arena = ARENA_INIT;
    struct error err;
    struct jitdump j;
    (void)state;
    srand(5);
    put_header(&w, 1);
    for (unsigned i = 0; i < COUNT; i++) {
        char name[20];
        starts[i] = (uint64_t)rand() % 1000;
        sizes[i] = (uint64_t)rand() % 60;
        snprintf(name, sizeof name, "%u", i);
        put_load(&w, &b, 10 + i, starts[i], sizes[i], i, name);
    }
    assert_true(jitdump_init(&j, output_contents(&w.out), &arena, &err));
    assert_true(j.level_count >= 3);
    for (unsigned n = 0; n < 50000; n++) {
        uint64_t address = (uint64_t)rand() % 1080,
                 time = (uint64_t)rand() % (COUNT + 20);
        const struct jit_code *found = jitdump_find(&j, address, time);
        unsigned i = time < 10 ? 0 : time - 9 < COUNT ? (unsigned)time - 9 : COUNT;
        while (i > 0 &&
               (address < starts[i - 1] || address >= starts[i - 1] + sizes[i - 1]))
            i--;
        assert_int_equal(found ? found->index + 1 : 0, i);
    }
    arena_deinit(&arena);
    output_deinit(&w.out);
    output_deinit(&b.out);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(reads_both_byte_orders),
        UNIT(reads_records_before_a_truncation),
        UNIT(rejects_other_files),
        UNIT(lookups_at_any_time),
    };
    return UNITS_RUN(units);
}
