/* SPDX-License-Identifier: Apache-2.0 */
/* A recording: from whom and what to record to the file, with all the stages between.
 *
 *   perf_sampler, [bpf_sampler] --> tasks --> [unwinder] --> [off_cpu] --> counts -->
 * files
 *
 * Once it runs, this process has given up the rights that it does not need any more.
 *
 * open, run, finish, close. Between open and run nothing is sampled yet; run goes on
 * until the time is over, the user wants an end, or nobody is left to be recorded. */
#ifndef STOKE_RECORD_SESSION_H
#define STOKE_RECORD_SESSION_H

#include "os/child.h"
#include "record/bpf_sampler.h"
#include "record/files.h"
#include "record/off_cpu.h"
#include "record/perf_sampler.h"
#include "record/tasks.h"
#include "record/unwinder.h"

struct record_session;

struct record_settings {
    struct perf_sampler_settings sampler; /* its targets: all but the command's thread */
    const uint32_t *pids;                 /* to be told of with all their threads */
    size_t pid_count;
    char *const *command; /* to be run and recorded, ended by NULL; or NULL */
    uint64_t duration;    /* ns; 0: no end */
    uint64_t delay;       /* ns from the beginning until it counts; or 0 */
    struct record_files_settings files; /* without a name: see record_session_path */
    const char *const *words;           /* the recorder's command line */
    size_t word_count;
    bool unpacked;
    int pack_level;  /* zstd's, from 1; 0: as quick as can be */
    bool off_cpu;    /* how long threads did not run, too; not with keep_dumps */
    bool wakers;     /* and who woke them up */
    bool keep_dumps; /* of stacks, in place of the chains that are made of them */
    bool counted;    /* by eBPF, where that can be had */
    struct resolve_settings resolve;

    /* Called about once a second; may be NULL. */
    void (*progress)(void *context, const struct record_session *s);
    void *progress_context;

    /* Called when a snapshot was written, to s->files.path, or could not be; may be NULL.
     */
    void (*written)(void *context, const struct record_session *s,
                    const struct error *why_not);

    bool drawn_later; /* the caller writes other files behind finish */

    /* Called when the command still runs: it was asked to end a while ago, or, where there
     * is a `why`, it is left to run to its end, since it is the recording that cannot go
     * on. A signal that wants an end then kills it, or asks it to end. May be NULL. */
    void (*waits)(void *context, const struct record_session *s, const struct error *why);
};

/* What came of it. */
struct record_counts {
    uint64_t samples, lost, throttled;
    uint64_t idle;        /* samples of CPUs that had nothing to do */
    uint64_t named;       /* stacks that end in a JIT's code whose map is in the file */
    uint64_t deep;        /* stacks by frame pointers, with as many frames as may be */
    uint64_t first, last; /* times of samples */
};

struct record_session {
    const struct record_settings *settings;
    struct perf_sampler_settings sampler_settings; /* the settings', and the child */
    uint32_t child_tid;
    struct os_wait wait;
    struct os_child child;
    struct perf_sampler sampler;
    struct bpf_sampler bpf; /* where stacks are counted */
    struct error why_not;   /* they are not, where that was wanted; */
    bool broken;            /* or not any more */
    uint64_t tick;          /* ns between two looks at all that is to be done */
    size_t ticks;           /* up to now */
    struct record_tasks tasks;
    struct record_jit_maps jit_maps;
    struct record_unwinder unwinder; /* where stacks are unwound as they come */
    bool unwinds;
    struct record_off_cpu off_cpu; /* where waits are recorded */
    bool sees_waits;               /* with their stacks: the kernel may be looked into */
    size_t woken_at;
    size_t switches_event, wakings_event; /* their places among the events; 0: none */
    struct record_files_settings files_settings; /* the settings', and the owner */
    struct record_files files;
    struct perf_file_event events[RECORD_EVENTS_MAX];
    struct perf_file_head head;
    uint64_t *ids;
    struct record_counts counts;
    struct record_maker lost_maker;
    uint64_t deepest; /* frames that the kernel follows at most; 0: it is not it */
    struct record_sink first; /* the first stage */
    uint64_t began, ended;    /* ns */
    uint64_t enable_at;       /* when counting is to begin; 0: it has */
    int command_status;       /* as the shell tells it, once it has ended */
    bool asked;               /* the end was wanted: by the user, or the settings */
    bool ended_command;       /* with it: it still ran */
    uint64_t deadline;        /* ns; 0: none */
    bool kernel_hidden;       /* the system does not tell where the kernel is */
};

/* The settings outlive the session, which is not to be moved. Close it in any case. */
bool record_session_open(struct record_session *s, const struct record_settings *settings,
                         struct error *err);
bool record_session_run(struct record_session *s, struct error *err);

/* Behind run: ends the file, which is then to be read, and the command where it still
 * runs. False where not all could be written: what could is good, and the command was
 * left to end by itself. */
bool record_session_finish(struct record_session *s, struct error *err);

/* The counts stay. */
bool record_session_close(struct record_session *s, struct error *err);

/* A path that leads to the recording, until it is closed. */
const char *record_session_path(const struct record_session *s);

uint64_t record_session_bytes(const struct record_session *s);

#endif
