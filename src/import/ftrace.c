/* SPDX-License-Identifier: Apache-2.0 */
/* Text of Linux' ftrace (/sys/kernel/tracing/trace and trace_pipe, and `trace-cmd report`): events
 * with their stacks, calls of functions, and histograms by stack.
 *
 *   bash-812     [000] d..2.  1234.567890: kmem_cache_alloc: call_site=getname_flags+0x4f ...
 *   bash-812     [000] d..2.  1234.567891: <stack trace>
 *    => kmem_cache_alloc
 *    => getname_flags
 *
 *   bash-812     [000] .....  1234.567890: kfree <-ext4_free_blocks
 *
 *   { common_stacktrace:
 *            kmem_cache_alloc+0x10b/0x1a0
 *            getname_flags+0x20/0x50
 *   } hitcount:          3  bytes_req:         21
 *
 * (Documentation/trace/ftrace.rst and histogram.rst of Linux, with the options stacktrace,
 * userstacktrace, sym-offset, sym-addr and sym-userobj.) */
#include "import/ftrace.h"
#include "base/array.h"
#include "base/number.h"

/* --- Names -------------------------------------------------------------------------- */

thread_id ftrace_thread(struct ftrace_reader *r, struct str task, uint32_t cpu)
{
    size_t dash = str_rfind(task, '-');
    struct str name = str_head(task, dash);
    uint64_t tid;
    char idle[32];
    if (!number_parse_u64(str_skip(task, dash + 1), &tid) || tid > INT64_MAX)
        return builder_thread(r->t.b, ID_NONE, ID_NONE, task);
    if (str_equal(name, STR("<idle>"))) {
        format_text(idle, sizeof idle, "swapper/%u", (unsigned)cpu);
        name = str_of(idle);
    }
    return builder_thread(r->t.b, ID_NONE, (int64_t)tid, name);
}

/* Removes " <ffffffff8103ce3b>" or " (ffffffff8103ce3b)" from the end. */
static struct str take_address(struct str text, uint64_t *address)
{
    *address = 0;
    if (!str_ends(text, STR(">")) && !str_ends(text, STR(")")))
        return text;
    size_t open = str_rfind(text, text.ptr[text.len - 1] == '>' ? '<' : '(');
    if (open == text.len ||
        !number_parse_hex(str_span(text.ptr + open + 1, text.ptr + text.len - 1),
                          address))
        return text;
    return str_trim_right(str_head(text, open));
}

/* Of user code: "/usr/lib/libc.so.6[+0x26a0]". */
static struct text_frame user_frame(struct str text)
{
    struct text_frame f = TEXT_FRAME;
    f.module = str_head(text, str_rfind(text, '['));
    return f;
}

static struct text_frame parse_frame(struct str text, enum frame_kind kind)
{
    uint64_t address;
    text = take_address(str_trim(text), &address);
    struct text_frame f =
        kind == FRAME_KERNEL ? stacktext_kernel_frame(text) : user_frame(text);
    if (str_starts(f.name, STR("0x")) && number_parse_hex(f.name, &address))
        f.name = STR("");
    f.address = address;
    return f;
}

frame_id ftrace_function(struct ftrace_reader *r, struct str text)
{
    struct hash128 hash = hash_bytes128(text.ptr, text.len);
    const uint64_t *known = memo_find(&r->t.frames, hash);
    if (known)
        return (frame_id)*known;
    struct text_frame f = parse_frame(text, FRAME_KERNEL);
    frame_id id = stacktext_frame(&r->t, &f);
    memo_put(&r->t.frames, hash, id);
    return id;
}

/* --- Events ------------------------------------------------------------------------- */

static void add_sample(struct ftrace_reader *r, const struct ftrace_event *e,
                       stack_id stack)
{
    builder_add(r->t.b, &(struct sample){.time = e->entry.time,
                                         .cpu = e->entry.cpu,
                                         .event = e->event,
                                         .thread = e->entry.thread,
                                         .stack = stack,
                                         .count = 1,
                                         .weight = 1});
}

