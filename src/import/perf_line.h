/* SPDX-License-Identifier: Apache-2.0 */
/* The two kinds of lines of perf script text, taken apart: a sample's header,
 *   comm  pid/tid [cpu] time: period event: rest
 * and a frame's,
 *           pc symbol+0xoffset (module)
 * with what may be missing in them, as perf 3 to 6 print them. */
#ifndef STOKE_IMPORT_PERF_LINE_H
#define STOKE_IMPORT_PERF_LINE_H

#include "import/importer.h"

/* A frame's line; symbol may be empty. */
struct perf_frame_line {
    struct str pc, symbol, module;
    bool is_bare; /* without a module */
};

/* False where the line is no frame's. With `bare`, the module may be missing (perf script
 * -F ip,sym) and the pc must be as long as addresses are printed. */
bool perf_parse_frame(struct str line, struct perf_frame_line *f, bool bare);

/* The frame of that line, or with another symbol, one link of its chain "a->b->c". One
 * whose line says "(inlined)" is in no module: see perf_inlined_settle. */
frame_id perf_frame(struct builder *b, const struct import_options *options,
                    const struct perf_frame_line *line, struct str symbol, bool inlined);

static inline bool perf_is_inlined(const struct perf_frame_line *line)
{
    return str_equal(line->module, STR("inlined"));
}

/* Frames whose lines say "(inlined)" for a module, to the same in a module: the last ones
 * asked for. */
#define PERF_INLINED_KEPT 1024

struct perf_inlined {
    bool any; /* cleared while no such frame was met: then there is nothing to do */
    struct perf_inlined_kept {
        frame_id from, to;
        module_id module;
    } kept[PERF_INLINED_KEPT];
};

/* What is inlined is in the module that it was inlined into: gives the frames of the
 * builder's path from `from` up to `to` (leaf first) that were made of such lines the
 * module of the next frame outwards that is not; those without one in the path that of
 * the leaf frame of `callers`. */
void perf_inlined_settle(struct perf_inlined *in, struct builder *b, size_t from,
                         size_t to, stack_id callers);

/* A line between the frames that tells where the last one is: "file.c:12" or, without
 * line data, "libc.so[27249]". Those of the branch stack are passed over like them. */
bool perf_is_annotation(struct str line);

/* The place such a line tells, "file.c:12": false where it tells none. */
bool perf_parse_place(struct str line, struct str *file, uint32_t *number);

/* A header line's beginning. */
struct perf_head {
    struct str comm, id, rest;
    bool sure; /* a cpu or a time follows the id: no frame line looks like that */
};

/* Finds where the comm ends: at the first number that a cpu or a time follows, or else at
 * the first number of all. False where there is none. */
bool perf_find_head(struct str line, struct perf_head *h);

/* The thread of a comm and an id, "12" or "12/34". */
thread_id perf_thread(struct builder *b, struct str comm, struct str id);

/* What the weights of the event are, which are its periods or, without one, counts. */
enum unit perf_event_unit(struct str name, bool has_period);

/* Whether a symbol is none: stackcollapse-perf.pl passes over what begins with a bracket,
 * which is a process's name; C++'s anonymous namespace is not. */
bool perf_symbol_is_process(struct str symbol);

/* Takes what stands between the id and the event off `rest` into the sample: cpu, flags,
 * time. The period is 0 where there is none. */
struct str perf_parse_fields(struct sample *s, struct str rest, uint64_t *period);

#endif
