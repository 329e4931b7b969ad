/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the importers of JSON: how damage is reported, and how reading ends. */
#ifndef STOKE_IMPORT_JSON_INPUT_H
#define STOKE_IMPORT_JSON_INPUT_H

#include "codec/json.h"
#include "model/builder.h"

/* A rule of a probe: the text begins with the bracket `open`, contains all words of
 * `all`, and one word of `any` if that has words. */
struct json_rule {
    int score;
    char open; /* 0 ends a list of rules */
    const char *all[4], *any[4];
};

/* The score of the first rule that applies to the text or outline; 0 if none applies. */
int json_probe(struct str head, const struct json_rule *rules);

/* Counts a warning at the reader's position. `what` is a literal. */
void json_warn(struct json *j, struct builder *b, const char *what);

/* Reads the current value as an integer from 0 to UINT32_MAX - 1: an index, a line.
 * False if it is anything else; it is then skipped. */
bool json_index(struct json *j, uint32_t *out);

/* Enters the next object of the current array, and skips what is none. False at the end of the
 * array, which it leaves. */
bool json_next_object(struct json *j);

/* Reads the current value as a name; 0 if it is not a string. */
string_id json_name(struct json *j, struct builder *b);

/* Ends the reading and frees the reader. If the file is truncated or damaged,
 * everything before that point is used, a warning reports it, and the profile is
 * incomplete. False, with err set, if nothing was read (b has no more than `before`
 * samples) or the source failed. */
bool json_input_end(struct json *j, struct builder *b, uint64_t before);

#endif
