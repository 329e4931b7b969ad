/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/intake.h"
#include "base/array.h"
#include "os/machine.h"

enum key_state { KEY_FREE, KEY_CLAIMED, KEY_STORED };

bool daemon_intake_init(struct daemon_intake *t)
{
    return os_lock_init(&t->writing) && os_lock_init(&t->lock);
}

void daemon_intake_deinit(struct daemon_intake *t)
{
    for (size_t i = 0; i < 2; i++)
        arena_deinit(&t->generations[i].arena);
    os_lock_deinit(&t->writing);
    os_lock_deinit(&t->lock);
}

/* --- Keys ------------------------------------------------------------------------------- */

/* The state of a key that is known, or KEY_FREE. */
static enum key_state state_of(const struct daemon_intake *t, uint64_t key)
{
    for (size_t i = 0; i < 2; i++) {
        const uint64_t *state = idmap_find(&t->generations[i].keys, key);
        if (state && *state)
            return (enum key_state) * state;
    }
    return KEY_FREE;
}

/* When out of memory, the key is not known later. */
static void set_state(struct daemon_intake *t, uint64_t key, enum key_state state)
{
    struct daemon_key_generation *g = &t->generations[0];
    if (g->keys.count >= DAEMON_INTAKE_KEYS) {
        arena_deinit(&t->generations[1].arena);
        t->generations[1] = *g;
        *g = (struct daemon_key_generation){.arena = ARENA_INIT};
    }
    uint64_t *old = (uint64_t *)(uintptr_t)idmap_find(&t->generations[1].keys, key);
    if (old)
        *old = KEY_FREE;
    uint64_t *at = idmap_put(&g->keys, &g->arena, key);
    if (at)
        *at = state;
}

static bool is_own(const struct daemon_intake_claims *c, uint64_t key)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->keys[i] == key)
            return true;
    return false;
}

enum ingest_answer daemon_intake_claim(void *context, uint64_t key)
{
    struct daemon_intake_claims *c = context;
    struct daemon_intake *t = c->intake;
    key ^= c->salt;
    struct arena_bound *bound = arena_count_in(NULL); /* keys outlive the request */
    os_lock_acquire(&t->lock);
    enum key_state state = state_of(t, key);
    uint64_t *own =
        state == KEY_FREE ? ARRAY_APPEND(&c->arena, c->keys, c->count, c->cap) : NULL;
    if (own) {
        *own = key;
        set_state(t, key, KEY_CLAIMED);
    }
    os_lock_release(&t->lock);
    arena_count_in(bound);
    if (state == KEY_FREE)
        return INGEST_NEW;
    return state == KEY_STORED || is_own(c, key) ? INGEST_KNOWN : INGEST_BUSY;
}

void daemon_intake_settle(struct daemon_intake_claims *c, bool stored)
{
    struct arena_bound *bound = arena_count_in(NULL);
    os_lock_acquire(&c->intake->lock);
    for (size_t i = 0; i < c->count; i++)
        set_state(c->intake, c->keys[i], stored ? KEY_STORED : KEY_FREE);
    os_lock_release(&c->intake->lock);
    arena_deinit(&c->arena);
    arena_count_in(bound);
    c->count = c->cap = 0;
    c->keys = NULL;
}

/* --- Storing ---------------------------------------------------------------------------- */

/* This considers only the maximum age. It is not known in advance which samples the size limit
 * removes. */
uint64_t daemon_intake_oldest(const struct daemon_intake *t, uint64_t now)
{
    uint64_t age = t->history->limits.age;
    return age && age < now ? now - age : 0;
}

bool daemon_intake_store(struct daemon_intake *t, struct ingest *in, struct error *err)
{
    struct profile *p = builder_finish(&in->builder, err);
    struct store_window w = {.profile = p, .start = in->start, .end = in->end};
    if (!p)
        return false;
    w.rate = p->facts.rate;
    bool ok = true;
    if (p->sample_count) {
        struct arena_bound *bound = arena_count_in(NULL); /* the store has its own */
        os_lock_acquire(&t->writing);
        ok = daemon_history_store(t->history, &w, os_clock_real(), err);
        os_lock_release(&t->writing);
        arena_count_in(bound);
    }
    profile_destroy(p);
    return ok;
}

/* --- Counting --------------------------------------------------------------------------- */

void daemon_intake_count(struct daemon_intake *t, enum daemon_entrance e,
                         enum daemon_intake_result result, const struct ingest *in,
                         uint64_t samples)
{
    struct daemon_entrance_totals *to = &t->totals[e];
    os_lock_acquire(&t->lock);
    to->stored += result == INTAKE_STORED;
    to->refused += result == INTAKE_REFUSED;
    to->failed += result == INTAKE_FAILED;
    if (result == INTAKE_STORED) {
        to->profiles += in->profiles;
        to->repeated += in->repeated;
        to->samples += samples;
        to->left_out += in->left_out;
    }
    os_lock_release(&t->lock);
}

void daemon_intake_totals(struct daemon_intake *t,
                          struct daemon_entrance_totals totals[ENTRANCES])
{
    os_lock_acquire(&t->lock);
    memcpy(totals, t->totals, sizeof t->totals);
    os_lock_release(&t->lock);
}

const char *daemon_entrance_name(enum daemon_entrance e)
{
    static const char *const names[ENTRANCES] = {"ingest", "push", "otlp", "scrape"};
    return names[e];
}
