/* SPDX-License-Identifier: Apache-2.0 */
/* The names inside a sysprof capture: a table of symbols that sysprof adds at the end, and the
 * functions of JITs.
 *
 * Source: libsysprof-capture's sysprof-capture-types.h, and what sysprof writes as the file
 * "__symbols__": rows {u64 begin, u64 end (included), u32 pid, u32 name, u32 tag, u32 padding},
 * by pid and address, a row of zeros, and the names, whose positions are from the start. */
#ifndef STOKE_IMPORT_SYSPROF_H
#define STOKE_IMPORT_SYSPROF_H

#include "base/idmap.h"
#include "base/output.h"

/* A frame of the capture: its header, which is already read, and its bytes. */
struct sysprof_frame {
    unsigned type;
    int32_t cpu, pid;
    uint64_t time;
    uint64_t offset;  /* in the capture */
    struct str bytes; /* with the header */
};

enum sysprof_type {
    SYSPROF_SAMPLE = 2,
    SYSPROF_MAP = 3,
    SYSPROF_PROCESS = 4,
    SYSPROF_FORK = 5,
    SYSPROF_EXIT = 6,
    SYSPROF_JITMAP = 7,
    SYSPROF_FILE_CHUNK = 13,
    SYSPROF_ALLOCATION = 14,
};

#define SYSPROF_FILE_HEADER 256
#define SYSPROF_FRAME_HEADER 24

/* Addresses from here on are functions of a JIT. */
#define SYSPROF_JIT ((uint64_t)0xE000000000000000)

struct sysprof_names {
    struct arena arena;
    bool big_endian;
    struct output chunks; /* the file "__symbols__" */
    struct str table;     /* the same, complete */
    size_t rows;
    struct idmap jit; /* address -> position of the name in `names`, + 1 */
    struct str *names;
    size_t name_count, name_cap;
};

/* Reads the next frame of the capture; false at the end. *damaged: the frame is truncated, or
 * is not one. */
bool sysprof_next(struct str *rest, bool big_endian, struct sysprof_frame *f,
                  bool *damaged);

/* Collects the names of all frames. False if out of memory. */
bool sysprof_names_read(struct sysprof_names *n, struct str frames, bool big_endian);
void sysprof_names_deinit(struct sysprof_names *n);

/* The name of an address, and a number that is the same for all addresses of the function in
 * this process and of no other one. Empty if there is none. `tag` is the name of the module, or empty. */
struct str sysprof_name(const struct sysprof_names *n, int32_t pid, uint64_t address,
                        struct str *tag, uint64_t *number);

#endif
