/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/address.h"
#include "base/format.h"
#include "os/file_lock.h"
#include "os/machine.h"

#define TOKEN_MADE 33 /* with the null */
#define PATH_SIZE 4200

static void name_file(char path[PATH_SIZE], const char *store)
{
    format_text(path, PATH_SIZE, "%s.live", store);
}

/* A server at all addresses is reached at that of this machine. */
void daemon_address_set(struct daemon_address *a, const char *listen, unsigned port)
{
    const char *colon = strrchr(listen, ':');
    struct str host = {listen, colon ? (size_t)(colon - listen) : strlen(listen)};
    if (str_equal(host, STR("0.0.0.0")))
        host = STR("127.0.0.1");
    if (str_equal(host, STR("[::]")))
        host = STR("[::1]");
    format_text(a->address, sizeof a->address, "%.*s:%u", STR_ARG(host), port);
}

int daemon_address_write(const struct daemon_address *a, const char *store,
                         struct error *err)
{
    char path[PATH_SIZE], text[512];
    name_file(path, store);
    size_t length = format_text(text, sizeof text, "%s://%s\n%s\n",
                                a->is_encrypted ? "https" : "http", a->address, a->token);
    return os_file_announce(path, (struct str){text, length}, err);
}

void daemon_address_remove(const char *store, int fd)
{
    char path[PATH_SIZE];
    name_file(path, store);
    os_file_withdraw(path, fd);
}

bool daemon_address_find(struct daemon_address *a, const char *store)
{
    char path[PATH_SIZE], room[512];
    struct str text;
    name_file(path, store);
    *a =
        (struct daemon_address){.pid = os_file_announced(path, room, sizeof room, &text)};
    if (!a->pid)
        return false;
    struct str address = str_cut(&text, '\n'), token = str_cut(&text, '\n');
    a->is_encrypted = str_starts(address, STR("https://"));
    address =
        str_skip(address, a->is_encrypted ? sizeof "https://" - 1 : sizeof "http://" - 1);
    format_text(a->address, sizeof a->address, "%.*s", STR_ARG(address));
    format_text(a->token, sizeof a->token, "%.*s", STR_ARG(token));
    return true;
}

bool daemon_address_make_token(char token[DAEMON_TOKEN_SIZE])
{
    return os_random_text(token, TOKEN_MADE);
}
