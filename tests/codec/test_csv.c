/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/csv.h"
#include "unit.h"

/* The fields of a line, each in < >, with the indent in front where there is one. */
static void check(const char *line, char separator, const char *wanted)
{
    struct output got = OUTPUT_KEEP, scratch = OUTPUT_KEEP;
    struct csv csv = csv_of(str_of(line), separator);
    struct csv_field field;
    while (csv_next(&csv, &field)) {
        if (field.indent)
            output_format(&got, "%zu", field.indent);
        output_format(&got, "<%.*s>", STR_ARG(csv_text(&field, &scratch)));
    }
    assert_false(csv_next(&csv, &field));
    assert_str(output_kept(&got), wanted);
    output_deinit(&got);
    output_deinit(&scratch);
}

static void bare_fields_keep_their_white_space(void **state)
{
    (void)state;
    check("a, b ,,c", ',', "<a>< b ><><c>");
    check("a\t b\t", '\t', "<a>< b><>");
    check("a;b,c", ';', "<a><b,c>");
    check(",", ',', "<><>");
    check("", ',', "<>");
}

static void quotes_hold_separators_and_quotes(void **state)
{
    (void)state;
    check("\"a,b\",c", ',', "<a,b><c>");
    check("  \"a\",\"\"", ',', "2<a><>");
    check("\"say \"\"hi\"\"\",x", ',', "<say \"hi\"><x>");
    check("\"\"\"\"", ',', "<\">");
    check("\"  in\"  ,x", ',', "<  in><x>");
    check("a\"b\",c", ',', "<a\"b\"><c>"); /* not at the beginning: a byte like others */
    check("\t\"a\"\tb", '\t', "<><a><b>");
}

static void quotes_that_do_not_close_end_with_the_line(void **state)
{
    (void)state;
    check("\"a,b", ',', "<a,b>");
    check("x,\"", ',', "<x><>");
    check("\"a\"\"", ',', "<a\">");
    check("\"a\"b,c", ',', "<a><c>"); /* what sticks to the closing quote is dropped */
}

int main(void)
{
    static const struct CMUnitTest units[] = {
        UNIT(bare_fields_keep_their_white_space),
        UNIT(quotes_hold_separators_and_quotes),
        UNIT(quotes_that_do_not_close_end_with_the_line),
    };
    return UNITS_RUN(units);
}
