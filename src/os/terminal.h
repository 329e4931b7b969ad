/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of thing a stream goes to. */
#ifndef STOKE_OS_TERMINAL_H
#define STOKE_OS_TERMINAL_H

#include <stdbool.h>

struct os_terminal {
    bool is_terminal;
    unsigned columns, rows; /* 0 where it is none, or does not tell */
    bool colour;            /* a terminal, NO_COLOR is not set, TERM is not "dumb" */
};

/* fd 1 is standard output. COLUMNS and LINES, where set, win over what the terminal says.
 */
struct os_terminal os_terminal_of(int fd);

#endif
