/* SPDX-License-Identifier: Apache-2.0 */
/* Output of Solaris pstack, and of AIX procstack, whose format is derived from it: all
 * threads of a process, one dump or several in sequence.
 *
 *   11928: /usr/bin/appl -x
 *   ---------- tid# 6901809 (pthread ID:    258) ----------
 *   0x0900000000062a14  write(??, ??, ??) + 0x1c8
 *   0x00000001000b9a60  Peer::send(Block*, int)() + 0x308
 *
 *   21334:  /usr/bin/bash
 *   -----------------  lwp# 2 / thread# 2  --------------------
 *    ff31cb10 lwp_park (0, 0, 0)
 *    000e8a44 main     (1, ffbff5c8) + 124
 *
 * Every stack has weight 1. The thread's name is the command of its process. */
#include "base/number.h"
#include "import/stacktext.h"
#include "model/name.h"

/* Removes " + 1c8" or " + 0x1c8" from the end. */
static struct str without_offset(struct str text)
{
    uint64_t offset;
    size_t plus = str_rsearch(text, STR(" + "));
    bool is_offset =
        plus < text.len && number_parse_hex(str_skip(text, plus + 3), &offset);
    return is_offset ? str_head(text, plus) : text;
}

/* "0x0900000000062a14  write(??, ??, ??) + 0x1c8" */
static bool parse_frame(struct str line, struct text_frame *f)
{
    struct str rest = str_trim(line), digits = rest;
    *f = TEXT_FRAME;
    if (str_starts(digits, STR("0x")))
        digits = str_skip(digits, 2);
    if (str_word(&digits).len < 8 || !stacktext_take_hex(&rest, &f->address))
        return false;
    f->name = str_trim(name_without_arguments(without_offset(rest)));
    if (str_starts(f->name, STR("["))) /* no symbol, only an address or a file */
        f->name = STR("");
    return rest.len != 0;
}

/* "---------- tid# 6901809 (..." or "---  lwp# 2 / thread# 2  ---" */
static bool parse_thread(struct str line, int64_t *tid)
{
    struct str rest = line;
    uint64_t id;
    if (!str_starts(line, STR("-----")))
        return false;
    size_t at = str_search(line, STR("tid# "));
    if (at == line.len)
        at = str_search(line, STR("lwp# "));
    rest = str_skip(line, at + 5);
    if (!number_parse_u64(str_word(&rest), &id) || id > INT64_MAX)
        return false;
    *tid = (int64_t)id;
    return true;
}

/* "11928: /usr/bin/appl -x" or "11928 : -sh" */
static bool parse_process(struct str line, int64_t *pid, struct str *command)
{
    struct str rest = line, number = str_trim(str_cut(&rest, ':'));
    uint64_t id;
    if (!number_parse_u64(number, &id) || id > INT64_MAX || rest.len == 0 ||
        !byte_is_space(rest.ptr[0]))
        return false;
    *pid = (int64_t)id;
    *command = str_word(&rest);
    return command->len != 0;
}

static void aix_line(struct stacktext *t, struct str line)
{
    struct text_frame f;
    struct str command;
    int64_t id;
    if (stacktext_add_known(t, line))
        return;
    if (parse_thread(line, &id)) {
        stacktext_end(t);
        t->tid = id;
    } else if (parse_process(line, &id, &command)) {
        stacktext_thread(t, command);
        t->pid = id;
    } else if (parse_frame(line, &f)) {
        stacktext_add(t, line, &f);
    } else if (str_trim(line).len) {
        stacktext_warn(t, "neither a frame nor a thread or process header", line);
    }
}

static bool aix_read(struct source *in, const struct import_options *options,
                     struct builder *b, struct error *err)
{
    struct stacktext t = {.weight = 1};
    return stacktext_read(&t, in, options, b, aix_line, err);
}

static int aix_probe(struct str head)
{
    size_t frames = 0, threads = 0, processes = 0, others = 0;
    struct str line, command;
    struct text_frame f;
    int64_t id;
    while (stacktext_probe_line(&head, &line)) {
        bool is_thread = parse_thread(line, &id);
        bool is_process = parse_process(line, &id, &command);
        threads += is_thread;
        processes += is_process;
        if (threads + processes == 0) /* other formats, which have no such header */
            continue;
        bool is_frame = parse_frame(line, &f);
        frames += is_frame && str_find(line, '(') < line.len;
        others += !is_frame && !is_thread && !is_process && line.len;
    }
    if (frames == 0 || others > frames || threads + processes == 0)
        return 0;
    return threads ? 92 : 70;
}

const struct importer import_aix = {
    .name = "aix",
    .suffixes = "procstack",
    .summary = "AIX procstack and Solaris pstack",
    .probe = aix_probe,
    .read = aix_read,
};
