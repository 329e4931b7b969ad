/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/view.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/visible.h"
#include "cli/top/rows.h"
#include "os/file.h"
#include "os/screen.h"

/* Minimum shares of rows that are drawn hot or warm, as in perf top. */
#define HOT 5.0
#define WARM 0.5

static bool make_rows(struct top_view *v, const struct profile *p, struct error *err)
{
    if (v->flame)
        return top_flame_init(&v->flames, p, err);
    return top_view_has_tasks(v)
               ? live_tasks_rows(&v->tasks, &v->rows, p, &v->request, err)
               : live_rows_init(&v->rows, p, &v->request, err);
}

/* Whether the row can be found again after a refresh: a caller occurs in several rows. */
static bool has_key(const struct top_view *v, size_t row)
{
    return top_view_has_tasks(v) || v->rows.items[row].depth == 0;
}

bool top_view_update(struct top_view *v, struct error *err)
{
    const struct profile *p = v->samples->shown;
    live_rows_deinit(&v->rows);
    top_flame_deinit(&v->flames);
    v->laid_out = 0;
    if (!make_rows(v, p, err))
        return false;
    for (size_t i = 0; v->chosen_key && i < v->rows.count; i++)
        if (has_key(v, i) && v->rows.items[i].key == v->chosen_key)
            v->chosen = i;
    if (v->chosen >= v->rows.count)
        v->chosen = v->rows.count ? v->rows.count - 1 : 0;
    return true;
}

void top_view_deinit(struct top_view *v)
{
    live_rows_deinit(&v->rows);
    top_flame_deinit(&v->flames);
    live_tasks_deinit(&v->tasks);
}

/* --- Lines ------------------------------------------------------------------------- */

/* "cpu-clock 99 Hz, all CPUs: 412 samples a second, 3 lost, 61% idle; decaying" */
static void write_head(const struct top_view *v, struct output *out)
{
    const struct top_facts *f = &v->facts;
    double taken = (double)v->samples->shown_taken, idle = (double)v->samples->shown_idle;
    if (f->rate)
        output_format(out, "%s %u Hz, %s: ", f->event, f->rate, f->target);
    else
        output_format(out, "%s, each %llu, %s: ", f->event, (unsigned long long)f->period,
                      f->target);
    output_fixed(out, f->seconds > 0 ? (double)f->samples / f->seconds : 0, 0);
    output_format(out, " samples/s, %llu lost, ", (unsigned long long)f->lost);
    output_fixed(out, top_percent(idle, taken), 0);
    output_text(out, "% idle; ");
    output_text(out, v->paused          ? "paused"
                     : f->gone          ? "it has ended"
                     : v->samples->zero ? "each refresh starts at zero"
                                        : "decaying");
    if (f->lost - f->lost_before > v->samples->shown_taken)
        output_text(out, "; samples are lost: use a lower frequency (-F) or larger "
                         "rings (-m)");
    if (f->throttled)
        output_format(out, "; throttled by the kernel %llu times",
                      (unsigned long long)f->throttled);
    if (v->request.filter[0]) {
        output_text(out, "; with ");
        visible_print(out, str_of(v->request.filter));
    }
    if (v->request.module[0]) {
        output_text(out, "; of ");
        visible_print(out, str_of(v->request.module));
    }
    if (v->request.min_percent > 0) {
        output_text(out, "; from ");
        output_fixed(out, v->request.min_percent, 2);
        output_text(out, "% on");
    }
    if (v->request.no_kernel || v->request.no_user)
        output_text(out, v->request.no_kernel ? "; no kernel" : "; no user code");
}

void top_view_print(const struct top_view *v, size_t rows, size_t columns,
                    struct output *out)
{
    output_text(out, "# ");
    write_head(v, out);
    output_text(out, "\n");
    top_titles_write(v, columns, out);
    output_text(out, "\n");
    for (size_t i = 0; i < v->rows.count && i < rows; i++) {
        top_row_write(v, &v->rows.items[i], columns, out);
        output_text(out, "\n");
    }
    output_text(out, "\n");
}

/* --- Drawing ----------------------------------------------------------------------- */

