/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the code of the functions in recordings, for a .stoke that is opened where the
 * binaries and sources do not exist. */
#ifndef STOKE_ENGINE_BUNDLE_H
#define STOKE_ENGINE_BUNDLE_H

#include "engine/annotate.h"

#define BUNDLE_MOST ((uint64_t)32 << 20) /* bytes, unless the user sets another limit */

/* Reads the files once more, with the settings of their load, and fills k->code; k->most and
 * k->source_dirs are set. The caller frees the code with code_deinit in every case. False, with
 * err set, if a file is neither a recording nor a .stoke with code. */
bool bundle_read(struct annotation_keeping *k, const struct load_settings *load,
                 int file_count, char **files, struct error *err);

/* Reports what was bundled, its size, and what was left out. */
void bundle_describe(const struct annotation_keeping *k,
                     const struct engine_report *report);

#endif
