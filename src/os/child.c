/* SPDX-License-Identifier: Apache-2.0 */
#include "os/child.h"
#include "base/format.h"
#include "base/number.h"
#include "os/wait.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool number_from(const char *name, uint32_t *out)
{
    const char *text = getenv(name);
    uint64_t v;
    if (!text || !number_parse_u64(str_of(text), &v) || v >= UINT32_MAX)
        return false;
    *out = (uint32_t)v;
    return true;
}

struct os_user_ids os_invoking_user(void)
{
    struct os_user_ids p = {0};
    p.other = getuid() == 0 && geteuid() == 0 && number_from("SUDO_UID", &p.user) &&
              number_from("SUDO_GID", &p.group) && p.user != 0;
    return p;
}

/* sudo leaves its own user's name and home in the environment. */
static bool become(const struct os_user_ids *person)
{
    const struct passwd *entry = getpwuid(person->user);
    if (entry ? initgroups(entry->pw_name, person->group) != 0
              : setgroups(1, &person->group) != 0)
        return false;
    if (entry) {
        setenv("HOME", entry->pw_dir, 1);
        setenv("USER", entry->pw_name, 1);
        setenv("LOGNAME", entry->pw_name, 1);
    }
    return setgid(person->group) == 0 && setuid(person->user) == 0;
}

static void write_whole(int fd, const void *bytes, size_t size)
{
    ssize_t put;
    do
        put = write(fd, bytes, size);
    while (put < 0 && errno == EINTR);
}

static _Noreturn void run(int go, int failed, char *const *argv,
                          const struct os_user_ids *person)
{
    char word;
    ssize_t got;
    os_wait_restore_signals();
    do
        got = read(go, &word, 1);
    while (got < 0 && errno == EINTR);
    if (got == 1) { /* otherwise the parent exited before os_child_start */
        errno = 0;
        if (!person->other || become(person))
            execvp(argv[0], argv);
        int why = errno ? errno : EPERM;
        write_whole(failed, &why, sizeof why);
    }
    _exit(127);
}

bool os_child_prepare(struct os_child *c, char *const *argv,
                      const struct os_user_ids *person, struct error *err)
{
    int go[2] = {-1, -1}, failed[2] = {-1, -1};
    *c = (struct os_child){.go = -1, .failed = -1};
    pid_t pid = -1;
    if (pipe2(go, O_CLOEXEC) == 0 && pipe2(failed, O_CLOEXEC) == 0)
        pid = fork();
    int why = errno;
    if (pid == 0) {
        close(go[1]);
        run(go[0], failed[1], argv, person);
    }
    close(go[0]);
    close(failed[1]);
    if (pid > 0) {
        *c = (struct os_child){.pid = pid, .go = go[1], .failed = failed[0]};
        return true;
    }
    close(go[1]);
    close(failed[0]);
    return error_set(err, "cannot start a process: %s", strerror(why));
}

bool os_child_start(struct os_child *c, const char *name, struct error *err)
{
    int why = 0;
    ssize_t got;
    write_whole(c->go, "", 1);
    close(c->go);
    do
        got = read(c->failed, &why, sizeof why);
    while (got < 0 && errno == EINTR);
    close(c->failed);
    c->go = c->failed = -1;
    if (got != sizeof why)
        return true;
    error_set(err, "cannot run '%s': %s", name, strerror(why));
    return why == ENOENT ? error_hint(err, "check the name; stoke searches $PATH for it")
                         : false;
}

static uint64_t ns_of(struct timeval t)
{
    return ((uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec) * 1000;
}

/* Takes the status and the times of a process that has ended; false if it runs. */
static bool collect_end(struct os_child *c, int options)
{
    int status;
    struct rusage used;
    pid_t got;
    if (c->pid == 0 || c->ended)
        return c->ended;
    do
        got = wait4((pid_t)c->pid, &status, options, &used);
    while (got < 0 && errno == EINTR);
    if (got != c->pid)
        return false;
    c->ended = true;
    c->user_time = ns_of(used.ru_utime);
    c->kernel_time = ns_of(used.ru_stime);
    c->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return true;
}

bool os_child_ended(struct os_child *c)
{
    return collect_end(c, WNOHANG);
}

bool os_child_run(struct os_child *c, int (*work)(void *context), void *context,
                  struct error *err)
{
    *c = (struct os_child){.go = -1, .failed = -1};
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        os_wait_restore_signals();
        int status = work(context);
        fflush(NULL);
        _exit(status);
    }
    c->pid = pid > 0 ? pid : 0;
    return pid > 0 || error_set(err, "cannot start a process: %s", strerror(errno));
}

void os_child_leave_group(void)
{
    (void)setsid();
}

struct detached {
    char *const *argv;
    int input, output;
};

static int run_detached(void *context)
{
    const struct detached *d = context;
    if (setsid() < 0 || chdir("/") != 0 || dup2(d->input, STDIN_FILENO) < 0 ||
        dup2(d->output, STDOUT_FILENO) < 0 || dup2(d->output, STDERR_FILENO) < 0)
        return 127;
    execv(d->argv[0], d->argv);
    dprintf(STDERR_FILENO, "cannot run '%s': %s\n", d->argv[0], strerror(errno));
    return 127;
}

bool os_child_detach(struct os_child *c, char *const *argv, const char *output,
                     struct error *err)
{
    struct detached d = {.argv = argv, .input = open("/dev/null", O_RDONLY | O_CLOEXEC)};
    d.output = open(output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool ok = d.input >= 0 && d.output >= 0;
    if (!ok)
        error_set(err, "cannot write '%s': %s", output, strerror(errno));
    ok = ok && os_child_run(c, run_detached, &d, err);
    if (d.input >= 0)
        close(d.input);
    if (d.output >= 0)
        close(d.output);
    return ok;
}

bool os_child_terminate(struct os_child *c)
{
    bool waits = c->go >= 0;
    if (waits)
        close(c->go);
    if (c->failed >= 0)
        close(c->failed);
    c->go = c->failed = -1;
    if (c->pid == 0 || c->ended)
        return false;
    if (waits) {
        while (waitpid((pid_t)c->pid, NULL, 0) < 0 && errno == EINTR)
            ;
        c->ended = true;
        return false;
    }
    kill((pid_t)c->pid, SIGTERM);
    kill((pid_t)c->pid, SIGCONT);
    return true;
}

void os_child_wait(struct os_child *c)
{
    collect_end(c, 0);
    c->ended = true;
}

void os_child_kill(const struct os_child *c)
{
    if (c->pid && !c->ended)
        kill((pid_t)c->pid, SIGKILL);
}

static bool can_be_run(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool os_program_exists(const char *name)
{
    char path[4096];
    const char *folders = getenv("PATH");
    struct str rest = str_of(folders ? folders : "/bin:/usr/bin");
    if (strchr(name, '/'))
        return can_be_run(name);
    while (name[0] && rest.len) {
        struct str folder = str_cut(&rest, ':');
        size_t length = format_text(path, sizeof path, "%.*s%s%s", STR_ARG(folder),
                                    folder.len ? "/" : "", name);
        if (length + 1 < sizeof path && can_be_run(path))
            return true;
    }
    return false;
}
