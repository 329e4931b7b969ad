/* SPDX-License-Identifier: Apache-2.0 */
#include "record/thread_counts.h"
#include <stdlib.h>

#define WORD_BITS 64

bool thread_counts_init(struct thread_counts *c, uint32_t limit)
{
    *c = (struct thread_counts){.limit = limit};
    c->process_of = calloc(limit, sizeof *c->process_of);
    c->others = calloc(limit, sizeof *c->others);
    c->ended = calloc(limit / WORD_BITS + 1, sizeof *c->ended);
    return c->process_of && c->others && c->ended;
}

void thread_counts_deinit(struct thread_counts *c)
{
    free(c->process_of);
    free(c->others);
    free(c->ended);
    *c = (struct thread_counts){.limit = 0};
}

static void set_ended(struct thread_counts *c, uint32_t pid, bool value)
{
    uint64_t bit = (uint64_t)1 << (pid % WORD_BITS);
    if (value)
        c->ended[pid / WORD_BITS] |= bit;
    else
        c->ended[pid / WORD_BITS] &= ~bit;
}

static bool has_ended(const struct thread_counts *c, uint32_t pid)
{
    return c->ended[pid / WORD_BITS] >> (pid % WORD_BITS) & 1;
}

/* The id is not one of a thread beside a main one any more. */
static void detach(struct thread_counts *c, uint32_t tid)
{
    uint32_t pid = c->process_of[tid];
    c->process_of[tid] = 0;
    if (pid && c->others[pid])
        c->others[pid]--;
}

static void attach(struct thread_counts *c, uint32_t pid, uint32_t tid)
{
    c->process_of[tid] = pid;
    c->others[pid]++;
}

void thread_counts_begin(struct thread_counts *c, uint32_t pid, uint32_t tid)
{
    if (pid >= c->limit || tid >= c->limit)
        return;
    detach(c, tid);
    if (pid != tid) {
        attach(c, pid, tid);
        return;
    }
    c->others[pid] = 0;
    set_ended(c, pid, false);
}

void thread_counts_see(struct thread_counts *c, uint32_t pid, uint32_t tid)
{
    if (pid >= c->limit || tid >= c->limit || pid == tid || c->process_of[tid] == pid)
        return;
    detach(c, tid);
    attach(c, pid, tid);
}

bool thread_counts_end(struct thread_counts *c, uint32_t pid, uint32_t tid)
{
    if (pid >= c->limit || tid >= c->limit)
        return pid == tid;
    if (pid == tid)
        set_ended(c, pid, true);
    else
        detach(c, tid);
    return has_ended(c, pid) && c->others[pid] == 0;
}

void thread_counts_exec(struct thread_counts *c, uint32_t pid)
{
    if (pid >= c->limit)
        return;
    c->others[pid] = 0;
    set_ended(c, pid, false);
}
