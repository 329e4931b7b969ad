/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of one recording, as perf record --switch-output writes them: each tells of
 * the processes and maps that came since the one before. What was read of one part is
 * carried to the next, so that all together give the stacks of one file. */
#ifndef STOKE_IMPORT_PERF_DATA_SESSION_H
#define STOKE_IMPORT_PERF_DATA_SESSION_H

#include <stdint.h>

struct perf_profile;

/* For the files of one call: zero at first, handed to each reader in turn. */
struct perf_session {
    struct perf_profile *carried; /* of the part before, or NULL */
    uint64_t identity;            /* of its recording */
};

/* Frees what is carried. */
void perf_session_deinit(struct perf_session *s);

#endif
