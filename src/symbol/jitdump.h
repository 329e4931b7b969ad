/* SPDX-License-Identifier: Apache-2.0 */
/* Reads jit-PID.dump: code that a process generated at run time, with address, name,
 * bytes, source lines, and the time when it was written (Linux,
 * tools/perf/Documentation/jitdump-specification.txt, version 1). */
#ifndef STOKE_SYMBOL_JITDUMP_H
#define STOKE_SYMBOL_JITDUMP_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/error.h"
#include "symbol/ranges.h"

/* A piece of code, valid from `time` on. */
struct jit_code {
    uint64_t address, size, time;
    uint64_t index; /* its number in the file; it does not change when the code moves */
    struct str name;
    struct str bytes;            /* the machine code; empty after a move */
    struct str frames;           /* .eh_frame followed by .eh_frame_hdr, or empty */
    uint64_t frames_header_size; /* size of the header in `frames` */
    /* distance from the address for which the lines were written */
    uint64_t moved;
    uint32_t line_first, line_count;
    uint32_t pid, tid;
    bool is_layered; /* shares an address with another code */
};

struct jit_line {
    uint64_t address;
    struct str file;
    uint32_t line;
};

struct jitdump {
    uint32_t machine, pid; /* ELF machine number */
    uint64_t time;         /* creation time of the file */
    /* times are the CPU's timestamp counter (TSC), not nanoseconds */
    bool arch_timestamp;
    struct jit_code *codes; /* sorted by time */
    size_t code_count, code_cap;
    struct jit_line *lines;
    size_t line_count, line_cap;
    uint64_t bad_records; /* skipped */
    bool cut;             /* the file ends inside a record */

    /* Lookup structures: see jitdump.c. */
    struct ranges newest;
    uint32_t *layered; /* codes that share an address with another, sorted by time */
    size_t layered_count;
    struct ranges *levels[32];
    unsigned level_count;
    struct arena *arena; /* owned by the caller */
};

/* Reads all complete records. `file` must outlive j. False if it is not a jitdump file,
 * or of another version, or when out of memory. */
bool jitdump_init(struct jitdump *j, struct str file, struct arena *arena,
                  struct error *err);

/* The code at an address at a time: the last one written before that time, or NULL.
 * UINT64_MAX: the end of the file. Thread-safe. */
const struct jit_code *jitdump_find(const struct jitdump *j, uint64_t address,
                                    uint64_t time);

/* The source line of an address in a piece of code, or NULL. */
const struct jit_line *jitdump_line(const struct jitdump *j, const struct jit_code *code,
                                    uint64_t address);

#endif
