/* SPDX-License-Identifier: Apache-2.0 */
/* VTune's top-down tree as CSV, with any delimiter:
 *   vtune -R top-down -call-stack-mode all -column "CPU Time:Self","Module" \
 *         -report-out FILE -filter "Function Stack" -format csv -csv-delimiter comma
 *
 * "Function Stack" is indented by one space per level; every column ":Self" is an
 * event. Times are in seconds and converted to milliseconds, as in other tools that
 * fold this format. */
#include "import/tree_table.h"

/* "CPU Time:Self" -> "CPU Time"; the header itself if it is not a self column. */
static struct str self_name(struct str header)
{
    struct str rest = header;
    if (str_ends(rest, STR(":")))
        rest.len--;
    return str_ends(rest, STR(":Self")) ? str_head(rest, rest.len - 5) : header;
}

static struct table_column classify(struct str header)
{
    struct table_column c = {.role = COLUMN_OTHER};
    struct str name = self_name(header);
    if (str_equal(header, STR("Function Stack")))
        c.role = COLUMN_NAME;
    else if (str_equal(header, STR("Module")))
        c.role = COLUMN_MODULE;
    else if (str_equal(header, STR("Source File")))
        c.role = COLUMN_FILE;
    if (name.len == header.len)
        return c;
    c = (struct table_column){.role = COLUMN_SELF, .rank = 1, .event = name, .scale = 1};
    if (str_equal(name, STR("CPU Time")) || str_equal(name, STR("Allocations")))
        c.rank = 0;
    if (str_has(name, STR("Time"))) {
        c.unit = UNIT_MILLISECONDS;
        c.scale = 1000;
        c.rounded = true;
    } else if (str_has(name, STR("Size"))) {
        c.unit = UNIT_BYTES;
    }
    return c;
}

static const struct table_format vtune = {.classify = classify, .module_in_name = true};

static int vtune_probe(struct str head)
{
    struct str line = STR("");
    if (str_has(head, STR("Function Stack")) && table_probe(&vtune, head))
        return 95;
    for (int i = 0; i < 3 && !str_starts(line, STR("Function Stack")); i++)
        line = str_cut(&head, '\n');
    return str_starts(line, STR("Function Stack")) ? 60 : 0; /* without values */
}

static bool vtune_read(struct source *in, const struct import_options *options,
                       struct builder *b, struct error *err)
{
    return table_read(&vtune, in, options, b, err) ||
           error_hint(err, "export it with the columns \"CPU Time:Self\" and \"Module\"");
}

const struct importer import_vtune = {
    .name = "vtune",
    .suffixes = "csv",
    .summary = "VTune top-down report, CSV",
    .probe = vtune_probe,
    .read = vtune_read,
};
