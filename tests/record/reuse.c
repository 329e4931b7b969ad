/* Three processes, one after the other, with the same process id: two that execute a program
 * each, and one that continues as a copy of this one. For tests/record_faults.py.
 *   reuse FIRST SECOND      prints the id; 77 if the system does not let it choose */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

__attribute__((noinline)) static void only_in_parent(void)
{
    for (clock_t end = clock() + CLOCKS_PER_SEC / 5; clock() < end;)
        for (int i = 0; i < 100000; i++)
            sink = sink * 6364136223846793005UL + 1;
}

/* The next process gets this id, unless another one starts first. */
static void choose(int pid)
{
    char text[16];
    int size = snprintf(text, sizeof text, "%d", pid - 1);
    int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY);
    if (fd < 0 || write(fd, text, (size_t)size) != size)
        exit(77);
    close(fd);
}

static int begin(const char *program, int id)
{
    for (int attempt = 0; attempt < 1000; attempt++) {
        if (id)
            choose(id);
        int pid = fork();
        if (pid == 0) {
            if (id && getpid() != id)
                _exit(0);
            if (program)
                _exit(execl(program, program, (char *)NULL));
            only_in_parent();
            _exit(0);
        }
        waitpid(pid, NULL, 0);
        if (!id || pid == id)
            return pid;
    }
    exit(77);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    int pid = begin(argv[1], 0);
    begin(argv[2], pid);
    begin(NULL, pid);
    printf("%d\n", pid);
    return 0;
}
