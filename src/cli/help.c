/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/help.h"
#include "cli/command.h"
#include "cli/message.h"
#include "export/exporter.h"
#include "import/importer.h"
#include <stdio.h>

void help_commands(void)
{
    printf("stoke - a profiler for time and memory\n\n"
           "usage: stoke COMMAND [OPTION...] [FILE...]\n\ncommands:\n");
    for (size_t i = 0; commands[i]; i++)
        printf("  %-12s %s\n", commands[i]->name, commands[i]->summary);
    printf("\n  %-12s the options of a command\n  %-12s the input and output formats\n"
           "\nexamples:\n"
           "  stoke record -a --duration 10 -o out.svg\n"
           "  stoke record ./program && stoke report\n"
           "  perf script | stoke flamegraph > out.svg\n",
           "help COMMAND", "help formats");
}

static void print_formats(void)
{
    printf("Input formats (detected from the content, or --format NAME);\n"
           "gzip, zstd and UTF-16 are decoded automatically:\n");
    for (size_t i = 0; importers[i]; i++)
        printf("  %-14s %s\n", importers[i]->name, importers[i]->summary);
    printf("\nOutput formats (stoke convert FILE -o NAME.SUFFIX):\n");
    for (size_t i = 0; exporters[i]; i++)
        printf("  %-14s %s (.%s)\n", exporters[i]->name, exporters[i]->summary,
               exporters[i]->suffixes);
}

static struct str first_name(const struct option *o)
{
    struct str names = str_of(o->names);
    return str_cut(&names, ',');
}

/* --- Manual pages ------------------------------------------------------------------ */

/* Prints text with scdoc's markup characters escaped. */
static void put_scdoc(const char *text)
{
    for (const char *c = text; *c; c++) {
        if (strchr("_*\\#`[]|<>.~", *c) && (c == text || *c != '.'))
            putchar('\\');
        putchar(*c);
    }
}

static void put_names(const struct option_group *g, const struct option *o)
{
    struct str names = str_of(o->names);
    if (option_letter(g, o))
        printf("*-%c*%s", o->letter, names.len ? ", " : "");
    for (bool first = true; names.len; first = false) {
        struct str name = str_cut(&names, ',');
        printf("%s*--%.*s*", first ? "" : ", ", STR_ARG(name));
    }
    if (o->arg) {
        printf(" _");
        put_scdoc(o->arg);
        putchar('_');
    }
}

static void put_option(const struct option_group *g, const struct option *o)
{
    put_names(g, o);
    printf("\n\t");
    put_scdoc(o->help);
    for (int i = 0; o->choices && o->choices[i]; i++) {
        printf(i ? ", " : "; one of: ");
        put_scdoc(o->choices[i]);
    }
    printf("\n\n");
}

/* The options of another tool: those that are accepted without effect, in one paragraph,
 * and those that are refused, with what to use instead. */
static void put_unlisted(const struct option_group *g)
{
    bool any = false;
    printf("## %s\n\n", g->title);
    for (const struct option *o = g->options; o->names; o++) {
        if (o->kind != OPTION_IGNORED)
            continue;
        printf(any ? ", " : "Accepted without effect: ");
        put_names(g, o);
        any = true;
    }
    printf(any ? ".\n\n" : "");
    for (const struct option *o = g->options; o->names; o++) {
        if (o->kind != OPTION_REPLACED)
            continue;
        put_names(g, o);
        printf("\n\t");
        put_scdoc(o->instead ? "refused; instead: " : "refused");
        put_scdoc(o->instead ? o->instead : "");
        printf("\n\n");
    }
}

/* Prints the OPTIONS of a manual page as scdoc. */
static void print_manual(const struct command *c)
{
    for (const struct option_group *g = c->groups; g->options; g++) {
        if (!option_group_is_listed(g)) {
            put_unlisted(g);
            continue;
        }
        if (g != c->groups)
            printf("## %s\n\n", g->title);
        for (const struct option *o = g->options; o->names; o++)
            if (o->help)
                put_option(g, o);
    }
}

/* --- The table of options ------------------------------------------------------------ */

/* Prints a line for each option, also those without a help text: names, letter, what
 * becomes of it (set, ignored, refused), and its help, or what to use instead. Tabs
 * separate them. */
