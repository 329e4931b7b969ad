/* SPDX-License-Identifier: Apache-2.0 */
/* Detects the format of an input from its beginning; of JSON, from its keys, wherever
 * they are in the file.
 *
 *     detection_init(&d);
 *     while (!detect(&d, bytes, last, name))
 *         ...append more bytes...
 *     d.found, or NULL */
#ifndef STOKE_IMPORT_DETECT_H
#define STOKE_IMPORT_DETECT_H

#include "import/importer.h"
#include "import/json_outline.h"

struct detection {
    const struct importer *found; /* when detect returned true; NULL: unknown format */
    struct json_outline outline;
    size_t fed;
};

void detection_init(struct detection *d);

/* `bytes` are all bytes of the input so far; `last`: there are no more. `name` is the
 * file's, for its suffix. False: more bytes are needed. */
bool detect(struct detection *d, struct str bytes, bool last, struct str name);

/* Whether a text of no known format has some lines of folded stacks: probably the user
 * piped folded stacks together with other output. */
bool detect_some_folded(struct str head);

/* Writes the names of the formats that the input may have to `out`, by its kind (JSON,
 * XML, text, binary) and by the file's suffix: "cpuprofile, speedscope". Of more than fit
 * into `size` bytes (at least 64) the first, and where all are listed. */
void detect_candidates(struct str head, struct str name, char *out, size_t size);

#endif
