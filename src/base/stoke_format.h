/* SPDX-License-Identifier: Apache-2.0 */
/* The .stoke file: a profile's tables, as export/stoke.c writes and import/stoke.c reads
 * them.
 *
 * The file is a gzip stream, so that anything unpacks it, a browser's DecompressionStream
 * included. In it, all numbers little-endian:
 *
 *   head       magic (8 bytes), version u32, flags u32 (STOKE_KEPT)
 *   section    tag (4 bytes), first u32, rows u32, size u32, sum u32, head_sum u32,
 *              then `size` bytes, the body. `sum` is the CRC-32 of the body, `head_sum`
 *              that of the 20 bytes before it
 *   ...
 *   section    "END " without a body
 *
 * A section holds the rows first, first + 1, ... of one table, a column after the other.
 * A table larger than STOKE_SECTION_ROWS or STOKE_SECTION_BYTES takes several. A table
 * stands behind all those that its rows name, the facts at the beginning: facts, strings,
 * modules, frames, stacks, threads, events, samples; row 0 ("none") is not written.
 * Sections whose tag is not known are passed over, bytes behind the columns that are
 * known too: a later version adds such ones, and takes another version number only where
 * an older reader would be wrong.
 *
 * Numbers in a body are LEB128 (uleb). `sleb` below: folded, 0 -1 1 -2 ... as 0 1 2 3;
 * `delta`: the difference to the row before (in the section; 0 before the first), modulo
 * 2^64, as sleb.
 *
 *   "STRS"  lengths uleb; then all their bytes
 *   "MODS"  path, build id: strings, uleb
 *   "FRMS"  name, module, file, line, kind uleb; address delta
 *   "STKS"  parent: how many rows before its own, or 0 for the root, uleb; frame uleb
 *   "THRS"  pid, tid sleb; name uleb
 *   "EVTS"  name, unit uleb
 *   "SMPS"  time delta (2^64 - 1: none); thread uleb; cpu + 1 uleb (0: none); event uleb;
 *           stack delta; count uleb; weight: uleb of twice a whole number from 0 to 2^53,
 *           or 1 and the 8 bytes of an IEEE 754 double; then, where a row of the section
 *           has one, what each weight lacks of the exact value (its rest), in the same form
 *   "FACT"  one row: format, host, command (strings), samples, lost, truncated uleb;
 *           time_first + 1, time_last + 1 uleb (0: none); rate: 8 bytes, a double;
 *           flags uleb (STOKE_FILTERED, STOKE_DIFFERENTIAL); warnings: how many uleb,
 *           of each: text, count, line, column, offset + 1 uleb (0: none), caret,
 *           line's text; losses, where there are any: how many uleb, of each: time,
 *           count uleb. A text is its length, uleb, and its bytes */
#ifndef STOKE_BASE_STOKE_FORMAT_H
#define STOKE_BASE_STOKE_FORMAT_H

#include "base/str.h"

#define STOKE_MAGIC STR("\x89STOKE\r\n")
#define STOKE_FORMAT_VERSION 1
#define STOKE_FILE_HEAD 16
#define STOKE_SECTION_HEAD 24
#define STOKE_HEAD_SUMMED 20 /* of a section's head */

#define STOKE_KEPT 1 /* every sample is a row */

#define STOKE_FILTERED 1
#define STOKE_DIFFERENTIAL 2

/* What the writer puts into a section, and the most that a reader takes: rows are never
 * more, and bytes only where one string is longer. */
#define STOKE_SECTION_ROWS 65536
#define STOKE_SECTION_BYTES ((size_t)1 << 20)
#define STOKE_SECTION_MOST ((size_t)1 << 31)

/* A weight that is no whole number, or too large a one. */
#define STOKE_WEIGHT_DOUBLE 1
#define STOKE_WEIGHT_WHOLE 9007199254740992.0

#endif
