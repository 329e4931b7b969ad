/* SPDX-License-Identifier: Apache-2.0 */
/* What a frame and a thread are called where they are shown. */
#ifndef STOKE_MODEL_LABEL_H
#define STOKE_MODEL_LABEL_H

#include "base/output.h"
#include "model/profile.h"

/* The suffixes are those of FlameGraph: _[k] kernel, _[i] inlined, _[j] JIT, _[w] waker.
 */
struct label_style {
    bool addresses; /* an unknown frame is [libc.so <7f00>], not [libc.so] */
    bool kernel, jit;
    bool lines; /* f:main.c:12, where file and line are known: without folders, as perf */
    bool module; /* then a zero byte and the module's name: what two modules name alike
                    is told apart */
    bool folded; /* as it can stand in a folded line: ';' is ':', a line end a space */
    bool plain;  /* no suffix at all, and those that are part of a name are cut off */
};

enum thread_style {
    THREAD_COMM, /* "java" */
    THREAD_PID,  /* "java-12" */
    THREAD_TID,  /* "java-12/13" */
    THREAD_NONE, /* threads are not told apart */
};

/* Writes the frame's name: its own, or [module] where it is unknown, or [unknown]. The
 * output keeps what is written (OUTPUT_KEEP). */
void label_frame(struct output *o, const struct profile *p, frame_id frame,
                 const struct label_style *style);

/* Writes the thread's name; nothing for thread 0. Spaces become '_', as every reader of
 * folded stacks expects, as do the bytes that a folded line cannot hold. An unknown
 * process is "?". */
void label_thread(struct output *o, const struct profile *p, thread_id thread,
                  enum thread_style style);

/* "user", "kernel", "guest", "jit", "inlined", "idle", "marker", "waker". */
const char *kind_name(enum frame_kind kind);

/* The kind of that name; FRAME_USER for any other. */
enum frame_kind kind_named(struct str name);

/* The kind that a name's suffix tells (FRAME_KERNEL for "x_[k]"), FRAME_USER for none. */
enum frame_kind label_suffix_kind(struct str name);

/* The name without such a suffix. */
struct str label_without_suffix(struct str name);

#endif
