/* SPDX-License-Identifier: Apache-2.0 */
/* How long a LEPD server takes to say hello.
 *
 * hello PORT CLIENTS SECONDS PAUSE: so many connections, each with one request at a time, and so
 *     many microseconds between all of them and the next. Prints the number of requests, and the
 *     median, the 99th percentile and the longest of their waits in microseconds.
 * hello serve: a server that does nothing else, to compare with. Prints its port. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS_MAX 1000
#define WAITS_MAX ((size_t)1 << 22)
#define TIMEOUT_MS 30000

static const char request[] = "{\"method\": \"SayHello\"}";
static const char reply[] = "{\n\t\"result\":\t\"Hello!lepdendstring\"\n}\n";

struct client {
    double sent;
    size_t received;
};

static struct pollfd polls[CLIENTS_MAX + 1];
static struct client clients[CLIENTS_MAX];
static double waits[WAITS_MAX];
static size_t wait_count;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void check(int ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    exit(1);
}

static struct sockaddr_in loopback(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

static void send_at_once(int fd)
{
    int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

/* --- The client --------------------------------------------------------------------- */

static void ask(size_t i)
{
    clients[i] = (struct client){.sent = now()};
    check(write(polls[i].fd, request, sizeof request - 1) == sizeof request - 1, "write");
}

/* Returns whether the reply is complete. */
static int receive(size_t i)
{
    char room[256];
    ssize_t got = read(polls[i].fd, room, sizeof room);
    check(got > 0, "read");
    clients[i].received += (size_t)got;
    if (clients[i].received < sizeof reply - 1)
        return 0;
    if (wait_count < WAITS_MAX)
        waits[wait_count++] = now() - clients[i].sent;
    return 1;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void ask_until(double end, size_t count, useconds_t pause)
{
    for (size_t i = 0; i < count; i++)
        ask(i);
    while (now() < end) {
        check(poll(polls, count, TIMEOUT_MS) > 0, "poll");
        for (size_t i = 0; i < count; i++) {
            if (!polls[i].revents || !receive(i))
                continue;
            if (pause)
                usleep(pause);
            ask(i);
        }
    }
}

static int run_client(int port, size_t count, double seconds, useconds_t pause)
{
    struct sockaddr_in a = loopback(port);
    check(count > 0 && count <= CLIENTS_MAX, "clients");
    for (size_t i = 0; i < count; i++) {
        polls[i] =
            (struct pollfd){.fd = socket(AF_INET, SOCK_STREAM, 0), .events = POLLIN};
        check(connect(polls[i].fd, (struct sockaddr *)&a, sizeof a) == 0, "connect");
        send_at_once(polls[i].fd);
    }
    ask_until(now() + seconds * 1e6, count, pause);
    check(wait_count > 0, "replies");
    qsort(waits, wait_count, sizeof *waits, compare);
    printf("%zu %.0f %.0f %.0f\n", wait_count, waits[wait_count / 2],
           waits[wait_count * 99 / 100], waits[wait_count - 1]);
    return 0;
}

/* --- The server --------------------------------------------------------------------- */

static void answer(size_t i)
{
    char room[256];
    if (read(polls[i].fd, room, sizeof room) > 0)
        check(write(polls[i].fd, reply, sizeof reply - 1) > 0, "write");
    else
        polls[i].fd = (close(polls[i].fd), -1);
}

static _Noreturn void run_server(void)
{
    struct sockaddr_in a = loopback(0);
    socklen_t size = sizeof a;
    size_t count = 1;
    polls[0] = (struct pollfd){.fd = socket(AF_INET, SOCK_STREAM, 0), .events = POLLIN};
    check(bind(polls[0].fd, (struct sockaddr *)&a, size) == 0, "bind");
    check(listen(polls[0].fd, 64) == 0, "listen");
    check(getsockname(polls[0].fd, (struct sockaddr *)&a, &size) == 0, "getsockname");
    printf("%d\n", ntohs(a.sin_port));
    fflush(stdout);
    for (;;) {
        check(poll(polls, count, -1) > 0, "poll");
        for (size_t i = 1; i < count; i++)
            if (polls[i].revents)
                answer(i);
        if (polls[0].revents && count <= CLIENTS_MAX) {
            polls[count] =
                (struct pollfd){.fd = accept(polls[0].fd, NULL, NULL), .events = POLLIN};
            send_at_once(polls[count++].fd);
        }
    }
}

int main(int count, char **words)
{
    if (count == 5)
        return run_client(atoi(words[1]), (size_t)atoi(words[2]), atof(words[3]),
                          (useconds_t)atoi(words[4]));
    if (count == 2 && strcmp(words[1], "serve") == 0)
        run_server();
    return 2;
}
