/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks of py-spy (record --format raw). With --threads, the thread comes first, and with
 * --subprocesses, before it the process and its parents, whose commands can contain ';':
 *
 *   process 12:"python a.py";process 14:"python -c 'x; y'";thread (14): MainThread;f (a.py:5) 3 */
#include "base/number.h"
#include "import/python_folded.h"

/* process 12:"python a.py" */
static bool take_process(struct str *rest, struct python_thread *thread)
{
    struct str text = *rest;
    uint64_t pid;
    if (!str_starts(text, STR("process ")))
        return false;
    text = str_skip(text, STR("process ").len);
    struct str number = str_head(text, str_find(text, ':'));
    text = str_skip(text, number.len);
    if (!str_starts(text, STR(":\"")) || !number_parse_u64(number, &pid) ||
        pid > INT64_MAX)
        return false;
    text = str_skip(text, 2);
    size_t end = str_search(text, STR("\";"));
    if (end == text.len && !str_ends(text, STR("\"")))
        return false;
    thread->pid = (int64_t)pid;
    thread->name = end < text.len ? str_head(text, end) : str_head(text, text.len - 1);
    *rest = end < text.len ? str_skip(text, end + 2) : STR("");
    return true;
}

/* "thread (0x7F12)", "thread (4711): MainThread" */
static bool take_thread(struct str *rest, struct python_thread *thread)
{
    struct str after = *rest, field = str_cut(&after, ';');
    uint64_t tid;
    if (take_process(rest, thread))
        return true;
    if (!str_starts(field, STR("thread (")))
        return false;
    field = str_skip(field, STR("thread (").len);
    struct str id = str_cut(&field, ')');
    bool known = str_starts(id, STR("0x")) ? number_parse_hex(id, &tid)
                                           : number_parse_u64(id, &tid);
    if (!known || (field.len && !str_starts(field, STR(": "))))
        return false;
    thread->tid = tid <= INT64_MAX ? (int64_t)tid : ID_NONE;
    if (field.len > 2)
        thread->name = str_skip(field, 2);
    *rest = after;
    return true;
}

static const struct python_folded form = {take_thread, python_frame_brackets};

static bool pyspy_raw_read(struct source *in, const struct import_options *options,
                           struct builder *b, struct error *err)
{
    return python_folded_read(&form, in, options, b, err);
}

/* More than folded stacks, of which these are a special case. */
static int pyspy_raw_probe(struct str head)
{
    return python_folded_is(&form, head) ? 80 : 0;
}

const struct importer import_pyspy_raw = {
    .name = "pyspy-raw",
    .suffixes = "",
    .summary = "folded stacks of py-spy (record --format raw)",
    .probe = pyspy_raw_probe,
    .read = pyspy_raw_read,
};
