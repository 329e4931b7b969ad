/* The first process of the kernel that the tests boot: runs two programs at the same
 * time, which have the same addresses and communicate through a pipe, and switches the
 * machine off. */
#include <stdio.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t start(const char *path, int in, int out, const int *ends)
{
    pid_t child = fork();
    if (child == 0) {
        if (in >= 0)
            dup2(in, 0);
        if (out >= 0)
            dup2(out, 1);
        close(ends[0]);
        close(ends[1]);
        execl(path, path, (char *)NULL);
        _exit(127);
    }
    return child;
}

int main(void)
{
    int ends[2], status, failed = 0;
    if (pipe(ends) != 0)
        return 1;
    start("/alpha", -1, ends[1], ends);
    start("/beta", ends[0], -1, ends);
    close(ends[0]);
    close(ends[1]);
    while (wait(&status) > 0)
        failed += status != 0;
    printf("init: %d failed\n", failed);
    fflush(stdout);
    reboot(RB_POWER_OFF);
    return 0;
}
