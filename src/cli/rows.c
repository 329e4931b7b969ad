/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/rows.h"
#include "base/number.h"

#define OFF(field) offsetof(struct rows_settings, field)
#define GRAPH_LIMIT 0.5 /* percent: calls below are not shown; the default of perf */

/* --- Values ------------------------------------------------------------------------ */

/* Returns the index of a column in tables_sorts, or -1. */
static int column_named(struct str name)
{
    for (int i = 0; tables_sorts[i]; i++)
        if (str_equal(name, str_of(tables_sorts[i])))
            return i;
    return -1;
}

static bool add_key(struct rows_sort *sort, struct str name, struct error *err)
{
    enum breakdown_key key = breakdown_key_named(name);
    if (key == KEY_COUNT) {
        error_set(err, "unknown key '%.*s'", STR_ARG(name));
        return error_hint(err,
                          "keys, separated by commas: comm, pid, tid, cpu, dso, sym, "
                          "srcfile, srcline; or one column: default, self, total, "
                          "name, module");
    }
    for (unsigned i = 0; i < sort->count; i++)
        if (sort->keys[i] == key)
            return true;
    sort->keys[sort->count++] = key;
    return true;
}

static bool parse_sort(const char *text, void *value, struct error *err)
{
    struct rows_sort *sort = value, keys = {.count = 0};
    int column = column_named(str_of(text));
    if (column >= 0) {
        *sort = (struct rows_sort){.column = column};
        return true;
    }
    for (struct str rest = str_of(text); rest.len || keys.count == 0;)
        if (!add_key(&keys, str_trim(str_cut(&rest, ',')), err))
            return false;
    *sort = keys;
    return true;
}

/* Parses one word of --call-graph. Words of perf that have no effect here are accepted. */
static bool parse_graph_word(struct rows_graph *graph, struct str word)
{
    static const struct {
        const char *name;
        enum chain_order order;
    } orders[] = {
        {"caller", CHAINS_CALLER}, {"callee", CHAINS_CALLEE}, {"none", CHAINS_NONE}};
    double number;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        if (str_equal(word, str_of(orders[i].name))) {
            graph->order = orders[i].order;
            graph->ordered = true;
            return true;
        }
    }
    if (str_equal(word, STR("graph")) || str_equal(word, STR("function")) ||
        str_equal(word, STR("percent")))
        return true;
    if (str_ends(word, STR("%")))
        word.len--;
    if (!number_parse_double(word, &number) || number < 0 || number > 100)
        return false;
    graph->percent = number;
    return true;
}

static bool parse_graph(const char *text, void *value, struct error *err)
{
    struct rows_graph graph = {.given = true, .percent = -1};
    for (struct str rest = str_of(text); rest.len;) {
        struct str word = str_trim(str_cut(&rest, ','));
        if (!parse_graph_word(&graph, word)) {
            error_set(err, "invalid call graph '%.*s'", STR_ARG(word));
            return error_hint(err,
                              "caller (callees below callers), callee (callers below "
                              "callees) or none, and a percentage: callee,1");
        }
    }
    *(struct rows_graph *)value = graph;
    return true;
}

/* Returns the length of the first name: names end at a comma outside of brackets, because
 * template arguments contain commas. */
static size_t word_end(struct str text)
{
    size_t depth = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == ',' && depth == 0)
            return i;
        if (c == '<' || c == '(' || c == '[')
            depth++;
        else if ((c == '>' || c == ')' || c == ']') && depth > 0)
            depth--;
    }
    return text.len;
}

/* Parses names separated by commas. */
static bool parse_words(const char *text, void *value, struct error *err)
{
    struct rows_words *words = value;
    for (struct str rest = str_of(text); rest.len;) {
        struct str word = str_head(rest, word_end(rest));
        rest = str_skip(rest, word.len + 1);
        if (words->count == ROWS_WORDS_MAX)
            return error_set(err, "too many names in '%s': at most %d", text,
                             ROWS_WORDS_MAX);
        if (word.len)
            words->items[words->count++] = word;
    }
    return true;
}

/* --- The table --------------------------------------------------------------------- */

static const char *const words_of_sort[] = {
    "comm",    "pid",     "tid",  "cpu",   "dso",  "sym",    "srcfile",
    "srcline", "default", "self", "total", "name", "module", NULL};

