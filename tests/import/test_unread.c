/* SPDX-License-Identifier: Apache-2.0 */
#include "import/unread.h"
#include "unit.h"

static void is_known(struct str head, const char *what)
{
    const struct unread_format *format = unread_format_of(head);
    assert_non_null(format);
    assert_non_null(strstr(format->what, what));
    assert_true(strlen(format->hint) > 10);
}

static void files_of_other_tools_are_known(void **state)
{
    (void)state;
    is_known(STR("v8-version,11,3,244,8,-node.38,0\n"), "node --prof");
    is_known(STR("Statistical profiling result from v8.log, (108 ticks"),
             "--prof-process");
    is_known(STR("{\"snapshot\":{\"meta\":{\"node_fields\":"), "heap snapshot");
    is_known(STR("\x04\x08{\x10:\x0cversion"), "stackprof");
    is_known(STR("\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\x27\0\0"),
             "gperftools");
    is_known(STR("gmon\1\0\0\0"), "gmon.out");
    is_known(STR("\177ELF\2\1\1\0\0\0 CORE\0"), "core dump");
    is_known(STR("\177ELF\2\1\1\0"), "program");
    is_known(STR("go 1.22 trace\0\0\0"), "execution trace");
    is_known(STR("JAVA PROFILE 1.0.2\0\0\0\0\x08"), "heap dump");
    is_known(STR(" Percent |\tSource code & Disassembly of a for cycles (3 samples)\n"),
             "perf annotate");
    is_known(STR("==1== Lackey, an example Valgrind tool\n==1== "), "lackey");
    is_known(STR("digraph profile {\n"), "Graphviz");
    is_known(STR("<?xml version=\"1.0\"?>\n<svg width=\"1\">"), "SVG");
}

static void other_files_are_not(void **state)
{
    (void)state;
    assert_null(unread_format_of(STR("")));
    assert_null(unread_format_of(STR("\0\0\0\0")));
    assert_null(unread_format_of(STR("a;b 1\n")));
    assert_null(unread_format_of(STR("JAVA PROFILE 1.0.1, created Mon")));
    assert_null(unread_format_of(STR("a page about <svg and <html\n")));
}

int main(void)
{
    static const struct CMUnitTest units[] = {
        UNIT(files_of_other_tools_are_known),
        UNIT(other_files_are_not),
    };
    return UNITS_RUN(units);
}
