/* SPDX-License-Identifier: Apache-2.0 */
/* The call tree of Visual Studio's profiler as CSV (CallTreeSummary.csv): a level, a
 * function, and columns that depend on what was collected.
 *
 * The values are self values: samples, time or allocations. Level 0 is the process,
 * not a function. */
#include "import/tree_table.h"

static const struct value {
    const char *header, *event;
    enum unit unit;
    double scale;
} values[] = {
    {"Exclusive Samples", "samples", UNIT_COUNT, 1},
    {"Elapsed Exclusive Time", "elapsed", UNIT_NANOSECONDS, 1e6},
    {"Application Exclusive Time", "application", UNIT_NANOSECONDS, 1e6},
    {"Exclusive Bytes", "bytes", UNIT_BYTES, 1},
    {"Exclusive Allocations", "allocations", UNIT_COUNT, 1},
    {"Elapsed Exclusive Time %", "elapsed %", UNIT_COUNT, 1},
    {"Application Exclusive Time %", "application %", UNIT_COUNT, 1},
    {"Number of Calls", "calls", UNIT_COUNT, 1},
};

static struct table_column classify(struct str header)
{
    struct table_column c = {.role = COLUMN_OTHER};
    if (str_equal(header, STR("Level")))
        c.role = COLUMN_LEVEL;
    else if (str_equal(header, STR("Function Name")))
        c.role = COLUMN_NAME;
    else if (str_equal(header, STR("Module Name")))
        c.role = COLUMN_MODULE;
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++)
        if (str_equal(header, str_of(values[i].header)))
            return (struct table_column){.role = COLUMN_SELF,
                                         .rank = i,
                                         .event = str_of(values[i].event),
                                         .unit = values[i].unit,
                                         .scale = values[i].scale};
    return c;
}

static const struct table_format vsprof = {.classify = classify, .counted_root = true};

static int vsprof_probe(struct str head)
{
    bool named = str_has(head, STR("Function Name")) && str_has(head, STR("Level"));
    return named && table_probe(&vsprof, head) ? 95 : 0;
}

static bool vsprof_read(struct source *in, const struct import_options *options,
                        struct builder *b, struct error *err)
{
    return table_read(&vsprof, in, options, b, err) ||
           error_hint(err, "export the call tree, with its exclusive values");
}

const struct importer import_vsprof = {
    .name = "vsprof",
    .suffixes = "csv",
    .summary = "Visual Studio profiler call tree, CSV",
    .probe = vsprof_probe,
    .read = vsprof_read,
};
