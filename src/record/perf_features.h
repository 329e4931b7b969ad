/* SPDX-License-Identifier: Apache-2.0 */
/* The features of a perf.data: what it contains about the machine and itself besides records
 * (Linux, tools/perf/Documentation/perf.data-file-format.txt). */
#ifndef STOKE_RECORD_PERF_FEATURES_H
#define STOKE_RECORD_PERF_FEATURES_H

#include "base/output.h"
#include "base/perf_attr.h"
#include "perf/format.h"

/* An event as the file describes it. */
struct perf_file_event {
    struct perf_attr
        attr; /* of the records in the file, which may have fewer fields than were sampled */
    const char *name;
    const char *tracepoint; /* whose format the file contains; NULL or "": none */
    const uint64_t *ids;    /* of its counters, as its records contain them */
    size_t id_count;
    size_t members;    /* other events in the group that it leads */
    const char *group; /* the group's name; NULL or "": none */
};

struct record_jit_maps;
struct record_chain;

/* The head of the file. All of it outlives the writer. */
struct perf_file_head {
    const struct perf_file_event *events;
    size_t event_count;
    const char *const *command; /* the recorder's command line */
    size_t command_count;
    int pack_level; /* zstd's */
    bool packed;
    struct record_jit_maps *jit_maps; /* written when the file ends; */

    /* so is what this writes about interpreters; or NULL */
    void (*put_interpreters)(const struct record_chain *chain, struct output *out);
    const struct record_chain *chain; /* its argument */

    /* CPU time of the command, ns, once the file ends: if less was sampled than used; or 0 */
    uint64_t sampled_time, used_time;
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

/* Collects what is known about the machine at the start. False if out of memory; deinit it in
 * any case. */
bool perf_features_init(struct perf_features *f, const struct perf_file_head *head);
void perf_features_deinit(struct perf_features *f);

/* Adds the feature COMPRESSED as a record. */
void perf_features_put_packing_record(struct output *o,
                                      const struct perf_file_head *head);

/* Adds what is known at the end: the times of the first and the last sample. */
void perf_features_add_times(struct perf_features *f, uint64_t first, uint64_t last);

/* Adds the perf maps of JITs, last: for readers on another day. */
void perf_features_add_jit_maps(struct perf_features *f, struct record_jit_maps *maps);

/* Adds what is known about the interpreters of processes, after the perf maps. */
void perf_features_add_interpreters(struct perf_features *f,
                                    const struct perf_file_head *head);

/* Adds the CPU times of the head, after the interpreters. */
void perf_features_add_cpu_time(struct perf_features *f,
                                const struct perf_file_head *head);

/* The bits for the file's header. */
void perf_features_bits(const struct perf_features *f, uint64_t bits[4]);

/* The table after the records, for bodies that start at offset `at` of the file. */
void perf_features_table(const struct perf_features *f, uint64_t at, struct output *out);

static inline size_t perf_features_table_size(const struct perf_features *f)
{
    return f->count * 16;
}

#endif
