/* SPDX-License-Identifier: Apache-2.0 */
/* What a walk over the frames of an interpreter needs and finds, when the kernel does it at a
 * sample (os/interpreter_stacks.h): the reader of the runtime (interpreter/interpreter.h)
 * makes the layout, and names the frames afterwards. */
#ifndef STOKE_BASE_INTERPRETER_WALK_H
#define STOKE_BASE_INTERPRETER_WALK_H

#include <stdint.h>

#define INTERPRETER_WALK_ABSENT UINT32_MAX /* a field that the version does not have */
#define INTERPRETER_WALK_FRAME_BYTES 128   /* a frame up to its last field, at most */

/* Where the structures of a runtime have their fields: offsets in bytes. */
struct interpreter_walk {
    uint64_t runtime; /* its address */
    uint32_t runtime_interpreters, interpreter_next, interpreter_threads;
    uint32_t thread_next, thread_frame, thread_pointer;
    uint32_t thread_tid;   /* its id in its namespace; or ABSENT */
    uint32_t cframe_frame; /* or ABSENT */
    uint32_t frame_size;   /* bytes that contain all fields of a frame */
    uint32_t frame_code, frame_previous, frame_instruction;
    uint32_t frame_owner, frame_is_entry; /* or ABSENT */
    uint32_t owner_native;                /* the lowest owner of frames of native code */
    uint32_t code_start; /* the instructions; ABSENT: frames have an index instead */
    uint32_t code_lines, code_first_line; /* identify the code object: see `check` */
};

/* Bits of the address of a code object, which is a multiple of 8. */
#define INTERPRETER_WALK_ENTRY ((uint64_t)1) /* called by native code */
#define INTERPRETER_WALK_MARK ((uint64_t)2)  /* no function: only the mark of an entry */
#define INTERPRETER_WALK_BITS ((uint64_t)7)

/* `instruction` of code of which there are several copies. */
#define INTERPRETER_WALK_NOWHERE INT32_MAX

struct interpreter_walk_frame {
    uint64_t code;       /* its address, and bits */
    int32_t instruction; /* offset in the code, or the index of the instruction */
    uint32_t
        check; /* interpreter_walk_check: another code object may have the address later */
};

/* Distinguishes the code objects that an address has had: by the address of their line table
 * and their first line. */
static inline uint32_t interpreter_walk_check(uint64_t lines, uint32_t first_line)
{
    return (uint32_t)(lines >> 3) ^ first_line * 0x9e3779b1u;
}

#endif
