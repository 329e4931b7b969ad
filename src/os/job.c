/* SPDX-License-Identifier: Apache-2.0 */
#include "os/job.h"
#include "os/regular_file.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

/* What the new process does. */
struct task {
    int output, messages; /* descriptors; output -1: the same as the messages */
    char *const *argv;    /* NULL: calls `work` */
    int (*work)(void *context);
    void *context;
};

static int begin(void *context)
{
    const struct task *t = context;
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 ||
        dup2(t->output < 0 ? t->messages : t->output, STDOUT_FILENO) < 0 ||
        dup2(t->messages, STDERR_FILENO) < 0)
        return 127;
    if (!t->argv)
        return t->work(t->context);
    execv(t->argv[0], t->argv);
    fprintf(stderr, "cannot run '%s': %s\n", t->argv[0], strerror(errno));
    return 127;
}

static bool start(struct os_job *j, struct task *t, struct os_wait *w, struct error *err)
{
    int ends[2];
    *j = OS_JOB_NONE;
    if (!t->argv && (j->result = memfd_create("result", MFD_CLOEXEC)) < 0)
        return error_set(err, "cannot create a file in memory: %s", strerror(errno));
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set(err, "cannot create a pipe: %s", strerror(errno));
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    j->messages = ends[0];
    t->output = j->result;
    t->messages = ends[1];
    bool ok = os_wait_add(w, ends[0], err) && os_child_run(&j->child, begin, t, err);
    j->wait = w;
    close(ends[1]);
    return ok;
}

bool os_job_execute(struct os_job *j, char *const *argv, struct os_wait *w,
                    struct error *err)
{
    struct task task = {.argv = argv};
    return start(j, &task, w, err);
}

bool os_job_run(struct os_job *j, int (*work)(void *context), void *context,
                struct os_wait *w, struct error *err)
{
    struct task task = {.work = work, .context = context};
    return start(j, &task, w, err);
}

/* Reads what is in the pipe, at most what it holds, and retains the end. */
static void drain(struct os_job *j)
{
    char piece[OS_JOB_MESSAGES];
    for (int i = 0; i < 64 && j->messages >= 0; i++) {
        ssize_t got = read(j->messages, piece, sizeof piece);
        if (got <= 0)
            return;
        size_t more = (size_t)got, rest = sizeof j->text - more;
        if (j->used > rest) {
            memmove(j->text, j->text + j->used - rest, rest);
            j->used = rest;
        }
        memcpy(j->text + j->used, piece, more);
        j->used += more;
    }
}

bool os_job_ended(struct os_job *j)
{
    bool ended = os_child_ended(&j->child);
    drain(j);
    return ended;
}

struct str os_job_messages(const struct os_job *j)
{
    return (struct str){j->text, j->used};
}

bool os_job_result(const struct os_job *j, struct os_mapping *m, struct error *err)
{
    return os_mapping_of(m, j->result, OS_PLAIN_SIZE_MAX, err);
}

void os_job_stop(struct os_job *j)
{
    os_child_terminate(&j->child);
}

void os_job_close(struct os_job *j)
{
    if (j->child.pid && !os_child_ended(&j->child)) {
        os_child_terminate(&j->child);
        while (!os_child_ended(&j->child)) {
            drain(j); /* it may wait for room in the pipe */
            usleep(10000);
        }
    }
    if (j->messages >= 0) {
        os_wait_remove(j->wait, j->messages);
        close(j->messages);
    }
    if (j->result >= 0)
        close(j->result);
    *j = OS_JOB_NONE;
}
