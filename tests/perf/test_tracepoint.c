/* SPDX-License-Identifier: Apache-2.0 */
/* Formats of tracepoints, as in the kernel, and raw data printed with them. */
#include "perf/tracepoint.h"
#include "unit.h"

#define FIELDS                                                               \
    "name: one\nID: 77\nformat:\n"                                           \
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n" \
    "\tfield:char comm[8];\toffset:8;\tsize:8;\tsigned:0;\n"                 \
    "\tfield:pid_t pid;\toffset:16;\tsize:4;\tsigned:1;\n"                   \
    "\tfield:unsigned int flags;\toffset:20;\tsize:4;\tsigned:0;\n"          \
    "\tfield:unsigned long args[2];\toffset:24;\tsize:16;\tsigned:0;\n"      \
    "\tfield:__data_loc char[] path;\toffset:40;\tsize:4;\tsigned:0;\n"      \
    "\tfield:__rel_loc u8[] bytes;\toffset:44;\tsize:4;\tsigned:0;\n\n"      \
    "print fmt: "

static struct arena arena;

/* common, "worker", -5, 0x12, {3, 1 << 40}, "a/path" at 48, 4 bytes at 56 */
static struct str raw_part(bool big)
{
    static char raw[64];
    static const unsigned char bytes[] = {1, 2, 0xfe, 0xff};
    const uint64_t numbers[][3] = {
        {16, 4, (uint32_t)-5},      {20, 4, 0x12},         {24, 8, 3},
        {32, 8, (uint64_t)1 << 40}, {40, 4, 7 << 16 | 48}, {44, 4, 4 << 16 | 8}};
    memset(raw, 0, sizeof raw);
    memcpy(raw + 8, "worker", 7);
    memcpy(raw + 48, "a/path", 7);
    memcpy(raw + 56, bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        for (size_t k = 0; k < numbers[i][1]; k++)
            raw[numbers[i][0] + (big ? numbers[i][1] - 1 - k : k)] =
                (char)(numbers[i][2] >> 8 * k);
    return (struct str){raw, sizeof raw};
}

static void check(const char *print, const char *expected)
{
    for (int big = 0; big < 2; big++) {
        struct output text = OUTPUT_BUFFER, o = OUTPUT_BUFFER;
        struct tracepoint_format f;
        output_text(&text, FIELDS);
        output_text(&text, print);
        assert_int_equal(tracepoint_format_id(output_contents(&text)), 77);
        assert_true(tracepoint_format_read(&f, output_contents(&text), &arena));
        assert_str(f.name, "one");
        tracepoint_format_print(&f, raw_part(big), big, &o);
        assert_str(output_contents(&o), expected);
        output_deinit(&o);
        output_deinit(&text);
    }
    arena_deinit(&arena);
}

static void test_conversions(void **state)
{
    (void)state;
    check("\"nothing\"", "nothing");
    check("\"comm=%s pid=%d\", REC->comm, REC->pid", "comm=worker pid=-5");
    check("\"[%8s|%-8s|%.3s|%*d]\", REC->comm, REC->comm, REC->comm, 4, 7",
          "[  worker|worker  |wor|   7]");
    check(
        "\"%08x %#x %lX %o 0%o %hhu %5d%%\", REC->flags, REC->flags, REC->args[1], 8, 8, "
        "0x1ff, REC->pid",
        "00000012 0x12 10000000000 10 010 255    -5%");
    check("\"%u %llu %lld %c\", REC->pid, REC->pid, REC->pid, 0x41",
          "4294967291 18446744073709551611 -5 A");
    check("\"%p|%pS|%s\\n\\\"q\\\"\", REC->args[1], REC->flags, REC->pid",
          "0x10000000000|0x12|0xfffffffffffffffb\n\"q\"");
    check("\"%d %s\", 1", "1 0x0"); /* one is missing */
}

static void test_expressions(void **state)
{
    (void)state;
    check("\"%d %d %d\", 2 + 3 * 4 - 1, (2 + 3) * 4, 1 << 2 | 1", "13 20 5");
    check("\"%d %d %d\", 7 / 2 % 2, 7 / 0, -3 - -1", "1 0 -2");
    check("\"%d%d%d%d%d%d\", 1 < 2, 2 <= 1, 1 == 1, 1 != 1, 1 && 0, 0 || 2", "101001");
    check(
        "\"%s %s\", REC->flags & 2 ? \"yes\" : \"no\", REC->flags & 4 ? \"yes\" : \"no\"",
        "yes no");
    check("\"%d\", 0 ? 1 : 0 ? 2 : 3", "3");
    check("\"%lu %d\", (unsigned long)REC->args[0], (int)(~REC->flags & 0xff)", "3 237");
    check("\"%s\", __print_flags(REC->flags, \"|\", { 0x2, \"two\" }, { (1 << 4), \"16\" "
          "})",
          "two|16");
    check("\"%s|%s\", __print_flags(REC->flags, \",\", { 2UL, \"two\" }), "
          "__print_flags(0, \"\", { 0, \"none\" })",
          "two,0x10|none");
    check("\"%s %s\", __print_symbolic(REC->args[0], { 1, \"a\" }, { 3, \"c\" }), "
          "__print_symbolic(9, { UNKNOWN, \"a\" })",
          "c 0x9");
    check("\"%s %d %s\", __get_str(path), __get_dynamic_array_len(bytes), "
          "__print_hex(__get_dynamic_array(bytes), 3)",
          "a/path 4 01 02 fe");
    /* perf compares unsigned values; an unknown value is 0 */
    check("\"%d %d\", REC->pid > 5, SOMETHING", "1 0");
}

/* Unsupported formats: the fields are printed one by one. */
#define BARE " comm=worker pid=-5 flags=18 args=3,10000000000 path=a/path bytes=1,2,fe,ff"

static void test_what_is_not_understood(void **state)
{
    (void)state;
    check("\"%d\", sizeof(int)", BARE);
    check("\"%d\", REC->nothing", BARE);
    check("\"%d\", (1", BARE);
    check("\"%d\", 1)", BARE);
    check("\"%d\", 1 ? 2", BARE);
    check("\"%d\", }", BARE);
    check("\"%d\", 1 +", BARE);
    check("\"%d\", \"open", BARE);
    check("REC->pid", BARE);
    check("", BARE);
}

/* Cut anywhere, and of any depth, a format does no harm. */
static void test_hostile_formats(void **state)
{
    struct output deep = OUTPUT_BUFFER, o = OUTPUT_BUFFER;
    struct tracepoint_format f;
    (void)state;
    output_text(&deep, FIELDS "\"%*d %s\", 2000000000, 1, ");
    for (int i = 0; i < 100000; i++)
        output_char(&deep, "(-{["[i % 4]);
    struct str text = output_contents(&deep);
    assert_true(tracepoint_format_read(&f, text, &arena));
    assert_int_equal(f.print.len, 0);
    text = STR(FIELDS "\"%s %d\", __print_flags(REC->flags, \"|\", { 1, \"a\" }), "
                      "REC->args[9] + __get_dynamic_array_len(path)");
    for (size_t cut = 0; cut <= text.len; cut++) {
        char *exact = malloc(cut + 1);
        memcpy(exact, text.ptr, cut);
        assert_true(tracepoint_format_read(&f, (struct str){exact, cut}, &arena));
        for (size_t size = 0; size <= 64; size += 7)
            tracepoint_format_print(&f, str_head(raw_part(false), size), false, &o);
        free(exact);
    }
    arena_deinit(&arena);
    output_deinit(&o);
    output_deinit(&deep);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(test_conversions),
        UNIT(test_expressions),
        UNIT(test_what_is_not_understood),
        UNIT(test_hostile_formats),
    };
    return UNITS_RUN(units);
}
