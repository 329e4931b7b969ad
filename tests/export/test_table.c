#include "../transform/profiles.h"
#include "export/table.h"

static const struct row rows[] = {
    {"main;parse;parse;alloc", 3, "web/1"},
    {"main;parse", 2, "web/1"},
    {"main;emit", 4, "db/2"},
    {"idle", 1, "db/2"},
};

static void print(const struct profile *p, struct table_options table, struct output *out)
{
    struct export_options options = {.table = &table};
    struct error err = {.location = LOCATION_NONE};
    if (!exporter_named(STR("table"))->write(p, &options, out, &err))
        fail_msg("%s", err.message);
    output_char(out, 0);
}

/* The output for p, from the first line that begins with `from`. */
static void assert_table(const struct profile *p, struct table_options table,
                         const char *from, const char *expected)
{
    struct output out = OUTPUT_BUFFER;
    print(p, table, &out);
    const char *begin = strstr(out.bytes, from);
    if (!begin)
        fail_msg("no '%s' in\n%s", from, out.bytes);
    assert_str(str_of(begin), expected);
    output_deinit(&out);
}

static void test_self_and_total(void **state)
{
    struct profile *p = PROFILE(rows);
    (void)state;
    /* parse occurs twice in the first stack and is counted once */
    assert_table(p, (struct table_options){0}, "self",
                 "self %  self  total %  total  function\n"
                 "40.00%     4   40.00%      4  emit\n"
                 "30.00%     3   30.00%      3  alloc\n"
                 "20.00%     2   50.00%      5  parse\n"
                 "10.00%     1   10.00%      1  idle\n"
                 " 0.00%     0   90.00%      9  main\n");
    profile_destroy(p);
}

static void test_sorted_by_total_and_name(void **state)
{
    struct profile *p = PROFILE(rows);
    (void)state;
    assert_table(p, (struct table_options){.sort = TABLE_SORT_TOTAL, .limit = 2}, "self",
                 "self %  self  total %  total  function\n"
                 " 0.00%     0   90.00%      9  main\n"
                 "20.00%     2   50.00%      5  parse\n"
                 "# and 3 more (80.00% self)\n");
    assert_table(p, (struct table_options){.sort = TABLE_SORT_NAME, .limit = 2}, "self",
                 "self %  self  total %  total  function\n"
                 "30.00%     3   30.00%      3  alloc\n"
                 "40.00%     4   40.00%      4  emit\n"
                 "# and 3 more (30.00% self)\n");
    profile_destroy(p);
}

static void test_percent_limit(void **state)
{
    struct profile *p = PROFILE(rows);
    (void)state;
    assert_table(p, (struct table_options){.percent_limit = 30}, "self",
                 "self %  self  total %  total  function\n"
                 "40.00%     4   40.00%      4  emit\n"
                 "30.00%     3   30.00%      3  alloc\n"
                 "# and 3 more (30.00% self)\n");
    profile_destroy(p);
}

static void test_tree(void **state)
{
    struct profile *p = PROFILE(rows);
    (void)state;
    assert_table(p, (struct table_options){.tree = true}, " total",
                 " total %   self %  function\n"
                 " 100.00%    0.00%  all\n"
                 "  50.00%    0.00%  ├─ db\n"
                 "  40.00%    0.00%  │  ├─ main\n"
                 "  40.00%   40.00%  │  │  emit\n"
                 "  10.00%   10.00%  │  └─ idle\n"
                 "  50.00%    0.00%  └─ web\n"
                 "  50.00%    0.00%     main\n"
                 "  50.00%   20.00%     parse\n"
                 "  30.00%    0.00%     parse\n"
                 "  30.00%   30.00%     alloc\n");
    assert_table(p, (struct table_options){.tree = true, .depth = 1}, " total",
                 " total %   self %  function\n"
                 " 100.00%    0.00%  all\n"
                 "  50.00%    0.00%  ├─ db\n"
                 "  50.00%    0.00%  └─ web\n"
                 "# 7 callees deeper than 1 are not shown\n");
    assert_table(p, (struct table_options){.tree = true, .percent_limit = 45}, " total",
                 " total %   self %  function\n"
                 " 100.00%    0.00%  all\n"
                 "  50.00%    0.00%  ├─ db\n"
                 "  50.00%    0.00%  └─ web\n"
                 "  50.00%    0.00%     main\n"
                 "  50.00%   20.00%     parse\n"
                 "# callees below 45% are not shown\n");
    profile_destroy(p);
}

