/* SPDX-License-Identifier: Apache-2.0 */
/* Thread dumps of the Java virtual machine: jstack, jcmd Thread.print, kill -3, and
 * jhsdb jstack --mixed; one dump or several in sequence.
 *
 *   "till-2" #13 prio=5 os_prio=0 tid=0x00007f2694123cf0 nid=0x513e runnable [0x00007f26]
 *      java.lang.Thread.State: RUNNABLE
 *           at Shop.spin(Shop.java:4)
 *           - locked <0x000000069ec514a0> (a java.lang.Object)
 *           at java.lang.Thread.run(java.base@17.0.21/Thread.java:840)
 *
 *   0x00007f2699b55f36  epoll_wait + 0x56
 *   0x00007f2684941374  * sun.nio.ch.SelectorImpl.select() bci:5 line:146 (Interpreted
 * ...)
 *
 *
 * jcmd Thread.dump_to_file (Java 21), which also has virtual threads; newer versions add the state:
 *
 *   #13 "till-2" virtual
 *         java.base/java.lang.VirtualThread.park(VirtualThread.java:582)
 *         Shop.spin(Shop.java:4)
 *
 * Every stack has weight 1. Only running threads are included, unless the options
 * request all. A thread in state RUNNABLE counts as waiting if it is in a native call
 * that waits. The JVM's own threads are excluded. The number at the end of a name is
 * removed, because threads of a pool differ only in it, unless the options retain it. */
#include "base/number.h"
#include "import/stacktext.h"
#include "model/name.h"

/* Parts of the names of the JVM's own threads. */
static const char *const system_threads[] = {
    "CompilerThread",  "Signal Dispatcher",        "Service Thread",
    "Attach Listener", "Monitor Deflation Thread", "Notification Thread",
    "Sweeper thread",  "Surrogate Locker Thread",
};

/* Ends of the names of native methods that wait in state RUNNABLE. */
static const char *const waiting_calls[] = {
    "epollWait",
    "EPoll.wait",
    "KQueue.poll",
    "WEPoll.wait",
    ".kevent0",
    ".poll0",
    "socketAccept",
    "accept0",
    "Net.accept",
    "Net.poll",
    "socketRead0",
    "waitForReferencePendingList",
    "futex_abstimed_wait_common",
    "epoll_wait",
    "__GI_accept",
    "__accept4",
    "__poll",
};

/* The same of threads whose state the dump does not state. */
static const char *const stateless_calls[] = {
    "Object.wait",   "Object.wait0",       "Unsafe.park",        "Thread.sleep",
    "Thread.sleep0", "Thread.sleepNanos0", "VirtualThread.park", "parkOnCarrierThread",
};

struct jstack_reader {
    struct stacktext text;
    bool is_running;
    bool is_file; /* the thread is of a dump to a file */
    bool is_stateless;
};

static bool is_system_thread(struct str name)
{
    for (size_t i = 0; i < sizeof system_threads / sizeof *system_threads; i++)
        if (str_has(name, str_of(system_threads[i])))
            return true;
    return false;
}

static bool ends_with_one(struct str name, const char *const *ends, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_ends(name, str_of(ends[i])))
            return true;
    return false;
}

static bool is_waiting_call(struct str name, bool is_stateless)
{
    return ends_with_one(name, waiting_calls,
                         sizeof waiting_calls / sizeof *waiting_calls) ||
           (is_stateless &&
            ends_with_one(name, stateless_calls,
                          sizeof stateless_calls / sizeof *stateless_calls));
}

/* "Shop.spin(Shop.java:4)", or with "(java.base@17.0.21/Thread.java:840)". */
static bool parse_call(struct str text, struct text_frame *f)
{
    *f = TEXT_FRAME;
    f->name = str_trim(text);
    size_t open = str_find(f->name, '(');
    struct str location = str_skip(f->name, open + 1);
    f->name = str_head(f->name, open);
    location =
        stacktext_split_location(str_head(location, str_find(location, ')')), &f->line);
    size_t slash = str_find(location, '/');
    f->file = slash < location.len ? str_skip(location, slash + 1) : location;
    if (f->line == 0) /* "Native Method", "Unknown Source" */
        f->file = STR("");
    return f->name.len != 0;
}

static bool parse_java(struct str text, struct text_frame *f)
{
    return str_starts(text, STR("at ")) && parse_call(str_skip(text, 3), f);
}

/* A frame of a dump to a file: "java.base/java.lang.Thread.run(Thread.java:840)", without the name
 * of the module. The name of a hidden class contains a slash, too: "Shop$$Lambda/0x7f26.run". */
static bool parse_file_frame(struct str line, struct text_frame *f)
{
    struct str text = str_trim(line);
    if (!byte_is_space(line.ptr[0]) || !str_ends(text, STR(")")) ||
        str_starts(text, STR("- ")) || !parse_call(text, f))
        return false;
    size_t slash = str_rfind(f->name, '/');
    if (slash < f->name.len && !str_has(str_head(f->name, slash), STR("$")))
        f->name = str_skip(f->name, slash + 1);
    return f->name.len != 0;
}

/* "#13 \"till-2\" virtual": leaves the text from the name on in *rest. */
static bool is_file_thread(struct str line, struct str *rest)
{
    uint64_t number;
    struct str text = str_skip(line, 1), word = str_word(&text);
    *rest = str_trim_left(text);
    return str_starts(line, STR("#")) && number_parse_u64(word, &number) &&
           str_starts(*rest, STR("\""));
}

