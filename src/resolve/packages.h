/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the package with the debug symbols of a file, and the debuginfod server: from
 * the distribution of the system below a folder, and the lists of dpkg there. Runs no
 * program. */
#ifndef STOKE_RESOLVE_PACKAGES_H
#define STOKE_RESOLVE_PACKAGES_H

#include "base/str.h"

enum package_manager { PACKAGES_OTHER, PACKAGES_DPKG, PACKAGES_DNF, PACKAGES_ZYPPER };

struct distribution {
    enum package_manager manager;
    const char *server; /* a debuginfod server with its debug files */
};

/* Reads `root`/etc/os-release; "" is the root of this system. */
struct distribution distribution_find(const char *root);

#define PACKAGE_NAME_MAX 128

/* Finds the dpkg packages below `root` that own the files: names[i] is empty if no
 * package owns paths[i]. False if there are no lists of dpkg. */
bool packages_find(const char *root, const struct str *paths, size_t count,
                   char names[][PACKAGE_NAME_MAX]);

/* The debug symbol package of a package of Debian or a derivative. */
void package_debug_name(const char *package, char name[PACKAGE_NAME_MAX]);

#endif
