/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the kernel that os/waits.h needs, from the text of /proc/kallsyms. */
#ifndef STOKE_OS_WAITS_SYMBOLS_H
#define STOKE_OS_WAITS_SYMBOLS_H

#include "base/str.h"
#include <stdint.h>

#define WAITS_SYMBOL_SIZE 64

struct waits_symbols {
    uint64_t schedule_start, schedule_end; /* of the function __schedule; 0: hidden */

    /* The function that ends each switch, as a kprobe names it: compilers add suffixes. Empty:
     * there is none. */
    char finish_switch[WAITS_SYMBOL_SIZE];
};

/* Reads whole lines; call it repeatedly, beginning with a zeroed struct. */
void waits_symbols_read(struct waits_symbols *s, struct str lines);

#endif
