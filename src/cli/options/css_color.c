/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options/css_color.h"
#include "base/nearest.h"

static const char names[] =
    "aliceblue antiquewhite aqua aquamarine azure beige bisque black "
    "blanchedalmond blue blueviolet brown burlywood cadetblue chartreuse "
    "chocolate coral cornflowerblue cornsilk crimson cyan darkblue darkcyan "
    "darkgoldenrod darkgray darkgreen darkgrey darkkhaki darkmagenta "
    "darkolivegreen darkorange darkorchid darkred darksalmon darkseagreen "
    "darkslateblue darkslategray darkslategrey darkturquoise darkviolet deeppink "
    "deepskyblue dimgray dimgrey dodgerblue firebrick floralwhite forestgreen "
    "fuchsia gainsboro ghostwhite gold goldenrod gray green greenyellow grey "
    "honeydew hotpink indianred indigo ivory khaki lavender lavenderblush "
    "lawngreen lemonchiffon lightblue lightcoral lightcyan lightgoldenrodyellow "
    "lightgray lightgreen lightgrey lightpink lightsalmon lightseagreen "
    "lightskyblue lightslategray lightslategrey lightsteelblue lightyellow lime "
    "limegreen linen magenta maroon mediumaquamarine mediumblue mediumorchid "
    "mediumpurple mediumseagreen mediumslateblue mediumspringgreen "
    "mediumturquoise mediumvioletred midnightblue mintcream mistyrose moccasin "
    "navajowhite navy oldlace olive olivedrab orange orangered orchid "
    "palegoldenrod palegreen paleturquoise palevioletred papayawhip peachpuff "
    "peru pink plum powderblue purple rebeccapurple red rosybrown royalblue "
    "saddlebrown salmon sandybrown seagreen seashell sienna silver skyblue "
    "slateblue slategray slategrey snow springgreen steelblue tan teal thistle "
    "tomato turquoise violet wheat white whitesmoke yellow yellowgreen "
    "currentcolor none transparent";

static const char functions[] = "rgb rgba hsl hsla hwb lab lch oklab oklch color";

static bool in_words(const char *words, struct str word)
{
    for (struct str rest = str_of(words); rest.len;)
        if (str_equal(str_cut(&rest, ' '), word))
            return true;
    return false;
}

static bool is_hex(struct str digits)
{
    for (size_t i = 0; i < digits.len; i++)
        if (!strchr("0123456789abcdefABCDEF", digits.ptr[i]))
            return false;
    return digits.len == 3 || digits.len == 4 || digits.len == 6 || digits.len == 8;
}

/* "rgb(...)": a known function with one pair of parentheses. */
static bool is_function(struct str text)
{
    struct str rest = text, name = str_cut(&rest, '(');
    if (rest.len < 2 || rest.ptr[rest.len - 1] != ')' || !in_words(functions, name))
        return false;
    for (size_t i = 0; i + 1 < rest.len; i++)
        if (!byte_is_word(rest.ptr[i]) && !strchr(" ,./%+-", rest.ptr[i]))
            return false;
    return true;
}

bool css_color_check(const char *text, struct error *err)
{
    struct str color = str_of(text);
    struct nearest nearest = {.word = color};
    if (str_starts(color, STR("#")) ? is_hex(str_skip(color, 1))
                                    : is_function(color) || in_words(names, color))
        return true;
    for (struct str rest = str_of(names); rest.len;)
        nearest_offer(&nearest, str_cut(&rest, ' '));
    error_set(err, "invalid colour '%s'", text);
    return nearest_hint(&nearest, "",
                        "a CSS colour name (white), #rrggbb or rgb(r, g, b)", err);
}
