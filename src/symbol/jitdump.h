/* SPDX-License-Identifier: Apache-2.0 */
/* Code that a program made while it ran, as it writes it to jit-PID.dump: each piece with
 * its address, name, bytes, source lines, and the time from when on it was there (Linux,
 * tools/perf/Documentation/jitdump-specification.txt, version 1). */
#ifndef STOKE_SYMBOL_JITDUMP_H
#define STOKE_SYMBOL_JITDUMP_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/error.h"
#include "symbol/ranges.h"

/* A piece of code, from `time` on. */
struct jit_code {
    uint64_t address, size, time;
    uint64_t index; /* its number in the file, kept when it moves */
    struct str name;
    struct str bytes;            /* the machine code; empty after a move */
    struct str frames;           /* .eh_frame_hdr behind .eh_frame, or empty */
    uint64_t frames_header_size; /* how much of `frames` is the header */
    uint64_t moved;              /* address minus that for which the lines were written */
    uint32_t line_first, line_count;
    uint32_t pid, tid;
    bool is_layered; /* it shares an address with another */
};

struct jit_line {
    uint64_t address;
    struct str file;
    uint32_t line;
};

struct jitdump {
    uint32_t machine, pid;  /* ELF's number of the machine */
    uint64_t time;          /* when the file was begun */
    bool arch_timestamp;    /* times are the machine's counter (TSC), not nanoseconds */
    struct jit_code *codes; /* in the order of time */
    size_t code_count, code_cap;
    struct jit_line *lines;
    size_t line_count, line_cap;
    uint64_t bad_records; /* left out */
    bool cut;             /* the file ends within a record */

    /* To look up: see jitdump.c. */
    struct ranges newest;
    uint32_t
        *layered; /* codes that share an address with another, in the order of time */
    size_t layered_count;
    struct ranges *levels[32];
    unsigned level_count;
    struct arena *arena; /* the caller's */
};

/* Reads all whole records. `file` outlives j. False where it is no jitdump file, or of
 * another version, and when memory is short. */
bool jitdump_init(struct jitdump *j, struct str file, struct arena *arena,
                  struct error *err);

/* The code that was at an address at a time: the one that came last before it, or NULL.
 * UINT64_MAX: at the end. Any number of threads may ask. */
const struct jit_code *jitdump_find(const struct jitdump *j, uint64_t address,
                                    uint64_t time);

/* The source line of an address in a piece of code, or NULL. */
const struct jit_line *jitdump_line(const struct jitdump *j, const struct jit_code *code,
                                    uint64_t address);

#endif
