/* SPDX-License-Identifier: Apache-2.0 */
#include "os/server.h"
#include "base/format.h"
#include "os/http.h"
#include "os/machine.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND 1000000000ULL
#define HEAD_TIME (5 * SECOND) /* time limit for the request */
/* time limit for the client to receive some of the answer */
#define STALL_TIME (15 * SECOND)
/* minimum average rate of the client, bytes per second */
#define MIN_RATE 10000
#define LAST_TIME (1 * SECOND) /* time limit for the client to close after the answer */
#define BYTES_PER_TURN \
    ((size_t)1 << 20) /* bytes sent to one client before the others get their turn */
#define PORT_TRIES 20
#define ANSWER_HEAD 1024

/* Send buffer of the kernel. The kernel accepts more data only after a third of it was
 * sent: a client must receive that much within STALL_TIME, and a third of a few MB is
 * too much for slow clients. */
#define KERNEL_ROOM (64 << 10)

enum stage {
    STAGE_FREE,
    STAGE_HEAD,   /* receiving the request */
    STAGE_ANSWER, /* sending the answer */
    /* discarding further input until the client closes: closing a connection with
     * unread bytes would discard the answer */
    STAGE_LAST,
};

struct os_server_client {
    enum stage stage;
    int fd;
    size_t used;
    size_t head_end;              /* where the body begins; 0: not received yet */
    uint64_t since;               /* start of the stage */
    uint64_t until;               /* deadline of the stage */
    struct str rest;              /* rest of the answer's body */
    size_t body_length;           /* of all of it */
    struct os_server_reply reply; /* of the pages; it owns the body */
    size_t answer_used, answer_sent;
    char answer[ANSWER_HEAD];
    char head[OS_SERVER_HEAD];
};

/* --- Secrets ------------------------------------------------------------------------ */

static bool make_secret(char out[OS_SERVER_TOKEN + 1], struct error *err)
{
    return os_random_text(out, OS_SERVER_TOKEN + 1) ||
           error_set(err, "there are no random bytes for a token");
}

bool os_server_invite(struct os_server *s, unsigned which, unsigned seconds,
                      char address[OS_SERVER_ADDRESS], struct error *err)
{
    struct os_server_token *t = &s->tokens[which];
    *t = (struct os_server_token){.until = UINT64_MAX};
    if (!make_secret(t->text, err))
        return false;
    if (seconds)
        t->until = os_clock_monotonic() + seconds * SECOND;
    format_text(address, OS_SERVER_ADDRESS, "http://127.0.0.1:%u/%s/", s->port, t->text);
    return true;
}

bool os_server_was_used(const struct os_server *s, unsigned which)
{
    return s->tokens[which].used;
}

/* Returns true if the address contains a valid token; each token is accepted once. */
static bool use_token(struct os_server *s, struct str asked)
{
    uint64_t now = os_clock_monotonic();
    for (size_t i = 0; i < OS_SERVER_TOKENS; i++) {
        struct os_server_token *t = &s->tokens[i];
        if (!http_same_secret(asked, str_of(t->text)) || t->used || now > t->until)
            continue;
        t->used = true;
        return true;
    }
    return false;
}

/* --- Opening and closing ------------------------------------------------------------ */

static int listen_at(const struct sockaddr *at, socklen_t size)
{
    int yes = 1;
    int fd = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (at->sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    if (bind(fd, at, size) == 0 && listen(fd, OS_SERVER_CLIENTS) == 0)
        return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

/* Listens on both addresses at the same port, so that no other program has the one that
 * "localhost" may mean. Machines without IPv6 have only one. */
static bool listen_once(struct os_server *s, unsigned port)
{
    struct sockaddr_in four = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)port),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6,
                               .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    socklen_t size = sizeof four;
    s->listeners[0] = listen_at((struct sockaddr *)&four, size);
    if (s->listeners[0] < 0 ||
        getsockname(s->listeners[0], (struct sockaddr *)&four, &size) != 0)
        return false;
    s->port = ntohs(four.sin_port);
    six.sin6_port = four.sin_port;
    s->listeners[1] = listen_at((struct sockaddr *)&six, sizeof six);
    if (s->listeners[1] >= 0 || errno != EADDRINUSE)
        return true;
    close(s->listeners[0]);
    s->listeners[0] = -1;
    errno = EADDRINUSE;
    return false;
}

