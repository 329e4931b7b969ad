/* SPDX-License-Identifier: Apache-2.0 */
/* Commands: one file each.
 *
 * To add a command:
 *   1. src/cli/NAME.c with one `const struct command command_NAME`
 *   2. its line in commands.def
 *   3. its line in src/cli/meson.build
 *   4. doc/stoke-NAME.1.scd (the build generates OPTIONS from the table), its line in
 *      doc/meson.build
 *   5. tests/cli/NAME.sh
 * `stoke help`, --help, completion and the tests use the list. */
#ifndef STOKE_CLI_COMMAND_H
#define STOKE_CLI_COMMAND_H

#include "cli/options/option.h"

/* Exit statuses: success, failure, invalid command line. */
enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

struct command {
    const char *name;
    const char *summary;               /* a phrase for `stoke help` */
    const char *usage;                 /* the text after "stoke NAME" */
    const char *examples;              /* lines for --help; may be NULL */
    const struct option_group *groups; /* ended by a group without options */
    size_t settings_size;
    size_t result; /* of commands that load: the offset in the settings of a
                             struct load_result *, which command_run sets; 0: none */
    size_t config; /* offset of the name of a file of options (options/config.h), which
                             the command line overrides; 0: none */
    const void *defaults; /* settings_size bytes; NULL: all zero */
    bool runs_command;    /* the first argument that is not an option starts a program */
    bool small_pages;     /* runs beside the programs it observes: no large pages, which
                             are zeroed and resident as a whole */
    /* files: the arguments that are not options. */
    int (*run)(void *settings, int file_count, char **files);
};

extern const struct command *const commands[]; /* ends with NULL */

/* Reports the error unless ok. Returns the exit status. */
int command_status(bool ok, const struct error *err);

const struct command *command_named(const char *name);

/* Reports an unknown command and the closest known name. Returns the exit status. */
int command_unknown(const char *name);

/* Parses the options (argv[0] is the command's name) and runs the command. Returns the
 * exit status. */
int command_run(const struct command *c, int argc, char **argv);

/* Prints the help of a command. */
void command_help(const struct command *c);

#endif
