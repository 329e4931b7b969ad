/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "base/format.h"
#include "base/nearest.h"
#include "cli/message.h"
#include "cli/options/load.h"
#include "os/guard.h"
#include <stdio.h>
#include <stdlib.h>

#define COMMAND(name) extern const struct command command_##name;
#include "cli/commands.def"
#undef COMMAND

#define COMMAND(name) &command_##name,
const struct command *const commands[] = {
#include "cli/commands.def"
    NULL};
#undef COMMAND

const struct command *command_named(const char *name)
{
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

int command_unknown(const char *name)
{
    struct error err;
    struct nearest nearest = {.word = str_of(name)};
    nearest_offer(&nearest, STR("help"));
    for (size_t i = 0; commands[i]; i++)
        nearest_offer(&nearest, str_of(commands[i]->name));
    error_set(&err, "there is no command '%s'", name);
    nearest_hint(&nearest, "", "'stoke help' lists them", &err);
    message_error(&err);
    return STATUS_USAGE;
}

/* "  -i, --inverted" and what it does, in two columns. */
static void help_row(const struct option_group *g, const struct option *o)
{
    char left[80];
    struct str names = str_of(o->names), name = str_cut(&names, ',');
    char letter[5] = "    ";
    if (option_letter(g, o))
        format_text(letter, sizeof letter, "-%c, ", o->letter);
    size_t used = format_text(left, sizeof left, "  %s--%.*s%s%s", letter, STR_ARG(name),
                              o->arg ? " " : "", o->arg ? o->arg : "");
    if (used > 29)
        printf("%s\n%30s %s\n", left, "", o->help);
    else
        printf("%-30s %s\n", left, o->help);
}

void command_help(const struct command *c)
{
    printf("stoke %s - %s\n\nusage: stoke %s %s\n", c->name, c->summary, c->name,
           c->usage);
    for (const struct option_group *g = c->groups; g->options; g++) {
        printf("\n%s:\n", g->title);
        for (const struct option *o = g->options; o->names; o++)
            if (o->help)
                help_row(g, o);
    }
    if (c->examples)
        printf("\nexamples:\n%s", c->examples);
    printf("\nmore: man stoke-%s\n", c->name);
}

static bool wants_help(const struct command *c, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (c->runs_command && argv[i][0] != '-')
            return false; /* what follows may be another program's */
        else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

/* What could be read of a file that became shorter meanwhile is written, but is not all.
 * A recorder goes on whatever becomes of the files that it looks at. */
static int check_inputs(const struct command *c, int status)
{
    struct error err;
    if (status != STATUS_OK || c->runs_command || !os_guard_was_cut())
        return status;
    error_set(&err,
              "a file became shorter while it was read: what was left of it is used");
    error_hint(&err, "read it again when nothing writes to it any more");
    message_error(&err);
    return STATUS_FAILED;
}

/* What could be read of a file that ends too early is written, but is not all. */
static int check_complete(int status)
{
    struct error err = {.place = PLACE_NONE};
    if (status != STATUS_OK || !load_was_incomplete())
        return status;
    error_set(&err, "the input is not complete: what could be read of it is used");
    error_hint(&err, "make it, or copy it, again");
    message_error(&err);
    return STATUS_FAILED;
}

int command_run(const struct command *c, int argc, char **argv)
{
    struct error err;
    int rest, status = STATUS_USAGE;
    if (wants_help(c, argc, argv)) {
        command_help(c);
        return fflush(stdout) == 0 ? STATUS_OK : STATUS_FAILED;
    }
    void *settings = calloc(1, c->settings_size);
    if (!settings)
        return STATUS_FAILED;
    if (c->defaults)
        memcpy(settings, c->defaults, c->settings_size);
    bool parsed = c->runs_command
                      ? options_parse_front(c->groups, settings, argc, argv, &rest, &err)
                      : options_parse(c->groups, settings, argc, argv, &rest, &err);
    if (parsed)
        status = check_complete(check_inputs(c, c->run(settings, rest, argv)));
    else
        message_error(&err);
    options_free(c->groups, settings);
    free(settings);
    return status;
}
