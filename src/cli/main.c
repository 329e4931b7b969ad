/* stoke: from the stacks of a running system to where its time, or its memory, goes. */
#include "cli/command.h"
#include "cli/message.h"
#include "export/exporter.h"
#include "import/importer.h"
#include <signal.h>
#include <stdio.h>

static void print_commands(void)
{
    printf("stoke - where does the time, or the memory, go\n\n"
           "usage: stoke COMMAND [OPTION...] [FILE...]\n\ncommands:\n");
    for (size_t i = 0; commands[i]; i++)
        printf("  %-12s %s\n", commands[i]->name, commands[i]->summary);
    printf(
        "\n  %-12s what a command does and takes\n  %-12s what can be read and written\n"
        "\nFor example:\n"
        "  perf record -F 99 -a -g -- sleep 10\n"
        "  perf script | stoke flamegraph > out.svg\n",
        "help COMMAND", "help formats");
}

static void print_formats(void)
{
    printf("Formats that are read (found from the content, or --format NAME);\n"
           "gzip, zstd and UTF-16 are unpacked as they are:\n");
    for (size_t i = 0; importers[i]; i++)
        printf("  %-14s %s\n", importers[i]->name, importers[i]->summary);
    printf("\nFormats that are written (stoke convert FILE -o NAME.SUFFIX):\n");
    for (size_t i = 0; exporters[i]; i++)
        printf("  %-14s %s (.%s)\n", exporters[i]->name, exporters[i]->summary,
               exporters[i]->suffixes);
}

static int unknown_command(const char *name)
{
    struct error err;
    error_set(&err, "there is no command '%s'", name);
    error_hint(&err, "'stoke help' lists them");
    message_error(&err);
    return STATUS_USAGE;
}

static int help(int argc, char **argv)
{
    if (argc < 2) {
        print_commands();
    } else if (strcmp(argv[1], "formats") == 0) {
        print_formats();
    } else {
        const struct command *c = command_named(argv[1]);
        if (!c)
            return unknown_command(argv[1]);
        command_help(c);
    }
    return fflush(stdout) == 0 ? STATUS_OK : STATUS_FAILED;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_DFL); /* "stoke fold | head" ends as any filter does */
    const char *name = argc > 1 ? argv[1] : "help";
    if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) {
        printf("stoke %s\n", STOKE_VERSION);
        return fflush(stdout) == 0 ? STATUS_OK : STATUS_FAILED;
    }
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 ||
        strcmp(name, "-h") == 0)
        return argc > 1 ? help(argc - 1, argv + 1) : (print_commands(), STATUS_USAGE);
    const struct command *c = command_named(name);
    return c ? command_run(c, argc - 1, argv + 1) : unknown_command(name);
}
