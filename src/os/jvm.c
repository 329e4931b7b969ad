/* SPDX-License-Identifier: Apache-2.0 */
#include "os/jvm.h"
#include "base/format.h"
#include "base/number.h"
#include "base/scan.h"
#include "os/machine.h"
#include "os/mapping.h"
#include "os/proc.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define MS ((uint64_t)1000000)
#define SOCKET_WAIT (6000 * MS)  /* from the signal to the socket */
#define ANSWER_WAIT (10000 * MS) /* from the request to the end of the answer */
#define TEXT_MAX ((size_t)16 << 10)
#define WAIT_STEP 5 /* ms */

/* --- Whether a process is such a JVM ------------------------------------------------ */

struct libraries {
    bool hotspot, other;
};

static void check_library(void *context, const struct os_code *code)
{
    struct libraries *seen = context;
    seen->hotspot |= str_ends(code->path, STR("/libjvm.so"));
    seen->other |= str_has(code->path, STR("/libj9vm")); /* has a libjvm.so too */
}

bool os_is_jvm(uint32_t pid)
{
    struct libraries seen = {false, false};
    os_process_code(pid, pid, check_library, &seen);
    return seen.hotspot && !seen.other;
}

static struct str read_proc(uint32_t pid, const char *name, char *room)
{
    char path[64];
    format_text(path, sizeof path, "/proc/%u/%s", pid, name);
    return os_read_text(path, room, TEXT_MAX);
}

static bool handles_signal(uint32_t pid)
{
    char room[TEXT_MAX];
    uint64_t caught;
    struct str text = read_proc(pid, "status", room);
    while (text.len) {
        struct str line = str_cut(&text, '\n');
        if (str_starts(line, STR("SigCgt:")))
            return number_parse_hex(str_trim(str_skip(line, 7)), &caught) &&
                   caught >> (SIGQUIT - 1) & 1;
    }
    return false;
}

static bool is_disabled(uint32_t pid)
{
    char room[TEXT_MAX];
    struct str text = read_proc(pid, "cmdline", room);
    while (text.len)
        if (str_equal(str_cut(&text, 0), STR("-XX:+DisableAttachMechanism")))
            return true;
    return false;
}

/* --- The request --------------------------------------------------------------------- */

static bool fail(struct error *err, const char *what)
{
    return error_set(err, "%s: %s", what, strerror(errno));
}

