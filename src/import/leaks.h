/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the readers of reports as text and as XML. */
#ifndef STOKE_IMPORT_LEAKS_H
#define STOKE_IMPORT_LEAKS_H

#include "import/stacktext.h"

/* The first line of a record, without valgrind's prefix: of a leak, else the title of an error, whose
 * stack follows. */
void leaks_begin(struct stacktext *t, struct str text);

/* "at 0x109182: use (a.c:6)": the next frame of the record. */
void leaks_frame(struct stacktext *t, struct str text);

/* Ends the current record, if any. */
void leaks_end(struct stacktext *t);

/* Reads valgrind's XML (--xml=yes); `t` is open. If the text is *damaged, err is set, but the records
 * before the damage are read. False, with err set, if the source failed or memory is exhausted. */
bool leaks_read_xml(struct stacktext *t, struct source *in, bool *damaged,
                    struct error *err);

#endif
