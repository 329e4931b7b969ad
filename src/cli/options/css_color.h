/* SPDX-License-Identifier: Apache-2.0 */
/* Colours as a style sheet takes them. */
#ifndef STOKE_CLI_OPTIONS_CSS_COLOR_H
#define STOKE_CLI_OPTIONS_CSS_COLOR_H

#include "base/error.h"

/* Whether the text is a colour of CSS: a name, #rgb to #rrggbbaa, or one of the functions
 * (rgb(1, 2, 3), hsl(120deg 50% 50%)), whose arguments are not looked at. */
bool css_color_check(const char *text, struct error *err);

#endif
