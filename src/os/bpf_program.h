/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that load eBPF programs share. */
#ifndef STOKE_OS_BPF_PROGRAM_H
#define STOKE_OS_BPF_PROGRAM_H

#include "base/error.h"

/* Prepares this process to load eBPF programs: libbpf prints nothing. False in a container with
 * process ids of its own: a program would see those of the kernel. */
bool os_bpf_prepare(struct error *err);

/* Sets the error of a program that cannot be loaded, `why` an errno: "cannot load the eBPF program
 * that DOES: ...". Returns false. */
bool os_bpf_failed(const char *does, int why, struct error *err);

#endif
