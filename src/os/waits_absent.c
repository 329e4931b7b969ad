/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces waits.c if the build dependencies for eBPF are missing. */
#include "os/waits.h"

bool os_waits_open(struct os_waits *w, uint64_t threshold, struct error *err)
{
    (void)threshold;
    *w = (struct os_waits){0};
    error_set(err, "this stoke was built without eBPF");
    return error_hint(err,
                      "install the dependencies with tools/deps bpf and build again");
}

void os_waits_close(struct os_waits *w)
{
    *w = (struct os_waits){0};
}

bool os_waits_read(struct os_waits *w,
                   void (*each)(void *context, const struct waits_record *r),
                   void *context, struct error *err)
{
    (void)w, (void)each, (void)context;
    return error_set(err, "this stoke was built without eBPF");
}

void os_waits_set_threshold(struct os_waits *w, uint64_t threshold)
{
    (void)w, (void)threshold;
}

struct os_waits_counts os_waits_count(const struct os_waits *w)
{
    (void)w;
    return (struct os_waits_counts){0};
}
