/* SPDX-License-Identifier: Apache-2.0 */
/* What libstoke_qemu.so writes: the instructions that a RISC-V guest of QEMU began, each
 * of them, in the order of each virtual CPU.
 *
 * QEMU runs a guest in translated blocks: straight runs of instructions that are entered
 * at the top. A block is described once (address and instruction bytes), and then every
 * execution of it is a word of 32 bits. A block that was left in the middle, by a trap,
 * says how far it came, so nothing is guessed.
 *
 * All numbers are little-endian. Everything is a multiple of 4 bytes long, and nothing is
 * aligned to more than that.
 *
 *     file   = header, chunk...
 *     chunk  = u32 type, u32 cpu, u32 size, u32 sequence, payload of `size` bytes
 *
 * The header:
 *
 *     offset  size
 *      0       8   "\211stokeQ\n"
 *      8       4   version, 2. Version 1 is the same without QEMU_RUN_SAVE and
 *                  QEMU_RUN_LOAD. A reader refuses all others.
 *     12       4   size of the header: the first chunk begins there. It may grow within a
 *                  version: fields are only added at its end.
 *     16       4   flags: QEMU_TRACE_SYSTEM, QEMU_TRACE_32
 *     20       4   selector of the trigger, 0 to 3
 *     24       8   start of the trigger, as it was told: a number of an instruction, an
 *                  address, or mask << 32 | value
 *     32       8   end of the trigger; all ones: never
 *     40       4   process id of the guest (user mode), else 0
 *     44       4   process id of that which it was forked from, else 0
 *
 * Chunks are whole: those of several CPUs alternate, never a part of one within another.
 * `sequence` counts them from 0. `cpu` is QEMU's index of the virtual CPU (in user mode:
 * of the thread), or 0 where the chunk belongs to none. A type that a reader does not
 * know is passed over and counted.
 *
 * QEMU_CHUNK_MAPS: files that are mapped into a user-mode guest, from lowest id to
 * highest, each of
 *
 *     u32 id, counted from 1        u32 size of the path
 *     u64 start, u64 end: addresses in the guest
 *     u64 offset in the file of `start`
 *     the path, filled up with zeros to a multiple of 4
 *
 * QEMU_CHUNK_BLOCKS: descriptions, from lowest id to highest, each of
 *
 *     u32 id, counted from 1     u32 id of the map that the code is from, 0: none known
 *     u64 address of the first instruction, all 64 bits of it (sign-extended)
 *     u32 size in bytes          u32 number of instructions, 1 to 32767
 *     the bytes, filled up with zeros to a multiple of 4
 *
 * The instructions follow one another. The two low bits of each tell its size: 4 bytes
 * where both are set, else 2. An id stands for the same address, bytes and map for ever;
 * the same address may have several ids (another process, a rewritten page, a block cut
 * otherwise). A description comes before the first execution.
 *
 * QEMU_CHUNK_THREAD: from here on, the runs of this cpu are of the thread
 *
 *     u32 thread id of the host (user mode), else 0
 *     u32 size of the name          the name, filled up with zeros to a multiple of 4
 *
 * where the same id again tells a new name, and another id a new thread: its count of
 * instructions begins at 0. It comes before the first runs of a cpu.
 *
 * QEMU_CHUNK_RUNS: words of 32 bits, which go on where the last such chunk of this cpu
 * ended, as if the two were one:
 *
 *     0                          nothing
 *     id (the top bit clear)     the block ran, from its first instruction to its last
 *     QEMU_RUN_PART | f<<15 | n  the next word is the id of a block of which only n
 *                                instructions (at least 1) ran, from number f on (from 0)
 *     QEMU_RUN_AGAIN | n         the execution before, whole block or part, n times more
 *     QEMU_RUN_GAP               two words follow, the low half of a number first: so many
 *                                instructions of this cpu are not in the trace here (the
 *                                trigger was off)
 *     QEMU_RUN_SAVE              three words follow: an address, the low half first, and a
 *     QEMU_RUN_LOAD              number: the next execution stores, or loads, the context
 *                                of a stack at that address
 *
 * A stack that is switched away from leaves its context in memory, and the switch back
 * loads it from there. The context is known by one word of it: where the stack pointer is
 * stored (sd sp, or c.sdsp sp, to any base), or, for stacks that keep all registers on
 * themselves, where ra is stored at the stack pointer together with so many registers that
 * it is no function's prologue (qemu/block.h). The words stand before that of the block
 * that they are about, those of one block in the order in which they happened. The number
 * counts them over all CPUs in the order in which they happened, modulo 2^32.
 *
 * An instruction is told *before* it runs. So an ecall is there, and so is a load that
 * faults, and it is there once more when it is tried again. It is one that was begun.
 * A block ends with its last instruction, but a trap may be taken after any block (an
 * interrupt), and after each part that is short of its block's end (an exception of the
 * part's last instruction), unless a gap or the end of the trace follows.
 *
 * The time is the number of the instruction among those of its cpu, counted from 0, those
 * in gaps included: one instruction a cycle. Between CPUs it tells nothing.
 *
 * QEMU_CHUNK_END: the trace ended as it should; nothing follows.
 *
 *     u32 flags: QEMU_END_KILLED    u32 0
 *     u64 number of the instructions in all runs of the file; 0 after a kill
 *
 * A file without it was cut: its writer was killed, or the disk was full. It is good up
 * to the last whole word of its last chunk, which may hold less than its size says. A
 * file that is read while it grows is the same. A file of only a header, or without runs,
 * is a trace whose trigger never fired.
 *
 * Trigger (each cpu has its own, as each core of TracerV has):
 *
 *     0   every instruction
 *     1   instruction number c, where start <= c - 1 <= end
 *     2   from after the instruction at address `start`, up to and with that at `end`
 *     3   the same, where ((start ^ instruction) & (start >> 32)) is 0 in 32 bits. One of
 *         2 bytes is filled up with zeros.
 *
 * which are TracerV's, with its register that is a cycle late. A traced window may begin
 * again after it ended. An address of 40 bits, as TracerV shows it, means its
 * sign-extended form too. */
/* Two bytes far behind the end of the file are locked (fcntl, F_SETLK) while it is written:
 * one by the process that writes it, and one by QEMU. Where only the first is locked, the
 * guest is gone and the rest of its trace is still being written. */
#ifndef STOKE_BASE_QEMU_FORMAT_H
#define STOKE_BASE_QEMU_FORMAT_H

#include <stdint.h>

#define QEMU_TRACE_MAGIC "\211stokeQ\n" /* 8 bytes, without the zero at the end */

enum {
    QEMU_TRACE_VERSION = 2,
    QEMU_TRACE_VERSION_OLDEST = 1,
    QEMU_TRACE_HEADER_SIZE = 48, /* as this version writes it */
    QEMU_TRACE_CHUNK_SIZE = 16,  /* what stands before a payload */

    QEMU_TRACE_SYSTEM = 1, /* a whole machine; else one user program */
    QEMU_TRACE_32 = 2,     /* a guest of 32 bits; else of 64 */

    QEMU_TRACE_MAP_SIZE = 32,   /* before the path */
    QEMU_TRACE_BLOCK_SIZE = 24, /* before the bytes */
    QEMU_TRACE_THREAD_SIZE = 8, /* before the name */
    QEMU_TRACE_END_SIZE = 16,

    QEMU_END_KILLED = 1, /* the guest was killed: what it did last may be missing */
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
