/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks in a window, by columns. */
#include "web/core/label_process.h"
#include "web/core/tracks.h"

#define COLUMNS_MAX 16384
#define TRACKS_MAX 16384 /* in one request */
#define LAYERS_MOST MEMORY_DRAWN

struct tracks_window {
    double from, to, column; /* ns */
    uint32_t columns;
};

/* The last interval that begins at or before x, from `at` on: exponential search first,
 * because it is usually near. `at` if none does. */
static uint32_t advance(const struct interval *items, uint32_t at, uint32_t stop,
                        double x)
{
    uint32_t step = 1;
    while (stop - at > step && items[at + step].begin <= x) {
        at += step;
        step *= 2;
    }
    uint32_t low = at + 1, high = stop - at > step ? at + step : stop;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (items[middle].begin <= x)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

/* ns of the activity before x; `at` is the last interval that begins at or before x. */
static double sum_before(const struct interval *items, uint32_t at, double x)
{
    double length = items[at + 1].sum - items[at].sum, in = x - items[at].begin;
    return items[at].sum + (in <= 0 ? 0 : in < length ? in : length);
}

/* Adds to each column the ns that the intervals cover of it; returns their sum. */
static double cover(const struct tracks *t, enum activity kind,
                    const struct thread_track *thread, const struct tracks_window *w,
                    float *columns)
{
    const struct interval *items = t->intervals[kind];
    uint32_t at = thread->first[kind], stop = thread->stop[kind];
    double all = 0;
    if (at == stop)
        return 0;
    at = advance(items, at, stop, w->from);
    double before = sum_before(items, at, w->from);
    for (uint32_t c = 0; c < w->columns;) {
        double x = w->from + (c + 1) * w->column;
        at = advance(items, at, stop, x);
        double now = sum_before(items, at, x);
        columns[c++] += (float)(now - before);
        all += now - before;
        before = now;
        if (now < items[at + 1].sum)
            continue;
        /* the interval ended: continue at the column in which the next one begins */
        if (at + 1 == stop || items[at + 1].begin >= w->to)
            break;
        double next = (items[at + 1].begin - w->from) / w->column;
        if (next > c)
            c = (uint32_t)next;
    }
    return all;
}

/* The sum of the weights of the thread's samples before x. */
static double weight_before(const struct tracks *t, const struct thread_track *thread,
                            double x)
{
    uint32_t low = thread->first_weight, high = thread->stop_weight;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (t->weights[middle].begin < x)
            low = middle + 1;
        else
            high = middle;
    }
    return t->weights[low].sum;
}

/* All activities of a thread; adds its times. */
static void cover_thread(const struct tracks *t, const struct thread_track *thread,
                         const struct tracks_window *w, float *layers, double *time)
{
    for (unsigned k = 0; k < ACTIVITY_COUNT; k++) {
        double ns =
            cover(t, (enum activity)k, thread, w, layers + (size_t)k * w->columns);
        if (k != ACTIVITY_SLEEP && k != ACTIVITY_RUNNING)
            time[1] += ns;
    }
    time[0] += weight_before(t, thread, w->to) - weight_before(t, thread, w->from);
}

