/* SPDX-License-Identifier: Apache-2.0 */
/* This machine, as the methods of LEPD and the metrics read it. */
#ifndef STOKE_LEPD_MACHINE_H
#define STOKE_LEPD_MACHINE_H

#include "lepd/method.h"
#include "os/machine.h"

/* Access to the files of this machine. */
extern const struct metrics_source lepd_metrics_source;

/* Fills all but the readings and the profile. `facts` must outlive it. */
void lepd_machine_init(struct lepd_machine *m, const struct os_machine *facts);

#endif
