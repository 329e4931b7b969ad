/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of JSON files share: how damage is told, and how reading ends. */
#ifndef STOKE_IMPORT_JSON_INPUT_H
#define STOKE_IMPORT_JSON_INPUT_H

#include "codec/json.h"
#include "model/builder.h"

/* Counts a warning at the place where the reader is. `what` is a literal. */
void json_warn(struct json *j, struct builder *b, const char *what);

/* Takes the value at hand as a whole number from 0 to UINT32_MAX - 1: an index, a line.
 * False, and skipped, where it is anything else. */
bool json_index(struct json *j, uint32_t *out);

/* Ends the reading and frees the reader. What stands before a place where the file is cut
 * or damaged is used, a warning says so, and the profile is incomplete. False, with err set, where nothing was
 * read (b holds no more than `before` samples) or the source failed. */
bool json_input_end(struct json *j, struct builder *b, uint64_t before);

#endif
