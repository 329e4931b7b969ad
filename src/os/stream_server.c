/* SPDX-License-Identifier: Apache-2.0 */
#include "os/stream_server.h"
#include "base/format.h"
#include "base/number.h"
#include "os/machine.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define SECOND 1000000000ULL
#define EVENTS 256
#define BYTES_PER_TURN ((size_t)64 << 10)
#define ACCEPTS_PER_TURN 64
#define STALL_TIME (30 * SECOND)    /* in which a client receives something */
#define LAST_TIME (2 * SECOND)      /* for reading after the end of the output */
#define FILES_RESERVED ((size_t)64) /* for other uses of this process */
#define KEEPALIVE_IDLE 60           /* seconds until a silent peer is probed */

enum stage { STAGE_FREE, STAGE_OPEN, STAGE_LAST };

struct client {
    enum stage stage;
    int fd;
    uint32_t events; /* that epoll waits for */
    bool closed;     /* the client sends no more, but may receive */
    uint64_t active; /* when something was received or sent */
    uint64_t until;  /* deadline; 0: none */
    struct client *next_free;
};

struct os_stream_server {
    const struct os_stream_protocol *protocol;
    void *context;
    int epoll, listener, wake;
    unsigned port;
    bool stops;  /* atomic */
    char *slots; /* `slot_count` slots of `slot_size` bytes */
    size_t slot_size, slot_count, used, clients;
    struct client *free;
    uint64_t swept;
    char room[BYTES_PER_TURN];
};

static struct client *slot(const struct os_stream_server *s, size_t i)
{
    return (struct client *)(void *)(s->slots + i * s->slot_size);
}

static void *session_of(struct client *c)
{
    return c + 1;
}

/* --- Addresses ---------------------------------------------------------------------- */

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static bool parse_address(const char *text, union address *out, socklen_t *size)
{
    char host[64];
    uint64_t port;
    struct str whole = str_of(text);
    size_t colon = str_rfind(whole, ':');
    struct str name = str_head(whole, colon);
    bool v6 = str_starts(name, STR("[")) && str_ends(name, STR("]"));
    if (colon == whole.len || !number_parse_u64(str_skip(whole, colon + 1), &port) ||
        port > 65535 || name.len >= sizeof host)
        return false;
    if (v6)
        name = (struct str){name.ptr + 1, name.len - 2};
    format_text(host, sizeof host, "%.*s", STR_ARG(name));
    *out = (union address){0};
    *size = v6 ? sizeof out->v6 : sizeof out->v4;
    if (v6) {
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons((uint16_t)port);
        return inet_pton(AF_INET6, host, &out->v6.sin6_addr) == 1;
    }
    out->v4.sin_family = AF_INET;
    out->v4.sin_port = htons((uint16_t)port);
    return inet_pton(AF_INET, host, &out->v4.sin_addr) == 1;
}

bool os_stream_address_parse(const char *address, struct sockaddr_storage *out)
{
    union address a;
    socklen_t size;
    bool ok = parse_address(address, &a, &size);
    memset(out, 0, sizeof *out);
    if (ok)
        memcpy(out, &a, size);
    return ok;
}

bool os_stream_address_is_valid(const char *address)
{
    union address ignored;
    socklen_t size;
    return parse_address(address, &ignored, &size);
}

bool os_stream_address_is_local(const char *address)
{
    union address a;
    socklen_t size;
    if (!parse_address(address, &a, &size))
        return false;
    if (a.any.sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&a.v6.sin6_addr);
    return ntohl(a.v4.sin_addr.s_addr) >> 24 == 127;
}

static bool watch(struct os_stream_server *s, int fd, void *data, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = data};
    return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e) == 0;
}

static bool listen_at(struct os_stream_server *s, const char *text, struct error *err)
{
    union address a;
    socklen_t size;
    int yes = 1;
    if (!parse_address(text, &a, &size)) {
        error_set(err, "invalid address '%s'", text);
        return error_hint(err, "ADDRESS:PORT, such as 127.0.0.1:12307 or [::1]:12307");
    }
    s->listener = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->listener >= 0)
        setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (s->listener < 0 || bind(s->listener, &a.any, size) != 0 ||
        listen(s->listener, SOMAXCONN) != 0 ||
        getsockname(s->listener, &a.any, &size) != 0) {
        error_set(err, "cannot listen on %s: %s", text, strerror(errno));
        return error_hint(err, "choose another port");
    }
    s->port = ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port : a.v4.sin_port);
    return true;
}

/* --- Clients ------------------------------------------------------------------------ */

static void drop(struct os_stream_server *s, struct client *c)
{
    s->protocol->end(s->context, session_of(c));
    close(c->fd);
    c->stage = STAGE_FREE;
    c->next_free = s->free;
    s->free = c;
    s->clients--;
}

