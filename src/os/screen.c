/* SPDX-License-Identifier: Apache-2.0 */
#include "os/screen.h"
#include "os/terminal.h"

#ifdef STOKE_CURSES

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <locale.h>

static bool is_open, has_colours;

/* Numbers of colour pairs; 0 is the terminal's default. */
enum { PAIR_HOT = 1, PAIR_WARM, PAIR_BOX };

static void make_colours(void)
{
    static const short boxes[OS_STYLE_BOXES] = {COLOR_RED,  COLOR_YELLOW, COLOR_GREEN,
                                                COLOR_CYAN, COLOR_BLUE,   COLOR_MAGENTA};
    has_colours = os_terminal_of(1).colour && has_colors();
    if (!has_colours)
        return;
    start_color();
    use_default_colors();
    init_pair(PAIR_HOT, COLOR_RED, -1);
    init_pair(PAIR_WARM, COLOR_GREEN, -1);
    for (short i = 0; i < (short)OS_STYLE_BOXES; i++)
        init_pair((short)(PAIR_BOX + i), COLOR_BLACK, boxes[i]);
}

bool os_screen_is_available(void)
{
    return true;
}

bool os_screen_open(struct error *err)
{
    setlocale(LC_CTYPE, "");
    SCREEN *screen = newterm(NULL, stdout, stdin);
    if (!screen) {
        error_set(err, "cannot draw on this terminal");
        return error_hint(err, "set TERM correctly, or use --plain");
    }
    is_open = true;
    set_escdelay(25);
    cbreak();
    noecho();
    nonl();
    curs_set(0);
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    make_colours();
    return true;
}

void os_screen_close(void)
{
    if (is_open)
        endwin();
    is_open = false;
}

void os_screen_size(unsigned *columns, unsigned *rows)
{
    *columns = COLS > 0 ? (unsigned)COLS : 1;
    *rows = LINES > 0 ? (unsigned)LINES : 1;
}

void os_screen_clear(void)
{
    erase();
}

static attr_t attributes_of(unsigned style)
{
    unsigned kind = style & ~OS_STYLE_SELECTED, box = kind - OS_STYLE_BOX;
    attr_t more = style & OS_STYLE_SELECTED ? A_REVERSE | A_BOLD : 0;
    if (kind == OS_STYLE_HEAD)
        return more | A_BOLD;
    if (kind == OS_STYLE_FAINT)
        return more | A_DIM;
    if (kind == OS_STYLE_HOT)
        return more | (has_colours ? (attr_t)COLOR_PAIR(PAIR_HOT) : A_BOLD);
    if (kind == OS_STYLE_WARM)
        return more | (has_colours ? (attr_t)COLOR_PAIR(PAIR_WARM) : 0);
    if (kind < OS_STYLE_BOX)
        return more;
    if (has_colours)
        return more | (attr_t)COLOR_PAIR(PAIR_BOX + (int)(box % OS_STYLE_BOXES));
    return more | (box % 2 ? A_UNDERLINE : A_UNDERLINE | A_BOLD);
}

void os_screen_text(unsigned row, unsigned column, struct str text, unsigned style)
{
    attr_t attributes = attributes_of(style);
    attron(attributes);
    mvaddnstr((int)row, (int)column, text.ptr, (int)text.len);
    attroff(attributes);
}

void os_screen_show(void)
{
    refresh();
}

int os_screen_key(void)
{
    static const struct {
        int theirs, ours;
    } keys[] = {{KEY_UP, OS_KEY_UP},
                {KEY_DOWN, OS_KEY_DOWN},
                {KEY_LEFT, OS_KEY_LEFT},
                {KEY_RIGHT, OS_KEY_RIGHT},
                {KEY_PPAGE, OS_KEY_PAGE_UP},
                {KEY_NPAGE, OS_KEY_PAGE_DOWN},
                {KEY_HOME, OS_KEY_HOME},
                {KEY_END, OS_KEY_END},
                {KEY_BACKSPACE, OS_KEY_BACKSPACE},
                {KEY_ENTER, OS_KEY_ENTER},
                {KEY_RESIZE, OS_KEY_RESIZED},
                {KEY_F(1), OS_KEY_HELP}};
    wint_t key;
    int kind = get_wch(&key);
    if (kind == ERR)
        return OS_KEY_NONE;
    if (kind == OK)
        return key == '\r'                 ? OS_KEY_ENTER
               : key == 127 || key == '\b' ? OS_KEY_BACKSPACE
                                           : (int)key;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].theirs == (int)key)
            return keys[i].ours;
    return OS_KEY_OTHER;
}

#else

bool os_screen_is_available(void)
{
    return false;
}

bool os_screen_open(struct error *err)
{
    error_set(err, "this stoke was built without ncurses and cannot draw on a terminal");
    return error_hint(err, "--plain prints tables instead");
}

void os_screen_close(void)
{
}

void os_screen_size(unsigned *columns, unsigned *rows)
{
    *columns = *rows = 1;
}

void os_screen_clear(void)
{
}

void os_screen_text(unsigned row, unsigned column, struct str text, unsigned style)
{
    (void)row, (void)column, (void)text, (void)style;
}

void os_screen_show(void)
{
}

int os_screen_key(void)
{
    return OS_KEY_NONE;
}

#endif
