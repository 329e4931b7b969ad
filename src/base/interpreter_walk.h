/* SPDX-License-Identifier: Apache-2.0 */
/* What a walk over the frames of an interpreter needs and finds, when the kernel does it at a
 * sample (os/interpreter_stacks.h): the reader of the runtime (interpreter/interpreter.h)
 * makes the layout, and names the frames afterwards. */
#ifndef STOKE_BASE_INTERPRETER_WALK_H
#define STOKE_BASE_INTERPRETER_WALK_H

#include <stdint.h>

#define INTERPRETER_WALK_ABSENT UINT32_MAX /* a field that the version does not have */
#define INTERPRETER_WALK_FRAME_BYTES 128   /* a frame up to its last field, at most */

/* How the frames of a thread are connected. */
enum interpreter_walk_form {
    /* Each frame has a pointer to its caller, or is an object (CPython). Lists end with a
     * null pointer. */
    INTERPRETER_WALK_LINKED,
    /* Frames are elements of an array, callers at higher addresses, up to the end of the
     * stack (Ruby). Lists are circular through nodes in their elements: that of an
     * interpreter at `interpreter_next`, that of a thread at its start. */
    INTERPRETER_WALK_ARRAY,
    /* Frames are those of the native stack, connected by the frame pointer; those of interpreted
     * and compiled functions have the function in them (V8). Objects are tagged pointers.
     * Threads need no structure of the runtime. */
    INTERPRETER_WALK_CHAIN,
    /* As LINKED, but of one thread, the first of its process: `runtime` is its structure (PHP).
     * An instruction contains its line. */
    INTERPRETER_WALK_SINGLE,
    /* Calls are elements of arrays of contexts, the innermost one last, and so are other blocks;
     * each array leads to that of its caller. Of one thread, the first of its process: `runtime`
     * is its structure (Perl). A context has the instruction that its caller executes. */
    INTERPRETER_WALK_CONTEXTS,
};

/* Where the structures of a runtime have their fields: offsets in bytes. ARRAY: `runtime` is the
 * address of a pointer to the runtime, and a cframe begins with the address of the stack and its
 * size in words. */
struct interpreter_walk {
    uint64_t runtime; /* its address */
    uint32_t form;    /* enum interpreter_walk_form */
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
    /* ARRAY: */
    uint32_t frame_stride;      /* from a frame to its caller */
    uint32_t frame_environment; /* pointer to the flags of the frame */
    uint32_t code_body;         /* in a code object: pointer to its other fields */
    uint32_t method_owner, method_name; /* identify a method */
    /* CHAIN: a frame is read from `frame_before` bytes below the address in the frame pointer;
     * `frame_code` is a function, `code_body` leads from it to its shared data, the code object.
     * Offsets in objects include the tag. */
    uint32_t frame_before;
    uint32_t frame_bytecode; /* the bytecode, if the frame is interpreted */
    uint32_t code_data;      /* in a code object: a number if it is a builtin */
    uint32_t map_type;       /* an object begins with its map, which has its type */
    uint32_t type_code, type_bytecode;
    /* SINGLE: a code object begins with its type, one byte. */
    uint32_t frame_flags, flag_entry; /* the flags, and that of an entry */
    uint32_t instruction_line;
    uint32_t type_native;
    /* CONTEXTS: a frame is a context; frame_instruction is that of its caller. A code object begins
     * with the address of its body, which has code_lines and code_first_line. */
    uint32_t thread_instruction; /* what the innermost function executes */
    uint32_t instruction_file;
};

/* An array of contexts: the address of the first one, the array of the caller, and the index of
 * the last context, or -1. */
#define INTERPRETER_WALK_CONTEXTS_FIRST 8
#define INTERPRETER_WALK_CONTEXTS_CALLER 16
#define INTERPRETER_WALK_CONTEXTS_LAST 32

/* A context begins with its type; if the function returns to native code, it has no instruction
 * to return to. */
#define INTERPRETER_WALK_CONTEXT_TYPE 0xf
#define INTERPRETER_WALK_CONTEXT_SORT 0 /* a loop of native code over a block */
#define INTERPRETER_WALK_CONTEXT_FUNCTION 9
#define INTERPRETER_WALK_CONTEXT_FORMAT 10
#define INTERPRETER_WALK_CONTEXT_EVAL 11
#define INTERPRETER_WALK_CONTEXT_TRY 0x40 /* EVAL: a block, not a text or a file */
#define INTERPRETER_WALK_CONTEXT_AGAIN \
    0x80 /* FUNCTION: code in a pattern of its caller */
#define INTERPRETER_WALK_CONTEXT_RETURN 48

/* What a context is: its type, and SORT also for code that continues the function of its caller;
 * -1: it is not a frame. */
