/* A process whose main thread runs, while the thread "waiter" waits. */
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

static volatile unsigned long sink;

static void *waiter(void *unused)
{
    prctl(PR_SET_NAME, "waiter");
    for (;;)
        pause();
    return unused;
}

int main(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, waiter, NULL))
        return 1;
    for (;;)
        sink = sink * 6364136223846793005UL + 1;
}
