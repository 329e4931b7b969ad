/* A user program that ends, forks and executes programs; the argument selects the
 * case. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long work;

static void spin(long count)
{
    for (long i = 0; i < count; i++)
        work += i;
}

/* wait() returns only children of the guest. */
static int forks(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        spin(1000);
        exit(3);
    }
    int is_right = wait(&status) == child && WEXITSTATUS(status) == 3;
    is_right &= wait(&status) == -1 && errno == ECHILD;
    printf("forks %d\n", is_right);
    return !is_right;
}

/* File descriptors of a program have the same numbers as without the plugin. */
static int opens(void)
{
    int fd = open("/dev/null", O_RDONLY);
    printf("opens %d\n", fd);
    return fd < 0;
}

static void *works(void *name)
{
    if (name)
        prctl(PR_SET_NAME, name);
    spin(20000);
    return NULL;
}

static int threads(void)
{
    static char name[] = "worker";
    for (int round = 0; round < 3; round++) {
        pthread_t ids[4];
        for (int i = 0; i < 4; i++)
            pthread_create(&ids[i], NULL, works, i ? name : NULL);
        for (int i = 0; i < 4; i++)
            pthread_join(ids[i], NULL);
    }
    puts("threads");
    return 0;
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "";
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(what, "abort") == 0)
        abort();
    if (strcmp(what, "fault") == 0)
        *(volatile int *)8 = 1;
    if (strcmp(what, "leave") == 0)
        _exit(3);
    if (strcmp(what, "fork") == 0)
        return forks();
    if (strcmp(what, "open") == 0)
        return opens();
    if (strcmp(what, "close") == 0)
        for (int fd = 3; fd < 800; fd++)
            close(fd);
    if (strcmp(what, "execute") == 0)
        execl("/bin/echo", "echo", "executed", (char *)NULL);
    if (strcmp(what, "missing") == 0)
        execl("/nonexistent", "x", (char *)NULL);
    if (strcmp(what, "threads") == 0)
        return threads();
    if (strcmp(what, "forever") == 0)
        for (puts("forever");;)
            spin(1000);
    spin(1000);
    puts("done");
    return 0;
}
