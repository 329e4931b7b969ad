/* SPDX-License-Identifier: Apache-2.0 */
/* A recording to a file: the chain (chain.h) with files as its output, the command that is
 * recorded, and the end of the recording.
 *
 * open, run, finish, close. Nothing is sampled between open and run. run continues until
 * the time is over, a signal requests the end, the file is full, or no target is left.
 *
 * A program with an event loop of its own calls start instead of run, polls record_session_fd
 * for input, at the latest until record_session_deadline, and calls step each time, until
 * that returns false. run does the same turns, and waits in them.
 *
 * Once it runs, this process has given up the rights that it does not need any more, unless the
 * session is hosted. */
#ifndef STOKE_RECORD_SESSION_H
#define STOKE_RECORD_SESSION_H

#include "os/child.h"
#include "os/wait.h"
#include "record/files.h"
#include "record/report.h"
#include "resolve/object.h"

struct record_session;

struct record_settings {
    struct perf_sampler_settings sampler; /* targets: without the command's thread */
    struct event_source_request sources;
    const uint32_t *pids; /* processes that are recorded with all their threads */
    size_t pid_count;
    char *const *command; /* to run and record, ends with NULL; or NULL */
    uint64_t duration;    /* ns; 0: no limit */
    uint64_t delay;       /* ns from the start until counters are enabled; or 0 */
    struct record_files_settings files; /* without a path: see record_session_path */
    const char *const *words;           /* the recorder's command line */
    size_t word_count;
    bool uncompressed;
    int compression_level; /* zstd's, from 1; 0: the fastest */
    bool keep_dumps;       /* stack dumps stay, instead of becoming call chains */
    struct resolve_settings resolve;
    bool
        request_java; /* the names of code that Java virtual machines compiled (java_map.h) */
    bool writes_later; /* the caller writes other files after finish */
    bool hosted;       /* signals, priority and rights of the process stay as they are */

    void *context; /* of these functions, each of which may be NULL */

    /* About once a second. */
    void (*progress)(void *context, const struct record_report *r);

    /* A snapshot was written, to r->files.path, or `why_not`. */
    void (*snapshot)(void *context, const struct record_report *r,
                     const struct error *why_not);

    /* The command still runs: it was asked to end a while ago; or, if there is a `why`,
     * the recording cannot continue, and the command runs to its end. A signal then kills
     * it, or asks it to end. */
    void (*waiting)(void *context, const struct record_report *r,
                    const struct error *why);
};

/* The settings outlive the session. NULL if out of memory. */
struct record_session *record_session_create(const struct record_settings *settings,
                                             struct error *err);

/* Frees the session. Without a call of close before, its report is lost. NULL is
 * allowed. */
void record_session_destroy(struct record_session *s);

bool record_session_open(struct record_session *s, struct error *err);

/* start, then step until the end. */
bool record_session_run(struct record_session *s, struct error *err);

bool record_session_start(struct record_session *s, struct error *err);
int record_session_fd(const struct record_session *s);
uint64_t record_session_deadline(
    const struct record_session *s); /* ns, CLOCK_MONOTONIC */

/* Does what is due, without waiting. False once the recording has ended: nothing more is
 * sampled, and `finish` reports why if that was an error. */
bool record_session_step(struct record_session *s);

/* After run: completes the file, which then can be read, and ends the command if it
 * still runs. False if not everything could be written: what was written is valid, and the
 * command was left to end by itself. */
bool record_session_finish(struct record_session *s, struct error *err);

/* Closes counters and files; the report stays. */
bool record_session_close(struct record_session *s, struct error *err);

/* A path that leads to the recording, until it is closed. */
const char *record_session_path(const struct record_session *s);

void record_session_report(const struct record_session *s, struct record_report *r);

/* For work after finish that a signal may end. */
struct os_wait *record_session_wait(struct record_session *s);

#endif
