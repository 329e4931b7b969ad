/* SPDX-License-Identifier: Apache-2.0 */
/* Continuous profiling: samples this machine and stores windows until it is stopped.
 *
 * One event loop, in one thread: the wait of the live recording (record/live.h). Its
 * turn cuts windows, stores them and removes what is too old. A part with descriptors of
 * its own (a server) joins by settings.watched and its turn.
 *
 * If the store cannot be written (disk full, read-only), the daemon continues, reports it
 * once, retains the newest windows in memory and stores them when it can. */
#ifndef STOKE_DAEMON_DAEMON_H
#define STOKE_DAEMON_DAEMON_H

#include "daemon/triggers.h"
#include "engine/report.h"
#include "store/store.h"

#define DAEMON_RATE_DEFAULT 19
#define DAEMON_WINDOW_DEFAULT 10 /* seconds */

struct daemon_settings {
    const char *store;   /* location */
    uint32_t rate;       /* samples per second and CPU */
    uint32_t window;     /* seconds */
    uint64_t least_wait; /* ns: longer waits are sampled, too; 0: none */
    bool interpreters;   /* with the functions of interpreted programs */
    struct store_limits limits;
    struct daemon_limits budget;
    struct daemon_trigger_settings triggers;
    const char *lepd;   /* address of a LEPD server (lepd/server.h); NULL: none */
    const char *listen; /* address of an HTTP server (api.h); NULL: none */
    const char *token;  /* that its requests need, see http/server.h; NULL: none */
    const char *certificate, *key; /* PEM texts: HTTPS; NULL: none */
};

/* Samples until SIGINT or SIGTERM, then stores the rest. Returns false with err set if it
 * cannot start, or if the last windows could not be stored. */
bool daemon_run(const struct daemon_settings *settings,
                const struct engine_report *report, struct error *err);

#endif