static bool listen_at_port(struct os_server *s, unsigned port, struct error *err)
{
    for (int i = 0; i < PORT_TRIES; i++) {
        if (listen_once(s, port))
            return true;
        if (port || errno != EADDRINUSE)
            break;
    }
    error_set(err, "cannot listen on port %u: %s", port, strerror(errno));
    return error_hint(err, "choose another with --port, or omit --port");
}

static bool watch(const struct os_server *s, int fd, void *whose, struct error *err)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = whose};
    return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e) == 0 ||
           error_set(err, "cannot wait for a handle: %s", strerror(errno));
}

bool os_server_open(struct os_server *s, unsigned port, struct str page,
                    struct os_wait *w, struct error *err)
{
    *s = (struct os_server){.listeners = {-1, -1}, .epoll = -1, .wait = w, .page = page};
    s->clients = calloc(OS_SERVER_CLIENTS, sizeof *s->clients);
    if (!s->clients)
        return error_memory(err);
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (s->epoll < 0)
        return error_set(err, "cannot wait for clients: %s", strerror(errno));
    if (!make_secret(s->key, err) || !listen_at_port(s, port, err))
        return false;
    for (size_t i = 0; i < OS_SERVER_LISTENERS; i++)
        if (s->listeners[i] >= 0 && !watch(s, s->listeners[i], NULL, err))
            return false;
    return os_wait_add(w, s->epoll, err);
}

static void free_reply(struct os_server_client *c)
{
    output_deinit(&c->reply.text);
    os_mapping_close(&c->reply.file);
    c->reply = (struct os_server_reply){.text = OUTPUT_BUFFER, .file = OS_MAPPING_NONE};
    c->rest = STR("");
}

static void drop(struct os_server_client *c)
{
    free_reply(c);
    close(c->fd);
    c->stage = STAGE_FREE;
}

void os_server_close(struct os_server *s)
{
    for (size_t i = 0; s->clients && i < OS_SERVER_CLIENTS; i++)
        if (s->clients[i].stage != STAGE_FREE)
            drop(&s->clients[i]);
    for (size_t i = 0; i < OS_SERVER_LISTENERS; i++)
        if (s->listeners[i] >= 0)
            close(s->listeners[i]);
    if (s->epoll >= 0) {
        os_wait_remove(s->wait, s->epoll);
        close(s->epoll);
    }
    free(s->clients);
    *s = (struct os_server){.listeners = {-1, -1}, .epoll = -1};
}

/* --- What is answered --------------------------------------------------------------- */

#define TEXT_HEAD \
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>stoke view</title>"
#define TEXT_STYLE \
    "<body style=\"font:16px/1.5 sans-serif;max-width:38em;margin:4em auto\">"

struct answer {
    const char *status;
    const char *field; /* one more header line, with its line end */
    const char *text;  /* NULL: the page */
};

static const struct answer page_answer = {"200 OK", "", NULL};

static const struct answer bad_answer = {
    "400 Bad Request", "", TEXT_HEAD "<p>This is not an HTTP/1.1 request.\n"};

static const struct answer long_answer = {"431 Request Header Fields Too Large", "",
                                          TEXT_HEAD TEXT_STYLE
                                          "<h1>The request is too long</h1><p>The "
                                          "browser sends more than 32 KB: remove "
                                          "cookies of this host.\n"};

static const struct answer host_answer = {
    "421 Misdirected Request", "",
    TEXT_HEAD TEXT_STYLE
    "<h1>Not served by this name</h1><p><code>stoke view</code> answers to the names "
    "<code>localhost</code>, <code>127.0.0.1</code> and <code>[::1]</code> only, at any "
    "port, so that no other site can read the profile.<p>From another machine, forward a "
    "port and open it there by one of these names: <code>ssh -L "
    "8080:localhost:PORT HOST</code>, then <code>http://localhost:8080/</code> with what "
    "follows the port in the address that <code>stoke view</code> printed. Or copy a "
    "page "
    "there: <code>stoke convert FILE -o page.html</code>.\n"};

static const struct answer method_answer = {"405 Method Not Allowed", "Allow: GET\r\n",
                                            TEXT_HEAD "<p>Only GET is supported.\n"};

