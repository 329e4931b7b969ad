/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP/1.1 server for the browsers of one user, on the loopback addresses, with one
 * answer per connection.
 *
 * A browser gets access by an address that contains a token and works once: the server
 * exchanges it for a cookie, which the browser sends from then on. So neither a process
 * list nor a browser history gives others access. The Host field of a request must be a
 * name of this machine, so that no name of another site reaches the server; its port
 * may differ, for port forwarding.
 *
 * No client blocks others: the server never waits for one client, each has time limits
 * for its request and for receiving the answer, and their number is limited. */
#ifndef STOKE_OS_SERVER_H
#define STOKE_OS_SERVER_H

#include "base/output.h"
#include "os/mapping.h"
#include "os/wait.h"
#include <stdint.h>

#define OS_SERVER_CLIENTS 64
#define OS_SERVER_LISTENERS 2
#define OS_SERVER_HEAD ((size_t)32 << 10) /* maximum size of a request, with its body */
#define OS_SERVER_TOKEN 32                /* hexadecimal digits */
#define OS_SERVER_TOKENS 2                /* valid at the same time */

/* Buffer size for an address: "http://127.0.0.1:65535/TOKEN/". */
#define OS_SERVER_ADDRESS 80

struct os_server_token {
    char text[OS_SERVER_TOKEN + 1]; /* empty: none */
    uint64_t until;                 /* expiry, on the clock of os_clock_monotonic */
    bool used;
};

/* A request of a browser that has the cookie, for something else than the page. Requests
 * of pages of other servers do not arrive here. */
struct os_server_request {
    bool post;       /* with a body, which is said to be JSON */
    struct str path; /* without the query */
    struct str body; /* not checked */
};

struct os_server_reply {
    const char *status; /* "200 OK" at first */
    const char *type;   /* "application/json" at first */
    /* The body: a text, a file, or a text that outlives the server. The server frees the
     * first two. */
    struct output text;
    struct os_mapping file;
    struct str lasting;
};

/* Answers the requests of pages; it must not wait. False: there is nothing at that path. */
struct os_server_pages {
    const char *const *under; /* how their paths begin; ends with NULL */
    bool (*answer)(void *context, const struct os_server_request *request,
                   struct os_server_reply *reply);
    void *context;
};

struct os_server {
    int listeners[OS_SERVER_LISTENERS]; /* by address family; -1: not open */
    int epoll;
    unsigned port;
    char key[OS_SERVER_TOKEN + 1]; /* the cookie's value */
    struct os_server_token tokens[OS_SERVER_TOKENS];
    struct os_server_client *clients; /* OS_SERVER_CLIENTS of them */
    struct os_wait *wait;
    struct str page;
    const struct os_server_pages *pages; /* NULL: only the page is served */
};

/* Starts to listen; port 0: any free port. Serves `page`, an HTML page. `page` and `w`
 * must outlive the server. Call os_server_close in any case. Set `pages` afterwards. */
bool os_server_open(struct os_server *s, unsigned port, struct str page,
                    struct os_wait *w, struct error *err);
void os_server_close(struct os_server *s);

/* Makes a new address, number `which` of OS_SERVER_TOKENS, and invalidates the one
 * before. It works once, within that many seconds; 0: no time limit. */
bool os_server_invite(struct os_server *s, unsigned which, unsigned seconds,
                      char address[OS_SERVER_ADDRESS], struct error *err);

/* Returns true if a browser has used that address. */
bool os_server_was_used(const struct os_server *s, unsigned which);

/* Does everything that is possible without waiting, for all clients. Call it again when
 * os_wait_for reports data, or after the returned number of milliseconds; -1: only when
 * there is data. */
int os_server_serve(struct os_server *s);

#endif
