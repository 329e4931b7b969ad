/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/browser.h"
#include "base/format.h"
#include "cli/message.h"
#include "os/child.h"
#include <stdlib.h>

bool browser_is_available(void)
{
    return getenv("DISPLAY") || getenv("WAYLAND_DISPLAY");
}

void browser_open(const char *address)
{
    static char program[] = "xdg-open";
    char copy[256];
    struct error err;
    struct os_child child;
    struct os_user_ids person = os_invoking_user();
    format_text(copy, sizeof copy, "%s", address);
    char *const argv[] = {program, copy, NULL};
    if (!os_child_prepare(&child, argv, &person, &err) ||
        !os_child_start(&child, program, &err))
        message_note("cannot open a browser: %s", err.message);
}
