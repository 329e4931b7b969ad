/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/rows.h"
#include "base/number.h"
#include "model/sample_labels.h"
#include "transform/pattern.h"

#define OFF(field) offsetof(struct rows_settings, field)
#define PARENTS_MAX 32 /* pattern_match_frames has a bit for each */
#define STEP_MOST (86400 * UINT64_C(1000000000)) /* ns: a day */
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

/* Keys of perf report that rows do not have, and what shows them. */
static const struct {
    const char *names, *instead;
} refused[] = {
    {"srcline_from,srcline_to,addr_from,addr_to,ipc_null,ipc_lbr",
     "'stoke script -F brstack' prints the branches of each sample"},
    {"mem,snoop,tlb,locked,blocked", "'stoke script -F data_src' prints them by sample"},
    {"weight,local_weight", "'stoke script -F weight' prints them by sample"},
    {"ins_lat,local_ins_lat,p_stage_cyc,local_p_stage_cyc",
     "'stoke script -F ins_lat,retire_lat' prints them by sample"},
    {"addr,symbol_daddr,dso_daddr,dcacheline,symbol_iaddr,phys_daddr,type,typeoff",
     "'stoke script -F addr,phys_addr' prints them by sample"},
    {"data_page_size,code_page_size",
     "'stoke script -F data_page_size,code_page_size' prints them by sample"},
    {"trace", "'stoke script -F trace' prints it by sample"},
    {"symoff", "'stoke annotate FUNCTION' shows the instructions of a function"},
    {"dso_size", "'ls -l FILE'"},
    {"overhead_sys,overhead_us,overhead_guest_sys,overhead_guest_us",
     "--sort sym marks the kernel [k] and guests [g]"},
    {"cgroup_id", "--sort cgroup shows the path"},
    {"socket", "--sort cpu"},
    {"latency,parallelism", "'stoke report --latency'"},
    {"transaction,simd", NULL},
};

static bool is_listed(const char *list, struct str name)
{
    for (struct str rest = str_of(list); rest.len;)
        if (str_equal(str_cut(&rest, ','), name))
            return true;
    return false;
}

static bool not_a_key(struct str name, struct error *err)
{
    const char *hint =
        "keys, separated by commas: comm, pid, tid, cpu, time, cgroup, parent, dso, sym, "
        "srcfile, srcline, symbol_size, symbol_from, symbol_to, dso_from, dso_to, "
        "mispredict, "
        "abort, in_tx, cycles; or one column: default, self, total, name, module";
    size_t i = 0, count = sizeof refused / sizeof *refused;
    while (i < count && !is_listed(refused[i].names, name))
        i++;
    error_set(err,
              i < count ? "the key '%.*s' of perf report does not exist here"
                        : "unknown key '%.*s'",
              STR_ARG(name));
    return error_hint(err, "%s",
                      i < count && refused[i].instead ? refused[i].instead : hint);
}

static bool has_column(const struct rows_columns *columns, unsigned column)
{
    for (unsigned i = 0; i < columns->count; i++)
        if (columns->items[i] == column)
            return true;
    return false;
}

static void add_column(struct rows_columns *columns, unsigned column)
{
    if (!has_column(columns, column) && columns->count < ROWS_COLUMNS_MAX)
        columns->items[columns->count++] = (uint8_t)column;
}

/* Figures are keys, too, as in perf. */
static bool find_column(struct str name, unsigned *column, struct error *err)
{
    static const struct {
        const char *name;
        enum rows_column column;
    } figures[] = {{"overhead", ROWS_OVERHEAD},
                   {"overhead_children", ROWS_CHILDREN},
                   {"sample", ROWS_SAMPLES},
                   {"period", ROWS_PERIOD}};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        if (str_equal(name, str_of(figures[i].name))) {
            *column = figures[i].column;
            return true;
        }
    }
    enum breakdown_key key = breakdown_key_named(name);
    *column = ROWS_KEYS + key;
    return key < KEY_COUNT || not_a_key(name, err);
}

/* "comm,{dso,sym}": keys in braces are in one level of a hierarchy. */
struct key_list {
    struct rows_columns *columns;
    uint32_t joined;
    bool in_braces, is_first; /* the next key is in braces; is the first there */
};