static const struct answer other_answer = {
    "403 Forbidden", "", TEXT_HEAD "<p>Only the page of this server may request this.\n"};

static const struct answer missing_answer = {
    "404 Not Found", "", TEXT_HEAD "<p>There is nothing at this address.\n"};

static const struct answer used_answer = {
    "410 Gone", "",
    TEXT_HEAD TEXT_STYLE
    "<h1>This address was used already</h1><p>An address that <code>stoke view</code> "
    "prints works once; after that, the browser that opened it has a cookie. If it was "
    "this one: <a href=\"/\">open the profile</a>.<p>For another browser, use the "
    "latest address that <code>stoke view</code> printed in its terminal, or start it "
    "again.<p>If no browser of yours opened it, somebody else on the machine did: end "
    "<code>stoke view</code> with Ctrl-C.\n"};

static const struct answer key_answer = {
    "403 Forbidden", "",
    TEXT_HEAD TEXT_STYLE
    "<h1>This browser may not read the profile yet</h1><p>Open the address that "
    "<code>stoke view</code> printed in its terminal: it lets one browser in. Links "
    "without it work only in a browser that was let in before, as long as the same "
    "<code>stoke view</code> runs.\n"};

/* A browser that follows a link from another site does not send its cookie. It sends it
 * when a page of this server redirects it. A script does that, because the link may
 * have a fragment. */
static const struct answer again_answer = {
    "200 OK", "",
    TEXT_HEAD "<script>location.replace(\"/?again\"+location.hash)</script><p><a "
              "href=\"/?again\">Open the profile</a>\n"};

#define SCRIPT_HASH "sha256-5I6uu1c2CHb4xCcjBdRxF79tpZ2CWulJWNhpHfeDlV4="

static bool is_token(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!byte_is_hex(text.ptr[i]))
            return false;
    return text.len == OS_SERVER_TOKEN;
}

/* The cookie's name contains the port that the browser uses, because browsers share
 * cookies between all ports of a host. */
static void cookie_name(char room[32], unsigned port)
{
    format_text(room, 32, "stoke-%u", port);
}

static bool has_key(const struct os_server *s, const struct http_request *r)
{
    char name[32];
    cookie_name(name, r->port);
    return http_has_cookie(r, str_of(name), str_of(s->key));
}

/* Chooses the answer to a request that is not for the pages; `field` is a buffer for a
 * generated header line. */
static struct answer judge(struct os_server *s, const struct http_request *r, char *field,
                           size_t size)
{
    char name[32];
    if (!str_equal(r->method, STR("GET")))
        return method_answer;
    cookie_name(name, r->port);
    bool known = has_key(s, r);
    struct str query = r->path, path = str_cut(&query, '?');
    if (str_equal(path, STR("/"))) {
        bool again = r->from_elsewhere && query.len == 0;
        return known ? page_answer : again ? again_answer : key_answer;
    }
    struct str token = str_skip(path, 1);
    if (str_ends(token, STR("/")))
        token.len--;
    if (!str_starts(path, STR("/")) || !is_token(token))
        return missing_answer;
    if (!use_token(s, token) && !known)
        return used_answer;
    format_text(field, size,
                "Location: /\r\nSet-Cookie: %s=%s; Path=/; HttpOnly; "
                "SameSite=Strict\r\n",
                name, s->key);
    return (struct answer){"303 See Other", field,
                           TEXT_HEAD "<p><a href=\"/\">Open</a>\n"};
}

static void enter(struct os_server_client *c, enum stage stage, uint64_t time)
{
    c->stage = stage;
    c->since = os_clock_monotonic();
    c->until = c->since + time;
}

static void begin(struct os_server_client *c, const char *status, const char *type,
                  const char *policy, const char *field)
{
    c->answer_sent = 0;
    c->body_length = c->rest.len;
    c->answer_used = format_text(
        c->answer, sizeof c->answer,
        "HTTP/1.1 %s\r\nContent-Type: %s\r\n"
        "Content-Length: %zu\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n"
        "Referrer-Policy: no-referrer\r\nCross-Origin-Opener-Policy: same-origin\r\n"
        "Cross-Origin-Resource-Policy: same-origin\r\n%s%sConnection: close\r\n\r\n",
        status, type, c->rest.len, policy, field);
    enter(c, STAGE_ANSWER, STALL_TIME);
}

