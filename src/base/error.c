/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "base/format.h"

bool error_set(struct error *err, const char *format, ...)
{
    va_list args;
    if (!err)
        return false;
    *err = (struct error){.location = LOCATION_NONE};
    va_start(args, format);
    format_text_v(err->message, sizeof err->message, format, args);
    va_end(args);
    return false;
}

bool error_hint(struct error *err, const char *format, ...)
{
    va_list args;
    if (!err)
        return false;
    va_start(args, format);
    format_text_v(err->hint, sizeof err->hint, format, args);
    va_end(args);
    return false;
}

void input_location_set_line(struct input_location *location, uint64_t line,
                             uint64_t column, struct str text)
{
    size_t room = sizeof location->text - 1, from = 0;
    if (column > room / 2 && text.len > room)
        from = (size_t)column - room / 2;
    if (from > text.len)
        from = text.len;
    text = str_head(str_skip(text, from), room);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        location->text[i] = c == '\t'                           ? ' '
                            : c < ' ' || c == 0x7f || c >= 0x80 ? '?'
                                                                : (char)c;
    }
    location->text[text.len] = 0;
    location->line = line;
    location->column = column;
    location->caret = (unsigned)(column > from ? column - from : 0);
    location->offset = UINT64_MAX;
}

bool error_at_line(struct error *err, uint64_t line, uint64_t column, struct str text)
{
    if (err)
        input_location_set_line(&err->location, line, column, text);
    return false;
}

bool error_at_offset(struct error *err, uint64_t offset)
{
    if (err)
        err->location = (struct input_location){.offset = offset};
    return false;
}

void error_set_memory(struct error *err)
{
    error_set(err, "out of memory");
    error_hint(err, "filter the input first, or use a machine with more memory");
}
