/* SPDX-License-Identifier: Apache-2.0 */
/* A whole terminal to draw on, with keys (ncurses). Where stoke was built without ncurses
 * there is none, which os_screen_open says.
 *
 * Text is shown as it is: whoever draws makes it visible first (base/visible.h). */
#ifndef STOKE_OS_SCREEN_H
#define STOKE_OS_SCREEN_H

#include "base/error.h"

/* What a key does that is not a character. */
enum os_key {
    OS_KEY_NONE = 0, /* none was pressed */
    OS_KEY_ENTER = '\n',
    OS_KEY_ESCAPE = 27,
    OS_KEY_UP = 0x110000, /* beyond all characters */
    OS_KEY_DOWN,
    OS_KEY_LEFT,
    OS_KEY_RIGHT,
    OS_KEY_PAGE_UP,
    OS_KEY_PAGE_DOWN,
    OS_KEY_HOME,
    OS_KEY_END,
    OS_KEY_BACKSPACE,
    OS_KEY_RESIZED,
    OS_KEY_HELP, /* F1 */
    OS_KEY_OTHER,
};

/* How text looks: one of these, with bits of the others. Without colours (NO_COLOR, or
 * the terminal has none) the boxes differ by whether they are bold or underlined. */
enum os_style {
    OS_STYLE_PLAIN,
    OS_STYLE_HEAD,  /* headings */
    OS_STYLE_FAINT, /* of lesser weight */
    OS_STYLE_HOT,   /* what has most of the weight, */
    OS_STYLE_WARM,  /* and much of it */
    OS_STYLE_BOX,   /* the first of OS_STYLE_BOXES that fill what they are under */
};
#define OS_STYLE_BOXES 6u
#define OS_STYLE_CHOSEN 0x100u /* where the user is */

bool os_screen_is_there(void); /* built in, at all */

/* Whether the terminal that TERM names is one to draw on. */
bool os_screen_knows_terminal(void);

/* Takes the terminal of standard input and output. False, with why not. */
bool os_screen_open(struct error *err);

/* Gives it back as it was; also without open. */
void os_screen_close(void);

void os_screen_size(unsigned *columns, unsigned *rows);

/* Nothing but blanks, until something is drawn. What was drawn is seen after show. */
void os_screen_clear(void);
void os_screen_text(unsigned row, unsigned column, struct str text, unsigned style);
void os_screen_show(void);

/* A key that was pressed since the last call: a character, or enum os_key. */
int os_screen_key(void);

#endif
