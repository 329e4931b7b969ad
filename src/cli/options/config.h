/* SPDX-License-Identifier: Apache-2.0 */
/* Files of options: lines "name = value", with the names of the command line. A flag is "name",
 * or "name = yes" or "no". Empty lines, and those that begin with '#', mean nothing. */
#ifndef STOKE_CLI_OPTIONS_CONFIG_H
#define STOKE_CLI_OPTIONS_CONFIG_H

#include "cli/options/option.h"

/* Sets what the lines of `text` say. The settings point into the text, which is changed and must
 * outlive them. Returns false with err set, and its file and line, for the first wrong line. */
bool config_parse(const struct option_group *groups, void *settings, const char *file,
                  char *text, struct error *err);

/* Reads such a file. *text is for free(), after the settings; NULL on failure too. */
bool config_read(const struct option_group *groups, void *settings, const char *file,
                 char **text, struct error *err);

#endif