/* The first turn that ends after x. */
static uint32_t turn_after(const struct tracks *t, const struct cpu_track *cpu, double x)
{
    uint32_t low = cpu->first, high = cpu->stop;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (t->turns[middle].end > x)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The share of use by column, in ns, and the process with the longest turn. */
static void cover_cpu(const struct tracks *t, const struct cpu_track *cpu,
                      const struct tracks_window *w, float *layers, double *time)
{
    float *process = layers + w->columns;
    float longest = 0;
    uint32_t column = UINT32_MAX;
    for (uint32_t i = turn_after(t, cpu, w->from); i < cpu->stop; i++) {
        const struct turn *turn = &t->turns[i];
        if (turn->begin >= w->to)
            break;
        double at = turn->begin > w->from ? turn->begin : w->from;
        double end = turn->end < w->to ? turn->end : w->to;
        time[0] += end - at;
        uint32_t c = (uint32_t)((at - w->from) / w->column);
        for (; c < w->columns && at < end; c++) {
            double edge = w->from + (c + 1) * w->column;
            float part = (float)((end < edge ? end : edge) - at);
            if (c != column)
                longest = 0;
            column = c;
            if (part > longest) {
                longest = part;
                process[c] = (float)turn->process;
            }
            layers[c] += part;
            at = edge;
        }
    }
}

/* The turns of all processes on a CPU. */
static void cover_turns(const struct tracks *t, const struct cpu_track *cpu,
                        const struct tracks_window *w, float *layers)
{
    for (uint32_t i = turn_after(t, cpu, w->from); i < cpu->stop; i++) {
        const struct turn *turn = &t->turns[i];
        if (turn->begin >= w->to)
            break;
        float *layer = layers + (size_t)machine_layer(turn->process) * w->columns;
        double at = turn->begin > w->from ? turn->begin : w->from;
        double end = turn->end < w->to ? turn->end : w->to;
        uint32_t c = (uint32_t)((at - w->from) / w->column);
        for (; c < w->columns && at < end; c++) {
            double edge = w->from + (c + 1) * w->column;
            layer[c] += (float)((end < edge ? end : edge) - at);
            at = edge;
        }
    }
}

/* The sum of the CPU's turns before x. *block is at or before that of x, and becomes it. */
static struct turn_sum turns_before(const struct tracks *t, const struct cpu_track *cpu,
                                    uint32_t *block, double x)
{
    uint32_t blocks = (cpu->stop - cpu->first) / TURNS_A_SUM + 1;
    const double *ends = t->sum_ends + cpu->first_sum;
    while (*block + 1 < blocks && ends[*block + 1] <= x)
        ++*block;
    struct turn_sum sum = t->turn_sums[cpu->first_sum + *block];
    uint32_t first = cpu->first + *block * TURNS_A_SUM;
    for (uint32_t i = first; i < cpu->stop && t->turns[i].begin < x; i++) {
        const struct turn *turn = &t->turns[i];
        double end = turn->end < x ? turn->end : x;
        sum.layers[machine_layer(turn->process)] += end - turn->begin;
    }
    return sum;
}

/* The same as cover_turns where a column has many turns: by the difference of sums. */
static void cover_sums(const struct tracks *t, const struct cpu_track *cpu,
                       const struct tracks_window *w, float *layers)
{
    uint32_t block = (turn_after(t, cpu, w->from) - cpu->first) / TURNS_A_SUM;
    struct turn_sum before = turns_before(t, cpu, &block, w->from);
    for (uint32_t c = 0; c < w->columns; c++) {
        double x = w->from + (c + 1) * w->column;
        struct turn_sum now = turns_before(t, cpu, &block, x);
        for (unsigned l = 0; l < MACHINE_LAYERS; l++)
            layers[(size_t)l * w->columns + c] +=
                (float)(now.layers[l] - before.layers[l]);
        before = now;
    }
}

static bool has_many_turns(const struct tracks *t, const struct cpu_track *cpu,
                           const struct tracks_window *w)
{
    uint32_t turns = turn_after(t, cpu, w->to) - turn_after(t, cpu, w->from);
    return turns / TURNS_A_SUM > w->columns;
}

/* The processes with the most CPU time have a layer each. Where the CPUs of the samples
 * are unknown, the threads' times are used. */
static void cover_machine(const struct tracks *t, const struct tracks_window *w,
                          float *layers, double *time)
{
    for (size_t i = 0; i < t->cpu_count; i++)
        if (has_many_turns(t, &t->cpus[i], w))
            cover_sums(t, &t->cpus[i], w, layers);
        else
            cover_turns(t, &t->cpus[i], w, layers);
    for (size_t i = 0; i < t->thread_count; i++) {
        const struct thread_track *thread = &t->threads[i];
        if (!t->cpu_count)
            cover(t, ACTIVITY_RUNNING, thread, w,
                  layers + (size_t)machine_layer(thread->process) * w->columns);
        time[0] += weight_before(t, thread, w->to) - weight_before(t, thread, w->from);
    }
}

static unsigned layers_of(uint32_t track)
{
    switch (track >> TRACK_INDEX_BITS) {
    case TRACK_MACHINE:
        return MACHINE_LAYERS;
    case TRACK_CPU:
        return 2;
    case TRACK_MEMORY:
        return MEMORY_DRAWN;
    default:
        return ACTIVITY_COUNT;
    }
}

static bool is_valid(const struct tracks *t, uint32_t track)
{
    uint32_t index = track & ((1U << TRACK_INDEX_BITS) - 1);
    switch (track >> TRACK_INDEX_BITS) {
    case TRACK_MACHINE:
        return true;
    case TRACK_PROCESS:
        return index < t->process_count;
    case TRACK_THREAD:
        return index < t->thread_count;
    case TRACK_CPU:
        return index < t->cpu_count;
    case TRACK_MEMORY:
        return index == 0 && t->memory.count > 0;
    default:
        return false;
    }
}

static void draw_track(const struct tracks *t, uint32_t track,
                       const struct tracks_window *w, float *layers, double *time)
{
    uint32_t index = track & ((1U << TRACK_INDEX_BITS) - 1);
    unsigned scaled = layers_of(track);
    switch (track >> TRACK_INDEX_BITS) {
    case TRACK_MACHINE:
        cover_machine(t, w, layers, time);
        break;
    case TRACK_PROCESS:
        for (uint32_t i = 0; i < t->processes[index].count; i++)
            cover_thread(t, &t->threads[t->processes[index].first + i], w, layers, time);
        break;
    case TRACK_THREAD:
        cover_thread(t, &t->threads[index], w, layers, time);
        break;
    case TRACK_MEMORY:
        time[0] = memory_draw(&t->memory, w->from, w->to, w->columns, layers);
        return;
    default:
        cover_cpu(t, &t->cpus[index], w, layers, time);
        scaled = 1;
    }
    for (size_t i = 0; i < (size_t)scaled * w->columns; i++)
        layers[i] /= (float)w->column;
}

bool tracks_draw(const struct tracks *t, const uint32_t *tracks, size_t count,
                 double from, double to, uint32_t columns, struct output *out,
                 struct error *err)
{
    struct tracks_window w = {from, to, (to - from) / columns, columns};
    struct arena a = ARENA_INIT;
    if (!(from >= 0) || !(to > from) || columns == 0 || columns > COLUMNS_MAX ||
        count > TRACKS_MAX || !(w.column > 0))
        return error_set(err, "invalid window of the tracks");
    float *layers = arena_alloc(&a, (size_t)LAYERS_MOST * columns * sizeof *layers);
    for (size_t i = 0; layers && i < count; i++) {
        if (!is_valid(t, tracks[i])) {
            arena_deinit(&a);
            return error_set(err, "no such track");
        }
        size_t size = (size_t)layers_of(tracks[i]) * columns * sizeof *layers;
        double time[2] = {0};
        memset(layers, 0, size);
        draw_track(t, tracks[i], &w, layers, time);
        const float head[2] = {(float)time[0], (float)time[1]};
        output_bytes(out, (const char *)head, sizeof head);
        output_bytes(out, (const char *)layers, size);
    }
    arena_deinit(&a);
    return layers || error_memory(err);
}

/* --- JSON ------------------------------------------------------------------------------ */

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
