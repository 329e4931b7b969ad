/* SPDX-License-Identifier: Apache-2.0 */
/* The instructions of many functions, for a page. */
#include "cli/annotate/annotate.h"

#define FUNCTIONS_MOST 50

bool annotate_write_listing(const struct load_settings *load, int file_count,
                            char **files, struct output *out, struct error *err)
{
    struct annotations a = {.most = FUNCTIONS_MOST};
    bool ok = annotate_read_again(&a, load, file_count, files, err) &&
              (annotate_write_json(&a, false, out) || error_memory(err));
    arena_deinit(&a.arena);
    return ok;
}