static void test_differential(void **state)
{
    static const struct row both[] = {
        {"main;f", 6, NULL, "before"},
        {"main;g", 4, NULL, "before"},
        {"main;f", 5, NULL, "after"},
        {"main;h", 15, NULL, "after"},
    };
    struct profile *p = PROFILE(both);
    (void)state;
    p->facts.differential = true;
    assert_table(p, (struct table_options){0}, "delta",
                 "delta   change  before %  after %  before  after  function\n"
                 "  +15  +75.00%     0.00%   75.00%       0     15  h\n"
                 "  +10    0.00%   100.00%  100.00%      10     20  main\n"
                 "   -4  -40.00%    40.00%    0.00%       4      0  g\n"
                 "   -1  -35.00%    60.00%   25.00%       6      5  f\n");
    assert_table(p, (struct table_options){.sort = TABLE_SORT_SELF, .percent_limit = 50},
                 "delta",
                 "delta   change  before %  after %  before  after  function\n"
                 "  +15  +75.00%     0.00%   75.00%       0     15  h\n"
                 "# and 3 more with a smaller or no change (25.00% self)\n");
    assert_table(p, (struct table_options){.tree = true}, "  change",
                 "  change before %  after %  function\n"
                 "   0.00%  100.00%  100.00%  main\n"
                 " +75.00%    0.00%   75.00%  ├─ h\n"
                 " -35.00%   60.00%   25.00%  ├─ f\n"
                 " -40.00%   40.00%    0.00%  └─ g\n");
    profile_destroy(p);
}

static void test_csv(void **state)
{
    static const struct row odd[] = {{"a\"b,c;=x\x1b", 3}, {"d", 1}};
    struct profile *p = PROFILE(odd);
    (void)state;
    assert_table(p, (struct table_options){.form = TABLE_CSV}, "event",
                 "event,self,total,self_percent,total_percent,name,module\n"
                 "\"samples\",3,3,75.0000,75.0000,\"=x\\x1b\",\"\"\n"
                 "\"samples\",1,1,25.0000,25.0000,\"d\",\"\"\n"
                 "\"samples\",0,3,0.0000,75.0000,\"a\"\"b,c\",\"\"\n");
    assert_table(p, (struct table_options){.form = TABLE_CSV, .tree = true}, "event",
                 "event,self,total,self_percent,total_percent,depth,name\n"
                 "\"samples\",0,3,0.0000,75.0000,1,\"a\"\"b,c\"\n"
                 "\"samples\",3,3,75.0000,75.0000,2,\"=x\\x1b\"\n"
                 "\"samples\",1,1,25.0000,25.0000,1,\"d\"\n");
    profile_destroy(p);
}

static void test_json(void **state)
{
    struct profile *p = PROFILE(rows);
    (void)state;
    assert_table(
        p, (struct table_options){.form = TABLE_JSON, .limit = 1}, "{",
        "{\"format\":\"\",\"samples\":4,\"filtered\":false,\"lost\":0,\"truncated\":0,"
        "\"differential\":false,\"warnings\":[],\"events\":[\n"
        "{\"event\":\"samples\",\"unit\":\"samples\",\"samples\":4,\"total\":10,"
        "\"unknown\":0,\"functions\":[\n"
        "{\"name\":\"emit\",\"self\":4,\"total\":4}],\"functions_left_out\":4}]}\n");
    assert_table(p, (struct table_options){.form = TABLE_JSON, .tree = true, .depth = 2},
                 "\"tree\"",
                 "\"tree\":[\n"
                 "{\"name\":\"db\",\"self\":0,\"total\":5,\"children\":[\n"
                 "{\"name\":\"main\",\"self\":0,\"total\":4,\"children\":[]},\n"
                 "{\"name\":\"idle\",\"self\":1,\"total\":1,\"children\":[]}]},\n"
                 "{\"name\":\"web\",\"self\":0,\"total\":5,\"children\":[\n"
                 "{\"name\":\"main\",\"self\":0,\"total\":5,\"children\":[]}]}]}]}\n");
    profile_destroy(p);
}

/* The width of a terminal: names are cut in the middle; modules, then weights are
 * omitted; shares are not. */
static void test_width(void **state)
{
    static const struct row one[] = {
        {"a_function_of_a_very_long_name_indeed::and_its_method", 1}};
    struct profile *p = PROFILE(one);
    (void)state;
    assert_table(p, (struct table_options){.width = 61}, "100",
                 "100.00%     1  100.00%      1  a_function_of_a…and_its_method\n");
    assert_table(p, (struct table_options){.width = 50}, "100",
                 "100.00%  100.00%  a_function_of_a_…:and_its_method\n");
    assert_table(p, (struct table_options){.width = 5}, "100",
                 "100.00%  100.00%  a_function_o…_its_method\n");
    profile_destroy(p);
}

static void test_colour(void **state)
{
    static const struct row two[] = {{"hot", 970}, {"warm", 29}, {"cold", 1}};
    struct profile *p = PROFILE(two);
    (void)state;
    assert_table(p, (struct table_options){.colour = true}, "\x1b",
                 "\x1b[1mself %  self  total %  total  function\x1b[0m\n"
                 "\x1b[31m97.00%\x1b[0m   970   \x1b[31m97.00%\x1b[0m    970  hot\n"
                 " \x1b[32m2.90%\x1b[0m    29    \x1b[32m2.90%\x1b[0m     29  warm\n"
                 " 0.10%     1    0.10%      1  cold\n");
    profile_destroy(p);
}

static void assert_header(const struct profile *p, const char *expected)
{
    struct output out = OUTPUT_BUFFER;
    print(p, (struct table_options){.limit = 1}, &out);
    struct str text = output_contents(&out);
    assert_str(str_head(text, str_search(text, STR("self %"))), expected);
    output_deinit(&out);
}

