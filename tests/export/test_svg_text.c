#include "export/svg_text.h"
#include "unit.h"

static void assert_cleaned(const char *name, size_t length, const char *expected)
{
    struct output o = OUTPUT_BUFFER;
    svg_clean(&o, (struct str){name, length});
    assert_str(output_contents(&o), expected);
    output_deinit(&o);
}

static void names_become_text_that_xml_may_hold(void **state)
{
    (void)state;
    assert_cleaned("main", 4, "main");
    assert_cleaned("", 0, "");
    assert_cleaned("a\0b", 3, "a\u2400b");
    assert_cleaned("\x1b[31m\x7f\n", 7, "\u241b[31m\u2421\u240a");
    assert_cleaned("\xff\x80 \xe2\x82", 5, "\ufffd\ufffd \ufffd");
    assert_cleaned("\xed\xa0\x80", 3, "\ufffd\ufffd\ufffd");   /* a surrogate */
    assert_cleaned("\xef\xbf\xbe\xc2\x85", 5, "\ufffd\ufffd"); /* U+FFFE, U+0085 */
    assert_cleaned("a\xe2\x80\xae"
                   "b",
                   5, "a\ufffdb"); /* U+202E */
    assert_cleaned("na\u00efve \U0001f525", 11, "na\u00efve \U0001f525");
}

static void assert_escaped(const char *text, bool ascii, const char *xml,
                           const char *json)
{
    struct output o = OUTPUT_BUFFER;
    svg_escape(&o, str_of(text), ascii);
    assert_str(output_contents(&o), xml);
    o.used = 0;
    svg_quote(&o, str_of(text), ascii);
    assert_str(output_contents(&o), json);
    output_deinit(&o);
}

static void text_is_escaped(void **state)
{
    (void)state;
    assert_escaped("plain", false, "plain", "\"plain\"");
    assert_escaped("<a b='\"&\"'>", false, "&lt;a b=&#39;&quot;&amp;&quot;&#39;&gt;",
                   "\"\\u003ca b='\\u0022\\u0026\\u0022'\\u003e\"");
    assert_escaped("]]>", false, "]]&gt;", "\"]]\\u003e\"");
    assert_escaped("a\\b", false, "a\\b", "\"a\\u005cb\"");
    assert_escaped("\u00e9\U0001f525", false, "\u00e9\U0001f525", "\"\u00e9\U0001f525\"");
    assert_escaped("\u00e9\U0001f525", true, "&#233;&#128293;",
                   "\"\\u00e9\\ud83d\\udd25\"");
}

/* A font in which every character is ten pixels wide. */
static const struct svg_font tens = {.size = 10, .width = 1};

static void assert_fit(const char *name, double room, enum svg_cut cut,
                       const char *expected)
{
    struct svg_label label = svg_fit(str_of(name), room, &tens, cut);
    struct output o = OUTPUT_BUFFER;
    output_text(&o, label.cut_before && label.text.len ? "~" : "");
    output_str(&o, label.text);
    output_text(&o, label.cut_behind && label.text.len ? "~" : "");
    assert_str(output_contents(&o), expected);
    output_deinit(&o);
}

static void what_does_not_fit_is_cut(void **state)
{
    (void)state;
    assert_fit("abcdef", 60, SVG_CUT_END, "abcdef");
    assert_fit("abcdef", 59, SVG_CUT_END, "abcd~");
    assert_fit("abcdef", 30, SVG_CUT_END, "ab~");
    assert_fit("abcdef", 29, SVG_CUT_END, "ab"); /* no room for the ellipsis */
    assert_fit("abcdef", 19, SVG_CUT_END, "");
    assert_fit("abcdef", 59, SVG_CUT_BEGINNING, "~cdef");
    assert_fit("abcdef", 29, SVG_CUT_BEGINNING, "ef");
    assert_fit("abcdef", 19, SVG_CUT_BEGINNING, "");
    assert_fit("\u00e9\u00e9\u00e9\u00e9", 30, SVG_CUT_END, "\u00e9\u00e9~");
    assert_fit("", 0, SVG_CUT_END, "");
}