/* Waits for what the client can do next. */
static void wait_for(struct os_stream_server *s, struct client *c)
{
    struct str pieces[OS_STREAM_PIECES];
    uint32_t events = 0;
    if (c->stage == STAGE_LAST || (!c->closed && s->protocol->room(session_of(c)) > 0))
        events |= EPOLLIN;
    if (c->stage == STAGE_OPEN && s->protocol->output(session_of(c), pieces) > 0)
        events |= EPOLLOUT;
    struct epoll_event e = {.events = events, .data.ptr = c};
    if (events != c->events && epoll_ctl(s->epoll, EPOLL_CTL_MOD, c->fd, &e) != 0)
        drop(s, c);
    else
        c->events = events;
}

static bool would_block(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/* Sends what there is, up to the limit of a turn. False if the client has closed. */
static bool send_some(struct os_stream_server *s, struct client *c)
{
    struct str pieces[OS_STREAM_PIECES];
    size_t count, total = 0;
    while (total < BYTES_PER_TURN &&
           (count = s->protocol->output(session_of(c), pieces)) > 0) {
        struct iovec vectors[OS_STREAM_PIECES];
        struct msghdr message = {.msg_iov = vectors, .msg_iovlen = count};
        for (size_t i = 0; i < count; i++) {
            memcpy(&vectors[i].iov_base, &pieces[i].ptr, sizeof pieces[i].ptr);
            vectors[i].iov_len = pieces[i].len;
        }
        ssize_t sent = sendmsg(c->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0)
            return would_block();
        total += (size_t)sent;
        c->active = os_clock_monotonic();
        s->protocol->sent(s->context, session_of(c), (size_t)sent);
    }
    return true;
}

/* After a change of the session: sends, and decides what comes next. */
static void advance(struct os_stream_server *s, struct client *c)
{
    struct str pieces[OS_STREAM_PIECES];
    void *session = session_of(c);
    if (c->stage == STAGE_OPEN && !send_some(s, c)) {
        drop(s, c);
        return;
    }
    if (s->protocol->failed(session)) {
        drop(s, c);
        return;
    }
    bool has_output = s->protocol->output(session, pieces) > 0;
    if (c->stage == STAGE_OPEN && !has_output && s->protocol->ends(session)) {
        /* closing with unread input would reset the connection, and lose the output */
        shutdown(c->fd, SHUT_WR);
        c->stage = STAGE_LAST;
        c->until = os_clock_monotonic() + LAST_TIME;
    } else if (c->stage == STAGE_OPEN) {
        c->until = has_output ? c->active + STALL_TIME : 0;
    }
    wait_for(s, c);
}

static void receive(struct os_stream_server *s, struct client *c)
{
    size_t room =
        c->stage == STAGE_LAST ? sizeof s->room : s->protocol->room(session_of(c));
    if (room == 0) {
        wait_for(s, c);
        return;
    }
    ssize_t got =
        recv(c->fd, s->room, room < sizeof s->room ? room : sizeof s->room, MSG_DONTWAIT);
    if (got < 0 && would_block())
        return;
    if (got < 0 || (got == 0 && (c->closed || c->stage == STAGE_LAST))) {
        drop(s, c);
        return;
    }
    c->active = os_clock_monotonic();
    if (c->stage == STAGE_LAST)
        return;
    c->closed = got == 0;
    if (c->closed)
        s->protocol->closed(session_of(c));
    else
        s->protocol->receive(s->context, session_of(c),
                             (struct str){s->room, (size_t)got});
    advance(s, c);
}

void os_stream_server_changed(struct os_stream_server *s, void *session)
{
    advance(s, (struct client *)session - 1);
}

/* Drops the client that was idle for the longest time. */
static void drop_oldest(struct os_stream_server *s)
{
    struct client *oldest = NULL;
    for (size_t i = 0; i < s->used; i++) {
        struct client *c = slot(s, i);
        if (c->stage != STAGE_FREE && (!oldest || c->active < oldest->active))
            oldest = c;
    }
    if (oldest)
        drop(s, oldest);
}

static struct client *take_slot(struct os_stream_server *s)
{
    if (!s->free && s->used < s->slot_count)
        return slot(s, s->used++);
    if (!s->free)
        drop_oldest(s);
    struct client *c = s->free;
    if (c)
        s->free = c->next_free;
    return c;
}

static void set_options(int fd)
{
    int yes = 1, idle = KEEPALIVE_IDLE;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
}

static void accept_client(struct os_stream_server *s, int fd)
{
    struct client *c = take_slot(s);
    if (!c) {
        close(fd);
        return;
    }
    memset(c, 0, s->slot_size);
    *c = (struct client){
        .stage = STAGE_OPEN, .fd = fd, .events = EPOLLIN, .active = os_clock_monotonic()};
    s->clients++;
    set_options(fd);
    if (watch(s, fd, c, c->events))
        receive(s, c);
    else
        drop(s, c);
}

static void accept_clients(struct os_stream_server *s)
{
    for (size_t i = 0; i < ACCEPTS_PER_TURN; i++) {
        int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0)
            accept_client(s, fd);
        else if (errno == EMFILE || errno == ENFILE)
            drop_oldest(s);
        else
            break;
    }
}

