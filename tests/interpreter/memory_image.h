/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a process that the tests make up. The header of a runtime defines IMAGE_SIZE and
 * IMAGE_FIELDS (further fields of the image) before it includes this one. */
#ifndef STOKE_TESTS_MEMORY_IMAGE_H
#define STOKE_TESTS_MEMORY_IMAGE_H

#include "base/str.h"

#define IMAGE_BASE ((uint64_t)0x100000)

struct image {
    unsigned char bytes[IMAGE_SIZE];
    size_t used;
    struct str modules[2];
    uint64_t reads, read_bytes; /* by the code under test */
    IMAGE_FIELDS
};

static inline void image_put(struct image *m, uint64_t address, uint64_t value,
                             size_t size)
{
    for (size_t i = 0; i < size; i++)
        m->bytes[address - IMAGE_BASE + i] = (unsigned char)(value >> (8 * i));
}

static inline uint64_t image_new(struct image *m, size_t size)
{
    uint64_t address = IMAGE_BASE + m->used;
    m->used += (size + 15) / 16 * 16;
    return address;
}

static inline bool image_read(void *context, uint64_t address, void *into, size_t size)
{
    struct image *m = context;
    m->reads++;
    m->read_bytes += size;
    if (address < IMAGE_BASE || address - IMAGE_BASE > IMAGE_SIZE ||
        size > IMAGE_SIZE - (address - IMAGE_BASE))
        return false;
    memcpy(into, m->bytes + (address - IMAGE_BASE), size);
    return true;
}

/* Each 10 bytes of data are an offset in units of 8 and a number that is written there. */
static inline void image_corrupt(struct image *m, const uint8_t *data, size_t size)
{
    for (; size >= 10; data += 10, size -= 10) {
        size_t offset = ((size_t)data[0] | (size_t)data[1] << 8) * 8 % m->used;
        memcpy(m->bytes + offset, data + 2, 8);
    }
}

#endif