static void print_options(const struct command *c)
{
    for (const struct option_group *g = c->groups; g->options; g++) {
        for (const struct option *o = g->options; o->names; o++) {
            const char letter[] = {option_letter(g, o), 0};
            bool refused = o->kind == OPTION_REPLACED;
            const char *text = refused ? o->instead : o->help;
            printf("%s\t%s\t%s\t%s\n", o->names, letter,
                   refused                     ? "refused"
                   : o->kind == OPTION_IGNORED ? "ignored"
                                               : "set",
                   text ? text : "");
        }
    }
}

/* --- Completion -------------------------------------------------------------------- */

/* Prints a case of the shell script: the values of an option. */
static void put_choices(const struct command *c, const struct option *o)
{
    printf("    %s:--%.*s) words=\"", c->name, STR_ARG(first_name(o)));
    for (int i = 0; o->choices[i]; i++)
        printf("%s%s", i ? " " : "", o->choices[i]);
    printf("\" ;;\n");
}

static void put_all_choices(const struct command *c)
{
    for (const struct option_group *g = c->groups; g->options; g++)
        for (const struct option *o = g->options; o->names; o++)
            if (o->help && o->choices)
                put_choices(c, o);
}

/* Prints a case of the shell script: the options of a command. */
static void put_options(const struct command *c)
{
    printf("    %s) words=\"--help", c->name);
    for (const struct option_group *g = c->groups; g->options; g++)
        for (const struct option *o = g->options; o->names; o++)
            if (o->help)
                printf(" --%.*s", STR_ARG(first_name(o)));
    printf("\" ;;\n");
}

static void print_completion(void)
{
    printf("# bash completion for stoke, generated by: stoke help --completion bash\n"
           "_stoke()\n{\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}"
           " command=${COMP_WORDS[1]} words=\n"
           "    if [ \"$COMP_CWORD\" = 1 ]; then\n        words=\"help");
    for (size_t i = 0; commands[i]; i++)
        printf(" %s", commands[i]->name);
    printf("\"\n    else\n    case $command:$before in\n    *:--format) words=\"");
    for (size_t i = 0; importers[i]; i++)
        printf("%s%s", i ? " " : "", importers[i]->name);
    printf("\" ;;\n    convert:--to) words=\"");
    for (size_t i = 0; exporters[i]; i++)
        printf("%s%s", i ? " " : "", exporters[i]->name);
    printf("\" ;;\n    help:*) words=\"formats");
    for (size_t i = 0; commands[i]; i++)
        printf(" %s", commands[i]->name);
    printf("\" ;;\n");
    for (size_t i = 0; commands[i]; i++)
        put_all_choices(commands[i]);
    printf("    esac\n    fi\n"
           "    if [ -z \"$words\" ] && [ \"${word#-}\" != \"$word\" ]; then\n"
           "    case $command in\n");
    for (size_t i = 0; commands[i]; i++)
        put_options(commands[i]);
    printf("    esac\n    fi\n"
           "    # shellcheck disable=SC2207\n"
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
           "}\n"
           "complete -o default -F _stoke stoke\n");
}

/* --- The command ------------------------------------------------------------------- */

static int print_completion_of(const char *shell)
{
    struct error err;
    if (strcmp(shell, "bash") == 0) {
        print_completion();
        return STATUS_OK;
    }
    error_set(&err, "no completion for the shell '%s'", shell);
    error_hint(&err, "bash");
    message_error(&err);
    return STATUS_USAGE;
}

static int help_about(const char *name, void (*print)(const struct command *))
{
    const struct command *c = command_named(name);
    if (!c)
        return command_unknown(name);
    print(c);
    return STATUS_OK;
}

int help_run(int argc, char **argv)
{
    int status = STATUS_OK;
    if (argc < 2)
        help_commands();
    else if (strcmp(argv[1], "formats") == 0)
        print_formats();
    else if (strcmp(argv[1], "--man") == 0 && argc > 2)
        status = help_about(argv[2], print_manual);
    else if (strcmp(argv[1], "--options") == 0 && argc > 2)
        status = help_about(argv[2], print_options);
    else if (strcmp(argv[1], "--completion") == 0 && argc > 2)
        status = print_completion_of(argv[2]);
    else
        status = help_about(argv[1], command_help);
    return message_output_done() ? status : STATUS_FAILED;
}
