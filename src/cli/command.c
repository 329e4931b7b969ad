/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "base/format.h"
#include "base/nearest.h"
#include "cli/message.h"
#include "cli/options/config.h"
#include "engine/report.h"
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

int command_status(bool ok, const struct error *err)
{
    if (!ok)
        message_error(err);
    return ok ? STATUS_OK : STATUS_FAILED;
}

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
    error_set(&err, "unknown command '%s'", name);
    nearest_hint(&nearest, "", "'stoke help' lists them", &err);
    message_error(&err);
    return STATUS_USAGE;
}

/* Prints an option and its description in two columns. */
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
        if (option_group_is_listed(g))
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
            return false; /* the rest belongs to another program */
        else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

/* Fails if the output is incomplete because an input was. */
static int check_result(const struct load_result *r, int status)
{
    struct error err = {.location = LOCATION_NONE};
    if (status != STATUS_OK || (!r->truncated && !r->incomplete))
        return status;
    if (r->truncated) {
        error_set(&err,
                  "an input file shrank while it was read: the output is incomplete");
        error_hint(&err, "run the command again when no program writes to the file");
    } else {
        error_set(&err, "the input is incomplete: only the readable part is used");
        error_hint(&err, "create or copy the file again");
    }
    message_error(&err);
    return STATUS_FAILED;
}

/* Runs the command. Its settings point to the result of its loads. */
static int run(const struct command *c, void *settings, int file_count, char **files)
{
    struct load_result result = {.incomplete = false};
    struct load_result *pointer = &result;
    if (c->result)
        memcpy((char *)settings + c->result, &pointer, sizeof pointer);
    return check_result(&result, c->run(settings, file_count, files));
}

static void set_defaults(const struct command *c, void *settings)
{
    memset(settings, 0, c->settings_size);
    if (c->defaults)
        memcpy(settings, c->defaults, c->settings_size);
}

static bool parse(const struct command *c, void *settings, int argc, char **argv,
                  int *rest, struct error *err)
{
    return c->runs_command
               ? options_parse_front(c->groups, settings, argc, argv, rest, err)
               : options_parse(c->groups, settings, argc, argv, rest, err);
}

/* Parses the command line. If it names a file of options, parses that file, then the command line
 * again, which overrides the file. *text is for free(). */
static bool parse_both(const struct command *c, void *settings, int argc, char **argv,
                       int *rest, char **text, struct error *err)
{
    char **again = calloc((size_t)argc + 1, sizeof *again); /* parsing moves words */
    const char *file = NULL;
    if (!again)
        return error_memory(err);
    memcpy(again, argv, (size_t)argc * sizeof *again);
    bool ok = parse(c, settings, argc, argv, rest, err);
    if (ok && c->config)
        memcpy(&file, (char *)settings + c->config, sizeof file);
    if (file) {
        options_free(c->groups, settings);
        set_defaults(c, settings);
        ok = config_read(c->groups, settings, file, text, err);
        memcpy(argv, again, (size_t)argc * sizeof *again);
        ok = ok && parse(c, settings, argc, argv, rest, err);
    }
    free((void *)again);
    return ok;
}

int command_run(const struct command *c, int argc, char **argv)
{
    struct error err;
    char *text = NULL;
    int rest = 0, status = STATUS_USAGE;
    if (wants_help(c, argc, argv)) {
        command_help(c);
        return message_output_done() ? STATUS_OK : STATUS_FAILED;
    }
    void *settings = calloc(1, c->settings_size);
    if (!settings)
        return STATUS_FAILED;
    set_defaults(c, settings);
    if (parse_both(c, settings, argc, argv, &rest, &text, &err))
        status = run(c, settings, rest, argv);
    else
        message_error(&err);
    options_free(c->groups, settings);
    free(settings);
    free(text);
    return status;
}
