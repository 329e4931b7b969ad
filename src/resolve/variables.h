/* SPDX-License-Identifier: Apache-2.0 */
/* Names variables of a process that runs, by their addresses: the static ones in its
 * program and its libraries. */
#ifndef STOKE_RESOLVE_VARIABLES_H
#define STOKE_RESOLVE_VARIABLES_H

#include "base/output.h"
#include "resolve/find.h"

/* A mapping of a file's code. */
struct variable_code {
    struct str path;
    uint64_t start, offset;
};

/* Appends the name of the variable that contains the address: "queue_lock", or
 * "server+0x40" if it is part of a larger one. Appends nothing if it is not a static variable, or if
 * its file has no symbols. Reads the mappings of the process and the symbols of one file. False
 * if the process has ended. */
bool variable_write_name(uint32_t pid, uint64_t address, struct output *out);

/* The same, with the mapping that has the highest address below that of the variable. */
void variable_write_name_in(uint32_t pid, const struct variable_code *code,
                            uint64_t address, struct output *out);

#endif
