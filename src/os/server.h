/* SPDX-License-Identifier: Apache-2.0 */
/* A server for the browsers of one user: HTTP/1.1 on the loopback addresses, one answer a
 * connection.
 *
 * A browser gets in by an address that holds a token and works once: it is exchanged for
 * a cookie, which the browser shows from then on. So neither a list of processes nor a
 * browser's history has anything that lets others in. The name that the server is asked
 * by must be one of this machine's own, so that no name of another site leads here; the
 * port in it may be another one, where it is forwarded.
 *
 * No client holds others up: nothing waits for one, each has a time in which it must
 * send its request and take the answer, and their number is bounded. */
#ifndef STOKE_OS_SERVER_H
#define STOKE_OS_SERVER_H

#include "os/wait.h"
#include <stdint.h>

#define OS_SERVER_CLIENTS 64
#define OS_SERVER_LISTENERS 2
#define OS_SERVER_HEAD ((size_t)32 << 10) /* of a request, at most */
#define OS_SERVER_TOKEN 32                /* hexadecimal digits */
#define OS_SERVER_TOKENS 2                /* that can be used at a time */

/* Text that holds an address: "http://127.0.0.1:65535/TOKEN/". */
#define OS_SERVER_ADDRESS 80

struct os_server_token {
    char text[OS_SERVER_TOKEN + 1]; /* empty: there is none */
    uint64_t until;                 /* it is good, on the clock of os_clock_monotonic */
    bool used;
};

struct os_server {
    int listeners[OS_SERVER_LISTENERS]; /* by address family; -1: not open */
    int epoll;
    unsigned port;
    char key[OS_SERVER_TOKEN + 1]; /* the cookie's value */
    struct os_server_token tokens[OS_SERVER_TOKENS];
    struct os_server_client *clients; /* OS_SERVER_CLIENTS */
    struct os_wait *wait;
    struct str page;
};

/* Serves `page`, of type HTML, which outlives it. Listens; port 0: any that is free. Goes
 * on `w`, which outlives it. Close in any case. */
bool os_server_open(struct os_server *s, unsigned port, struct str page,
                    struct os_wait *w, struct error *err);
void os_server_close(struct os_server *s);

/* Makes a new address, the `which`th of OS_SERVER_TOKENS, in place of the one before. It
 * is good once, and for that many seconds; 0: without end. */
bool os_server_invite(struct os_server *s, unsigned which, unsigned seconds,
                      char address[OS_SERVER_ADDRESS], struct error *err);

/* Whether a browser has used that address. */
bool os_server_was_used(const struct os_server *s, unsigned which);

/* Does what can be done at once for all clients. Then it is to be called again when
 * os_wait_for says that there is data, or when so many milliseconds have passed; -1: it
 * need not be before there is data. */
int os_server_serve(struct os_server *s);

#endif
