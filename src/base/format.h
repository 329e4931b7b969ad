/* SPDX-License-Identifier: Apache-2.0 */
/* printf without stdio, for the pure folders, which also run in the browser.
 *
 * Supported: %s %c %d %i %u %x; lengths l, ll, z; width, '-', '0' and, for %s, a
 * precision; %f and %g with a precision of 0 to 9 (%g prints the shortest form, see
 * number.h); %%. Anything else is printed unchanged. */
#ifndef STOKE_BASE_FORMAT_H
#define STOKE_BASE_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

/* Receives the pieces of the text, in order. */
typedef void (*format_emit)(void *context, const char *bytes, size_t length);

void format_to(format_emit emit, void *context, const char *format, va_list args);

/* Writes at most size - 1 bytes and a zero byte, and returns the length written. Text
 * that does not fit is truncated. size must not be 0. */
size_t format_text(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
size_t format_text_v(char *out, size_t size, const char *format, va_list args);

#endif
