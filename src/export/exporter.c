/* SPDX-License-Identifier: Apache-2.0 */
#include "export/exporter.h"

#define EXPORTER(name) extern const struct exporter export_##name;
#include "export/exporters.def"
#undef EXPORTER

#define EXPORTER(name) &export_##name,
const struct exporter *const exporters[] = {
#include "export/exporters.def"
    NULL};
#undef EXPORTER

const struct exporter *exporter_named(struct str name)
{
    for (size_t i = 0; exporters[i]; i++)
        if (str_equal(str_of(exporters[i]->name), name))
            return exporters[i];
    return NULL;
}

/* The length of the exporter's longest suffix that the name ends with, or 0. */
static size_t suffix_length(const struct exporter *ex, struct str name)
{
    struct str rest = str_of(ex->suffixes);
    size_t longest = 0;
    while (rest.len) {
        struct str suffix = str_cut(&rest, ',');
        if (name.len > suffix.len && str_ends(name, suffix) &&
            name.ptr[name.len - suffix.len - 1] == '.' && suffix.len > longest)
            longest = suffix.len;
    }
    return longest;
}

const struct exporter *exporter_for_file(struct str name)
{
    const struct exporter *best = NULL;
    size_t longest = 0;
    for (size_t i = 0; exporters[i]; i++) {
        size_t length = suffix_length(exporters[i], name);
        if (length > longest) {
            longest = length;
            best = exporters[i];
        }
    }
    return best;
}
