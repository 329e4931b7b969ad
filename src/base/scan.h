/* SPDX-License-Identifier: Apache-2.0 */
/* Finding places in text, many bytes at a time. */
#ifndef STOKE_BASE_SCAN_H
#define STOKE_BASE_SCAN_H

#include "base/str.h"
#include <stdint.h>

/* Where the first empty line begins: the second of two line feeds in a row that both lie
 * in s. s.len where there is none. */
size_t scan_empty_line(struct str s);

/* The lines of s up to its first empty line, and where that begins, as scan_empty_line
 * says. *count is how many there are, line feeds counted; starts[i] is where line i
 * begins, starts[*count] where the last one ends. `starts` has room for `room` + 1; of
 * more lines than that the first `room` are told, and *count is still right. */
size_t scan_lines(struct str s, uint32_t *starts, size_t room, size_t *count);

/* How often the byte c stands in s. */
size_t scan_count(struct str s, char c);

/* How many bytes a and b begin with in common, at most `limit`. */
size_t scan_common(const char *a, const char *b, size_t limit);

#endif
