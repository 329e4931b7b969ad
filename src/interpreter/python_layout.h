/* SPDX-License-Identifier: Apache-2.0 */
/* Where CPython's structures have their fields. Versions up to 3.12 have tables here; the
 * runtime of later ones begins with a description of itself (_Py_DebugOffsets). Fields of code
 * objects up to 3.12 are checked against the type's own list (PyCode_Type.tp_members).
 *
 * Sources: CPython's Include/internal/pycore_{runtime,interp,frame,debug_offsets}.h and
 * Include/cpython/{code,pystate,unicodeobject}.h of each version. */
#ifndef STOKE_INTERPRETER_PYTHON_LAYOUT_H
#define STOKE_INTERPRETER_PYTHON_LAYOUT_H

#include "interpreter/memory.h"

#define PYTHON_MINOR_MIN 8
#define PYTHON_MINOR_MAX 14

/* A field that the version does not have. */
#define PYTHON_ABSENT UINT32_MAX

/* Highest plausible offset in a structure, and in a code object, which is read as a whole. */
#define PYTHON_OFFSET_MAX ((uint64_t)1 << 20)
#define PYTHON_CODE_MAX 1024

struct python_layout {
    uint32_t minor;
    bool free_threaded;

    uint32_t runtime_interpreters; /* the first one */
    uint32_t runtime_holder;       /* the thread that holds the GIL; up to 3.11 */
    uint32_t interpreter_next, interpreter_threads;
    uint32_t interpreter_gil;           /* pointer to the GIL; from 3.12 */
    uint32_t thread_next, thread_frame; /* the innermost frame, or the cframe */
    uint32_t cframe_frame;              /* in a cframe: the innermost frame */
    uint32_t thread_pointer;            /* pthread_self() */
    uint32_t thread_tid;                /* from 3.11 */

    uint32_t frame_code, frame_previous;
    uint32_t frame_instruction; /* up to 3.10: an index (i32); then a pointer */
    uint32_t frame_owner;       /* from 3.12 */
    uint32_t frame_is_entry;    /* 3.11 */
    uint32_t frame_copy;        /* free-threaded 3.14: which copy of the code runs */

    uint32_t code_first_line, code_file, code_name;
    uint32_t code_qualified; /* from 3.11 */
    uint32_t code_lines;     /* line table, a bytes object */
    uint32_t code_start;     /* the instructions; from 3.11 */
    uint32_t code_copies;    /* free-threaded 3.14: array of copies of the instructions */

    uint32_t object_type;
    uint32_t bytes_size, bytes_data;
    uint32_t string_length, string_state;
    uint32_t string_ascii, string_compact; /* characters of ASCII and other strings */
};

/* Fields of the GIL, from 3.12. */
#define PYTHON_GIL_HOLDER 8
#define PYTHON_GIL_LOCKED 16

/* The owner of frames of this and higher values is native code (from 3.12). */
#define PYTHON_OWNER_NATIVE 3

/* The layout for 3.8 to 3.12, x86-64; false for other versions. */
bool python_layout_table(uint32_t minor, struct python_layout *layout);

/* Reads the description at the beginning of the runtime of 3.13 or 3.14. */
bool python_layout_debug_offsets(struct memory *m, uint64_t runtime, uint32_t minor,
                                 struct python_layout *layout, struct error *err);

/* Replaces fields of code objects by those in the type's own list; returns the number of
 * fields that it confirms or corrects. Up to 3.12. */
size_t python_layout_members(struct memory *m, uint64_t code_type,
                             struct python_layout *layout);

#endif
