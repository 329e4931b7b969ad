/* SPDX-License-Identifier: Apache-2.0 */
/* Options: parsing, --help, the manual and shell completion use the same table.
 *
 * A command's options are groups of rows. A row names the field of the command's settings
 * that receives the value. "--name value" and "--name=value" are equivalent, "--no-name"
 * clears a flag, letters can be combined ("-iv"), and "--" ends the options. The beginning
 * of a name, at least three letters, is enough if only one option has it. */
#ifndef STOKE_CLI_OPTIONS_OPTION_H
#define STOKE_CLI_OPTIONS_OPTION_H

#include "base/error.h"
#include "base/name_list.h"

enum option_kind {
    OPTION_FLAG,     /* bool */
    OPTION_CLEAR,    /* bool, set to false */
    OPTION_STRING,   /* const char * */
    OPTION_LIST,     /* struct name_list, one item for each use */
    OPTION_INT,      /* int64_t */
    OPTION_NUMBER,   /* double */
    OPTION_CHOICE,   /* int, the index of the value in `choices` */
    OPTION_SET,      /* int, set to `value` */
    OPTION_COUNT,    /* int, how often it is used: -d, -dd */
    OPTION_IGNORED,  /* accepted for scripts written for another tool; does nothing */
    OPTION_PARSED,   /* const char *, by `parse` */
    OPTION_REPLACED, /* of another tool; refused: `instead` says what to use here */
};

struct option {
    const char *names; /* "width", or "colors,colour" with aliases after the first name */
    char letter;       /* 0 for none */
    const char *arg;   /* name of the value in the help; NULL for a flag */
    const char *help;  /* a phrase, lower case, no full stop; NULL: not listed */
    enum option_kind kind;
    size_t offset;              /* of the value in the settings */
    const char *const *choices; /* NULL-terminated values of OPTION_CHOICE; for
                                   OPTION_PARSED words for help and completion */
    int value;                  /* OPTION_SET */
    bool (*parse)(const char *text, void *value, struct error *err); /* OPTION_PARSED */
    const char
        *fallback;       /* OPTION_PARSED: the value if the next argument is an option, or
                             a file and not a valid value; NULL: the value is required */
    bool before_command; /* with a fallback: the next argument can be a program's name */
    const char *instead; /* OPTION_REPLACED: a hint; NULL: there is nothing like it */
    double least, most;  /* OPTION_INT, OPTION_NUMBER: its range; both 0: any */
};

/* Options under one title; the row with names NULL ends them. */
struct option_group {
    const char *title;
    const struct option *options;
    size_t base;       /* offset of the group's struct in the settings */
    const char *taken; /* letters that other options of this command use */
};

/* False if none of its options has a help text. */
bool option_group_is_listed(const struct option_group *group);

/* Returns the option's letter in this command; 0 for none. */
char option_letter(const struct option_group *group, const struct option *o);

/* Parses argv[1..argc) into settings. Moves the other arguments to argv[0..*rest), in
 * order. The items of lists point into argv; options_free frees the lists. */
bool options_parse(const struct option_group *groups, void *settings, int argc,
                   char **argv, int *rest, struct error *err);

/* The same, but the first argument that is not an option ends the options: it starts the
 * command line of another program. */
bool options_parse_front(const struct option_group *groups, void *settings, int argc,
                         char **argv, int *rest, struct error *err);
void options_free(const struct option_group *groups, void *settings);

/* Sets one option by its whole name, without dashes. `value` NULL: there is none; a flag takes "yes"
 * or "no", too. The settings point to the value. */
bool options_set(const struct option_group *groups, void *settings, const char *name,
                 const char *value, struct error *err);

#endif
