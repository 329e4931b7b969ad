/* SPDX-License-Identifier: Apache-2.0 */
/* Downloads debug files from the servers in $DEBUGINFOD_URLS (elfutils' debuginfod). */
#ifndef STOKE_RESOLVE_DEBUGINFOD_H
#define STOKE_RESOLVE_DEBUGINFOD_H

#include "base/str.h"

/* Download a file by its build ID in hexadecimal, or find it in the download cache, and
 * write its path to `path`. Return false if no server is configured, no server has the
 * file, or libdebuginfod1 is not installed. May block for $DEBUGINFOD_TIMEOUT. */
bool debuginfod_debug(struct str build_id, char *path, size_t size);
bool debuginfod_program(struct str build_id, char *path, size_t size);

/* Returns true if libdebuginfod is installed. */
bool debuginfod_is_installed(void);

#endif
