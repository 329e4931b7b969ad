/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/symbol_table.h"
#include "unit.h"

static struct arena arena;

static struct symbol_table table_of(const struct symbol_entry *entries, size_t count,
                                    enum symbol_choice choice)
{
    struct symbol_table t;
    struct error err;
    symbol_table_init(&t, &arena);
    for (size_t i = 0; i < count; i++)
        symbol_table_add(&t, entries[i]);
    assert_true(symbol_table_finish(&t, choice, &err));
    return t;
}

static const char *name_at(const struct symbol_table *t, uint64_t address)
{
    static char name[100];
    struct symbol s;
    if (!symbol_table_find(t, address, &s))
        return "-";
    snprintf(name, sizeof name, "%.*s", STR_ARG(s.name));
    return name;
}

static struct symbol_entry function(uint64_t start, uint64_t end, const char *name)
{
    return (struct symbol_entry){.address = start,
                                 .end = end,
                                 .name = name,
                                 .length = (uint32_t)strlen(name),
                                 .binding = SYMBOL_GLOBAL};
}

static struct symbol_entry bound(struct symbol_entry e, enum symbol_binding binding)
{
    e.binding = binding;
    return e;
}

static struct symbol_entry of_kind(struct symbol_entry e, enum symbol_kind kind)
{
    e.kind = kind;
    return e;
}

static struct symbol_entry open_end(struct symbol_entry e)
{
    e.open = true;
    return e;
}

#define TABLE(choice, ...)                                        \
    table_of((const struct symbol_entry[]){__VA_ARGS__},          \
             sizeof((const struct symbol_entry[]){__VA_ARGS__}) / \
                 sizeof(struct symbol_entry),                     \
             choice)

static void finds_the_symbol_at_an_address(void **state)
{
    struct symbol_table t = TABLE(SYMBOLS_BEST, function(200, 300, "b"),
                                  function(100, 150, "a"), function(220, 230, "inner"));
    (void)state;
    assert_string_equal(name_at(&t, 99), "-");
    assert_string_equal(name_at(&t, 100), "a");
    assert_string_equal(name_at(&t, 149), "a");
    assert_string_equal(name_at(&t, 150), "-");
    assert_string_equal(name_at(&t, 219), "b");
    assert_string_equal(name_at(&t, 229), "inner");
    assert_string_equal(name_at(&t, 230), "b");
    assert_string_equal(name_at(&t, 300), "-");
    arena_deinit(&arena);
}

/* Of two symbols at one address, the first of each pair is chosen, in whatever order they
 * are added. */
static void chooses_among_aliases(void **state)
{
    const struct symbol_entry pairs[][2] = {
        {bound(function(10, 20, "x"), SYMBOL_LOCAL),
         of_kind(function(10, 10, "y"), SYMBOL_FUNCTION)},
        {bound(function(10, 20, "_x"), SYMBOL_LOCAL),
         of_kind(function(10, 20, "yyy"), SYMBOL_LABEL)},
        {bound(function(10, 20, "_x"), SYMBOL_LOCAL),
         bound(function(10, 20, "yyy"), SYMBOL_WEAK)},
        {function(10, 20, "__x"), bound(function(10, 20, "yyy"), SYMBOL_LOCAL)},
        {function(10, 20, "x"), function(10, 20, "_longer")},
        {function(10, 20, "longer"), function(10, 20, "x")},
        {function(10, 20, "sys_open"), function(10, 20, "SyS_open")},
    };
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct symbol_table a = TABLE(SYMBOLS_BEST, pairs[i][0], pairs[i][1]);
        struct symbol_table b = TABLE(SYMBOLS_BEST, pairs[i][1], pairs[i][0]);
        assert_int_equal(a.count, 1);
        assert_string_equal(name_at(&a, 15), pairs[i][0].name);
        assert_string_equal(name_at(&b, 15), pairs[i][0].name);
    }
    struct symbol_table same =
        TABLE(SYMBOLS_BEST, function(10, 20, "first"), function(10, 20, "later"));
    assert_string_equal(name_at(&same, 10), "first");
    arena_deinit(&arena);
}

static void ends_symbols_without_a_size(void **state)
{
    struct symbol_table t = TABLE(
        SYMBOLS_BEST, open_end(function(0x1010, UINT64_MAX, "open")),
        open_end(function(0x1100, 0x1180, "limited")), function(0x1200, 0x1300, "next"),
        open_end(function(0x9010, UINT64_MAX, "last")));
    (void)state;
    assert_string_equal(name_at(&t, 0x10ff), "open");
    assert_string_equal(name_at(&t, 0x117f), "limited");
    assert_string_equal(name_at(&t, 0x1180), "-");
    assert_string_equal(name_at(&t, 0x1300), "-");
    assert_string_equal(name_at(&t, 0xafff), "last");
    assert_string_equal(name_at(&t, 0xb000), "-");
    arena_deinit(&arena);
}

