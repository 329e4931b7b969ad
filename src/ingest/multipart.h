/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a body of type multipart/form-data (RFC 7578), in order. Nothing is copied. */
#ifndef STOKE_INGEST_MULTIPART_H
#define STOKE_INGEST_MULTIPART_H

#include "base/error.h"

#define MULTIPART_PARTS_MAX 32
#define MULTIPART_HEAD_MAX 4096   /* bytes of the fields of a part */
#define MULTIPART_BOUNDARY_MAX 70 /* bytes, of the standard */

struct multipart {
    struct str rest;                            /* begins after a boundary */
    char delimiter[MULTIPART_BOUNDARY_MAX + 5]; /* "\r\n--" and the boundary */
    size_t delimiter_length;
    size_t parts; /* so far */
    bool failed;
};

struct multipart_part {
    struct str name; /* of the form's field */
    struct str body;
};

/* Whether a content type is multipart/form-data. */
bool multipart_is(struct str content_type);

/* Begins with the body, whose boundary the content type names. */
bool multipart_init(struct multipart *m, struct str content_type, struct str body,
                    struct error *err);

/* The next part. False at the end, and on failure: then m->failed is true and err is set. */
bool multipart_next(struct multipart *m, struct multipart_part *part, struct error *err);

#endif
