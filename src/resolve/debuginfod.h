/* SPDX-License-Identifier: Apache-2.0 */
/* Debug files from the servers that $DEBUGINFOD_URLS names (elfutils' debuginfod). */
#ifndef STOKE_RESOLVE_DEBUGINFOD_H
#define STOKE_RESOLVE_DEBUGINFOD_H

#include "base/str.h"

/* Fetches a file by its build id in hexadecimal, or finds it fetched before; its path
 * goes into `path`. False where no server is named, none has it, or
 * libdebuginfod1 is not installed. May take as long as $DEBUGINFOD_TIMEOUT allows. */
bool debuginfod_debug(struct str build_id, char *path, size_t size);
bool debuginfod_program(struct str build_id, char *path, size_t size);

/* Whether libdebuginfod is installed. */
bool debuginfod_is_installed(void);

#endif
