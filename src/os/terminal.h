/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of the terminal that a stream is connected to. */
#ifndef STOKE_OS_TERMINAL_H
#define STOKE_OS_TERMINAL_H

#include <stdbool.h>

struct os_terminal {
    bool is_terminal;
    unsigned columns, rows; /* 0 if it is not a terminal, or the size is unknown */
    bool escapes;           /* it is a terminal, and TERM is not "dumb" */
    bool colour;            /* the same, and NO_COLOR is not set */
};

/* fd 1 is standard output. The variables COLUMNS and LINES override the terminal's
 * size. */
struct os_terminal os_terminal_of(int fd);

#endif
