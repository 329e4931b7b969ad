/* SPDX-License-Identifier: Apache-2.0 */
/* Beside screen.c, as <term.h> takes names such as "lines" and "columns" for itself. */
#include "os/screen.h"

#ifdef STOKE_CURSES

#include <curses.h>
#include <stdlib.h>
/* behind curses.h, on which it depends */
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
