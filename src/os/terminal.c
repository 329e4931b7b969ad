/* SPDX-License-Identifier: Apache-2.0 */
#include "os/terminal.h"
#include "base/number.h"
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

static unsigned from_environment(const char *name, unsigned otherwise)
{
    const char *text = getenv(name);
    uint64_t v;
    if (text && number_parse_u64(str_of(text), &v) && v > 0 && v < 10000)
        return (unsigned)v;
    return otherwise;
}

struct os_terminal os_terminal_of(int fd)
{
    struct os_terminal t = {.is_terminal = isatty(fd)};
    struct winsize size = {0};
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    if (!t.is_terminal)
        return t;
    if (ioctl(fd, TIOCGWINSZ, &size) != 0)
        size = (struct winsize){0};
    t.columns = from_environment("COLUMNS", size.ws_col);
    t.rows = from_environment("LINES", size.ws_row);
    t.escapes = !(term && str_equal(str_of(term), STR("dumb")));
    t.colour = t.escapes && !(no_color && no_color[0]);
    return t;
}