#define HTML_TYPE "text/html; charset=utf-8"

static void begin_answer(const struct os_server *s, struct os_server_client *c,
                         struct answer a)
{
    c->rest = a.text ? str_of(a.text) : s->page;
    begin(c, a.status, HTML_TYPE,
          a.text ? "Content-Security-Policy: default-src 'none'; style-src "
                   "'unsafe-inline'; script-src '" SCRIPT_HASH
                   "'; frame-ancestors 'none'\r\n"
                 : "",
          a.field);
}

static bool is_for_pages(const struct os_server *s, struct str path)
{
    const char *const *under = s->pages ? s->pages->under : NULL;
    while (under && *under && !str_starts(path, str_of(*under)))
        under++;
    return under && *under;
}

/* Answers a request for the pages. Returns false if it is not for them. */
static bool begin_reply(const struct os_server *s, struct os_server_client *c,
                        const struct http_request *r, struct str body)
{
    struct str query = r->path;
    struct os_server_request request = {.post = str_equal(r->method, STR("POST")),
                                        .path = str_cut(&query, '?'),
                                        .body = body};
    bool get = str_equal(r->method, STR("GET"));
    if (!is_for_pages(s, request.path) || !(get || request.post))
        return false;
    bool known = has_key(s, r);
    if (!known || r->from_elsewhere || r->other_origin || (request.post && !r->is_json)) {
        begin_answer(s, c, known ? other_answer : key_answer);
        return true;
    }
    c->reply.status = "200 OK";
    c->reply.type = "application/json";
    c->reply.lasting = STR("");
    if (!s->pages->answer(s->pages->context, &request, &c->reply)) {
        free_reply(c);
        return false;
    }
    c->rest = c->reply.file.bytes.len ? c->reply.file.bytes
              : c->reply.lasting.len  ? c->reply.lasting
                                      : output_contents(&c->reply.text);
    begin(c, c->reply.status, c->reply.type, "", "");
    return true;
}

/* Answers if the request is complete, with the body of a POST. */
static void consider(struct os_server *s, struct os_server_client *c, size_t end)
{
    char field[256] = "";
    struct http_request r;
    struct str head = {c->head, end}, body = {c->head + end, c->used - end};
    if (!http_parse(head, &r) || r.length == HTTP_NO_LENGTH)
        begin_answer(s, c, bad_answer);
    else if (!r.host)
        begin_answer(s, c, host_answer);
    else if (r.length > sizeof c->head - end)
        begin_answer(s, c, long_answer);
    else if (r.length <= body.len && !begin_reply(s, c, &r, str_head(body, r.length)))
        begin_answer(s, c, judge(s, &r, field, sizeof field));
}

/* --- Clients ------------------------------------------------------------------------ */

static bool would_block(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/* Sends some bytes; returns their number, or -1 if the client has closed. */
static ssize_t send_some(struct os_server_client *c)
{
    bool head = c->answer_sent < c->answer_used;
    const char *bytes = head ? c->answer + c->answer_sent : c->rest.ptr;
    size_t length = head ? c->answer_used - c->answer_sent : c->rest.len;
    ssize_t sent = send(c->fd, bytes, length < BYTES_PER_TURN ? length : BYTES_PER_TURN,
                        MSG_NOSIGNAL | MSG_DONTWAIT | (head ? MSG_MORE : 0));
    if (sent < 0)
        return would_block() ? 0 : -1;
    if (head)
        c->answer_sent += (size_t)sent;
    else
        c->rest = str_skip(c->rest, (size_t)sent);
    return sent;
}

static void wait_for(const struct os_server *s, struct os_server_client *c,
                     uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = c};
    if (epoll_ctl(s->epoll, EPOLL_CTL_MOD, c->fd, &e) != 0)
        drop(c);
}

static void send_answer(const struct os_server *s, struct os_server_client *c)
{
    size_t turn = 0;
    while (turn < BYTES_PER_TURN && (c->answer_sent < c->answer_used || c->rest.len)) {
        ssize_t sent = send_some(c);
        if (sent < 0) {
            drop(c);
            return;
        }
        if (sent == 0)
            break;
        turn += (size_t)sent;
    }
    if (turn)
        c->until = os_clock_monotonic() + STALL_TIME;
    if (c->answer_sent < c->answer_used || c->rest.len) {
        wait_for(s, c, EPOLLOUT);
        return;
    }
    free_reply(c);
    shutdown(c->fd, SHUT_WR);
    enter(c, STAGE_LAST, LAST_TIME);
    wait_for(s, c, EPOLLIN);
}

