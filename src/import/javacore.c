/* SPDX-License-Identifier: Apache-2.0 */
/* IBM and OpenJ9 javacores: each line begins with a tag. A thread's lines are
 *
 *   3XMTHREADINFO      "till-2" J9VMThread:0x08132B00, ..., state:R, prio=5
 *   3XMTHREADINFO1            (native thread ID:0x3158, native priority:0x5, ...)
 *   3XMTHREADINFO3           Java callstack:
 *   4XESTACKTRACE                at java/net/Socket.read(Socket.java:152(Compiled Code))
 *   3XMTHREADINFO3           Native callstack:
 *   4XENATIVESTACK               poll+0x54 (0x00007FFF6C148A7A [libc.so.6+0x28a7a])
 *
 * Every Java stack has weight 1, whatever its thread's state. Native stacks belong to
 * the same threads and are skipped. */
#include "base/number.h"
#include "import/stacktext.h"

/* "at java/net/Socket.read(Socket.java:152(Compiled Code))" */
static bool parse_frame(struct str text, struct text_frame *f)
{
    if (!str_starts(text, STR("at ")))
        return false;
    *f = TEXT_FRAME;
    f->name = str_trim(str_skip(text, 3));
    size_t open = str_find(f->name, '(');
    struct str location = str_skip(f->name, open + 1);
    size_t end = str_find(location, '('), close = str_find(location, ')');
    location =
        stacktext_split_location(str_head(location, end < close ? end : close), &f->line);
    if (f->line) /* otherwise "Native Method" */
        f->file = location;
    f->name = str_head(f->name, open);
    return f->name.len != 0;
}

static void begin_thread(struct stacktext *t, struct str rest)
{
    struct str name = str_trim(rest);
    size_t close = str_search(str_skip(name, 1), STR("\" "));
    if (name.len && name.ptr[0] == '"')
        name = str_head(str_skip(name, 1), close);
    stacktext_thread(t, name);
}

/* "(native thread ID:0x3158, native priority:0x5, ...)" */
static void read_native_id(struct stacktext *t, struct str rest)
{
    uint64_t id;
    struct str mark = STR("native thread ID:");
    struct str number = str_skip(rest, str_search(rest, mark) + mark.len);
    number = str_head(number, str_find(number, ','));
    if (!number_parse_hex(number, &id) || id > INT64_MAX)
        return;
    t->tid = (int64_t)id;
    if (!t->options->thread_numbers)
        return;
    t->text.used = 0;
    output_str(&t->text, profile_string(t->b->profile, t->thread));
    output_char(&t->text, '-');
    output_str(&t->text, number);
    t->thread = builder_string(t->b, output_contents(&t->text));
}

/* "1CIPROCESSID   Process ID: 4711 (0x1267)" */
static void read_process(struct stacktext *t, struct str rest)
{
    uint64_t id;
    struct str number = str_skip(rest, str_search(rest, STR(": ")) + 2);
    if (number_parse_u64(str_word(&number), &id) && id <= INT64_MAX)
        t->pid = (int64_t)id;
}

static void javacore_line(struct stacktext *t, struct str line)
{
    struct text_frame f;
    if (stacktext_add_known(t, line))
        return;
    struct str rest = line, tag = str_word(&rest);
    struct str text = str_trim(rest);
    if (str_equal(tag, STR("4XESTACKTRACE"))) {
        if (parse_frame(text, &f))
            stacktext_add(t, line, &f);
        else
            stacktext_warn(t, "a stack line without a frame", line);
    } else if (str_equal(tag, STR("3XMTHREADINFO"))) {
        begin_thread(t, text);
    } else if (str_equal(tag, STR("3XMTHREADINFO1"))) {
        read_native_id(t, text);
    } else if (str_equal(tag, STR("1CIPROCESSID"))) {
        read_process(t, text);
    } else if (str_starts(tag, STR("0SECTION"))) {
        stacktext_end(t);
    }
}

static bool javacore_read(struct source *in, const struct import_options *options,
                          struct builder *b, struct error *err)
{
    struct stacktext t = {.weight = 1};
    return stacktext_read(&t, in, options, b, javacore_line, err);
}

static int javacore_probe(struct str head)
{
    struct str line;
    bool sections = false;
    while (stacktext_probe_line(&head, &line)) {
        if (str_starts(line, STR("3XMTHREADINFO  ")) ||
            str_starts(line, STR("4XESTACKTRACE  ")))
            return 98;
        sections |=
            str_starts(line, STR("0SECTION  ")) || str_starts(line, STR("1TISIGINFO  "));
    }
    return sections ? 90 : 0;
}

const struct importer import_javacore = {
    .name = "javacore",
    .suffixes = "",
    .summary = "IBM and OpenJ9 javacores",
    .probe = javacore_probe,
    .read = javacore_read,
};
