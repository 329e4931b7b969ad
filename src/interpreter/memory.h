/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded reading of a process's memory. Failure is sticky: a reader follows several pointers
 * and checks `failed` once. */
#ifndef STOKE_INTERPRETER_MEMORY_H
#define STOKE_INTERPRETER_MEMORY_H

#include "interpreter/interpreter.h"

/* Work that one stack may need, in bytes read or processed. A stack of 1,000 frames needs
 * about 1 MB. */
#define MEMORY_WORK_MAX ((uint64_t)256 << 20)

struct memory {
    const struct interpreter_access *access;
    uint64_t work;  /* that is still allowed */
    bool failed;    /* a read failed */
    bool exhausted; /* failed because all work is used up */
};

static inline struct memory memory_of(const struct interpreter_access *access)
{
    return (struct memory){.access = access, .work = MEMORY_WORK_MAX};
}

/* Counts work; false and failed if there was too much. */
bool memory_work(struct memory *m, uint64_t amount);

/* Reads `size` bytes; on failure they are zero. */
bool memory_read(struct memory *m, uint64_t address, void *into, size_t size);

/* Read a little-endian number; 0 on failure. A null pointer fails. */
uint64_t memory_u64(struct memory *m, uint64_t address);
uint32_t memory_u32(struct memory *m, uint64_t address);
uint8_t memory_u8(struct memory *m, uint64_t address);

/* Whether the C library's structure of a thread, which its pointer refers to, contains the
 * thread id: glibc and musl, x86-64. Failure is not sticky. */
bool memory_is_thread(struct memory *m, uint64_t pointer, uint64_t tid);

/* Little-endian numbers in bytes that were read. */
uint64_t memory_get_u64(const unsigned char *bytes);
uint32_t memory_get_u32(const unsigned char *bytes);

#endif
