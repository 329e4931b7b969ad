/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/xml.h"
#include "unit.h"

/* Prints the pieces of a text: <a for an opening tag, /a for a closing one, "text", and
 * at the end the line and the error. */
static void print_pieces(struct output *got, struct source *in)
{
    struct error err = {.message = ""};
    struct output scratch = OUTPUT_BUFFER;
    struct xml x;
    enum xml_piece piece;
    struct str value;
    xml_init(&x, in, &err);
    while ((piece = xml_next(&x)) != XML_END) {
        if (piece == XML_TEXT)
            output_format(got, "\"%.*s\" ", STR_ARG(xml_decode(x.text, &scratch)));
        else
            output_format(got, "%c%.*s ", piece == XML_OPEN ? '<' : '/', STR_ARG(x.name));
        if (piece == XML_OPEN && xml_attribute(&x, STR("k"), &value))
            output_format(got, "k=%.*s ", STR_ARG(xml_decode(value, &scratch)));
    }
    output_format(got, "%s%s", x.cut ? "cut " : "", x.failed ? err.message : "");
    output_deinit(&scratch);
}

/* Reads the text at once, and in bites of every small size. */
static void check(const char *text, const char *expected)
{
    for (size_t bite = 0; bite < 6; bite++) {
        struct output got = OUTPUT_BUFFER;
        struct bites bites = {text, strlen(text), 0, bite, 0};
        struct source in = bite ? source_reading(bites_read, &bites, STR("t"))
                                : source_of(str_of(text), STR("t"));
        print_pieces(&got, &in);
        assert_str(str_trim(output_contents(&got)), expected);
        output_deinit(&got);
        source_deinit(&in);
    }
}

static void tags_and_text_come_in_order(void **state)
{
    (void)state;
    check("<?xml version='1.0'?><a><b>x</b>y<c/></a>", "<a <b \"x\" /b \"y\" <c /c /a");
    check("<a\n>\n</a\n>", "<a \"\n\" /a");
    check("<!DOCTYPE a><a/><!-- <b> --><!-- - -- -->", "<a /a");
    check("<a><![CDATA[<b>&amp;]]]></a>", "<a \"<b>&]\" /a");
    check("", "");
    check("no tags", "\"no tags\"");
}

static void attributes_are_found_by_name(void **state)
{
    (void)state;
    check("<a k='1'/>", "<a k=1 /a");
    check("<a kk='1' k = \"2\" k='3'/>", "<a k=2 /a");
    check("<a x='k=' k='>/'></a>", "<a k=>/ /a");
    check("<a k='a &amp; &quot;b&quot;'/>", "<a k=a & \"b\" /a");
    check("<a k/>", "<a /a");
    check("<a k=1/>", "<a /a");
    check("<a k='/>", "cut");
}

static void predefined_entities_and_characters(void **state)
{
    (void)state;
    check("<a>&lt;&gt;&amp;&apos;&quot;</a>", "<a \"<>&'\"\" /a");
    check("<a>&#65;&#x3bb;&#x1F525;</a>", "<a \"A\xce\xbb\xf0\x9f\x94\xa5\" /a");
    check("<a>&#0;&#xd800;&#x110000;&x;&;&amp</a>",
          "<a \"&#0;&#xd800;&#x110000;&x;&;&amp\" /a");
}

static void invalid_xml_is_reported(void **state)
{
    (void)state;
    check("<a></b>", "<a a closing tag does not match an open one");
    check("<a/></a>", "<a /a a closing tag does not match an open one");
    check("<a>< b></a>", "<a a tag without a name");
    check("<!DOCTYPE a [<!ENTITY b 'c'>]><a/>",
          "document types with declarations are not supported");
    check("<a><b>", "<a <b cut");
    check("<a>text", "<a \"text\" cut");
    check("<a><b", "<a cut");
    check("<a><!-- ", "<a cut");
    check("<a><![CDATA[x", "<a cut");
}

static void depth_is_limited(void **state)
{
    (void)state;
    struct output text = OUTPUT_BUFFER;
    struct error err;
    struct xml x;
    for (int i = 0; i < XML_DEPTH_MAX + 1; i++)
        output_text(&text, "<a>");
    struct source in = source_of(output_contents(&text), STR("t"));
    xml_init(&x, &in, &err);
    for (int i = 0; i < XML_DEPTH_MAX; i++)
        assert_int_equal(xml_next(&x), XML_OPEN);
    assert_int_equal(xml_next(&x), XML_END);
    assert_true(x.damaged);
    assert_string_equal(err.message, "tags are nested too deeply");
    output_deinit(&text);
}

static void lines_are_counted_and_source_errors_are_passed_on(void **state)
{
    (void)state;
    struct error err;
    struct xml x;
    struct source in = source_of(STR("<a>\n<b\nk='\n'/>\n</c>"), STR("t"));
    xml_init(&x, &in, &err);
    while (xml_next(&x) != XML_END)
        continue;
    assert_int_equal(err.location.line, 5);

    struct bites bites = {"<a><b/></a>", 11, 0, 4, 4};
    in = source_reading(bites_read, &bites, STR("t"));
    xml_init(&x, &in, &err);
    while (xml_next(&x) != XML_END)
        continue;
    assert_true(x.failed && !x.damaged && !x.cut);
    assert_string_equal(err.message, "the disk is on fire");
    source_deinit(&in);
}

int main(void)
{
    static const struct CMUnitTest units[] = {
        UNIT(tags_and_text_come_in_order),
        UNIT(attributes_are_found_by_name),
        UNIT(predefined_entities_and_characters),
        UNIT(invalid_xml_is_reported),
        UNIT(depth_is_limited),
        UNIT(lines_are_counted_and_source_errors_are_passed_on),
    };
    return UNITS_RUN(units);
}
