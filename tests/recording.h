/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/recording for tests: a recording, and a folder that stands for the root of
 * the system (--symfs), in which all lies that the recording leads to. */
#ifndef STOKE_TESTS_RECORDING_H
#define STOKE_TESTS_RECORDING_H

#include "export/exporter.h"
#include "import/importer.h"
#include "resolve/machine.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum role { RECORDING, RECORDING_BIG, PROGRAM, DEBUG_FILE, PERF_MAP, JITDUMP, ROLES };

/* As the files are kept; and where the recording says that they lie. */
static const struct {
    const char *kept, *place;
} recording_files[ROLES] = {
    [RECORDING] = {"perf.data", NULL},
    [RECORDING_BIG] = {"big.data", NULL}, /* the same, in the other byte order */
    [PROGRAM] = {"prog", "bin/prog"},
    [DEBUG_FILE] = {"prog.debug", "bin/prog.debug"},
    [PERF_MAP] = {"perf.map", "tmp/perf-4300000.map"},
    [JITDUMP] = {"jit.dump", "tmp/jit-4300001.dump"},
};

struct recording {
    char root[64];
    struct str whole[ROLES]; /* the content of each */
};

/* Puts content where the file lies. */
static inline bool recording_put(const struct recording *r, enum role role,
                                 struct str content)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", r->root, recording_files[role].place);
    FILE *file = fopen(path, "wb");
    bool ok = file && fwrite(content.ptr, 1, content.len, file) == content.len;
    return file && fclose(file) == 0 && ok;
}

static inline bool recording_file(struct recording *r, enum role role)
{
    static char rooms[ROLES][1 << 14];
    char path[4096];
    snprintf(path, sizeof path, "%s/fuzz/recording/%s", TESTS_FOLDER,
             recording_files[role].kept);
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(rooms[role], 1, sizeof rooms[role], file) : 0;
    if (file)
        fclose(file);
    r->whole[role] = (struct str){rooms[role], size};
    return size && size < sizeof rooms[role] &&
           (!recording_files[role].place || recording_put(r, role, r->whole[role]));
}

/* Fills the folder `root`, which is there and empty. */
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

/* What comes of it: of `way`, each bit is an option. */
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
    struct machine_resolver *m = machine_resolver_create(&settings);
    if (!m)
        return error_memory(err);
    struct resolver seam = machine_resolver_seam(m);
    struct import_options options = {.resolver = &seam,
                                     .lines = way & RECORDING_LINES,
                                     .addresses = way >> 3 & 1,
                                     .every_address = way >> 4 & 1};
    struct resolve_report report;
    bool ok = import_read(importer_named(STR("perf-data")), in, &options, b, err);
    machine_resolver_report(m, &report);
    machine_resolver_destroy(m);
    return ok;
}

/* The stacks as lines, with places. */
static inline bool recording_fold(const struct profile *p, struct output *out)
{
    struct error err;
    struct export_options options = {.tree.label.lines = true};
    return exporter_named(STR("folded"))->write(p, &options, out, &err);
}

/* Names come by every road, or nothing that a test finds is worth a look. */
static inline bool recording_is_named(struct str folded)
{
    static const char *const wanted[] = {"_start;begin",    "deep",  "leaf", "mix:prog.c",
                                         "jitted:first.js", "mapped"};
    bool all = true;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        all &= str_search(folded, str_of(wanted[i])) < folded.len;
    return all;
}

#endif
