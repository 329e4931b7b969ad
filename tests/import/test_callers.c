#include "base/number.h"
#include "import/callers.h"
#include "unit.h"

/* Lines are the names of frames; each line of a caller is parsed as a frame. */
struct bench {
    struct arena arena;
    struct builder b;
    struct callers callers;
    size_t parsed; /* lines that were parsed */
};

static void bench_init(struct bench *t)
{
    *t = (struct bench){.parsed = 0};
    assert_true(builder_init(&t->b, BUILD_COUNT));
    assert_true(callers_init(&t->callers, &t->arena));
}

static void bench_deinit(struct bench *t)
{
    builder_deinit(&t->b);
    arena_deinit(&t->arena);
}

/* Looks up the lines of the text, all of which are callers; an empty line follows. */
static bool find(struct bench *t, struct str text, stack_id *stack)
{
    assert_int_equal(callers_scan(&t->callers, (struct str){text.ptr, text.len + 1}),
                     text.len);
    return callers_find(&t->callers, 0, t->callers.entry_lines, stack);
}

/* The stack of a text, using cached callers. */
static stack_id read_text(struct bench *t, struct str text)
{
    stack_id stack;
    if (find(t, text, &stack))
        return stack;
    builder_path_clear(&t->b);
    builder_path_add(&t->b, builder_named_frame(&t->b, STR("leaf")));
    for (size_t i = 0; i < callers_unknown(&t->callers); i++) {
        struct str line = callers_line(&t->callers, i);
        assert_true(str_equal(line, str_cut(&text, '\n')));
        builder_path_add(&t->b, builder_named_frame(&t->b, line));
        t->callers.frames_at[i] = t->b.path.count;
        t->parsed++;
    }
    return callers_learn(&t->callers, &t->b, 1);
}

/* The same stack without the cache. */
static stack_id read_slowly(struct bench *t, struct str text)
{
    builder_path_clear(&t->b);
    while (text.len)
        builder_path_add(&t->b, builder_named_frame(&t->b, str_cut(&text, '\n')));
    return builder_path_from_leaf(&t->b);
}

/* `count` lines: the first `own` of them have names with `who`, the others are shared
 * by all. */
static struct str make_text(char *out, size_t count, size_t own, uint64_t who)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        out[used++] = i < own ? 'o' : 's';
        used += number_write_u64(i < own ? who * 1000 + i : count - i, out + used);
        out[used++] = '\n';
    }
    out[used] = '\n';
    return (struct str){out, used};
}

static void a_text_met_again_is_known_whole(void **state)
{
    struct bench t;
    char text[4000];
    stack_id stack;
    (void)state;
    bench_init(&t);
    struct str s = make_text(text, 30, 5, 1);
    stack_id first = read_text(&t, s);
    assert_true(find(&t, s, &stack));
    assert_int_equal(stack, first);
    assert_int_equal(t.callers.line_count, 30);
    assert_int_equal(t.parsed, 30);
    bench_deinit(&t);
}

static void only_what_differs_is_parsed(void **state)
{
    struct bench t;
    char text[4000];
    (void)state;
    bench_init(&t);
    read_text(&t, make_text(text, 40, 3, 1));
    t.parsed = 0;
    struct str s = make_text(text, 40, 3, 2);
    assert_int_equal(read_text(&t, s), read_slowly(&t, s));
    assert_int_equal(t.parsed, CALLERS_CHUNK);
    bench_deinit(&t);
}

static void every_length_gives_the_stack_that_parsing_gives(void **state)
{
    struct bench t;
    static char text[40000];
    (void)state;
    bench_init(&t);
    for (size_t round = 0; round < 3; round++) {
        for (size_t count = 1; count <= 60; count++) {
            struct str s = make_text(text, count, count % 11, round);
            assert_int_equal(read_text(&t, s), read_slowly(&t, s));
        }
    }
    struct str s = make_text(text, CALLERS_LINES_MAX, 9, 7);
    assert_int_equal(read_text(&t, s), read_slowly(&t, s));
    bench_deinit(&t);
}

static void too_many_lines_are_left_to_the_reader(void **state)
{
    struct bench t;
    static char text[40000];
    stack_id stack;
    (void)state;
    bench_init(&t);
    struct str s = make_text(text, CALLERS_LINES_MAX + 1, 9, 7);
    assert_false(find(&t, s, &stack));
    assert_int_equal(t.callers.line_count, 0);
    bench_deinit(&t);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(a_text_met_again_is_known_whole),
        UNIT(only_what_differs_is_parsed),
        UNIT(every_length_gives_the_stack_that_parsing_gives),
        UNIT(too_many_lines_are_left_to_the_reader),
    };
    return UNITS_RUN(units);
}
