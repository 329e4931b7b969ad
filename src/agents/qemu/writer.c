/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/qemu/writer.h"
#include "agents/qemu/lane.h"
#include "base/format.h"
#include "base/qemu_format.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* State in the process of QEMU. */
static char path[4096];
static bool is_regular;
static pid_t writer; /* pid; 0: none */
/* A pipe to the writer: the system closes it when this process ends or calls exec. */
static int alive = -1;
/* Another descriptor of the file, which is locked while this process has it. */
static int locked = -1;

/* State in the process of the writer. */
struct out {
    int fd;
    int alive; /* see above */
    int guest; /* pidfd of QEMU's process; -1 if the system has none */
    uint32_t sequence;
};

/* A guest sees the file descriptors of QEMU, and may close low ones. Moves fd to a
 * high number. */
static int move_high(int fd)
{
    struct rlimit limit;
    rlim_t most = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 1024;
    int from = most > 1000 ? 900 : (int)most - 8;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, from);
    if (high < 0)
        return fd;
    close(fd);
    return high;
}

/* Locks a byte of the file for this process. If that is not possible, a reader does
 * not wait for the writer. */
static void lock_byte(int fd, int64_t offset)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1};
    fcntl(fd, F_SETLK, &lock);
}

/* Opens the same file again: closing the other descriptor would end a lock. */
static int open_again(int fd)
{
    char name[64];
    format_text(name, sizeof name, "/proc/self/fd/%d", fd);
    int again = is_regular ? open(name, O_WRONLY | O_CLOEXEC) : -1;
    return again < 0 ? -1 : move_high(again);
}

/* An absolute path, which stays valid when the guest changes its directory. */
static bool set_path(const char *name, struct error *err)
{
    char folder[sizeof path] = "";
    if (*name != '/' && !getcwd(folder, sizeof folder))
        return error_set(err, "cannot find the current folder: %s", strerror(errno));
    size_t length =
        format_text(path, sizeof path, "%s%s%s", folder, *folder ? "/" : "", name);
    return length + 16 < sizeof path || error_set(err, "the path is too long: %s", name);
}

/* Standard output is the trace; output of the guest goes to standard error. */
static int take_standard_output(void)
{
    int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (fd >= 0)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    return fd;
}

static int open_out(const char *name, bool is_forked, struct error *err)
{
    bool is_stdout = strcmp(name, "-") == 0;
    char own[sizeof path + 16];
    if (!is_forked && !is_stdout && !set_path(name, err))
        return -1;
    if (is_forked && !is_regular) {
        error_set(err, "process %d, which the guest forked, is not traced", getpid());
        error_hint(err, "out=FILE with a regular file gives each process a file");
        return -1;
    }
    format_text(own, sizeof own, is_forked ? "%s.%d" : "%s", path, getpid());
    int fd = is_stdout ? take_standard_output()
                       : open(own, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        error_set(err, "cannot write %s: %s", is_stdout ? "standard output" : own,
                  strerror(errno));
        return -1;
    }
    struct stat stat;
    is_regular = fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode);
    if (!is_regular)
        fcntl(fd, F_SETPIPE_SZ, 1 << 20);
    if (is_stdout)
        format_text(path, sizeof path, "standard output");
    return fd;
}

/* Reports a failed write: later instructions of the guest are not in the trace. */
static _Noreturn void give_up(int reason)
{
    char text[sizeof path + 128];
    size_t length = format_text(text, sizeof text,
                                "stoke_qemu: cannot write %s: %s; the trace ends here\n",
                                path, strerrordesc_np(reason));
    (void)!write(STDERR_FILENO, text, length);
    atomic_store(&channel->is_failed, 1);
    _exit(1);
}

static void write_all(const struct out *out, struct iovec *pieces, int count)
{
    while (count) {
        ssize_t wrote = writev(out->fd, pieces, count);
        if (wrote < 0) {
            if (errno != EINTR)
                give_up(errno);
            continue;
        }
        while (count && (size_t)wrote >= pieces->iov_len) {
            wrote -= (ssize_t)pieces->iov_len;
            pieces++;
            count--;
        }
        if (count) {
            pieces->iov_base = (char *)pieces->iov_base + wrote;
            pieces->iov_len -= (size_t)wrote;
        }
    }
}

