/* SPDX-License-Identifier: Apache-2.0 */
static inline int clamp(int n, int low, int high)
{
    if (n < low)
        return low;
    return n > high ? high : n;
}

static inline int average(int a, int b)
{
    return clamp(a + b, -1000, 1000) / 2;
}
