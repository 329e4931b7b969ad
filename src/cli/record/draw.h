/* SPDX-License-Identifier: Apache-2.0 */
/* What stoke record draws at once: into which format, from a recording that is kept where
 * the drawing does not come to its end. */
#ifndef STOKE_CLI_RECORD_DRAW_H
#define STOKE_CLI_RECORD_DRAW_H

#include "export/exporter.h"
#include "record/session.h"

struct record_drawing {
    const struct exporter *exporter; /* NULL: the recording is all that is wanted */
    const char *output;
    bool packed, quiet;
    char
        data[4200]; /* the recording, beside the output until that is there; empty: it has
                        no name */
};

/* Finds out what is to be drawn to a file of that name; with `bundle` it is a .stoke,
 * whatever its name. False where the name asks for what there is not. */
bool record_drawing_choose(struct record_drawing *d, const char *output, bool bundle,
                           struct error *err);

/* Draws what was recorded, and removes the recording; where `err` says already that not
 * all of it is there (`whole` is false), or drawing fails or is ended by a signal, the
 * recording is kept, and err tells where. The session is finished, but not closed. */
bool record_drawing_make(const struct record_drawing *d, struct record_session *session,
                         bool whole, struct error *err);

#endif
