/* SPDX-License-Identifier: Apache-2.0 */
#include "import/stated.h"
#include "base/format.h"

/* Sums of the same numbers in another order differ by less, relative to the total. */
#define SUM_ERROR 1e-12

void stated_check_about(struct builder *b, struct str name, double sum, double stated,
                        double slack)
{
    char text[256];
    double more = sum > stated ? sum - stated : stated - sum;
    if (more <= slack || more <= stated * SUM_ERROR)
        return;
    size_t length = format_text(
        text, sizeof text,
        "the %.*s of all samples add up to %g, but the file states %g (%g %s)",
        STR_ARG(str_head(name, 80)), sum, stated, more, sum > stated ? "more" : "less");
    char *what = arena_alloc(&b->profile->arena, length + 1);
    if (what)
        builder_warn_times(b, memcpy(what, text, length + 1), 1);
}

void stated_check(struct builder *b, struct str name, double sum, double stated)
{
    stated_check_about(b, name, sum, stated, 0);
}
