/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles.h"

static const struct transform_options adjacent = {.collapse = COLLAPSE_ADJACENT};
static const struct transform_options cycles = {.collapse = COLLAPSE_CYCLES};

static void test_adjacent(void **state)
{
    static const struct row rows[] = {
        {"main;f;f;f;g", 1, "t/1"}, {"main;f;f", 2, "t/1"}, {"main;f", 4, "t/1"},
        {"main;f;g;f", 8, "t/1"},   {"f;f", 16, "u/2"},
    };
    (void)state;
    assert_transformed(
        rows, adjacent,
        "t-1/?;main;f 6\nt-1/?;main;f;g 1\nt-1/?;main;f;g;f 8\nu-2/?;f 16\n");
}

static void test_cycles(void **state)
{
    static const struct row rows[] = {
        {"a;b;a;c", 1}, {"a;b;a", 2}, {"a;b;a;b", 4}, {"a;b;a;c;b;d;b", 8}, {"b;a;b", 16},
    };
    (void)state;
    /* a;b;a;b: back to a, then b again; a;b;a;c;b;d;b: a, c, b, then back to that b. */
    assert_transformed(rows, cycles, "a 2\na;b 4\na;c 1\na;c;b 8\nb 16\n");
}

/* Frames that were removed in one branch are present in the next one. */
static void test_cycles_of_siblings(void **state)
{
    static const struct row rows[] = {
        {"a;b;c;a;x;y", 1},
        {"a;b;c;b;z;c", 2},
        {"a;b;c;d;c", 4},
        {"a;b;c;d;b;d", 8},
    };
    (void)state;
    assert_transformed(rows, cycles, "a;b;c 4\na;b;d 8\na;b;z;c 2\na;x;y 1\n");
}

static void test_cycles_leave_nothing(void **state)
{
    static const struct row rows[] = {{"a;b;a;c", 1}};
    (void)state;
    struct profile *p = transformed(PROFILE(rows), &cycles);
    assert_folded(p, "a;c 1\n");
    assert_int_equal(p->stack_count, 3);
    assert_int_equal(p->frame_count, 3);
    profile_destroy(p);
}

/* The definition, applied frame by frame: a name that is on the stack already removes all
 * frames above it. */
static size_t collapse_slowly(const unsigned char *stack, size_t length,
                              unsigned char *out)
{
    size_t depth = 0;
    for (size_t i = 0; i < length; i++) {
        size_t at = 0;
        while (at < depth && out[at] != stack[i])
            at++;
        out[at] = stack[i];
        depth = at + 1;
    }
    return depth;
}

static void write_stack(char *text, const unsigned char *stack, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        text[2 * i] = (char)('a' + stack[i]);
        text[2 * i + 1] = i + 1 < length ? ';' : 0;
    }
}

/* Random stacks over few names, against that definition. */
static void test_cycles_at_random(void **state)
{
    uint64_t seed = 42;
    struct row rows[300], expected[300];
    static char texts[300][64], expected_texts[300][64];
    (void)state;
    for (size_t n = 0; n < 300; n++) {
        unsigned char stack[24], out[24];
        size_t length = 1 + n % 24;
        for (size_t i = 0; i < length; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            stack[i] = (unsigned char)((seed >> 33) % 5);
        }
        write_stack(texts[n], stack, length);
        write_stack(expected_texts[n], out, collapse_slowly(stack, length, out));
        rows[n] = (struct row){texts[n], (double)n};
        expected[n] = (struct row){expected_texts[n], (double)n};
    }
    struct export_options options = {0};
    struct output out = OUTPUT_BUFFER;
    struct error err;
    struct profile *right = PROFILE(expected), *p = transformed(PROFILE(rows), &cycles);
    assert_true(exporter_named(STR("folded"))->write(right, &options, &out, &err));
    output_char(&out, 0);
    assert_folded(p, out.bytes);
    output_deinit(&out);
    profile_destroy(p);
    profile_destroy(right);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(test_adjacent),           UNIT(test_cycles),
        UNIT(test_cycles_of_siblings), UNIT(test_cycles_leave_nothing),
        UNIT(test_cycles_at_random),
    };
    return UNITS_RUN(units);
}