static void local_labels_do_not_split_functions(void **state)
{
    struct symbol_table t =
        TABLE(SYMBOLS_BEST, function(100, 200, "f"),
              bound(of_kind(open_end(function(110, UINT64_MAX, "loop")), SYMBOL_LABEL),
                    SYMBOL_LOCAL),
              of_kind(open_end(function(150, UINT64_MAX, "entry")), SYMBOL_LABEL),
              function(300, 301, "end"));
    (void)state;
    assert_string_equal(name_at(&t, 120), "f");
    assert_string_equal(name_at(&t, 160), "entry");
    assert_string_equal(name_at(&t, 250), "entry");
    arena_deinit(&arena);
}

static void the_newest_wins_if_requested(void **state)
{
    struct symbol_table t =
        TABLE(SYMBOLS_NEWEST, function(120, 140, "old"), function(100, 130, "new"),
              function(100, 110, "newest"));
    (void)state;
    assert_string_equal(name_at(&t, 100), "newest");
    assert_string_equal(name_at(&t, 110), "new");
    assert_string_equal(name_at(&t, 129), "new");
    assert_string_equal(name_at(&t, 130), "old");
    arena_deinit(&arena);
}

static void measures_names_if_requested(void **state)
{
    struct symbol_table t;
    struct error err;
    struct symbol s;
    static const char text[] = "\0one\0two"; /* the text does not end with a zero byte */
    (void)state;
    symbol_table_init(&t, &arena);
    unsigned id = symbol_table_text(&t, (struct str){text, sizeof text - 1});
    symbol_table_add(&t, (struct symbol_entry){.address = 1,
                                               .end = 2,
                                               .name = text + 1,
                                               .length = SYMBOL_MEASURE,
                                               .text = (uint8_t)id});
    symbol_table_add(&t,
                     (struct symbol_entry){.address = 2,
                                           .end = 3,
                                           .name = text + 5,
                                           .length = SYMBOL_MEASURE,
                                           .text = (uint8_t)id,
                                           .module = symbol_table_module(&t, STR("m"))});
    assert_true(symbol_table_finish(&t, SYMBOLS_BEST, &err));
    assert_true(symbol_table_find(&t, 1, &s));
    assert_str(s.name, "one");
    assert_str(s.module, "");
    assert_true(symbol_table_find(&t, 2, &s));
    assert_str(s.name, "two");
    assert_str(s.module, "m");
    for (unsigned i = 1; i < SYMBOL_TEXTS_MAX; i++)
        assert_int_equal(symbol_table_text(&t, STR("")), i);
    assert_int_equal(symbol_table_text(&t, STR("")), UINT32_MAX);
    arena_deinit(&arena);
}

/* --- Filter --- */

#define SYMBOLS ((uint64_t)20000)
#define CHOSEN ((size_t)40)

/* Functions with gaps, some nested, some without a size; in an order that is not sorted. */
static void add_many(struct symbol_table *t)
{
    static char names[SYMBOLS][8];
    for (uint64_t i = 0; i < SYMBOLS; i++) {
        uint64_t at = i * 7919 % SYMBOLS, start = 0x1000 + 64 * at;
        snprintf(names[at], sizeof names[at], "f%u", (unsigned)at);
        struct symbol_entry e =
            function(start, start + (at % 5 ? 48 : 200 + at % 300), names[at]);
        symbol_table_add(t, at % 11 ? e : open_end(e));
    }
}

static void a_filtered_table_answers_alike(void **state)
{
    struct symbol_table all, few;
    struct error err;
    uint64_t chosen[CHOSEN];
    (void)state;
    for (size_t i = 0; i < CHOSEN; i++)
        chosen[i] = 0xf00 + i * i * 801;
    struct symbol_filter filter = {.addresses = chosen, .count = CHOSEN};
    symbol_table_init(&all, &arena);
    symbol_table_init(&few, &arena);
    symbol_table_filter(&few, &filter);
    add_many(&all);
    add_many(&few);
    assert_true(symbol_table_finish(&all, SYMBOLS_BEST, &err));
    assert_true(symbol_table_finish(&few, SYMBOLS_BEST, &err));
    assert_true(few.count < 20 * CHOSEN && all.count == SYMBOLS);
    for (size_t i = 0; i < CHOSEN; i++) {
        char expected[100];
        uint64_t start, end, begin, stop;
        snprintf(expected, sizeof expected, "%s", name_at(&all, chosen[i]));
        assert_string_equal(name_at(&few, chosen[i]), expected);
        symbol_table_part(&all, chosen[i], &start, &end);
        symbol_table_part(&few, chosen[i], &begin, &stop);
        if (expected[0] != '-') /* no other symbol begins in the part */
            assert_true(begin <= chosen[i] && stop == end);
    }
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(a_filtered_table_answers_alike),
        UNIT(finds_the_symbol_at_an_address),
        UNIT(chooses_among_aliases),
        UNIT(ends_symbols_without_a_size),
        UNIT(local_labels_do_not_split_functions),
        UNIT(the_newest_wins_if_requested),
        UNIT(measures_names_if_requested),
    };
    return UNITS_RUN(units);
}
