/* SPDX-License-Identifier: Apache-2.0 */
/* Importers: bytes of another tool's file in, a profile out. One file per format.
 *
 * To add a format:
 *   1. src/import/NAME.c with one `const struct importer import_NAME`
 *   2. its line in importers.def (a more particular format before a more general one)
 *   3. its line in src/import/meson.build
 *   4. tests/import/NAME/CASE.in with CASE.want: what `stoke fold` prints for it
 * --format, --help, the manual, the fuzzer and the allocation sweep find it in the list.
 *
 * An importer is pure: it reads a source and fills a builder. The input is hostile: it
 * bounds every length and depth, never recurses, keeps what is readable, counts what it
 * leaves out with builder_warn, and fails only where nothing can be read. It need not
 * check each builder call: failure sticks there, and import_read looks at it. */
#ifndef STOKE_IMPORT_IMPORTER_H
#define STOKE_IMPORT_IMPORTER_H

#include "base/lines.h"
#include "base/source.h"
#include "import/source_map.h"
#include "model/builder.h"
#include "model/resolver.h"

/* What a format's files look like, whatever is in them. */
enum import_shape { SHAPE_TEXT, SHAPE_JSON, SHAPE_XML, SHAPE_BINARY };

struct perf_session;

enum ghc_column { GHC_TIME, GHC_TICKS, GHC_BYTES };

/* What a user may want of an importer. All zero is what folding wants. */
struct import_options {
    bool addresses; /* keep addresses of unknown frames; with `every_address` of all */
    bool every_address;
    bool lines;       /* keep source files and lines where the input tells them */
    bool offsets;     /* keep "+0x1f" in names (DTrace's --includeoffset) */
    bool signatures;  /* keep argument lists in names, see model/name.h */
    bool samples;     /* weigh each sample 1, whatever period or value it carries */
    bool all_threads; /* thread dumps: idle and waiting threads too */
    bool cuts; /* mark stacks that were cut short: CUT_MARK is their outermost frame */
    bool in_order; /* folded: an error where a caller is left and comes again later, and
                      the lines are not sorted. The input is read as a whole */
    bool empty;    /* recordings: one without samples, too, for what else it tells */
    enum ghc_column ghc;
    const struct str *skip_after; /* perf: frames called by one of these are dropped */
    size_t skip_after_count;
    struct source_maps *source_maps; /* of JavaScript's files; NULL: none */
    const struct resolver *resolver; /* who unwinds and names addresses; NULL: nobody */
    uint64_t written; /* when the input was written, ns since the epoch; 0: not known */
    struct perf_session *session; /* of the recordings of one call; NULL: read alone */
    struct str
        head; /* of a part read by itself: how the whole input begins; else empty */
};

struct importer {
    const char *name;     /* --format NAME, lower case */
    const char *suffixes; /* "folded,collapsed", or "" */
    const char *summary;  /* for --help: "perf script text, perf 3 to 6" */

    /* How sure it is that the file beginning with `head` (up to 64 KiB) is its own: 0 no,
     * 100 a signature only this format has; a text that merely parses scores below 50.
     * Of a JSON text it is also given the outline (json_outline.h) as `head`: all its
     * keys, from wherever they lie in the file. */
    int (*probe)(struct str head);

    enum import_shape shape; /* for messages that list what a file may be */

    /* What is said of an input without samples, where the format cannot be another; NULL:
     * that no stacks were found in it. */
    const char *empty;

    /* The files say themselves what their profile was read from first: the format among
     * the facts is then the reader's care. */
    bool keeps_format;

    /* Source files and lines come from the resolver, which reads binaries of this
     * machine; not from the input. */
    bool resolves_lines;

    /* Reads all of the source. False, with err set, where nothing could be read. */
    bool (*read)(struct source *in, const struct import_options *options,
                 struct builder *b, struct error *err);

    /* Whether the input beginning with `head` is read back and forth, so that one that
     * only comes by, such as a pipe, is kept first by who has it. NULL: never. */
    bool (*jumps)(struct str head);

    /* Where a new record begins in `bytes`, at or after `from`; bytes.len where it cannot
     * be told. A reader started there, with the whole's beginning in options.head, reads
     * what a reader of the whole reads from there on. NULL: the format cannot be split
     * over the cores. */
    size_t (*split)(struct str bytes, size_t from);
};

#define IMPORT_HEAD_SIZE ((size_t)64 << 10)

/* All importers, in the order of importers.def, and a NULL behind them. */
extern const struct importer *const importers[];

/* The importer of that name; NULL where there is none. */
const struct importer *importer_named(struct str name);

/* The importer surest of the file whose beginning is `head` and whose name (for its
 * suffix, which only decides between equals) is `name`, and its score; NULL where none
 * knows it. Callers that have an input use detect.h. */
const struct importer *importer_probe(struct str head, struct str name, int *score_out);

/* Whether the file's name ends as the format's do. */
bool importer_has_suffix(const struct importer *im, struct str name);

/* Reads, and reports what the limits left out: what a reader of a part calls. */
bool import_part(const struct importer *im, struct source *in,
                 const struct import_options *options, struct builder *b,
                 struct error *err);

/* Runs the importer: read, then the checks every format shares: memory, "no stacks found"
 * when nothing at all was read, the format's name among the facts. */
bool import_read(const struct importer *im, struct source *in,
                 const struct import_options *options, struct builder *b,
                 struct error *err);

/* Those checks alone, for a builder whose parts were read apart: `before` is the count of
 * samples (facts.samples) that it held at first. */
bool import_check(const struct importer *im, const struct import_options *options,
                  struct builder *b, uint64_t before, struct error *err);

#endif