static bool parse_key(struct key_list *list, struct str word, struct error *err)
{
    unsigned column;
    if (str_starts(word, STR("{"))) {
        list->in_braces = list->is_first = true;
        word = str_skip(word, 1);
    }
    bool ends = str_ends(word, STR("}"));
    if (!find_column(str_trim(str_head(word, word.len - ends)), &column, err))
        return false;
    if (list->in_braces && !list->is_first && column >= ROWS_KEYS)
        list->joined |= 1u << (column - ROWS_KEYS);
    add_column(list->columns, column);
    list->in_braces = list->in_braces && !ends;
    list->is_first = false;
    return true;
}

static bool parse_columns(const char *text, struct rows_columns *columns,
                          uint32_t *joined, struct error *err)
{
    struct str rest = str_of(text);
    struct key_list list = {.columns = columns};
    *columns = (struct rows_columns){.count = 0};
    do {
        if (!parse_key(&list, str_trim(str_cut(&rest, ',')), err))
            return false;
    } while (rest.len);
    *joined |= list.joined;
    return true;
}

/* The keys that perf shows without --sort. */
static void add_default_keys(struct rows_columns *columns, bool branches)
{
    static const enum breakdown_key keys[] = {KEY_COMM, KEY_DSO, KEY_SYM, KEY_COUNT};
    static const enum breakdown_key of_branches[] = {
        KEY_COMM, KEY_DSO_FROM, KEY_SYM_FROM, KEY_SYM_TO, KEY_CYCLES, KEY_COUNT};
    for (const enum breakdown_key *k = branches ? of_branches : keys; *k < KEY_COUNT; k++)
        add_column(columns, ROWS_KEYS + *k);
}

/* "+srcline": columns in addition to the default ones. Figures are before the keys as fields, and
 * behind them as keys. */
static bool parse_additional(struct rows_settings *s, const char *text, bool fields,
                             struct error *err)
{
    struct rows_columns columns;
    if (!parse_columns(text, &columns, &s->joined, err))
        return false;
    s->sort.count = 0;
    add_default_keys(&s->sort, s->branches);
    for (unsigned i = 0; i < columns.count; i++) {
        unsigned column = columns.items[i];
        s->samples |= fields && column == ROWS_SAMPLES;
        s->period |= fields && column == ROWS_PERIOD;
        if (column == ROWS_CHILDREN)
            s->children = true;
        if (column >= ROWS_KEYS || !fields)
            add_column(&s->sort, column);
    }
    return true;
}

static bool parse_sort(const char *text, void *value, struct error *err)
{
    struct rows_settings *s = value;
    if (text[0] == '+')
        return parse_additional(s, text + 1, false, err);
    int column = column_named(str_of(text));
    s->sort_column = column < 0 ? 0 : column;
    if (column < 0)
        return parse_columns(text, &s->sort, &s->joined, err);
    s->sort.count = 0;
    return true;
}

/* As in perf, the weight of callees is shown only if it is one of the fields. */
static bool parse_fields(const char *text, void *value, struct error *err)
{
    struct rows_settings *s = value;
    if (text[0] == '+')
        return parse_additional(s, text + 1, true, err);
    if (!parse_columns(text, &s->fields, &s->joined, err))
        return false;
    s->children = has_column(&s->fields, ROWS_CHILDREN);
    return true;
}

static bool parse_separator(const char *text, void *value, struct error *err)
{
    *(const char **)value = text;
    if (*text && strcmp(text, ".") != 0)
        return true;
    error_set(err, "invalid separator '%s'", text);
    return error_hint(err, "a text that is not a dot: --field-separator ,");
}

/* The first number is the least percentage, the second one the most branches. */
static bool parse_graph_number(struct rows_graph *graph, struct str word)
{
    double number;
    if (str_ends(word, STR("%")))
        word.len--;
    if (!number_parse_double(word, &number) || number < 0)
        return false;
    if (graph->percent < 0 && number <= 100)
        graph->percent = number;
    else if (graph->percent >= 0 && number <= UINT32_MAX)
        graph->branches = (int64_t)number;
    else
        return false;
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
    static const char *const styles[] = {"graph", "fractal", "flat", "folded"};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        if (str_equal(word, str_of(orders[i].name))) {
            graph->order = orders[i].order;
            graph->ordered = true;
            return true;
        }
    }
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++) {
        if (str_equal(word, str_of(styles[i]))) {
            graph->style = (enum graph_style)i;
            return true;
        }
    }
    if (str_equal(word, STR("period"))) {
        graph->weights = true;
        return true;
    }
    if (str_equal(word, STR("function")) || str_equal(word, STR("percent")))
        return true;
    return parse_graph_number(graph, word);
}

