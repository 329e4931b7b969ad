/* SPDX-License-Identifier: Apache-2.0 */
/* The .stoke file format: the tables of a profile, as export/stoke.c writes and
 * import/stoke.c reads them.
 *
 * The file is a gzip stream, so any gzip tool unpacks it, including a browser's
 * DecompressionStream. Inside, all numbers are little-endian:
 *
 *   head     magic (8 bytes), version u32, flags u32 (STOKE_ALL_SAMPLES)
 *   section  tag (4 bytes), first u32, rows u32, size u32, sum u32, head_sum u32,
 *            then `size` bytes, the body. `sum` is the CRC-32 of the body, `head_sum`
 *            that of the 20 bytes before it
 *   ...
 *   section  "END " without a body
 *
 * A section holds the rows first, first + 1, ... of one table, column by column. A
 * table larger than STOKE_SECTION_ROWS or STOKE_SECTION_BYTES takes several sections. A
 * table comes after all tables that its rows refer to, and the facts come first: facts,
 * strings, modules, frames, stacks, threads, events, labels, label sets, samples, calls, the code
 * of functions. Row 0
 * ("none") is not written. A reader skips sections with an unknown tag, and bytes after the known
 * columns: a later version may add them. The version number changes only if an older
 * reader would read wrong values.
 *
 * Numbers in a body are LEB128 (uleb). `sleb` below: zigzag encoding, 0 -1 1 -2 ... as
 * 0 1 2 3; `delta`: the difference to the row before (in the section; 0 before the
 * first), modulo 2^64, as sleb.
 *
 *   "STRS"   lengths uleb; then all their bytes
 *   "MODS"   path, build ID: strings, uleb
 *   "FRMS"   name, module, file, line, kind uleb; address delta; then, if a row of the
 *            section has one, the offset of an unnamed frame in the module's file, delta
 *   "STKS"   parent: how many rows before its own, or 0 for the root, uleb; frame uleb
 *   "THRS"   pid, tid sleb; name uleb
 *   "EVTS"   name, unit uleb
 *   "LBLS"   key, text uleb; number sleb; unit uleb; 1 for a number, 0 for text uleb
 *   "LSET"   parent: how many rows before its own, or 0 for none, uleb; label uleb
 *   "SMPS"   time delta (2^64 - 1: none); thread uleb; cpu + 1 uleb (0: none); event uleb;
 *            stack delta; count uleb; weight: uleb of twice an integer from 0 to 2^53,
 *            or 1 and the 8 bytes of an IEEE 754 double; then, if a row of the section
 *            has one, the rest of each weight (exact value minus weight), in the same form;
 *            then, if a row of the section has labels, the label set uleb
 *   "CALS"   calls that the input states: caller (0: any), callee, event uleb; count, total:
 *            as weights of samples; 1 if the total is a sum, else 0, uleb
 *
 * The code of functions (model/code.h), if it is included, has strings of its own:
 *
 *   "CSTR"   like STRS
 *   "CEVT"   name, unit uleb
 *   "CFUN"   name, module, build ID, path, bytes, why there are none: strings, uleb; start,
 *            low delta; size, flags, machine, its flags uleb
 *   "CROW"   function uleb; address delta; file, line uleb
 *   "CNTE"   function uleb; address delta; kind, text uleb
 *   "CSPT"   function (0: code without a name), event, cpu + 1 uleb; address delta; count uleb;
 *            weight: as of a sample
 *   "CSRC"   name, text uleb
 *
 *   "FACT"   one row: format, host, command (strings), samples, lost, truncated uleb;
 *            time_first + 1, time_last + 1 uleb (0: none); rate: 8 bytes, a double;
 *            flags uleb (STOKE_FILTERED, STOKE_DIFFERENTIAL); warnings: number uleb,
 *            of each: text, count, line, column, offset + 1 uleb (0: none), caret
 *            (STOKE_INFERRED), line's text; losses, if there are any or more follows:
 *            number uleb, of each: time, count uleb; files without unwind information,
 *            likewise: number uleb, of each: stacks uleb, path; bytes between two samples
 *            of a heap, if known: uleb; truncated stacks that continue with inferred
 *            callers, uleb; the
 *            interpreters of the processes, string. A text is its length, uleb, and its
 *            bytes */
#ifndef STOKE_BASE_STOKE_FORMAT_H
#define STOKE_BASE_STOKE_FORMAT_H

#include "base/str.h"

#define STOKE_MAGIC STR("\x89STOKE\r\n")
#define STOKE_FORMAT_VERSION 1
#define STOKE_FILE_HEAD 16
#define STOKE_SECTION_HEAD 24
#define STOKE_HEAD_SUMMED 20 /* bytes of a section's head that head_sum covers */

#define STOKE_ALL_SAMPLES 1 /* every sample is a row */

#define STOKE_FILTERED 1
#define STOKE_DIFFERENTIAL 2

/* Added to the caret of a warning: it counts values that were inferred. Readers of the
 * first version take it for an invalid caret. */
#define STOKE_INFERRED ((uint64_t)1 << 31)

/* The writer's limits per section, and the maximum that a reader accepts. Rows never
 * exceed the limit; bytes do only if one string is longer. */
#define STOKE_SECTION_ROWS 65536
#define STOKE_SECTION_BYTES ((size_t)1 << 20)
#define STOKE_SECTION_BYTES_MAX ((size_t)1 << 31)

/* Marks a weight that is not an integer, or is above 2^53. */
#define STOKE_WEIGHT_DOUBLE 1
#define STOKE_WEIGHT_WHOLE 9007199254740992.0

#endif
