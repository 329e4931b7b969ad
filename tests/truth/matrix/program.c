/* SPDX-License-Identifier: Apache-2.0 */
/* A program with known shares by function and line, for tests/truth/matrix.py, which reads the
 * marks of the lines. */
#include "spin.h"
#include <stdio.h>
#include <stdlib.h>

static NOINLINE void direct(unsigned long scale)
{
    sink++;
    SPIN(PERCENT(50, scale)); /* @50 */
    sink++;
}

static INLINED void inner(unsigned long scale)
{
    sink++;
    SPIN(PERCENT(10, scale)); /* @10 */
}

static INLINED void between(unsigned long scale)
{
    inner(scale);
    sink++;
    SPIN(PERCENT(20, scale)); /* @20 */
}

static NOINLINE void outer(unsigned long scale)
{
    between(scale);
    sink++;
}

static NOINLINE void descend(unsigned long scale, int left)
{
    if (left) {
        descend(scale, left - 1);
        sink++;
        return;
    }
    direct(scale);
    outer(scale);
    pointer(scale);
    rare(scale, 1);
    sink++;
}

int main(int argc, char **argv)
{
    unsigned long long state = 1;
    int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
    for (int i = 0; i < rounds; i++)
        descend(next_scale(&state), 2);
    printf("%d\n", sink != 0);
    return 0;
}
