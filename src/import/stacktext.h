/* SPDX-License-Identifier: Apache-2.0 */
/* Text that contains stacks: frame lines, leaf first, and a line that ends the stack.
 *
 * Backtraces, thread dumps and the aggregations of tracers all have this form. The
 * line that ends a stack has its count, is empty, or is the next stack's header. An
 * importer of such text embeds a struct stacktext as the first member of its reader,
 * and gives stacktext_read one function, which parses a line and calls the functions
 * below.
 *
 * Known frame lines need not be parsed again: call stacktext_add_known first. */
#ifndef STOKE_IMPORT_STACKTEXT_H
#define STOKE_IMPORT_STACKTEXT_H

#include "base/memo.h"
#include "base/output.h"
#include "import/importer.h"

struct stacktext {
    struct builder *b; /* its path has the frames of the current stack */
    const struct import_options *options;
    struct lines lines;
    struct arena arena;
    struct memo frames; /* known frame lines */
    size_t memo_pairs;  /* its size; 0: enough for thread dumps */
    struct output text; /* buffer for names */
    event_id event;     /* 0: "samples" */
    /* For the next stack that ends: */
    double weight; /* 1; 0 if a later line contains it */
    int64_t pid, tid;
    string_id thread; /* the thread's name, or 0 */
    bool drop;        /* drop it: its thread is idle */
    uint64_t dropped; /* number of dropped stacks */

    void (*finish)(struct stacktext *t); /* called at the end of the input, or NULL */
};

/* A parsed frame line. */
struct text_frame {
    struct str name;   /* without its offset; empty if unknown */
    struct str offset; /* "+0x1f" or empty; used if the options request offsets */
    struct str module; /* or empty */
    struct str file;   /* or empty; used if the options request lines */
    uint64_t line;
    uint64_t address;
    enum frame_kind kind;
    bool verbatim; /* the name is used unchanged, including brackets */
};

#define TEXT_FRAME        \
    ((struct text_frame){ \
        .name = STR(""), .offset = STR(""), .module = STR(""), .file = STR("")})

/* Reads all of the source and calls `line` for each line, without its line end. `t`
 * must be zero except for the fields that the importer sets. A stack that is open at
 * the end is ended, or counted as truncated if its weight is unknown. */
bool stacktext_read(struct stacktext *t, struct source *in,
                    const struct import_options *options, struct builder *b,
                    void (*line)(struct stacktext *t, struct str line),
                    struct error *err);

/* The same for an input that does not consist of lines: the caller reads it between these two and
 * always calls the second one, which ends the open stack if `ok`. */
bool stacktext_open(struct stacktext *t, const struct import_options *options,
                    struct builder *b, struct error *err);
void stacktext_close(struct stacktext *t, bool ok);

/* Adds the frame of a known line to the current stack; false if the line is unknown. */
bool stacktext_add_known(struct stacktext *t, struct str line);

/* Adds a frame to the current stack, and caches it for the line. */
void stacktext_add(struct stacktext *t, struct str line, const struct text_frame *frame);

/* Only the frame: its row in the builder's table. Removes the argument list from the
 * name unless the frame is verbatim or the options keep it. */
frame_id stacktext_frame(struct stacktext *t, const struct text_frame *frame);

/* Sets the source location of the frame added last, for formats that have it in a
 * separate line. Does nothing unless the options request lines. */
void stacktext_location(struct stacktext *t, struct str file, uint64_t line);

/* The input says that callers of the current stack are missing: counts the stack as
 * truncated, and marks it if the options request that. */
void stacktext_cut(struct stacktext *t);

/* Ends the current stack, if any, and begins one of the thread with that name and
 * unknown tid. */
void stacktext_thread(struct stacktext *t, struct str name);

/* Ends the current stack, if any. */
void stacktext_end(struct stacktext *t);

/* Ends the current stack, which may be empty, with the weight from a line. */
void stacktext_end_counted(struct stacktext *t, struct str count);

/* Adds a sample of that stack, with the current thread and weight. */
void stacktext_add_stack(struct stacktext *t, stack_id stack);

/* A count: digits, optionally with a sign and surrounding white space. */
bool stacktext_is_count(struct str line);

/* Sets t->weight to the count. False, with a warning, if it is not usable. */
bool stacktext_set_count(struct stacktext *t, struct str count);

/* Counts a line that cannot be used. */
void stacktext_warn(struct stacktext *t, const char *what, struct str line);

/* --- Parsing of parts of lines --------------------------------------------------- */

/* Removes a hexadecimal number, with or without 0x, that ends at white space or at the
 * end, from *rest, with the white space after it. False, with *rest unchanged, if
 * there is none. */
bool stacktext_take_hex(struct str *rest, uint64_t *value);

/* The frame of a function of the kernel: "vfs_read+0x1f/0x20", "ext4_readdir+0x8/0x10 [ext4]"; newer
 * kernels write a build ID behind the name of a module. */
struct text_frame stacktext_kernel_frame(struct str text);

/* Splits "file:12" or "file:12:3" at its numbers; the line is 0 if there is none. */
struct str stacktext_split_location(struct str location, uint64_t *line);

/* Removes the next line from *rest for a probe, without white space at its end. False
 * at the end of the head, where the last line may be incomplete. */
bool stacktext_probe_line(struct str *rest, struct str *line);

/* The split function for importers of text in which a line with a count ends a stack:
 * splits after a count that follows a line that is certainly a frame. */
size_t stacktext_split(struct str bytes, size_t from, bool (*is_frame)(struct str text));

#endif
