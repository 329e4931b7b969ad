/* SPDX-License-Identifier: Apache-2.0 */
#include "model/allocator.h"

bool is_allocator(struct str function)
{
    static const char *const names[] = {
        "malloc",   "calloc",         "realloc",       "reallocarray",
        "memalign", "posix_memalign", "aligned_alloc", "valloc",
        "pvalloc",  "__libc_malloc",  "__libc_calloc", "__libc_realloc",
        "_Znwm",    "_Znam",          "operator new",  "operator new[]"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_equal(function, str_of(names[i])))
            return true;
    return str_starts(function, STR("operator new(")) ||
           str_starts(function, STR("operator new[]("));
}

bool is_allocating(struct str function)
{
    static const char *const names[] = {"mmap", "mmap64", "mremap", "sbrk", "brk"};
    static const char *const beginnings[] = {
        "std::",        "__gnu_cxx::",     "alloc::alloc::",   "alloc::raw_vec::",
        "alloc::vec::", "alloc::string::", "hashbrown::raw::", "<alloc::"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_equal(function, str_of(names[i])))
            return true;
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (str_starts(function, str_of(beginnings[i])))
            return true;
    return is_allocator(function);
}
