/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/packages.h"
#include "base/format.h"
#include "os/machine.h"
#include "os/mapping.h"
#include <string.h>

/* --- The distribution -------------------------------------------------------------- */

static const struct {
    const char *id; /* as in os-release(5) */
    struct distribution is;
} distributions[] = {
    {"debian", {PACKAGES_DPKG, "https://debuginfod.debian.net"}},
    {"ubuntu", {PACKAGES_DPKG, "https://debuginfod.ubuntu.com"}},
    {"fedora", {PACKAGES_DNF, "https://debuginfod.fedoraproject.org"}},
    {"centos", {PACKAGES_DNF, "https://debuginfod.centos.org"}},
    {"rhel", {PACKAGES_DNF, "https://debuginfod.elfutils.org"}},
    {"opensuse", {PACKAGES_ZYPPER, "https://debuginfod.opensuse.org"}},
    {"suse", {PACKAGES_ZYPPER, "https://debuginfod.elfutils.org"}},
    {"arch", {PACKAGES_OTHER, "https://debuginfod.archlinux.org"}},
};

/* The value of a variable in os-release, without its quotes. */
static struct str value_of(struct str text, struct str key)
{
    while (text.len) {
        struct str line = str_trim(str_cut(&text, '\n'));
        struct str name = str_cut(&line, '=');
        if (!str_equal(name, key))
            continue;
        bool quoted = line.len > 1 && (line.ptr[0] == '"' || line.ptr[0] == '\'') &&
                      line.ptr[line.len - 1] == line.ptr[0];
        return quoted ? str_skip(str_head(line, line.len - 1), 1) : line;
    }
    return STR("");
}

/* The first known one of several words. */
static const struct distribution *known(struct str words)
{
    const size_t count = sizeof distributions / sizeof *distributions;
    for (struct str word = str_word(&words); word.len; word = str_word(&words))
        for (size_t i = 0; i < count; i++)
            if (str_equal(word, str_of(distributions[i].id)))
                return &distributions[i].is;
    return NULL;
}

struct distribution distribution_find(const char *root)
{
    char path[4096];
    struct os_mapping file;
    struct error ignored;
    struct distribution found = {PACKAGES_OTHER, "https://debuginfod.elfutils.org"};
    format_text(path, sizeof path, "%s/etc/os-release", root);
    if (!os_mapping_open(&file, path, &ignored)) {
        format_text(path, sizeof path, "%s/usr/lib/os-release", root);
        if (!os_mapping_open(&file, path, &ignored))
            return found;
    }
    struct str text = str_head(file.bytes, 1 << 16);
    const struct distribution *is = known(value_of(text, STR("ID")));
    if (!is)
        is = known(value_of(text, STR("ID_LIKE")));
    if (is)
        found = *is;
    os_mapping_close(&file);
    return found;
}

/* --- dpkg -------------------------------------------------------------------------- */

#define LISTS_MAX 50000
#define LIST_BYTES_MAX ((uint64_t)256 << 20) /* of all lists */

struct package_search {
    const char *folder;
    const struct str *paths;
    size_t count, left;
    char (*names)[PACKAGE_NAME_MAX];
    size_t lists;
    uint64_t bytes;
};

/* Returns true if a list of files contains the path, also in its form before /lib
 * became a link to /usr/lib. */
static bool lists_path(struct str list, struct str path)
{
    static const char usr[] = "/usr";
    const size_t usr_len = sizeof usr - 1;
    struct str bare = str_starts(path, STR("/usr/")) ? str_skip(path, usr_len) : path;
    const char *begin;
    for (struct str rest = list; rest.len;
         rest = str_skip(str_span(begin, list.ptr + list.len), 1)) {
        begin = memmem(rest.ptr, rest.len, bare.ptr, bare.len);
        if (!begin)
            return false;
        struct str behind = str_skip(str_span(begin, list.ptr + list.len), bare.len);
        size_t before = (size_t)(begin - list.ptr);
        if (before >= usr_len && memcmp(begin - usr_len, usr, usr_len) == 0)
            before -= usr_len;
        bool is_line = before == 0 || list.ptr[before - 1] == '\n';
        if (is_line && (behind.len == 0 || behind.ptr[0] == '\n'))
            return true;
    }
    return false;
}

/* "libc6:amd64.list" is the list of libc6. */
static bool package_of(struct str file, char name[PACKAGE_NAME_MAX])
{
    struct str end = STR(".list");
    if (!str_ends(file, end))
        return false;
    struct str package = str_head(file, file.len - end.len);
    package = str_cut(&package, ':');
    return package.len && package.len < PACKAGE_NAME_MAX &&
           format_text(name, PACKAGE_NAME_MAX, "%.*s", STR_ARG(package));
}

static void search_list(void *context, struct str file)
{
    char path[4096], name[PACKAGE_NAME_MAX];
    struct package_search *s = context;
    struct os_mapping list;
    struct error ignored;
    if (s->left == 0 || s->lists == LISTS_MAX || s->bytes > LIST_BYTES_MAX ||
        !package_of(file, name))
        return;
    s->lists++;
    format_text(path, sizeof path, "%s/%.*s", s->folder, STR_ARG(file));
    if (!os_mapping_open(&list, path, &ignored))
        return;
    s->bytes += list.bytes.len;
    for (size_t i = 0; i < s->count; i++) {
        if (s->names[i][0] || s->paths[i].len == 0 ||
            !lists_path(list.bytes, s->paths[i]))
            continue;
        memcpy(s->names[i], name, sizeof name);
        s->left--;
    }
    os_mapping_close(&list);
}

bool packages_find(const char *root, const struct str *paths, size_t count,
                   char names[][PACKAGE_NAME_MAX])
{
    char folder[4096];
    struct package_search s = {
        .folder = folder, .paths = paths, .count = count, .left = count, .names = names};
    for (size_t i = 0; i < count; i++)
        memset(names[i], 0, PACKAGE_NAME_MAX);
    format_text(folder, sizeof folder, "%s/var/lib/dpkg/info", root);
    return os_folder_each(folder, search_list, &s) && s.lists;
}

/* Debian builds a -dbgsym package for each package automatically, except for packages
 * with a hand-made debug package: libc6 and Python, where one package covers all
 * packages of a version. */
void package_debug_name(const char *package, char name[PACKAGE_NAME_MAX])
{
    struct str p = str_of(package), rest = p;
    if (str_equal(p, STR("libc6"))) {
        format_text(name, PACKAGE_NAME_MAX, "libc6-dbg");
        return;
    }
    if (str_starts(rest, STR("lib")))
        rest = str_skip(rest, 3);
    if (str_starts(rest, STR("python3."))) {
        struct str version = str_cut(&rest, '-');
        format_text(name, PACKAGE_NAME_MAX, "%.*s-dbg", STR_ARG(version));
        return;
    }
    size_t room = PACKAGE_NAME_MAX - sizeof "-dbgsym";
    format_text(name, PACKAGE_NAME_MAX, "%.*s-dbgsym", STR_ARG(str_head(p, room)));
}
