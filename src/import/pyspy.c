/* SPDX-License-Identifier: Apache-2.0 */
/* py-spy dump: all threads of a Python process, one dump or several in sequence.
 *
 *   Process 4711: python shop.py
 *   Python v3.11.7 (/usr/bin/python3.11)
 *
 *   Thread 4711 (active+gil): "MainThread"
 *       add (shop.py:5)
 *           Arguments:
 *               n: 2
 *       <module> (shop.py:11)
 *   Thread 0x7F777311B6C0 (idle): "sleeper"
 *       wait (shop.py:7)
 *
 * A frame's name includes its file, "add (shop.py)", and not the line, so that a
 * function is one frame. Idle threads are excluded, as in py-spy's recordings, unless the options
 * include them. Every stack has weight 1. */
#include "base/number.h"
#include "import/python_folded.h"
#include "import/stacktext.h"

/* "    add (shop.py:5)": four spaces, no more. */
static bool split_frame(struct str line, struct text_frame *f)
{
    struct str text = str_trim(line);
    size_t open = str_rsearch(text, STR(" ("));
    if (!str_starts(line, STR("    ")) || text.ptr != line.ptr + 4 || open == text.len ||
        open == 0 || !str_ends(text, STR(")")))
        return false;
    struct str location = str_span(text.ptr + open + 2, text.ptr + text.len - 1);
    *f = TEXT_FRAME;
    f->name = text;
    f->verbatim = true;
    f->file = stacktext_split_location(location, &f->line);
    return true;
}

/* `Thread 0x7F77 (idle): "sleeper"` or `Thread 4711 (active)`: its ID and state. */
static bool split_heading(struct str line, struct str *id, struct str *state,
                          struct str *name)
{
    struct str rest = line;
    if (!str_equal(str_word(&rest), STR("Thread")))
        return false;
    *id = str_word(&rest);
    rest = str_trim_left(rest);
    size_t close = str_find(rest, ')');
    if (rest.len == 0 || rest.ptr[0] != '(' || close == rest.len)
        return false;
    *state = str_span(rest.ptr + 1, rest.ptr + close);
    rest = str_skip(rest, close + 1);
    *name = STR("");
    if (str_starts(rest, STR(": \"")) && str_ends(rest, STR("\"")) && rest.len > 3)
        *name = str_span(rest.ptr + 3, rest.ptr + rest.len - 1);
    return rest.len == 0 || rest.ptr[0] == ':';
}

static bool is_state(struct str state)
{
    return str_starts(state, STR("active")) || str_starts(state, STR("idle"));
}

static void begin_thread(struct stacktext *t, struct str id, struct str state,
                         struct str name)
{
    uint64_t tid;
    bool is_hex = str_starts(id, STR("0x"));
    stacktext_thread(t, name);
    if (is_hex ? number_parse_hex(id, &tid) : number_parse_u64(id, &tid))
        t->tid = tid <= INT64_MAX ? (int64_t)tid : ID_NONE;
    t->drop = str_starts(state, STR("idle")) && !t->options->all_threads;
}

/* "Process 4711: python shop.py" */
static void begin_process(struct stacktext *t, struct str line)
{
    uint64_t pid;
    struct str command = str_skip(line, STR("Process ").len);
    struct str number = str_cut(&command, ':');
    stacktext_end(t);
    if (!number_parse_u64(number, &pid) || pid > INT64_MAX)
        return;
    t->pid = (int64_t)pid;
    t->b->profile->facts.command = builder_string(t->b, str_trim(command));
}

static void add_frame(struct stacktext *t, struct str line, struct text_frame *f)
{
    f->name = python_frame_brackets(f->name, &t->text).name;
    stacktext_add(t, line, f);
}

static void pyspy_line(struct stacktext *t, struct str line)
{
    struct text_frame f;
    struct str id, state, name;
    if (stacktext_add_known(t, line))
        return;
    if (split_frame(line, &f))
        add_frame(t, line, &f);
    else if (split_heading(line, &id, &state, &name))
        begin_thread(t, id, state, name);
    else if (str_starts(line, STR("Process ")))
        begin_process(t, line);
    else if (line.len && !str_starts(line, STR("        ")) && /* arguments and locals */
             !str_starts(line, STR("Python v")))
        stacktext_warn(t, "neither a frame nor a thread header", line);
}

static bool pyspy_read(struct source *in, const struct import_options *options,
                       struct builder *b, struct error *err)
{
    struct stacktext t = {.weight = 1};
    return stacktext_read(&t, in, options, b, pyspy_line, err);
}

static int pyspy_probe(struct str head)
{
    size_t headings = 0, frames = 0;
    struct str line, id, state, name;
    struct text_frame f;
    while (stacktext_probe_line(&head, &line)) {
        headings += split_heading(line, &id, &state, &name) && is_state(state);
        frames += headings && split_frame(line, &f);
    }
    return headings && frames ? 92 : 0;
}

const struct importer import_pyspy = {
    .name = "pyspy",
    .suffixes = "",
    .summary = "py-spy dump",
    .probe = pyspy_probe,
    .read = pyspy_read,
};
