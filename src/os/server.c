#include "os/server.h"
#include "base/format.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define SEND_PATIENCE 5000 /* ms that a client may take none of the answer */

struct os_server_client {
    int fd; /* -1: free */
    size_t used;
    char head[OS_SERVER_HEAD];
};

static bool make_token(char *out)
{
    unsigned char bytes[OS_SERVER_TOKEN / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        format_text(out + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

static bool listen_at(struct os_server *s, unsigned port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int yes = 1;
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->fd < 0)
        return false;
    setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(s->fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(s->fd, 16) != 0 ||
        getsockname(s->fd, (struct sockaddr *)&at, &size) != 0)
        return false;
    s->port = ntohs(at.sin_port);
    return true;
}

bool os_server_open(struct os_server *s, unsigned port, struct os_wait *w,
                    struct error *err)
{
    *s = (struct os_server){.fd = -1, .wait = w};
    s->clients = calloc(OS_SERVER_CLIENTS, sizeof *s->clients);
    if (!s->clients)
        return error_memory(err);
    for (size_t i = 0; i < OS_SERVER_CLIENTS; i++)
        s->clients[i].fd = -1;
    if (!make_token(s->token) || !listen_at(s, port)) {
        error_set(err, "cannot serve at port %u of this machine: %s", port,
                  strerror(errno));
        return error_hint(err, "--port names another one, or none");
    }
    return os_wait_add(w, s->fd, err);
}

static void drop(struct os_server *s, struct os_server_client *c)
{
    os_wait_remove(s->wait, c->fd);
    close(c->fd);
    c->fd = -1;
    c->used = 0;
}

void os_server_close(struct os_server *s)
{
    for (size_t i = 0; s->clients && i < OS_SERVER_CLIENTS; i++)
        if (s->clients[i].fd >= 0)
            drop(s, &s->clients[i]);
    if (s->fd >= 0) {
        os_wait_remove(s->wait, s->fd);
        close(s->fd);
    }
    free(s->clients);
    *s = (struct os_server){.fd = -1};
}

/* --- What is asked ------------------------------------------------------------------ */

static bool same_letters(struct str a, const char *small)
{
    if (a.len != strlen(small))
        return false;
    for (size_t i = 0; i < a.len; i++) {
        char c = a.ptr[i];
        if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != small[i])
            return false;
    }
    return true;
}

/* The one Host that the request names; empty where it names none, or several. */
static struct str host_of(struct str head)
{
    struct str host = STR("");
    unsigned count = 0;
    while (head.len) {
        struct str line = str_trim_right(str_cut(&head, '\n'));
        struct str name = str_cut(&line, ':');
        if (!same_letters(name, "host"))
            continue;
        host = str_trim(line);
        count++;
    }
    return count == 1 ? host : STR("");
}

/* The status that the request gets. */
static const char *judge(const struct os_server *s, struct str head)
{
    char host[32], path[OS_SERVER_TOKEN + 3];
    struct str line = str_trim_right(str_cut(&head, '\n'));
    struct str method = str_cut(&line, ' '), asked = str_cut(&line, ' ');
    format_text(host, sizeof host, "127.0.0.1:%u", s->port);
    format_text(path, sizeof path, "/%s/", s->token);
    if (!str_equal(line, STR("HTTP/1.1")) && !str_equal(line, STR("HTTP/1.0")))
        return "400 Bad Request";
    if (!str_equal(host_of(head), str_of(host)))
        return "421 Misdirected Request";
    if (!str_equal(asked, str_of(path)))
        return "404 Not Found";
    return str_equal(method, STR("GET")) ? "200 OK" : "405 Method Not Allowed";
}

/* --- What is answered --------------------------------------------------------------- */

static bool send_all(int fd, struct str bytes)
{
    while (bytes.len) {
        ssize_t sent = send(fd, bytes.ptr, bytes.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            bytes = str_skip(bytes, (size_t)sent);
            continue;
        }
        struct pollfd room = {.fd = fd, .events = POLLOUT};
        if (sent == 0 || (errno != EAGAIN && errno != EINTR) ||
            poll(&room, 1, SEND_PATIENCE) <= 0)
            return false;
    }
    return true;
}

static void answer(const struct os_server *s, struct os_server_client *c, struct str page)
{
    char head[512];
    const char *status = judge(s, (struct str){c->head, c->used});
    struct str body = status[0] == '2' ? page : str_of(status);
    size_t length =
        format_text(head, sizeof head,
                    "HTTP/1.1 %s\r\nContent-Type: text/%s; charset=utf-8\r\n"
                    "Content-Length: %zu\r\nCache-Control: no-store\r\n"
                    "X-Content-Type-Options: nosniff\r\n"
                    "X-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n"
                    "Cross-Origin-Resource-Policy: same-origin\r\n"
                    "Connection: close\r\n\r\n",
                    status, status[0] == '2' ? "html" : "plain", body.len);
    if (send_all(c->fd, (struct str){head, length}) && send_all(c->fd, body))
        shutdown(c->fd, SHUT_WR);
}

/* --- Whoever comes ------------------------------------------------------------------ */

static void take_client(struct os_server *s, int fd)
{
    struct error ignored;
    struct os_server_client *c = s->clients;
    while (c < s->clients + OS_SERVER_CLIENTS && c->fd >= 0)
        c++;
    if (c == s->clients + OS_SERVER_CLIENTS) { /* the first has waited longest */
        c = s->clients;
        drop(s, c);
    }
    c->fd = fd;
    if (!os_wait_add(s->wait, fd, &ignored))
        drop(s, c);
}

/* Takes what the client has sent; answers when its request is whole. */
static void hear(struct os_server *s, struct os_server_client *c, struct str page)
{
    ssize_t got = recv(c->fd, c->head + c->used, sizeof c->head - c->used, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got > 0)
        c->used += (size_t)got;
    bool whole = str_has((struct str){c->head, c->used}, STR("\r\n\r\n"));
    if (whole)
        answer(s, c, page);
    if (whole || got <= 0 || c->used == sizeof c->head)
        drop(s, c);
}

void os_server_serve(struct os_server *s, struct str page)
{
    int fd;
    while ((fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
        take_client(s, fd);
    for (size_t i = 0; i < OS_SERVER_CLIENTS; i++)
        if (s->clients[i].fd >= 0)
            hear(s, &s->clients[i], page);
}
