/* A server for a browser on this machine: HTTP/1.1 on the loopback address, one answer a
 * connection. What is asked is held to what is expected: GET, the exact Host (so that no
 * name of another site leads here), and a path that begins with a token that nobody can
 * guess. */
#ifndef STOKE_OS_SERVER_H
#define STOKE_OS_SERVER_H

#include "os/wait.h"

#define OS_SERVER_CLIENTS 32
#define OS_SERVER_HEAD ((size_t)8 << 10) /* of a request, at most */
#define OS_SERVER_TOKEN 32               /* hexadecimal digits */

struct os_server {
    int fd;
    unsigned port;
    char token[OS_SERVER_TOKEN + 1];
    struct os_server_client *clients; /* OS_SERVER_CLIENTS */
    struct os_wait *wait;
};

/* Listens; port 0: any that is free. Goes on `w`, which outlives it. Close in any case.
 */
bool os_server_open(struct os_server *s, unsigned port, struct os_wait *w,
                    struct error *err);
void os_server_close(struct os_server *s);

/* Takes what has come since, answering with `page`, of type HTML, whom it is for; others
 * get an error. Comes back when nothing is left to take. */
void os_server_serve(struct os_server *s, struct str page);

#endif