static bool open_folder(struct os_jvm *r, struct error *err)
{
    char path[64];
    struct open_how how = {.flags = O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
    format_text(path, sizeof path, "/proc/%u/root", r->pid);
    int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return fail(err, path);
    r->folder = (int)syscall(SYS_openat2, root, "tmp", &how, sizeof how);
    bool ok = r->folder >= 0 || fail(err, "/tmp of the process");
    close(root);
    return ok;
}

static struct os_jvm none_of(uint32_t pid, const char *command)
{
    return (struct os_jvm){.pid = pid,
                           .command = command,
                           .process = -1,
                           .folder = -1,
                           .socket = -1,
                           .began = os_clock_monotonic()};
}

bool os_jvm_begin(struct os_jvm *r, uint32_t pid, const char *command, struct error *err)
{
    *r = none_of(pid, command);
    r->process = (int)syscall(SYS_pidfd_open, pid, 0);
    bool ok = r->process >= 0 || fail(err, "the process");
    if (ok && !os_is_jvm(pid))
        ok = error_set(err, "it is not a HotSpot JVM");
    if (ok && !os_process_owner(pid, &r->owner))
        ok = error_set(err, "it has ended");
    r->own_pid = os_process_own_pid(pid);
    ok = ok && open_folder(r, err);
    if (!ok)
        os_jvm_end(r);
    return ok;
}

static void name_of(const struct os_jvm *r, const char *prefix, char *room, size_t size)
{
    format_text(room, size, "%s%lld", prefix, (long long)r->own_pid);
}

/* Sends the signal while the file exists that gives it its meaning. The file stays until the
 * socket is there, see os_jvm_end. */
static bool send_signal(struct os_jvm *r, struct error *err)
{
    char name[64];
    if (is_disabled(r->pid))
        return error_set(err, "-XX:+DisableAttachMechanism is set");
    name_of(r, ".attach_pid", name, sizeof name);
    int fd = openat(r->folder, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC,
                    0600);
    if (fd < 0 && errno != EEXIST)
        return fail(err, name);
    r->created = fd >= 0;
    os_shared_close(fd);
    r->signalled = true;
    r->began = os_clock_monotonic();
    return syscall(SYS_pidfd_send_signal, r->process, SIGQUIT, NULL, 0) == 0 ||
           fail(err, "SIGQUIT");
}

/* Connects to the socket of the JVM. Returns -1 if it does not exist, if it is one that an ended
 * JVM left, or if it belongs to another user. */
static int connect_to(const struct os_jvm *r)
{
    char name[64];
    struct stat st;
    struct ucred peer;
    socklen_t size = sizeof peer;
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    name_of(r, ".java_pid", name, sizeof name);
    if (fstatat(r->folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISSOCK(st.st_mode) || st.st_uid != r->owner)
        return -1;
    format_text(to.sun_path, sizeof to.sun_path, "/proc/self/fd/%d/%s", r->folder, name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
        peer.uid == r->owner)
        return fd;
    os_shared_close(fd);
    return -1;
}

/* Sends the request, which is smaller than the buffer of a new socket. */
static bool send_request(struct os_jvm *r, struct error *err)
{
    const char *parts[] = {"1", "jcmd", r->command, "", ""};
    char text[128];
    size_t length = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        length += format_text(text + length, sizeof text - length, "%s", parts[i]) + 1;
    r->began = os_clock_monotonic();
    return send(r->socket, text, length, MSG_NOSIGNAL) == (ssize_t)length ||
           fail(err, "the JVM's socket");
}

static enum os_jvm_state ends_with(bool ok)
{
    return ok ? OS_JVM_BUSY : OS_JVM_FAILED;
}

static enum os_jvm_state step_to_socket(struct os_jvm *r, struct error *err)
{
    r->socket = connect_to(r);
    if (r->socket >= 0)
        return ends_with(send_request(r, err));
    if (os_clock_monotonic() - r->began > SOCKET_WAIT)
        return ends_with(error_set(err, r->signalled
                                            ? "no answer to SIGQUIT"
                                            : "it does not handle SIGQUIT (-Xrs)"));
    if (r->signalled || !handles_signal(r->pid)) /* the JVM may have only begun */
        return OS_JVM_BUSY;
    return ends_with(send_signal(r, err));
}

static enum os_jvm_state take_answer(struct os_jvm *r, struct error *err)
{
    struct str text = {r->answer, r->length}, status = str_cut(&text, '\n');
    if (str_equal(status, STR("0")))
        return OS_JVM_DONE;
    struct str why = str_trim(str_cut(&text, '\n'));
    if (why.len == 0)
        return ends_with(error_set(err, "%s: no answer", r->command));
    return ends_with(error_set(err, "%s: %.*s", r->command, (int)why.len, why.ptr));
}

enum os_jvm_state os_jvm_step(struct os_jvm *r, struct error *err)
{
    if (r->socket < 0)
        return step_to_socket(r, err);
    for (int reads = 0; reads < 64; reads++) {
        char rest[1024];
        size_t room = sizeof r->answer - r->length;
        ssize_t got = room ? read(r->socket, r->answer + r->length, room)
                           : read(r->socket, rest, sizeof rest);
        if (got == 0)
            return take_answer(r, err);
        if (got < 0 && errno != EAGAIN && errno != EINTR)
            return ends_with(fail(err, "the JVM's socket"));
        if (got < 0)
            break;
        r->length += room ? (size_t)got : 0;
    }
    if (os_clock_monotonic() - r->began > ANSWER_WAIT)
        return ends_with(error_set(err, "no answer to %s", r->command));
    return OS_JVM_BUSY;
}

void os_jvm_await(const struct os_jvm *r, int milliseconds)
{
    struct pollfd wait = {.fd = r->socket, .events = POLLIN};
    int most = milliseconds < WAIT_STEP || r->socket >= 0 ? milliseconds : WAIT_STEP;
    poll(&wait, r->socket >= 0, most);
}

/* --- Files --------------------------------------------------------------------------- */

int os_jvm_open(const struct os_jvm *r, const char *name)
{
    struct stat st;
    int fd = openat(r->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == r->owner)
        return fd;
    os_shared_close(fd);
    return -1;
}

void os_jvm_remove(const struct os_jvm *r, const char *name)
{
    unlinkat(r->folder, name, 0);
}

void os_jvm_end(struct os_jvm *r)
{
    char name[64];
    name_of(r, ".attach_pid", name, sizeof name);
    if (r->created)
        unlinkat(r->folder, name, 0);
    os_shared_close(r->process);
    os_shared_close(r->folder);
    os_shared_close(r->socket);
    *r = none_of(r->pid, r->command);
}
