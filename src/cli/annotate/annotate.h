/* SPDX-License-Identifier: Apache-2.0 */
/* How `stoke annotate` writes annotated functions. */
#ifndef STOKE_CLI_ANNOTATE_ANNOTATE_H
#define STOKE_CLI_ANNOTATE_ANNOTATE_H

#include "cli/options/load.h"
#include "engine/annotate.h"

struct annotate_output {
    struct output *out;
    bool colour;
    bool whole;           /* all lines and instructions, not only those near samples */
    bool counts, weights; /* numbers of samples, or their weights, instead of shares */
};

/* The writers return false if out of memory. */
bool annotate_write_text(const struct annotations *a, const struct annotate_output *to);

/* `lines`: also the lines of the functions, with their text. */
bool annotate_write_json(const struct annotations *a, bool lines, struct output *out);

/* Writes the instructions of the heaviest functions in the recordings as JSON, for a page:
 * reads the recordings with the settings of `load`. False, with err set, on failure. */
bool annotate_write_listing(const struct load_settings *load, int file_count,
                            char **files, struct output *out, struct error *err);

#endif