/* Writes the part `from` to `to` of a ring of `size` bytes as a chunk. */
static void write_ring(struct out *out, enum qemu_chunk type, uint32_t cpu, void *ring,
                       uint32_t size, uint32_t from, uint32_t to)
{
    uint32_t length = to - from, offset = from & (size - 1);
    uint32_t first = length < size - offset ? length : size - offset;
    uint32_t head[4] = {type, cpu, length, out->sequence};
    _Static_assert(sizeof head == QEMU_TRACE_CHUNK_SIZE, "the size in the format");
    struct iovec pieces[3] = {
        {head, sizeof head}, {(char *)ring + offset, first}, {ring, length - first}};
    if (!length)
        return;
    out->sequence++;
    write_all(out, pieces, 3);
}

static void write_header(struct out *out, const struct trace_options *options,
                         uint32_t flags, pid_t guest, pid_t parent)
{
    struct {
        char magic[8];
        uint32_t version, size, flags, selector;
        uint64_t start, end;
        uint32_t process, parent;
    } head = {.version = QEMU_TRACE_VERSION,
              .size = QEMU_TRACE_HEADER_SIZE,
              .flags = flags,
              .selector = options->selector,
              .start = options->start,
              .end = options->has_end ? options->end : UINT64_MAX,
              .process = flags & QEMU_TRACE_SYSTEM ? 0 : (uint32_t)guest,
              .parent = (uint32_t)parent};
    _Static_assert(sizeof head == QEMU_TRACE_HEADER_SIZE, "the size in the format");
    memcpy(head.magic, QEMU_TRACE_MAGIC, sizeof head.magic);
    write_all(out, &(struct iovec){&head, sizeof head}, 1);
}

static void write_thread(struct out *out, const struct lane *l, uint32_t cpu)
{
    struct {
        uint32_t thread, size;
        char name[THREAD_NAME_SIZE];
    } body = {.thread = l->thread};
    memcpy(body.name, l->thread_name, sizeof body.name);
    body.size = (uint32_t)strnlen(body.name, sizeof body.name);
    uint32_t size = QEMU_TRACE_THREAD_SIZE + ((body.size + 3) & ~UINT32_C(3));
    write_ring(out, QEMU_CHUNK_THREAD, cpu, &body, 64, 0, size);
}

static void write_feed(struct out *out, enum qemu_chunk type, struct feed *f, uint32_t to)
{
    uint32_t from = atomic_load_explicit(&f->tail, memory_order_relaxed);
    write_ring(out, type, 0, f->bytes, f->size, from, to);
    channel_move_tail(&f->tail, to, &f->is_awaited);
}

/* The ring counts words, a chunk counts bytes: the product by 4 overflows 32 bits, but
 * differences are right. */
static void write_words(struct out *out, struct lane *l, uint32_t cpu, uint32_t to)
{
    uint32_t tail = atomic_load_explicit(&l->tail, memory_order_relaxed);
    write_ring(out, QEMU_CHUNK_RUNS, cpu, l->words, 4 * LANE_WORDS, 4 * tail, 4 * to);
    channel_move_tail(&l->tail, to, &l->is_awaited);
}

static void write_lane(struct out *out, uint32_t cpu, uint32_t head)
{
    struct lane *l = &channel->lanes[cpu];
    if (atomic_load(&l->thread_is_new) && (int32_t)(head - l->thread_from) >= 0) {
        write_words(out, l, cpu, l->thread_from);
        write_thread(out, l, cpu);
        atomic_store(&l->thread_is_new, 0);
        channel_move_tail(&l->tail, l->thread_from, &l->is_awaited);
    }
    write_words(out, l, cpu, head);
}

/* Lanes are read first, and maps last: see channel.h. */
static void write_what_there_is(struct out *out)
{
    static uint32_t heads[LANES];
    uint32_t count = atomic_load(&channel->lane_count);
    for (uint32_t i = 0; i < count; i++)
        heads[i] = atomic_load_explicit(&channel->lanes[i].head, memory_order_acquire);
    uint32_t blocks = atomic_load_explicit(&channel->blocks.head, memory_order_acquire);
    uint32_t maps = atomic_load_explicit(&channel->maps.head, memory_order_acquire);
    write_feed(out, QEMU_CHUNK_MAPS, &channel->maps, maps);
    write_feed(out, QEMU_CHUNK_BLOCKS, &channel->blocks, blocks);
    for (uint32_t i = 0; i < count; i++)
        write_lane(out, i, heads[i]);
}

