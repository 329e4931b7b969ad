/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of Pyroscope's clients, such as Grafana's data source: Connect calls of the
 * service querier.v1.QuerierService with JSON or protocol buffers, and the older
 * /pyroscope/render. */
#ifndef STOKE_DAEMON_PYROSCOPE_H
#define STOKE_DAEMON_PYROSCOPE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/output.h"

#define PYROSCOPE_LIST_MAX 32

/* The fields of all requests; those that a request does not have are 0. */
struct pyroscope_request {
    struct arena arena;
    struct str type, name;
    struct str selectors[PYROSCOPE_LIST_MAX], groups[PYROSCOPE_LIST_MAX];
    size_t selector_count, group_count;
    uint64_t start, end; /* ms */
    uint64_t nodes, limit;
    double step; /* s */
};

enum pyroscope_method {
    PYROSCOPE_PROFILE_TYPES,
    PYROSCOPE_LABEL_NAMES,
    PYROSCOPE_LABEL_VALUES,
    PYROSCOPE_SERIES,
    PYROSCOPE_SELECT_SERIES,
    PYROSCOPE_SELECT_MERGE_STACKTRACES,
    PYROSCOPE_SELECT_MERGE_PROFILE,
    PYROSCOPE_GET_PROFILE_STATS,
    PYROSCOPE_METHODS
};

/* The method of that name; PYROSCOPE_METHODS if there is none. */
enum pyroscope_method pyroscope_method(struct str name);

/* Reads a request. The body must outlive it. False with err set if it is invalid. Call
 * pyroscope_request_deinit in any case. */
bool pyroscope_request_read(struct pyroscope_request *r, enum pyroscope_method method,
                            struct str body, bool json, struct error *err);
void pyroscope_request_deinit(struct pyroscope_request *r);

#endif
