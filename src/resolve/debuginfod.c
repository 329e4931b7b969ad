/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/debuginfod.h"
#include "base/format.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#define ID_SIZE 160

/* The library is opened on demand: it loads a few dozen others, and most runs need no
 * server. Its functions are declared here as in its manual
 * (debuginfod_find_debuginfo(3)). */
typedef void *begin_client(void);
typedef void end_client(void *client);
typedef int find_file(void *client, const unsigned char *build_id, int size, char **path);

struct library {
    void *handle;
    begin_client *begin;
    end_client *end;
    find_file *find;
};

/* POSIX returns functions as object pointers here, which C does not allow to convert. */
#define LOAD(l, member, name) \
    (*(void **)(void *)&(l)->member = dlsym((l)->handle, name), (l)->member != NULL)

static bool open_library(struct library *l, const char *find)
{
    l->handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!l->handle)
        return false;
    if (LOAD(l, begin, "debuginfod_begin") && LOAD(l, end, "debuginfod_end") &&
        LOAD(l, find, find))
        return true;
    dlclose(l->handle);
    return false;
}

static bool fetch(const char *find, struct str build_id, char *path, size_t size)
{
    const char *servers = getenv("DEBUGINFOD_URLS");
    char id[ID_SIZE], *found = NULL;
    struct library l;
    if (!servers || !servers[0] || !open_library(&l, find))
        return false;
    void *client = l.begin();
    format_text(id, sizeof id, "%.*s", STR_ARG(build_id));
    int file = client ? l.find(client, (const unsigned char *)id, 0, &found) : -1;
    bool ok = file >= 0 && found && format_text(path, size, "%s", found) + 1 < size;
    if (file >= 0)
        close(file);
    free(found);
    if (client)
        l.end(client);
    return ok; /* the library stays open for the next file */
}

bool debuginfod_debug(struct str build_id, char *path, size_t size)
{
    return fetch("debuginfod_find_debuginfo", build_id, path, size);
}

bool debuginfod_program(struct str build_id, char *path, size_t size)
{
    return fetch("debuginfod_find_executable", build_id, path, size);
}

bool debuginfod_is_installed(void)
{
    struct library l;
    return open_library(&l, "debuginfod_find_debuginfo");
}
