/* SPDX-License-Identifier: Apache-2.0 */
/* The tracks above the views: who ran and who waited, over time, by process, thread and
 * CPU. They are made once of the opened profile, without its filters, and drawn from
 * there: the cost of a picture depends on its width and on the number of tracks, not on
 * the number of samples. */
#ifndef STOKE_WEB_TRACKS_H
#define STOKE_WEB_TRACKS_H

#include "base/idmap.h"
#include "web/core/core.h"
#include "web/core/memory.h"

/* What a thread does at a time. Its order is the order of the layers in a reply. */
enum activity {
    ACTIVITY_RUNNING,
    ACTIVITY_LOCK,
    ACTIVITY_DISK,
    ACTIVITY_NETWORK,
    ACTIVITY_CPU,   /* it could run, but had no CPU */
    ACTIVITY_SLEEP, /* idle: it sleeps, polls, or waits for an unknown reason */
    ACTIVITY_COUNT,
};

/* A time in which one activity does not change. Intervals of a thread do not overlap. */
struct interval {
    double begin; /* ns from the start of the profile */
    double sum;   /* ns of all intervals of the activity before this one */
};

struct thread_track {
    int64_t pid, tid;
    string_id name;                 /* the name with most samples */
    uint32_t process;               /* index of its process */
    uint32_t first[ACTIVITY_COUNT]; /* its intervals, up to `stop` */
    uint32_t stop[ACTIVITY_COUNT];
    double time[ACTIVITY_COUNT]; /* ns */
    uint32_t first_weight, stop_weight;
    double cpu_time;  /* ns: the weights of its samples */
    uint64_t samples; /* of all events */
};

/* For low zoom: equal parts of the axis. None where the turns are few. */
struct cells {
    double *before;           /* by layer: ns before each cell; one more at the end */
    float *process, *longest; /* of a CPU: the process with the longest turn; its ns */
    uint32_t count;
};

/* Processes are sorted by activity, threads by process and in it by activity. Processes
 * with the same name are one. */
struct process_track {
    int64_t pid; /* of several, the first */
    string_id name;
    uint32_t processes;    /* their number */
    uint32_t ran;          /* those of them with CPU time */
    uint32_t first, count; /* its threads */
    double time[ACTIVITY_COUNT];
    double cpu_time;
    struct cells cells; /* ns by activity; none before tracks_prepare */
};

#define MACHINE_LAYERS 7 /* the six processes with the most CPU time, and the others */

/* A time in which one process ran on a CPU. */
struct turn {
    double begin, end;
    uint32_t process;
};

struct cpu_track {
    uint32_t cpu;
    uint32_t first, stop; /* its turns */
    struct cells cells;   /* ns in use */
    double
        *weights; /* ns of its samples that begin before each cell; one more at the end */
    uint32_t weight_cells;
};

struct tracks {
    struct arena arena;
    bool made;
    bool timed; /* false: there are no tracks */
    bool prepared;
    const struct profile *p;
    double to; /* the axis is 0 to `to`, in ns from the profile's first sample */
    struct process_track *processes;
    struct idmap process_of_pid; /* index + 1 */
    struct thread_track *threads;
    struct cpu_track *cpus;
    size_t process_count, thread_count, cpu_count;
    struct interval *intervals[ACTIVITY_COUNT];
    struct interval *weights; /* of the samples of running, by thread and time */
    struct turn *turns;
    struct cells cells;   /* ns of the machine, by layer */
    struct memory memory; /* its track; none without live bytes over time */
};

#define REASON_FRAMES 24 /* innermost frames that are searched for a wait's reason */

/* Of a function that waits for input or output: ACTIVITY_SLEEP for anything that may come,
 * ACTIVITY_NETWORK, or ACTIVITY_RUNNING if the name does not say it. */
enum activity activity_of_name(struct str name);

/* Of a frame that names a reason, such as "[lock]". */
enum activity activity_of_marker(struct str name);

/* The reason of a wait, by the marker at or near the leaf of the waiting thread's stack:
 * [lock], [io], [preempted], [sleep]. */
enum activity wait_activity(const struct profile *p, stack_id stack);

/* `p` must remain until tracks_deinit. */
bool tracks_init(struct tracks *t, const struct profile *p, struct error *err);
void tracks_deinit(struct tracks *t);

/* tracks_draw.c: makes the cells of the machine and of the CPUs. False if out of memory. */
bool tracks_make_cells(struct tracks *t);

/* Makes the cells of the processes, which takes long: the tracks are drawn without them, but
 * faster with them. False if out of memory. */
bool tracks_prepare(struct tracks *t);

/* The layer of the machine that a process is in. */
static inline uint32_t machine_layer(uint32_t process)
{
    return process < MACHINE_LAYERS - 1 ? process : MACHINE_LAYERS - 1;
}

/* Tracks in a request: the kind in the upper bits, the index in the lower ones. */
enum track_kind {
    TRACK_MACHINE,
    TRACK_PROCESS,
    TRACK_THREAD,
    TRACK_CPU,
    TRACK_MEMORY,
    TRACK_ALLOCATIONS,
};
#define TRACK_INDEX_BITS 28

/* Writes each track for the window, as floats: its CPU time (the weights of the
 * samples; of a CPU, exact to a cell at both ends) and its time of waiting, without sleep, in ns of the window; then the layers,
 * each with a value per column:
 *
 * machine: CPUs in use, by process;
 * process, thread: threads in each activity;
 * CPU: the share of the column in which it was used; then the index of the process that
 * used it most;
 * memory: what memory_draw writes; the first of its times are the most bytes;
 * allocations: their number per ns; instead of times, the sums of allocations_draw.
 *
 * False for an invalid request. */
bool tracks_draw(const struct tracks *t, const uint32_t *tracks, size_t count,
                 double from, double to, uint32_t columns, struct output *out,
                 struct error *err);

/* marked.c: writes for each requested process or thread, by column, how many of its threads ran
 * the function. Nothing if the samples of the event have no length. */
bool marked_draw(const struct when_of *of, const struct tracks *t, const uint32_t *tracks,
                 uint32_t count, const struct axis_part *part, struct output *out,
                 struct error *err);

/* tracks_reply.c: the names and times of all tracks, and the marks. JSON. */
void reply_tracks(struct json_writer *w, const struct tracks *t);

#endif
