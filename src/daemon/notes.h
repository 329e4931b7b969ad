/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of users on the time line, in a file beside the store: NAME.notes, with one line for each:
 * its number, its time (seconds since 1970), its text. Threads of the server use them. */
#ifndef STOKE_DAEMON_NOTES_H
#define STOKE_DAEMON_NOTES_H

#include "base/arena.h"
#include "codec/json.h"
#include "os/thread_pool.h"
#include "store/store.h"

#define DAEMON_NOTES_MAX 1000
#define DAEMON_NOTE_BYTES 500

struct daemon_note {
    uint64_t number, time;
    struct str text;
};

struct daemon_notes {
    struct os_lock lock;
    char folder[4096], name[512]; /* of the file; empty: notes cannot be stored */
    struct arena arena;
    struct daemon_note *items; /* by number */
    size_t count;
    uint64_t last; /* number that was given last */
};

/* Reads the notes of the store at that location. Lines that are not valid are left out. False
 * when out of memory. */
bool daemon_notes_init(struct daemon_notes *n, const char *store);
void daemon_notes_deinit(struct daemon_notes *n);

/* Both store the change, or return false with err set, and change nothing. The text has at most
 * DAEMON_NOTE_BYTES bytes; there are at most DAEMON_NOTES_MAX notes: then the oldest are removed. */
bool daemon_notes_add(struct daemon_notes *n, uint64_t time, struct str text,
                      struct error *err);
bool daemon_notes_remove(struct daemon_notes *n, uint64_t number, struct error *err);

/* {"notes":[{"number":1,"time":1790000000,"text":"deployed"}]}: those of the span. */
void daemon_notes_write(struct daemon_notes *n, const struct store_span *span,
                        struct output *out);

#endif