static void qualifiers_are_cut_first(void **state)
{
    enum svg_cut cut = SVG_CUT_QUALIFIERS;
    (void)state;
    assert_fit("alloc::vec::Vec::push", 210, cut, "alloc::vec::Vec::push");
    assert_fit("alloc::vec::Vec::push", 200, cut, "~vec::Vec::push");
    assert_fit("alloc::vec::Vec::push", 100, cut, "~Vec::push");
    assert_fit("alloc::vec::Vec::push", 90, cut, "~push");
    assert_fit("alloc::vec::Vec::push", 40, cut, "push");
    assert_fit("alloc::vec::Vec::push", 30, cut, "pu~");
    assert_fit("java/util/List.add", 90, cut, "~List.add"); /* 8 and the ellipsis */
    assert_fit("ns::f(a::b, c::d)", 160, cut, "~f(a::b, c::d)");
    assert_fit("ns::vec<a::b>::push", 180, cut, "~vec<a::b>::push");
    assert_fit("void ns::f(int)", 140, cut, "~f(int)");
    assert_fit("a->b::c", 60, cut, "~c");
    assert_fit("tick lib/a/b.js", 100, cut, "tick lib/~"); /* a path is not a qualifier */
}

/* The hash of a Rust function is the least important part of its name. */
static void hashes_are_cut_before_all_else(void **state)
{
    enum svg_cut cut = SVG_CUT_QUALIFIERS;
    (void)state;
    assert_fit("a::bc::h0123456789abcdef", 240, cut, "a::bc::h0123456789abcdef");
    assert_fit("a::bc::h0123456789abcdef", 230, cut, "a::bc");
    assert_fit("a::bc::h0123456789abcdef", 40, cut, "~bc");
    assert_fit("a::bc::h0123456789abcdef", 50, SVG_CUT_BEGINNING, "a::bc");
    assert_fit("a::bc::h0123456789abcdeg", 170, cut, "h0123456789abcdeg");
    assert_fit("::h0123456789abcdef", 170, cut, "h0123456789abcdef");
    assert_fit("a::bc::{{closure}}::h0123456789abcdef", 170, cut, "~bc::{{closure}}");
    assert_fit("a::bc::{{closure}}::h0123456789abcdef", 120, cut, "bc::{{closu~");
    assert_fit("a::bc::_$u7b$$u7b$closure::h0123456789abcdef", 60, cut, "bc::_~");
}

static void a_long_name_is_not_searched_for_ever(void **state)
{
    (void)state;
    size_t length = 1 << 20;
    char *name = malloc(length);
    assert_non_null(name);
    memset(name, 'x', length);
    memcpy(name, "a::", 3);
    struct svg_label label =
        svg_fit((struct str){name, length}, 100, &tens, SVG_CUT_QUALIFIERS);
    assert_int_equal(label.text.len,
                     9); /* from the beginning: the separator is too far from the end */
    free(name);
}

static void each_character_has_its_width(void **state)
{
    struct svg_font font = {.size = 10};
    (void)state;
    assert_int_equal(svg_fit(str_of("iiii"), 12, &font, SVG_CUT_END).text.len, 4);
    assert_int_equal(svg_fit(str_of("WWWW"), 12, &font, SVG_CUT_END).text.len, 0);
}

static void assert_written(void (*write)(struct output *, double), double v,
                           const char *expected)
{
    struct output o = OUTPUT_BUFFER;
    write(&o, v);
    assert_str(output_contents(&o), expected);
    output_deinit(&o);
}

static void write_short_length(struct output *o, double v)
{
    output_short(o, v, 4);
}

static void figures_are_grouped(void **state)
{
    (void)state;
    assert_written(svg_figure, 0, "0");
    assert_written(svg_figure, 999, "999");
    assert_written(svg_figure, 1000, "1,000");
    assert_written(svg_figure, 1234567.891, "1,234,567.89");
    assert_written(svg_figure, 0.5, "0.5");
    assert_written(svg_figure, -12345, "-12,345");
    assert_written(svg_figure, 100, "100");
    assert_written(svg_figure, 1e15, "1000000000000000");
    assert_written(svg_percent, 0.12345, "12.35%");
    assert_written(write_short_length, 33.3333333, "33.3333");
    assert_written(write_short_length, 100, "100");
    assert_written(write_short_length, 0.5, "0.5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(names_become_text_that_xml_may_hold),
        UNIT(text_is_escaped),
        UNIT(what_does_not_fit_is_cut),
        UNIT(qualifiers_are_cut_first),
        UNIT(hashes_are_cut_before_all_else),
        UNIT(a_long_name_is_not_searched_for_ever),
        UNIT(each_character_has_its_width),
        UNIT(figures_are_grouped),
    };
    return UNITS_RUN(tests);
}
