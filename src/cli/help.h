/* SPDX-License-Identifier: Apache-2.0 */
/* `stoke help`: commands, options and formats. The build uses it to generate the OPTIONS
 * of the manual pages and the shell completion. */
#ifndef STOKE_CLI_HELP_H
#define STOKE_CLI_HELP_H

/* argv[0] is "help". Returns the exit status. */
int help_run(int argc, char **argv);

/* Prints the list of commands. */
void help_commands(void);

#endif
