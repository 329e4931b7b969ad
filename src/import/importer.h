/* SPDX-License-Identifier: Apache-2.0 */
/* Importers read the bytes of another tool's file and make a profile. One file per
 * format.
 *
 * To add a format:
 *   1. src/import/NAME.c with one `const struct importer import_NAME`
 *   2. its line in importers.def (a more specific format before a more general one)
 *   3. its line in src/import/meson.build
 *   4. tests/import/NAME/CASE.in with CASE.want: what `stoke fold` prints for it
 * --format, --help, the manual, the fuzzer and the allocation test read the list.
 *
 * An importer is pure: it reads a source and fills a builder. The input is hostile: an
 * importer bounds every length and depth, never recurses, reads everything that is
 * readable, counts what it skips with builder_warn, and fails only if nothing can be
 * read. It need not check each builder call: a failed builder ignores further calls,
 * and import_read checks it at the end. */
#ifndef STOKE_IMPORT_IMPORTER_H
#define STOKE_IMPORT_IMPORTER_H

#include "base/lines.h"
#include "base/source.h"
#include "import/source_map.h"
#include "model/builder.h"
#include "model/resolver.h"

/* What a format's files consist of. */
enum import_shape { SHAPE_TEXT, SHAPE_JSON, SHAPE_XML, SHAPE_BINARY };

struct perf_session;
struct code;

enum ghc_column { GHC_TIME, GHC_TICKS, GHC_BYTES };

/* What a user can request of an importer. All zero is the default of `stoke fold`. */
struct import_options {
    /* the offsets of frames without a symbol do not depend on the boot, also in the kernel;
     * the offset of a caller is that of the call */
    bool stable_offsets;
    bool addresses; /* keep addresses of frames without symbol; with `every_address`, of
                       all frames */
    bool every_address;
    bool sizes;  /* of frames with a symbol: its size, in frame.offset */
    bool header; /* recordings: facts.header */
    bool
        branches; /* recordings: each branch is a sample. Its stack is the source, then the
                      target; labels have the rest */
    bool tracepoints;    /* recordings: a tracepoint without a stack has its function; in
                            lines of perf script it has none */
    bool lines;          /* read source files and lines, if the input has them */
    bool offsets;        /* keep "+0x1f" in names (DTrace's --includeoffset) */
    bool signatures;     /* keep argument lists in names, see model/name.h */
    bool samples;        /* every sample has weight 1, whatever its period or value */
    bool all_threads;    /* thread dumps: also idle and waiting threads */
    bool thread_numbers; /* thread dumps of Java: names of threads with their numbers */
    bool bare_names;     /* VTune: names without the module before them */
    bool wakers;         /* perf sched: a wait's stack continues with the waker's */
    bool wake_chains;    /* ... and with that of the waker's waker, and so on */
    bool cuts;     /* mark truncated stacks: TRUNCATED_MARK is their outermost frame */
    bool in_order; /* folded: do not sort the lines, and fail if a caller ends and occurs
                      again later. The whole input is read first */
    bool empty;    /* recordings: accept one without samples, for its other data */
    enum ghc_column ghc;
    const struct str *skip_after; /* perf: frames called by one of these are dropped */
    size_t skip_after_count;
    struct source_maps *source_maps; /* for JavaScript files; NULL: none */
    const struct resolver
        *resolver;    /* unwinds and resolves addresses; NULL: neither is done */
    uint64_t written; /* when the input was written, ns since the epoch; 0: unknown */
    struct perf_session
        *session;      /* shared by the recordings of one command; NULL: read alone */
    struct code *code; /* .stoke: also read the code of functions into it (model/code.h);
                          NULL: skip it */
    struct str head;   /* of a part that is read separately: the start of the whole input;
                        else empty */
};

struct importer {
    const char *name;     /* --format NAME, lower case */
    const char *suffixes; /* "folded,collapsed", or "" */
    const char *summary;  /* for --help: "perf script text, perf 3 to 6" */

    /* How likely the file that begins with `head` (up to 64 KiB) has this format: 0
     * no, 100 a signature that only this format has. A text that merely parses scores
     * below 50. For JSON, the function is also called with the outline
     * (json_outline.h) as `head`: all keys, wherever they are in the file. */
    int (*probe)(struct str head);

    enum import_shape shape; /* for messages that list possible formats */

    /* The message for an input without samples, if the input certainly has this
     * format. NULL: "no stacks found". */
    const char *empty;

    /* The files record which format their profile was originally read from: the
     * importer sets the format in the facts. */
    bool sets_format;

    /* The weights count every event, such as every allocation: few of them are as exact as
     * many. False: they are of samples. */
    bool counts_all;

    /* Source files and lines come from the resolver, which reads binaries of this
     * machine, not from the input. */
    bool resolves_lines;

    /* Reads all of the source. False, with err set, if nothing can be read. */
    bool (*read)(struct source *in, const struct import_options *options,
                 struct builder *b, struct error *err);

    /* Whether an input that begins with `head` needs random access. The caller must
     * then first save a stream, such as a pipe. NULL: never. */
    bool (*needs_seek)(struct str head);

    /* The offset of the first record that begins in `bytes` at or after `from`;
     * bytes.len if it is unknown. An importer started there, with the start of the
     * whole input in options.head, reads the same as one that reads the whole input,
     * from there on. NULL: the format cannot be split for parallel reading. */
    size_t (*split)(struct str bytes, size_t from);
};

/* A function's name from a format that stoke also writes. Stoke writes "f (inlined)";
 * this becomes "f_[i]", FlameGraph's notation of the same. */
string_id import_label(struct builder *b, string_id name);

#define IMPORT_HEAD_SIZE ((size_t)64 << 10)

/* All importers, in the order of importers.def, terminated by NULL. */
extern const struct importer *const importers[];

/* The importer with that name; NULL if there is none. */
const struct importer *importer_named(struct str name);

/* Whether the weights are complete counts, so that few of them are exact: the format's are, or
 * each allocation of a heap is a row of its own. */
bool import_counts_all(const struct profile *p);

/* The importer with the highest score for a file that begins with `head`, and the
 * score. The suffix of `name` decides between equal scores. NULL if no importer
 * recognises it. Callers that have an input use detect.h. */
const struct importer *importer_probe(struct str head, struct str name, int *score_out);

/* Whether the file name has one of the format's suffixes. */
bool importer_has_suffix(const struct importer *im, struct str name);

/* Reads, and reports what the limits excluded. For a part of an input. */
bool import_part(const struct importer *im, struct source *in,
                 const struct import_options *options, struct builder *b,
                 struct error *err);

/* Reads, then does the checks that all formats share: memory, "no stacks found", the
 * format's name in the facts. */
bool import_read(const struct importer *im, struct source *in,
                 const struct import_options *options, struct builder *b,
                 struct error *err);

/* Does only these checks, for a builder whose parts were read separately. `before` is the
 * count of samples (facts.samples) in the builder before the first part was read. */
bool import_check(const struct importer *im, const struct import_options *options,
                  struct builder *b, uint64_t before, struct error *err);

#endif
