/* SPDX-License-Identifier: Apache-2.0 */
#include "record/heap_classes.h"
#include "base/format.h"

/* From class 2 on, a class begins at 2 to the power of its number and this. */
#define SIZE_SHIFT 2

unsigned heap_size_class(uint64_t size)
{
    if (size < 16)
        return size != 0;
    unsigned number = 63 - (unsigned)__builtin_clzll(size) - SIZE_SHIFT;
    return number < HEAP_SIZES ? number : HEAP_SIZES - 1;
}

unsigned heap_lifetime_class(uint64_t life, double unit_ns)
{
    static const double ends[HEAP_LIFETIMES - 1] = {1e3, 1e4, 1e5,  1e6, 1e7,
                                                    1e8, 1e9, 1e10, 1e11};
    double ns = (double)life * unit_ns;
    unsigned number = 0;
    /* without branches: which class it is cannot be predicted */
    for (unsigned i = 0; i < HEAP_LIFETIMES - 1; i++)
        number += ns >= ends[i];
    return number;
}

void heap_size_name(unsigned number, char *room, size_t size)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB"};
    unsigned shift = number + SIZE_SHIFT;
    unsigned low = 1U << shift % 10, high = 2U << shift % 10;
    const char *unit = units[shift / 10 < 4 ? shift / 10 : 3];
    if (number == 0)
        format_text(room, size, "0 bytes");
    else if (number == 1)
        format_text(room, size, "1 to 15 bytes");
    else if (number >= HEAP_SIZES - 1)
        format_text(room, size, "1 GiB and more");
    else if (shift < 9)
        format_text(room, size, "%u to %u bytes", low, high - 1);
    else if (shift % 10 == 9)
        format_text(room, size, "%u %s to 1 %s", low, unit, units[shift / 10 + 1]);
    else
        format_text(room, size, "%u to %u %s", low, high, unit);
}

const char *heap_lifetime_name(unsigned number)
{
    static const char *const names[HEAP_LIFETIMES] = {
        "under 1 us",  "1 to 10 us",    "10 to 100 us",  "100 us to 1 ms",
        "1 to 10 ms",  "10 to 100 ms",  "100 ms to 1 s", "1 to 10 s",
        "10 to 100 s", "100 s and more"};
    return names[number < HEAP_LIFETIMES ? number : HEAP_LIFETIMES - 1];
}
