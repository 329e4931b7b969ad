/* A program with known waits for files, for tests/record/io.py: each is measured by its own clock.
 *   files FOLDER       prints "NAME DEVICE LEAST MOST" for each file that it waits for, in ns */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000L
#define DISK_TIME (NS / 5)
#define SYNCS_MOST 500
#define WRITTEN (8 << 20) /* bytes */

static struct sockaddr_in at = {.sin_family = AF_INET};
static struct sockaddr_un path = {.sun_family = AF_UNIX};
static int pipe_ends[2], fifo, locked;

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NS + t.tv_nsec;
}

static long cpu_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * NS + t.tv_nsec;
}

static void sleep_ms(long ms)
{
    struct timespec t = {0, ms * 1000000};
    nanosleep(&t, NULL);
}

/* Ends each wait of the main thread in turn. */
static void *serve(void *unused)
{
    int tcp = socket(AF_INET, SOCK_STREAM, 0), local = socket(AF_UNIX, SOCK_STREAM, 0);
    (void)unused;
    sleep_ms(500);
    if (write(pipe_ends[1], "x", 1) != 1)
        exit(1);
    sleep_ms(300);
    if (connect(tcp, (struct sockaddr *)&at, sizeof at) != 0)
        exit(1);
    sleep_ms(200);
    if (write(tcp, "x", 1) != 1)
        exit(1);
    sleep_ms(200);
    if (connect(local, (struct sockaddr *)&path, sizeof path) != 0)
        exit(1);
    sleep_ms(200);
    if (write(fifo, "x", 1) != 1)
        exit(1);
    sleep_ms(200);
    close(locked);
    return NULL;
}

static void report(const char *name, const char *device, long since)
{
    long waited = now() - since;
    printf("%s\t%s\t%ld\t%ld\n", name, device, waited, waited);
}

static void wait_for_pipe(void)
{
    char c, name[64];
    struct stat st;
    long since = now();
    if (read(pipe_ends[0], &c, 1) != 1 || fstat(pipe_ends[0], &st) != 0)
        exit(1);
    snprintf(name, sizeof name, "pipe:[%lu]", (unsigned long)st.st_ino);
    report(name, "pipe", since);
}

static void wait_for_tcp(int listening)
{
    char c, name[64];
    long since = now();
    int fd = accept(listening, NULL, NULL);
    snprintf(name, sizeof name, "tcp 127.0.0.1:%d", ntohs(at.sin_port));
    report(name, "tcp", since);
    since = now();
    if (recv(fd, &c, 1, 0) != 1)
        exit(1);
    snprintf(name, sizeof name, "tcp 127.0.0.1:%d from 127.0.0.1", ntohs(at.sin_port));
    report(name, "tcp", since);
}

static void wait_for_unix(int listening)
{
    char name[160];
    long since = now();
    if (accept(listening, NULL, NULL) < 0)
        exit(1);
    snprintf(name, sizeof name, "unix %s", path.sun_path);
    report(name, "unix", since);
}

static void wait_by_poll(const char *name)
{
    struct pollfd one = {.fd = fifo, .events = POLLIN};
    long since = now();
    if (poll(&one, 1, -1) != 1)
        exit(1);
    report(name, "pipe", since);
}

static void wait_for_lock(const char *name)
{
    int fd = open(name, O_RDONLY);
    long since = now();
    if (flock(fd, LOCK_EX) != 0)
        exit(1);
    report(name, "DISK", since);
}

/* Writes until it has waited for so long, and ends at once, so that /proc may not show the file any
 * more. The calls wait thousands of times for some 50 us, and neither clock counts the switches
 * exactly: at least for the time without CPU time, less a tenth, at most for all of the time. */
static void wait_for_disk(const char *name)
{
    static char content[WRITTEN];
    int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    long all = 0, used = 0;
    for (int i = 0; i < SYNCS_MOST && all - used < DISK_TIME; i++) {
        long since = now(), cpu = cpu_time();
        if (pwrite(fd, content, sizeof content, 0) != sizeof content || fsync(fd) != 0)
            exit(1);
        used += cpu_time() - cpu;
        all += now() - since;
    }
    printf("%s\tDISK\t%ld\t%ld\n", name, (all - used) / 10 * 9, all);
}

int main(int argc, char **argv)
{
    char named[4096], disk[4096], file[4096];
    struct sched_param first = {.sched_priority = 1};
    pthread_t thread;
    socklen_t size = sizeof at;
    if (argc != 2)
        return 2;
    snprintf(named, sizeof named, "%s/fifo", argv[1]);
    snprintf(file, sizeof file, "%s/locked", argv[1]);
    snprintf(disk, sizeof disk, "%s/written", argv[1]);
    snprintf(path.sun_path, sizeof path.sun_path, "stoke-io-%d", getpid());
    unlink(path.sun_path);
    int tcp = socket(AF_INET, SOCK_STREAM, 0), local = socket(AF_UNIX, SOCK_STREAM, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    /* below the ports of clients */
    for (int port = 20000; port < 30000; port++) {
        at.sin_port = htons((uint16_t)port);
        if (bind(tcp, (struct sockaddr *)&at, sizeof at) == 0)
            break;
    }
    if (listen(tcp, 1) != 0 || getsockname(tcp, (struct sockaddr *)&at, &size) != 0 ||
        bind(local, (struct sockaddr *)&path, sizeof path) != 0 ||
        listen(local, 1) != 0 || pipe(pipe_ends) != 0 || mkfifo(named, 0600) != 0)
        return 1;
    fifo = open(named, O_RDWR);
    locked = open(file, O_CREAT | O_RDWR, 0600);
    if (flock(locked, LOCK_EX) != 0)
        return 1;
    sched_setscheduler(0, SCHED_FIFO, &first); /* waits for a CPU would count, too */
    if (pthread_create(&thread, NULL, serve, NULL) != 0)
        return 1;
    wait_for_pipe();
    wait_for_tcp(tcp);
    wait_for_unix(local);
    wait_by_poll(named);
    wait_for_lock(file);
    pthread_join(thread, NULL);
    wait_for_disk(disk);
    unlink(path.sun_path);
    return 0;
}
