/* SPDX-License-Identifier: Apache-2.0 */
#include "os/link.h"
#include "base/format.h"
#include <errno.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LINKS_MAX 16
#define PATH_SIZE 4096

struct str os_link_folder(const char *path)
{
    size_t slash = str_rfind(str_of(path), '/');
    return slash == strlen(path) ? STR(".") : str_head(str_of(path), slash ? slash : 1);
}

/* Classifies a link; OS_LINK_NOTHING if it may be followed. */
static enum os_link_end kind_of_link(const char *folder, uid_t maker)
{
    struct stat st;
    struct statfs system;
    if (stat(folder, &st) != 0 || statfs(folder, &system) != 0)
        return OS_LINK_FOREIGN;
    if (system.f_type == PROC_SUPER_MAGIC)
        return OS_LINK_OPEN;
    bool trusted = !(st.st_mode & S_IWOTH) || maker == geteuid() || maker == st.st_uid;
    return trusted ? OS_LINK_NOTHING : OS_LINK_FOREIGN;
}

/* Follows one link; returns 0 or an errno. */
static int follow_one(char *path, size_t size, const char *folder)
{
    char to[PATH_SIZE], next[PATH_SIZE];
    ssize_t length = readlink(path, to, sizeof to - 1);
    if (length <= 0)
        return length ? errno : ENOENT;
    to[length] = 0;
    size_t used = to[0] == '/' ? format_text(next, sizeof next, "%s", to)
                               : format_text(next, sizeof next, "%s/%s", folder, to);
    if (used + 1 >= sizeof next || used + 1 >= size)
        return ENAMETOOLONG;
    memcpy(path, next, used + 1);
    return 0;
}

int os_link_follow(char *path, size_t size, enum os_link_end *end)
{
    for (int i = 0; i < LINKS_MAX; i++) {
        char folder[PATH_SIZE];
        struct stat st;
        *end = OS_LINK_NOTHING;
        if (lstat(path, &st) != 0)
            return 0;
        *end = S_ISREG(st.st_mode) ? OS_LINK_FILE : OS_LINK_OTHER;
        if (!S_ISLNK(st.st_mode))
            return 0;
        format_text(folder, sizeof folder, "%.*s", STR_ARG(os_link_folder(path)));
        *end = kind_of_link(folder, st.st_uid);
        if (*end != OS_LINK_NOTHING)
            return 0;
        int why = follow_one(path, size, folder);
        if (why)
            return why;
    }
    return ELOOP;
}
