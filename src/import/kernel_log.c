/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks in the log of the Linux kernel, as dmesg, journalctl and consoles show it: of all tasks
 * (echo t > /proc/sysrq-trigger), of all CPUs (l), of hung tasks, warnings and crashes.
 *
 *  [  242.123470] task:bash            state:S stack:0     pid:812   ppid:800    flags:0x00000002
 *  [  242.123480] Call Trace:
 *  [  242.123482]  <TASK>
 *  [  242.123484]  __schedule+0x34d/0x9e0
 *  [  242.123488]  ? filemap_alloc_folio+0x100/0x100
 *  [  242.123494]  ext4_readdir+0x1f/0x20 [ext4]
 *  [  242.123506]  </TASK>
 *
 * The files /proc/PID/stack and /proc/PID/task/TID/stack have only the frames, "[<0>] fn+0x1f/0x20".
 * Before them, head and shell loops write the path of the file, and grep writes it before each frame.
 *
 * Reports of the kernel's memory in /sys/kernel/debug have stacks of the same form: page_owner, also
 * as page_owner_sort prints it ("3 times, 48 pages:"), page_owner_stacks and kmemleak.
 *
 *  Page allocated via order 2, mask 0x1112cca(GFP_HIGHUSER), pid 812, tgid 812 (bash), ts 47 ns
 *  PFN 0x1000 type Movable Block 2 type Movable Flags 0x1ff
 *   post_alloc_hook+0x1f/0x20
 *
 *   post_alloc_hook+0x1f/0x20
 *  nr_base_pages: 23
 *
 *  unreferenced object 0xffff8880 (size 64):
 *    comm "insmod", pid 712, jiffies 4294911
 *    backtrace (crc 12ab34cd):
 *      [<00000000c0dbc7fb>] kmalloc_trace+0x1f/0x20
 *
 * A function after "?" was found on the stack, but perhaps not called: it is left out. The
 * function that a CPU executed is in a line before: "RIP: 0010:fn+0x1f/0x20", "pc : fn+0x1f/0x20". */
#include "base/number.h"
#include "import/stacktext.h"

#define AMOUNT_MOST ((uint64_t)1 << 53)
#define ORDER_MOST 40 /* of an allocation of pages */

struct klog_reader {
    struct stacktext t; /* first */
    bool in_stack;
    bool is_plain;   /* a stack begins with its first frame, and its amount follows */
    bool in_head;    /* of a page, before its stack */
    bool is_sum;     /* the next stack has the sum that page_owner_sort states */
    bool has_amount; /* the current stack has weight and event of a memory report */
    bool in_file;    /* the stack is from /proc: it has no "Call Trace:" */
    frame_id leaf;   /* that the CPU executed, 0: not known */
};

/* --- Pieces of lines ---------------------------------------------------------------- */

/* "242.123456", "Mon Nov 28 01:00:00 2026", or who wrote the line: "T812", "C1". */
static bool is_stamp(struct str inside)
{
    uint64_t number;
    if (inside.len == 0 || !byte_is_digit(inside.ptr[inside.len - 1]))
        return false;
    if (inside.ptr[0] == 'T' || inside.ptr[0] == 'C')
        return number_parse_u64(str_skip(inside, 1), &number);
    return inside.ptr[0] != '<' && !number_parse_hex(inside, &number);
}

/* Removes what options of dmesg add: "kern  :warn  : " (--decode), and
 * "2026-11-28T01:00:00,123456+00:00 " (--time-format iso). */
static struct str without_dmesg_prefix(struct str text)
{
    struct str rest = text, facility = str_cut(&rest, ':'), level = str_cut(&rest, ':');
    if (str_equal(str_trim_right(facility), STR("kern")) && level.len >= 4 &&
        level.len <= 8 && str_starts(rest, STR(" ")))
        text = str_trim_left(rest);
    rest = text;
    struct str time = str_word(&rest);
    bool is_iso = time.len > 20 && time.ptr[4] == '-' && time.ptr[10] == 'T' &&
                  byte_is_digit(time.ptr[0]) && byte_is_digit(time.ptr[time.len - 1]);
    return is_iso ? str_trim_left(rest) : text;
}

