/* SPDX-License-Identifier: Apache-2.0 */
#include "base/number.h"
#include "os/machine.h"
#include "store/clickhouse/parts.h"
#include <stdlib.h>
#include <unistd.h>

#define PASSWORD_VARIABLE "STOKE_CLICKHOUSE_PASSWORD"
#define SPOOL_MB 1024
#define SPOOL_DAYS 7

static bool invalid(const char *what, struct error *err)
{
    error_set(err, "invalid address of a ClickHouse server: %s", what);
    return error_hint(err, "clickhouse://USER@HOST:PORT/DATABASE, see stoke-store(1)");
}

static bool is_printable(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] < ' ' || s.ptr[i] == 0x7f)
            return false;
    return true;
}

static bool copy(char *room, size_t size, struct str text, const char *what,
                 struct error *err)
{
    if (text.len >= size || !is_printable(text))
        return invalid(what, err);
    format_text(room, size, "%.*s", STR_ARG(text));
    return true;
}

static bool is_identifier(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!byte_is_word(s.ptr[i]))
            return false;
    return s.len > 0 && !byte_is_digit(s.ptr[0]);
}

/* A host name, an IPv4 address, or an IPv6 address in brackets. */
static bool is_host(struct str s)
{
    bool in_brackets = s.len > 2 && s.ptr[0] == '[' && s.ptr[s.len - 1] == ']';
    struct str name = in_brackets ? str_head(str_skip(s, 1), s.len - 2) : s;
    for (size_t i = 0; i < name.len; i++)
        if (!byte_is_word(name.ptr[i]) && name.ptr[i] != '-' && name.ptr[i] != '.' &&
            !(in_brackets && name.ptr[i] == ':'))
            return false;
    return name.len > 0 && name.len < 256;
}

static bool is_of_this_machine(struct str host)
{
    return str_equal(host, STR("localhost")) || str_equal(host, STR("[::1]")) ||
           str_starts(host, STR("127."));
}

/* --- Options -------------------------------------------------------------------------- */

struct options {
    struct str tls, password_file;
    uint64_t megabytes, days;
};

static bool take_number(struct str text, uint64_t *number, const char *what,
                        struct error *err)
{
    return (number_parse_u64(text, number) && *number > 0 && *number <= 1u << 24) ||
           invalid(what, err);
}

static bool take_option(struct clickhouse_address *a, struct str text, struct options *o,
                        struct error *err)
{
    struct str value = text, key = str_cut(&value, '=');
    if (str_equal(key, STR("tls"))) {
        o->tls = value;
        return str_equal(value, STR("on")) || str_equal(value, STR("off")) ||
               invalid("tls is 'on' or 'off'", err);
    }
    if (str_equal(key, STR("password-file"))) {
        o->password_file = value;
        return true;
    }
    if (str_equal(key, STR("ca")))
        return copy(a->authorities, sizeof a->authorities, value, "ca", err);
    if (str_equal(key, STR("spool")))
        return copy(a->spool, sizeof a->spool, value, "spool", err);
    if (str_equal(key, STR("spool-size")))
        return take_number(value, &o->megabytes, "spool-size is a number of MB", err);
    if (str_equal(key, STR("spool-days")))
        return take_number(value, &o->days, "spool-days is a number of days", err);
    return invalid(
        "the options are tls, ca, password-file, spool, spool-size and spool-days", err);
}

/* --- The password --------------------------------------------------------------------- */

static bool read_password(struct clickhouse_address *a, struct str file,
                          struct error *err)
{
    char path[2048], room[sizeof a->password];
    const char *variable = getenv(PASSWORD_VARIABLE);
    struct str password = str_of(variable ? variable : "");
    if (file.len) {
        format_text(path, sizeof path, "%.*s", STR_ARG(file));
        if (access(path, R_OK) != 0) {
            error_set(err, "cannot read the file of the password, '%s'", path);
            return error_hint(err, "or set the variable " PASSWORD_VARIABLE);
        }
        password = str_trim(os_read_text(path, room, sizeof room));
    }
    return copy(a->password, sizeof a->password, password,
                "the password is too long, or has control characters", err);
}

