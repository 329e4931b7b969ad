/* SPDX-License-Identifier: Apache-2.0 */
/* History: samples of days and weeks, written in windows and read as profiles.
 *
 * A store is a descriptor. The daemon adds windows; every command reads a span of time
 * as a profile whose samples have labels (model/sample_labels.h).
 *
 * To add a store:
 *   1. src/store/NAME/NAME.c with one `const struct store_kind store_kind_NAME`
 *   2. its line in stores.def and in meson.build
 *   3. tests/store/test_NAME.c
 *
 * What is stored of a sample: the second, the event, the name of the thread, the labels,
 * the stack, the count and the weight. Process and thread ids are not stored, because the
 * number of series would grow with every process. A stack is the same in all windows if
 * its frames are equal by content (model/content_hash.h).
 *
 * Times are ns since 1970-01-01 UTC. A span includes `from` and excludes `to`; samples
 * count in the second in which they occurred, so spans of whole seconds add up.
 *
 * One process writes a store; any number of processes read it at the same time. */
#ifndef STOKE_STORE_STORE_H
#define STOKE_STORE_STORE_H

#include "base/format.h"
#include "model/builder.h"
#include "store/metrics.h"

#define STORE_SECOND ((uint64_t)1000000000)

/* The name of a function that earlier windows contain by module and offset only. */
struct store_name {
    struct str path, build_id; /* of the module */
    uint64_t start, end;       /* offsets, as in frames */
    struct str name;
};

/* Samples of a period and metrics, which are stored all or not at all. */
struct store_window {
    const struct profile *profile; /* of BUILD_KEEP, sample times as above; NULL: none */
    uint64_t start, end;
    double rate;                    /* samples per second and CPU */
    uint64_t lost;                  /* samples that the kernel could not record */
    const struct store_name *names; /* known since the window before */
    size_t name_count;
    const struct store_metric_block *metrics; /* replace the stored values */
    size_t metric_count;
};

#define STORE_DONE_SIZE 512

struct store_span {
    uint64_t from, to;
};

/* What retention removes: the oldest windows, until both limits hold. 0: no limit. */
struct store_limits {
    uint64_t age;   /* ns */
    uint64_t bytes; /* of the store */
};

struct store_usage {
    uint64_t bytes;
    uint64_t data_bytes;   /* of these, rows of samples */
    uint64_t metric_bytes; /* of these, metrics */
    uint64_t windows, rows, samples, lost;
    uint64_t stacks, frames, series; /* distinct */
    uint64_t first, last;            /* times; 0: the store is empty */
};

enum store_mode {
    STORE_READ,
    STORE_WRITE,  /* creates a file; refused if another process writes it */
    STORE_CREATE, /* creates what is missing, also on a server */
};

struct store;

/* All functions return false with err set on failure. */
struct store_kind {
    const char *name;
    const char *scheme; /* of addresses: "clickhouse://"; NULL: a location is a file */
    size_t size; /* of the struct that begins with a struct store; zeroed before open */

    /* `location` is the name of a file, or an address. close() follows in any case. */
    bool (*open)(struct store *s, const char *location, enum store_mode mode,
                 struct error *err);
    void (*close)(struct store *s);

    /* The window is stored when this returns true, and survives a crash of the process
     * and of the machine. */
    bool (*add)(struct store *s, const struct store_window *w, struct error *err);

    /* Adds the samples of a span to the builder, and their facts. */
    bool (*read)(struct store *s, const struct store_span *span, struct builder *b,
                 struct error *err);

    /* Calls `each` with the blocks of a span, of that step, in order of time. The block is
     * valid during the call. `each` returns false to stop. */
    bool (*read_metrics)(struct store *s, const struct store_span *span, uint32_t step,
                         bool (*each)(void *context, const struct store_metric_block *b),
                         void *context, struct error *err);

    /* Removes what is beyond the limits, and does one part of the upkeep: a sum, or packing.
     * Takes a bounded time: call it regularly. */
    bool (*retain)(struct store *s, const struct store_limits *limits, uint64_t now,
                   struct error *err);

    bool (*usage)(struct store *s, struct store_usage *u, struct error *err);

    /* Call it before a window is added, and after that failed. Checks whether the location still
     * has what is written, undamaged; if not, fixes it, without losing what was stored, or
     * begins a new store. `done`, of STORE_DONE_SIZE, becomes a sentence about that, or says that
     * the process that wrote it before was killed; empty: nothing was done. After a failure nothing
     * may be called but fix(), settle() and close().
     * Takes a bounded time: what takes longer continues in the background, and fix() fails until
     * it has ended. */
    bool (*fix)(struct store *s, char *done, size_t size, struct error *err);

    /* Waits for the work in the background. Returns false if nothing does. NULL: nothing
     * ever does. */
    bool (*settle)(struct store *s);

    /* Writes lines about the store for its administrator. NULL: there is nothing to say. */
    bool (*describe)(struct store *s, struct output *o, struct error *err);
};

struct store {
    const struct store_kind *kind;
};

/* Opens the store at a location. The caller closes it with store_close. NULL, with err
 * set, on failure. */
struct store *store_open(const char *location, enum store_mode mode, struct error *err);
void store_close(struct store *s); /* NULL is allowed */

/* Whether a location is an address of a server, not a file. */
bool store_location_is_address(const char *location);

/* The location that is used if none is given: of the machine for root, else of the user.
 * `mode` STORE_READ: that of the machine if the user has none. Returns `room`. */
const char *store_default_location(enum store_mode mode, char *room, size_t size);

#endif
