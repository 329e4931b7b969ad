/* SPDX-License-Identifier: Apache-2.0 */
/* The second file of the matrix's programs. */
#include "spin.h"

volatile unsigned long sink;

static NOINLINE void far_leaf(unsigned long scale)
{
    sink++;
    SPIN(PERCENT(15, scale)); /* @15 */
    sink++;
}

static void far(unsigned long scale)
{
    sink++;
    far_leaf(scale);
    sink++;
}

void (*pointer)(unsigned long) = far;

__attribute__((cold)) void unlikely(unsigned long scale)
{
    sink += scale;
}

/* Its loop is in a part that the compiler moves to unlikely code. */
NOINLINE void rare(unsigned long scale, int never)
{
    sink++;
    if (__builtin_expect(never, 0)) {
        unlikely(scale);
        SPIN(PERCENT(5, scale)); /* @5 */
        unlikely(scale);
    }
    sink++;
}