/* Known problems of the data are at the top. */
static void test_honest(void **state)
{
    struct builder b;
    struct error err;
    (void)state;
    assert_true(builder_init(&b, BUILD_COUNT));
    add_row(&b, &(struct row){"main;[unknown]", 1000, "t/1", "cycles", 5000000000});
    add_row(&b, &(struct row){"main", 3000, "t/1", "cycles", 7500000000});
    b.profile->facts.format = builder_string(&b, STR("perf"));
    b.profile->facts.command = builder_string(&b, STR("./a \x1b]0;x"));
    b.profile->facts.filtered = true;
    b.profile->facts.lost = 1234;
    b.profile->facts.truncated = 1;
    builder_warn(&b, "no count", 0, 0, STR(""));
    builder_warn(&b, "no count", 0, 0, STR(""));
    struct profile *p = builder_finish(&b, &err);
    builder_deinit(&b);
    assert_header(p,
                  "# perf, 2 samples from 5.000000 s to 7.500000 s (2.500 s)\n"
                  "# command: ./a \\x1b]0;x\n"
                  "# filtered: not all samples are shown\n"
                  "# the profiler lost 1,234 samples\n"
                  "# 1 stack is truncated\n"
                  "# 2 times: no count\n"
                  "\n"
                  "# cycles: 4,000 in 2 samples, 25.00% in functions without a name\n");
    profile_destroy(p);
}

static void test_units(void **state)
{
    struct builder b;
    struct error err;
    (void)state;
    assert_true(builder_init(&b, BUILD_COUNT));
    stack_id stack = builder_push(&b, 0, builder_named_frame(&b, STR("f")));
    builder_add_stack(&b, builder_event(&b, STR("time"), UNIT_NANOSECONDS), stack,
                      12345678901);
    builder_add_stack(&b, builder_event(&b, STR("wall"), UNIT_MILLISECONDS), stack, 2500);
    builder_add_stack(&b, builder_event(&b, STR("heap"), UNIT_BYTES), stack, 3 << 19);
    struct profile *p = builder_finish(&b, &err);
    builder_deinit(&b);
    assert_table(p, (struct table_options){0}, "# time",
                 "# time: 12.346 s in 1 stack\n"
                 " self %  self s  total %  total s  function\n"
                 "100.00%  12.346  100.00%   12.346  f\n"
                 "\n"
                 "# wall: 2.500 s in 1 stack\n"
                 " self %  self s  total %  total s  function\n"
                 "100.00%   2.500  100.00%    2.500  f\n"
                 "\n"
                 "# heap: 1.50 MiB in 1 stack\n"
                 " self %  self MiB  total %  total MiB  function\n"
                 "100.00%      1.50  100.00%       1.50  f\n");
    profile_destroy(p);
}

/* Functions with the same name in two modules are two rows; in a comparison they are
 * one. */
static void test_modules(void **state)
{
    struct builder b;
    struct error err;
    (void)state;
    assert_true(builder_init(&b, BUILD_COUNT));
    for (int i = 0; i < 2; i++) {
        struct frame f = {
            .name = builder_string(&b, STR("main")),
            .module = builder_module(&b, i ? STR("/bin/a") : STR("/bin/b"), STR(""))};
        builder_add_stack(&b, builder_event(&b, STR("before"), UNIT_COUNT),
                          builder_push(&b, 0, builder_frame(&b, &f)), 1 + i);
        builder_add_stack(&b, builder_event(&b, STR("after"), UNIT_COUNT),
                          builder_push(&b, 0, builder_frame(&b, &f)), 2);
    }
    struct profile *p = builder_finish(&b, &err);
    builder_deinit(&b);
    assert_table(p, (struct table_options){.sort = TABLE_SORT_MODULE}, "# after",
                 "# after: 4 in 2 stacks\n"
                 "self %  self  total %  total  function  module\n"
                 "50.00%     2   50.00%      2  main      a\n"
                 "50.00%     2   50.00%      2  main      b\n");
    p->facts.differential = true;
    assert_table(p, (struct table_options){0}, "   +1",
                 "   +1   0.00%   100.00%  100.00%       3      4  main      several\n");
    profile_destroy(p);
}

static void test_empty(void **state)
{
    struct profile *p = profile_of(NULL, 0, BUILD_COUNT);
    (void)state;
    assert_table(p, (struct table_options){0}, "#", "# 0 stacks\n");
    assert_table(p, (struct table_options){.form = TABLE_JSON}, "\"events\"",
                 "\"events\":[]}\n");
    profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(test_self_and_total), UNIT(test_sorted_by_total_and_name),
        UNIT(test_percent_limit),  UNIT(test_tree),
        UNIT(test_differential),   UNIT(test_csv),
        UNIT(test_json),           UNIT(test_width),
        UNIT(test_colour),         UNIT(test_honest),
        UNIT(test_units),          UNIT(test_modules),
        UNIT(test_empty),
    };
    return UNITS_RUN(units);
}
