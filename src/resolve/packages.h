/* SPDX-License-Identifier: Apache-2.0 */
/* Which package has the debug symbols of a file, and which server: by the distribution of
 * the system below a folder, and by what dpkg keeps there. No program is started. */
#ifndef STOKE_RESOLVE_PACKAGES_H
#define STOKE_RESOLVE_PACKAGES_H

#include "base/str.h"

enum package_manager { PACKAGES_OTHER, PACKAGES_DPKG, PACKAGES_DNF, PACKAGES_ZYPPER };

struct distribution {
    enum package_manager manager;
    const char *server; /* a debuginfod server with its debug files */
};

/* By `root`/etc/os-release; "" is the root of this system. */
struct distribution distribution_find(const char *root);

#define PACKAGE_NAME_MAX 128

/* Finds the dpkg packages below `root` that own the files: names[i] is empty where no
 * package owns paths[i]. False where dpkg keeps no lists there. */
bool packages_find(const char *root, const struct str *paths, size_t count,
                   char names[][PACKAGE_NAME_MAX]);

/* The package with the debug symbols of a package of Debian or a derivative. */
void package_debug_name(const char *package, char name[PACKAGE_NAME_MAX]);

#endif
