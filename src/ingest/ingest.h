/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles that agents of other projects push, as samples for a store.
 *
 * A reader of a protocol (pyroscope.h, push.h, otlp.h) reads the body of a request and adds
 * its profiles. The result has one sample for each stack, event, label set and second, with
 * the labels of the agent: `service`, `host` and its others.
 *
 * Everything is pure, and the input is hostile: sizes, counts and depths are bounded, and a
 * body that violates its protocol is refused as a whole, with a message that states the
 * reason. */
#ifndef STOKE_INGEST_INGEST_H
#define STOKE_INGEST_INGEST_H

#include "base/hash.h"
#include "model/builder.h"
#include "model/sample_labels.h"

#define INGEST_BODY_MAX ((size_t)64 << 20)     /* of a request, as it was sent */
#define INGEST_UNPACKED_MAX ((size_t)64 << 20) /* of what it, and its parts, unpack to */
#define INGEST_LABELS_MAX 64                   /* of a profile */
#define INGEST_KEY_MAX 1024
#define INGEST_VALUE_MAX 2048
#define INGEST_PROFILES_MAX 4096 /* of a request */
#define INGEST_TYPES_MAX 64      /* value types of a profile */

#define INGEST_SECOND ((uint64_t)1000000000)
#define INGEST_AHEAD (600 * INGEST_SECOND)   /* clocks differ by less */
#define INGEST_LENGTH (3600 * INGEST_SECOND) /* of a profile, and of all of a request */

struct ingest_label {
    struct str key, value;
};

struct ingest_labels {
    struct ingest_label items[INGEST_LABELS_MAX];
    size_t count;
};

/* What to do with a value type of a profile: a member of sample_type_config. */
struct ingest_type {
    struct str name;    /* in the profile */
    struct str display; /* the event; empty: the same */
    bool is_cumulative; /* since the process started: its values are left out */
};

/* What is known of a profile besides its samples. */
struct ingest_about {
    struct ingest_labels
        labels;           /* __name__ is what the profile measures: see ingest_add */
    uint64_t from, until; /* ns since 1970; 0: not known */
    double rate;          /* samples per second; 0: not known */
    const struct ingest_type *types; /* NULL: all value types, as they are */
    size_t type_count;
};

/* Asked for each profile with a key: whether it is new. The answers for a request are
 * settled later, by the caller of the reader. */
enum ingest_answer { INGEST_NEW, INGEST_KNOWN, INGEST_BUSY };

struct ingest {
    /* The caller sets these. */
    uint64_t now;    /* ns since 1970 */
    uint64_t oldest; /* earlier profiles are refused; 0: none */
    enum ingest_answer (*claim)(void *context, uint64_t key); /* NULL: all are new */
    void *context;
    /* All samples get this label, and no other of its key: a tenant's. Empty: none. */
    struct ingest_label own;

    struct builder builder; /* of BUILD_KEEP */
    uint64_t start, end;    /* of all samples, whole seconds; 0: there are none */
    uint64_t profiles, repeated, left_out; /* profiles; known ones; values */
    uint64_t unpacked;                     /* bytes */
    bool is_busy;       /* the same profile is being stored: the request can come again */
    struct arena arena; /* of one request */
};

/* False when out of memory. Call ingest_deinit in any case. */
bool ingest_init(struct ingest *in, struct error *err);
void ingest_deinit(struct ingest *in);

/* Adds the samples of a profile of BUILD_COUNT. The label __name__ (process_cpu, memory, mutex,
 * block, wall, ...) says what values of ambiguous names are. Numbers that samples have as labels,
 * and ids of spans, are left out: each value would be a series of its own. Returns false with
 * err set if the profile is refused. */
bool ingest_add(struct ingest *in, const struct profile *p,
                const struct ingest_about *about, struct error *err);

/* Checks the time of a profile and extends the span of the request. *from and *until become
 * whole seconds, and the present if they are 0. */
bool ingest_span(struct ingest *in, uint64_t *from, uint64_t *until, struct error *err);

/* Adds the labels to the builder, under the names that stoke uses: `service`, `host`. Names with
 * two underscores at both ends are left out. */
bool ingest_label_set(struct ingest *in, const struct ingest_labels *labels,
                      label_set_id *set, struct error *err);

/* Appends a label. False with err set if there are too many, or if it is too long. */
bool ingest_put_label(struct ingest_labels *labels, struct str key, struct str value,
                      struct error *err);

/* The value of a label; empty if there is none. */
struct str ingest_label(const struct ingest_labels *labels, struct str key);

/* Whether a profile with this key is to be added. False with err set: not now. */
bool ingest_claim(struct ingest *in, uint64_t key, bool *is_new, struct error *err);

/* Unpacks gzip; other bytes are returned as they are. The result is in in->arena, or is
 * `packed`. False with err set if they are damaged or too large. */
bool ingest_unpack(struct ingest *in, struct str packed, struct str *out,
                   struct error *err);

/* A time since 1970 in s, ms, us or ns, by its size. */
uint64_t ingest_time(uint64_t number);

/* Parses all of `body` by the importer of that name, and adds what it read. */
bool ingest_add_format(struct ingest *in, const char *importer, struct str body,
                       struct ingest_about *about, struct error *err);

/* The same without adding. The caller destroys the profile. NULL with err set on failure. */
struct profile *ingest_read_format(struct ingest *in, const char *importer,
                                   struct str body, struct error *err);

#endif