/* Draws the text of `out`, padded with spaces to `columns`, and clears it. */
static void draw_line(struct output *out, unsigned row, unsigned column, unsigned columns,
                      unsigned style)
{
    struct output line = OUTPUT_BUFFER;
    size_t used = visible_print_cut(&line, output_contents(out), columns);
    top_blanks(&line, columns > used ? columns - used : 0);
    os_screen_text(row, column, output_contents(&line), style);
    output_deinit(&line);
    out->used = 0;
}

static unsigned row_style(const struct top_view *v, size_t i)
{
    const struct live_row *row = &v->rows.items[i];
    double share = top_percent(row->depth ? row->total : row->self, v->rows.total);
    unsigned chosen = i == v->chosen ? OS_STYLE_SELECTED : 0;
    if (row->depth)
        return OS_STYLE_FAINT | chosen;
    return chosen | (share >= HOT    ? OS_STYLE_HOT
                     : share >= WARM ? OS_STYLE_WARM
                                     : OS_STYLE_PLAIN);
}

static void draw_table(struct top_view *v, unsigned columns, unsigned rows)
{
    struct output out = OUTPUT_BUFFER;
    unsigned top = v->no_titles ? 1 : 2;
    size_t fit = rows > top + 1 ? rows - top - 1 : 1;
    top_titles_write(v, columns, &out);
    if (!v->no_titles)
        draw_line(&out, 1, 0, columns, OS_STYLE_HEAD);
    out.used = 0;
    if (v->chosen < v->first)
        v->first = v->chosen;
    if (v->chosen >= v->first + fit)
        v->first = v->chosen - fit + 1;
    for (size_t i = 0; i < fit && v->first + i < v->rows.count; i++) {
        top_row_write(v, &v->rows.items[v->first + i], columns, &out);
        draw_line(&out, top + (unsigned)i, 0, columns, row_style(v, v->first + i));
    }
    output_deinit(&out);
}

static unsigned box_style(const struct top_view *v, uint32_t node)
{
    struct str label = calltree_label(&v->flames.tree, node);
    uint64_t hash = hash_fixed(label.ptr, label.len);
    return (OS_STYLE_BOX + (unsigned)(hash % OS_STYLE_BOXES)) |
           (node == v->flames.chosen ? OS_STYLE_SELECTED : 0);
}

static struct str box_label(const struct top_view *v, uint32_t node)
{
    return node ? calltree_label(&v->flames.tree, node) : STR("all");
}

/* The number of rows above the screen if the chosen box is too deep for the screen. */
static unsigned rows_above(const struct top_view *v, unsigned fit)
{
    unsigned depth = v->flames.tree.nodes[v->flames.chosen].depth;
    return depth >= fit ? depth - fit + 1 : 0;
}

static void lay_out(struct top_view *v)
{
    unsigned columns, rows;
    os_screen_size(&columns, &rows);
    if (v->laid_out != columns)
        top_flame_lay_out(&v->flames, &v->zoom, &v->chosen_box, columns);
    v->laid_out = columns;
}

static void draw_flame(struct top_view *v, unsigned columns, unsigned rows)
{
    struct output out = OUTPUT_BUFFER;
    struct top_flame *f = &v->flames;
    unsigned fit = rows > 3 ? rows - 3 : 1;
    lay_out(v);
    unsigned above = f->count ? rows_above(v, fit) : 0;
    for (size_t i = 0; i < f->count; i++) {
        const struct flame_box *box = &f->boxes[i];
        if (box->row < above || box->row >= above + fit)
            continue;
        output_str(&out, box_label(v, box->node));
        draw_line(&out, 1 + box->row - above, box->column, box->width,
                  box_style(v, box->node));
    }
    if (f->count) {
        const struct calltree_node *node = &f->tree.nodes[f->chosen];
        double all = f->tree.nodes[0].total;
        output_str(&out, box_label(v, f->chosen));
        output_text(&out, "  total ");
        output_fixed(&out, top_percent(node->total, all), 2);
        output_text(&out, "%  self ");
        output_fixed(&out, top_percent(node->self, all), 2);
        output_text(&out, "%");
        draw_line(&out, rows - 2, 0, columns, OS_STYLE_HEAD);
    }
    output_deinit(&out);
}

