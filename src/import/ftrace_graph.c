/* SPDX-License-Identifier: Apache-2.0 */
/* The tracer function_graph: a line for each call of a function that calls none, and one for the
 * start and one for the end of each other call.
 *
 *  # CPU  DURATION                  FUNCTION CALLS
 *   0)               |  vfs_read() {
 *   0)   1.382 us    |    rw_verify_area();
 *   0) + 12.071 us   |  }
 *   ------------------------------------------
 *   0)    bash-812   =>    ls-813
 *
 * Before the duration there may be a time, the thread and flags, each with a "|" after it
 * (Documentation/trace/ftrace.rst of Linux). A function weighs the time in it without that of the
 * functions it called. */
#include "base/array.h"
#include "base/number.h"
#include "import/ftrace.h"

#define US 1000.0

struct graph_line {
    struct ftrace_entry entry;
    double duration; /* ns; below 0: none */
    struct str text; /* "vfs_read() {" */
};

/* --- Lines -------------------------------------------------------------------------- */

/* " 12.071 us ", with a mark of long durations before it. False: it is something else. */
static bool parse_duration(struct str cell, double *duration)
{
    struct str rest = str_trim(cell);
    *duration = -1;
    if (rest.len == 0)
        return true;
    if (!byte_is_digit(rest.ptr[0]))
        rest = str_trim_left(str_skip(rest, 1));
    struct str number = str_word(&rest);
    double us;
    if (!str_equal(str_trim(rest), STR("us")) || !number_parse_double(number, &us) ||
        !(us >= 0))
        return false;
    *duration = us * US;
    return true;
}

/* "bash-812": the name may contain dashes. */
static bool is_task(struct str cell)
{
    size_t dash = str_rfind(cell, '-');
    uint64_t pid;
    return dash > 0 && dash < cell.len &&
           number_parse_u64(str_skip(cell, dash + 1), &pid);
}

/* Parses the cells up to the duration, and sets l->text to what follows it. False if there is no
 * duration. */
static bool parse_cells(struct ftrace_reader *r, struct str rest, struct graph_line *l)
{
    for (;;) {
        size_t bar = str_find(rest, '|');
        struct str cell = str_trim(str_head(rest, bar));
        if (bar == rest.len)
            return false;
        rest = str_skip(rest, bar + 1);
        if (is_task(cell)) {
            l->entry.thread = ftrace_thread(r, cell, l->entry.cpu);
        } else if (parse_duration(cell, &l->duration)) {
            l->text = str_trim(rest);
            return true;
        }
    }
}

/* "1234.567890 |" before the CPU. */
static uint64_t take_time(struct str *line)
{
    size_t bar = str_find(*line, '|');
    double seconds;
    if (bar == line->len || bar > str_find(*line, ')') ||
        !number_parse_double(str_trim(str_head(*line, bar)), &seconds) ||
        !(seconds >= 0 && seconds < 1e9))
        return TIME_NONE;
    *line = str_skip(*line, bar + 1);
    return (uint64_t)(seconds * 1e9 + 0.5);
}

static bool take_cpu(struct str *line, uint32_t *cpu)
{
    size_t end = str_find(*line, ')');
    uint64_t number;
    if (end == line->len || !number_parse_u64(str_trim(str_head(*line, end)), &number) ||
        number >= FTRACE_CPUS_MAX)
        return false;
    *cpu = (uint32_t)number;
    *line = str_skip(*line, end + 1);
    return true;
}

/* --- Calls -------------------------------------------------------------------------- */

static struct ftrace_calls *calls_of(struct ftrace_reader *r, thread_id thread)
{
    struct ftrace_graph *g = &r->graph;
    if (!ARRAY_RESERVE_ZEROED(&r->t.arena, g->calls, g->calls_cap, (size_t)thread + 1))
        return NULL;
    return &g->calls[thread];
}

static void add_time(struct ftrace_reader *r, const struct ftrace_entry *entry,
                     stack_id stack, double weight)
{
    struct builder *b = r->t.b;
    if (!r->graph.event)
        r->graph.event = builder_event(b, STR("function_graph"), UNIT_NANOSECONDS);
    builder_add(b, &(struct sample){.time = entry->time,
                                    .cpu = entry->cpu,
                                    .event = r->graph.event,
                                    .thread = entry->thread,
                                    .stack = stack,
                                    .count = 1,
                                    .weight = r->t.options->samples ? 1 : weight});
}

/* The stack of a function that the innermost open call calls. */
static stack_id callee(struct ftrace_reader *r, const struct ftrace_calls *c,
                       struct str name)
{
    stack_id parent = c->count ? c->items[c->count - 1].stack : 0;
    if (c->count >= r->t.b->limits->depth) {
        builder_cut(r->t.b);
        return parent;
    }
    return builder_push(r->t.b, parent, ftrace_function(r, name));
}

static void add_duration(struct ftrace_calls *c, double duration)
{
    if (c->count)
        c->items[c->count - 1].callees += duration;
}