/* Receives what the client has sent; answers when the request is complete. */
static void receive(struct os_server *s, struct os_server_client *c)
{
    if (c->stage == STAGE_LAST)
        c->used = 0;
    ssize_t got = recv(c->fd, c->head + c->used, sizeof c->head - c->used, MSG_DONTWAIT);
    if (got < 0 && would_block())
        return;
    if (got <= 0) {
        drop(c);
        return;
    }
    size_t before = c->used < 3 ? 0 : c->used - 3;
    c->used += (size_t)got;
    if (c->stage != STAGE_HEAD)
        return;
    struct str head = {c->head, c->used}, mark = STR("\r\n\r\n");
    if (!c->head_end && str_has(str_skip(head, before), mark))
        c->head_end = before + str_search(str_skip(head, before), mark) + mark.len;
    if (c->head_end)
        consider(s, c, c->head_end);
    else if (c->used == sizeof c->head)
        begin_answer(s, c, long_answer);
    if (c->stage == STAGE_ANSWER)
        send_answer(s, c);
}

static bool is_late(const struct os_server_client *c, uint64_t now)
{
    if (c->stage != STAGE_ANSWER)
        return now >= c->until;
    uint64_t sent = c->body_length - c->rest.len;
    return now >= c->until ||
           now - c->since > 2 * STALL_TIME + sent * (SECOND / MIN_RATE);
}

/* Returns a free slot. If there is none, drops the client that has waited longest
 * without a complete request, so that no client can lock others out by connecting. NULL
 * if all are being answered. */
static struct os_server_client *find_slot(struct os_server *s)
{
    struct os_server_client *oldest = NULL;
    for (size_t i = 0; i < OS_SERVER_CLIENTS; i++) {
        struct os_server_client *c = &s->clients[i];
        if (c->stage == STAGE_FREE)
            return c;
        if (c->stage != STAGE_ANSWER && (!oldest || c->since < oldest->since))
            oldest = c;
    }
    if (oldest)
        drop(oldest);
    return oldest;
}

static void accept_client(struct os_server *s, int fd)
{
    int room = KERNEL_ROOM;
    struct error ignored;
    struct os_server_client *c = find_slot(s);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    if (!c || !watch(s, fd, c, &ignored)) {
        close(fd);
        return;
    }
    c->fd = fd;
    c->used = c->head_end = 0;
    enter(c, STAGE_HEAD, HEAD_TIME);
    receive(s, c);
}

static void accept_clients(struct os_server *s)
{
    for (size_t i = 0; i < OS_SERVER_LISTENERS; i++)
        for (size_t n = 0; s->listeners[i] >= 0 && n < OS_SERVER_CLIENTS; n++) {
            int fd = accept4(s->listeners[i], NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
            if (fd < 0)
                break;
            accept_client(s, fd);
        }
}

/* Drops clients past their deadline; returns the time to the next deadline, in ms. */
static int drop_late(struct os_server *s)
{
    uint64_t now = os_clock_monotonic(), next = UINT64_MAX;
    for (size_t i = 0; i < OS_SERVER_CLIENTS; i++) {
        struct os_server_client *c = &s->clients[i];
        if (c->stage != STAGE_FREE && is_late(c, now))
            drop(c);
        else if (c->stage != STAGE_FREE && c->until < next)
            next = c->until;
    }
    return next == UINT64_MAX ? -1 : (int)((next - now) / 1000000 + 1);
}

int os_server_serve(struct os_server *s)
{
    struct epoll_event events[OS_SERVER_CLIENTS];
    int count = epoll_wait(s->epoll, events, OS_SERVER_CLIENTS, 0);
    bool fresh = false;
    for (int i = 0; i < count; i++) {
        struct os_server_client *c = events[i].data.ptr;
        if (!c)
            fresh = true;
        else if (c->stage == STAGE_ANSWER)
            send_answer(s, c);
        else if (c->stage != STAGE_FREE)
            receive(s, c);
    }
    if (fresh)
        accept_clients(s); /* last: a slot that is free now had events above */
    return drop_late(s);
}
