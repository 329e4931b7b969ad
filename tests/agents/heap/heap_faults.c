/* SPDX-License-Identifier: Apache-2.0 */
/* A program in difficulties: heap_faults.py compares what it prints, and how it ends, with and
 * without a recording. The argument selects the case. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile sink;

static void use(size_t size)
{
    char *volatile block = malloc(size);
    if (!block)
        abort();
    memset(block, 1, size);
    free(block);
}

static void storm(void)
{
    for (size_t i = 0; i < 200000; i++)
        use(1 + i % 500);
}

static void *storm_beside(void *unused)
{
    storm();
    return unused;
}

static void run_threads(void)
{
    pthread_t ids[4];
    for (int i = 0; i < 4; i++)
        if (pthread_create(&ids[i], NULL, storm_beside, NULL))
            abort();
    for (int i = 0; i < 4; i++)
        pthread_join(ids[i], NULL);
}

static void say(const char *text)
{
    if (write(STDOUT_FILENO, text, strlen(text)) < 0)
        abort();
}

/* --- Filters of system calls --------------------------------------------------------- */

/* Any other system call ends the process. */
#define ALLOW(number)                                    \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static struct sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(SYS_write),
    ALLOW(SYS_brk),
    ALLOW(SYS_mmap),
    ALLOW(SYS_munmap),
    ALLOW(SYS_exit_group),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

static struct sock_fprog program = {sizeof filter / sizeof *filter, filter};

static void end(int status)
{
    syscall(SYS_exit_group, status);
}

static void filtered(void)
{
    use(10);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
        abort();
    storm();
    say("filtered\n");
    end(7);
}

/* As libseccomp does it. Nothing was allocated before. */
static void filtered_by_number(void)
{
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) != -1 || errno != EFAULT)
        abort();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
        abort();
    storm();
    say("filtered by number\n");
    end(7);
}

/* A thread that has not allocated before the filter was installed. */
static pthread_barrier_t is_filtered;

static void *storm_later(void *unused)
{
    pthread_barrier_wait(&is_filtered);
    storm();
    return unused;
}

static void filtered_threads(void)
{
    pthread_t id;
    for (size_t i = 0; i < sizeof filter / sizeof *filter; i++)
        if (filter[i].code == (BPF_RET | BPF_K) &&
            filter[i].k == SECCOMP_RET_KILL_PROCESS)
            filter[i].k = SECCOMP_RET_ERRNO | ENOSYS;
    pthread_barrier_init(&is_filtered, NULL, 2);
    if (pthread_create(&id, NULL, storm_later, NULL))
        abort();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
        abort();
    pthread_barrier_wait(&is_filtered);
    storm();
    pthread_join(id, NULL);
    say("filtered threads\n");
}

/* Only read, write, exit and sigreturn are possible. */
static void strict(void)
{
    use(10);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
        abort();
    for (int i = 0; i < 100000; i++)
        use(50);
    say("strict\n");
    syscall(SYS_exit, 7);
}

/* --- Files and processes -------------------------------------------------------------- */

static void closes(void)
{
    use(10);
    for (int i = 3; i < 1024; i++)
        close(i);
    int fd = open("/dev/null", O_RDONLY); /* NOLINT(android-cloexec-open) */
    run_threads();
    printf("descriptor %d\n", fd);
}

