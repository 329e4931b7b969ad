/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a profile to a file through an exporter. */
#ifndef STOKE_ENGINE_SAVE_H
#define STOKE_ENGINE_SAVE_H

#include "engine/load.h"
#include "export/exporter.h"
#include "os/file.h"

/* Sets what a load must retain for the exporter: times, events, lines, addresses. */
void save_prepare_load(const struct exporter *e, struct load_settings *load);

/* Writes to the file with that name; "-" is standard output. On a terminal, control
 * characters are made visible
 * (base/visible.h). Compresses with gzip if the name or the format requires it
 * (save_packs). On failure returns false, with err set, and does not change an existing
 * file; a profile whose weights are all zero is written, and is then an error. */
bool save_profile(const struct exporter *e, const struct profile *p,
                  const struct export_options *options, const char *path,
                  struct error *err);

/* The same, with compression as given; `manner` NULL: like any file. */
bool save_profile_as(const struct exporter *e, const struct profile *p,
                     const struct export_options *options, const char *path, bool pack,
                     const struct os_output_options *manner, struct error *err);

/* Whether a file with that name is compressed: if the format always is, if the name
 * ends in ".gz", and if the exporter's first suffix does, unless the name ends in that
 * suffix without ".gz". */
bool save_packs(const struct exporter *e, struct str path);

#endif
