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
};

/* False where the line is no frame's. With `bare`, the module may be missing (perf script
 * -F ip,sym) and the pc must be as long as addresses are printed. */
bool perf_parse_frame(struct str line, struct perf_frame_line *f, bool bare);

/* The frame of that line, or with another symbol, one link of its chain "a->b->c". */
frame_id perf_frame(struct builder *b, const struct import_options *options,
                    const struct perf_frame_line *line, struct str symbol, bool inlined);

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
