/* SPDX-License-Identifier: Apache-2.0 */
/* Where on this machine a file lies that a recording names: the program, its debug file,
 * the file that dwz made for several of them.
 *
 * A file is known by its build id, where the recording tells one: what lies at the same
 * path with another is not it. A build id is hexadecimal, a debug link a bare name, or
 * they are not used. */
#ifndef STOKE_RESOLVE_FIND_H
#define STOKE_RESOLVE_FIND_H

#include "model/resolver.h"
#include "os/mapping.h"
#include "symbol/elf.h"

struct find_settings {
    const char *symfs;             /* a folder that stands for the root, or NULL */
    const char *const *debug_dirs; /* instead of /usr/lib/debug; ended by NULL, or NULL */
    bool no_debuginfod;            /* not even what it fetched before */
    bool
        only_mapped; /* the very file that runs, at its path: no caches, no debug files */
};

/* An object file that was found. */
struct found {
    struct os_mapping mapping;
    struct elf elf;
    struct str path; /* where it was found, in the arena */
};

enum find_result {
    FIND_NONE,  /* nowhere */
    FIND_OTHER, /* where it should be lies another file: *other is its path */
    FIND_FOUND,
};

/* Whether the folders that the user named can be looked into. */
bool find_check(const struct find_settings *s, struct error *err);

/* Finds what was mapped: below --symfs, or in the process's root and at the path that was
 * recorded; where another file lies there, or none, among what the process has open, in
 * perf's cache, then by debuginfod.
 * Close found->mapping. `other` may stay empty. */
enum find_result find_object(const struct find_settings *s,
                             const struct object_wanted *wanted, struct found *found,
                             struct str *other, struct arena *arena);

/* Where that lies which belongs to an object: beside the path that was recorded, below
 * whatever stands for the root, and beside the file that was found, which may be a copy
 * in a cache. */
#define FIND_FOLDERS 3
struct find_beside {
    struct str folders[FIND_FOLDERS]; /* each with its last '/' */
    size_t count;
    struct str folder; /* as recorded, or empty */
    struct str name;   /* of the program */
    struct str found;  /* the path of the file that was found */
};

/* `found`: the path, which outlives it, as does wanted->path. Texts in the arena. */
struct find_beside find_beside(const struct find_settings *s,
                               const struct object_wanted *wanted, struct str found,
                               struct arena *arena);

/* Finds the debug file of an object or, where that was not found (NULL), of the build id;
 * false where there is none, or the object has its own
 * debug information. Where nobody has debug information, a file with symbols will do. */
bool find_debug(const struct find_settings *s, struct elf *object, struct str build_id,
                const struct find_beside *beside, struct found *debug,
                struct arena *arena);

/* Finds dwz's file of a file with debug information, which lies at `path`. */
bool find_alternate(const struct find_settings *s, struct elf *debug,
                    const struct find_beside *beside, struct str path,
                    struct found *alternate, struct arena *arena);

/* Whether the kernel would tell such a path: from the root, without "..". What has one
 * was made up, perhaps to lead out of the folder that stands for the root. */
bool find_is_path(struct str path);

/* Whether a file's build id is the one wanted (both hexadecimal). One may be cut or
 * padded with zeros, as older perfs do; one of fewer than 8 digits, as of a file without
 * any, is that of no other. */
bool find_same_build_id(struct str wanted, struct str has);

/* A file of perf's build-id cache in ~/.debug: "elf", "vdso", "kallsyms". False where
 * there is none. */
bool find_cached(struct str build_id, const char *name, char *path, size_t size);

/* A build id as lower-case hexadecimal, in the arena. */
struct str find_hexadecimal(struct str raw, struct arena *arena);

#endif
