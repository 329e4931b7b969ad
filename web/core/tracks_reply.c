/* SPDX-License-Identifier: Apache-2.0 */
/* The list of tracks as JSON. */
#include "web/core/label_process.h"
#include "web/core/tracks.h"

static void put_time(struct json_writer *w, double cpu_time, const double *time)
{
    double waiting = 0;
    for (unsigned k = ACTIVITY_LOCK; k < ACTIVITY_SLEEP; k++)
        waiting += time[k];
    json_member_double(w, "running", cpu_time);
    json_member_double(w, "waiting", waiting);
}

/* Of several processes: their number and their IDs. */
static void put_process_ids(struct json_writer *w, const struct tracks *t,
                            const struct process_track *process)
{
    struct output ids = OUTPUT_BUFFER;
    struct idmap known = {0};
    struct arena arena = ARENA_INIT;
    for (uint32_t i = process->first; i < process->first + process->count; i++) {
        uint64_t *seen = idmap_put(&known, &arena, (uint64_t)t->threads[i].pid);
        if (!seen || *seen)
            continue;
        *seen = 1;
        output_text(&ids, ids.used ? "," : "");
        output_u64(&ids, (uint64_t)t->threads[i].pid);
    }
    json_member_u64(w, "processes", process->processes);
    json_member_u64(w, "ran", process->ran);
    json_member_str(w, "ids", output_contents(&ids));
    w->out->failed |= ids.failed;
    output_deinit(&ids);
    arena_deinit(&arena);
}

static void put_processes(struct json_writer *w, const struct tracks *t)
{
    json_put_key(w, "processes");
    json_begin(w, JSON_ARRAY);
    for (size_t i = 0; i < t->process_count; i++) {
        const struct process_track *process = &t->processes[i];
        json_begin(w, JSON_OBJECT);
        json_member_str(w, "name", profile_string(t->p, process->name));
        if (has_id(process->pid) && process->processes == 1)
            json_member_double(w, "pid", (double)process->pid);
        json_put_key(w, "labelled");
        json_put_bool(w, is_label_process(process->pid));
        if (process->processes > 1)
            put_process_ids(w, t, process);
        json_member_u64(w, "first", process->first);
        json_member_u64(w, "count", process->count);
        put_time(w, process->cpu_time, process->time);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
}

static void put_threads(struct json_writer *w, const struct tracks *t)
{
    json_put_key(w, "threads");
    json_begin(w, JSON_ARRAY);
    for (size_t i = 0; i < t->thread_count; i++) {
        const struct thread_track *thread = &t->threads[i];
        json_begin(w, JSON_OBJECT);
        json_member_str(w, "name", profile_string(t->p, thread->name));
        if (thread->tid != ID_NONE)
            json_member_double(w, "tid", (double)thread->tid);
        json_member_u64(w, "process", thread->process);
        json_member_u64(w, "samples", thread->samples);
        put_time(w, thread->cpu_time, thread->time);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
}

#define TRACEPOINTS_MAX 2000 /* later ones are not listed */

/* The samples of tracepoints ("sched:sched_switch") next to those of an event of a CPU. */
static void put_tracepoints(struct json_writer *w, const struct profile *p)
{
    size_t listed = 0;
    bool sampled = profile_find_kind(p, EVENT_ON_CPU) != 0;
    for (size_t i = 0; sampled && i < p->sample_count && listed < TRACEPOINTS_MAX; i++) {
        const struct sample *s = &p->samples[i];
        struct str name = profile_string(p, p->events[s->event].name);
        /* what follows the colon of other events are one or two modifiers: cycles:u */
        if (p->events[s->event].kind != EVENT_OTHER || s->time == TIME_NONE ||
            s->time < p->facts.time_first || str_find(name, ':') + 4 > name.len)
            continue;
        json_begin(w, JSON_OBJECT);
        json_member_double(w, "at", (double)(s->time - p->facts.time_first));
        json_member_str(w, "name", name);
        json_member_str(w, "thread", profile_string(p, p->threads[s->thread].name));
        if (p->threads[s->thread].tid != ID_NONE)
            json_member_double(w, "tid", (double)p->threads[s->thread].tid);
        json_end(w, JSON_OBJECT);
        listed++;
    }
}

static void put_marks(struct json_writer *w, const struct tracks *t)
{
    const struct facts *f = &t->p->facts;
    json_put_key(w, "marks");
    json_begin(w, JSON_ARRAY);
    for (unsigned i = 0; i < f->loss_count; i++) {
        if (f->losses[i].time < f->time_first)
            continue;
        json_begin(w, JSON_OBJECT);
        json_member_double(w, "at", (double)(f->losses[i].time - f->time_first));
        json_member_u64(w, "lost", f->losses[i].count);
        json_end(w, JSON_OBJECT);
    }
    put_tracepoints(w, t->p);
    json_end(w, JSON_ARRAY);
}

void reply_tracks(struct json_writer *w, const struct tracks *t)
{
    json_begin(w, JSON_OBJECT);
    json_member_double(w, "to", t->to);
    put_processes(w, t);
    put_threads(w, t);
    json_put_key(w, "cpus");
    json_begin(w, JSON_ARRAY);
    for (size_t i = 0; i < t->cpu_count; i++)
        json_put_u64(w, t->cpus[i].cpu);
    json_end(w, JSON_ARRAY);
    put_marks(w, t);
    json_put_key(w, "memory");
    reply_memory(w, &t->memory);
    json_end(w, JSON_OBJECT);
}