static void drop_late(struct os_stream_server *s)
{
    uint64_t now = os_clock_monotonic();
    if (now - s->swept < SECOND)
        return;
    s->swept = now;
    for (size_t i = 0; i < s->used; i++) {
        struct client *c = slot(s, i);
        if (c->stage != STAGE_FREE && c->until && now >= c->until)
            drop(s, c);
    }
}

/* --- The server --------------------------------------------------------------------- */

static bool open_parts(struct os_stream_server *s, size_t clients, struct error *err)
{
    uint64_t files = os_raise_file_limit();
    size_t most =
        files > 2 * FILES_RESERVED ? (size_t)files - FILES_RESERVED : FILES_RESERVED;
    s->slot_count = clients < most ? clients : most;
    s->slot_size = (sizeof(struct client) + s->protocol->size + 15) / 16 * 16;
    s->slots = calloc(s->slot_count, s->slot_size); /* untouched pages cost nothing */
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!s->slots)
        return error_memory(err);
    if (s->epoll < 0 || s->wake < 0 || !watch(s, s->listener, &s->listener, EPOLLIN) ||
        !watch(s, s->wake, &s->wake, EPOLLIN))
        return error_set(err, "cannot wait for clients: %s", strerror(errno));
    return true;
}

struct os_stream_server *os_stream_server_open(const char *address, size_t clients,
                                               const struct os_stream_protocol *protocol,
                                               void *context, struct error *err)
{
    struct os_stream_server *s = calloc(1, sizeof *s);
    if (!s) {
        error_memory(err);
        return NULL;
    }
    s->protocol = protocol;
    s->context = context;
    s->epoll = s->listener = s->wake = -1;
    if (listen_at(s, address, err) && open_parts(s, clients, err))
        return s;
    os_stream_server_close(s);
    return NULL;
}

static void close_file(int fd)
{
    if (fd >= 0)
        close(fd);
}

void os_stream_server_close(struct os_stream_server *s)
{
    if (!s)
        return;
    for (size_t i = 0; s->slots && i < s->used; i++)
        if (slot(s, i)->stage != STAGE_FREE)
            drop(s, slot(s, i));
    close_file(s->listener);
    close_file(s->wake);
    close_file(s->epoll);
    free(s->slots);
    free(s);
}

unsigned os_stream_server_port(const struct os_stream_server *s)
{
    return s->port;
}

size_t os_stream_server_clients(const struct os_stream_server *s)
{
    return s->clients;
}

void os_stream_server_wake(struct os_stream_server *s)
{
    uint64_t one = 1;
    ssize_t written = write(s->wake, &one, sizeof one);
    (void)written; /* it fails only if the counter is at its maximum: it is awake */
}

void os_stream_server_stop(struct os_stream_server *s)
{
    __atomic_store_n(&s->stops, true, __ATOMIC_RELEASE);
    os_stream_server_wake(s);
}

static void on_wake(struct os_stream_server *s)
{
    uint64_t count;
    ssize_t got = read(s->wake, &count, sizeof count);
    (void)got;
    s->protocol->woken(s->context);
}

static void on_client(struct os_stream_server *s, struct client *c, uint32_t events)
{
    if (c->stage == STAGE_FREE)
        return; /* dropped by an event before */
    if (events & EPOLLERR) {
        drop(s, c);
        return;
    }
    if (events & (EPOLLIN | EPOLLHUP))
        receive(s, c);
    else
        advance(s, c);
}

void os_stream_server_run(struct os_stream_server *s)
{
    struct epoll_event events[EVENTS];
    while (!__atomic_load_n(&s->stops, __ATOMIC_ACQUIRE)) {
        bool fresh = false, woken = false;
        int count = epoll_wait(s->epoll, events, EVENTS, s->clients ? 1000 : -1);
        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr == &s->listener)
                fresh = true;
            else if (events[i].data.ptr == &s->wake)
                woken = true;
            else
                on_client(s, events[i].data.ptr, events[i].events);
        }
        if (woken)
            on_wake(s);
        drop_late(s);
        if (fresh)
            accept_clients(s); /* last: a slot that is free now had events above */
    }
}
