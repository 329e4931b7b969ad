/* SPDX-License-Identifier: Apache-2.0 */
/* The C library's version reads a byte at a time, and text importers call it for every
 * word. */
#include <string.h>
#include <wasm_simd128.h>

void *memchr(const void *bytes, int byte, size_t length)
{
    const unsigned char *p = bytes, *end = p + length;
    v128_t all = wasm_i8x16_splat((signed char)byte);
    for (; end - p >= 16; p += 16) {
        unsigned found = wasm_i8x16_bitmask(wasm_i8x16_eq(wasm_v128_load(p), all));
        if (found)
            return (char *)p + __builtin_ctz(found);
    }
    for (; p < end; p++)
        if (*p == (unsigned char)byte)
            return (char *)p;
    return NULL;
}
