/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks in a window, by columns. */
#include "web/core/tracks.h"
#include <math.h>

#define COLUMNS_MAX 16384
#define TRACKS_MAX 16384 /* in one request */
#define LAYERS_MOST MEMORY_DRAWN
#define INTERVALS_A_SEARCH 8 /* a binary search takes as long as visiting these */
#define CELLS_OF_ALL ((uint32_t)1 << 20) /* of all tracks of a kind, if they are few */
#define CELLS_LEAST ((uint32_t)1 << 15)  /* of each, if they are many and long */
#define CELLS_MOST ((uint32_t)1 << 17)
#define PROCESSES_WITH_CELLS 32
#define INTERVALS_LEAST 4096 /* of a process with cells: fewer are drawn as fast */
#define CELLS_A_COLUMN 4     /* the least */
#define TURNS_A_CELL 4

/* The ns by column, of one layer, while intervals are added. */
struct columns {
    double *parts;  /* of intervals that cover the column only in part */
    double *starts; /* intervals that cover all from this column on, less those ended */
};

struct tracks_window {
    double from, to, column; /* ns */
    double per_ns;           /* columns */
    uint32_t columns;
    struct columns *sums; /* by layer; all 0 between two tracks */
    float *longest;       /* ns by column: of the longest turn on a CPU */
    double *weights;      /* by process: of its threads' samples; below 0: not known */
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

/* The times of a thread are more or less evenly spread: narrows the range in which the first one
 * is that does not begin before x. */
static void guess(const struct interval *items, double x, uint32_t *low, uint32_t *high)
{
    double begin = items[*low].begin, end = items[*high - 1].begin;
    uint32_t at = *low + (uint32_t)((x - begin) / (end - begin) * (*high - *low - 1));
    uint32_t step = 4;
    if (items[at].begin < x) {
        for (*low = at; *high - at > step && items[at + step].begin < x; step *= 2)
            *low = at + step;
        *high = *high - at > step ? at + step : *high;
    } else {
        for (*high = at; at - *low > step && !(items[at - step].begin < x); step *= 2)
            *high = at - step;
        *low = at - *low > step ? at - step : *low;
    }
}

/* The first item that does not begin before x; `high` if all do. */
static uint32_t first_from(const struct interval *items, uint32_t low, uint32_t high,
                           double x)
{
    if (low == high || !(items[low].begin < x))
        return low;
    if (items[high - 1].begin < x)
        return high;
    guess(items, x, &low, &high);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (items[middle].begin < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ns of the activity before x; `at` is the last interval that begins at or before x. */
static double sum_before(const struct interval *items, uint32_t at, double x)
{
    double length = items[at + 1].sum - items[at].sum, in = x - items[at].begin;
    return items[at].sum + (in <= 0 ? 0 : in < length ? in : length);
}

/* Many intervals in a column: differences of sums at its edges, without visiting them all. */
static void cover_by_sums(const struct interval *items, uint32_t at, uint32_t stop,
                          const struct tracks_window *w, const struct columns *to)
{
    double before = sum_before(items, at, w->from);
    for (uint32_t c = 0; c < w->columns; c++) {
        double x = w->from + (c + 1) * w->column;
        at = advance(items, at, stop, x);
        double now = sum_before(items, at, x);
        to->parts[c] += now - before;
        before = now;
    }
}

static void cover_interval(double begin, double end, const struct tracks_window *w,
                           const struct columns *to)
{
    double from = (begin > w->from ? begin : w->from) - w->from;
    double stop = (end < w->to ? end : w->to) - w->from;
    if (stop <= from)
        return;
    uint32_t first = (uint32_t)(from * w->per_ns), last = (uint32_t)(stop * w->per_ns);
    first = first < w->columns ? first : w->columns - 1;
    last = last < w->columns ? last : w->columns - 1;
    if (first == last) {
        to->parts[first] += stop - from;
        return;
    }
    to->parts[first] += (first + 1) * w->column - from;
    to->parts[last] += stop - last * w->column;
    to->starts[first + 1]++;
    to->starts[last]--;
}

/* Adds to each column the ns that the intervals cover of it; returns their sum. */
static double cover(const struct tracks *t, enum activity kind,
                    const struct thread_track *thread, const struct tracks_window *w,
                    const struct columns *to)
{
    const struct interval *items = t->intervals[kind];
    uint32_t stop = thread->stop[kind];
    if (thread->first[kind] == stop)
        return 0;
    uint32_t at = first_from(items, thread->first[kind], stop, w->from);
    if (at > thread->first[kind] && (at == stop || items[at].begin > w->from))
        at--; /* it may be in progress */
    uint32_t last = advance(items, at, stop, w->to);
    if (last - at > w->columns * INTERVALS_A_SEARCH)
        cover_by_sums(items, at, stop, w, to);
    else
        for (uint32_t i = at; i <= last; i++)
            cover_interval(items[i].begin,
                           items[i].begin + (items[i + 1].sum - items[i].sum), w, to);
    return sum_before(items, last, w->to) - sum_before(items, at, w->from);
}

/* The weights of the thread's samples in the window. */
static double weight_in(const struct tracks *t, const struct thread_track *thread,
                        const struct tracks_window *w)
{
    if (w->from <= 0 && w->to >= t->to)
        return thread->cpu_time;
    uint32_t low = thread->first_weight, high = thread->stop_weight;
    uint32_t from = first_from(t->weights, low, high, w->from);
    return t->weights[first_from(t->weights, from, high, w->to)].sum -
           t->weights[from].sum;
}

/* The machine and its processes in one picture have the same threads. */
static double weight_of(const struct tracks *t, size_t process,
                        const struct tracks_window *w)
{
    const struct process_track *of = &t->processes[process];
    if (w->weights[process] >= 0)
        return w->weights[process];
    double sum = 0;
    for (uint32_t i = 0; i < of->count; i++)
        sum += weight_in(t, &t->threads[of->first + i], w);
    w->weights[process] = sum;
    return sum;
}

static bool is_waiting(unsigned activity)
{
    return activity != ACTIVITY_SLEEP && activity != ACTIVITY_RUNNING;
}

/* All activities of a thread; returns the time of its waits. */
static double cover_thread(const struct tracks *t, const struct thread_track *thread,
                           const struct tracks_window *w)
{
    double waits = 0;
    for (unsigned k = 0; k < ACTIVITY_COUNT; k++) {
        double ns = cover(t, (enum activity)k, thread, w, &w->sums[k]);
        waits += is_waiting(k) ? ns : 0;
    }
    return waits;
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
                      const struct tracks_window *w, float *layers)
{
    float *process = layers + w->columns;
    memset(w->longest, 0, w->columns * sizeof *w->longest);
    for (uint32_t i = turn_after(t, cpu, w->from); i < cpu->stop; i++) {
        const struct turn *turn = &t->turns[i];
        if (turn->begin >= w->to)
            break;
        double at = turn->begin > w->from ? turn->begin : w->from;
        double end = turn->end < w->to ? turn->end : w->to;
        uint32_t c = (uint32_t)((at - w->from) / w->column);
        for (; c < w->columns && at < end; c++) {
            double edge = w->from + (c + 1) * w->column;
            float part = (float)((end < edge ? end : edge) - at);
            if (part > w->longest[c]) {
                w->longest[c] = part;
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

/* Moves the sums to the layers. */
static void end_columns(const struct tracks_window *w, unsigned count, float *layers)
{
    for (unsigned l = 0; l < count; l++, layers += w->columns) {
        const struct columns *from = &w->sums[l];
        double open = 0;
        for (uint32_t c = 0; c < w->columns; c++) {
            open += from->starts[c];
            layers[c] += (float)(from->parts[c] + open * w->column);
        }
        memset(from->parts, 0, w->columns * sizeof *from->parts);
        memset(from->starts, 0, w->columns * sizeof *from->starts);
    }
}

/* The processes with the most CPU time have a layer each. Where the CPUs of the samples
 * are unknown, the threads' times are used. */
static void cover_machine(const struct tracks *t, const struct tracks_window *w,
                          float *layers)
{
    for (size_t i = 0; i < t->cpu_count; i++)
        cover_turns(t, &t->cpus[i], w, layers);
    if (t->cpu_count)
        return;
    for (size_t i = 0; i < t->thread_count; i++) {
        const struct thread_track *thread = &t->threads[i];
        cover(t, ACTIVITY_RUNNING, thread, w, &w->sums[machine_layer(thread->process)]);
    }
    end_columns(w, MACHINE_LAYERS, layers);
}

/* A time in cells, at most their number. */
static double in_cells(const struct tracks *t, const struct cells *cells, double x)
{
    double cell = x / t->to * cells->count;
    return cell < cells->count ? cell : cells->count;
}

/* The ns of a layer before a time in cells. In a cell they are evenly spread. */
static double ns_before(const struct cells *cells, unsigned layer, double at)
{
    const double *before = cells->before + (size_t)layer * (cells->count + 1);
    uint32_t cell = (uint32_t)at;
    if (cell >= cells->count)
        return before[cells->count];
    return before[cell] + (at - cell) * (before[cell + 1] - before[cell]);
}

/* The ns of a layer by column; returns their sum. */
static double draw_layer(const struct tracks *t, const struct cells *cells,
                         unsigned layer, const struct tracks_window *w, float *columns)
{
    double first = ns_before(cells, layer, in_cells(t, cells, w->from)), before = first;
    for (uint32_t c = 0; c < w->columns; c++) {
        double at = in_cells(t, cells, w->from + (c + 1) * w->column);
        double now = ns_before(cells, layer, at);
        columns[c] = (float)(now - before);
        before = now;
    }
    return before - first;
}

/* Whether the edge of a column would be wrong by at most one of CELLS_A_COLUMN parts of it. */
static bool are_fine(const struct tracks *t, const struct cells *cells,
                     const struct tracks_window *w)
{
    return cells->count && w->column >= CELLS_A_COLUMN * (t->to / cells->count);
}

static void draw_machine(const struct tracks *t, const struct tracks_window *w,
                         float *layers, double *time)
{
    if (!are_fine(t, &t->cells, w))
        cover_machine(t, w, layers);
    else
        for (unsigned l = 0; l < MACHINE_LAYERS; l++)
            draw_layer(t, &t->cells, l, w, layers + (size_t)l * w->columns);
    for (size_t i = 0; i < t->process_count; i++)
        time[0] += weight_of(t, i, w);
}

/* By cells, the time of waiting is off by at most a cell at both ends of the window. */
static void draw_process(const struct tracks *t, uint32_t index,
                         const struct tracks_window *w, float *layers, double *time)
{
    const struct process_track *process = &t->processes[index];
    time[0] = weight_of(t, index, w);
    if (!are_fine(t, &process->cells, w)) {
        for (uint32_t i = 0; i < process->count; i++)
            time[1] += cover_thread(t, &t->threads[process->first + i], w);
        end_columns(w, ACTIVITY_COUNT, layers);
        return;
    }
    for (unsigned k = 0; k < ACTIVITY_COUNT; k++) {
        double ns = draw_layer(t, &process->cells, k, w, layers + (size_t)k * w->columns);
        time[1] += is_waiting(k) ? ns : 0;
    }
}

/* The process of the longest turn in any of the cells; `process` if there is none. */
static float longest_in(const struct cells *cells, double from, double to, float process)
{
    float most = 0;
    for (uint32_t i = (uint32_t)from; i < cells->count && i < to; i++)
        if (cells->longest[i] > most) {
            most = cells->longest[i];
            process = cells->process[i];
        }
    return process;
}

/* The weights of the CPU's samples before a time. */
static double cpu_weight_before(const struct tracks *t, const struct cpu_track *cpu,
                                double x)
{
    double at = x / t->to * cpu->weight_cells;
    if (!(at < cpu->weight_cells))
        return cpu->weights[cpu->weight_cells];
    const double *before = &cpu->weights[(uint32_t)at];
    return before[0] + (at - floor(at)) * (before[1] - before[0]);
}

static void draw_cpu(const struct tracks *t, const struct cpu_track *cpu,
                     const struct tracks_window *w, float *layers, double *time)
{
    const struct cells *cells = &cpu->cells;
    double from = in_cells(t, cells, w->from);
    time[0] = cpu_weight_before(t, cpu, w->to) - cpu_weight_before(t, cpu, w->from);
    if (!are_fine(t, cells, w)) {
        cover_cpu(t, cpu, w, layers);
        return;
    }
    draw_layer(t, cells, 0, w, layers);
    for (uint32_t c = 0; c < w->columns; c++) {
        double to = in_cells(t, cells, w->from + (c + 1) * w->column);
        layers[w->columns + c] = longest_in(cells, from, to, 0);
        from = to;
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
    case TRACK_ALLOCATIONS:
        return 1;
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
    case TRACK_ALLOCATIONS:
        return index == 0 && t->memory.tally_count > 1;
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
        draw_machine(t, w, layers, time);
        break;
    case TRACK_PROCESS:
        draw_process(t, index, w, layers, time);
        break;
    case TRACK_THREAD:
        time[0] = weight_in(t, &t->threads[index], w);
        time[1] = cover_thread(t, &t->threads[index], w);
        end_columns(w, scaled, layers);
        break;
    case TRACK_MEMORY:
        time[0] = memory_draw(&t->memory, w->from, w->to, w->columns, layers);
        return;
    case TRACK_ALLOCATIONS:
        allocations_draw(&t->memory, &(struct axis_part){w->from, w->to, w->columns},
                         layers, time);
        break;
    default:
        draw_cpu(t, &t->cpus[index], w, layers, time);
        scaled = 1;
    }
    for (size_t i = 0; i < (size_t)scaled * w->columns; i++)
        layers[i] /= (float)w->column;
}

static bool init_window(struct tracks_window *w, struct arena *a)
{
    w->column = (w->to - w->from) / w->columns;
    w->per_ns = 1 / w->column;
    w->sums = arena_alloc(a, MACHINE_LAYERS * sizeof *w->sums);
    w->longest = arena_alloc(a, w->columns * sizeof *w->longest);
    double *all = arena_zalloc(a, (size_t)2 * MACHINE_LAYERS * w->columns, sizeof *all);
    if (!w->sums || !w->longest || !all)
        return false;
    for (unsigned l = 0; l < MACHINE_LAYERS; l++) {
        w->sums[l].parts = all + (size_t)2 * l * w->columns;
        w->sums[l].starts = w->sums[l].parts + w->columns;
    }
    return true;
}

/* The most cells of each of so many tracks. */
static uint32_t cells_most(size_t tracks)
{
    size_t each = CELLS_OF_ALL / (tracks + 1);
    return each < CELLS_LEAST  ? CELLS_LEAST
           : each > CELLS_MOST ? CELLS_MOST
                               : (uint32_t)each;
}

/* A window with a column for each cell, and its layers, which are empty. */
struct cell_window {
    struct arena arena;
    struct tracks_window window; /* no columns: there are no cells */
    float *layers;
};

/* As many cells as are useful or possible. False if out of memory. */
static bool begin_cells(struct cell_window *of, const struct tracks *t, size_t useful,
                        size_t tracks, unsigned layers)
{
    uint32_t most = cells_most(tracks);
    uint32_t count = useful < most ? (uint32_t)useful : most;
    *of = (struct cell_window){.window = {.to = t->to}};
    if (!count || !(t->to / count > 0))
        return true;
    of->window.columns = count;
    of->layers = arena_zalloc(&of->arena, (size_t)layers * count, sizeof *of->layers);
    return of->layers && init_window(&of->window, &of->arena);
}

/* Makes cells of the layers, and frees the window. False if out of memory. */
static bool end_cells(struct cell_window *of, struct tracks *t, struct cells *cells,
                      unsigned layers)
{
    uint32_t count = of->window.columns;
    double *before =
        arena_alloc(&t->arena, (size_t)layers * (count + 1) * sizeof *before);
    cells->before = before;
    for (unsigned l = 0; before && l < layers; l++) {
        *before++ = 0;
        for (uint32_t c = 0; c < count; c++, before++)
            *before = before[-1] + (double)of->layers[(size_t)l * count + c];
    }
    cells->count = before ? count : 0;
    arena_deinit(&of->arena);
    return before != NULL;
}

/* Those of the machine. */
static bool make_machine_cells(struct tracks *t, size_t turns)
{
    struct cell_window w;
    if (!begin_cells(&w, t, turns / TURNS_A_CELL, 1, MACHINE_LAYERS)) {
        arena_deinit(&w.arena);
        return false;
    }
    if (!w.window.columns)
        return true;
    cover_machine(t, &w.window, w.layers);
    return end_cells(&w, t, &t->cells, MACHINE_LAYERS);
}

static bool make_cpu_cells(struct tracks *t, struct cpu_track *cpu)
{
    struct cell_window w;
    struct cells *cells = &cpu->cells;
    bool ok =
        begin_cells(&w, t, (cpu->stop - cpu->first) / TURNS_A_CELL, t->cpu_count, 2);
    size_t count = w.window.columns;
    if (ok && !count)
        return true;
    cells->longest = arena_alloc(&t->arena, 2 * count * sizeof *cells->longest);
    if (!ok || !cells->longest) {
        arena_deinit(&w.arena);
        return false;
    }
    w.window.longest = cells->longest;
    cells->process = cells->longest + count;
    cover_cpu(t, cpu, &w.window, w.layers);
    memcpy(cells->process, w.layers + count, count * sizeof *cells->process);
    return end_cells(&w, t, cells, 1);
}

bool tracks_make_cells(struct tracks *t)
{
    size_t turns = 0;
    for (size_t i = 0; i < t->cpu_count; i++)
        turns += t->cpus[i].stop - t->cpus[i].first;
    for (size_t i = 0; !t->cpu_count && i < t->thread_count; i++)
        turns +=
            t->threads[i].stop[ACTIVITY_RUNNING] - t->threads[i].first[ACTIVITY_RUNNING];
    bool ok = make_machine_cells(t, turns);
    for (size_t i = 0; ok && i < t->cpu_count; i++)
        ok = make_cpu_cells(t, &t->cpus[i]);
    return ok;
}

static bool make_process_cells(struct tracks *t, struct process_track *process,
                               size_t tracks)
{
    struct cell_window w;
    size_t intervals = 0;
    for (uint32_t i = 0; i < process->count; i++)
        for (unsigned k = 0; k < ACTIVITY_COUNT; k++)
            intervals += t->threads[process->first + i].stop[k] -
                         t->threads[process->first + i].first[k];
    if (intervals < INTERVALS_LEAST)
        return true;
    if (!begin_cells(&w, t, intervals, tracks, ACTIVITY_COUNT)) {
        arena_deinit(&w.arena);
        return false;
    }
    if (!w.window.columns)
        return true;
    for (uint32_t i = 0; i < process->count; i++)
        cover_thread(t, &t->threads[process->first + i], &w.window);
    end_columns(&w.window, ACTIVITY_COUNT, w.layers);
    return end_cells(&w, t, &process->cells, ACTIVITY_COUNT);
}

bool tracks_prepare(struct tracks *t)
{
    size_t count =
        t->process_count < PROCESSES_WITH_CELLS ? t->process_count : PROCESSES_WITH_CELLS;
    bool ok = true;
    if (!t->timed || t->prepared)
        return true;
    for (size_t i = 0; ok && i < count; i++)
        ok = make_process_cells(t, &t->processes[i], count);
    t->prepared = ok;
    return ok;
}

bool tracks_draw(const struct tracks *t, const uint32_t *tracks, size_t count,
                 double from, double to, uint32_t columns, struct output *out,
                 struct error *err)
{
    struct tracks_window w = {.from = from, .to = to, .columns = columns};
    struct arena a = ARENA_INIT;
    if (!(from >= 0) || !(to > from) || columns == 0 || columns > COLUMNS_MAX ||
        count > TRACKS_MAX || !((to - from) / columns > 0))
        return error_set(err, "invalid window of the tracks");
    float *layers = arena_alloc(&a, (size_t)LAYERS_MOST * columns * sizeof *layers);
    w.weights = arena_alloc(&a, (t->process_count + 1) * sizeof *w.weights);
    bool ok = layers && w.weights && init_window(&w, &a);
    for (size_t i = 0; ok && i < t->process_count; i++)
        w.weights[i] = -1;
    for (size_t i = 0; ok && i < count; i++) {
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
    return ok || error_memory(err);
}
