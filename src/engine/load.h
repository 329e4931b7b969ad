/* SPDX-License-Identifier: Apache-2.0 */
/* From file names to a profile: open, unpack, find the format, read on several cores,
 * name addresses, merge. */
#ifndef STOKE_ENGINE_LOAD_H
#define STOKE_ENGINE_LOAD_H

#include "engine/report.h"
#include "engine/symbols.h"
#include "import/perf_data/profile.h"

struct load_settings {
    const struct importer *format; /* NULL: found from the content */
    int64_t threads;               /* 0: as many as there are cores */
    const char *limits;            /* as the user gave them; they are in force already */
    bool pipe_is_folded; /* standard input of no known format is folded stacks if
                                      some of its lines are */
    bool keep;           /* each sample with its time */
    bool quiet;          /* nothing is reported */
    bool events_apart;   /* of several files: events of different names stay different */
    bool modules_alike;  /* functions of one name are one, whatever module they are of */
    bool own_warnings;   /* nothing is reported of symbols that were not found */
    const struct perf_taker *taker; /* is given the samples of recordings one by one: the
                                     * profile has none then */
    struct import_options import;
    struct symbol_settings symbols; /* of recordings, whose addresses have no names */
    struct name_list skip_after;
    struct name_list source_maps; /* files */
};

/* Reads the files ("-": standard input) into one profile (see merge.h), which is the
 * caller's. NULL with err set when any could not be read. A file that ended early or is
 * damaged has its warnings in the profile, and facts.incomplete is set. */
struct profile *engine_load(const struct load_settings *settings, int file_count,
                            char **files, const struct engine_report *report,
                            struct error *err);

/* Threads for what comes after the reading: as many as the settings allow. NULL when
 * memory is short, and the work is done alone. os_crew_destroy it. */
struct os_crew *engine_load_crew(const struct load_settings *settings);

#endif