static inline int interpreter_walk_context(uint8_t flags)
{
    int type = flags & INTERPRETER_WALK_CONTEXT_TYPE;
    if (type == INTERPRETER_WALK_CONTEXT_FUNCTION)
        return flags & INTERPRETER_WALK_CONTEXT_AGAIN ? INTERPRETER_WALK_CONTEXT_SORT
                                                      : type;
    if (type == INTERPRETER_WALK_CONTEXT_EVAL)
        return flags & INTERPRETER_WALK_CONTEXT_TRY ? -1 : type;
    return type == INTERPRETER_WALK_CONTEXT_SORT ||
                   type == INTERPRETER_WALK_CONTEXT_FORMAT
               ? type
               : -1;
}

/* CONTEXTS: `instruction` is a line and one of these bits if the code has no code object: then
 * `code` is what its instruction has as its file. */
#define INTERPRETER_WALK_MAIN ((uint32_t)1 << 30)
#define INTERPRETER_WALK_EVAL ((uint32_t)1 << 29)
#define INTERPRETER_WALK_LINES (INTERPRETER_WALK_EVAL - 1)

/* Flags of the frames of an array. */
#define INTERPRETER_WALK_FINISH ((uint64_t)0x20) /* an entry */
#define INTERPRETER_WALK_NATIVE ((uint64_t)0x80) /* a function of native code */
#define INTERPRETER_WALK_TYPE ((uint64_t)0x7fff0001)
#define INTERPRETER_WALK_TYPE_METHOD ((uint64_t)0x55550001) /* native: it has a method */
#define INTERPRETER_WALK_TYPE_NONE ((uint64_t)0x79990001) /* below the outermost frame */

#define INTERPRETER_WALK_TYPE_CODE ((uint64_t)0x11110001) /* a method of code */

/* From the flags of a frame back to its method, bytes; a frame with variables of its own (as
 * those of a match) has a pointer to an object instead, which has the method. */
#define INTERPRETER_WALK_METHOD 16
#define INTERPRETER_WALK_VARIABLES_METHOD 8

/* What these objects are: their first word. */
#define INTERPRETER_WALK_OBJECT ((uint64_t)0xf01f)
#define INTERPRETER_WALK_OBJECT_METHOD ((uint64_t)0x601a)
#define INTERPRETER_WALK_OBJECT_VARIABLES ((uint64_t)0x201a)

/* Highest index of an instruction in the code of an array's frame. */
#define INTERPRETER_WALK_INDEX_MAX ((uint64_t)1 << 26)

/* Bits of the address of a code object, which is a multiple of 8. */
#define INTERPRETER_WALK_ENTRY ((uint64_t)1)  /* called by native code */
#define INTERPRETER_WALK_MARK ((uint64_t)2)   /* no function: only the mark of an entry */
#define INTERPRETER_WALK_CALLEE ((uint64_t)4) /* a method of native code, not code */
#define INTERPRETER_WALK_BITS ((uint64_t)7)

/* CHAIN: all frames are entries. Instead of ENTRY: the code is compiled, and `instruction` has the
 * low bits of the address in it. CALLEE is a builtin. A frame takes two elements: `code` of
 * the second one is the address that the frame executes. */
#define INTERPRETER_WALK_COMPILED INTERPRETER_WALK_ENTRY
#define INTERPRETER_WALK_OBJECT_TAG ((uint64_t)1) /* of a pointer to an object */
#define INTERPRETER_WALK_PC_MASK ((uint64_t)0x7fffffff)

/* If native code has no frame pointer, this many bytes of the stack are searched for the frame
 * pointer of a function. */
#define INTERPRETER_WALK_SEARCH ((uint32_t)16384)

/* A caller's frame is at most this many bytes further up the stack. */
#define INTERPRETER_WALK_DISTANCE_MAX ((uint64_t)16 << 20)

static inline int interpreter_walk_is_caller(uint64_t frame, uint64_t caller)
{
    return caller > frame && caller - frame < INTERPRETER_WALK_DISTANCE_MAX &&
           caller % 8 == 0;
}

/* `instruction` of code of which there are several copies. */
#define INTERPRETER_WALK_NOWHERE INT32_MAX

struct interpreter_walk_frame {
    uint64_t code;       /* its address, or that of its method, and bits */
    int32_t instruction; /* offset in the code, or the index of the instruction; SINGLE
                            and CONTEXTS: its line */
    uint32_t
        check; /* interpreter_walk_check: another code object may have the address later */
};

/* Distinguishes the code objects that an address has had: by the address of their line table
 * and their first line. */
static inline uint32_t interpreter_walk_check(uint64_t lines, uint32_t first_line)
{
    return (uint32_t)(lines >> 3) ^ first_line * 0x9e3779b1u;
}

/* The index of the last instruction that began, from the address of the next one. */
static inline int32_t interpreter_walk_index(uint64_t next, uint64_t start)
{
    uint64_t index = (next - start) / 8;
    return next >= start && index < INTERPRETER_WALK_INDEX_MAX
               ? (int32_t)(index ? index - 1 : 0)
               : INTERPRETER_WALK_NOWHERE;
}

#endif
