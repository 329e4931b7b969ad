/* SPDX-License-Identifier: Apache-2.0 */
/* Where threads wait, from the scheduler's events as perf prints them: perf script of
 * sched:sched_switch (and sched:sched_stat_*) with stacks, or perf sched timehist.
 *
 * The weight of the stack with which a thread leaves the CPU is the time until the
 * thread runs again. If only one process was recorded, that switch is not in the file;
 * then the kernel's sched_stat_* events give the time it slept. Threads that are still
 * off CPU at the end are skipped, because their time is unknown.
 *
 * A sched_stat_* event has the stack of the waker. If the options request wakers, this stack
 * is appended to the stack of the wait, leaf first, and the waker's name follows. In chains,
 * a frame "-" and the stack of the last wait of the waker follow as well. */
#include "base/array.h"
#include "base/idmap.h"
#include "base/number.h"
#include "import/perf_line.h"
#include "model/name.h"

/* A thread that left the CPU. */
struct task {
    bool away;
    struct sample sample; /* its time is the switch away from the CPU */
    double slept;         /* from sched_stat_* events since then, ns; or 0 */
    stack_id chain;     /* its last wait with the waker's stack, until it leaves again */
    size_t chain_depth; /* frames */
};

enum sched_event { EVENT_NONE, EVENT_SWITCH, EVENT_SLEPT };

struct sched_reader {
    struct builder *b;
    const struct import_options *options;
    struct lines lines;
    struct arena arena;
    struct idmap ids; /* thread ID to index of the task */
    struct task *tasks;
    size_t task_count, task_cap;
    event_id off_cpu;
    struct perf_inlined inlined;

    enum sched_event
        event; /* of the current line; a switch's frames are in the builder's path */
    struct sample sample;
    uint64_t previous, next; /* thread IDs; 0 is the idle thread */
    double slept;
    struct str waker; /* EVENT_SLEPT: the current thread, as in the line */
    uint64_t waker_id;
    frame_id *scratch;
    size_t scratch_cap;

    bool timehist;
    size_t task_column; /* of timehist: the column of the task's name */
    bool has_state;
};

/* --- Threads that come and go ---------------------------------------------------- */

static struct task *task_of(struct sched_reader *r, uint64_t id)
{
    uint64_t *at = idmap_put(&r->ids, &r->arena, id);
    if (!at)
        return NULL;
    if (*at)
        return &r->tasks[*at];
    size_t index = r->task_count ? r->task_count : 1;
    if (!ARRAY_RESERVE(&r->arena, r->tasks, r->task_cap, index + 1))
        return NULL;
    r->task_count = index + 1;
    *at = index;
    r->tasks[index] = (struct task){.away = false};
    return &r->tasks[index];
}

static void add_off_cpu(struct sched_reader *r, struct task *task, double weight)
{
    if (task->away && weight > 0) {
        task->sample.weight = weight;
        builder_add(r->b, &task->sample);
    }
    task->away = false;
    task->slept = 0;
}

static void leave_cpu(struct sched_reader *r, uint64_t id, const struct sample *sample)
{
    struct task *task = id ? task_of(r, id) : NULL;
    if (!task)
        return;
    add_off_cpu(r, task, task->slept); /* the switch to it is not in the file */
    task->away = true;
    task->chain = 0;
    task->sample = *sample;
}

static void come_back(struct sched_reader *r, uint64_t id, uint64_t time)
{
    struct task *task = id ? task_of(r, id) : NULL;
    if (!task || !task->away)
        return;
    if (time < task->sample.time)
        builder_warn(r->b, "a thread that returns before it left", r->lines.number, 1,
                     STR(""));
    else
        add_off_cpu(r, task, (double)(time - task->sample.time));
    task->away = false;
}

/* --- perf script ----------------------------------------------------------------- */

/* The number after the last " key=" of s. */
static bool take_field(struct str s, struct str key, uint64_t *value)
{
    size_t at = str_search(s, key);
    if (at == s.len || (at && !byte_is_space(s.ptr[at - 1])))
        return false;
    struct str rest = str_skip(s, at + key.len);
    return number_parse_u64(str_word(&rest), value);
}

/* "comm:12 [120] S", as perf prints a task. */
static bool take_pretty(struct str s, uint64_t *id)
{
    s = str_head(s, str_rfind(s, '['));
    s = str_skip(s, str_rfind(s, ':') + 1);
    return number_parse_u64(str_trim(s), id);
}

