/* SPDX-License-Identifier: Apache-2.0 */
/* The trace format that libstoke_qemu.so writes: every instruction that a RISC-V guest
 * of QEMU started, in the order of each virtual CPU.
 *
 * QEMU runs a guest in translated blocks: straight runs of instructions that are
 * entered at the top. A block is described once (address and instruction bytes); after
 * that, each execution of it is one word of 32 bits. If a trap leaves a block in the
 * middle, the trace states how many instructions ran, so a reader does not guess.
 *
 * All numbers are little-endian. The size of everything is a multiple of 4 bytes, and
 * nothing is aligned to more than that.
 *
 *   file   = header, chunk...
 *   chunk  = u32 type, u32 cpu, u32 size, u32 sequence, payload of `size` bytes
 *
 * The header:
 *
 *   offset  size
 *      0      8   "\211stokeQ\n"
 *      8      4   version, 2. Version 1 is the same without QEMU_RUN_SAVE and
 *                 QEMU_RUN_LOAD. A reader rejects all others.
 *     12      4   size of the header: the first chunk begins there. It may grow within a
 *                 version: fields are only added at its end.
 *     16      4   flags: QEMU_TRACE_SYSTEM, QEMU_TRACE_32
 *     20      4   selector of the trigger, 0 to 3
 *     24      8   start of the trigger, as configured: an instruction number, an
 *                 address, or mask << 32 | value
 *     32      8   end of the trigger; all ones: never
 *     40      4   process id of the guest (user mode), else 0
 *     44      4   process id of the guest's parent if the guest was forked, else 0
 *
 * Chunks are never interleaved: chunks of several CPUs alternate, but no chunk is
 * inside another. `sequence` counts them from 0. `cpu` is QEMU's index of the virtual
 * CPU (in user mode: of the thread), or 0 if the chunk belongs to none. A reader skips
 * and counts chunks of an unknown type.
 *
 * QEMU_CHUNK_MAPS: files that are mapped into a user-mode guest, in ascending order of
 * id, each:
 *
 *   u32 id, counted from 1        u32 size of the path
 *   u64 start, u64 end: addresses in the guest
 *   u64 offset in the file of `start`
 *   the path, padded with zeros to a multiple of 4
 *
 * QEMU_CHUNK_BLOCKS: descriptions of blocks, in ascending order of id, each:
 *
 *   u32 id, counted from 1        u32 id of the map that contains the code, 0: unknown
 *   u64 address of the first instruction, all 64 bits of it (sign-extended)
 *   u32 size in bytes             u32 number of instructions, 1 to 32767
 *   the bytes, padded with zeros to a multiple of 4
 *
 * The instructions are contiguous. The two low bits of each give its size: 4 bytes if
 * both are set, else 2. An id always means the same address, bytes and map; one address
 * may have several ids (another process, a rewritten page, different block boundaries).
 * A description comes before the first execution.
 *
 * QEMU_CHUNK_THREAD: from here on, the runs of this cpu belong to this thread:
 *
 *   u32 thread id of the host (user mode), else 0
 *   u32 size of the name          the name, padded with zeros to a multiple of 4
 *
 * The same id again means a new name; another id means a new thread, whose instruction
 * count begins at 0. The chunk comes before the first runs of a cpu.
 *
 * QEMU_CHUNK_RUNS: words of 32 bits, which continue the previous such chunk of this cpu
 * as if the two were one:
 *
 *   0                            padding
 *   id (the top bit clear)       the block ran, from its first instruction to its last
 *   QEMU_RUN_PART | f<<15 | n    the next word is the id of a block of which only n
 *                                instructions (at least 1) ran, from number f on (from 0)
 *   QEMU_RUN_AGAIN | n           the previous execution, block or part, n times more
 *   QEMU_RUN_GAP                 two words follow, the low half of a number first: that
 *                                many instructions of this cpu are not in the trace
 *                                here (the trigger was off)
 *   QEMU_RUN_SAVE                three words follow: an address, the low half first, and a
 *   QEMU_RUN_LOAD                number: the next execution stores, or loads, the context
 *                                of a stack at that address
 *
 * A switch away from a stack stores its context in memory, and the switch back loads it
 * from there. One word identifies the context: where the stack pointer is stored (sd
 * sp, or c.sdsp sp, to any base). Stacks that save all registers on themselves are
 * identified by where ra is stored at the stack pointer, if so many registers are
 * stored with it that it cannot be the prologue of a function (qemu/block.h). The words
 * come before the word of their block; those of one block are in the order in which
 * they happened. The number counts them over all CPUs in the order in which they
 * happened, modulo 2^32.
 *
 * An instruction is recorded *before* it runs. So an ecall is recorded, and a load that
 * faults is recorded once per attempt. A block ends with its last instruction. A trap
 * may occur after any block (an interrupt), and after each part that does not reach the
 * end of its block (an exception of the part's last instruction), unless a gap or the
 * end of the trace follows.
 *
 * The time of an instruction is its number among those of its cpu, counted from 0 and
 * including those in gaps: one instruction per cycle. Times of different CPUs are not
 * comparable.
 *
 * QEMU_CHUNK_END: the trace ended normally; nothing follows.
 *
 *   u32 flags: QEMU_END_KILLED    u32 0
 *   u64 number of the instructions in all runs of the file; 0 after a kill
 *
 * A file without this chunk is truncated: its writer was killed, or the disk was full.
 * It is valid up to the last whole word of its last chunk, which may be shorter than
 * its size field. The same holds for a file that is read while it grows. A file with
 * only a header, or without runs, is a trace whose trigger never fired.
 *
 * Trigger (each cpu has its own, as each core of TracerV has):
 *
 *   0   every instruction
 *   1   instruction number c, where start <= c - 1 <= end
 *   2   from after the instruction at address `start`, up to and with that at `end`
 *   3   the same, where ((start ^ instruction) & (start >> 32)) is 0 in 32 bits. An
 *       instruction of 2 bytes is padded with zeros.
 *
 * These are the triggers of TracerV, including its register that is one cycle late. A
 * traced window can begin again after it ended. An address of 40 bits, as TracerV shows
 * it, also means its sign-extended form. */
