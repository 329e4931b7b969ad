/* SPDX-License-Identifier: Apache-2.0 */
/* Which format an input is of, found from its beginning; of a JSON text, from its keys,
 * wherever they lie.
 *
 *     detection_init(&d);
 *     while (!detect(&d, bytes, last, name))
 *         ...more bytes, behind the same ones...
 *     d.found, or NULL */
#ifndef STOKE_IMPORT_DETECT_H
#define STOKE_IMPORT_DETECT_H

#include "import/importer.h"
#include "import/json_outline.h"

struct detection {
    const struct importer *found; /* once decided; NULL: the format is not known */
    struct json_outline outline;
    size_t fed;
};

void detection_init(struct detection *d);

/* Looks at the input's bytes so far, from its beginning; `last`: nothing comes behind
 * them. `name` is the file's, for its suffix. False: more bytes are needed. */
bool detect(struct detection *d, struct str bytes, bool last, struct str name);

/* A text that is no profile by what it looks like, but has lines of folded stacks: what a
 * user who pipes folded lines in may mean. */
bool detect_some_folded(struct str head);

/* Puts the names of the formats that the input may be of, by what it looks like (JSON, XML,
 * text, binary) and by the file's suffix, to `out`: "cpuprofile, speedscope". */
void detect_candidates(struct str head, struct str name, char *out, size_t size);

#endif
