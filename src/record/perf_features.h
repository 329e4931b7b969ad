/* SPDX-License-Identifier: Apache-2.0 */
/* What a perf.data tells of the machine and of itself besides its records: its features
 * (Linux, tools/perf/Documentation/perf.data-file-format.txt). */
#ifndef STOKE_RECORD_PERF_FEATURES_H
#define STOKE_RECORD_PERF_FEATURES_H

#include "base/output.h"
#include "base/perf_attr.h"
#include "perf/format.h"

/* An event as the file tells of it. */
struct perf_file_event {
    struct perf_attr attr; /* as its records are written, which may be less than taken */
    const char *name;
    const char *tracepoint; /* whose fields the file explains; NULL or "": none */
    const uint64_t *ids;    /* of its counters, as its records have them */
    size_t id_count;
    size_t members;    /* events behind it that are counted together with it */
    const char *group; /* and how they are called; NULL or "": not */
    size_t id_room;    /* there may be more, up to so many: perf_data_writer_tell_ids */
};

struct record_jit_maps;

/* What stands in the file's head. All of it outlives the writer. */
struct perf_file_head {
    const struct perf_file_event *events;
    size_t event_count;
    const char *const *command; /* the recorder's own words */
    size_t command_count;
    int pack_level; /* zstd's */
    bool packed;
    struct record_jit_maps *jit_maps; /* what they have when the file ends is in it */
};

#define FEATURES_MOST 24

struct perf_features {
    struct output bodies;
    struct {
        unsigned number; /* enum perf_feature */
        size_t offset, size;
    } items[FEATURES_MOST]; /* by number, ascending */
    size_t count;
};

/* Looks at the machine and fills in all that is known from the beginning. False when
 * memory is short; deinit in any case. */
bool perf_features_init(struct perf_features *f, const struct perf_file_head *head);
void perf_features_deinit(struct perf_features *f);

/* Adds what is known at the end: the times of the first and the last sample. */
void perf_features_add_times(struct perf_features *f, uint64_t first, uint64_t last);

/* And, behind that, the JITs' maps: those who read the file on another day find them. */
void perf_features_add_jit_maps(struct perf_features *f, struct record_jit_maps *maps);

/* The bits of the file's header. */
void perf_features_bits(const struct perf_features *f, uint64_t bits[4]);

/* The table that stands behind the records, for bodies that begin at `at` in the file. */
void perf_features_table(const struct perf_features *f, uint64_t at, struct output *out);

static inline size_t perf_features_table_size(const struct perf_features *f)
{
    return f->count * 16;
}

#endif