static void roots(void)
{
    use(10);
    if (chroot("/proc/self/fdinfo") || chdir("/"))
        say("cannot change the root\n");
    run_threads();
    pid_t child = fork();
    if (child == 0) {
        run_threads();
        _exit(3);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
}

/* One after the other, and 50 at a time. */
static void children(void)
{
    int sum = 0;
    for (int round = 0; round < 20; round++) {
        pid_t ids[50];
        for (int i = 0; i < 50; i++) {
            ids[i] = fork();
            if (ids[i] == 0) {
                for (int n = 0; n < 100; n++)
                    use(1000);
                _exit(i % 7);
            }
        }
        for (int i = 0; i < 50; i++) {
            int status = 0;
            if (ids[i] < 0 || waitpid(ids[i], &status, 0) != ids[i] || !WIFEXITED(status))
                abort();
            sum += WEXITSTATUS(status);
        }
    }
    printf("sum %d\n", sum);
}

static void *exhaust_beside(void *unused)
{
    void *blocks[64];
    int count = 0;
    while (count < 64 && (blocks[count] = malloc((size_t)16 << 20)))
        count++;
    bool is_short = count < 64 && errno == ENOMEM;
    while (count > 0)
        free(blocks[--count]);
    use(100);
    say(is_short ? "short\n" : "not short\n");
    return unused;
}

/* 100 MiB of addresses, in a thread that has allocated before and in one that has not. */
static void exhausts(void)
{
    char text[64] = "";
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    pthread_t id;
    use(10);
    if (read(fd, text, sizeof text - 1) < 0)
        abort();
    close(fd);
    rlim_t most = strtoul(text, NULL, 10) * 4096 + ((rlim_t)100 << 20);
    struct rlimit limit = {most, most};
    if (setrlimit(RLIMIT_AS, &limit))
        abort();
    exhaust_beside(NULL);
    if (pthread_create(&id, NULL, exhaust_beside, NULL) == 0)
        pthread_join(id, NULL);
    errno = 0;
    if (malloc((size_t)1 << 40) || errno != ENOMEM)
        abort();
}

/* --- Start and end of threads and of the program --------------------------------------- */

static pthread_key_t key;

static void destroy(void *block)
{
    free(block);
    run_threads();
    say("destroyed\n");
}

static void *with_key(void *unused)
{
    pthread_setspecific(key, malloc(100));
    return unused;
}

static void at_exit(void)
{
    use(1000);
    say("at exit\n");
}

__attribute__((constructor)) static void construct(void)
{
    sink = malloc(100);
    sink = realloc(sink, 200);
    free(sink);
}

__attribute__((destructor)) static void destruct(void)
{
    use(1000);
}

static void destructors(void)
{
    pthread_t id;
    pthread_key_create(&key, destroy);
    atexit(at_exit);
    if (pthread_create(&id, NULL, with_key, NULL))
        abort();
    pthread_join(id, NULL);
}

/* --- Signals --------------------------------------------------------------------------- */

static volatile sig_atomic_t ticks;

static void on_tick(int number)
{
    (void)number;
    errno = EXDEV;
    ticks = ticks + 1;
}

/* Most of the time is spent in malloc and free: the signals arrive there. A failed
 * allocation sets errno, any other leaves it. */
static void signals(void)
{
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while (ticks < 1000)
        for (int i = 0; i < 1000; i++)
            use(100);
    setitimer(ITIMER_REAL, &never, NULL);
    say("signals\n");
}

/* The handler leaves malloc for ever by ending the process. */
static void on_end(int number)
{
    (void)number;
    say("ended\n");
    _exit(5);
}

static void ends_inside(void)
{
    struct itimerval once = {{0, 0}, {0, 20000}};
    signal(SIGALRM, on_end);
    setitimer(ITIMER_REAL, &once, NULL);
    for (;;)
        use(100);
}

static void aborts(void)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    storm();
    abort();
}

/* A time stamp counter that may not be read. */
static void no_counter(void)
{
    use(10);
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0))
        abort();
    storm();
    say("no counter\n");
}

static void vforks(char *self)
{
    int status = 0;
    for (volatile int i = 0; i < 20; i++) {
        pid_t child = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */
        if (child == 0) {
            execl(self, self, "storm", (char *)NULL);
            _exit(1);
        }
        if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7)
            abort();
    }
    say("vforks\n");
}

int main(int count, char **words)
{
    const char *name = count > 1 ? words[1] : "";
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"storm", storm},
                 {"threads", run_threads},
                 {"filtered", filtered},
                 {"filtered_by_number", filtered_by_number},
                 {"filtered_threads", filtered_threads},
                 {"strict", strict},
                 {"no_counter", no_counter},
                 {"closes", closes},
                 {"roots", roots},
                 {"children", children},
                 {"exhausts", exhausts},
                 {"destructors", destructors},
                 {"signals", signals},
                 {"ends_inside", ends_inside},
                 {"aborts", aborts}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(name, cases[i].name) == 0)
            cases[i].run();
    if (strcmp(name, "vforks") == 0)
        vforks(words[0]);
    return 7;
}
