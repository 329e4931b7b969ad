/* SPDX-License-Identifier: Apache-2.0 */
/* A mapped file and what is known about it: the file on this machine, its symbols, its
 * debug information, its unwind table. Each part is loaded on demand.
 *
 * Threads: object_unwind_table may be called by several threads at once, also while
 * another one loads names. object_load_names loads everything else; it may run in one
 * thread per object at a time, and its results are read-only afterwards. */
#ifndef STOKE_RESOLVE_OBJECT_H
#define STOKE_RESOLVE_OBJECT_H

#include "os/thread_pool.h"
#include "resolve/find.h"
#include "resolve/name_cache.h"
#include "resolve/split.h"
#include "symbol/demangle.h"
#include "symbol/dwarf_elf.h"
#include "symbol/go_lines.h"
#include "symbol/jitdump.h"
#include "symbol/symbol_table.h"
#include "unwind/functions.h"
#include "unwind/source.h"
#include "unwind/unwind.h"

struct resolve_settings {
    struct find_settings find;
    const char *kallsyms; /* a file to use instead, or NULL */
    const char *vmlinux;
    const char *cache_dir; /* for unwind tables and names; NULL: no cache */
    bool no_inline, no_lines;
    enum demangle demangle;
    unsigned threads; /* 0: one per core */
    /* Few addresses of many files are unwound, by one thread: object_unwind_table_at */
    bool few_addresses;
};

/* The form of addresses in requests. */
enum addressing {
    BY_OFFSET,  /* offsets in the file */
    BY_ADDRESS, /* run-time addresses, which are `moved` above those in the tables */
};

struct object {
    struct object_request request; /* the object owns its texts */
    struct arena arena;
    struct os_lock lock; /* protects what is found and opened: the arena, the files */
    bool searched, named;
    bool cache_opened; /* the name cache was opened: */
    struct name_cache names;
    enum find_result result;
    struct found file, debug, alternate;
    struct find_beside beside;     /* set once the file was found */
    struct os_mapping text;        /* kallsyms, a perf map */
    struct str other;              /* another file at the path of the file */
    struct str refused;            /* why a jitdump or perf map was not read; or empty */
    struct str missing_alternate;  /* the dwz file that was not found; or empty */
    struct elf_unpacked *unpacked; /* which other objects share, or `alone` */
    struct elf_unpacked alone;
    bool was_truncated; /* a file that is closed now was truncated while it was read */
    enum addressing addressing;
    uint64_t moved;
    struct symbol_table symbols;
    bool has_symbols, has_dwarf, has_go, is_hidden;
    bool is_stripped; /* found, but without a complete symbol table */
    bool has_build_id;
    struct dwarf dwarf;
    struct go_table go; /* for what DWARF does not cover */
    struct split_files split;
    struct os_lock table_lock; /* protects building the table; taken before `lock` */
    struct arena table_arena;
    struct unwind_table table;
    /* for a large file of which few addresses are needed */
    struct unwind_functions functions;
    bool by_function;
    bool functions_sought;     /* by object_function_at */
    uint64_t go_start, go_end; /* addresses of Go's code; set with the table */
    int table_state; /* atomic: 0 not built yet, 1 there is none, 2 there is one */

    bool is_dump; /* a jitdump: */
    struct jitdump jit;
    int jit_state; /* atomic, like table_state */
    struct object *
        /* of FRAME_JIT: the jitdump of its process, once one was mapped: atomic */
        *process_dump;
};

/* NULL when out of memory. */
struct object *object_create(const struct object_request *request);
void object_destroy(struct object *o);

/* The unwind table, or NULL if there is none. */
const struct unwind_table *object_unwind_table(struct object *o,
                                               const struct resolve_settings *s);

/* The jitdump of the process of a FRAME_JIT object, or NULL. Thread-safe like
 * object_unwind_table. */
const struct jitdump *object_jitdump(struct object *o, const struct resolve_settings *s);

/* An unwind table for the code at an offset, for users that need few addresses of many
 * files: for a large file, only that of the function. NULL if there is none. Must be
 * called by one thread only, and not at the same time as object_unwind_table. */
const struct unwind_table *object_unwind_table_at(struct object *o,
                                                  const struct resolve_settings *s,
                                                  uint64_t offset);

/* Returns true if the code uses frame pointers; false if unknown. Same conditions as
 * object_unwind_table_at. */
bool object_uses_frame_pointers(struct object *o, const struct resolve_settings *s);

/* Returns true if the code at an offset in the file was compiled by Go, which always
 * uses frame pointers. Same conditions as object_unwind_table_at. */
bool object_is_go_code(struct object *o, const struct resolve_settings *s,
                       uint64_t offset);

/* Finds the file and opens its name cache; same conditions as object_load_names, and
 * may be called before it. */
void object_open_cache(struct object *o, const struct resolve_settings *s);

/* Returns true if names may be cached: no file that could improve them was missing. */
bool object_is_complete(const struct object *o);

/* Writes the resolved names to the cache, if they may be cached. */
void object_write_cache(struct object *o);

/* Whether a file of the object was truncated by another process while it was read. */
bool object_was_truncated(const struct object *o);

/* Writes why the object's names are incomplete; returns false and writes nothing if no
 * limit and no lack of memory is the reason. */
#define INCOMPLETE_MAX 512
bool object_incomplete(const struct object *o, char why[INCOMPLETE_MAX]);

/* Closes the executable and debug files of an object that is not queried any more. */
void object_close_files(struct object *o);

/* Loads symbols and debug information. */
void object_load_names(struct object *o, const struct resolve_settings *s);

/* Loads the symbols that decide about some addresses of requests, which it converts to those
 * of the tables and sorts; no debug information. Memory stays small however large the file
 * is. The addresses must live as long as the object. Instead of object_load_names. False if
 * there are no symbols. */
bool object_load_symbols_at(struct object *o, const struct resolve_settings *s,
                            uint64_t *addresses, size_t count);

/* The function [*start, *end) at an address of the tables, by the list of functions for
 * unwinding, which stripped files have too. After object_load_symbols_at. */
bool object_function_at(struct object *o, uint64_t address, uint64_t *start,
                        uint64_t *end);

/* Converts an address from a request to one of the tables; false if it is not in the
 * file. */
bool object_address(const struct object *o, uint64_t asked, uint64_t *address);

#endif
