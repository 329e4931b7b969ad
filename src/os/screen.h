/* SPDX-License-Identifier: Apache-2.0 */
/* Full-screen terminal output and keys (ncurses). os_screen_open fails if stoke was
 * built without ncurses.
 *
 * Text is printed unchanged: the caller makes it safe first (base/visible.h). */
#ifndef STOKE_OS_SCREEN_H
#define STOKE_OS_SCREEN_H

#include "base/error.h"

/* Keys that are not characters. */
enum os_key {
    OS_KEY_NONE = 0, /* no key was pressed */
    OS_KEY_ENTER = '\n',
    OS_KEY_ESCAPE = 27,
    OS_KEY_UP = 0x110000, /* beyond all Unicode characters */
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

/* The style of text: one of these, plus bits from below. Without colours (NO_COLOR, or
 * the terminal has none), boxes differ by bold and underline. */
enum os_style {
    OS_STYLE_PLAIN,
    OS_STYLE_HEAD,  /* headings */
    OS_STYLE_FAINT, /* less important */
    OS_STYLE_HOT,   /* most of the weight */
    OS_STYLE_WARM,  /* much of the weight */
    OS_STYLE_BOX,   /* the first of OS_STYLE_BOXES background colours */
};
#define OS_STYLE_BOXES 6u
#define OS_STYLE_SELECTED 0x100u /* the selected row */

bool os_screen_is_available(void); /* false if built without ncurses */

/* Returns true if the terminal that TERM names supports full-screen output. */
bool os_screen_knows_terminal(void);

/* Takes over the terminal of standard input and output. False with the reason. */
bool os_screen_open(struct error *err);

/* Restores the terminal; may be called without open. */
void os_screen_close(void);

void os_screen_size(unsigned *columns, unsigned *rows);

/* Clears the screen. Drawing becomes visible with os_screen_show. */
void os_screen_clear(void);
void os_screen_text(unsigned row, unsigned column, struct str text, unsigned style);
void os_screen_show(void);

/* A key that was pressed since the last call: a character, or enum os_key. */
int os_screen_key(void);

#endif
