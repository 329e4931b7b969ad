/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the time limits for clients of the server, with a clock that the test sets:
 * linked with --wrap=os_clock_monotonic. */
#include "base/format.h"
#include "os/server.h"
#include "unit.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND 1000000000ULL
#define PAGE_SIZE ((size_t)16 << 20)
#define HEAD_SIZE 2048 /* larger than the head of an answer */

static uint64_t now = 1000 * SECOND;

uint64_t __wrap_os_clock_monotonic(void);

uint64_t __wrap_os_clock_monotonic(void)
{
    return now;
}

struct served {
    struct os_server server;
    struct os_wait wait;
    char *page;
    char address[OS_SERVER_ADDRESS];
};

static int served_begin(void **state)
{
    struct served *s = calloc(1, sizeof *s);
    struct error err;
    s->page = calloc(1, PAGE_SIZE);
    assert_true(os_wait_init(&s->wait, &err));
    struct str page = {s->page, PAGE_SIZE};
    assert_true(os_server_open(&s->server, 0, page, &s->wait, &err));
    assert_true(os_server_invite(&s->server, 0, 0, s->address, &err));
    *state = s;
    return 0;
}

static int served_end(void **state)
{
    struct served *s = *state;
    os_server_close(&s->server);
    os_wait_deinit(&s->wait);
    free(s->page);
    free(s);
    return 0;
}

/* Serves everything that can be served now. */
static void serve(struct served *s)
{
    struct pollfd p = {.fd = s->server.epoll, .events = POLLIN};
    os_server_serve(&s->server);
    while (poll(&p, 1, 3) > 0)
        os_server_serve(&s->server);
}

/* Waits for something to serve, and serves it: the kernel can delay a packet. */
static void serve_next(struct served *s)
{
    struct pollfd p = {.fd = s->server.epoll, .events = POLLIN};
    poll(&p, 1, 10000);
    serve(s);
}

/* Waits for data, or for the end of the connection. */
static void await_data(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    poll(&p, 1, 10000);
}

/* A client with a small receive buffer, so that the server sends only what the client
 * receives. */
static int connect_to(struct served *s)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)s->server.port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), room = 32 << 10;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    serve_next(s);
    return fd;
}

static void send_request(struct served *s, int fd)
{
    char text[512], cookie[64];
    format_text(cookie, sizeof cookie, "stoke-%u=%s", s->server.port, s->server.key);
    size_t length = format_text(
        text, sizeof text, "GET / HTTP/1.1\r\nHost: localhost:%u\r\nCookie: %s\r\n\r\n",
        s->server.port, cookie);
    assert_int_equal(write(fd, text, length), length);
    serve_next(s);
}

/* Receives at most that many bytes; returns their number, and whether the connection
 * ended. */
static size_t receive(int fd, size_t limit, bool *ended)
{
    static char room[1 << 20];
    size_t taken = 0;
    while (taken < limit) {
        size_t size = limit - taken < sizeof room ? limit - taken : sizeof room;
        ssize_t got = recv(fd, room, size, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        *ended = got <= 0;
        if (got <= 0)
            break;
        taken += (size_t)got;
    }
    return taken;
}

/* Receives `bytes` every `seconds`; returns how long the connection lasts, and the
 * total in *all. */
static uint64_t receive_slowly(struct served *s, size_t bytes, unsigned seconds,
                               size_t *all)
{
    bool ended = false;
    int fd = connect_to(s);
    send_request(s, fd);
    uint64_t begin = now;
    for (*all = 0; !ended && *all <= PAGE_SIZE + HEAD_SIZE;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        poll(&p, 1, 1000); /* more data, or the end */
        *all += receive(fd, bytes, &ended);
        serve(s);
        if (!ended)
            now += seconds * SECOND;
        serve(s);
    }
    close(fd);
    serve(s);
    return (now - begin) / SECOND;
}

static void a_request_must_come_in_time(void **state)
{
    bool ended = false;
    int fd = connect_to(*state);
    now += 5 * SECOND - 1;
    serve(*state);
    assert_int_equal(receive(fd, 1, &ended), 0);
    assert_false(ended);
    now += 1;
    serve(*state);
    await_data(fd);
    receive(fd, 1, &ended);
    assert_true(ended);
    close(fd);
}

static void a_client_that_receives_nothing_is_dropped(void **state)
{
    size_t all = 0;
    bool ended = false;
    int fd = connect_to(*state);
    send_request(*state, fd);
    now += 15 * SECOND - 1;
    serve(*state);
    await_data(fd);
    /* too little for the server to send more */
    assert_true(receive(fd, 1000, &ended) == 1000 && !ended);
    now += 1;
    serve(*state);
    while (!ended) {
        await_data(fd);
        all += receive(fd, PAGE_SIZE, &ended);
    }
    assert_true(all < PAGE_SIZE / 2);
    close(fd);
}

/* With the clock of the test, only the pauses receive time: the limit of 30 s plus one
 * second per 10,000 bytes is longer. */
static void a_slow_client_gets_everything(void **state)
{
    size_t all;
    uint64_t took = receive_slowly(*state, 28000, 2, &all);
    assert_true(all > PAGE_SIZE);
    assert_in_range(took, 900, 1500);
}

/* It receives something every 15 s, but less than the minimum rate. */
static void a_client_below_the_rate_is_dropped(void **state)
{
    size_t all;
    uint64_t took = receive_slowly(*state, 15000, 2, &all);
    assert_true(all < PAGE_SIZE);
    assert_true(took > 30 && took < 30 + all / 10000 + 100);
}

/* Others are served meanwhile, up to the number of slots; then new clients replace
 * those without a request. */
static void waiting_clients_do_not_block_others(void **state)
{
    struct served *s = *state;
    int waiting[OS_SERVER_CLIENTS + 8];
    size_t count = sizeof waiting / sizeof *waiting, all = 0;
    bool ended = false;
    for (size_t i = 0; i < count; i++)
        waiting[i] = connect_to(s);
    int fd = connect_to(s);
    send_request(s, fd);
    while (!ended) {
        all += receive(fd, PAGE_SIZE, &ended);
        serve(s);
    }
    assert_true(all > PAGE_SIZE);
    for (size_t i = 0; i < count; i++)
        close(waiting[i]);
    close(fd);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_request_must_come_in_time, served_begin,
                                        served_end),
        cmocka_unit_test_setup_teardown(a_client_that_receives_nothing_is_dropped,
                                        served_begin, served_end),
        cmocka_unit_test_setup_teardown(a_slow_client_gets_everything, served_begin,
                                        served_end),
        cmocka_unit_test_setup_teardown(a_client_below_the_rate_is_dropped, served_begin,
                                        served_end),
        cmocka_unit_test_setup_teardown(waiting_clients_do_not_block_others, served_begin,
                                        served_end),
    };
    return UNITS_RUN(tests);
}