/* --- The spool ------------------------------------------------------------------------ */

/* One for each server and database. */
static void choose_spool(struct clickhouse_address *a, struct str server)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char name[512];
    size_t used = format_text(name, sizeof name, "%.*s-%s", STR_ARG(server), a->database);
    for (size_t i = 0; i < used; i++)
        if (!byte_is_word(name[i]) && name[i] != '.' && name[i] != '-')
            name[i] = '_';
    if (geteuid() == 0)
        format_text(a->spool, sizeof a->spool, "/var/lib/stoke/spool/%s", name);
    else if (state && state[0] == '/')
        format_text(a->spool, sizeof a->spool, "%s/stoke/spool/%s", state, name);
    else
        format_text(a->spool, sizeof a->spool, "%s/.local/state/stoke/spool/%s",
                    home ? home : "", name);
}

/* --- The address ---------------------------------------------------------------------- */

/* Passwords are not sent unencrypted over a network unless the user requests it. */
static bool choose_origin(struct clickhouse_address *a, struct str host, uint64_t port,
                          struct str tls, struct error *err)
{
    a->is_local = is_of_this_machine(host);
    bool encrypts = tls.len ? str_equal(tls, STR("on")) : !a->is_local || port == 8443;
    if (!port)
        port = encrypts ? 8443 : 8123;
    format_text(a->origin, sizeof a->origin, "%s://%.*s:%u", encrypts ? "https" : "http",
                STR_ARG(host), (unsigned)port);
    return port <= 65535 || invalid("the port", err);
}

static bool take_server(struct clickhouse_address *a, struct str server, struct str tls,
                        struct error *err)
{
    size_t at = str_rfind(server, '@');
    struct str user = at < server.len ? str_head(server, at) : STR("default");
    struct str rest = at < server.len ? str_skip(server, at + 1) : server;
    uint64_t port = 0;
    size_t colon = str_rfind(rest, ':'), bracket = str_rfind(rest, ']');
    bool has_port = colon < rest.len && (bracket == rest.len || colon > bracket);
    struct str host = has_port ? str_head(rest, colon) : rest;
    if (str_has(user, STR(":"))) {
        error_set(err, "a password in the address can be seen by other users (ps)");
        return error_hint(err, "set the variable " PASSWORD_VARIABLE
                               ", or add ?password-file=FILE");
    }
    if (!is_host(host))
        return invalid("the host", err);
    if (has_port && !(number_parse_u64(str_skip(rest, colon + 1), &port) && port))
        return invalid("the port", err);
    return copy(a->user, sizeof a->user, user, "the user", err) &&
           choose_origin(a, host, port, tls, err);
}

bool clickhouse_address_parse(struct clickhouse_address *a, const char *location,
                              struct error *err)
{
    struct str options = str_skip(str_of(location), sizeof CLICKHOUSE_SCHEME - 1);
    struct str database = str_cut(&options, '?'), server = str_cut(&database, '/');
    struct options o = {.tls = STR(""),
                        .password_file = STR(""),
                        .megabytes = SPOOL_MB,
                        .days = SPOOL_DAYS};
    *a = (struct clickhouse_address){0};
    while (options.len)
        if (!take_option(a, str_cut(&options, '&'), &o, err))
            return false;
    if (!is_identifier(database))
        return invalid("the database has letters, digits and '_' only", err);
    if (!copy(a->database, sizeof a->database, database, "the database", err) ||
        !take_server(a, server, o.tls, err) || !read_password(a, o.password_file, err))
        return false;
    a->spool_bytes = o.megabytes << 20;
    a->spool_seconds = o.days * CLICKHOUSE_DAY;
    size_t at = str_rfind(server, '@');
    if (!a->spool[0])
        choose_spool(a, at < server.len ? str_skip(server, at + 1) : server);
    return true;
}
