/* SPDX-License-Identifier: Apache-2.0 */
/* stoke server: the page and the API over a store, and the entrances for agents. */
#include "daemon/server.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/secrets.h"
#include "os/machine.h"
#include "os/stream_server.h"
#include "os/wait.h"

#define DAYS_DEFAULT 30
#define MB_DEFAULT 2048
#define MB ((uint64_t)1 << 20)
#define DAY (86400 * STORE_SECOND)

struct server_options {
    const char *store, *listen, *token_file, *tenants, *scrape, *certificate, *key,
        *config;
    int64_t days, megabytes;
    bool only_reads;
};

#define OFF(field) offsetof(struct server_options, field)

static bool parse_address(const char *text, void *value, struct error *err)
{
    const char **address = value;
    if (!os_stream_address_is_valid(text)) {
        error_set(err, "invalid address '%s'", text);
        return error_hint(err, "ADDRESS:PORT, such as " SERVER_ADDRESS);
    }
    *address = text;
    return true;
}

static const struct option store_option_table[] = {
    {"store", 0, "FILE|URL",
     "the store: a file, or clickhouse://... (default: as stoke daemon)", OPTION_STRING,
     OFF(store)},
    {"read-only", 0, NULL, "do not write the store, which another process may write",
     OPTION_FLAG, OFF(only_reads)},
    {"keep-days", 0, "N", "in a file: remove samples after N days (default: 30)",
     OPTION_INT, OFF(days), .least = 1, .most = 36500},
    {"keep-size", 0, "MB",
     "in a file: remove the oldest samples above this size (default: 2048)", OPTION_INT,
     OFF(megabytes), .least = 1, .most = 1e9},
    {0}};

static const struct option server_option_table[] = {
    {"listen", 0, "ADDRESS:PORT", "where to serve (default: " SERVER_ADDRESS ")",
     OPTION_PARSED, OFF(listen), .parse = parse_address},
    {"token-file", 0, "FILE",
     "requests need the token in this file; without it, only loopback addresses",
     OPTION_STRING, OFF(token_file)},
    {"tenants", 0, "FILE",
     "lines TOKEN KEY=VALUE: clients that see and write only what has the label",
     OPTION_STRING, OFF(tenants)},
    {"scrape", 0, "FILE",
     "ask the programs in this file for /debug/pprof: scrape_configs, as of Prometheus",
     OPTION_STRING, OFF(scrape)},
    {"cert", 0, "FILE", "serve HTTPS with this certificate (PEM)", OPTION_STRING,
     OFF(certificate)},
    {"key", 0, "FILE", "the private key of the certificate (PEM)", OPTION_STRING,
     OFF(key)},
    {0}};

/* The targets of --scrape; the text of the file stays in memory. */
static bool read_scrapes(const char *path, struct scrape_config *c, struct error *err)
{
    static char text[1 << 18];
    struct str all = os_read_text(path, text, sizeof text);
    char why[sizeof err->message];
    if (all.len == 0 || all.len == sizeof text)
        return error_set(err, "'%s' cannot be read, is empty, or is too large", path);
    if (scrape_config_parse(c, all, err))
        return true;
    format_text(why, sizeof why, "%s", err->message);
    return error_set(err, "'%s': %s", path, why);
}

static const struct option config_option_table[] = {
    {"config", 0, "FILE", "read options from this file: lines NAME = VALUE",
     OPTION_STRING, OFF(config)},
    {0}};

static const struct option_group server_groups[] = {
    {"store", store_option_table, 0, NULL},
    {"servers", server_option_table, 0, NULL},
    {"configuration", config_option_table, 0, NULL},
    {0}};

/* Whether the options and arguments can be combined. */
static bool check_usage(const struct server_options *o, const char *word,
                        struct error *err)
{
    if (word) {
        error_set(err, "unexpected argument '%s'", word);
        return error_hint(err, "--store FILE or URL names the store");
    }
    if (o->tenants && !o->token_file) {
        error_set(err, "--tenants needs --token-file");
        return error_hint(err,
                          "the token in it is that of the administrator, who sees all");
    }
    if (o->scrape && o->only_reads)
        return error_set(err, "--scrape writes the store: it cannot be combined with "
                              "--read-only");
    return true;
}

static int server_command(void *settings, int word_count, char **words)
{
    const struct server_options *o = settings;
    struct error err = {.location = LOCATION_NONE};
    char token[SECRET_TOKEN_SIZE], room[4096];
    struct scrape_config scrapes = {.arena = ARENA_INIT};
    struct server_settings s = {
        .store =
            o->store ? o->store : store_default_location(STORE_WRITE, room, sizeof room),
        .listen = o->listen,
        .only_reads = o->only_reads,
        .limits = {(uint64_t)o->days * DAY, (uint64_t)o->megabytes * MB}};
    if (!check_usage(o, word_count ? words[0] : NULL, &err)) {
        message_error(&err);
        return STATUS_USAGE;
    }
    os_wait_block_signals();
    if ((o->token_file && !secret_read_token(o->token_file, token, &err)) ||
        (o->tenants &&
         !secret_read_tenants(o->tenants, token, &s.tenants, &s.tenant_count, &err)) ||
        !secret_read_certificate(o->certificate, o->key, &s.certificate, &s.key, &err)) {
        message_error(&err);
        return STATUS_FAILED;
    }
    s.token = o->token_file ? token : NULL;
    bool ok = !o->scrape || read_scrapes(o->scrape, &scrapes, &err);
    if (ok && o->scrape)
        s.scrapes = &scrapes;
    ok = ok && server_run(&s, &message_report, &err);
    scrape_config_deinit(&scrapes);
    return command_status(ok, &err);
}

static const struct server_options server_defaults = {
    .listen = SERVER_ADDRESS, .days = DAYS_DEFAULT, .megabytes = MB_DEFAULT};

const struct command command_server = {
    .name = "server",
    .summary = "serve a store, and take profiles that other agents push",
    .usage = "[OPTION...]",
    .examples = "  stoke server --store fleet.db\n"
                "  stoke server --store clickhouse://stoke@db:8443/stoke --listen "
                "0.0.0.0:4040 --token-file token\n"
                "  stoke report --store fleet.db --at -1h..now --label service=api\n",
    .groups = server_groups,
    .settings_size = sizeof(struct server_options),
    .config = OFF(config),
    .defaults = &server_defaults,
    .small_pages = true,
    .run = server_command,
};