/* While the file is written, two bytes far beyond its end are locked (fcntl, F_SETLK):
 * one by the process that writes it, one by QEMU. If only the first is locked, the
 * guest has exited and the rest of its trace is still being written. */
#ifndef STOKE_BASE_QEMU_FORMAT_H
#define STOKE_BASE_QEMU_FORMAT_H

#include <stdint.h>

#define QEMU_TRACE_MAGIC "\211stokeQ\n" /* 8 bytes, without the terminating zero */

enum {
    QEMU_TRACE_VERSION = 2,
    QEMU_TRACE_VERSION_OLDEST = 1,
    QEMU_TRACE_HEADER_SIZE = 48, /* as this version writes it */
    QEMU_TRACE_CHUNK_SIZE = 16,  /* before a payload */

    QEMU_TRACE_SYSTEM = 1, /* a whole machine; else one user-mode process */
    QEMU_TRACE_32 = 2,     /* a guest of 32 bits; else of 64 */

    QEMU_TRACE_MAP_SIZE = 32,   /* before the path */
    QEMU_TRACE_BLOCK_SIZE = 24, /* before the bytes */
    QEMU_TRACE_THREAD_SIZE = 8, /* before the name */
    QEMU_TRACE_END_SIZE = 16,

    QEMU_END_KILLED = 1, /* the guest was killed: its last instructions may be missing */
};

#define QEMU_LOCK_WRITER (INT64_C(1) << 61)
#define QEMU_LOCK_GUEST (QEMU_LOCK_WRITER + 1)

enum qemu_chunk {
    QEMU_CHUNK_MAPS = 1,
    QEMU_CHUNK_BLOCKS = 2,
    QEMU_CHUNK_THREAD = 3,
    QEMU_CHUNK_RUNS = 4,
    QEMU_CHUNK_END = 5,
};

/* The kinds of a word of runs, by its top bits. */
#define QEMU_RUN_PART UINT32_C(0x80000000)  /* 10: 15 bits first, 15 bits count */
#define QEMU_RUN_AGAIN UINT32_C(0xc0000000) /* 110: 29 bits count */
#define QEMU_RUN_GAP UINT32_C(0xe0000000)   /* 111: the rest is 0, */
#define QEMU_RUN_SAVE UINT32_C(0xe0000001)  /* 1, */
#define QEMU_RUN_LOAD UINT32_C(0xe0000002)  /* or 2 */
#define QEMU_RUN_PART_BITS 15
#define QEMU_RUN_AGAIN_MAX UINT32_C(0x1fffffff)

#endif
