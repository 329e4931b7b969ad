/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options/tables.h"
#include "os/terminal.h"

#define OFF(field) offsetof(struct tables_settings, field)
#define TREE_LIMIT 0.5 /* default percent_limit of a tree */
#define ROWS_MIN 10

const char *const tables_sorts[] = {"default", "self", "total", "name", "module", NULL};

const struct option tables_options[] = {
    {"limit", 0, "N", "rows per event (default: as many as fit the terminal, else all)",
     OPTION_INT, OFF(limit), .most = UINT32_MAX},
    {"percent-limit", 0, "P", "omit rows below P percent (default: 0; in a tree 0.5)",
     OPTION_NUMBER, OFF(percent_limit), .most = 100},
    {"tree", 0, NULL, "show the call tree: callees below callers", OPTION_FLAG,
     OFF(tree)},
    {"callers", 0, NULL, "show the inverted tree: callers below callees", OPTION_FLAG,
     OFF(callers)},
    {"depth", 0, "N", "maximum depth of the tree", OPTION_INT, OFF(depth),
     .most = UINT32_MAX},
    {"csv", 0, NULL, "write comma-separated values", OPTION_FLAG, OFF(csv)},
    {"json", 0, NULL, "write JSON", OPTION_FLAG, OFF(json)},
    {0}};

bool tables_prepare(struct tables_settings *s, struct transforms_settings *t,
                    struct error *err)
{
    t->options.reverse |= s->callers;
    s->form = s->csv ? TABLE_CSV : s->json ? TABLE_JSON : TABLE_TEXT;
    return !(s->csv && s->json) || error_set(err, "--csv and --json cannot be combined");
}

/* Returns the number of rows per event so that the whole table fits the terminal. */
static uint32_t rows_that_fit(const struct os_terminal *terminal, const struct profile *p)
{
    size_t sections =
        p->facts.differential || p->event_count < 2 ? 1 : p->event_count - 1;
    size_t facts = 4, headings = 5; /* lines before the sections; per section */
    if (terminal->rows <= facts)
        return ROWS_MIN;
    size_t lines = (terminal->rows - facts) / sections;
    return lines > headings + ROWS_MIN ? (uint32_t)(lines - headings) : ROWS_MIN;
}

struct table_options tables_choose(const struct tables_settings *s,
                                   const struct transforms_settings *t,
                                   const struct profile *p, const char *path)
{
    static const char *const headings[] = {NULL,      "module", "file", "comm",
                                           "process", "thread", "label"};
    struct table_options o = {.form = (enum table_form)s->form,
                              .tree = s->tree || s->callers,
                              .sort = (enum table_sort)s->sort,
                              .limit = (uint32_t)s->limit,
                              .depth = (uint32_t)s->depth,
                              .percent_limit = s->percent_limit,
                              .heading = headings[t->options.group]};
    if (o.percent_limit < 0)
        o.percent_limit = o.tree ? TREE_LIMIT : 0;
    struct os_terminal terminal = {0};
    if (o.form == TABLE_TEXT && (!path || strcmp(path, "-") == 0))
        terminal = os_terminal_of(1);
    o.width = terminal.columns;
    o.colour = terminal.colour;
    if (o.limit == 0 && terminal.rows)
        o.limit = rows_that_fit(&terminal, p);
    return o;
}
