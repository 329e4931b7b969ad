/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a recording as soon as it has ended: the format, the file that holds the recording
 * until the output exists, the drawing itself.
 *
 * The recording goes through a file and is read by a process of its own: reading it while it
 * is made costs as much CPU time, but loses samples at high rates, because the rings are
 * not drained meanwhile; and a recording that cannot be drawn would be lost. */
#ifndef STOKE_ENGINE_RECORD_DRAW_H
#define STOKE_ENGINE_RECORD_DRAW_H

#include "engine/report.h"
#include "export/exporter.h"
#include "record/session.h"

struct record_drawing {
    const struct exporter *exporter; /* NULL: the recording is the output */
    const char *output;
    bool packed;
    bool with_code; /* .stoke: with the code of functions */

    /* The recording, in the folder of the output until the output exists; empty: it has
     * no name. */
    char data[4200];

    /* A profile that is merged with the recording, and removed with it; or NULL. */
    const char *beside;

    const struct engine_report *report;
    /* passed to the following two functions, which the drawing process calls */
    void *context;
    void (*loaded)(void *context, const struct profile *p, const char *file);
    void (*failed)(void *context, const struct error *err);
};

/* Finds the format from the output's name, in lower or upper case; `bundle`: .stoke
 * with the code of functions, whatever the name is. Sets d->exporter, d->with_code and d->data; the caller sets the rest. False if
 * the name requests a format that cannot be written. */
bool record_drawing_choose(struct record_drawing *d, const char *output, bool bundle,
                           struct error *err);

enum record_drawing_result {
    RECORD_DRAWN,
    RECORD_NOT_DRAWN, /* and the recording is not retained */
    RECORD_RETAINED,  /* not drawn: the recording is in d->data */
};

/* Draws the recording and removes d->data. If `whole` is false, err already describes
 * why the recording is not complete, and it is retained. It is also retained if drawing
 * fails or a signal ends it. If nothing was recorded, nothing is drawn. The session is
 * finished, but not closed. err is set unless the result is RECORD_DRAWN. */
enum record_drawing_result record_drawing_make(const struct record_drawing *d,
                                               struct record_session *session, bool whole,
                                               struct error *err);

#endif
