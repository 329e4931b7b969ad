/* SPDX-License-Identifier: Apache-2.0 */
/* stoke daemon: samples this machine all the time and stores the history. */
#include "daemon/daemon.h"
#include "base/number.h"
#include "cli/command.h"
#include "cli/daemon/trigger_options.h"
#include "cli/message.h"
#include "cli/secrets.h"
#include "daemon/address.h"
#include "lepd/server.h"
#include "os/stream_server.h"
#include "os/wait.h"

#define DAYS_DEFAULT 30
#define MB_DEFAULT 2048
#define MB ((uint64_t)1 << 20)
#define MEMORY_LEAST (16 * MB)
#define MEMORY_MOST (MB << 20)
#define WAIT_LEAST 0.01 /* ms */
#define WAIT_MOST 10000
#define DAY (86400 * STORE_SECOND)

struct daemon_options {
    const char *store, *config;
    int64_t rate, window;
    uint64_t least_wait; /* ns; 0: waits are not sampled */
    int interpreters;    /* index in interpreter_choices */
    int64_t days, megabytes;
    double cpu;      /* cores */
    uint64_t memory; /* bytes */
    const char *lepd, *listen, *token_file, *certificate, *key;
    bool has_own_token;
    struct daemon_trigger_settings triggers;
    int64_t trigger_rate, trigger_seconds, trigger_cooldown;
};

#define OFF(field) offsetof(struct daemon_options, field)

static bool parse_address(const char *text, void *value, struct error *err)
{
    const char **address = value;
    if (!os_stream_address_is_valid(text)) {
        error_set(err, "invalid address '%s'", text);
        return error_hint(err, "ADDRESS:PORT, such as " LEPD_ADDRESS);
    }
    *address = text;
    return true;
}

/* "0.5%" of a core */
static bool parse_cpu(const char *text, void *value, struct error *err)
{
    struct str number = str_of(text);
    double v;
    if (str_ends(number, STR("%")))
        number.len--;
    if (number_parse_double(number, &v) && v >= 0.001 && v <= 100) {
        *(double *)value = v / 100;
        return true;
    }
    error_set(err, "invalid CPU time '%s'", text);
    return error_hint(err, "a part of one core, such as 0.5%%, from 0.001%% to 100%%");
}

/* "64M" */
static bool parse_memory(const char *text, void *value, struct error *err)
{
    struct str number = str_of(text);
    uint64_t v, factor = 1;
    if (str_ends(number, STR("M")) || str_ends(number, STR("G"))) {
        factor = str_ends(number, STR("M")) ? MB : MB << 10;
        number.len--;
    }
    if (number_parse_u64(number, &v) && v <= MEMORY_MOST / factor &&
        v * factor >= MEMORY_LEAST) {
        *(uint64_t *)value = v * factor;
        return true;
    }
    error_set(err, "invalid size '%s'", text);
    return error_hint(err, "in bytes, or 64M, 1G; at least 16M");
}

/* "1" or "0.5": ms */
static bool parse_wait(const char *text, void *value, struct error *err)
{
    double v;
    if (number_parse_double(str_of(text), &v) && v >= WAIT_LEAST && v <= WAIT_MOST) {
        *(uint64_t *)value = (uint64_t)(v * 1e6);
        return true;
    }
    error_set(err, "invalid length of a wait '%s'", text);
    return error_hint(err, "in milliseconds, from 0.01 to 10000");
}

enum { INTERPRETERS_AUTO, INTERPRETERS_NONE };
static const char *const interpreter_choices[] = {"auto", "none", NULL};

