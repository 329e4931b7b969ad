/* SPDX-License-Identifier: Apache-2.0 */
/* Names of Python's functions, as the importers of its profiles label them:
 * "normpath (posixpath.py:337)". Many functions of different modules have the same name. */
#ifndef STOKE_IMPORT_PYTHON_NAME_H
#define STOKE_IMPORT_PYTHON_NAME_H

#include "base/output.h"

/* "posixpath.py"; with the folder, "json/__init__.py", where many have the same name: files of
 * packages, and the code of modules, which is "<module>" at line 1 in all files. */
struct str python_short_path(struct str function, struct str path);

/* Writes the name with its location; `path` may be empty. */
void python_write_label(struct output *o, struct str name, struct str path,
                        uint64_t line);

#endif
