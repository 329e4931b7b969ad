/* SPDX-License-Identifier: Apache-2.0 */
#include "os/http_client.h"
#include "base/format.h"
#include "base/number.h"
#include "os/stream_server.h"
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define PATIENCE 10 /* s */

static int open_connection(const char *address, struct error *err)
{
    struct sockaddr_storage to;
    const struct timeval patience = {.tv_sec = PATIENCE};
    if (!os_stream_address_parse(address, &to)) {
        error_set(err, "invalid address '%s'", address);
        return -1;
    }
    socklen_t size = to.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                              : sizeof(struct sockaddr_in);
    int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        if (connect(fd, (struct sockaddr *)&to, size) == 0)
            return fd;
    }
    error_set(err, "cannot connect to %s: %s", address, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

/* HTTP/1.0: the reply ends with the connection. */
static bool send_request(int fd, const struct os_http_call *call)
{
    char text[1024];
    size_t length = format_text(
        text, sizeof text,
        "%s %s HTTP/1.0\r\nHost: %s\r\nContent-Length: 0\r\n%s%s%s\r\n", call->method,
        call->path, call->address, call->token[0] ? "Authorization: Bearer " : "",
        call->token, call->token[0] ? "\r\n" : "");
    return length + 1 < sizeof text &&
           send(fd, text, length, MSG_NOSIGNAL) == (ssize_t)length;
}

static bool receive(int fd, struct os_http_answer *answer, size_t *used)
{
    for (*used = 0; *used < sizeof answer->room;) {
        ssize_t got = recv(fd, answer->room + *used, sizeof answer->room - *used, 0);
        if (got == 0)
            return true;
        if (got < 0 && errno != EINTR)
            return false;
        *used += got > 0 ? (size_t)got : 0;
    }
    return false;
}

/* "HTTP/1.0 200 OK", fields, an empty line, the body. */
static bool parse_reply(struct os_http_answer *answer, size_t size)
{
    struct str text = {answer->room, size}, line = str_cut(&text, '\n');
    uint64_t status;
    str_cut(&line, ' ');
    if (!number_parse_u64(str_cut(&line, ' '), &status) || status > 999)
        return false;
    answer->status = (unsigned)status;
    do
        line = str_trim(str_cut(&text, '\n'));
    while (line.len);
    answer->body = text;
    return true;
}

bool os_http_ask(const struct os_http_call *call, struct os_http_answer *answer,
                 struct error *err)
{
    size_t used;
    int fd = open_connection(call->address, err);
    if (fd < 0)
        return false;
    bool ok =
        send_request(fd, call) && receive(fd, answer, &used) && parse_reply(answer, used);
    close(fd);
    return ok || error_set(err, "%s does not answer", call->address);
}
