/* Finding places in text, many bytes at a time. */
#ifndef STOKE_BASE_SCAN_H
#define STOKE_BASE_SCAN_H

#include "base/str.h"

/* Where the first empty line begins: the second of two line feeds in a row that both lie
 * in s. s.len where there is none. */
size_t scan_empty_line(struct str s);

/* How often the byte c stands in s. */
size_t scan_count(struct str s, char c);

/* How many bytes a and b begin with in common, at most `limit`. */
size_t scan_common(const char *a, const char *b, size_t limit);

#endif