/* Ends the stack that is being read. */
static void end_stack(struct ftrace_reader *r)
{
    struct builder *b = r->t.b;
    if (r->open && b->path.count)
        add_sample(r, r->open, builder_path_from_leaf(b));
    if (r->open)
        *r->open = (struct ftrace_event){.event = 0};
    builder_path_clear(b);
    r->open = NULL;
    r->in_hist = false;
}

/* An event has no stack. That of the tracer function names the caller. */
static void end_event(struct ftrace_reader *r, struct ftrace_event *e)
{
    struct builder *b = r->t.b;
    if (e->function) {
        stack_id caller = e->caller ? builder_push(b, 0, e->caller) : 0;
        add_sample(r, e, builder_push(b, caller, e->function));
    }
    *e = (struct ftrace_event){.event = 0};
}

static struct ftrace_event *event_of(struct ftrace_reader *r, uint32_t cpu)
{
    if (!ARRAY_RESERVE_ZEROED(&r->t.arena, r->events, r->events_cap, (size_t)cpu + 1))
        return NULL;
    if (cpu >= r->cpu_count)
        r->cpu_count = (size_t)cpu + 1;
    return &r->events[cpu];
}

/* "kfree <-ext4_free_blocks", or "kmem_cache_alloc: call_site=...". */
static void begin_event(struct ftrace_reader *r, const struct ftrace_entry *entry,
                        struct ftrace_event *e, struct str text)
{
    size_t arrow = str_search(text, STR(" <-"));
    size_t colon = str_find(text, ':');
    end_event(r, e);
    e->entry = *entry;
    if (str_starts(text, STR("function:"))) { /* trace-cmd's name of such an event */
        text = str_trim_left(str_skip(text, colon + 1));
        arrow = str_search(text, STR(" <-"));
        colon = text.len;
    }
    if (arrow < text.len && arrow < colon) {
        e->event = builder_event(r->t.b, STR("function"), UNIT_EVENTS);
        e->function = ftrace_function(r, str_trim_right(str_head(text, arrow)));
        struct str caller = str_skip(text, arrow + 3);
        if (str_starts(caller, STR("- "))) /* trace-cmd: "kfree <-- slab_free" */
            caller = str_skip(caller, 2);
        e->caller = ftrace_function(r, str_trim(caller));
    } else {
        e->event = builder_event(r->t.b, str_trim(str_head(text, colon)), UNIT_EVENTS);
    }
}

/* "<stack trace>", or trace-cmd's "kernel_stack: <stack trace >". A stack of user code continues
 * the kernel's, if it comes directly after it. */
static bool begin_stack(struct ftrace_reader *r, struct ftrace_event *e, struct str text)
{
    bool user = str_has(text, STR("<user stack trace"));
    if (!user && !str_has(text, STR("<stack trace")))
        return false;
    r->kind = user ? FRAME_USER : FRAME_KERNEL;
    if (user && r->open == e)
        return true;
    end_stack(r);
    if (e->event)
        r->open = e;
    else
        stacktext_warn(&r->t, "a stack without its event", text);
    return true;
}

static void take_entry(struct ftrace_reader *r, const struct ftrace_entry *entry,
                       struct str text)
{
    struct ftrace_event *e = event_of(r, entry->cpu);
    if (!e || begin_stack(r, e, text))
        return;
    end_stack(r);
    if (str_starts(text, STR("funcgraph_entry:")) ||
        str_starts(text, STR("funcgraph_exit:")))
        ftrace_graph_entry(r, entry, str_skip(text, str_find(text, ':') + 1));
    else
        begin_event(r, entry, e, text);
}

/* --- Lines -------------------------------------------------------------------------- */

struct header {
    struct str task, text;
    uint32_t cpu;
    uint64_t time;
};

