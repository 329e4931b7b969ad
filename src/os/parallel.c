#include "os/parallel.h"
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

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

/* Blocks that are given back to the system one by one make every core flush its address
 * translations, in the middle of its work: with threads, the heap keeps them. */
static void keep_blocks(void)
{
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 16 << 20);
}

void os_parallel(unsigned count, void (*work)(void *context, unsigned part),
                 void *context)
{
    struct part parts[PARTS_MAX];
    if (count > PARTS_MAX)
        count = PARTS_MAX;
    if (count > 1)
        keep_blocks();
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

bool os_lock_init(struct os_lock *l)
{
    pthread_mutex_t *mutex = malloc(sizeof(pthread_mutex_t));
    if (mutex && pthread_mutex_init(mutex, NULL) != 0) {
        free(mutex);
        mutex = NULL;
    }
    l->mutex = mutex;
    return mutex != NULL;
}

void os_lock_deinit(struct os_lock *l)
{
    if (l->mutex)
        pthread_mutex_destroy(l->mutex);
    free(l->mutex);
    l->mutex = NULL;
}

void os_lock_take(struct os_lock *l)
{
    pthread_mutex_lock(l->mutex);
}

void os_lock_give(struct os_lock *l)
{
    pthread_mutex_unlock(l->mutex);
}