static bool not_a_graph_word(struct str word, struct error *err)
{
    static const struct {
        const char *word, *instead;
    } others[] = {
        {"count", "--count-samples -g folded,period: numbers of samples"},
        {"address", "'stoke annotate FUNCTION' prints the addresses of a function"},
        {"srcline", "'stoke fold --srcline' has the lines in its stacks"},
        {"branch", "'stoke script -F brstack' prints the branches of each sample"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (str_equal(word, str_of(others[i].word))) {
            error_set(err, "'%s' of perf report does not exist here", others[i].word);
            return error_hint(err, "%s", others[i].instead);
        }
    }
    error_set(err, "invalid call graph '%.*s'", STR_ARG(word));
    return error_hint(err,
                      "caller (callees below callers), callee (callers below callees) or "
                      "none; graph, fractal, flat or folded; and a percentage: callee,1");
}

static bool parse_graph(const char *text, void *value, struct error *err)
{
    struct rows_graph graph = {.given = true, .percent = -1};
    for (struct str rest = str_of(text); rest.len;) {
        struct str word = str_trim(str_cut(&rest, ','));
        if (!parse_graph_word(&graph, word))
            return not_a_graph_word(word, err);
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

static bool parse_parent(const char *text, void *value, struct error *err)
{
    struct rows_settings *s = value;
    if (!pattern_check(text, err))
        return false;
    if (s->parents.count == TRANSFORM_WORDS_MAX)
        return error_set(err, "more than %d patterns of parents", TRANSFORM_WORDS_MAX);
    s->parents.items[s->parents.count++] = text;
    return true;
}

/* --- The table --------------------------------------------------------------------- */

static const char *const words_of_sort[] = {
    "comm",        "pid",       "tid",      "cpu",     "time",       "cgroup",
    "parent",      "dso",       "sym",      "srcfile", "srcline",    "symbol_size",
    "symbol_from", "symbol_to", "dso_from", "dso_to",  "mispredict", "abort",
    "in_tx",       "cycles",    "default",  "self",    "total",      "name",
    "module",      NULL};

/* "250ms". */
static bool parse_step(const char *text, void *value, struct error *err)
{
    static const struct {
        const char *unit;
        uint64_t ns;
    } units[] = {{"ms", 1000000}, {"us", 1000}, {"ns", 1}, {"s", 1000000000}};
    uint64_t number;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        struct str rest = str_of(text), unit = str_of(units[i].unit);
        if (!str_ends(rest, unit) ||
            !number_parse_u64(str_head(rest, rest.len - unit.len), &number) ||
            number == 0 || number > STEP_MOST / units[i].ns)
            continue;
        *(uint64_t *)value = number * units[i].ns;
        return true;
    }
    error_set(err, "invalid time '%s'", text);
    return error_hint(err, "a whole number and s, ms, us or ns: 250ms, at most a day");
}

/* "8,20": the columns of each field. With 0, a column is as wide as its longest text. */
static bool parse_widths(const char *text, void *value, struct error *err)
{
    uint16_t *widths = value;
    uint64_t width;
    size_t count = 0;
    for (struct str rest = str_of(text); rest.len;) {
        struct str word = str_cut(&rest, ',');
        if (!number_parse_u64(word, &width) || width > UINT16_MAX) {
            error_set(err, "invalid width '%.*s'", STR_ARG(word));
            return error_hint(err, "columns of each field, 0 for all: 8,16,0");
        }
        if (count < ROWS_COLUMNS_MAX)
            widths[count++] = (uint16_t)width;
    }
    return true;
}

static const char *const percentages[] = {"absolute", "relative", NULL};

const struct option rows_options[] = {
    {"sort", 's', "KEYS", "row keys (comm,dso,sym), or a column to sort by (total)",
     OPTION_PARSED, 0, words_of_sort, .parse = parse_sort},
    {"fields", 'F', "KEYS",
     "columns in this order, by which rows are sorted: overhead, overhead_children, "
     "sample, period, and row keys",
     OPTION_PARSED, 0, .parse = parse_fields},
    {"children", 0, NULL,
     "add the weight of callees to callers (default; off: --no-children)", OPTION_SET,
     OFF(children), .value = 1},
    {"group", 0, NULL,
     "all events in one table, a column for each (default: those recorded as a group)",
     OPTION_SET, OFF(group), .value = 1},
    {"branch-stack", 'b', NULL, "rows of branches instead of samples (perf record -b)",
     OPTION_FLAG, OFF(branches)},
    {"group-sort-idx", 0, "N", "the same, sorted by the event of this number, from 0",
     OPTION_INT, OFF(group_sort), .least = 0, .most = 255},
    {"hierarchy", 0, NULL, "a tree of rows, with a level for each key", OPTION_FLAG,
     OFF(hierarchy)},
    {"call-graph", 'g', "HOW",
     "call graph below each row: caller, callee or none; graph, fractal, flat or folded; "
     "and a minimum percentage",
     OPTION_PARSED, OFF(graph), .parse = parse_graph, .fallback = ""},
    {"inverted", 'G', NULL, "same as -g caller", OPTION_FLAG, OFF(inverted)},
    {"max-stack", 0, "N", "only the N innermost frames of each stack", OPTION_INT,
     OFF(max_stack), .least = 1, .most = UINT32_MAX},
    {"stdio", 0, NULL, "print rows in the format of perf report --stdio", OPTION_FLAG,
     OFF(stdio)},
    {"comms", 'c', "NAMES", "only rows of these comms; * and ? are wildcards",
     OPTION_PARSED, OFF(comms), .parse = parse_words},
    {"dso,dsos", 'd', "NAMES", "only rows of these modules", OPTION_PARSED, OFF(dsos),
     .parse = parse_words},
    {"symbol,symbols", 'S', "NAMES", "only rows of these functions", OPTION_PARSED,
     OFF(symbols), .parse = parse_words},
    {"hide-unresolved", 'U', NULL, "no rows of functions without a name", OPTION_FLAG,
     OFF(resolved)},
    {"parent", 'p', "PATTERN",
     "add the key parent: the innermost function that matches (repeatable)",
     OPTION_PARSED, 0, .parse = parse_parent},
    {"exclude-other", 'x', NULL, "only rows of stacks with such a parent", OPTION_FLAG,
     OFF(only_parents)},
    {"time-quantum", 0, "TIME", "steps of the key time (default: 100ms)", OPTION_PARSED,
     OFF(time_step), .parse = parse_step},
    {"percentage", 0, "OF", "shares of all samples, or of those that the filters include",
     OPTION_CHOICE, OFF(relative), percentages},
    {"field-separator", 't', "TEXT", "text between columns; columns are then not aligned",
     OPTION_PARSED, OFF(separator), .parse = parse_separator},
    {"column-widths", 'w', "LIST", "widths of the columns; 0: as wide as needed",
     OPTION_PARSED, OFF(widths), .parse = parse_widths},
    {"ns", 0, NULL, "the key time in nanoseconds", OPTION_FLAG, OFF(nanoseconds)},
    {"full-source-path", 0, NULL, "whole paths in the keys srcfile and srcline",
     OPTION_FLAG, OFF(full_paths)},
    {"show-nr-samples", 'n', NULL, "add a column with the number of samples", OPTION_FLAG,
     OFF(samples)},
    {"show-total-period", 0, NULL, "add a column with the weight", OPTION_FLAG,
     OFF(period)},
    {0}};

static bool is_grouped(const struct rows_settings *s)
{
    return s->group > 0 || s->group_sort >= 0;
}

static bool has_branches(const struct rows_settings *s)
{
    bool has = s->branches;
    for (unsigned k = 0; k < KEY_COUNT; k++)
        has |= breakdown_key_is_of_branch((enum breakdown_key)k) &&
               (has_column(&s->sort, ROWS_KEYS + k) ||
                has_column(&s->fields, ROWS_KEYS + k));
    return has;
}

bool rows_requested(const struct rows_settings *s)
{
    return s->sort.count || s->fields.count || s->children >= 0 || s->graph.given ||
           s->stdio || s->samples || s->period || s->comms.count || s->dsos.count ||
           s->symbols.count || s->inverted || s->resolved || s->separator ||
           s->max_stack || s->parents.count || s->hierarchy || s->only_parents ||
           s->branches || s->group >= 0 || is_grouped(s);
}

bool rows_check(const struct rows_settings *s, const struct tables_settings *tables,
                struct error *err)
{
    bool graph = s->inverted || (s->graph.given && (!s->graph.ordered || s->graph.order));
    if (!rows_requested(s))
        return true;
    if (tables->tree || tables->callers) {
        error_set(err, "--tree and --callers cannot be combined with rows by keys");
        return error_hint(err, "-g caller and -g callee draw trees below rows");
    }
    if (s->sort_column) {
        error_set(err, "--sort %s cannot be combined with perf's options",
                  tables_sorts[s->sort_column]);
        return error_hint(err, "--children sorts by total, --no-children by self");
    }
    if (s->only_parents && s->parents.count == 0) {
        error_set(err, "--exclude-other needs --parent");
        return error_hint(err, "--parent PATTERN selects functions");
    }
    if (has_branches(s) && (graph || s->children > 0)) {
        error_set(err,
                  "rows of branches have no callers: --branch-stack cannot be combined "
                  "with %s",
                  graph ? "--call-graph" : "--children");
        return error_hint(err, "leave one out");
    }
    if (is_grouped(s) && tables->form != TABLE_TEXT) {
        error_set(err, "--group cannot be combined with --csv or --json");
        return error_hint(err, "without --group, they contain all events");
    }
    if (s->hierarchy && s->fields.count) {
        error_set(err, "--hierarchy and --fields cannot be combined");
        return error_hint(err, "--sort KEYS names the levels");
    }
    if (s->hierarchy && tables->form != TABLE_TEXT) {
        error_set(err, "--hierarchy cannot be combined with --csv or --json");
        return error_hint(err, "their rows have all keys");
    }
    if ((s->stdio || s->separator) && tables->form != TABLE_TEXT)
        return error_set(err, "--%s cannot be combined with --csv or --json",
                         s->stdio ? "stdio" : "field-separator");
    if (graph && tables->form == TABLE_CSV) {
        error_set(err, "--csv cannot contain call graphs");
        return error_hint(err, "--json can");
    }
    return true;
}

void rows_prepare(const struct rows_settings *s, struct load_settings *load)
{
    for (unsigned k = 0; k < KEY_COUNT; k++) {
        if (!has_column(&s->sort, ROWS_KEYS + k) &&
            !has_column(&s->fields, ROWS_KEYS + k))
            continue;
        load->import.lines |= breakdown_key_needs_lines((enum breakdown_key)k);
        load->keep |= breakdown_key_needs_samples((enum breakdown_key)k);
        load->import.sizes |= k == KEY_SYMBOL_SIZE;
    }
    if (has_branches(s)) {
        load->import.branches = load->import.samples = load->import.addresses = true;
        load->symbols.no_inline = true; /* a branch has two functions */
    }
}

bool rows_check_profile(const struct rows_settings *s, const struct profile *p,
                        struct error *err)
{
    if (!has_branches(s) || label_key_check(p, STR("mispredict"), err))
        return true;
    error_set(err, "the input has no branches");
    return error_hint(err, "record with perf record -b; 'stoke report -b perf.data'");
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

/* Entries of the kernel: those of perf's default, and their later names. */
#define PARENTS_DEFAULT \
    "^(__(x64|ia32|arm64|riscv|s390x)_)?(compat_)?sys_|^(do|exc)_page_fault"

bool rows_find_parents(const struct rows_settings *s, const struct profile *p,
                       struct arena *a, const uint32_t **parents, struct error *err)
{
    bool requested = s->parents.count > 0 ||
                     has_column(&s->sort, ROWS_KEYS + KEY_PARENT) ||
                     has_column(&s->fields, ROWS_KEYS + KEY_PARENT);
    struct transform_words words = s->parents;
    if (words.count == 0)
        words.items[words.count++] = PARENTS_DEFAULT;
    *parents = requested ? pattern_match_frames(a, p, &words, err) : NULL;
    return !requested || *parents;
}

static bool is_chosen(const struct number_set *set, int64_t number)
{
    return set->count == 0 ||
           (number != ID_NONE && number_set_has(set, (uint64_t)number));
}

bool rows_find_threads(const struct rows_settings *s, const struct profile *p,
                       struct arena *a, const bool **threads, struct error *err)
{
    bool pid = s->pids.count == 0, tid = s->tids.count == 0;
    *threads = NULL;
    if (pid && tid)
        return true;
    bool *chosen = arena_zalloc(a, p->thread_count, sizeof *chosen);
    for (thread_id i = 0; chosen && i < p->thread_count; i++) {
        const struct thread *t = &p->threads[i];
        pid |= i && t->pid != ID_NONE;
        tid |= i && t->tid != ID_NONE;
        chosen[i] = i && is_chosen(&s->pids, t->pid) && is_chosen(&s->tids, t->tid);
    }
    *threads = chosen;
    if (!chosen)
        return error_memory(err);
    return (pid && tid) || error_set(err, "the input has no %s IDs to filter by",
                                     pid ? "thread" : "process");
}

/* Without --fields the figures come first. */
static struct rows_columns choose_columns(const struct rows_settings *s, bool children)
{
    struct rows_columns c = {.count = 0};
    if (children && !has_column(&s->fields, ROWS_CHILDREN))
        add_column(&c, ROWS_CHILDREN);
    for (unsigned i = 0; i < s->fields.count; i++)
        add_column(&c, s->fields.items[i]);
    if (!s->fields.count)
        add_column(&c, children ? ROWS_SELF : ROWS_OVERHEAD);
    if (s->samples && !s->fields.count) /* as in perf, --fields has all columns */
        add_column(&c, ROWS_SAMPLES);
    if (s->period && !s->fields.count)
        add_column(&c, ROWS_PERIOD);
    for (unsigned i = 0; i < s->sort.count; i++)
        if (s->sort.items[i] >= ROWS_KEYS || s->sort.items[i] == ROWS_SAMPLES ||
            s->sort.items[i] == ROWS_PERIOD)
            add_column(&c, s->sort.items[i]);
    if (!s->fields.count && !s->sort.count)
        add_default_keys(&c, s->branches);
    if (s->parents.count)
        add_column(&c, ROWS_KEYS + KEY_PARENT);
    return c;
}

static void choose_keys(struct rows_options *o)
{
    for (unsigned i = 0; i < o->columns.count; i++)
        if (o->columns.items[i] >= ROWS_KEYS)
            o->by.keys[o->by.key_count++] =
                (enum breakdown_key)(o->columns.items[i] - ROWS_KEYS);
}

static enum rows_group choose_group(const struct rows_settings *s,
                                    const struct tables_settings *tables)
{
    if (tables->form != TABLE_TEXT || s->group == 0)
        return ROWS_GROUP_NONE;
    return is_grouped(s) ? ROWS_GROUP_ALL : ROWS_GROUP_RECORDED;
}

struct rows_options rows_choose(const struct rows_settings *s,
                                const struct tables_settings *tables,
                                const struct profile *p)
{
    bool calls = s->children < 0 ? has_calls(p) || has_column(&s->sort, ROWS_CHILDREN)
                                 : s->children > 0;
    bool children = calls && !s->hierarchy && !has_branches(s); /* as in perf */
    struct rows_options o = {.by = {.children = children,
                                    .comms = words_of(&s->comms),
                                    .dsos = words_of(&s->dsos),
                                    .symbols = words_of(&s->symbols),
                                    .resolved = s->resolved,
                                    .only_parents = s->only_parents,
                                    .time_step = s->time_step,
                                    .addresses = has_branches(s),
                                    .nanoseconds = s->nanoseconds,
                                    .full_paths = s->full_paths},
                             .graph = {.depth = tables->depth},
                             .style = s->graph.style,
                             .weights = s->graph.weights,
                             .branches = (uint32_t)s->graph.branches,
                             .hierarchy = s->hierarchy,
                             .joined = s->joined,
                             .group = choose_group(s, tables),
                             .group_sort =
                                 s->group_sort < 0 ? 0 : (uint32_t)s->group_sort,
                             .relative = s->relative,
                             .separator = s->separator,
                             .columns = choose_columns(s, children)};
    if (s->fields.count)
        o.order = s->sort.count ? s->sort : s->fields;
    memcpy(o.widths, s->widths, sizeof o.widths);
    o.named =
        !s->fields.count && s->sort.count && s->sort.items[0] == ROWS_KEYS + KEY_SYM;
    choose_keys(&o);
    if (s->inverted)
        o.graph.order = CHAINS_CALLER;
    else if (s->graph.ordered)
        o.graph.order = s->graph.order;
    else if (s->graph.given)
        o.graph.order = calls ? CHAINS_CALLER : CHAINS_CALLEE;
    o.graph_percent = s->graph.percent;
    if (o.graph_percent < 0)
        o.graph_percent = tables->percent_limit < 0 ? GRAPH_LIMIT : tables->percent_limit;
    return o;
}