const struct option rows_options[] = {
    {"sort", 's', "KEYS", "row keys (comm,dso,sym), or a column to sort by (total)",
     OPTION_PARSED, OFF(sort), words_of_sort, .parse = parse_sort},
    {"children", 0, NULL,
     "add the weight of callees to callers (default; off: --no-children)", OPTION_SET,
     OFF(children), .value = 1},
    {"call-graph", 'g', "HOW",
     "call graph below each row: caller, callee or none, and a minimum percentage",
     OPTION_PARSED, OFF(graph), .parse = parse_graph, .fallback = ""},
    {"stdio", 0, NULL, "print rows in the format of perf report --stdio", OPTION_FLAG,
     OFF(stdio)},
    {"comms", 'c', "NAMES", "only rows of these comms; * and ? are wildcards",
     OPTION_PARSED, OFF(comms), .parse = parse_words},
    {"dso,dsos", 'd', "NAMES", "only rows of these modules", OPTION_PARSED, OFF(dsos),
     .parse = parse_words},
    {"symbol,symbols", 'S', "NAMES", "only rows of these functions", OPTION_PARSED,
     OFF(symbols), .parse = parse_words},
    {"show-nr-samples", 'n', NULL, "add a column with the number of samples", OPTION_FLAG,
     OFF(samples)},
    {"show-total-period", 0, NULL, "add a column with the weight", OPTION_FLAG,
     OFF(period)},
    {0}};

bool rows_requested(const struct rows_settings *s)
{
    return s->sort.count || s->children >= 0 || s->graph.given || s->stdio ||
           s->samples || s->period || s->comms.count || s->dsos.count || s->symbols.count;
}

bool rows_check(const struct rows_settings *s, const struct tables_settings *tables,
                struct error *err)
{
    bool graph = s->graph.given && (!s->graph.ordered || s->graph.order);
    if (!rows_requested(s))
        return true;
    if (tables->tree || tables->callers) {
        error_set(err, "--tree and --callers cannot be combined with rows by keys");
        return error_hint(err, "-g caller and -g callee draw trees below rows");
    }
    if (s->sort.column) {
        error_set(err, "--sort %s cannot be combined with perf's options",
                  tables_sorts[s->sort.column]);
        return error_hint(err, "--children sorts by total, --no-children by self");
    }
    if (s->stdio && tables->form != TABLE_TEXT)
        return error_set(err, "--stdio cannot be combined with --csv or --json");
    if (graph && tables->form == TABLE_CSV) {
        error_set(err, "--csv cannot contain call graphs");
        return error_hint(err, "--json can");
    }
    return true;
}

void rows_prepare(const struct rows_settings *s, struct load_settings *load)
{
    for (unsigned i = 0; i < s->sort.count; i++) {
        load->import.lines |= breakdown_key_needs_lines(s->sort.keys[i]);
        load->keep |= breakdown_key_needs_samples(s->sort.keys[i]);
    }
}

static bool has_calls(const struct profile *p)
{
    for (stack_id s = 1; s < p->stack_count; s++)
        if (p->stacks[s].parent)
            return true;
    return false;
}

static struct breakdown_words words_of(const struct rows_words *words)
{
    return (struct breakdown_words){words->items, words->count};
}

struct rows_options rows_choose(const struct rows_settings *s,
                                const struct tables_settings *tables,
                                const struct profile *p)
{
    static const enum breakdown_key perfs[] = {KEY_COMM, KEY_DSO, KEY_SYM};
    bool children = s->children < 0 ? has_calls(p) : s->children > 0;
    struct rows_options o = {.by = {.children = children,
                                    .key_count = s->sort.count,
                                    .comms = words_of(&s->comms),
                                    .dsos = words_of(&s->dsos),
                                    .symbols = words_of(&s->symbols)},
                             .graph = {.depth = (uint32_t)tables->depth},
                             .samples = s->samples,
                             .period = s->period};
    memcpy(o.by.keys, s->sort.keys, sizeof o.by.keys);
    if (o.by.key_count == 0) {
        memcpy(o.by.keys, perfs, sizeof perfs);
        o.by.key_count = sizeof perfs / sizeof *perfs;
    }
    if (s->graph.ordered)
        o.graph.order = s->graph.order;
    else if (s->graph.given)
        o.graph.order = children ? CHAINS_CALLER : CHAINS_CALLEE;
    o.graph_percent = s->graph.percent;
    if (o.graph_percent < 0)
        o.graph_percent = tables->percent_limit < 0 ? GRAPH_LIMIT : tables->percent_limit;
    return o;
}
