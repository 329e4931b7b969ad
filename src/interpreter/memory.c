/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreter/memory.h"

/* Addresses below this are null pointers with an offset. */
#define ADDRESS_MIN 4096

bool memory_work(struct memory *m, uint64_t amount)
{
    if (amount > m->work)
        m->failed = m->exhausted = true;
    else
        m->work -= amount;
    return !m->failed;
}

bool memory_read(struct memory *m, uint64_t address, void *into, size_t size)
{
    if (address < ADDRESS_MIN || address > UINT64_MAX - size)
        m->failed = true;
    /* a system call costs as much as some bytes */
    if (memory_work(m, size + 64) &&
        !m->access->read(m->access->context, address, into, size))
        m->failed = true;
    if (m->failed && size)
        memset(into, 0, size);
    return !m->failed;
}

uint64_t memory_get_u64(const unsigned char *bytes)
{
    return memory_get_u32(bytes) | (uint64_t)memory_get_u32(bytes + 4) << 32;
}

uint32_t memory_get_u32(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

uint64_t memory_u64(struct memory *m, uint64_t address)
{
    unsigned char bytes[8];
    memory_read(m, address, bytes, sizeof bytes);
    return memory_get_u64(bytes);
}

uint32_t memory_u32(struct memory *m, uint64_t address)
{
    unsigned char bytes[4];
    memory_read(m, address, bytes, sizeof bytes);
    return memory_get_u32(bytes);
}

uint8_t memory_u8(struct memory *m, uint64_t address)
{
    unsigned char byte;
    memory_read(m, address, &byte, 1);
    return byte;
}

bool memory_is_thread(struct memory *m, uint64_t pointer, uint64_t tid)
{
    static const uint32_t offsets[] = {720, 48}; /* glibc, musl */
    bool found = false;
    if (m->access->machine != ARCH_X86_64)
        return false;
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets && !m->failed; i++)
        found |= memory_u32(m, pointer + offsets[i]) == tid;
    found &= !m->failed;
    m->failed = m->exhausted;
    return found && tid;
}
