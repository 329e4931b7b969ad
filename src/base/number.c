/* SPDX-License-Identifier: Apache-2.0 */
#include "base/number.h"
#include <math.h>

bool number_parse_u64(struct str s, uint64_t *out)
{
    uint64_t v = 0;
    if (s.len == 0)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (!byte_is_digit(s.ptr[i]))
            return false;
        uint64_t digit = (uint64_t)(s.ptr[i] - '0');
        if (v > (UINT64_MAX - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    *out = v;
    return true;
}

static unsigned hex_digit(char c)
{
    if (byte_is_digit(c))
        return (unsigned)(c - '0');
    return (unsigned)((c | 0x20) - 'a' + 10);
}

bool number_parse_hex(struct str s, uint64_t *out)
{
    uint64_t v = 0;
    if (str_starts(s, STR("0x")) || str_starts(s, STR("0X")))
        s = str_skip(s, 2);
    if (s.len == 0)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (!byte_is_hex(s.ptr[i]) || v >> 60)
            return false;
        v = v << 4 | hex_digit(s.ptr[i]);
    }
    *out = v;
    return true;
}

static double power_of_ten(int exponent)
{
    static const double exact[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    double v = 1;
    for (; exponent > 22; exponent -= 22)
        v *= 1e22;
    return v * exact[exponent];
}

/* A decimal while it is parsed: mantissa * 10^exponent. Digits after the nineteenth
 * only change the exponent. */
struct decimal {
    uint64_t mantissa;
    int exponent;
    int digits;
};

static void decimal_digit(struct decimal *d, char c, bool fraction)
{
    if (d->digits < 19) {
        d->mantissa = d->mantissa * 10 + (uint64_t)(c - '0');
        d->digits += d->mantissa != 0;
        d->exponent -= fraction;
    } else if (!fraction && d->exponent < 100000) {
        d->exponent++;
    }
}

static bool decimal_exponent(struct str s, int *out)
{
    bool negative = s.len && s.ptr[0] == '-';
    uint64_t v;
    if (s.len && (s.ptr[0] == '-' || s.ptr[0] == '+'))
        s = str_skip(s, 1);
    if (!number_parse_u64(s, &v) || v > 10000)
        return false;
    *out = negative ? -(int)v : (int)v;
    return true;
}

static double decimal_value(const struct decimal *d)
{
    double v = (double)d->mantissa;
    int exponent = d->exponent;
    if (d->mantissa == 0 || exponent < -400)
        return 0;
    if (exponent < -300) { /* 10^-exponent alone would overflow */
        v /= 1e300;
        exponent += 300;
    }
    return exponent < 0 ? v / power_of_ten(-exponent) : v * power_of_ten(exponent);
}

bool number_parse_double(struct str s, double *out)
{
    struct decimal d = {0};
    bool negative = s.len && s.ptr[0] == '-', fraction = false, any = false;
    size_t i = s.len && (s.ptr[0] == '-' || s.ptr[0] == '+');
    for (; i < s.len; i++) {
        char c = s.ptr[i];
        if (byte_is_digit(c)) {
            decimal_digit(&d, c, fraction);
            any = true;
        } else if (c == '.' && !fraction) {
            fraction = true;
        } else {
            break;
        }
    }
    if (!any)
        return false;
    if (i < s.len) {
        int exponent;
        if ((s.ptr[i] | 0x20) != 'e' || !decimal_exponent(str_skip(s, i + 1), &exponent))
            return false;
        d.exponent += exponent;
    }
    if (d.mantissa && d.exponent + d.digits > 300)
        return false;
    double v = decimal_value(&d);
    *out = negative ? -v : v;
    return true;
}

/* The number of decimal digits of v. A number of n bits has n * log10(2) digits, rounded
 * down, or one more: 1233 / 4096 is log10(2), near enough for 64 bits. */
static size_t digit_count(uint64_t v)
{
    static const uint64_t powers[20] = {0,
                                        10,
                                        100,
                                        1000,
                                        10000,
                                        100000,
                                        1000000,
                                        10000000,
                                        100000000,
                                        1000000000,
                                        10000000000,
                                        100000000000,
                                        1000000000000,
                                        10000000000000,
                                        100000000000000,
                                        1000000000000000,
                                        10000000000000000,
                                        100000000000000000,
                                        1000000000000000000,
                                        10000000000000000000u};
    size_t bits = 64 - (size_t)__builtin_clzll(v | 1), few = bits * 1233 >> 12;
    return few + (v >= powers[few]);
}

size_t number_write_u64(uint64_t v, char *out)
{
    size_t n = digit_count(v), i = n;
    do
        out[--i] = (char)('0' + v % 10);
    while (v /= 10);
    return n;
}

size_t number_write_hex(uint64_t v, char *out)
{
    char digits[16];
    size_t n = 0;
    do
        digits[n++] = "0123456789abcdef"[v & 15];
    while (v >>= 4);
    for (size_t i = 0; i < n; i++)
        out[i] = digits[n - 1 - i];
    return n;
}

/* v * 10^k: v scaled so that `digits` digits are before the decimal point. */
static uint64_t scaled(double v, int k)
{
    if (k > 300) { /* 10^k alone would overflow */
        v *= 1e300;
        k -= 300;
    }
    double scaled = k < 0 ? v / power_of_ten(-k) : v * power_of_ten(k);
    return (uint64_t)(scaled + 0.5);
}

static int decimal_magnitude(double v)
{
    int magnitude = 0;
    for (; v >= 1e22; magnitude += 22)
        v /= 1e22;
    for (; v >= 10; magnitude++)
        v /= 10;
    for (; v < 1e-22; magnitude -= 22)
        v *= 1e22;
    for (; v < 1; magnitude--)
        v *= 10;
    return magnitude;
}

static size_t write_exponent(int exponent, char *out)
{
    out[0] = 'e';
    out[1] = exponent < 0 ? '-' : '+';
    return 2 + number_write_u64((uint64_t)(exponent < 0 ? -exponent : exponent), out + 2);
}

/* Writes mantissa * 10^-decimals, without trailing zeros. */
static size_t write_point(uint64_t mantissa, int decimals, char *out)
{
    char digits[NUMBER_TEXT_MAX];
    while (decimals > 0 && mantissa % 10 == 0) {
        mantissa /= 10;
        decimals--;
    }
    size_t n = number_write_u64(mantissa, digits), length = 0;
    if ((int)n <= decimals) {
        out[length++] = '0';
        out[length++] = '.';
        for (int i = (int)n; i < decimals; i++)
            out[length++] = '0';
        memcpy(out + length, digits, n);
        return length + n;
    }
    size_t whole = n - (size_t)decimals;
    memcpy(out, digits, whole);
    length = whole;
    if (decimals) {
        out[length++] = '.';
        memcpy(out + length, digits + whole, (size_t)decimals);
        length += (size_t)decimals;
    }
    return length;
}

static size_t write_magnitude(double v, char *out)
{
    if (!(v > 0)) { /* zero, and NaN, which no weight may be */
        out[0] = '0';
        return 1;
    }
    if (v < 18446744073709551616.0 && (double)(uint64_t)v == v)
        return number_write_u64((uint64_t)v, out);
    if (v > 1.7e308)
        v = 1.7e308;
    int magnitude = decimal_magnitude(v);
    uint64_t mantissa = scaled(v, 14 - magnitude);
    if (magnitude >= -5 && magnitude <= 14)
        return write_point(mantissa, 14 - magnitude, out);
    size_t n = write_point(mantissa, 14, out);
    return n + write_exponent(magnitude, out + n);
}

size_t number_write_double(double v, char *out)
{
    if (!(v < 0))
        return write_magnitude(v, out);
    out[0] = '-';
    return 1 + write_magnitude(-v, out + 1);
}

#define EXACT_MAX 1267650600228229401496703205376.0 /* 2^100 */
#define LIMBS 4                                     /* of nine decimal digits each */

static bool is_integer(double v)
{
    return v - v == 0 && floor(v) == v;
}

/* Adds v, which may be negative, to the limbs: its 53-bit mantissa, doubled as often as
 * its exponent says. */
static void add_limbs(int64_t *limbs, double v)
{
    int64_t own[LIMBS] = {0}, sign = v < 0 ? -1 : 1;
    int doublings = 0;
    double bits = v < 0 ? -v : v;
    for (; bits >= 9007199254740992.0; doublings++)
        bits /= 2;
    own[0] = (int64_t)bits % 1000000000;
    own[1] = (int64_t)bits / 1000000000;
    for (; doublings > 0; doublings--)
        for (int i = LIMBS - 1; i >= 0; i--) {
            own[i] *= 2;
            if (i + 1 < LIMBS) {
                own[i + 1] += own[i] / 1000000000;
                own[i] %= 1000000000;
            }
        }
    for (int i = 0; i < LIMBS; i++)
        limbs[i] += sign * own[i];
}

/* Writes the digits of limbs whose sum is positive. */
static size_t write_limbs(int64_t *limbs, char *out)
{
    char digits[LIMBS * 9];
    size_t begin = 0;
    for (int i = 0; i + 1 < LIMBS; i++) {
        int64_t carry = limbs[i] / 1000000000 - (limbs[i] % 1000000000 < 0);
        limbs[i] -= carry * 1000000000;
        limbs[i + 1] += carry;
    }
    for (size_t i = 0; i < sizeof digits; i++) {
        int64_t *limb = &limbs[i / 9];
        digits[sizeof digits - 1 - i] = (char)('0' + *limb % 10);
        *limb /= 10;
    }
    while (begin + 1 < sizeof digits && digits[begin] == '0')
        begin++;
    memcpy(out, digits + begin, sizeof digits - begin);
    return sizeof digits - begin;
}

size_t number_write_exact(double v, double rest, char *out)
{
    double magnitude = v < 0 ? -v : v;
    bool large = magnitude >= 9007199254740992.0 && magnitude < EXACT_MAX;
    if (!large || !is_integer(v) || !is_integer(rest) || rest >= magnitude ||
        -rest >= magnitude)
        return number_write_double(v, out);
    int64_t limbs[LIMBS] = {0};
    size_t sign = v < 0;
    out[0] = '-';
    add_limbs(limbs, magnitude);
    add_limbs(limbs, sign ? -rest : rest);
    return sign + write_limbs(limbs, out + sign);
}

static size_t write_fixed_magnitude(double v, int decimals, char *out)
{
    uint64_t scale = (uint64_t)power_of_ten(decimals);
    if (v >= 1e15 || v * (double)scale >= 1e18)
        return write_magnitude(v, out);
    /* As printf: exact for up to four decimals, and halves become even. */
    uint64_t whole = (uint64_t)v;
    long double rest = ((long double)v - (long double)whole) * (long double)scale;
    uint64_t part = (uint64_t)rest, all = whole * scale + part;
    rest -= (long double)part;
    if (rest > 0.5L || (rest >= 0.5L && all % 2))
        all++;
    size_t n = number_write_u64(all / scale, out);
    if (decimals == 0)
        return n;
    out[n++] = '.';
    for (uint64_t digits = all % scale, unit = scale / 10; unit; unit /= 10)
        out[n++] = (char)('0' + digits / unit % 10);
    return n;
}

size_t number_write_fixed(double v, int decimals, char *out)
{
    if (!(v < 0))
        return write_fixed_magnitude(v, decimals, out);
    size_t n = write_fixed_magnitude(-v, decimals, out + 1);
    for (size_t i = 1; i <= n; i++) {
        if (out[i] == '0' || out[i] == '.')
            continue;
        out[0] = '-';
        return n + 1;
    }
    memmove(out, out + 1, n); /* -0.0 becomes 0.0 */
    return n;
}
