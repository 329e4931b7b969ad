/* SPDX-License-Identifier: Apache-2.0 */
/* A list of names that the user gave: files, folders, functions. */
#ifndef STOKE_BASE_NAME_LIST_H
#define STOKE_BASE_NAME_LIST_H

#include <stddef.h>

struct name_list {
    const char **items;
    size_t count;
};

#endif
