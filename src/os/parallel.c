#include "os/parallel.h"
#include <pthread.h>
#include <sched.h>

#define PARTS_MAX 256

struct part {
    pthread_t thread;
    void (*work)(void *, unsigned);
    void *context;
    unsigned number;
    bool started;
};

unsigned os_core_count(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int count = CPU_COUNT(&set);
    return count < 1 ? 1 : count > PARTS_MAX ? PARTS_MAX : (unsigned)count;
}

static void *run_part(void *context)
{
    struct part *part = context;
    part->work(part->context, part->number);
    return NULL;
}

void os_parallel(unsigned count, void (*work)(void *context, unsigned part),
                 void *context)
{
    struct part parts[PARTS_MAX];
    if (count > PARTS_MAX)
        count = PARTS_MAX;
    for (unsigned i = 1; i < count; i++) {
        parts[i] = (struct part){.work = work, .context = context, .number = i};
        parts[i].started =
            pthread_create(&parts[i].thread, NULL, run_part, &parts[i]) == 0;
    }
    if (count)
        work(context, 0);
    for (unsigned i = 1; i < count; i++) {
        if (parts[i].started)
            pthread_join(parts[i].thread, NULL);
        else
            work(context, i);
    }
}