/* Removes what loggers write before the text: "Nov 28 01:00:00 host kernel: ", "<4>",
 * "[  242.123456] ". */
static struct str without_prefix(struct str line)
{
    size_t kernel = str_search(line, STR(" kernel: "));
    struct str text = kernel < line.len ? str_trim(str_skip(line, kernel + 9))
                                        : without_dmesg_prefix(str_trim(line));
    while (text.len && (text.ptr[0] == '[' || text.ptr[0] == '<')) {
        size_t end = str_find(text, text.ptr[0] == '[' ? ']' : '>');
        struct str inside = str_trim(str_skip(str_head(text, end), 1));
        uint64_t level;
        if (end == text.len ||
            !(text.ptr[0] == '[' ? is_stamp(inside) : number_parse_u64(inside, &level)))
            break;
        text = str_trim_left(str_skip(text, end + 1));
    }
    return text;
}

/* "fn+0x1f/0x20 [module]", with "(P)" or the like after it. */
static bool parse_function(struct str text, struct text_frame *f)
{
    if (str_ends(text, STR(")")))
        text = str_trim_right(str_head(text, str_rfind(text, '(')));
    *f = stacktext_kernel_frame(text);
    for (size_t i = 0; i < f->name.len; i++)
        if (byte_is_space(f->name.ptr[i]) || f->name.ptr[i] == ':')
            return false;
    return f->name.len && str_has(f->offset, STR("/"));
}

/* Removes "[<ffffffff8103ce3b>] ", and the brackets of "([<...>] fn+...)". */
static struct str without_address(struct str text)
{
    if (str_starts(text, STR("(")))
        text = str_trim(
            str_head(str_skip(text, 1), text.len - 1 - str_ends(text, STR(")"))));
    size_t end = str_search(text, STR(">]"));
    if (str_starts(text, STR("[<")) && end < text.len)
        text = str_trim_left(str_skip(text, end + 2));
    return text;
}

/* The value after "pid:" or "PID: ". */
static bool find_number(struct str text, struct str key, uint64_t *value)
{
    struct str rest = str_trim_left(str_skip(text, str_search(text, key) + key.len));
    return rest.len && number_parse_u64(str_word(&rest), value);
}

/* --- Threads ------------------------------------------------------------------------ */

static void begin_thread(struct klog_reader *r, struct str name, uint64_t pid)
{
    stacktext_thread(&r->t, name);
    r->t.pid = ID_NONE;
    r->t.tid = pid <= INT64_MAX ? (int64_t)pid : ID_NONE;
    r->in_stack = false;
    r->leaf = 0;
}

#define TASK_WORDS 6

/* Before Linux 5.10: "bash            S    0   812    800 0x00000002". */
static bool take_old_task(struct klog_reader *r, struct str text)
{
    struct str words[TASK_WORDS], rest = text;
    uint64_t pid;
    for (size_t i = 0; i < TASK_WORDS; i++)
        words[i] = str_word(&rest);
    if (words[1].len != 1 || str_find(STR("RSDTtXZPI"), words[1].ptr[0]) == 9 ||
        !str_starts(words[5], STR("0x")) || !number_parse_u64(words[3], &pid))
        return false;
    begin_thread(r, words[0], pid);
    return true;
}

/* "task:bash   state:S stack:0   pid:812". */
static bool take_task(struct klog_reader *r, struct str text)
{
    size_t state = str_search(text, STR(" state:"));
    uint64_t pid;
    if (!str_starts(text, STR("task:")) || state == text.len ||
        !find_number(text, STR(" pid:"), &pid))
        return take_old_task(r, text);
    begin_thread(r, str_trim(str_skip(str_head(text, state), 5)), pid);
    return true;
}

