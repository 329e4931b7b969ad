/* SPDX-License-Identifier: Apache-2.0 */
/* The labels of samples by process: host, process, service, container, pod, user.
 *
 * They are read from /proc when a process is sampled for the first time, and again after some
 * windows: it can move to another control group. In each window one call checks that the
 * process is the same, so a process id that is used again is wrong for one window at most. A
 * process that has ended by then has the labels host and process only. */
#ifndef STOKE_DAEMON_LABELS_H
#define STOKE_DAEMON_LABELS_H

#include "base/idmap.h"
#include "metrics/cgroup.h"
#include "model/sample_labels.h"

/* What is read from /proc for a process. */
struct daemon_process_labels {
    struct cgroup_names cgroup;
    struct str user;
};

/* What was read is valid for this many windows. */
#define DAEMON_LABELS_WINDOWS 6

struct daemon_labels {
    char host[256];
    uint32_t user; /* the last one, and its name; an empty name: none */
    char user_name[64];
    struct arena arena;
    struct idmap sets;          /* label sets by process id, name and builder */
    struct arena process_arena; /* lives for several windows: */
    struct idmap known;         /* indices of processes, by identity and name */
    struct daemon_process_labels *processes;
    size_t process_count, process_cap;
    unsigned windows; /* since they were read */
    uint64_t reads;   /* processes that were read so far */
};

void daemon_labels_init(struct daemon_labels *l);
void daemon_labels_deinit(struct daemon_labels *l);

/* Forgets all label sets. Call it at the end of a window, and before a builder's memory is used
 * for another one. */
void daemon_labels_clear(struct daemon_labels *l);

/* The labels of a process with that name, as a set of the builder; 0 when memory is
 * short. */
label_set_id daemon_labels_of(struct daemon_labels *l, struct builder *b, uint32_t pid,
                              struct str comm);

#endif
