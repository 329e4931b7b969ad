/* SPDX-License-Identifier: Apache-2.0 */
/* The options of every command that reads profiles, and its input files. */
#ifndef STOKE_CLI_OPTIONS_LOAD_H
#define STOKE_CLI_OPTIONS_LOAD_H

#include "cli/options/option.h"
#include "engine/load.h"

/* Parses the name of a format: of an importer, or as gprof2dot has it. */
bool load_parse_format(const char *text, void *value, struct error *err);

/* Parses --limits into a struct limits. */
bool load_parse_limit(const char *text, void *value, struct error *err);

/* The fields are those of struct load_settings. */
extern const struct option load_options[];

/* Chooses the inputs of a command by the rule of perf: without a file name, standard input
 * ("-") if it is a pipe or a file, otherwise ./perf.data. `inputs` holds the values of
 * --input; NULL if the command has no such option. False with err set if there is no
 * input, or if --input and file arguments are combined. With --at, the "files" are its
 * spans, which load_profiles reads from the store. */
bool load_inputs(const struct load_settings *settings, const struct name_list *inputs,
                 int *file_count, char ***files, struct error *err);

/* True if load_inputs finds an input without a file name. */
bool load_has_input(void);

/* Calls engine_load and prints notes, progress and the profile's warnings to standard
 * error. */
struct profile *load_profiles(const struct load_settings *settings, int file_count,
                              char **files, struct error *err);

/* If the profile has several events, reports that the first is shown and how to choose
 * another. */
void load_note_event(const struct profile *p, bool quiet);

#endif
