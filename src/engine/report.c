/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/report.h"
#include "base/format.h"

const struct engine_report engine_silent = {.context = NULL};

void engine_note(const struct engine_report *r, const char *format, ...)
{
    char text[1024];
    va_list args;
    if (!r->note)
        return;
    va_start(args, format);
    format_text_v(text, sizeof text, format, args);
    va_end(args);
    r->note(r->context, text);
}

void engine_progress(const struct engine_report *r, const char *what, uint64_t done,
                     uint64_t total)
{
    if (r->progress)
        r->progress(r->context, what, done, total);
}

void engine_done(const struct engine_report *r)
{
    if (r->done)
        r->done(r->context);
}
