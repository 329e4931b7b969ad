/* SPDX-License-Identifier: Apache-2.0 */
/* A small core file of x86-64: one segment of notes, two of memory. */
#ifndef STOKE_TESTS_SYMBOL_CORE_IMAGE_H
#define STOKE_TESTS_SYMBOL_CORE_IMAGE_H

#include <stdint.h>
#include <string.h>

#define IMAGE_MAX 2048

struct core_image {
    unsigned char bytes[IMAGE_MAX];
    size_t size;
};

static void image_put(struct core_image *m, size_t at, uint64_t value, size_t size)
{
    memcpy(m->bytes + at, &value, size);
}

static unsigned char *image_note(struct core_image *m, uint32_t type, uint32_t size)
{
    image_put(m, m->size, 5, 4);
    image_put(m, m->size + 4, size, 4);
    image_put(m, m->size + 8, type, 4);
    memcpy(m->bytes + m->size + 12, "CORE", 4);
    unsigned char *note = m->bytes + m->size + 20;
    m->size += 20 + ((size + 3) & ~3u);
    return note;
}

static void image_segment(struct core_image *m, size_t index, uint32_t type,
                          uint32_t flags, uint64_t offset, uint64_t address,
                          uint64_t size)
{
    size_t at = 64 + index * 56;
    image_put(m, at, type, 4);
    image_put(m, at + 4, flags, 4);
    image_put(m, at + 8, offset, 8);
    image_put(m, at + 16, address, 8);
    image_put(m, at + 32, size, 8);
    image_put(m, at + 40, 4096, 8);
}

static void image_thread(struct core_image *m, uint32_t tid, uint64_t pc, uint64_t sp)
{
    unsigned char *note = image_note(m, 1, 336);
    note[12] = 11;
    memcpy(note + 32, &tid, 4);
    memcpy(note + 112 + 16 * 8, &pc, 8);
    memcpy(note + 112 + 19 * 8, &sp, 8);
}

static void image_make(struct core_image *m)
{
    static const char elf[] = "\177ELF\2\1\1";
    *m = (struct core_image){.size = 64 + 3 * 56};
    memcpy(m->bytes, elf, 7);
    image_put(m, 16, 4, 2);
    image_put(m, 18, 62, 2);
    image_put(m, 20, 1, 4);
    image_put(m, 32, 64, 8);
    image_put(m, 52, 64, 2);
    image_put(m, 54, 56, 2);
    image_put(m, 56, 3, 2);
    size_t notes = m->size;
    image_thread(m, 7, 0x400010, 0x7000);
    unsigned char *info = image_note(m, 3, 136);
    info[24] = 7;
    memcpy(info + 40, "name", 4);
    memcpy(info + 56, "name -x ", 8);
    image_thread(m, 8, 0x400020, 0x7008);
    uint64_t files[] = {1, 4096, 0x400000, 0x401000, 1};
    unsigned char *file = image_note(m, 0x46494c45, sizeof files + 7);
    memcpy(file, files, sizeof files);
    memcpy(file + sizeof files, "/a/exe", 6);
    image_segment(m, 0, 4, 0, notes, 0, m->size - notes);
    image_segment(m, 1, 1, 5, 0, 0x400000, 0);
    image_put(m, 64 + 56 + 40, 4096, 8);
    image_segment(m, 2, 1, 6, m->size, 0x7000, 64);
    memset(m->bytes + m->size, 'm', 64);
    m->size += 64;
}

#endif
