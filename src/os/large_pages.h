/* SPDX-License-Identifier: Apache-2.0 */
/* An arena source with pages of two megabytes, if the system has them.
 *
 * The large columns of a profile are filled once, from one end to the other. With pages
 * of 4 KB, most of that time is spent in page faults, on one core only. If there are no
 * large pages, the blocks are as good as malloc's. */
#ifndef STOKE_OS_LARGE_PAGES_H
#define STOKE_OS_LARGE_PAGES_H

#include "base/arena.h"

extern const struct arena_source os_large_pages;

#endif
