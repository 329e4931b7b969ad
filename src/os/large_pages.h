/* SPDX-License-Identifier: Apache-2.0 */
/* Memory in pages of two megabytes, where the system has them.
 *
 * The large columns of a profile are filled once, from one end to the other: with pages of
 * 4 KB most of what that costs is the system's work, a fault for each, and on one core
 * only. Where there are no large pages the blocks are as good as malloc's. */
#ifndef STOKE_OS_LARGE_PAGES_H
#define STOKE_OS_LARGE_PAGES_H

#include "base/arena.h"

extern const struct arena_source os_large_pages;

#endif
