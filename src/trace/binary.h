/* SPDX-License-Identifier: Apache-2.0 */
/* The binaries whose instructions are in a trace: what is at an address, and what it is
 * called.
 *
 * Binaries are made once, by who found and opened the files, and only read afterwards, so
 * that the traces of several cores may share them. */
#ifndef STOKE_TRACE_BINARY_H
#define STOKE_TRACE_BINARY_H

#include "model/profile.h"
#include "symbol/dwarf.h"
#include "symbol/elf.h"
#include "symbol/landing.h"
#include "symbol/table.h"

/* Executable bytes at the addresses of their file. */
struct trace_segment {
    uint64_t start, end;
    struct str bytes; /* empty where only the names are known */
};

struct trace_binary {
    /* Set by the caller; all outlives the binary. */
    struct str name;                    /* what it is called: br-base-bin-dwarf */
    struct elf *elf;                    /* NULL: the names of a kernel are all there is */
    const struct symbol_table *symbols; /* or NULL */
    const struct dwarf *dwarf;          /* or NULL */
    bool is_user; /* a program that runs above another one's kernel */

    /* Set by trace_binary_init. */
    enum frame_kind kind;
    bool moves;     /* it may lie elsewhere than at the addresses of its file */
    uint64_t entry; /* UINT64_MAX: not known */
    struct trace_segment *segments; /* by address */
    size_t segment_count;
    struct landing_table landing;
    uint32_t *owners; /* by symbol: the function that it is a part of (f of f.cold) */
};

/* Works out the rest; memory is the arena's. False when memory is short. */
bool trace_binary_init(struct trace_binary *b, struct arena *arena, struct error *err);

/* The segment that has an address of the file, or NULL. */
const struct trace_segment *trace_segment_at(const struct trace_binary *b,
                                             uint64_t address);

/* The instruction at an address of a segment, filled up with zeros at its end. False
 * where there are no bytes. */
bool trace_segment_bits(const struct trace_segment *s, uint64_t address, uint32_t *bits);

#endif