static const struct option daemon_option_table[] = {
    {"rate,freq", 'F', "HZ", "samples per second and CPU (default: 19)", OPTION_INT,
     OFF(rate), .least = 1, .most = 10000},
    {"window", 0, "S", "seconds after which samples are stored (default: 10)", OPTION_INT,
     OFF(window), .least = 1, .most = 3600},
    {"off-cpu", 0, "MS",
     "also store where threads wait, if a wait takes at least this time (default: 1)",
     OPTION_PARSED, OFF(least_wait), .parse = parse_wait, .fallback = "1"},
    {"interpreters", 0, "WHICH",
     "functions of Python, Ruby, node, PHP and Perl programs: auto (the default) or none",
     OPTION_CHOICE, OFF(interpreters), interpreter_choices},
    {"max-cpu", 0, "PERCENT",
     "sample less often while the daemon needs more of a core than that, such as 0.5%",
     OPTION_PARSED, OFF(cpu), .parse = parse_cpu},
    {"max-memory", 0, "SIZE",
     "the same for its memory, such as 64M; requests have half of it", OPTION_PARSED,
     OFF(memory), .parse = parse_memory},
    {0}};

static const struct option store_option_table[] = {
    {"store", 0, "FILE", "the store (default: /var/lib/stoke/history.db for root)",
     OPTION_STRING, OFF(store)},
    {"keep-days", 0, "N", "remove samples after N days (default: 30)", OPTION_INT,
     OFF(days), .least = 1, .most = 36500},
    {"keep-size", 0, "MB", "remove the oldest samples above this size (default: 2048)",
     OPTION_INT, OFF(megabytes), .least = 1, .most = 1e9},
    {0}};

static const struct option server_option_table[] = {
    {"listen", 0, "ADDRESS:PORT", "serve the live page, metrics and profiles by HTTP",
     OPTION_PARSED, OFF(listen), .parse = parse_address},
    {"token-file", 0, "FILE", "requests need the token in this file", OPTION_STRING,
     OFF(token_file)},
    {"own-token", 0, NULL, "requests need a new token, which stoke live knows",
     OPTION_FLAG, OFF(has_own_token)},
    {"cert", 0, "FILE", "serve HTTPS with this certificate (PEM)", OPTION_STRING,
     OFF(certificate)},
    {"key", 0, "FILE", "the private key of the certificate (PEM)", OPTION_STRING,
     OFF(key)},
    {"lepd", 0, "ADDRESS:PORT",
     "serve LEPV and other LEPD clients (default: " LEPD_ADDRESS ")", OPTION_PARSED,
     OFF(lepd), .parse = parse_address, .fallback = LEPD_ADDRESS},
    {0}};

#define THRESHOLDS OFF(triggers)

static const struct option trigger_option_table[] = {
    {"trigger-cpu", 0, "PERCENT",
     "record when this part of all CPUs is used, such as 90%", OPTION_PARSED, THRESHOLDS,
     .parse = trigger_parse_cpu},
    {"trigger-memory", 0, "PERCENT", "record when this part of the memory is used",
     OPTION_PARSED, THRESHOLDS, .parse = trigger_parse_memory},
    {"trigger-pressure-cpu", 0, "PERCENT",
     "record when threads wait for a CPU for this part of the time", OPTION_PARSED,
     THRESHOLDS, .parse = trigger_parse_pressure_cpu},
    {"trigger-pressure-memory", 0, "PERCENT", "the same for memory", OPTION_PARSED,
     THRESHOLDS, .parse = trigger_parse_pressure_memory},
    {"trigger-pressure-io", 0, "PERCENT", "the same for disks", OPTION_PARSED, THRESHOLDS,
     .parse = trigger_parse_pressure_io},
    {"trigger-process", 0, "NAME=LIMIT",
     "record when these processes use this much of a CPU (150%) or memory (2G)",
     OPTION_PARSED, THRESHOLDS, .parse = trigger_parse_process},
    {"trigger-rate", 0, "HZ", "samples per second and CPU of it (default: 999)",
     OPTION_INT, OFF(trigger_rate), .least = 1, .most = 10000},
    {"trigger-seconds", 0, "S", "length of the recording (default: 10)", OPTION_INT,
     OFF(trigger_seconds), .least = 1, .most = 300},
    {"trigger-pause", 0, "S", "the least time to the next one (default: 600)", OPTION_INT,
     OFF(trigger_cooldown), .least = 0, .most = 86400},
    {0}};

