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
 * The same as JSON (-format=json); newer versions have the state, too:
 *
 *   {"threadDump": {"processId": "412", "threadContainers": [{"container": "<root>", "threads": [
 *     {"tid": "13", "name": "till-2", "stack": ["Shop.spin(Shop.java:4)"]}]}]}}
 *
 * Android's traces of a process that does not respond (ANR), whose lines "|" have the state of the
 * native thread:
 *
 *   "main" prio=5 tid=1 Native
 *     | sysTid=412 nice=-10 cgrp=top-app sched=0/0 handle=0x7f26
 *     | state=S schedstat=( 1 2 3 ) utm=9 stm=2 core=3 HZ=100
 *     native: #00 pc 000cd8c4  /apex/com.android.runtime/lib64/bionic/libc.so (__epoll_pwait+4)
 *     at android.os.MessageQueue.next(MessageQueue.java:335)
 *
 * Every stack has weight 1. Only running threads are included, unless the options
 * request all. A thread in state RUNNABLE counts as waiting if it is in a native call
 * that waits. The JVM's own threads are excluded. The number at the end of a name is
 * removed, because threads of a pool differ only in it, unless the options retain it. */
#include "base/format.h"
#include "base/number.h"
#include "import/json_input.h"
#include "import/stacktext.h"
#include "model/name.h"

#define JSON_FRAME_MOST 4096 /* bytes */
#define JSON_NAME_MOST 512

/* Parts of the names of the JVM's own threads. */
static const char *const system_threads[] = {
    "CompilerThread",  "Signal Dispatcher",        "Service Thread",
    "Attach Listener", "Monitor Deflation Thread", "Notification Thread",
    "Sweeper thread",  "Surrogate Locker Thread",  "Signal Catcher",
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

/* Android: "native: #00 pc 000cd8c4  /lib64/libc.so (__epoll_pwait+4) (BuildId: ...)", and without
 * "native:" of threads that are not attached to the virtual machine. */
static bool parse_android(struct str text, struct text_frame *f)
{
    struct str rest = text;
    *f = TEXT_FRAME;
    if (str_starts(rest, STR("native: ")))
        rest = str_skip(rest, 8);
    if (!str_starts(rest, STR("#")))
        return false;
    str_word(&rest);
    if (!str_equal(str_word(&rest), STR("pc")) ||
        !number_parse_hex(str_word(&rest), &f->address))
        return false;
    rest = str_trim(rest);
    size_t open = str_search(rest, STR(" ("));
    f->module = str_trim(str_head(rest, open));
    rest = str_skip(rest, open + 2);
    rest = str_head(rest, str_search(rest, STR(" (BuildId: ")));
    rest = str_head(rest, str_rfind(rest, ')'));
    f->name = str_head(rest, str_rfind(rest, '+'));
    if (str_equal(f->name, STR("???")))
        f->name = STR("");
    return f->module.len != 0;
}

/* "| sysTid=412 nice=-10", "| state=S schedstat=( ... )": Linux's view of the thread. */
static bool take_android_state(struct jstack_reader *r, struct str text)
{
    struct str state = STR("| state="), tid = STR("| sysTid=");
    if (!str_starts(text, STR("| ")))
        return false;
    if (str_starts(text, tid))
        r->text.tid = id_after(text, tid);
    if (str_starts(text, state))
        r->is_running = text.len > state.len &&
                        (text.ptr[state.len] == 'R' || text.ptr[state.len] == 'D');
    return true;
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
    rest = str_skip(rest, close);
    t->tid =
        id_after(rest, str_has(rest, STR(" sysTid=")) ? STR(" sysTid=") : STR(" nid="));
    r->is_running = str_has(rest, STR(" tid=")) && str_ends(rest, STR(" Runnable"));
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
               parse_mixed(line, &f) || parse_android(text, &f)) {
        add_frame(r, line, &f);
    } else if (str_equal(text, STR("..."))) { /* deeper than MaxJavaStackTraceDepth */
        stacktext_cut(t);
    } else if (str_starts(text, state)) {
        read_state(r, str_skip(text, state.len));
    } else if (str_starts(text, STR("----- pid "))) {
        t->pid = id_after(text, STR("----- pid "));
    } else if (take_android_state(r, text)) {
        return;
    } else if (str_ends(line, STR(":")) &&
               number_parse_u64(str_head(line, line.len - 1), &pid) && pid <= INT64_MAX) {
        t->pid = (int64_t)pid; /* the first line of jcmd */
    }
}

static void jstack_finish(struct stacktext *t)
{
    end_thread((struct jstack_reader *)t);
}

/* --- JSON --------------------------------------------------------------------------- */

/* The text may also be of another kind: then the word is empty. */
static void take_word(struct json *j, char *word, size_t size)
{
    struct str text;
    if (json_text(j, &text))
        format_text(word, size, "%.*s", STR_ARG(text));
}

