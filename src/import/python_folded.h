/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks of samplers of Python: the first fields of a line can be the process and the
 * thread, and a frame has the line that runs. A function is one frame, however many of its lines
 * run; the lines are read if the options request them.
 *
 *   thread (0x7F12): MainThread;main (shop.py:11);add (shop.py:5) 12
 *   tid:4711;shop.py:main:11;shop.py:add:5 12 */
#ifndef STOKE_IMPORT_PYTHON_FOLDED_H
#define STOKE_IMPORT_PYTHON_FOLDED_H

#include "base/output.h"
#include "import/importer.h"

/* The parts of a frame's text. */
struct python_frame {
    struct str name; /* the text without the line */
    struct str file; /* or empty */
    uint64_t line;   /* 0: none */
};

/* "shop.py:add:5" or "shop.py:add:L5": the name is "shop.py:add". */
struct python_frame python_frame_colons(struct str text);

/* "add (shop.py:5)": the name is "add (shop.py)", written to `o`, a buffer. */
struct python_frame python_frame_brackets(struct str text, struct output *o);

struct python_thread {
    int64_t pid, tid; /* ID_NONE: unknown */
    struct str name;
};

/* A notation. */
struct python_folded {
    /* Removes a process or thread, and the ';' after it, from the start of a line; false if there
     * is none. The function is called until then. */
    bool (*take_thread)(struct str *rest, struct python_thread *thread);
    struct python_frame (*frame)(struct str text, struct output *o);
};

bool python_folded_read(const struct python_folded *form, struct source *in,
                        const struct import_options *options, struct builder *b,
                        struct error *err);

/* Whether the head consists of such stacks: of the lines, at least half begin with a thread, or
 * a quarter of the frames have lines of files of Python (others are native). */
bool python_folded_is(const struct python_folded *form, struct str head);

#endif
