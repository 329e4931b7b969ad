/* SPDX-License-Identifier: Apache-2.0 */
/* Asks programs for their profiles regularly and stores them: Go's /debug/pprof/ and what is like it.
 *
 * Each target has a thread, which waits most of the time: a profile of CPU time takes its length. The
 * first requests of targets are spread over the interval. */
#ifndef STOKE_DAEMON_SCRAPE_H
#define STOKE_DAEMON_SCRAPE_H

#include "daemon/intake.h"
#include "engine/report.h"
#include "ingest/scrape_config.h"

struct daemon_scrapes;

/* Starts the threads. The config, the intake and the report must outlive them. NULL with err set on
 * failure. */
struct daemon_scrapes *daemon_scrapes_start(const struct scrape_config *config,
                                            struct daemon_intake *intake,
                                            const struct engine_report *report,
                                            struct error *err);

/* Ends requests immediately, and waits for the threads. NULL is allowed. */
void daemon_scrapes_stop(struct daemon_scrapes *s);

#endif
