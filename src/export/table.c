/* SPDX-License-Identifier: Apache-2.0 */
#include "export/table.h"
#include "export/rows.h"
#include "export/table_parts.h"

static bool table_write(const struct profile *p, const struct export_options *options,
                        struct output *out, struct error *err)
{
    static const struct table_options defaults;
    struct export_options all = *options;
    if (!all.table)
        all.table = &defaults;
    bool rows = all.table->rows != NULL;
    if (all.table->locks)
        return table_write_locks(p, &all, out, err);
    switch (all.table->form) {
    case TABLE_CSV:
        if (rows)
            return rows_write_csv(p, &all, out, err);
        return table_write_csv(p, &all, out, err);
    case TABLE_JSON:
        if (rows)
            return rows_write_json(p, &all, out, err);
        return table_write_json(p, &all, out, err);
    default:
        if (rows)
            return rows_write_text(p, &all, out, err);
        return table_write_text(p, &all, out, err);
    }
}

const struct exporter export_table = {
    .name = "table",
    .suffixes = "txt",
    .summary = "functions with self and total, as text",
    .whole = true,
    .visible = true,
    .write = table_write,
};
