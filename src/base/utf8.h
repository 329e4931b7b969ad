/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8: which bytes are well formed, and what is written instead of those that are not.
 *
 * Names come from anywhere; formats that are UTF-8 by definition (JSON, protobuf strings)
 * get one U+FFFD for every ill-formed piece: the longest beginning of a character that is
 * there, or a single byte. */
#ifndef STOKE_BASE_UTF8_H
#define STOKE_BASE_UTF8_H

#include "base/output.h"
#include "base/str.h"

#define UTF8_REPLACEMENT 0xfffdu

/* The length of the character that s, which is not empty, begins with. 0 where it is ill
 * formed (overlong, a surrogate, beyond U+10FFFF, cut); *bad is then the piece's length.
 */
size_t utf8_length(struct str s, size_t *bad);

/* How many bytes from the beginning of s on are well formed; s.len for all. */
size_t utf8_valid(struct str s);

/* Writes the character c to out (4 bytes of room), returns the length. */
size_t utf8_write(unsigned c, char *out);

/* Prints s with its ill-formed pieces replaced. */
void utf8_print(struct output *o, struct str s);

#endif
