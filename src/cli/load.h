/* SPDX-License-Identifier: Apache-2.0 */
/* From file names to a profile: open, unpack, find the format, read, split over the
 * cores. Shared by every command that takes profiles, with the options that steer it. */
#ifndef STOKE_CLI_LOAD_H
#define STOKE_CLI_LOAD_H

#include "cli/options/option.h"
#include "cli/options/symbols.h"
#include "import/perf_data/profile.h"

struct load_settings {
    const struct importer *format; /* NULL: found from the content */
    int64_t threads;               /* 0: as many as there are cores */
    bool pipe_is_folded; /* standard input of no known format is folded stacks if some of
                            its lines are; set by a command that peers pipe those to */
    bool keep;           /* set by a command that needs each sample with its time */
    const char *limits;  /* set by load_parse_limit, which puts it in force */
    bool quiet;
    bool events_apart;  /* of several files: events of different names stay different; set
                          by a command that shows all, or where the user chooses */
    bool modules_alike; /* functions of one name are one, whatever module they are of;
                           set by a command that shows no modules */
    bool own_warnings;  /* set by a command that shows the warnings itself */
    const struct perf_taker *taker; /* set by a command that is to be given the samples of
                                     * recordings one by one: the profile has none then */
    struct import_options import;
    struct symbol_settings symbols; /* of recordings, whose addresses have no names */
    struct option_list skip_after;
    struct option_list source_maps; /* files */
};

/* Parses --limits and puts it in force, for all that is read from then on. */
bool load_parse_limit(const char *text, void *value, struct error *err);

/* The options of every command that reads profiles. */
extern const struct option load_options[];

/* The inputs of a command, all of which have the rule of perf: where no file is named,
 * standard input ("-") if it is a pipe or a file, else ./perf.data. `inputs` are those of
 * --input, where the command has it, else NULL. False where there is no perf.data, and where
 * some are named in the one way and some in the other. */
bool load_inputs(const struct option_list *inputs, int *file_count, char ***files,
                 struct error *err);

/* Whether load_inputs finds something to read where no file is named. */
bool load_has_input(void);

/* Reads the files ("-": standard input) into one profile (see together.h), says
 * what was wrong with them, and hands it out; NULL with err set when any could not be
 * read. */
struct profile *load_profiles(const struct load_settings *settings, int file_count,
                              char **files, struct error *err);

/* Whether any input ended too early, or was damaged so that the rest is missing: what was
 * read of it is used, but the command does not succeed. */
bool load_was_incomplete(void);

/* Those who may help with what comes after the reading: as many as the settings allow.
 * NULL when memory is short, and the work is done alone. os_crew_destroy it. */
struct os_crew *load_crew(const struct load_settings *settings);

/* Where there are several events, says that the first is shown and how to choose. */
void load_note_event(const struct profile *p, bool quiet);

#endif
