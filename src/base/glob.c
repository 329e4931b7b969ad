/* SPDX-License-Identifier: Apache-2.0 */
#include "base/glob.h"
#include <stdint.h>

bool glob_match(struct str pattern, struct str name)
{
    size_t p = 0, n = 0, star = SIZE_MAX, resume = 0;
    while (n < name.len) {
        char expected = p < pattern.len ? pattern.ptr[p] : 0;
        if (p < pattern.len && expected == '*') {
            star = ++p;
            resume = n;
        } else if (p < pattern.len && (expected == name.ptr[n] || expected == '?' ||
                                       (expected == '_' && name.ptr[n] == ' '))) {
            p++;
            n++;
        } else if (star != SIZE_MAX) {
            p = star;
            n = ++resume;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.ptr[p] == '*')
        p++;
    return p == pattern.len;
}
