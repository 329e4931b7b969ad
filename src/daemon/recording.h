/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings on demand: a client of the server requests one of some processes, in detail, for
 * a time; the loop of the daemon runs it as a process of its own; clients see its progress, and
 * read the result. There is one at a time, and the last result is retained. */
#ifndef STOKE_DAEMON_RECORDING_H
#define STOKE_DAEMON_RECORDING_H

#include "codec/json.h"
#include "engine/home_parts.h"
#include "os/job.h"
#include "os/thread_pool.h"

#define DAEMON_RECORDING_RATE_MAX 10000
#define DAEMON_RECORDING_SECONDS_MAX 300

struct daemon_recording {
    struct os_lock lock;
    /* under the lock */
    enum {
        RECORDING_NONE,
        RECORDING_REQUESTED,
        RECORDING_RUNS,
        RECORDING_DONE,
        RECORDING_FAILED
    } state;
    struct home_request request;
    bool stops;
    uint64_t number; /* of the recording, since the daemon started */
    uint64_t began, ended;
    char messages[512]; /* why it failed */
    /* of the loop */
    struct os_job job;
    bool has_stopped; /* it was requested to end */
    char path[4200];  /* of the result */
};

/* The result is stored beside the store; in /tmp if that is a server. False when out of
 * memory. */
bool daemon_recording_init(struct daemon_recording *r, const char *store);

/* Ends what runs, and removes the result. */
void daemon_recording_deinit(struct daemon_recording *r);

/* --- For threads of the server ---------------------------------------------------------- */

/* Requests a recording with settings in JSON (engine/home_parts.h). Only processes can be
 * recorded, with the default event. False with err set: the settings are invalid, or `busy`: another
 * one is in progress. */
bool daemon_recording_request(struct daemon_recording *r, struct str settings, bool *busy,
                              struct error *err);

/* Ends it early; what is recorded so far is the result. */
void daemon_recording_stop(struct daemon_recording *r);

/* {"state": "none" | "waiting" | "recording" | "ending" | "recorded" | "failed", ...} */
void daemon_recording_write(struct daemon_recording *r, struct json_writer *w);

/* Adds the result to the output. False with err set if there is none. */
bool daemon_recording_read(struct daemon_recording *r, struct output *o,
                           struct error *err);

/* --- For the loop --------------------------------------------------------------------- */

/* Starts what is requested, and sees what has ended. Call it after each wait. */
void daemon_recording_turn(struct daemon_recording *r, struct os_wait *wait);

/* Whether a process runs, which uses that wait. */
bool daemon_recording_is_active(const struct daemon_recording *r);

#endif
