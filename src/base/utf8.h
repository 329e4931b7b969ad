/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8: validation, and replacement of ill-formed bytes.
 *
 * Names can contain any bytes. Formats that require UTF-8 (JSON, protobuf strings) get
 * one U+FFFD for each ill-formed piece: the longest valid beginning of a character, or
 * a single byte. */
#ifndef STOKE_BASE_UTF8_H
#define STOKE_BASE_UTF8_H

#include "base/output.h"
#include "base/str.h"

#define UTF8_REPLACEMENT 0xfffdu

/* Returns the length of the first character of s, which is not empty. Returns 0 if it
 * is ill-formed (overlong, a surrogate, above U+10FFFF, truncated); *bad is then the
 * length of the ill-formed piece. */
size_t utf8_length(struct str s, size_t *bad);

/* Returns the length of the well-formed prefix of s; s.len if all of it is
 * well-formed. */
size_t utf8_valid(struct str s);

/* Writes the character c to out (4 bytes of room) and returns its length. */
size_t utf8_write(unsigned c, char *out);

/* Prints s with its ill-formed pieces replaced. */
void utf8_print(struct output *o, struct str s);

#endif
