/* SPDX-License-Identifier: Apache-2.0 */
/* Finds files named by a recording on this machine: the executable, its debug file, and
 * the common file of dwz.
 *
 * If the recording has a build ID, a file must match it: another file at the same path
 * is rejected. A build ID that is not hexadecimal, and a debug link that contains a
 * path, are ignored. */
#ifndef STOKE_RESOLVE_FIND_H
#define STOKE_RESOLVE_FIND_H

#include "model/resolver.h"
#include "os/mapping.h"
#include "symbol/elf.h"

struct find_settings {
    const char *symfs; /* a folder used as the root, or NULL */
    /* instead of /usr/lib/debug; ends with NULL; or NULL */
    const char *const *debug_dirs;
    bool no_debuginfod;          /* also disables files downloaded before */
    const struct limits *limits; /* of compressed sections; NULL: limits_default */
    bool
        /* only the mapped file itself, at its path: no caches, no debug files */
        only_mapped;
};

/* An object file that was found. */
struct found {
    struct os_mapping mapping;
    struct elf elf;
    struct str path; /* its path, in the arena */
};

enum find_result {
    FIND_NONE,  /* not found */
    FIND_OTHER, /* another file is at its path: *other is that path */
    FIND_FOUND,
};

/* Checks that the folders given by the user are readable. */
bool find_check(const struct find_settings *s, struct error *err);

/* Finds a mapped file: below --symfs, or in the root of the process and at the recorded
 * path. If it is missing there or another file is at its path, searches the files that
 * the process has open, then perf's cache, then debuginfod. The caller closes
 * found->mapping. `other` may stay empty. */
enum find_result find_object(const struct find_settings *s,
                             const struct object_request *request, struct found *found,
                             struct str *other, struct arena *arena);

/* Folders to search for files that belong to an object: the folder of the recorded path,
 * below every root, and the folder of the file that was found (the file may be a copy in a
 * cache). */
#define FIND_FOLDERS 3
struct find_beside {
    struct str folders[FIND_FOLDERS]; /* each with its last '/' */
    size_t count;
    struct str folder; /* as recorded, or empty */
    struct str name;   /* of the executable */
    struct str found;  /* the path of the file that was found */
};

/* `found` is the path of the file; it must outlive the result, like request->path. The
 * arena owns the texts. */
struct find_beside find_beside(const struct find_settings *s,
                               const struct object_request *request, struct str found,
                               struct arena *arena);

/* Finds the debug file of an object, or of the build ID if the object was not found
 * (NULL). Returns false if there is none, or if the object has its own debug
 * information. If no file has debug information, a file with symbols is accepted. */
bool find_debug(const struct find_settings *s, struct elf *object, struct str build_id,
                const struct find_beside *beside, struct found *debug,
                struct arena *arena);

/* Finds the dwz file of a file with debug information, whose path is `path`. */
bool find_alternate(const struct find_settings *s, struct elf *debug,
                    const struct find_beside *beside, struct str path,
                    struct found *alternate, struct arena *arena);

/* Returns true if the kernel could report such a path: absolute, without "..". Any
 * other path was forged, perhaps to leave the folder used as the root. */
bool find_is_path(struct str path);

/* Compares a file's build ID with the requested one (both hexadecimal). One may be
 * truncated or padded with zeros, as in old versions of perf. A build ID of fewer than
 * 8 digits never matches. */
bool find_same_build_id(struct str request, struct str has);

/* A file in perf's build-ID cache in ~/.debug: "elf", "vdso", "kallsyms". False if
 * there is none. */
bool find_cached(struct str build_id, const char *name, char *path, size_t size);

/* A build ID as lower-case hexadecimal, in the arena. */
struct str find_hexadecimal(struct str raw, struct arena *arena);

#endif
