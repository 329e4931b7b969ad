/* SPDX-License-Identifier: Apache-2.0 */
#include "web/core/label_process.h"
#include "base/array.h"
#include "base/idmap.h"
#include "model/sample_labels.h"

/* The names of all such processes: the first has the number ID_NONE - 1. */
static struct arena names_arena;
static struct strings names;

struct splitting {
    struct profile *p;
    struct arena scratch;
    label_id *process;  /* by label set: its label "process", or 0 */
    struct idmap pairs; /* of a thread and a label: the thread of the pair */
    size_t cap;         /* of the profile's threads */
};

/* The last seconds of a store's profile have IDs, the older ones have none. */
static bool lacks_ids(const struct profile *p)
{
    for (size_t i = 1; p->sample_labels && i < p->thread_count; i++)
        if (p->threads[i].pid == ID_NONE)
            return true;
    return false;
}

static bool has_label(const struct splitting *s)
{
    for (size_t i = 1; i < s->p->label_set_count; i++)
        if (s->process[i])
            return true;
    return false;
}

int64_t label_process_number(struct str name)
{
    if (!names.arena && !strings_init(&names, &names_arena))
        return ID_NONE;
    string_id id = strings_add(&names, name);
    return id ? ID_NONE - (int64_t)id : ID_NONE;
}

bool label_process_keep_names(struct profile *p)
{
    for (size_t i = 1; i < p->thread_count; i++) {
        int64_t name = ID_NONE - p->threads[i].pid;
        if (is_label_process(p->threads[i].pid) && (uint64_t)name < names.count &&
            !strings_add(&p->strings, strings_get(&names, (string_id)name)))
            return false;
    }
    return true;
}

/* The thread of a pair that is new: the original thread for the first of its pairs. */
static thread_id add_pair(struct splitting *s, thread_id thread, label_id label)
{
    struct profile *p = s->p;
    uint64_t *is_used = idmap_put(&s->pairs, &s->scratch, UINT64_MAX - thread);
    if (!is_used)
        return thread;
    struct thread split = p->threads[thread];
    if (label) {
        split.pid = label_process_number(profile_string(p, p->labels[label].text));
        split.tid = ID_NONE;
    }
    if (thread && !*is_used) {
        *is_used = 1;
        p->threads[thread] = split;
        return thread;
    }
    struct thread *added = ARRAY_APPEND(&p->arena, p->threads, p->thread_count, s->cap);
    if (!added)
        return thread;
    *added = split;
    return (thread_id)(p->thread_count - 1);
}

static void split_threads(struct splitting *s)
{
    struct profile *p = s->p;
    for (size_t i = 0; i < p->sample_count; i++) {
        struct sample *row = &p->samples[i];
        label_id label = s->process[p->sample_labels[i]];
        uint64_t *known =
            idmap_put(&s->pairs, &s->scratch, (uint64_t)row->thread << 32 | label);
        if (!known)
            return;
        if (!*known) {
            thread_id thread = add_pair(s, row->thread, label);
            known =
                idmap_put(&s->pairs, &s->scratch, (uint64_t)row->thread << 32 | label);
            if (!known)
                return;
            *known = thread + (uint64_t)1;
        }
        row->thread = (thread_id)(*known - 1);
    }
}

bool label_processes(struct profile *p)
{
    struct splitting s = {.p = p, .cap = p->thread_count};
    if (!lacks_ids(p))
        return true;
    s.process = label_sets_find(p, STR(PROCESS_LABEL), &s.scratch);
    if (s.process && has_label(&s))
        split_threads(&s);
    bool ok = !s.scratch.failed && !p->arena.failed && !names_arena.failed;
    arena_deinit(&s.scratch);
    return ok;
}

string_id label_process_name(const struct profile *p, int64_t pid)
{
    int64_t name = ID_NONE - pid;
    return name > 0 && (uint64_t)name < names.count
               ? strings_find(&p->strings, strings_get(&names, (string_id)name))
               : 0;
}

struct profile without_process_numbers(const struct profile *p, struct arena *a)
{
    struct profile changed = *p;
    changed.threads = arena_alloc(a, p->thread_count * sizeof *p->threads);
    for (size_t i = 0; changed.threads && i < p->thread_count; i++) {
        changed.threads[i] = p->threads[i];
        if (is_label_process(p->threads[i].pid))
            changed.threads[i].pid = ID_NONE;
    }
    return changed;
}