static bool parse_switch(struct sched_reader *r, struct str text)
{
    size_t arrow = str_search(text, STR(" ==> "));
    struct str left = str_trim(str_head(text, arrow)), right = str_skip(text, arrow + 5);
    return (take_field(left, STR("prev_pid="), &r->previous) ||
            take_pretty(left, &r->previous)) &&
           (take_field(right, STR("next_pid="), &r->next) ||
            take_pretty(right, &r->next));
}

static bool parse_slept(struct sched_reader *r, struct str text)
{
    uint64_t ns;
    if (!take_field(text, STR("delay="), &ns))
        return false;
    r->slept = (double)ns;
    struct str rest = str_skip(text, str_search(text, STR(" pid=")) + 1);
    return take_field(rest, STR("pid="), &r->next);
}

static enum sched_event event_named(struct str name)
{
    if (str_equal(name, STR("sched:sched_switch:")))
        return EVENT_SWITCH;
    bool slept = str_equal(name, STR("sched:sched_stat_sleep:")) ||
                 str_equal(name, STR("sched:sched_stat_blocked:")) ||
                 str_equal(name, STR("sched:sched_stat_iowait:"));
    return slept ? EVENT_SLEPT : EVENT_NONE;
}

/* Adds the frames of a stack to the path, root first. */
static void add_stack(struct sched_reader *r, stack_id stack)
{
    const struct profile *p = r->b->profile;
    size_t from = r->b->path.count;
    for (; stack; stack = p->stacks[stack].parent)
        builder_path_add(r->b, p->stacks[stack].frame);
    builder_path_reverse(r->b, from);
}

/* Maximum frames of a chain. Threads that wake each other in turn have chains without an
 * end, and each wait has a longer one. */
#define CHAIN_MOST 256

/* The path has the waker's frames, leaf first. They continue the stack of the wait. */
static void add_waker(struct sched_reader *r, uint32_t sleeper)
{
    size_t count = r->b->path.count;
    struct task *waker = r->waker_id ? task_of(r, r->waker_id) : NULL;
    struct task *task = &r->tasks[sleeper]; /* task_of may move them */
    if (!ARRAY_RESERVE(&r->arena, r->scratch, r->scratch_cap, count + 1))
        return;
    perf_inlined_settle(&r->inlined, r->b, 0, count, 0);
    memcpy(r->scratch, r->b->path.items, count * sizeof *r->scratch);
    builder_path_clear(r->b);
    add_stack(r, task->sample.stack);
    for (size_t i = 0; i < count; i++)
        builder_path_add(r->b, r->scratch[i]);
    builder_path_add(r->b, builder_named_frame(r->b, r->waker));
    bool chained = r->options->wake_chains && waker && waker->chain;
    if (chained && r->b->path.count + waker->chain_depth >= CHAIN_MOST) {
        builder_warn(r->b, "a chain of wakers that is too long was truncated",
                     r->lines.number, 1, STR(""));
    } else if (chained) {
        builder_path_add(r->b, builder_named_frame(r->b, STR("-")));
        add_stack(r, waker->chain);
    }
    task->chain_depth = r->b->path.count;
    task->sample.stack = task->chain = builder_path_from_root(r->b);
}

static void end_event(struct sched_reader *r)
{
    if (r->event == EVENT_SWITCH) {
        perf_inlined_settle(&r->inlined, r->b, 0, r->b->path.count, 0);
        r->sample.stack = builder_path_from_leaf(r->b);
        come_back(r, r->next, r->sample.time);
        leave_cpu(r, r->previous, &r->sample);
    } else if (r->event == EVENT_SLEPT) {
        struct task *task = r->next ? task_of(r, r->next) : NULL;
        if (task && task->away &&
            task->slept <= 0) { /* the same sleep may be in the file twice */
            task->slept = r->slept;
            if (r->options->wakers && !task->chain)
                add_waker(r, (uint32_t)(task - r->tasks));
        }
    }
    r->event = EVENT_NONE;
}

