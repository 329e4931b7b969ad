/* SPDX-License-Identifier: Apache-2.0 */
/* In the browser, the page is its own template and saves itself (src/save.ts), so the
 * exporter is not needed. A failed assertion of the C library traps, because there is
 * no output to write to. */
#include "export/exporter.h"

_Noreturn void __assert_fail(const char *expression, const char *file, int line,
                             const char *function);

_Noreturn void __assert_fail(const char *expression, const char *file, int line,
                             const char *function)
{
    (void)expression;
    (void)file;
    (void)line;
    (void)function;
    __builtin_trap();
}

static bool write(const struct profile *p, const struct export_options *options,
                  struct output *out, struct error *err)
{
    (void)p;
    (void)options;
    (void)out;
    return error_set(err, "the page saves itself");
}

const struct exporter export_html = {.name = "html",
                                     .suffixes = "html",
                                     .summary = "a page that explores the profile",
                                     .write = write};
