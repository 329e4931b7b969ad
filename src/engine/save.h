/* SPDX-License-Identifier: Apache-2.0 */
/* From a profile to a file, through an exporter. */
#ifndef STOKE_ENGINE_SAVE_H
#define STOKE_ENGINE_SAVE_H

#include "export/exporter.h"
#include "os/file.h"

/* Writes to the file of that name, "-" for standard output, where a terminal is shown
 * nothing that it would obey (base/visible.h); packed with gzip where the
 * name or the format wants it (save_packs). On failure false, with err set, and a file of
 * that name is as it was; but a profile whose weights are all zero is written, and is an
 * error then. */
bool save_profile(const struct exporter *e, const struct profile *p,
                  const struct export_options *options, const char *path,
                  struct error *err);

/* The same, packed or not as told; `manner` NULL: as any file. */
bool save_profile_as(const struct exporter *e, const struct profile *p,
                     const struct export_options *options, const char *path, bool pack,
                     const struct os_output_manner *manner, struct error *err);

/* Whether a file of that name is packed: where the format always is, where the name ends
 * in ".gz", and where the exporter's first suffix does, unless the name ends in that
 * suffix without it. */
bool save_packs(const struct exporter *e, struct str path);

#endif