/* Mixed mode: "0x7f26  name + 0x56" and "0x7f26  * name(args) bci:5 line:146 (...)". */
static bool parse_mixed(struct str line, struct text_frame *f)
{
    struct str rest = line;
    *f = TEXT_FRAME;
    if (!str_starts(line, STR("0x")) || !stacktext_take_hex(&rest, &f->address) ||
        rest.len == 0)
        return false;
    if (str_starts(rest, STR("* "))) {
        rest = str_skip(rest, 2);
        rest = str_head(rest, str_search(rest, STR(" bci:")));
    }
    size_t plus = str_rsearch(rest, STR(" + 0x"));
    f->name = str_trim(name_without_arguments(str_head(rest, plus)));
    if (str_starts(rest, STR("????")))
        f->name = STR("");
    return true;
}

/* The number after the mark: nid=0x513e, or decimal in newer versions. */
static int64_t id_after(struct str line, struct str mark)
{
    uint64_t id;
    struct str rest = str_skip(line, str_search(line, mark) + mark.len);
    struct str word = str_word(&rest);
    bool ok = str_starts(word, STR("0x")) ? number_parse_hex(word, &id)
                                          : number_parse_u64(word, &id);
    return ok && id <= INT64_MAX ? (int64_t)id : ID_NONE;
}

/* "till-2" -> "till" */
static struct str without_number(struct str name)
{
    size_t at = name.len;
    while (at && byte_is_digit(name.ptr[at - 1]))
        at--;
    bool numbered = at > 1 && at < name.len && name.ptr[at - 1] == '-';
    return numbered ? str_head(name, at - 1) : name;
}

/* Ends the current stack; drops it if its thread does not run. */
static void end_thread(struct jstack_reader *r)
{
    struct stacktext *t = &r->text;
    if (!r->is_running && !t->options->all_threads)
        t->drop = true;
    stacktext_end(t);
    r->is_running = r->is_file = r->is_stateless = false;
}

static void begin_thread(struct jstack_reader *r, struct str line)
{
    struct stacktext *t = &r->text;
    struct str rest = str_skip(line, 1);
    size_t close = str_rfind(rest, '"');
    struct str name = str_head(rest, close);
    end_thread(r);
    stacktext_thread(t, t->options->thread_numbers ? name : without_number(name));
    t->tid = id_after(str_skip(rest, close), STR(" nid="));
    t->drop = is_system_thread(name) && !t->options->all_threads;
}

static void read_state(struct jstack_reader *r, struct str state)
{
    r->is_running = str_starts(state, STR("RUNNABLE"));
}

/* `rest` is "\"till-2\"", with "virtual" and the state and time of newer versions behind it. */
static void begin_file_thread(struct jstack_reader *r, struct str rest)
{
    struct str after = str_skip(rest, str_rfind(rest, '"') + 1), word;
    begin_thread(r, rest);
    r->is_file = r->is_stateless = r->is_running = true;
    word = str_word(&after);
    if (str_equal(word, STR("virtual")))
        word = str_word(&after);
    r->is_stateless = word.len == 0;
    if (word.len)
        read_state(r, word);
}

static void add_frame(struct jstack_reader *r, struct str line,
                      const struct text_frame *f)
{
    struct stacktext *t = &r->text;
    if (t->b->path.count == 0 && is_waiting_call(f->name, r->is_stateless))
        r->is_running = false;
    stacktext_add(t, line, f);
}

static void jstack_line(struct stacktext *t, struct str line)
{
    struct jstack_reader *r = (struct jstack_reader *)t;
    struct str state = STR("java.lang.Thread.State: "), text = str_trim(line);
    struct text_frame f;
    struct str rest;
    uint64_t pid;
    if (text.len == 0) {
        end_thread(r);
    } else if (is_file_thread(line, &rest)) {
        begin_file_thread(r, rest);
    } else if (line.ptr[0] == '"') {
        begin_thread(r, line);
    } else if ((r->is_file && parse_file_frame(line, &f)) || parse_java(text, &f) ||
               parse_mixed(line, &f)) {
        add_frame(r, line, &f);
    } else if (str_equal(text, STR("..."))) { /* deeper than MaxJavaStackTraceDepth */
        stacktext_cut(t);
    } else if (str_starts(text, state)) {
        read_state(r, str_skip(text, state.len));
    } else if (str_ends(line, STR(":")) &&
               number_parse_u64(str_head(line, line.len - 1), &pid) && pid <= INT64_MAX) {
        t->pid = (int64_t)pid; /* the first line of jcmd */
    }
}

static void jstack_finish(struct stacktext *t)
{
    end_thread((struct jstack_reader *)t);
}

static bool jstack_read(struct source *in, const struct import_options *options,
                        struct builder *b, struct error *err)
{
    struct jstack_reader r = {.text = {.weight = 1, .finish = jstack_finish}};
    return stacktext_read(&r.text, in, options, b, jstack_line, err);
}

static int jstack_probe(struct str head)
{
    size_t states = 0, threads = 0, frames = 0, file_threads = 0, file_frames = 0;
    struct text_frame f;
    struct str line, rest;
    while (stacktext_probe_line(&head, &line)) {
        struct str text = str_trim_left(line);
        states += str_starts(text, STR("java.lang.Thread.State: "));
        threads += str_starts(line, STR("\"")) &&
                   (str_has(line, STR(" nid=")) || str_has(line, STR(" prio=")));
        frames += parse_java(text, &f) || parse_mixed(line, &f);
        file_threads += is_file_thread(line, &rest);
        file_frames += file_threads && line.len && parse_file_frame(line, &f) && f.line;
    }
    if (file_frames && !threads)
        return 90;
    return threads && states ? 95 : threads && frames ? 80 : 0;
}

const struct importer import_jstack = {
    .name = "jstack",
    .suffixes = "jstack,tdump",
    .summary = "Java thread dumps (jstack, jcmd Thread.print, dump_to_file, kill -3)",
    .probe = jstack_probe,
    .read = jstack_read,
};
