/* SPDX-License-Identifier: Apache-2.0 */
/* Fast searches in text, many bytes at a time. */
#ifndef STOKE_BASE_SCAN_H
#define STOKE_BASE_SCAN_H

#include "base/str.h"
#include <stdint.h>

/* Returns the offset of the first empty line: the second of two consecutive line feeds
 * that are both in s. s.len if there is none. */
size_t scan_empty_line(struct str s);

/* Finds the lines of s up to its first empty line and returns the offset of that, like
 * scan_empty_line. Sets *count to the number of lines; starts[i] is the offset of line
 * i, starts[*count] the end of the last one. `starts` has room for `room` + 1 entries.
 * If there are more lines, only the first `room` are stored, and *count is still
 * correct. */
size_t scan_lines(struct str s, uint32_t *starts, size_t room, size_t *count);

/* Counts the bytes equal to c in s. */
size_t scan_count(struct str s, char c);

/* Returns the length of the common prefix of a and b, at most `limit`. */
size_t scan_common(const char *a, const char *b, size_t limit);

#endif
