/* SPDX-License-Identifier: Apache-2.0 */
#include "os/process_probe.h"
#include "os/machine.h"
#include "os/proc.h"
#include "os/rights.h"
#include "os/thread.h"
#include <stdlib.h>

#define WAIT_MOST ((uint64_t)20000000)      /* ns */
#define IDLE_TIME ((uint64_t)3600000000000) /* ns, unless there is a question before */

struct os_process_probe {
    struct os_thread thread;
    struct os_lock lock;
    struct os_condition changed;
    uint32_t pid;
    uint64_t asked, answered; /* numbers of questions */
    bool ends;
};

static void ignore(void *context, const struct os_code *code)
{
    (void)context;
    (void)code;
}

static void run(void *context)
{
    struct os_process_probe *p = context;
    os_run_thread_first();
    os_rights_restrict(OS_RIGHT_READ);
    os_lock_acquire(&p->lock);
    while (!p->ends) {
        if (p->asked == p->answered) {
            os_condition_wait(&p->changed, &p->lock, os_clock_monotonic() + IDLE_TIME);
            continue;
        }
        uint32_t pid = p->pid;
        os_lock_release(&p->lock);
        os_process_code(pid, pid, ignore, NULL);
        os_lock_acquire(&p->lock);
        p->answered = p->asked;
        os_condition_wake(&p->changed);
    }
    os_lock_release(&p->lock);
}

static void destroy(struct os_process_probe *p)
{
    os_condition_deinit(&p->changed);
    os_lock_deinit(&p->lock);
    free(p);
}

struct os_process_probe *os_process_probe_start(void)
{
    struct error ignored;
    struct os_process_probe *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    if (os_lock_init_inheriting(&p->lock) && os_condition_init(&p->changed) &&
        os_thread_start(&p->thread, run, p, &ignored))
        return p;
    destroy(p);
    return NULL;
}

bool os_process_probe_answers(struct os_process_probe *p, uint32_t pid)
{
    if (!p)
        return true;
    os_lock_acquire(&p->lock);
    if (p->ends) {
        os_lock_release(&p->lock);
        return true;
    }
    if (p->asked == p->answered) {
        uint64_t until = os_clock_monotonic() + WAIT_MOST;
        p->pid = pid;
        p->asked++;
        os_condition_wake(&p->changed);
        while (p->asked != p->answered && os_clock_monotonic() < until)
            os_condition_wait(&p->changed, &p->lock, until);
    } else {
        pid = 0;
    }
    bool answers = pid && p->asked == p->answered;
    os_lock_release(&p->lock);
    return answers;
}

void os_process_probe_stop(struct os_process_probe *p)
{
    if (!p)
        return;
    os_lock_acquire(&p->lock);
    p->ends = true;
    os_condition_wake(&p->changed);
    os_lock_release(&p->lock);
    os_thread_join(&p->thread);
}

void os_process_probe_destroy(struct os_process_probe *p)
{
    os_process_probe_stop(p);
    if (p)
        destroy(p);
}
