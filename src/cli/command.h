/* SPDX-License-Identifier: Apache-2.0 */
/* Commands: one file each.
 *
 * To add a command:
 *   1. src/cli/NAME.c with one `const struct command command_NAME`
 *   2. its line in commands.def
 *   3. its line in src/cli/meson.build
 *   4. doc/stoke-NAME.1.scd, whose OPTIONS are filled in from the table
 *   5. tests/cli/NAME.sh
 * `stoke help`, --help, completion and the tests find it in the list. */
#ifndef STOKE_CLI_COMMAND_H
#define STOKE_CLI_COMMAND_H

#include "cli/options/option.h"

/* Exit statuses: 0 all is well, 1 something failed, 2 the command line is wrong. */
enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

struct command {
    const char *name;
    const char *summary;               /* a phrase for `stoke help` */
    const char *usage;                 /* what stands behind "stoke NAME" */
    const char *examples;              /* lines for --help; may be NULL */
    const struct option_group *groups; /* ended by a group without options */
    size_t settings_size;
    const void *defaults; /* of settings_size bytes; NULL: all zero */
    bool runs_command;    /* the first word that is no option begins a program's line */
    /* files: what is left of the command line without its options. */
    int (*run)(void *settings, int file_count, char **files);
};

extern const struct command *const commands[]; /* and a NULL behind them */

const struct command *command_named(const char *name);

/* Says that there is no command of that name, and which one may be meant; the exit
 * status. */
int command_unknown(const char *name);

/* Parses the options (argv[0] is the command's name) and runs it; the exit status. */
int command_run(const struct command *c, int argc, char **argv);

/* Prints the help of a command, made from its table. */
void command_help(const struct command *c);

#endif
