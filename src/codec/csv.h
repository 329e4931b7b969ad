/* SPDX-License-Identifier: Apache-2.0 */
/* Splits a line of separated values into fields. A field that contains the separator is
 * in double quotes; a doubled quote inside means one quote. */
#ifndef STOKE_CODEC_CSV_H
#define STOKE_CODEC_CSV_H

#include "base/output.h"

struct csv {
    struct str rest;
    char separator;
    bool done;
};

struct csv_field {
    /* without quotes; an unquoted field includes the white space around it */
    struct str text;
    size_t indent; /* white space before the opening quote */
    bool doubled;  /* the text contains doubled quotes: csv_text resolves them */
};

static inline struct csv csv_of(struct str line, char separator)
{
    return (struct csv){line, separator, false};
}

/* Returns the next field. False after the last; an empty line has one empty field. */
bool csv_next(struct csv *c, struct csv_field *field);

/* The field's text with doubled quotes resolved; uses `scratch` if there are any. */
struct str csv_text(const struct csv_field *field, struct output *scratch);

#endif
