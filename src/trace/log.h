/* SPDX-License-Identifier: Apache-2.0 */
/* Instruction logs: text that a simulator, or the test bench of a core, writes for
 * each executed instruction. A line has an address, usually the instruction word, and
 * sometimes a core and a cycle. Other lines may be between them.
 *
 * To add a log: a parser in src/trace/log_lines.c and a `struct trace_format` in
 * src/trace/read_log.c; see reader.h for the rest. */
#ifndef STOKE_TRACE_LOG_H
#define STOKE_TRACE_LOG_H

#include "base/str.h"
#include <stdint.h>

enum log_kind {
    LOG_OTHER,       /* not a line of this log */
    LOG_NOTE,        /* a line of this log without an executed instruction */
    LOG_INSTRUCTION, /* an executed instruction */
    LOG_DISASSEMBLY, /* the same, and the next line may repeat it */
    LOG_REPEAT,      /* the instruction before was executed `times` times in total */
};

struct log_line {
    uint64_t pc, cycle, times;
    int64_t core;    /* or ID_NONE: as in the line before */
    uint32_t bits;   /* of the instruction; 0: not in the log */
    struct str rest; /* text after the word: written registers and accessed memory */
    bool has_cycle;
    bool is_32;   /* the address has as many digits as on a 32-bit machine */
    bool is_open; /* the line ends with the word, whose last digits may be missing */
};

/* Parses a line without its end. Sets all members for lines with an instruction, `core`
 * and `times` for LOG_REPEAT. */
typedef enum log_kind (*log_parser)(struct str line, struct log_line *out);

/* The address of the memory that an instruction accessed, from the rest of its line:
 * Spike and CVA6 write "mem 0x80001000", Ibex and CV32E40P "PA:80001000", QEMU's
 * execlog "load, 0x80001000". False if there is none. */
bool log_parse_memory(struct str rest, uint64_t *address);

/* Spike with -l, with --log-commits, or both; BOOM; Rocket's commit log; CVA6's rvfi:
 *     core   0: 3 0x0000000080000000 (0x00000297) x5  0x0000000080000000
 *     core   0: 0x0000000080000000 (0x00000297) auipc   t0, 0x0
 *     3 0x0080000000 (0x00000297) x 5 0x0000000080000000 */
enum log_kind log_parse_spike(struct str line, struct log_line *out);

/* Columns of time, cycle, address and instruction word, separated by tabs, spaces or
 * bars: the tracers of Ibex, CV32E40P, RI5CY, CVA6, and NEORV32's.
 *     1520  73  00000080  0000007f  jal x0, 104
 *     120ns 11 M 0000000080000000 0 00000297 auipc ...
 *     52168 256630 0x24f6 0xc00026f3 U csrrs ... */
enum log_kind log_parse_columns(struct str line, struct log_line *out);

/* Rocket and Chipyard with +verbose:
 *     C0:      16413 [1] pc=[00800007b0] W[r10=1b][1] ... inst=[00013503] DASM(00013503) */
enum log_kind log_parse_rocket(struct str line, struct log_line *out);

/* QEMU's execlog plugin:
 *     0, 0x80000000, 0x297, "auipc t0,0" */
enum log_kind log_parse_execlog(struct str line, struct log_line *out);

#endif