static void read_json_frames(struct jstack_reader *r, struct json *j)
{
    struct text_frame f;
    struct str text;
    char line[JSON_FRAME_MOST];
    if (!json_enter(j, JSON_ARRAY))
        return;
    while (json_item(j)) {
        if (!json_string(j, &text))
            continue;
        size_t length = format_text(line, sizeof line, " %.*s", STR_ARG(text));
        text = (struct str){line, length};
        if (length < sizeof line && parse_file_frame(text, &f))
            add_frame(r, text, &f);
        else
            json_warn(j, r->text.b, "a frame that cannot be read");
    }
}

/* {"tid": "13", "name": "till-2", "state": "WAITING", "stack": [...]}. The state and the name may
 * follow the stack. */
static void read_json_thread(struct jstack_reader *r, struct json *j, int64_t pid)
{
    struct stacktext *t = &r->text;
    struct str key;
    char name[JSON_NAME_MOST] = "", state[32] = "";
    begin_thread(r, STR("\"\""));
    r->is_stateless = r->is_running = true;
    while (json_key(j, &key)) {
        if (str_equal(key, STR("name")))
            take_word(j, name, sizeof name);
        else if (str_equal(key, STR("state")))
            take_word(j, state, sizeof state);
        else if (str_equal(key, STR("stack")))
            read_json_frames(r, j);
        else
            json_skip(j);
    }
    struct str text = str_of(name);
    t->pid = pid;
    t->drop = is_system_thread(text) && !t->options->all_threads;
    t->thread =
        builder_string(t->b, t->options->thread_numbers ? text : without_number(text));
    if (state[0])
        r->is_running &= str_equal(str_of(state), STR("RUNNABLE"));
    end_thread(r);
}

static void read_json_containers(struct jstack_reader *r, struct json *j, int64_t pid)
{
    struct str key;
    if (!json_enter(j, JSON_ARRAY))
        return;
    while (json_next_object(j))
        while (json_key(j, &key)) {
            if (!str_equal(key, STR("threads")))
                json_skip(j);
            else if (json_enter(j, JSON_ARRAY))
                while (json_next_object(j))
                    read_json_thread(r, j, pid);
        }
}

static void read_json_dump(struct jstack_reader *r, struct json *j)
{
    struct str key;
    uint64_t pid;
    int64_t id = ID_NONE;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key)) {
        if (str_equal(key, STR("threadContainers")))
            read_json_containers(r, j, id);
        else if (!str_equal(key, STR("processId")))
            json_skip(j);
        else if (json_u64(j, &pid) && pid <= INT64_MAX)
            id = (int64_t)pid;
    }
}

static bool read_json(struct jstack_reader *r, struct source *in,
                      const struct import_options *options, struct builder *b,
                      struct error *err)
{
    struct json j;
    struct str key;
    uint64_t before = b->profile->facts.samples;
    bool ok = stacktext_open(&r->text, options, b, err);
    json_init(&j, in, true, err);
    if (ok && json_enter(&j, JSON_OBJECT))
        while (json_key(&j, &key)) {
            if (str_equal(key, STR("threadDump")))
                read_json_dump(r, &j);
            else
                json_skip(&j);
        }
    stacktext_close(&r->text, ok);
    return json_input_end(&j, b, before) && ok;
}

static bool is_json(const struct source *in)
{
    struct str text = str_trim_left(str_span(in->begin, in->end));
    return str_starts(text, STR("{"));
}

static bool jstack_read(struct source *in, const struct import_options *options,
                        struct builder *b, struct error *err)
{
    struct jstack_reader r = {.text = {.weight = 1, .finish = jstack_finish}};
    if (!source_peek(in, 16, err))
        return false;
    if (is_json(in))
        return read_json(&r, in, options, b, err);
    return stacktext_read(&r.text, in, options, b, jstack_line, err);
}

static int jstack_probe(struct str head)
{
    static const struct json_rule rules[] = {
        {95, '{', {"\"threadDump\"", "\"threadContainers\""}}, {0}};
    size_t states = 0, threads = 0, frames = 0, file_threads = 0, file_frames = 0;
    struct text_frame f;
    struct str line, rest;
    int json = json_probe(head, rules);
    if (json)
        return json;
    while (stacktext_probe_line(&head, &line)) {
        struct str text = str_trim_left(line);
        states += str_starts(text, STR("java.lang.Thread.State: "));
        threads += str_starts(line, STR("\"")) &&
                   (str_has(line, STR(" nid=")) || str_has(line, STR(" prio=")));
        frames += parse_java(text, &f) || parse_mixed(line, &f) ||
                  (threads && parse_android(text, &f));
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
    .summary = "thread dumps of Java (jstack, jcmd, kill -3; text and JSON) and of "
               "Android (ANR)",
    .probe = jstack_probe,
    .read = jstack_read,
};