static const char *const help_lines[] = {
    "q            quit; here: back to the table",
    "h ? F1       this help",
    "arrows       up and down in the table, around in the flame view; Space: a page",
    "b            by process, thread, service, container; functions again",
    "e + Enter    callers of the function, threads of the process; E: all; C: none",
    "d  k         show only the module of the row; only the kernel; again: all",
    "/            only functions and modules with ... in their names; Escape: all",
    "K  U         hide kernel functions, user functions",
    "o            next sort order: self, total, function, module; or cpu, ready, waits",
    "H            show or hide the column titles",
    "z  Z         start each refresh at zero, or decay; clear all counts",
    "f  p         pause, continue",
    "D            seconds between refreshes",
    "L            hide rows with less than this percentage",
    "P            write the table to perf.hist.N",
    "i            also count samples of idle CPUs",
    "g            flame view, and back to the table",
    "Enter        flame view: zoom in; Escape: all; u: to the caller",
};

static void draw_help(unsigned columns, unsigned rows)
{
    struct output out = OUTPUT_BUFFER;
    size_t count = sizeof help_lines / sizeof *help_lines;
    for (size_t i = 0; i < count && 2 + i < rows; i++) {
        output_text(&out, help_lines[i]);
        draw_line(&out, 2 + (unsigned)i, 2, columns > 2 ? columns - 2 : 1,
                  OS_STYLE_PLAIN);
    }
    output_deinit(&out);
}

static void draw_foot(const struct top_view *v, unsigned columns, unsigned rows)
{
    static const char *const questions[] = {
        [TOP_ASKS_FILTER] = "only names with:",
        [TOP_ASKS_DELAY] = "seconds between refreshes:",
        [TOP_ASKS_LEAST] = "minimum percentage:",
    };
    struct output out = OUTPUT_BUFFER;
    if (v->prompt)
        output_format(&out, "%s %s_", questions[v->prompt], v->typed);
    else if (v->said[0])
        output_text(&out, v->said);
    else
        output_text(&out, "q quit  h help  b by process  g flames  / filter  o order  "
                          "e callers  d module  z zero  f pause");
    draw_line(&out, rows - 1, 0, columns,
              v->prompt || v->said[0] ? OS_STYLE_HEAD : OS_STYLE_FAINT);
    output_deinit(&out);
}

void top_view_draw(struct top_view *v)
{
    struct output out = OUTPUT_BUFFER;
    unsigned columns, rows;
    os_screen_size(&columns, &rows);
    os_screen_clear();
    output_text(&out, "stoke top: ");
    write_head(v, &out);
    draw_line(&out, 0, 0, columns, OS_STYLE_HEAD);
    output_deinit(&out);
    if (v->help)
        draw_help(columns, rows);
    else if (v->flame)
        draw_flame(v, columns, rows);
    else
        draw_table(v, columns, rows);
    if (rows > 3)
        draw_foot(v, columns, rows);
    os_screen_show();
}

/* --- Keys -------------------------------------------------------------------------- */

static void toggle_parts(struct top_view *v)
{
    struct live_request *w = &v->request;
    size_t at = v->chosen, most = sizeof w->expanded / sizeof *w->expanded;
    while (at && !has_key(v, at))
        at--;
    if (at >= v->rows.count)
        return;
    uint64_t key = v->chosen_key = v->rows.items[at].key;
    for (size_t i = 0; i < w->expanded_count; i++) {
        if (w->expanded[i] != key)
            continue;
        w->expanded[i] = w->expanded[--w->expanded_count];
        return;
    }
    if (w->expanded_count == most)
        memmove(w->expanded, w->expanded + 1, (--w->expanded_count) * sizeof key);
    w->expanded[w->expanded_count++] = key;
}

static void say_functions_only(struct top_view *v)
{
    format_text(v->said, sizeof v->said, "only functions have this; b shows them");
}

/* Shows only the module of the selected row; if that is already the case, all
 * modules. */
