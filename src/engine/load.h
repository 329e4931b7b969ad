/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a profile of files: opens and unpacks them, finds their formats, reads them on
 * several cores, resolves addresses, merges. */
#ifndef STOKE_ENGINE_LOAD_H
#define STOKE_ENGINE_LOAD_H

#include "engine/report.h"
#include "engine/symbols.h"
#include "import/perf_data/recording.h"

/* A span of a store instead of files. The command line reads it (options/history.h);
 * engine_load reads files only. */
struct history_request {
    struct name_list at; /* spans, as the user gives them */
    const char *store;   /* its location; NULL: the default */
};

/* Receives the code of functions that a .stoke has (model/code.h), once for each file that has
 * some. */
struct code_consumer {
    void *context;
    /* May take what *code has, and leave an empty one. */
    void (*take)(void *context, struct code *code, const struct resolver *resolver);
};

struct load_settings {
    const struct importer *format; /* NULL: found from the content */
    int64_t threads;               /* 0: as many as there are cores */
    struct limits limits;          /* all zero: limits_default */
    struct load_result *result;    /* the load adds to it; may be NULL */
    /* standard input of unknown format is folded stacks if some lines are */
    bool pipe_is_folded;
    bool keep;          /* each sample with its time */
    bool quiet;         /* nothing is reported */
    bool events_apart;  /* of several files: events of different names stay different */
    bool modules_alike; /* functions with the same name in different modules are one */
    bool own_warnings;  /* missing symbols are not reported */
    bool unresolved;    /* no binary is read: addresses have no names */
    const struct perf_consumer
        /* receives the samples of recordings one by one; the profile then has none */
        *consumer;
    const struct code_consumer *code_consumer; /* NULL: the code is not read */
    struct import_options import;
    struct symbol_settings symbols; /* for recordings, whose addresses have no names */
    struct name_list skip_after;
    struct history_request history;
    struct name_list source_maps; /* files */
};

/* Reads the files ("-": standard input) into one profile (see merge.h), which the caller
 * owns. NULL, with err set, if one cannot be read. A file that ended early or is damaged
 * has its warnings in the profile, and facts.incomplete and the result are set.
 *
 * Threads of one process may load at the same time. */
struct profile *engine_load(const struct load_settings *settings, int file_count,
                            char **files, const struct engine_report *report,
                            struct error *err);

/* A thread pool for the work after reading, with as many threads as the settings allow.
 * NULL when out of memory: callers then work without threads. The caller destroys it
 * with os_thread_pool_destroy. */
struct os_thread_pool *engine_load_thread_pool(const struct load_settings *settings);

#endif
