/* SPDX-License-Identifier: Apache-2.0 */
/* How `stoke annotate` writes annotated functions. */
#ifndef STOKE_CLI_ANNOTATE_ANNOTATE_H
#define STOKE_CLI_ANNOTATE_ANNOTATE_H

#include "engine/annotate.h"

struct annotate_output {
    struct output *out;
    bool colour;
    bool whole; /* all lines and instructions, not only those near samples */
};

/* Both return false if memory is short. */
bool annotate_write_text(const struct annotations *a, const struct annotate_output *to);
bool annotate_write_json(const struct annotations *a, struct output *out);

#endif
