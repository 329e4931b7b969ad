/* SPDX-License-Identifier: Apache-2.0 */
/* The binaries whose instructions are in a trace: the code at an address, and its
 * name.
 *
 * The caller that finds and opens the files makes the binaries once. They are
 * read-only afterwards, so the traces of several cores can share them. */
#ifndef STOKE_TRACE_BINARY_H
#define STOKE_TRACE_BINARY_H

#include "model/profile.h"
#include "symbol/dwarf.h"
#include "symbol/elf.h"
#include "symbol/landing.h"
#include "symbol/symbol_table.h"

/* Executable bytes at the addresses in their file. */
struct trace_segment {
    uint64_t start, end;
    struct str bytes; /* empty if only symbols are known */
};

struct trace_binary {
    /* Set by the caller; all outlives the binary. */
    struct str name;                    /* its name in output: br-base-bin-dwarf */
    struct elf *elf;                    /* NULL: only symbols are known (of a kernel) */
    const struct symbol_table *symbols; /* or NULL */
    const struct dwarf *dwarf;          /* or NULL */
    bool is_user; /* a program that runs on the kernel of another binary */

    /* Set by trace_binary_init. */
    enum frame_kind kind;
    bool moves;     /* it can be loaded at other addresses than those in its file */
    uint64_t entry; /* UINT64_MAX: unknown */
    struct trace_segment *segments; /* by address */
    size_t segment_count;
    struct landing_table landing;
    uint32_t *owners; /* by symbol: the function that contains it (f for f.cold) */
};

/* Computes the rest; memory is the arena's. False if out of memory. */
bool trace_binary_init(struct trace_binary *b, struct arena *arena, struct error *err);

/* The segment that contains an address of the file, or NULL. */
const struct trace_segment *trace_segment_at(const struct trace_binary *b,
                                             uint64_t address);

/* The instruction at an address of a segment, padded with zeros at the end of the
 * segment. False if there are no bytes. */
bool trace_segment_bits(const struct trace_segment *s, uint64_t address, uint32_t *bits);

#endif
