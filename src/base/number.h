/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion between numbers and text, without stdio and without locale.
 *
 * Weights are doubles: integers are exact up to 2^53; fractions keep 15 significant
 * digits, the number of decimal digits that a double always preserves. */
#ifndef STOKE_BASE_NUMBER_H
#define STOKE_BASE_NUMBER_H

#include "base/str.h"
#include <stdint.h>

/* The longest text that number_write_* makes, with a margin. */
#define NUMBER_TEXT_MAX 40

/* Parses all of s as a decimal number. Returns false if s is empty, contains another
 * byte, or does not fit; *out is then unchanged. */
bool number_parse_u64(struct str s, uint64_t *out);

/* The same for hexadecimal digits, with or without a leading 0x. */
bool number_parse_hex(struct str s, uint64_t *out);

/* The same for a decimal with optional sign, fraction and exponent. Exact up to 2^53
 * with at most 22 decimals; otherwise within one unit in the last place. Rejects
 * infinities, "nan" and numbers above 1e300. */
bool number_parse_double(struct str s, double *out);

/* Writes v to out (NUMBER_TEXT_MAX bytes) and returns the length. Adds no zero byte. */
size_t number_write_u64(uint64_t v, char *out);
size_t number_write_hex(uint64_t v, char *out);

/* Writes all digits of a whole number below 2^64, otherwise the shortest decimal of at
 * most 15 significant digits: 3, 0.1, 1.5e+20. */
size_t number_write_double(double v, char *out);

/* Writes v + rest, where `rest` is small compared with v: all digits if the sum is an
 * integer of up to 100 bits, otherwise v alone. */
size_t number_write_exact(double v, double rest, char *out);

/* Writes v with a fixed number of decimals (0 to 9), rounded as printf does: up to four decimals
 * by the exact value, and halves to even. */
size_t number_write_fixed(double v, int decimals, char *out);

#endif
