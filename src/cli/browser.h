/* SPDX-License-Identifier: Apache-2.0 */
/* The user's browser. */
#ifndef STOKE_CLI_BROWSER_H
#define STOKE_CLI_BROWSER_H

#include <stdbool.h>

/* Whether there is a desktop on which a browser can be opened. */
bool browser_is_available(void);

/* Opens the address in the browser of the user who invoked stoke, and does not wait for it.
 * Other users can see the address in the list of processes. A failure is a note. */
void browser_open(const char *address);

#endif
