/* SPDX-License-Identifier: Apache-2.0 */
#include "base/format.h"
#include "base/number.h"
#include <stdint.h>

/* One conversion of a format string: %[-][0][width][.precision][length]letter */
struct conversion {
    bool left, zero;
    int width, precision; /* precision -1: not given */
    int longs;            /* 1 for l and z, 2 for ll */
    char letter;
};

static const char *parse_count(const char *f, int *out, va_list *args)
{
    if (*f == '*') {
        *out = va_arg(*args, int);
        return f + 1;
    }
    for (*out = 0; byte_is_digit(*f) && *out < 10000; f++)
        *out = *out * 10 + (*f - '0');
    return f;
}

static const char *parse_conversion(const char *f, struct conversion *c, va_list *args)
{
    *c = (struct conversion){.precision = -1};
    for (; *f == '-' || *f == '0'; f++) {
        c->left |= *f == '-';
        c->zero |= *f == '0';
    }
    f = parse_count(f, &c->width, args);
    if (*f == '.')
        f = parse_count(f + 1, &c->precision, args);
    for (; *f == 'l' || *f == 'z'; f++)
        c->longs++;
    c->letter = *f;
    return *f ? f + 1 : f;
}

static void emit_repeated(format_emit emit, void *context, char c, int count)
{
    for (; count > 0; count--)
        emit(context, &c, 1);
}

static void emit_padded(format_emit emit, void *context, const struct conversion *c,
                        const char *text, size_t length)
{
    int fill = c->width > (int)length ? c->width - (int)length : 0;
    if (!c->left && c->zero && length && text[0] == '-') {
        emit(context, text, 1);
        text++;
        length--;
    }
    if (!c->left)
        emit_repeated(emit, context, c->zero ? '0' : ' ', fill);
    emit(context, text, length);
    if (c->left)
        emit_repeated(emit, context, ' ', fill);
}

static uint64_t take_unsigned(const struct conversion *c, va_list *args)
{
    if (c->longs == 2)
        return va_arg(*args, unsigned long long);
    return c->longs ? va_arg(*args, unsigned long) : va_arg(*args, unsigned);
}

static int64_t take_signed(const struct conversion *c, va_list *args)
{
    if (c->longs == 2)
        return va_arg(*args, long long);
    return c->longs ? va_arg(*args, long) : va_arg(*args, int);
}

static size_t number_text(const struct conversion *c, va_list *args, char *out)
{
    if (c->letter == 'u')
        return number_write_u64(take_unsigned(c, args), out);
    if (c->letter == 'x')
        return number_write_hex(take_unsigned(c, args), out);
    if (c->letter == 'g')
        return number_write_double(va_arg(*args, double), out);
    if (c->letter == 'f') {
        int decimals = c->precision < 0 ? 6 : c->precision > 9 ? 9 : c->precision;
        return number_write_fixed(va_arg(*args, double), decimals, out);
    }
    int64_t v = take_signed(c, args);
    if (v >= 0)
        return number_write_u64((uint64_t)v, out);
    out[0] = '-';
    return 1 + number_write_u64((uint64_t)0 - (uint64_t)v, out + 1);
}

static void emit_string(format_emit emit, void *context, const struct conversion *c,
                        const char *text)
{
    size_t length = 0, limit = c->precision < 0 ? SIZE_MAX : (size_t)c->precision;
    while (length < limit && text[length])
        length++;
    emit_padded(emit, context, c, text, length);
}

static void emit_conversion(format_emit emit, void *context, const struct conversion *c,
                            va_list *args)
{
    char text[NUMBER_TEXT_MAX];
    switch (c->letter) {
    case 's':
        emit_string(emit, context, c, va_arg(*args, const char *));
        break;
    case 'c':
        text[0] = (char)va_arg(*args, int);
        emit_padded(emit, context, c, text, 1);
        break;
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'f':
    case 'g':
        emit_padded(emit, context, c, text, number_text(c, args, text));
        break;
    default:
        emit(context, &c->letter, c->letter != 0);
    }
}

void format_to(format_emit emit, void *context, const char *format, va_list args)
{
    va_list rest;
    va_copy(rest, args);
    while (*format) {
        size_t plain = 0;
        while (format[plain] && format[plain] != '%')
            plain++;
        if (plain)
            emit(context, format, plain);
        format += plain;
        if (*format == '%') {
            struct conversion c;
            format = parse_conversion(format + 1, &c, &rest);
            emit_conversion(emit, context, &c, &rest);
        }
    }
    va_end(rest);
}

struct fixed {
    char *out;
    size_t used, size;
};

static void fixed_emit(void *context, const char *bytes, size_t length)
{
    struct fixed *f = context;
    size_t room = f->size - 1 - f->used;
    if (length > room)
        length = room;
    if (length)
        memcpy(f->out + f->used, bytes, length);
    f->used += length;
}

size_t format_text_v(char *out, size_t size, const char *format, va_list args)
{
    struct fixed f = {out, 0, size};
    format_to(fixed_emit, &f, format, args);
    out[f.used] = 0;
    return f.used;
}

size_t format_text(char *out, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t n = format_text_v(out, size, format, args);
    va_end(args);
    return n;
}