/* "CPU: 1 PID: 812 Comm: bash Not tainted 6.1.0 #1" before the stack of a CPU. */
static bool take_cpu(struct klog_reader *r, struct str text)
{
    size_t comm = str_search(text, STR(" Comm: "));
    uint64_t pid;
    if (!str_starts(text, STR("CPU: ")) || comm == text.len ||
        !find_number(text, STR(" PID: "), &pid))
        return false;
    struct str name = str_skip(text, comm + 7);
    size_t tainted = str_search(name, STR(" Tainted: "));
    size_t clean = str_search(name, STR(" Not tainted"));
    begin_thread(r, str_trim(str_head(name, tainted < clean ? tainted : clean)), pid);
    return true;
}

/* --- Stacks ------------------------------------------------------------------------- */

static frame_id frame_of(struct klog_reader *r, struct str text)
{
    struct text_frame f;
    return parse_function(text, &f) ? stacktext_frame(&r->t, &f) : 0;
}

/* The instruction pointer of a CPU, if it is in the kernel. */
static bool take_leaf(struct klog_reader *r, struct str text)
{
    struct str rest;
    if (str_starts(text, STR("RIP: 0010:")))
        rest = str_skip(text, 10);
    else if (str_starts(text, STR("pc : ")))
        rest = str_skip(text, 5);
    else
        return false;
    if (!r->in_stack)
        r->leaf = frame_of(r, without_address(rest));
    return true;
}

static void begin_stack(struct klog_reader *r)
{
    stacktext_end(&r->t);
    r->in_stack = true;
    if (!r->has_amount) {
        r->t.weight = 1;
        r->t.event = 0;
    }
    if (r->leaf)
        builder_path_add(r->t.b, r->leaf);
    r->leaf = 0;
}

/* "[<0>] fn+0x1f/0x20": in a log of other lines, only stacks have this form. */
static bool is_file_frame(struct str text)
{
    struct text_frame f;
    return str_starts(text, STR("[<")) && parse_function(without_address(text), &f);
}

