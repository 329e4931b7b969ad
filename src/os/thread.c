/* SPDX-License-Identifier: Apache-2.0 */
#include "os/thread.h"
#include "os/machine.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define NS 1000000000u

struct os_thread_body {
    pthread_t thread;
    void (*run)(void *);
    void *context;
};

static void *run_body(void *context)
{
    struct os_thread_body *body = context;
    body->run(body->context);
    return NULL;
}

bool os_thread_start(struct os_thread *t, void (*run)(void *context), void *context,
                     struct error *err)
{
    sigset_t all, before;
    struct os_thread_body *body = calloc(1, sizeof *body);
    if (!body)
        return error_memory(err);
    body->run = run;
    body->context = context;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int reason = pthread_create(&body->thread, NULL, run_body, body);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (reason != 0) {
        free(body);
        return error_set(err, "cannot start a thread: %s", strerror(reason));
    }
    t->body = body;
    return true;
}

void os_thread_join(struct os_thread *t)
{
    if (t->body)
        pthread_join(t->body->thread, NULL);
    free(t->body);
    t->body = NULL;
}

bool os_condition_init(struct os_condition *c)
{
    pthread_condattr_t attributes;
    pthread_cond_t *condition = malloc(sizeof(pthread_cond_t));
    c->condition = condition;
    if (!condition)
        return false;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
    return true;
}

void os_condition_deinit(struct os_condition *c)
{
    if (c->condition)
        pthread_cond_destroy(c->condition);
    free(c->condition);
    c->condition = NULL;
}

void os_condition_wake(struct os_condition *c)
{
    pthread_cond_broadcast(c->condition);
}

void os_condition_wait(struct os_condition *c, struct os_lock *lock, uint64_t until)
{
    struct timespec at;
    uint64_t now = os_clock_monotonic();
    clock_gettime(CLOCK_MONOTONIC, &at); /* differs in a time namespace */
    uint64_t end = (uint64_t)at.tv_sec * NS + (uint64_t)at.tv_nsec;
    end += until > now ? until - now : 0;
    at.tv_sec = (time_t)(end / NS);
    at.tv_nsec = (long)(end % NS);
    pthread_cond_timedwait(c->condition, lock->mutex, &at);
}
