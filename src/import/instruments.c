/* SPDX-License-Identifier: Apache-2.0 */
/* A call tree of Xcode's Instruments as text: the tab-separated text that "Deep Copy"
 * copies to the clipboard, and the CSV of older versions.
 *
 *   Weight          Self Weight     Symbol Name
 *   4.93 s  100.0%  0 s             start
 *   2.45 s   49.7%  846.00 ms        delta()
 *
 * Self weights are used; allocations have only totals. The unit of the values shows
 * whether time, cycles or bytes were measured. */
#include "import/quantity.h"
#include "import/tree_table.h"

static struct table_column value_column(enum table_role role, struct str header)
{
    struct table_column c = {.role = role, .event = STR("weight")};
    if (str_equal(header, STR("Count")))
        c.event = STR("count");
    else if (str_has(header, STR("Bytes")))
        c.event = STR("bytes");
    else if (str_has(header, STR("Time")) || str_has(header, STR("(ms)")) ||
             str_equal(header, STR("Self")))
        c.event = STR("time");
    if (quantity_header_unit(header, &c.scale, &c.unit))
        return c;
    if (str_equal(c.event, STR("time"))) { /* without a unit, values are ms */
        c.scale = 1e6;
        c.unit = UNIT_NANOSECONDS;
    }
    return c;
}

static struct table_column classify(struct str header)
{
    static const char *const totals[] = {"Weight", "Running Time", "Bytes Used", "Count"};
    if (str_equal(header, STR("Symbol Name")) || str_equal(header, STR("Symbol Names")))
        return (struct table_column){.role = COLUMN_NAME};
    if (str_equal(header, STR("Library")) || str_equal(header, STR("Binary")))
        return (struct table_column){.role = COLUMN_MODULE};
    if (str_equal(header, STR("Source Path")))
        return (struct table_column){.role = COLUMN_FILE};
    if (str_equal(header, STR("Self")) || str_starts(header, STR("Self ")))
        return value_column(COLUMN_SELF, header);
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++)
        if (str_equal(header, str_of(totals[i])))
            return value_column(COLUMN_TOTAL, header);
    return (struct table_column){.role = COLUMN_OTHER};
}

static const struct table_format instruments = {.classify = classify, .rust_names = true};

static int instruments_probe(struct str head)
{
    return str_has(head, STR("Symbol Name")) && table_probe(&instruments, head) ? 90 : 0;
}

static bool instruments_read(struct source *in, const struct import_options *options,
                             struct builder *b, struct error *err)
{
    return table_read(&instruments, in, options, b, err);
}

const struct importer import_instruments = {
    .name = "instruments",
    .suffixes = "txt,csv",
    .summary = "Instruments call tree, copied as text or exported as CSV",
    .probe = instruments_probe,
    .read = instruments_read,
};