static void end_call(struct ftrace_reader *r, struct ftrace_calls *c,
                     const struct graph_line *l)
{
    if (c->count == 0 || l->duration < 0) {
        stacktext_warn(&r->t, "a function that was called before the trace", l->text);
        return;
    }
    struct ftrace_call call = c->items[--c->count];
    double self = l->duration - call.callees;
    add_time(r, &l->entry, call.stack, self > 0 ? self : 0); /* times are rounded */
    add_duration(c, l->duration);
}

/* The text without the comment at its end, which names the function that returns, or its result. */
static struct str without_comment(struct str text)
{
    size_t comment = str_search(text, STR("/*"));
    return str_trim_right(str_head(text, comment));
}

static void take_call(struct ftrace_reader *r, const struct graph_line *l)
{
    struct ftrace_calls *c = calls_of(r, l->entry.thread);
    struct str code = without_comment(l->text);
    struct str name = str_trim(str_head(code, str_find(code, '(')));
    if (!c)
        return;
    if (str_starts(code, STR("}"))) {
        end_call(r, c, l);
    } else if (str_ends(code, STR("{")) && name.len) {
        stack_id stack = callee(r, c, name);
        struct ftrace_call *call = ARRAY_APPEND(&r->t.arena, c->items, c->count, c->cap);
        if (call)
            *call = (struct ftrace_call){.stack = stack};
    } else if (str_ends(code, STR(";")) && name.len && l->duration >= 0) {
        add_time(r, &l->entry, callee(r, c, name), l->duration);
        add_duration(c, l->duration);
    } else if (code.len) {
        stacktext_warn(&r->t, "a call that is not understood", l->text);
    }
}

/* --- Threads ------------------------------------------------------------------------ */

/* "bash-812   =>    ls-813". */
static bool switch_thread(struct ftrace_reader *r, struct str text, uint32_t cpu)
{
    size_t arrow = str_search(text, STR("=>"));
    struct str from = str_trim(str_head(text, arrow));
    struct str to = str_trim(str_skip(text, arrow + 2));
    struct ftrace_graph *g = &r->graph;
    if (arrow == text.len || !is_task(from) || !is_task(to))
        return false;
    thread_id before = ftrace_thread(r, from, cpu), now = ftrace_thread(r, to, cpu);
    struct ftrace_calls *c = calls_of(r, before > now ? before : now);
    thread_id running = cpu < g->threads_cap ? g->threads[cpu] : 0;
    /* the calls so far were those of a thread without a name */
    if (c && running && running != before && g->calls[before].count == 0 &&
        r->t.b->profile->threads[running].tid == ID_NONE) {
        struct ftrace_calls empty = g->calls[before];
        g->calls[before] = g->calls[running];
        g->calls[running] = empty;
    }
    if (ARRAY_RESERVE_ZEROED(&r->t.arena, g->threads, g->threads_cap, (size_t)cpu + 1))
        g->threads[cpu] = now;
    return true;
}

/* The start or the end of an interrupt: "==========> |". Its functions have lines of their own. */
static bool is_interrupt(struct str text)
{
    return str_has(text, STR("==========> |")) || str_has(text, STR("<========== |"));
}

static thread_id running_thread(struct ftrace_reader *r, uint32_t cpu)
{
    struct ftrace_graph *g = &r->graph;
    char name[32];
    if (!ARRAY_RESERVE_ZEROED(&r->t.arena, g->threads, g->threads_cap, (size_t)cpu + 1))
        return 0;
    if (!g->threads[cpu]) {
        format_text(name, sizeof name, "CPU %u", (unsigned)cpu);
        g->threads[cpu] = builder_thread(r->t.b, ID_NONE, ID_NONE, str_of(name));
    }
    return g->threads[cpu];
}

bool ftrace_graph_line(struct ftrace_reader *r, struct str line)
{
    struct graph_line l = {.entry = {.time = take_time(&line)}};
    if (!take_cpu(&line, &l.entry.cpu))
        return false;
    if (switch_thread(r, line, l.entry.cpu) || is_interrupt(line))
        return true;
    if (!parse_cells(r, line, &l))
        return false;
    if (!l.entry.thread)
        l.entry.thread = running_thread(r, l.entry.cpu);
    take_call(r, &l);
    return true;
}

void ftrace_graph_entry(struct ftrace_reader *r, const struct ftrace_entry *entry,
                        struct str text)
{
    struct graph_line l = {.entry = *entry};
    if (parse_cells(r, text, &l))
        take_call(r, &l);
    else
        stacktext_warn(&r->t, "a call that is not understood", text);
}

void ftrace_graph_end(struct ftrace_reader *r)
{
    uint64_t open = 0;
    for (size_t i = 0; i < r->graph.calls_cap; i++)
        open += r->graph.calls[i].count;
    builder_warn_times(r->t.b,
                       "a function that did not return in the trace: only the time of "
                       "its callees is known",
                       open);
}
