/* SPDX-License-Identifier: Apache-2.0 */
/* CSS colours. */
#ifndef STOKE_CLI_OPTIONS_CSS_COLOR_H
#define STOKE_CLI_OPTIONS_CSS_COLOR_H

#include "base/error.h"

/* True if the text is a CSS colour: a name, #rgb to #rrggbbaa, or a colour function such
 * as rgb(1, 2, 3) or hsl(120deg 50% 50%). The arguments of functions are not checked. */
bool css_color_check(const char *text, struct error *err);

#endif
