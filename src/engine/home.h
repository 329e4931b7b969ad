/* SPDX-License-Identifier: Apache-2.0 */
/* The server's side of the page's home: which processes run, recording some of them, and
 * the recordings of this folder. The page sends requests in JSON (os/server.h admits only
 * the page of this server); recordings are made by this program in a process of its own.
 *
 *   GET  api/home       this machine, and the recent recordings
 *   GET  api/processes  the processes, with the CPU time since the last request
 *   GET  api/recording  the state of the recording
 *   POST api/plan       settings -> the command line that records with them
 *   POST api/record     settings -> starts a recording
 *   POST api/stop       ends the recording
 *   POST api/open       {"file": ID, "before": ID} -> starts to make the page of a
 *                       recording; with "before", compared with that one
 *   GET  api/opening    the state of that
 *   GET  home           the page without a profile
 *   GET  view/ID        the page with that recording
 *   GET  view/ID/ID     the same, compared with the second one
 *
 * The reply to an invalid request is {"error": TEXT, "hint": TEXT}. */
#ifndef STOKE_ENGINE_HOME_H
#define STOKE_ENGINE_HOME_H

#include "engine/home_parts.h"
#include "os/job.h"
#include "os/server.h"

struct engine_home_settings {
    struct str page; /* without a profile; it must outlive the home */
    struct os_wait *wait;

    /* Writes the page with the profile of a file, compared with that of `before` unless it
     * is NULL; called in a process of its own. Messages are for standard error. Returns the
     * exit status. */
    int (*make_page)(void *context, const char *path, const char *before);
    void *context;
};

struct engine_home {
    struct engine_home_settings settings;
    struct os_server_pages pages; /* for the server */

    /* Private. */
    struct home_processes processes;
    struct home_files files;
    struct home_abouts abouts;
    struct os_job recording, making;
    struct home_request request; /* of the recording */
    bool records, stops, has_recorded;
    uint64_t began, ended;   /* by os_clock_monotonic */
    struct home_file made;   /* the file of `making` */
    struct home_file before; /* what it is compared with; its path is empty for none */
    bool makes, has_made;
};

/* Initialises; call engine_home_close in any case. The struct must not be moved. */
void engine_home_open(struct engine_home *h, const struct engine_home_settings *settings);
void engine_home_close(struct engine_home *h);

/* Notices processes that have ended; call it after each wait. */
void engine_home_turn(struct engine_home *h);

#endif
