/* SPDX-License-Identifier: Apache-2.0 */
/* stoke store: creates, checks and measures a store. */
#include "store/store.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/history.h"

struct store_settings {
    const char *store;
};

#define OFF(field) offsetof(struct store_settings, field)

static const struct option store_options[] = {
    {"store", 0, "FILE", "the store: a file, or clickhouse://USER@HOST:PORT/DATABASE",
     OPTION_STRING, OFF(store)},
    {0}};

static const struct option_group store_groups[] = {{"options", store_options, 0, NULL},
                                                   {0}};

/* Opens the store and prints what its administrator needs. */
static bool print_about(const char *location, enum store_mode mode, struct error *err)
{
    struct output o = OUTPUT_BUFFER;
    struct store *s = store_open(location, mode, err);
    bool ok = s && (!s->kind->describe || s->kind->describe(s, &o, err));
    if (ok && !s->kind->describe)
        output_format(&o, "store      %s\n", location);
    if (ok)
        ok = message_lines(output_contents(&o)) ||
             error_set(err, "cannot write the output");
    output_deinit(&o);
    store_close(s);
    return ok;
}

static bool init(const char *location, struct error *err)
{
    return print_about(location, STORE_CREATE, err);
}

static bool check(const char *location, struct error *err)
{
    return print_about(location, STORE_READ, err);
}

static bool usage(const char *location, struct error *err)
{
    return history_print_usage(location, err);
}

static const struct {
    const char *name;
    bool (*run)(const char *location, struct error *err);
    enum store_mode mode; /* the default store */
} actions[] = {{"init", init, STORE_WRITE},
               {"check", check, STORE_READ},
               {"usage", usage, STORE_READ}};

#define ACTIONS (sizeof actions / sizeof *actions)

static int bad_usage(const char *word)
{
    struct error err = {.location = LOCATION_NONE};
    if (word)
        error_set(&err, "unexpected argument '%s'", word);
    else
        error_set(&err, "what to do with the store is missing");
    error_hint(&err, "stoke store init, stoke store check or stoke store usage");
    message_error(&err);
    return STATUS_USAGE;
}

static int store_command(void *settings, int word_count, char **words)
{
    const struct store_settings *s = settings;
    struct error err = {.location = LOCATION_NONE};
    char room[4096];
    if (word_count != 1)
        return bad_usage(word_count ? words[1] : NULL);
    for (size_t i = 0; i < ACTIONS; i++) {
        if (strcmp(words[0], actions[i].name) != 0)
            continue;
        const char *location =
            s->store ? s->store
                     : store_default_location(actions[i].mode, room, sizeof room);
        return command_status(actions[i].run(location, &err), &err);
    }
    return bad_usage(words[0]);
}

const struct command command_store = {
    .name = "store",
    .summary = "create, check or measure a store of history",
    .usage = "init|check|usage [OPTION...]",
    .examples = "  stoke store usage\n"
                "  stoke store init --store clickhouse://stoke@db:8443/stoke\n"
                "  stoke daemon --store clickhouse://stoke@db:8443/stoke\n",
    .groups = store_groups,
    .settings_size = sizeof(struct store_settings),
    .run = store_command,
};