static const struct option config_option_table[] = {
    {"config", 0, "FILE", "read options from this file: lines NAME = VALUE",
     OPTION_STRING, OFF(config)},
    {0}};

static const struct option_group daemon_groups[] = {
    {"sampling", daemon_option_table, 0, NULL},
    {"triggers", trigger_option_table, 0, NULL},
    {"store", store_option_table, 0, NULL},
    {"servers", server_option_table, 0, NULL},
    {"configuration", config_option_table, 0, NULL},
    {0}};

/* What the HTTP server needs: the token, the certificate and its key. */
static bool read_secrets(const struct daemon_options *o, char token[SECRET_TOKEN_SIZE],
                         struct daemon_settings *s, struct error *err)
{
    if (o->token_file && o->has_own_token)
        return error_set(err, "--token-file cannot be combined with --own-token");
    if (o->token_file && !secret_read_token(o->token_file, token, err))
        return false;
    if (o->has_own_token && !daemon_address_make_token(token))
        return error_set(err, "there are no random bytes for a token");
    s->token = o->token_file || o->has_own_token ? token : NULL;
    return secret_read_certificate(o->certificate, o->key, &s->certificate, &s->key, err);
}

static int daemon_command(void *settings, int word_count, char **words)
{
    const struct daemon_options *o = settings;
    struct error err = {.location = LOCATION_NONE};
    char token[SECRET_TOKEN_SIZE];
    char room[4096];
    struct daemon_settings s = {
        .store =
            o->store ? o->store : store_default_location(STORE_WRITE, room, sizeof room),
        .rate = (uint32_t)o->rate,
        .window = (uint32_t)o->window,
        .least_wait = o->least_wait,
        .interpreters = o->interpreters == INTERPRETERS_AUTO,
        .lepd = o->lepd,
        .listen = o->listen,
        .budget = {o->cpu, o->memory},
        .triggers = o->triggers,
        .limits = {(uint64_t)o->days * DAY, (uint64_t)o->megabytes * MB}};
    if (word_count) {
        error_set(&err, "unexpected argument '%s'", words[0]);
        error_hint(&err, "--store FILE names the store");
        message_error(&err);
        return STATUS_USAGE;
    }
    s.triggers.rate = (uint32_t)o->trigger_rate;
    s.triggers.seconds = (uint32_t)o->trigger_seconds;
    s.triggers.cooldown = (uint32_t)o->trigger_cooldown;
    os_wait_block_signals();
    if (!read_secrets(o, token, &s, &err)) {
        message_error(&err);
        return STATUS_FAILED;
    }
    return command_status(daemon_run(&s, &message_report, &err), &err);
}

static const struct daemon_options daemon_defaults = {
    .rate = DAEMON_RATE_DEFAULT,
    .window = DAEMON_WINDOW_DEFAULT,
    .trigger_rate = DAEMON_TRIGGER_RATE,
    .trigger_seconds = DAEMON_TRIGGER_SECONDS,
    .trigger_cooldown = DAEMON_TRIGGER_COOLDOWN,
    .days = DAYS_DEFAULT,
    .megabytes = MB_DEFAULT};

const struct command command_daemon = {
    .name = "daemon",
    .summary = "sample this machine all the time and store the history",
    .usage = "[OPTION...]",
    .examples = "  stoke daemon\n"
                "  stoke daemon --store history.db --rate 49\n"
                "  stoke report --at 14:30..14:35 --store history.db\n"
                "  stoke diff --at -2h..-1h --at -1h..now --label service=ssh.service\n",
    .groups = daemon_groups,
    .settings_size = sizeof(struct daemon_options),
    .config = OFF(config),
    .defaults = &daemon_defaults,
    .small_pages = true,
    .run = daemon_command,
};