/* "1234.567890:", or a counter. */
static bool parse_time(struct str word, uint64_t *time)
{
    double value;
    if (!str_ends(word, STR(":")))
        return false;
    word.len--;
    if (word.len == 0 || !byte_is_digit(word.ptr[0]) ||
        !number_parse_double(word, &value))
        return false;
    *time = str_find(word, '.') < word.len && value < 1e9 ? (uint64_t)(value * 1e9 + 0.5)
                                                          : TIME_NONE;
    return true;
}

/* "bash-812  (  812) [000] d..2.  1234.567890: text": the group and the flags are optional. */
static bool parse_header(struct str line, struct header *h)
{
    for (size_t open = str_find(line, '['); open < line.len;) {
        struct str rest = str_skip(line, open + 1), flags;
        size_t close = str_find(rest, ']');
        uint64_t cpu;
        if (number_parse_u64(str_head(rest, close), &cpu) && cpu < FTRACE_CPUS_MAX) {
            h->task = str_trim(str_head(line, open));
            size_t group = str_rfind(h->task, '(');
            if (str_ends(h->task, STR(")")) && group < h->task.len)
                h->task = str_trim(str_head(h->task, group));
            h->cpu = (uint32_t)cpu;
            rest = str_skip(rest, close + 1);
            flags = str_word(&rest);
            bool ok =
                parse_time(flags, &h->time) || parse_time(str_word(&rest), &h->time);
            h->text = str_trim(rest);
            return ok && h->task.len && str_find(h->task, '-') < h->task.len;
        }
        size_t next = str_find(rest, '[');
        open = next == rest.len ? line.len : open + 1 + next;
    }
    return false;
}

/* "CPU:1 [LOST 123 EVENTS]", as the kernel writes it, and trace-cmd's "CPU:1 [123 EVENTS DROPPED]". */
static bool take_lost(struct ftrace_reader *r, struct str line)
{
    size_t open = str_find(line, '[');
    struct str rest = str_skip(line, open + 1);
    uint64_t count;
    if (!str_starts(line, STR("CPU:")) || open == line.len ||
        !str_has(line, STR("EVENTS")))
        return false;
    if (str_starts(rest, STR("LOST ")))
        rest = str_skip(rest, 5);
    if (number_parse_u64(str_word(&rest), &count))
        builder_lost(r->t.b, TIME_NONE, count);
    return true;
}

/* --- Histograms --------------------------------------------------------------------- */

/* " hitcount:          3  bytes_req:         21": an event each. */
static void take_values(struct ftrace_reader *r, struct str rest)
{
    struct builder *b = r->t.b;
    struct sample s = {.time = TIME_NONE, .cpu = CPU_NONE, .count = 1};
    s.stack = builder_path_from_leaf(b);
    for (bool first = true; rest.len; first = false) {
        struct str name = str_trim(str_cut(&rest, ':'));
        uint64_t value;
        rest = str_trim_left(rest);
        if (!number_parse_u64(str_word(&rest), &value))
            break;
        s.event = builder_event(b, name, UNIT_EVENTS);
        s.weight = (double)value;
        if (first)
            builder_add(b, &s);
        else
            builder_add_mapped(b, &s);
    }
    end_stack(r);
}

/* "Dropped: 12": stacks for which the histogram had no room. */
static bool take_totals(struct ftrace_reader *r, struct str line)
{
    static const char *const names[] = {"Totals:", "Hits:", "Entries:", "Dropped:"};
    size_t i = 0, count = sizeof names / sizeof *names;
    while (i < count && !str_starts(line, str_of(names[i])))
        i++;
    uint64_t value;
    struct str rest = str_skip(line, str_find(line, ':') + 1);
    if (i + 1 == count && number_parse_u64(str_trim(rest), &value) && value)
        builder_lost(r->t.b, TIME_NONE, value);
    return i < count;
}

static bool take_hist_line(struct ftrace_reader *r, struct str line)
{
    if (str_starts(line, STR("{ ")) && str_ends(line, STR("stacktrace:"))) {
        end_stack(r);
        r->kind = FRAME_KERNEL;
        r->in_hist = true;
        return true;
    }
    if (!r->in_hist)
        return take_totals(r, line);
    if (str_starts(line, STR("}")))
        take_values(r, str_trim_left(str_skip(line, 1)));
    else
        builder_path_add(r->t.b, ftrace_function(r, line));
    return true;
}