static void write_end(struct out *out, bool is_killed)
{
    struct {
        uint32_t flags, zero;
        uint64_t instructions;
    } body = {.flags = is_killed ? QEMU_END_KILLED : 0};
    _Static_assert(sizeof body == QEMU_TRACE_END_SIZE, "the size in the format");
    for (uint32_t i = 0; !is_killed && i < atomic_load(&channel->lane_count); i++) {
        const struct lane *l = &channel->lanes[i];
        body.instructions += l->carried + l->begun - l->skipped;
    }
    write_ring(out, QEMU_CHUNK_END, 0, &body, 16, 0, sizeof body);
}

enum guest_state {
    GUEST_RUNS,
    GUEST_EXECED, /* exec: the process runs another program, without QEMU */
    GUEST_DIED,
};

static enum guest_state guest_state(const struct out *out)
{
    struct pollfd polls[] = {{out->guest, POLLIN, 0}, {out->alive, 0, 0}};
    poll(polls, 2, 0);
    if (!polls[0].revents && !polls[1].revents)
        return GUEST_RUNS;
    if (atomic_load(&channel->is_execing))
        return GUEST_EXECED;
    if (!polls[0].revents && out->guest >= 0)
        return GUEST_RUNS; /* the guest closed a descriptor of QEMU */
    return GUEST_DIED;
}

/* After QEMU has reported its end, or has ended, no more data comes. */
static void write_until_end(struct out *out)
{
    enum guest_state guest = GUEST_RUNS;
    bool is_ended = false;
    while (!is_ended && guest == GUEST_RUNS) {
        uint32_t heard = atomic_load(&channel->bell);
        is_ended = atomic_load(&channel->state) == CHANNEL_ENDS;
        guest = is_ended ? GUEST_RUNS : guest_state(out);
        write_what_there_is(out);
        if (!is_ended && guest == GUEST_RUNS)
            channel_await_bell(heard);
    }
    if (!is_ended) {
        for (uint32_t i = 0; i < atomic_load(&channel->lane_count); i++)
            lane_abandon(&channel->lanes[i]);
        write_what_there_is(out);
    }
    if (!atomic_load(&channel->is_failed))
        write_end(out, guest == GUEST_DIED);
}

static int compare_fds(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Does not hold pipes and terminals of the guest open, except standard error. */
static void close_others(const struct out *out)
{
    int open[] = {STDERR_FILENO, out->fd, out->alive, out->guest};
    unsigned from = 0;
    qsort(open, 4, sizeof *open, compare_fds);
    for (int i = 0; i < 4; i++) {
        if (open[i] > (int)from)
            close_range(from, (unsigned)open[i] - 1, 0);
        if (open[i] >= (int)from)
            from = (unsigned)open[i] + 1;
    }
    close_range(from, ~0U, 0);
}

/* Signals to the guest's process group or terminal do not reach the writer, and it
 * survives the end of the session. */
static void keep_apart(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    prctl(PR_SET_NAME, "stoke_qemu");
}

bool writer_start(const struct trace_options *options, uint32_t flags, bool is_forked,
                  struct error *err)
{
    int ends[2];
    int fd = open_out(options->out, is_forked, err);
    if (fd < 0)
        return false;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        close(fd);
        return error_set(err, "cannot make a pipe: %s", strerror(errno));
    }
    pid_t guest = getpid(), parent = is_forked ? getppid() : 0;
    alive = move_high(ends[1]);
    locked = open_again(fd);
    /* The writer's end sends no SIGCHLD, so wait() of the guest does not return it. */
    writer = (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
    if (writer == 0) {
        keep_apart();
        struct out out = {fd, ends[0], (int)syscall(SYS_pidfd_open, guest, 0), 0};
        close_others(&out);
        if (locked >= 0)
            lock_byte(fd, QEMU_LOCK_WRITER);
        write_header(&out, options, flags, guest, parent);
        write_until_end(&out);
        _exit(0);
    }
    int reason = errno;
    close(fd);
    close(ends[0]);
    if (locked >= 0)
        lock_byte(locked, QEMU_LOCK_GUEST);
    return writer > 0 || error_set(err, "cannot start a process: %s", strerror(reason));
}

void writer_finish(void)
{
    atomic_store(&channel->state, CHANNEL_ENDS);
    channel_ring_bell();
    while (writer > 0 && waitpid(writer, NULL, __WCLONE) < 0 && errno == EINTR)
        ;
    writer = 0;
}

bool writer_is_gone(void)
{
    return writer <= 0 || waitpid(writer, NULL, WNOHANG | __WCLONE) != 0;
}

void writer_forget(void)
{
    close(alive);
    close(locked);
    alive = locked = -1;
    writer = 0;
}