static void begin_event(struct sched_reader *r, const struct perf_head *head,
                        struct str line)
{
    uint64_t period;
    r->sample = (struct sample){
        .time = TIME_NONE, .cpu = CPU_NONE, .event = r->off_cpu, .count = 1};
    struct str rest = perf_parse_fields(&r->sample, head->rest, &period);
    struct str name = str_word(&rest);
    r->event = event_named(name);
    builder_path_clear(r->b);
    if (r->event == EVENT_NONE)
        return;
    bool good = r->event == EVENT_SWITCH ? parse_switch(r, rest) : parse_slept(r, rest);
    if (!good || r->sample.time == TIME_NONE) {
        builder_warn(r->b, "a scheduler event without its fields or its time",
                     r->lines.number, 1, line);
        r->event = EVENT_NONE;
        return;
    }
    r->sample.thread = perf_thread(r->b, head->comm, head->id);
    const struct thread *thread = &r->b->profile->threads[r->sample.thread];
    r->waker = profile_string(r->b->profile, thread->name);
    r->waker_id = thread->tid > 0 ? (uint64_t)thread->tid : 0;
}

/* A frame line may be a chain of inlined functions, root first. */
static void add_frames(struct sched_reader *r, const struct perf_frame_line *line)
{
    struct str rest = name_without_offset(line->symbol);
    size_t from = r->b->path.count;
    r->inlined.any |= perf_is_inlined(line);
    if (str_starts(rest, STR("("))) /* a process name, not a function */
        return;
    for (bool inlined = false;; inlined = true) {
        struct str link = name_next_link(&rest);
        builder_path_add(r->b, perf_frame(r->b, r->options, line, link, inlined));
        if (rest.len == 0)
            break;
    }
    builder_path_reverse(r->b, from);
}

static void read_script_line(struct sched_reader *r, struct str line)
{
    struct str text = str_trim_left(line);
    struct perf_frame_line frame;
    struct perf_head head;
    if (text.len == 0) {
        end_event(r);
    } else if (perf_find_head(text, &head) && head.sure) {
        end_event(r);
        begin_event(r, &head, line);
    } else if ((r->event == EVENT_SWITCH ||
                (r->event == EVENT_SLEPT && r->options->wakers)) &&
               perf_parse_frame(text, &frame, true)) {
        add_frames(r, &frame);
    }
}

/* --- perf sched timehist --------------------------------------------------------- */

static bool is_timehist_header(struct str line)
{
    return str_has(line, STR("task name")) && str_has(line, STR("wait time"));
}

static void read_timehist_header(struct sched_reader *r, struct str line)
{
    r->timehist = true;
    r->task_column = str_search(line, STR("task name"));
    r->has_state = str_has(line, STR("state"));
}

/* A time in milliseconds, always with a decimal point. */
static bool take_ms(struct str *rest, double *ns)
{
    struct str word = str_word(rest);
    if (str_find(word, '.') == word.len || !number_parse_double(word, ns) || *ns < 0 ||
        *ns > 1e12)
        return false;
    *ns *= 1e6;
    return true;
}

/* A parsed row. */
struct timehist_row {
    struct str comm, id; /* "12" or "12/34": thread, process */
    double wait;         /* ns */
    struct str chain;    /* "leaf <- caller <- caller" */
};

/* "comm[12/34]  0.317  0.246  0.689  S  next: x[1]  a <- b". False for rows that are
 * not a switch (wakeups) and for the idle thread. */
static bool parse_task(struct sched_reader *r, struct str text, struct timehist_row *row)
{
    double delay, run;
    for (size_t at = 0; at < text.len; at++) {
        at += str_find(str_skip(text, at), ']');
        struct str rest = str_skip(text, at + 1);
        if (!str_starts(rest, STR(" ")))
            continue;
        struct str peek = rest, word = str_word(&peek);
        if (str_find(word, '.') == word.len && word.len) /* a priority may come first */
            rest = peek;
        if (!take_ms(&rest, &row->wait) || !take_ms(&rest, &delay) ||
            !take_ms(&rest, &run))
            continue;
        struct str task = str_head(text, at);
        size_t open = str_rfind(task, '[');
        row->comm = str_trim(str_head(task, open));
        row->id = str_skip(task, open + 1);
        if (r->has_state)
            str_word(&rest);
        size_t next = str_search(rest, STR("next: "));
        if (next < rest.len) {
            rest = str_skip(rest, next);
            rest = str_skip(rest, str_find(rest, ']') + 1);
        }
        row->chain = str_trim(rest);
        return row->id.len != 0;
    }
    return false;
}

/* Rows of the idle thread, of wakeups and of migrations. */
static bool is_other_row(struct str line)
{
    return str_has(line, STR("<idle>")) || str_has(line, STR(" awakened: ")) ||
           str_has(line, STR(" migrated: "));
}

