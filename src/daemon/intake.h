/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles that agents push, on their way to the store.
 *
 * A request is answered when its samples are stored: an agent that gets no answer sends them
 * again. A profile with a key that was stored before is left out; the newest keys are in
 * memory, so it counts twice only if the server was started again between both. */
#ifndef STOKE_DAEMON_INTAKE_H
#define STOKE_DAEMON_INTAKE_H

#include "base/idmap.h"
#include "daemon/history.h"
#include "ingest/ingest.h"

#define DAEMON_INTAKE_KEYS ((size_t)65536) /* of a generation; there are two */

enum daemon_entrance {
    ENTRANCE_INGEST,
    ENTRANCE_PUSH,
    ENTRANCE_OTLP,
    ENTRANCE_SCRAPE,
    ENTRANCES
};

struct daemon_entrance_totals {
    uint64_t stored, refused, failed; /* requests */
    uint64_t profiles, repeated;      /* profiles that were stored; that were before */
    uint64_t samples, left_out; /* rows that were stored; values that were left out */
};

struct daemon_key_generation {
    struct idmap keys; /* enum key_state */
    struct arena arena;
};

struct daemon_intake {
    struct daemon_history *history;
    struct os_lock writing;                      /* the store has one writer */
    struct os_lock lock;                         /* of what follows */
    struct daemon_key_generation generations[2]; /* the newer first */
    struct daemon_entrance_totals totals[ENTRANCES];
};

/* The keys of a request. */
struct daemon_intake_claims {
    struct daemon_intake *intake;
    uint64_t salt; /* of a tenant, whose keys are not those of others */
    struct arena arena;
    uint64_t *keys;
    size_t count, cap;
};

bool daemon_intake_init(struct daemon_intake *t); /* false when out of memory */
void daemon_intake_deinit(struct daemon_intake *t);

/* The functions of struct ingest; the context is a struct daemon_intake_claims. */
enum ingest_answer daemon_intake_claim(void *context, uint64_t key);

/* The profiles with these keys are stored, or are not. Frees the claims. */
void daemon_intake_settle(struct daemon_intake_claims *c, bool stored);

/* Stores what a request contains. */
bool daemon_intake_store(struct daemon_intake *t, struct ingest *in, struct error *err);

/* The oldest time of a profile that the store keeps. */
uint64_t daemon_intake_oldest(const struct daemon_intake *t, uint64_t now);

/* Counts a request. */
enum daemon_intake_result { INTAKE_STORED, INTAKE_REFUSED, INTAKE_FAILED };
void daemon_intake_count(struct daemon_intake *t, enum daemon_entrance e,
                         enum daemon_intake_result result, const struct ingest *in,
                         uint64_t samples);

void daemon_intake_totals(struct daemon_intake *t,
                          struct daemon_entrance_totals totals[ENTRANCES]);

/* "ingest", "push", "otlp", "scrape" */
const char *daemon_entrance_name(enum daemon_entrance e);

#endif
