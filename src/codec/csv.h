/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a line of separated values: bare, or in double quotes where they hold the
 * separator. A doubled quote within quotes stands for one. */
#ifndef STOKE_CODEC_CSV_H
#define STOKE_CODEC_CSV_H

#include "base/output.h"

struct csv {
    struct str rest;
    char separator;
    bool done;
};

struct csv_field {
    struct str text; /* without its quotes; where bare, with the white space around it */
    size_t indent;   /* white space in front of the quotes */
    bool doubled;    /* the text has doubled quotes: csv_text makes them single */
};

static inline struct csv csv_of(struct str line, char separator)
{
    return (struct csv){line, separator, false};
}

/* Takes the next field. False behind the last; an empty line has one, empty, field. */
bool csv_next(struct csv *c, struct csv_field *field);

/* The field's text with single quotes, in `scratch` where it had to be changed. */
struct str csv_text(const struct csv_field *field, struct output *scratch);

#endif
