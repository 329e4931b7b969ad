/* SPDX-License-Identifier: Apache-2.0 */
/* The files of tests/fuzz/recording for tests: a recording, and a folder used as the
 * system's root (--symfs) with all files that the recording refers to. */
#ifndef STOKE_TESTS_RECORDING_H
#define STOKE_TESTS_RECORDING_H

#include "export/exporter.h"
#include "import/importer.h"
#include "resolve/local_resolver.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum role { RECORDING, RECORDING_BIG, PROGRAM, DEBUG_FILE, PERF_MAP, JITDUMP, ROLES };

/* The file's name in tests/fuzz/recording, and its path according to the recording. */
static const struct {
    const char *name, *path;
} recording_files[ROLES] = {
    [RECORDING] = {"perf.data", NULL},
    [RECORDING_BIG] = {"big.data", NULL}, /* the same in the other byte order */
    [PROGRAM] = {"prog", "bin/prog"},
    [DEBUG_FILE] = {"prog.debug", "bin/prog.debug"},
    [PERF_MAP] = {"perf.map", "tmp/perf-4300000.map"},
    [JITDUMP] = {"jit.dump", "tmp/jit-4300001.dump"},
};

struct recording {
    char root[64];
    struct str whole[ROLES]; /* content of each file */
};

/* Writes content to the file's path. */
static inline bool recording_put(const struct recording *r, enum role role,
                                 struct str content)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", r->root, recording_files[role].path);
    FILE *file = fopen(path, "wb");
    bool ok = file && fwrite(content.ptr, 1, content.len, file) == content.len;
    return file && fclose(file) == 0 && ok;
}

static inline bool recording_file(struct recording *r, enum role role)
{
    static char rooms[ROLES][1 << 14];
    char path[4096];
    snprintf(path, sizeof path, "%s/fuzz/recording/%s", TESTS_FOLDER,
             recording_files[role].name);
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(rooms[role], 1, sizeof rooms[role], file) : 0;
    if (file)
        fclose(file);
    r->whole[role] = (struct str){rooms[role], size};
    return size && size < sizeof rooms[role] &&
           (!recording_files[role].path || recording_put(r, role, r->whole[role]));
}

/* Fills the folder `root`, which exists and is empty. */
static inline bool recording_open(struct recording *r, const char *root)
{
    char path[128];
    snprintf(r->root, sizeof r->root, "%s", root);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", root, i ? "tmp" : "bin");
        if (mkdir(path, 0700) != 0)
            return false;
    }
    for (int role = 0; role < ROLES; role++)
        if (!recording_file(r, (enum role)role))
            return false;
    return true;
}

/* Reads the recording; each bit of `way` is an option. */
#define RECORDING_LINES 1u

static inline bool recording_read(const struct recording *r, struct source *in,
                                  unsigned way, struct builder *b, struct error *err)
{
    struct resolve_settings settings = {
        .find = {.symfs = r->root, .no_debuginfod = true},
        .no_lines = !(way & RECORDING_LINES),
        .no_inline = (way & 6) == 2,
        .demangle = DEMANGLE_FULL,
        .threads = 1,
    };
    struct local_resolver *m = local_resolver_create(&settings);
    if (!m)
        return error_memory(err);
    struct resolver seam = local_resolver_interface(m);
    struct import_options options = {.resolver = &seam,
                                     .lines = way & RECORDING_LINES,
                                     .addresses = way >> 3 & 1,
                                     .every_address = way >> 4 & 1};
    struct resolve_report report;
    bool ok = import_read(importer_named(STR("perf-data")), in, &options, b, err);
    local_resolver_report(m, &report);
    local_resolver_destroy(m);
    return ok;
}

/* The stacks as lines, with locations. */
static inline bool recording_fold(const struct profile *p, struct output *out)
{
    struct error err;
    struct export_options options = {.tree.label.lines = true};
    return exporter_named(STR("folded"))->write(p, &options, out, &err);
}

/* Checks that names of every source are present; otherwise a test would prove nothing. */
static inline bool recording_has_names(struct str folded)
{
    static const char *const expected[] = {
        "_start;begin", "deep", "leaf", "mix:prog.c", "jitted:first.js", "mapped"};
    bool all = true;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        all &= str_search(folded, str_of(expected[i])) < folded.len;
    return all;
}

#endif