static void zoom_module(struct top_view *v)
{
    struct live_request *w = &v->request;
    if (top_view_has_tasks(v))
        say_functions_only(v);
    else if (w->module[0])
        w->module[0] = 0;
    else if (v->chosen < v->rows.count)
        format_text(w->module, sizeof w->module, "%.*s",
                    STR_ARG(v->rows.items[v->chosen].module));
    v->chosen = v->first = 0;
}

/* Moves the selection in the table; the selection follows its function. */
static void move_row(struct top_view *v, long by)
{
    long last = (long)v->rows.count - 1, to = (long)v->chosen + by;
    to = to > last ? last : to;
    v->chosen = to < 0 ? 0 : (size_t)to;
    v->chosen_key = 0;
    if (v->chosen < v->rows.count && has_key(v, v->chosen))
        v->chosen_key = v->rows.items[v->chosen].key;
    if (v->chosen == 0)
        v->chosen_key = 0; /* selects the first row again */
}

static void flame_key(struct top_view *v, int key)
{
    lay_out(v);
    v->laid_out = 0;
    switch (key) {
    case OS_KEY_UP:
        top_flame_move(&v->flames, FLAME_UP, &v->chosen_box);
        break;
    case OS_KEY_DOWN:
        top_flame_move(&v->flames, FLAME_DOWN, &v->chosen_box);
        break;
    case OS_KEY_LEFT:
        top_flame_move(&v->flames, FLAME_LEFT, &v->chosen_box);
        break;
    case OS_KEY_RIGHT:
        top_flame_move(&v->flames, FLAME_RIGHT, &v->chosen_box);
        break;
    case OS_KEY_ENTER:
        v->zoom = v->chosen_box;
        break;
    case OS_KEY_ESCAPE:
        v->zoom.size = v->chosen_box.size = 0;
        break;
    case 'u':
    case OS_KEY_BACKSPACE:
        flame_path_up(&v->zoom);
        break;
    default:
        break;
    }
}

static void ask(struct top_view *v, enum top_prompt what)
{
    v->prompt = what;
    v->typed[0] = 0;
}

#define TABLES_MAX 10000
#define COLUMNS_WRITTEN 160

/* Writes the current table to a new file, as in perf top. */
static void write_table(struct top_view *v)
{
    char path[32];
    struct os_output file;
    struct error err = {.message = ""};
    int n = 0;
    do
        format_text(path, sizeof path, "perf.hist.%d", n++);
    while (os_output_exists(path) && n < TABLES_MAX);
    bool ok = os_output_open(&file, path, &err);
    if (ok) {
        struct output out = os_output_stream(&file);
        top_view_print(v, v->rows.count, COLUMNS_WRITTEN, &out);
        ok = os_output_close(&file, &out, &err);
        output_deinit(&out);
    }
    format_text(v->said, sizeof v->said, "%s%s%s", path, ok ? " is written" : ": ",
                err.message);
}

static bool table_key(struct top_view *v, int key)
{
    unsigned columns, rows;
    os_screen_size(&columns, &rows);
    long page = rows > 4 ? (long)rows - 4 : 1;
    switch (key) {
    case OS_KEY_UP:
    case OS_KEY_DOWN:
        move_row(v, key == OS_KEY_UP ? -1 : 1);
        return true;
    case OS_KEY_PAGE_UP:
    case OS_KEY_PAGE_DOWN:
    case ' ':
        move_row(v, key == OS_KEY_PAGE_UP ? -page : page);
        return true;
    case OS_KEY_HOME:
    case OS_KEY_END:
        move_row(v, key == OS_KEY_HOME ? -(long)v->rows.count : (long)v->rows.count);
        return true;
    case 'e':
    case '+':
    case OS_KEY_ENTER:
        toggle_parts(v);
        return true;
    case 'E':
    case 'C':
        v->request.expand_all = key == 'E' && !v->request.expand_all;
        v->request.expanded_count = 0;
        return true;
    case 'd':
        zoom_module(v);
        return true;
    case 'L':
        ask(v, TOP_ASKS_LEAST);
        return true;
    case 'P':
        write_table(v);
        return true;
    case OS_KEY_LEFT: /* zooms out, as in perf top */
    case OS_KEY_ESCAPE:
        v->request.filter[0] = v->request.module[0] = 0;
        return true;
    default:
        return false;
    }
}

