/* SPDX-License-Identifier: Apache-2.0 */
/* Separate from screen.c, because <term.h> defines macros such as "lines" and
 * "columns". */
#include "os/screen.h"

#ifdef STOKE_CURSES

#include <curses.h>
#include <stdlib.h>
/* after curses.h, which it depends on */
#include <term.h>

bool os_screen_knows_terminal(void)
{
    int why;
    const char *name = getenv("TERM");
    if (!name || !name[0] || setupterm(name, 1, &why) != OK)
        return false;
    bool moves = cursor_address != NULL;
    del_curterm(cur_term);
    return moves;
}

#else

bool os_screen_knows_terminal(void)
{
    return false;
}

#endif
