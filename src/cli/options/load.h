/* SPDX-License-Identifier: Apache-2.0 */
/* The options of every command that reads profiles, and its input files. */
#ifndef STOKE_CLI_OPTIONS_LOAD_H
#define STOKE_CLI_OPTIONS_LOAD_H

#include "cli/options/option.h"
#include "engine/load.h"

/* Parses --limits and puts it in force, for all that is read from then on. */
bool load_parse_limit(const char *text, void *value, struct error *err);

/* The fields are those of struct load_settings. */
extern const struct option load_options[];

/* The inputs of a command. The rule is perf's: without a file name, standard input ("-")
 * if it is a pipe or a file, else ./perf.data. `inputs` are those of --input, where the
 * command has it, else NULL. False if there is no perf.data, and if some files are given
 * in one way and some in the other. */
bool load_inputs(const struct name_list *inputs, int *file_count, char ***files,
                 struct error *err);

/* Whether load_inputs finds something to read where no file is named. */
bool load_has_input(void);

/* engine_load, with notes, progress and the profile's warnings on standard error. */
struct profile *load_profiles(const struct load_settings *settings, int file_count,
                              char **files, struct error *err);

/* Whether any input ended early or was damaged: what was read of it is used, but the
 * command does not succeed. */
bool load_was_incomplete(void);

/* Where there are several events, says that the first is shown and how to choose. */
void load_note_event(const struct profile *p, bool quiet);

#endif
