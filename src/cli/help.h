/* SPDX-License-Identifier: Apache-2.0 */
/* `stoke help`: what there is, what a command takes, and what is made of the same tables
 * when stoke is built: the options of the manual pages, the completion of the shell. */
#ifndef STOKE_CLI_HELP_H
#define STOKE_CLI_HELP_H

/* argv[0] is "help". The exit status. */
int help_run(int argc, char **argv);

/* All commands, as a list. */
void help_commands(void);

#endif
