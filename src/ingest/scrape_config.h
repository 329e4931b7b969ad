/* SPDX-License-Identifier: Apache-2.0 */
/* Which programs are asked for profiles: a file with the keys of Prometheus' scrape_configs.
 *
 *   scrape_configs:
 *     - job_name: shop
 *       scrape_interval: 15s
 *       scheme: http
 *       profiles: [profile, allocs]
 *       static_configs:
 *         - targets: ['10.0.0.1:6060', '10.0.0.2:6060']
 *           labels:
 *             region: west
 *
 * It is read line by line: a mapping or a list has a line for each member, or is in brackets in one
 * line. An unknown key is refused. */
#ifndef STOKE_INGEST_SCRAPE_CONFIG_H
#define STOKE_INGEST_SCRAPE_CONFIG_H

#include "ingest/ingest.h"

#define SCRAPE_TARGETS_MAX 256
#define SCRAPE_INTERVAL_LEAST 5 /* s */
#define SCRAPE_INTERVAL_MOST 3600
#define SCRAPE_INTERVAL_DEFAULT 15

/* Addresses below /debug/pprof/ of a program. */
enum scrape_profile {
    SCRAPE_PROFILE, /* CPU time */
    SCRAPE_ALLOCS,
    SCRAPE_HEAP,
    SCRAPE_GOROUTINE,
    SCRAPE_MUTEX,
    SCRAPE_BLOCK,
    SCRAPE_PROFILES
};

/* "profile", "allocs", ... */
const char *scrape_profile_name(enum scrape_profile profile);

struct scrape_job {
    struct str name;
    uint32_t interval; /* s */
    uint32_t profiles; /* a bit for each */
    bool is_https;
};

struct scrape_target {
    struct str address; /* HOST:PORT */
    size_t job;
    size_t labels; /* an index */
};

struct scrape_config {
    struct arena arena;
    struct scrape_job *jobs;
    size_t job_count, job_cap;
    struct ingest_labels *labels;
    size_t label_count, label_cap;
    struct scrape_target *targets;
    size_t target_count, target_cap;
};

/* Strings point into `text`. False with err set, with the number of the line. Call
 * scrape_config_deinit in any case. */
bool scrape_config_parse(struct scrape_config *c, struct str text, struct error *err);
void scrape_config_deinit(struct scrape_config *c);

#endif
