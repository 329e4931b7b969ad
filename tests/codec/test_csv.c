/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/csv.h"
#include "unit.h"

/* Checks the fields of a line, each in < >, after its indent if there is one. */
static void check(const char *line, char separator, const char *expected)
{
    struct output got = OUTPUT_BUFFER, scratch = OUTPUT_BUFFER;
    struct csv csv = csv_of(str_of(line), separator);
    struct csv_field field;
    while (csv_next(&csv, &field)) {
        if (field.indent)
            output_format(&got, "%zu", field.indent);
        output_format(&got, "<%.*s>", STR_ARG(csv_text(&field, &scratch)));
    }
    assert_false(csv_next(&csv, &field));
    assert_str(output_contents(&got), expected);
    output_deinit(&got);
    output_deinit(&scratch);
}

static void unquoted_fields_include_white_space(void **state)
{
    (void)state;
    check("a, b ,,c", ',', "<a>< b ><><c>");
    check("a\t b\t", '\t', "<a>< b><>");
    check("a;b,c", ';', "<a><b,c>");
    check(",", ',', "<><>");
    check("", ',', "<>");
}

static void quoted_fields_contain_separators_and_quotes(void **state)
{
    (void)state;
    check("\"a,b\",c", ',', "<a,b><c>");
    check("  \"a\",\"\"", ',', "2<a><>");
    check("\"say \"\"hi\"\"\",x", ',', "<say \"hi\"><x>");
    check("\"\"\"\"", ',', "<\">");
    check("\"  in\"  ,x", ',', "<  in><x>");
    check("a\"b\",c", ',', "<a\"b\"><c>"); /* not at the beginning: an ordinary byte */
    check("\t\"a\"\tb", '\t', "<><a><b>");
}

static void unclosed_quotes_end_with_the_line(void **state)
{
    (void)state;
    check("\"a,b", ',', "<a,b>");
    check("x,\"", ',', "<x><>");
    check("\"a\"\"", ',', "<a\">");
    check("\"a\"b,c", ',', "<a><c>"); /* text after the closing quote is dropped */
}

int main(void)
{
    static const struct CMUnitTest units[] = {
        UNIT(unquoted_fields_include_white_space),
        UNIT(quoted_fields_contain_separators_and_quotes),
        UNIT(unclosed_quotes_end_with_the_line),
    };
    return UNITS_RUN(units);
}