/* --- All lines ---------------------------------------------------------------------- */

/* The innermost functions are those that write the event. */
static bool writes_event(struct str name)
{
    static const char *const starts[] = {"trace_event_raw_event_", "__traceiter_",
                                         "trace_event_buffer_commit",
                                         "event_triggers_call"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (str_starts(name, str_of(starts[i])))
            return true;
    return false;
}

static void take_frame(struct ftrace_reader *r, struct str text)
{
    struct text_frame f;
    if (!r->open || (r->t.b->path.count == 0 && writes_event(text)))
        return;
    if (r->kind == FRAME_KERNEL) {
        builder_path_add(r->t.b, ftrace_function(r, text));
        return;
    }
    f = parse_frame(text, r->kind);
    builder_path_add(r->t.b, stacktext_frame(&r->t, &f));
}

static void ftrace_line(struct stacktext *t, struct str line)
{
    struct ftrace_reader *r = (struct ftrace_reader *)t;
    struct str text = str_trim(line);
    struct header h;
    if (text.len == 0 || text.ptr[0] == '#' || str_starts(text, STR("-----")))
        return;
    if (str_starts(text, STR("=>"))) {
        take_frame(r, str_trim_left(str_skip(text, 2)));
        return;
    }
    if (take_hist_line(r, text))
        return;
    if (parse_header(text, &h)) {
        struct ftrace_entry entry = {.cpu = h.cpu, .time = h.time};
        entry.thread = ftrace_thread(r, h.task, h.cpu);
        take_entry(r, &entry, h.text);
        return;
    }
    end_stack(r);
    if (!ftrace_graph_line(r, text) && !take_lost(r, text) &&
        !str_starts(text, STR("cpus=")))
        stacktext_warn(t, "a line that is not understood", text);
}

static void ftrace_finish(struct stacktext *t)
{
    struct ftrace_reader *r = (struct ftrace_reader *)t;
    end_stack(r);
    for (size_t i = 0; i < r->cpu_count; i++)
        end_event(r, &r->events[i]);
    ftrace_graph_end(r);
}

static bool ftrace_read(struct source *in, const struct import_options *options,
                        struct builder *b, struct error *err)
{
    struct ftrace_reader r = {.t = {.weight = 1, .finish = ftrace_finish}};
    uint64_t before = b->profile->facts.samples;
    if (!stacktext_read(&r.t, in, options, b, ftrace_line, err))
        return false;
    if (b->profile->facts.samples > before || builder_failed(b) || options->empty)
        return true;
    error_set(err, "the events of the trace have no stacks");
    return error_hint(err,
                      "echo 1 > /sys/kernel/tracing/options/stacktrace adds them; or "
                      "stoke record -e EVENT");
}

static int ftrace_probe(struct str head)
{
    size_t entries = 0, stacks = 0, calls = 0, hists = 0;
    struct header h;
    struct str line;
    if (str_starts(head, STR("# tracer: ")))
        return 95;
    while (stacktext_probe_line(&head, &line)) {
        struct str text = str_trim(line);
        hists += str_starts(text, STR("{ ")) && str_ends(text, STR("stacktrace:"));
        if (parse_header(text, &h)) {
            entries++;
            stacks += str_has(h.text, STR("stack trace")) && str_has(h.text, STR("<"));
            calls += str_starts(h.text, STR("funcgraph_"));
        } else if (str_has(text, STR(")")) && str_has(text, STR("us    |  "))) {
            calls++;
        }
    }
    return (entries && (stacks || calls)) || calls > 1 || hists ? 92 : 0;
}

const struct importer import_ftrace = {
    .name = "ftrace",
    .suffixes = "",
    .summary = "Linux ftrace text with stacks, function_graph, trace-cmd report",
    .counts_all = true,
    .probe = ftrace_probe,
    .read = ftrace_read,
};
