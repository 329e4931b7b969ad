/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options/save.h"
#include "base/nearest.h"

bool save_parse_exporter(const char *text, void *value, struct error *err)
{
    const struct exporter **to = value;
    struct nearest nearest = {.word = str_of(text)};
    *to = exporter_named(nearest.word);
    if (*to)
        return true;
    for (size_t i = 0; exporters[i]; i++)
        nearest_offer(&nearest, str_of(exporters[i]->name));
    error_set(err, "unknown output format '%s'", text);
    return nearest_hint(&nearest, "", "'stoke help formats' lists them", err);
}

const struct exporter *save_choose_exporter(const struct exporter *to, const char *output,
                                            const struct exporter *otherwise,
                                            struct error *err)
{
    struct str file = str_of(output ? output : "-");
    bool named = !str_equal(file, STR("-"));
    const struct exporter *e = to ? to : named ? exporter_for_file(file) : otherwise;
    if (!e && str_ends(file, STR(".gz")))
        e = exporter_for_file(str_head(file, file.len - 3));
    if (!e && str_starts(file, STR("/dev/")))
        e = otherwise;
    if (e)
        return e;
    if (named)
        error_set(err, "no output format for the file name '%s'", output);
    else
        error_set(err, "no output format");
    error_hint(err, "--to NAME, or -o FILE.SUFFIX; 'stoke help formats' lists them");
    return NULL;
}
