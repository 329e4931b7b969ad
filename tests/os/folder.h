/* SPDX-License-Identifier: Apache-2.0 */
/* A folder for one test, removed at its end. */
#ifndef STOKE_TESTS_OS_FOLDER_H
#define STOKE_TESTS_OS_FOLDER_H

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

struct folder {
    char path[64];
    char file[128]; /* the last result of folder_path */
};

static inline int folder_make(void **state)
{
    struct folder *f = calloc(1, sizeof *f);
    snprintf(f->path, sizeof f->path, "/tmp/stoke-test-XXXXXX");
    *state = f;
    return mkdtemp(f->path) ? 0 : -1;
}

static inline int folder_remove(void **state)
{
    struct folder *f = *state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", f->path);
    int ended = system(command);
    free(f);
    return ended;
}

static inline const char *folder_path(struct folder *f, const char *name)
{
    snprintf(f->file, sizeof f->file, "%s/%s", f->path, name);
    return f->file;
}

/* Creates a file with that content; returns its path. */
static inline const char *folder_write(struct folder *f, const char *name,
                                       const char *text, size_t size)
{
    int fd = open(folder_path(f, name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, size), size);
    close(fd);
    return f->file;
}

#define UNIT_IN_FOLDER(test) \
    cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)

#endif
