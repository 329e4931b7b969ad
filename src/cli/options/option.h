/* SPDX-License-Identifier: Apache-2.0 */
/* Options: one table that is parsed by, printed as --help, written into the manual and
 * completed from.
 *
 * A command's options are groups of rows; a row says where in the command's settings its
 * value goes. Both "--name value" and "--name=value" are understood, "--no-name" takes a
 * flag back, letters may be joined ("-iv"), and "--" ends the options. */
#ifndef STOKE_CLI_OPTIONS_OPTION_H
#define STOKE_CLI_OPTIONS_OPTION_H

#include "base/error.h"
#include "base/name_list.h"

enum option_kind {
    OPTION_FLAG,    /* bool */
    OPTION_CLEAR,   /* bool, set to false */
    OPTION_STRING,  /* const char * */
    OPTION_LIST,    /* struct name_list, each time it is given */
    OPTION_INT,     /* int64_t */
    OPTION_NUMBER,  /* double */
    OPTION_CHOICE,  /* int, the place of the value in `choices` */
    OPTION_SET,     /* int, set to `value` */
    OPTION_IGNORED, /* accepted for scripts written for another tool; does nothing */
    OPTION_PARSED,  /* const char *, by `parse` */
};

struct option {
    const char *names; /* "width", or "colors,colour" with other spellings behind */
    char letter;       /* 0 for none */
    const char *arg;   /* what the value is called in the help; NULL for a flag */
    const char *help;  /* a phrase, lower case, no full stop; NULL: not listed */
    enum option_kind kind;
    size_t offset;              /* of the value in the settings */
    const char *const *choices; /* OPTION_CHOICE, and for OPTION_PARSED what it may be
                                   made of, for help and completion: NULL-terminated */
    int value;                  /* OPTION_SET */
    bool (*parse)(const char *text, void *value, struct error *err); /* OPTION_PARSED */
    const char *fallback; /* OPTION_PARSED: the value where the next argument is none that
                             `parse` takes, but a file; NULL: there must be one */
    bool before_command;  /* with a fallback: what is no value may be a program's name */
    double least, most;   /* OPTION_INT, OPTION_NUMBER: its range; both 0: any */
};

/* A titled run of options; the row with names NULL ends it. */
struct option_group {
    const char *title;
    const struct option *options;
    size_t base; /* added to every offset: where the group's struct is in the settings */
    const char *taken; /* letters of its options that are others' in this command */
};

/* The option's letter in this command; 0 for none. */
char option_letter(const struct option_group *group, const struct option *o);

/* Parses argv[1..argc) into settings. What is not an option is moved to argv[0..*rest) in
 * its order. Lists point into argv and are allocated once (options_free). */
bool options_parse(const struct option_group *groups, void *settings, int argc,
                   char **argv, int *rest, struct error *err);

/* The same, but the first word that is no option ends them: it begins the command line of
 * another program. */
bool options_parse_front(const struct option_group *groups, void *settings, int argc,
                         char **argv, int *rest, struct error *err);
void options_free(const struct option_group *groups, void *settings);

#endif
