/* SPDX-License-Identifier: Apache-2.0 */
/* Names of frames and threads, as they are shown. */
#ifndef STOKE_MODEL_FRAME_LABEL_H
#define STOKE_MODEL_FRAME_LABEL_H

#include "base/output.h"
#include "model/profile.h"

/* FlameGraph's suffixes: _[k] kernel, _[i] inlined, _[j] JIT, _[w] waker. */
struct label_style {
    bool addresses; /* an unknown frame is [libc.so <7f00>], not [libc.so] */
    bool kernel, jit;
    bool
        lines; /* f:main.c:12, if file and line are known; without the directory. The file is
                    not repeated if the name contains it: main.py:f:12, "f (main.py):12" */
    bool module; /* followed by a zero byte and the module's name */
    bool folded; /* valid in a folded line: ':' for ';', a space for a line end */
    bool words;  /* the kind as a word, "f (inlined)", instead of FlameGraph's suffix */
    bool plain;  /* without suffix; a suffix that is part of the name is removed */
};

enum thread_style {
    THREAD_COMM, /* "java" */
    THREAD_PID,  /* "java-12" */
    THREAD_TID,  /* "java-12/13" */
    THREAD_NONE, /* threads are not separate */
};

/* Writes the name of the frame; [module] or [unknown] if it has none. `o` must be a
 * buffer (OUTPUT_BUFFER). */
void label_frame(struct output *o, const struct profile *p, frame_id frame,
                 const struct label_style *style);

/* Writes the name of the thread; nothing for thread 0. Spaces and bytes that a folded
 * line cannot hold become '_' or similar, as readers of folded stacks expect. An unknown
 * process is "?". */
void label_thread(struct output *o, const struct profile *p, thread_id thread,
                  enum thread_style style);

/* "user", "kernel", "guest", "jit", "inlined", "idle", "marker", "waker". */
const char *kind_name(enum frame_kind kind);

/* The kind of that name; FRAME_USER for any other. */
enum frame_kind kind_named(struct str name);

/* The kind of the suffix of a name (FRAME_KERNEL for "x_[k]"), or FRAME_USER. */
enum frame_kind label_suffix_kind(struct str name);

/* Writes the name with FlameGraph's suffix in place of the word that label_style.words
 * adds: "f_[i]" for "f (inlined)". False, with nothing written, if it has no such word.
 */
bool label_word_to_suffix(struct output *o, struct str name);

/* The name without such a suffix. */
struct str label_without_suffix(struct str name);

#endif
