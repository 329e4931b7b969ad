/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers to text and back, without stdio and without locale.
 *
 * Weights are doubles: integers are exact to 2^53; fractions keep 15 significant digits,
 * the number of decimal digits that a double always holds. */
#ifndef STOKE_BASE_NUMBER_H
#define STOKE_BASE_NUMBER_H

#include "base/str.h"
#include <stdint.h>

/* The longest text that number_write_* makes, with room to spare. */
#define NUMBER_TEXT_MAX 40

/* All of s as a decimal number. False where s is empty, has another byte in it, or does
 * not fit; *out is then unchanged. */
bool number_parse_u64(struct str s, uint64_t *out);

/* The same for hexadecimal digits, with or without a leading 0x. */
bool number_parse_hex(struct str s, uint64_t *out);

/* The same for a decimal with optional sign, fraction and exponent. Correct to the last
 * bit up to 2^53 with at most 22 decimals, within one unit in the last place beyond.
 * Infinities, "nan" and numbers beyond 1e300 are refused. */
bool number_parse_double(struct str s, double *out);

/* Writes v to out (NUMBER_TEXT_MAX bytes), returns the length. No zero behind it. */
size_t number_write_u64(uint64_t v, char *out);
size_t number_write_hex(uint64_t v, char *out);

/* The shortest decimal of at most 15 significant digits: 3, 0.1, 1.5e+20. */
size_t number_write_double(double v, char *out);

/* v + rest, where `rest` is small beside v: an integer of up to 100 bits with all of its
 * digits, else v alone. */
size_t number_write_exact(double v, double rest, char *out);

/* v with a fixed count of decimals (0 to 9), rounded half away from zero. */
size_t number_write_fixed(double v, int decimals, char *out);

#endif
