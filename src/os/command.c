/* SPDX-License-Identifier: Apache-2.0 */
#include "os/command.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* posix_spawnp takes char *const *, but does not modify the words. */
union words {
    const char *const *given;
    char *const *taken;
};

/* A file in memory: a program that does not read its input cannot block this one. */
static int open_input(struct str input)
{
    int fd = memfd_create("stoke", MFD_CLOEXEC);
    for (size_t at = 0; fd >= 0 && at < input.len;) {
        ssize_t n = write(fd, input.ptr + at, input.len - at);
        if (n > 0)
            at += (size_t)n;
        if (n == 0 || (n < 0 && errno != EINTR)) {
            close(fd);
            return -1;
        }
    }
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

static bool spawn(const char *const *argv, int from, int to, pid_t *pid,
                  struct error *err)
{
    posix_spawn_file_actions_t actions;
    union words words = {.given = argv};
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed)
        return error_memory(err);
    posix_spawn_file_actions_adddup2(&actions, from, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    failed = posix_spawnp(pid, argv[0], &actions, NULL, words.taken, environ);
    posix_spawn_file_actions_destroy(&actions);
    return !failed || error_set(err, "cannot run %s: %s", argv[0], strerror(failed));
}

static bool read_output(int from, struct output *out, size_t limit)
{
    char buffer[16384];
    for (size_t total = 0; total <= limit && !out->failed;) {
        ssize_t n = read(from, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0;
        output_bytes(out, buffer, (size_t)n);
        total += (size_t)n;
    }
    return false;
}

static bool run(const char *const *argv, int from, struct output *out, size_t limit,
                struct error *err)
{
    int ends[2] = {-1, -1}, status = 0;
    pid_t pid = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set(err, "cannot make a pipe: %s", strerror(errno));
    bool ok = spawn(argv, from, ends[1], &pid, err);
    close(ends[1]);
    if (!ok) {
        close(ends[0]);
        return false;
    }
    bool whole = read_output(ends[0], out, limit);
    close(ends[0]);
    if (!whole)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (out->failed)
        return error_memory(err);
    if (!whole)
        return error_set(err, "%s prints more than %zu bytes", argv[0], limit);
    return status == 0 || error_set(err, "%s failed", argv[0]);
}

bool os_command_run(const char *const *argv, struct str input, struct output *out,
                    size_t limit, struct error *err)
{
    int from = open_input(input);
    if (from < 0)
        return error_set(err, "cannot pass input to %s: %s", argv[0], strerror(errno));
    bool ok = run(argv, from, out, limit, err);
    close(from);
    return ok;
}
