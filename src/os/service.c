/* SPDX-License-Identifier: Apache-2.0 */
#include "os/service.h"
#include "os/restriction.h"
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_MS 10000

struct work {
    os_service_answer *answer;
    void *context;
    int socket;
};

static ssize_t receive(int socket, char *into)
{
    ssize_t length;
    do
        length = recv(socket, into, OS_SERVICE_MAX, 0);
    while (length < 0 && errno == EINTR);
    return length;
}

static bool put(int socket, const char *bytes, size_t size)
{
    ssize_t length;
    do
        length = send(socket, bytes, size, MSG_NOSIGNAL);
    while (length < 0 && errno == EINTR);
    return length == (ssize_t)size;
}

static bool has_answer(const struct os_service *s)
{
    struct pollfd wait = {.fd = s->socket, .events = POLLIN};
    int ready;
    do
        ready = poll(&wait, 1, s->limit);
    while (ready < 0 && errno == EINTR);
    return ready == 1;
}

/* The questions come through standard input. All other files of the parent are closed, but for
 * messages about errors. */
static int answer_all(void *context)
{
    const struct work *w = context;
    char question[OS_SERVICE_MAX], answer[OS_SERVICE_MAX];
    ssize_t length;
    if (dup2(w->socket, STDIN_FILENO) < 0 || close(STDOUT_FILENO) != 0 ||
        close_range(STDERR_FILENO + 1, UINT_MAX, 0) != 0)
        return 1;
    os_child_leave_group();
    os_thread_restrict();
    while ((length = receive(STDIN_FILENO, question)) > 0) {
        struct str text = {question, (size_t)length};
        if (!put(STDIN_FILENO, answer, w->answer(w->context, text, answer)))
            return 1;
    }
    return 0;
}

bool os_service_start(struct os_service *s, os_service_answer *answer, void *context,
                      struct error *err)
{
    int ends[2];
    *s = (struct os_service){.socket = -1, .limit = ANSWER_MS};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return error_set(err, "cannot connect to a process: %s", strerror(errno));
    struct work w = {.answer = answer, .context = context, .socket = ends[1]};
    bool ok = os_child_run(&s->child, answer_all, &w, err);
    close(ends[1]);
    if (ok)
        s->socket = ends[0];
    else
        close(ends[0]);
    return ok;
}

size_t os_service_ask(struct os_service *s, struct str question, char *into)
{
    ssize_t length = 0;
    if (!s->child.pid)
        return 0;
    if (put(s->socket, question.ptr, question.len) && has_answer(s))
        length = receive(s->socket, into);
    if (length <= 0)
        os_service_end(s);
    return length > 0 ? (size_t)length : 0;
}

void os_service_end(struct os_service *s)
{
    if (!s->child.pid)
        return;
    close(s->socket);
    os_child_kill(&s->child);
    os_child_wait(&s->child);
    *s = (struct os_service){.socket = -1};
}