static stack_id chain_stack(struct sched_reader *r, struct str chain)
{
    builder_path_clear(r->b);
    while (chain.len) {
        size_t arrow = str_search(chain, STR(" <- "));
        struct str name = str_trim(str_head(chain, arrow));
        struct frame f = {.name = 0};
        if (name.len && !str_equal(name, STR("[unknown]")))
            f.name =
                builder_string(r->b, r->options->signatures ? name : name_tidy(name));
        builder_path_add(r->b, builder_frame(r->b, &f));
        chain = str_skip(chain, arrow + 4);
    }
    return builder_path_from_leaf(r->b);
}

/* A row has the time that the thread waited before it ran, and the stack with which it
 * leaves the CPU again: the wait belongs to the stack of its preceding row. */
static void read_timehist_line(struct sched_reader *r, struct str line)
{
    struct timehist_row row = {.comm = STR("")};
    struct sample s = {
        .time = TIME_NONE, .cpu = CPU_NONE, .event = r->off_cpu, .count = 1};
    struct str rest = line, seconds = str_word(&rest);
    uint64_t tid, pid;
    double time;
    if (!number_parse_double(seconds, &time) || time < 0 || time > 1e10)
        return;
    if (!parse_task(r, str_skip(line, r->task_column), &row)) {
        if (!is_other_row(line))
            builder_warn(r->b, "not a row of a time history", r->lines.number, 1, line);
        return;
    }
    struct str process = row.id, thread = str_cut(&process, '/');
    if (!number_parse_u64(thread, &tid) || tid > INT64_MAX)
        return;
    bool has_pid = number_parse_u64(process, &pid) && pid <= INT64_MAX;
    s.time = (uint64_t)(time * 1e9 + 0.5);
    s.thread = builder_thread(r->b, has_pid ? (int64_t)pid : (int64_t)tid, (int64_t)tid,
                              row.comm);
    s.stack = chain_stack(r, row.chain);
    struct task *task = task_of(r, tid);
    if (!task)
        return;
    add_off_cpu(r, task, row.wait);
    leave_cpu(r, tid, &s);
}

/* --- The text -------------------------------------------------------------------- */

static void end_text(struct sched_reader *r)
{
    end_event(r);
    for (size_t i = 1; i < r->task_count; i++)
        add_off_cpu(r, &r->tasks[i], r->tasks[i].slept);
}

static bool perf_sched_read(struct source *in, const struct import_options *options,
                            struct builder *b, struct error *err)
{
    struct sched_reader r = {.b = b, .options = options, .lines = lines_of(in, err)};
    struct str line;
    r.off_cpu = builder_event(b, STR("off-cpu"), UNIT_NANOSECONDS);
    while (!builder_failed(b) && lines_next(&r.lines, &line)) {
        if (str_starts(line, STR("#")))
            continue;
        if (is_timehist_header(line))
            read_timehist_header(&r, line);
        else if (r.timehist)
            read_timehist_line(&r, line);
        else
            read_script_line(&r, line);
    }
    end_text(&r);
    builder_end_scratch(b, &r.arena);
    return !r.lines.failed;
}

/* Switches alone are ordinary perf script text, whose samples are counted. If
 * sched_stat_* events are present, the file was recorded to measure the time. */
static int perf_sched_probe(struct str head)
{
    bool seen[3] = {false};
    for (int i = 0; i < 2000 && head.len; i++) {
        struct str line = str_trim_right(str_cut(&head, '\n'));
        struct perf_head h;
        struct sample s;
        uint64_t period;
        if (is_timehist_header(line))
            return 95;
        if (line.len == 0 || line.ptr[0] == '#' || !str_has(line, STR(" sched:sched_")) ||
            !perf_find_head(str_trim_left(line), &h))
            continue;
        struct str rest = perf_parse_fields(&s, h.rest, &period);
        seen[event_named(str_word(&rest))] = true;
    }
    if (!seen[EVENT_SWITCH])
        return 0;
    return seen[EVENT_SLEPT] ? 95 : 40;
}

const struct importer import_perf_sched = {
    .name = "perf-sched",
    .suffixes = "sched,timehist",
    .summary = "time off CPU: perf script of sched_switch, perf sched timehist",
    .probe = perf_sched_probe,
    .read = perf_sched_read,
};
