/* SPDX-License-Identifier: Apache-2.0 */
/* The control groups of a process: /proc/PID/cgroup. */
#ifndef STOKE_METRICS_CGROUP_H
#define STOKE_METRICS_CGROUP_H

#include "base/str.h"

/* What the paths of the control groups say; empty if they do not. */
struct cgroup_names {
    struct str service; /* the innermost systemd service: ssh.service */
    struct str
        container;  /* the first 12 digits of its id; or its name in LXC or nspawn */
    struct str pod; /* the id of the Kubernetes pod */
    struct str
        group; /* the last part of the path: of version 2, or of systemd's hierarchy */
};

/* Reads the text of /proc/PID/cgroup. The results point into it. */
struct cgroup_names cgroup_names_parse(struct str text);

#endif
