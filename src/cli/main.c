/* SPDX-License-Identifier: Apache-2.0 */
/* The stoke program. */
#include "base/hash.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/message.h"
#include "os/large_pages.h"
#include "os/machine.h"
#include <signal.h>
#include <stdio.h>

static int print_version(void)
{
    printf("stoke %s\n", STOKE_VERSION);
    return message_output_done() ? STATUS_OK : STATUS_FAILED;
}

static bool is_one_of(const char *name, const char *a, const char *b, const char *c)
{
    return strcmp(name, a) == 0 || strcmp(name, b) == 0 || strcmp(name, c) == 0;
}

static void set_hash_keys(void)
{
    uint64_t keys[4];
    if (os_random(keys, sizeof keys))
        hash_set_keys(keys);
}

int main(int argc, char **argv)
{
    set_hash_keys();
    signal(SIGPIPE, SIG_DFL); /* "stoke fold | head" ends silently */
    signal(SIGXFSZ,
           SIG_IGN); /* exceeding the file size limit becomes an error of write */
    if (argc < 2) {
        help_commands();
        return STATUS_USAGE;
    }
    if (is_one_of(argv[1], "--version", "version", "-V"))
        return print_version();
    if (is_one_of(argv[1], "help", "--help", "-h"))
        return help_run(argc - 1, argv + 1);
    const struct command *c = command_named(argv[1]);
    if (!c)
        return command_unknown(argv[1]);
    if (!c->small_pages)
        arena_set_source(&os_large_pages);
    return command_run(c, argc - 1, argv + 1);
}