static void end_prompt(struct top_view *v)
{
    double number;
    bool is_number = number_parse_double(str_of(v->typed), &number);
    if (v->prompt == TOP_ASKS_FILTER)
        memcpy(v->request.filter, v->typed, sizeof v->typed);
    else if (v->prompt == TOP_ASKS_DELAY && is_number && number >= 0.1 && number <= 3600)
        v->delay = number;
    else if (v->prompt == TOP_ASKS_LEAST && is_number && number >= 0 && number <= 100)
        v->request.min_percent = number;
    v->prompt = TOP_NO_PROMPT;
}

static void prompt_key(struct top_view *v, int key)
{
    size_t used = strlen(v->typed);
    if (key == OS_KEY_ENTER)
        end_prompt(v);
    else if (key == OS_KEY_ESCAPE)
        v->prompt = TOP_NO_PROMPT;
    else if (key == OS_KEY_BACKSPACE && used)
        v->typed[used - 1] = 0;
    else if (key >= ' ' && key < 127 && used + 1 < sizeof v->typed)
        memcpy(v->typed + used, (char[2]){(char)key, 0}, 2);
}

/* The next order that the rows have. */
static void next_sort(struct live_request *w)
{
    static const enum live_sort of_tasks[] = {
        [LIVE_BY_SELF] = LIVE_BY_READY,
        [LIVE_BY_READY] = LIVE_BY_WAITS,
        [LIVE_BY_WAITS] = LIVE_BY_NAME,
    };
    if (w->by == LIVE_FUNCTIONS)
        w->sort = w->sort == LIVE_BY_MODULE ? LIVE_BY_SELF : w->sort + 1;
    else
        w->sort = w->sort == LIVE_BY_NAME ? LIVE_BY_SELF : of_tasks[w->sort];
}

static void next_group(struct top_view *v)
{
    struct live_request *w = &v->request;
    w->by = w->by == LIVE_CONTAINERS ? LIVE_FUNCTIONS : w->by + 1;
    w->sort = LIVE_BY_SELF;
    w->expand_all = false;
    w->expanded_count = 0;
    v->flame = false;
    v->chosen = v->first = 0;
    v->chosen_key = 0;
}

/* Kernel code or user code only, or all again. */
static void toggle_code(struct top_view *v, bool *hidden, bool *other)
{
    if (top_view_has_tasks(v)) {
        say_functions_only(v);
        return;
    }
    *hidden = !*hidden;
    *other = false;
}

/* Keys that work in both views; false for other keys. */
static bool common_key(struct top_view *v, int key)
{
    struct live_request *w = &v->request;
    switch (key) {
    case 'q':
        v->quits = true;
        break;
    case 'h':
    case '?':
    case OS_KEY_HELP:
        v->help = true;
        break;
    case 'g':
        v->flame = !v->flame;
        break;
    case 'f':
    case 'p':
        v->paused = !v->paused;
        break;
    case 'z':
        v->samples->zero = !v->samples->zero;
        break;
    case 'Z':
        v->clears = true;
        break;
    case 'i':
        v->samples->with_idle = !v->samples->with_idle;
        break;
    case 'D':
        ask(v, TOP_ASKS_DELAY);
        break;
    case 'H':
        v->no_titles = !v->no_titles;
        break;
    case '/':
        ask(v, TOP_ASKS_FILTER);
        break;
    case 'o':
        next_sort(w);
        break;
    case 'b':
        next_group(v);
        break;
    case 'K':
        toggle_code(v, &w->no_kernel, &w->no_user);
        break;
    case 'U':
    case 'k': /* kernel code only */
        toggle_code(v, &w->no_user, &w->no_kernel);
        break;
    default:
        return key == OS_KEY_RESIZED;
    }
    return true;
}

bool top_view_key(struct top_view *v, int key, struct error *err)
{
    v->said[0] = 0;
    if (v->prompt)
        prompt_key(v, key);
    else if (v->help)
        v->help = false;
    else if (!common_key(v, key)) {
        if (!v->flame && !table_key(v, key))
            return true;
        if (v->flame) { /* the same tree, drawn in another way */
            flame_key(v, key);
            return true;
        }
    }
    return top_view_update(v, err);
}
