/* SPDX-License-Identifier: Apache-2.0 */
/* Parsers for the two kinds of lines of perf script text: a sample's header,
 *   comm  pid/tid [cpu] time: period event: rest
 * and a frame,
 *           pc symbol+0xoffset (module)
 * Fields may be missing, as perf 3 to 6 print them. */
#ifndef STOKE_IMPORT_PERF_LINE_H
#define STOKE_IMPORT_PERF_LINE_H

#include "import/importer.h"

/* A frame line; symbol may be empty. */
struct perf_frame_line {
    struct str pc, symbol, module;
    bool is_bare; /* without a module */
};

/* False if the line is not a frame. With `bare`, the module may be missing (perf
 * script -F ip,sym), and the pc must have the width of printed addresses. */
bool perf_parse_frame(struct str line, struct perf_frame_line *f, bool bare);

/* The same for the frame at the end of a header, where only the columns of its address show that it
 * is one, if the module is missing. `text` has its spaces. */
bool perf_parse_frame_in_header(struct str text, struct perf_frame_line *f);

/* The frame of that line; with another symbol, one link of its chain "a->b->c". A
 * frame whose line says "(inlined)" has no module yet: see perf_inlined_settle. */
frame_id perf_frame(struct builder *b, const struct import_options *options,
                    const struct perf_frame_line *line, struct str symbol, bool inlined);

static inline bool perf_is_inlined(const struct perf_frame_line *line)
{
    return str_equal(line->module, STR("inlined"));
}

/* Maps frames whose lines say "(inlined)" instead of a module to the same frames with
 * a module: the most recent ones. */
#define PERF_INLINED_CACHED 1024

struct perf_inlined {
    bool any; /* set by the first such frame; before that there is nothing to do */
    struct perf_inlined_entry {
        frame_id from, to;
        module_id module;
    } cached[PERF_INLINED_CACHED];
};

/* Gives inlined frames the module that contains them. In the builder's path from
 * `from` to `to`
 * (leaf first), each frame marked "(inlined)" gets the module of the next outer frame
 * that is not. If the path has none, it gets the module of the leaf frame of `callers`.
 */
void perf_inlined_settle(struct perf_inlined *in, struct builder *b, size_t from,
                         size_t to, stack_id callers);

/* A line between the frames with the source location of the last one: "file.c:12", or
 * "libc.so[27249]" without line information. Such lines of the branch stack are also
 * skipped. */
bool perf_is_annotation(struct str line);

/* The location in such a line, "file.c:12"; false if there is none. */
bool perf_parse_location(struct str line, struct str *file, uint32_t *number);

/* The beginning of a header line. */
struct perf_head {
    struct str comm, id, rest;
    struct str
        frame; /* of a whole sample in one line (perf_find_flat_head), otherwise empty */
    bool sure; /* a CPU or a time follows the ID: no frame line has this form */
};

/* Finds the end of the comm: at the first number that a CPU or a time follows, otherwise at the
 * last number before the event that has as many columns as perf gives an ID. False if there is
 * none. */
bool perf_find_head(struct str line, struct perf_head *h);

/* The beginning of a header line without a comm or an ID, as perf script -F comm,ip,sym, -F
 * tid,ip,sym or -F event,ip,sym prints it: one of comm and ID, and some of CPU, time, period and
 * event; or nothing. It has no other characteristics: only a stack line after it shows that it is a
 * header. `line` has its spaces: numbers differ by their columns. False if it cannot be one. */
bool perf_find_loose_head(struct str line, struct perf_head *h);

/* Finds the parts of a whole sample in one line, as perf script prints recordings without stacks.
 * The columns of its address show it, because the line may have no time: a comm, an ID, a period and
 * an event may be before the address, or nothing. False if the line has another form. */
bool perf_find_flat_head(struct str line, struct perf_head *h);

/* Whether the line begins like a frame of a stack: with a tab, and an address at the right of 16
 * columns. */
bool perf_is_stack_line(struct str line);

/* The thread of a comm and an ID, "12" or "12/34"; a comm alone has an empty ID. */
thread_id perf_thread(struct builder *b, struct str comm, struct str id);

/* The unit of the event's weights, which are periods or, without a period, counts. */
enum unit perf_event_unit(struct str name, bool has_period);

/* Whether a symbol is not a function: stackcollapse-perf.pl ignores a name that begins
 * with a bracket, because it is a process name. C++'s anonymous namespace is a symbol. */
bool perf_symbol_is_process(struct str symbol);

/* Removes the fields between the ID and the event from `rest` and sets them in the
 * sample: CPU, flags, time. Sets the period to 0 if it is missing. */
struct str perf_parse_fields(struct sample *s, struct str rest, uint64_t *period);

#endif