static bool is_mark(struct str text)
{
    static const char *const marks[] = {"<TASK>", "<IRQ>",     "</IRQ>",    "<NMI>",
                                        "</NMI>", "<SOFTIRQ>", "</SOFTIRQ>"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (str_equal(text, str_of(marks[i])))
            return true;
    return false;
}

/* --- Memory ------------------------------------------------------------------------- */

/* The number between the two texts, at the start of *text, which is removed with them. */
static bool take_between(struct str *text, struct str before, struct str after,
                         uint64_t *number)
{
    if (!str_starts(*text, before))
        return false;
    struct str rest = str_skip(*text, before.len);
    size_t end = str_search(rest, after);
    if (end == rest.len || !number_parse_u64(str_head(rest, end), number) ||
        *number > AMOUNT_MOST)
        return false;
    *text = str_skip(rest, end + after.len);
    return true;
}

static void begin_amount(struct klog_reader *r, struct str event, enum unit unit,
                         uint64_t amount)
{
    stacktext_end(&r->t);
    begin_thread(r, STR(""), UINT64_MAX);
    r->t.event = builder_event(r->t.b, event, unit);
    r->t.weight = (double)amount;
    r->has_amount = true;
}

/* "Page allocated via order 2, mask 0x1, pid 812, tgid 812 (bash), ts 47 ns"; older kernels have no
 * process. page_owner_sort writes "3 times, 48 pages:" before it. */
static bool take_page(struct klog_reader *r, struct str text)
{
    struct str rest = text;
    uint64_t number, pages;
    if (byte_is_digit(text.ptr[0])) {
        if (!take_between(&rest, STR(""), STR(" times, "), &number) ||
            !take_between(&rest, STR(""), STR(" pages"), &pages))
            return false;
        begin_amount(r, STR("pages"), UNIT_COUNT, pages);
        r->is_sum = true;
        return true;
    }
    if (!take_between(&rest, STR("Page allocated via order "), STR(", "), &number) ||
        number > ORDER_MOST)
        return false;
    if (!r->is_sum)
        begin_amount(r, STR("pages"), UNIT_COUNT, (uint64_t)1 << number);
    struct str name = str_skip(rest, str_search(rest, STR(" tgid ")) + 6);
    size_t open = str_find(name, '(');
    struct str process = str_trim(str_head(name, open));
    name = str_skip(name, open + 1);
    name = str_head(name, str_search(name, STR("), ts ")));
    if (!r->is_sum && number_parse_u64(process, &number) && number <= INT64_MAX) {
        begin_thread(r, name, UINT64_MAX);
        r->t.pid = (int64_t)number;
    }
    r->is_sum = false;
    r->in_stack = r->in_head = true;
    return true;
}

/* "unreferenced object 0xffff8880 (size 64):", and the lines up to its stack. */
static bool take_unreferenced(struct klog_reader *r, struct str text)
{
    struct str rest = str_skip(text, str_search(text, STR("(size ")));
    struct str comm = STR("comm \"");
    uint64_t size, pid;
    if (str_starts(text, STR("unreferenced object 0x"))) {
        if (take_between(&rest, STR("(size "), STR("):"), &size))
            begin_amount(r, STR("leaked"), UNIT_BYTES, size);
        return true;
    }
    if (!r->has_amount)
        return false;
    size_t end = str_search(text, STR("\", pid "));
    if (str_starts(text, comm) && end < text.len) {
        rest = str_skip(text, end + 7);
        bool ok = number_parse_u64(str_cut(&rest, ','), &pid);
        begin_thread(r, str_span(text.ptr + comm.len, text.ptr + end),
                     ok ? pid : UINT64_MAX);
        return true;
    }
    if (!str_starts(text, STR("backtrace")) || !str_ends(text, STR(":")))
        return false;
    begin_stack(r);
    return true;
}

/* "stack_count: 3" or "nr_base_pages: 23", behind the stack. */
static bool take_sum(struct klog_reader *r, struct str text)
{
    struct str rest = text, key = str_cut(&rest, ':');
    bool is_pages = str_equal(key, STR("nr_base_pages"));
    uint64_t number;
    if (!r->is_plain || !(is_pages || str_equal(key, STR("stack_count"))) ||
        !number_parse_u64(str_trim(rest), &number) || number > AMOUNT_MOST)
        return false;
    r->t.event =
        builder_event(r->t.b, is_pages ? STR("pages") : STR("allocations"), UNIT_COUNT);
    r->t.weight = (double)number;
    stacktext_end(&r->t);
    r->in_stack = false;
    return true;
}

static void take_frame(struct klog_reader *r, struct str text)
{
    struct text_frame f;
    struct str rest = without_address(text);
    if (r->in_head && str_starts(text, STR("PFN ")))
        return;
    r->in_head = false;
    if (is_mark(text) || str_starts(rest, STR("? ")))
        return;
    if (parse_function(rest, &f)) {
        stacktext_add(&r->t, rest, &f);
        return;
    }
    stacktext_end(&r->t);
    r->in_stack = r->has_amount = false;
    if (r->in_file)
        begin_thread(r, STR(""), UINT64_MAX);
    r->in_file = false;
}

/* The digits at the start of the text; 0 if there are none. */
static uint64_t take_digits(struct str *text)
{
    size_t n = 0;
    uint64_t number;
    while (n < text->len && byte_is_digit(text->ptr[n]))
        n++;
    bool valid = number_parse_u64(str_head(*text, n), &number);
    *text = str_skip(*text, n);
    return valid && number <= INT64_MAX ? number : 0;
}

/* "/proc/1/stack", "==> /proc/1/task/2/stack <==", "/proc/1/task/2 systemd": what follows the path is
 * left in *text: the name of the thread, or after a colon a frame. False if the text does not begin
 * with a path. */
static bool take_path(struct klog_reader *r, struct str *text)
{
    struct str rest = *text, task = STR("/task/"), file = STR("/stack");
    if (str_starts(rest, STR("==> ")))
        rest = str_skip(rest, 4);
    if (!str_starts(rest, STR("/proc/")))
        return false;
    rest = str_skip(rest, 6);
    uint64_t pid = take_digits(&rest), tid = pid;
    if (pid == 0)
        return false;
    if (str_starts(rest, task)) {
        rest = str_skip(rest, task.len);
        tid = take_digits(&rest);
    }
    if (str_starts(rest, file))
        rest = str_skip(rest, file.len);
    bool is_grep = str_starts(rest, STR(":"));
    rest = str_trim(is_grep || str_starts(rest, STR("/")) ? str_skip(rest, 1) : rest);
    if (!is_grep || r->t.pid != (int64_t)pid || r->t.tid != (int64_t)tid) {
        begin_thread(r, is_grep || str_equal(rest, STR("<==")) ? STR("") : rest, tid);
        r->t.pid = (int64_t)pid;
    }
    *text = is_grep ? rest : STR("");
    return true;
}

static bool is_start(struct str text)
{
    return str_starts(text, STR("Call Trace:")) || str_starts(text, STR("Call trace:"));
}

static void klog_line(struct stacktext *t, struct str line)
{
    struct klog_reader *r = (struct klog_reader *)t;
    struct str text = without_prefix(line);
    struct text_frame f;
    if (t->lines.number == 1)
        r->is_plain = parse_function(text, &f);
    bool has_path = take_path(r, &text);
    if (has_path && text.len == 0)
        return;
    if (text.len &&
        (take_page(r, text) || take_unreferenced(r, text) || take_sum(r, text)))
        return;
    if (!r->in_stack && is_file_frame(text)) {
        begin_stack(r);
        r->in_file = true;
    }
    if (!r->in_stack && r->is_plain && parse_function(text, &f))
        begin_stack(r);
    if (is_start(text))
        begin_stack(r);
    else if (take_task(r, text) || take_cpu(r, text) || take_leaf(r, text))
        return;
    else if (r->in_stack)
        take_frame(r, text);
}

static bool klog_read(struct source *in, const struct import_options *options,
                      struct builder *b, struct error *err)
{
    struct klog_reader r = {.t = {.weight = 1}};
    return stacktext_read(&r.t, in, options, b, klog_line, err);
}

/* The start of a stack in a report of the kernel's memory. */
static bool is_memory(struct str text)
{
    return str_starts(text, STR("Page allocated via order ")) ||
           str_starts(text, STR("unreferenced object 0x"));
}

static int klog_probe(struct str head)
{
    size_t starts = 0, frames = 0, file_frames = 0, lines = 0, sums = 0;
    bool is_plain = false;
    struct text_frame f;
    struct str line;
    while (stacktext_probe_line(&head, &line)) {
        struct str text = without_prefix(line);
        size_t path = str_search(text, STR("/stack:[<"));
        if (str_starts(text, STR("/proc/")) && path < text.len)
            text = str_skip(text, path + 7);
        lines += text.len != 0;
        file_frames += is_file_frame(text);
        starts += is_start(text) || is_memory(text);
        is_plain |= lines == 1 && text.len && parse_function(text, &f);
        sums += is_plain && (str_starts(text, STR("stack_count: ")) ||
                             str_starts(text, STR("nr_base_pages: ")));
        frames += starts && parse_function(without_address(text), &f);
    }
    if (sums)
        return 88;
    if (!starts)
        return file_frames * 3 > lines ? 80 : 0;
    return frames ? 88 : 0;
}

const struct importer import_kernel_log = {
    .name = "kernel-log",
    .suffixes = "dmesg",
    .summary = "stacks of the Linux kernel: its log (dmesg), /proc/PID/stack, "
               "page_owner, kmemleak",
    .probe = klog_probe,
    .read = klog_read,
};
