/* SPDX-License-Identifier: Apache-2.0 */
/* The methods of LEPD (methods.def), and what they read.
 *
 * To add a method: a line in methods.def, and its function in one of the files *_text.c. */
#ifndef STOKE_LEPD_METHOD_H
#define STOKE_LEPD_METHOD_H

#include "base/output.h"
#include "metrics/snapshot.h"
#include "model/profile.h"

struct lepd_filesystem {
    uint64_t device;             /* identifies it */
    uint64_t size, used, usable; /* KiB; `usable` by other users than root */
};

struct lepd_clock {
    unsigned year, month, day, hour, minute, second;
};

/* What methods read. All calls come from one thread at a time. */
struct lepd_machine {
    void *context;
    struct str host, release, architecture;
    uint64_t page_size;

    /* Two readings about a second apart. `before` is NULL in the first second: rates are
     * then averages since boot. */
    const struct metrics *now, *before;

    /* Samples of the last second; NULL: none, as without permission. */
    const struct profile *profile;

    /* Appends the text of a file; false if it cannot be read. */
    bool (*file)(void *context, const char *path, struct output *o);

    /* The space of the filesystem that is mounted there; false if it cannot be read. */
    bool (*filesystem)(void *context, const char *path, struct lepd_filesystem *out);

    /* Appends the messages of the kernel, each with its priority: "<6>[ 1.5] text". */
    bool (*kernel_log)(void *context, struct output *o);

    /* Writes the name of a user, or the number. */
    void (*user_name)(void *context, uint32_t user, char *room, size_t size);

    /* Local time of a time in ns since the epoch. */
    struct lepd_clock (*clock)(void *context, uint64_t time);
};

struct lepd_method {
    const char *name;
    void (*constant)(struct output *o); /* the result, if it needs no machine; or NULL */
    const char *file;                   /* the result is the text of this file; or NULL */
    bool (*write)(const struct lepd_machine *m, struct output *o); /* or NULL */
    bool is_slow; /* may take more than a few ms: reads files of all processes */
};

extern const struct lepd_method lepd_methods[];
extern const size_t lepd_method_count;

/* The method of that name, or NULL. */
const struct lepd_method *lepd_method_find(struct str name);

/* Writes the result of a method that is not constant. False if it is not available. */
bool lepd_method_write(const struct lepd_method *method, const struct lepd_machine *m,
                       struct output *o);

#endif
