/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of sizes and of lifetimes of blocks, for histograms. */
#ifndef STOKE_RECORD_HEAP_CLASSES_H
#define STOKE_RECORD_HEAP_CLASSES_H

#include <stddef.h>
#include <stdint.h>

/* 0 bytes, 1 to 15 bytes, and then from each power of two to the next, up to 1 GiB. */
#define HEAP_SIZES 29

/* Below 1 microsecond, and then from each power of ten to the next, up to 100 seconds. */
#define HEAP_LIFETIMES 10

unsigned heap_size_class(uint64_t size);

/* `unit_ns`: nanoseconds of a unit of `life`. */
unsigned heap_lifetime_class(uint64_t life, double unit_ns);

/* "64 to 127 bytes", "1 to 2 KiB": the second is not part of the class. */
void heap_size_name(unsigned number, char *room, size_t size);

/* "10 to 100 us", in the same way. */
const char *heap_lifetime_name(unsigned number);

#endif
