/* SPDX-License-Identifier: Apache-2.0 */
/* A mapped file and all that is known of it: what it is on this machine, its symbols, its
 * debug information, its unwind table. Each part is made when it is first asked for.
 *
 * Threads: object_unwind_table may be asked by several at once, also while another makes
 * the names. object_names makes the rest, for one thread at a time and object; after it,
 * what it made is only read. */
#ifndef STOKE_RESOLVE_OBJECT_H
#define STOKE_RESOLVE_OBJECT_H

#include "os/parallel.h"
#include "resolve/find.h"
#include "resolve/name_cache.h"
#include "resolve/split.h"
#include "symbol/demangle.h"
#include "symbol/dwarf_elf.h"
#include "symbol/go_lines.h"
#include "symbol/jitdump.h"
#include "symbol/table.h"
#include "unwind/functions.h"
#include "unwind/source.h"
#include "unwind/unwind.h"

struct resolve_settings {
    struct find_settings find;
    const char *kallsyms; /* a file to be read instead, or NULL */
    const char *vmlinux;
    const char *cache_dir; /* of unwind tables and names; NULL: none are kept */
    bool no_inline, no_lines;
    enum demangle demangle;
    unsigned threads; /* 0: as many as there are cores */
};

/* How the addresses that are asked for are told. */
enum addressing {
    BY_OFFSET,  /* offsets in the file */
    BY_ADDRESS, /* as the processor saw them, `moved` further up than in the table */
};

struct object {
    struct object_wanted wanted; /* its texts are the object's */
    struct arena arena;
    struct os_lock lock; /* of what is found and opened: the arena, the files */
    bool searched, named;
    bool knows; /* the names were opened: */
    struct name_cache names;
    enum find_result result;
    struct found file, debug, alternate;
    struct find_beside beside; /* once the file was found */
    struct os_mapping text;    /* kallsyms, a perf map */
    struct str other;          /* what lies where the file should */
    struct str refused;        /* why a jitdump or perf map was not read; or empty */
    struct str no_alternate;   /* the file of dwz that was nowhere; or empty */
    enum addressing addressing;
    uint64_t moved;
    struct symbol_table symbols;
    bool has_symbols, has_dwarf, has_go, is_hidden;
    bool is_stripped; /* found, without the table of all its symbols */
    bool has_build_id;
    struct dwarf dwarf;
    struct go_table go; /* for what DWARF does not know */
    struct split_files split;
    struct os_lock table_lock; /* of making it; taken before the other */
    struct arena table_arena;
    struct unwind_table table;
    struct unwind_functions functions; /* of a large file that is met here and there */
    bool by_function;
    uint64_t go_start, go_end; /* addresses of Go's code; with the table */
    int table_state; /* atomic: 0 not made yet, 1 there is none, 2 there is one */

    bool is_dump; /* a jitdump: */
    struct jitdump jit;
    int jit_state; /* atomic, as table_state */
    struct object *
        *own_dump; /* of FRAME_JIT: its process's, once one was mapped: atomic */
};

/* NULL when memory is short. */
struct object *object_create(const struct object_wanted *wanted);
void object_destroy(struct object *o);

/* The unwind table, or NULL where there is none. */
const struct unwind_table *object_unwind_table(struct object *o,
                                               const struct resolve_settings *s);

/* What the process of a FRAME_JIT object wrote about its code, or NULL where it wrote no
 * jitdump. May be asked as object_unwind_table may. */
const struct jitdump *object_jitdump(struct object *o, const struct resolve_settings *s);

/* A table that knows of the code at an offset, for who meets few places of many files:
 * of a large file, that of the function alone. NULL where there is none. For one thread,
 * and not beside the above. */
const struct unwind_table *object_unwind_table_at(struct object *o,
                                                  const struct resolve_settings *s,
                                                  uint64_t offset);

/* Whether its code keeps frame pointers; false where it cannot be told. Like
 * object_unwind_table_at in all else. */
bool object_keeps_frames(struct object *o, const struct resolve_settings *s);

/* Whether the code at an offset in the file was made by Go, and so keeps frame pointers.
 * Like object_unwind_table_at in all else. */
bool object_is_go_code(struct object *o, const struct resolve_settings *s,
                       uint64_t offset);

/* Finds the file and opens what is kept of its names; may be called before object_names,
 * as that may. */
void object_known_names(struct object *o, const struct resolve_settings *s);

/* Whether names that were found may be kept: nothing that could have told more of them
 * was missing. */
bool object_is_complete(const struct object *o);

/* Keeps the names that were found on disk, where they may be. */
void object_keep_names(struct object *o);

/* Of an object that is asked no more: gives its program and debug files back. */
void object_close_files(struct object *o);

/* Makes what names are found with. */
void object_names(struct object *o, const struct resolve_settings *s);

/* From an address as it is asked for to one of the tables; false where it is not in the
 * file. */
bool object_address(const struct object *o, uint64_t asked, uint64_t *address);

#endif
