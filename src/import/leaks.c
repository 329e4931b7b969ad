/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of leaked memory and of errors, of valgrind's memcheck (--leak-check=full) and of the
 * sanitizers of compilers (address, leak, thread, memory):
 *
 *   ==412== 48 (16 direct, 32 indirect) bytes in 1 blocks are definitely lost in loss record 3 of 5
 *   ==412==    at 0x48417B4: malloc (in /usr/lib/vgpreload_memcheck.so)
 *   ==412==    by 0x109160: leak (a.c:3)
 *   ==412==
 *
 *   Direct leak of 300 byte(s) in 3 object(s) allocated from:
 *       #0 0x7fd36f2b89cf in malloc ../asan_malloc_linux.cpp:69
 *       #1 0x5638d03771b0 in leak /srv/a.c:3
 *
 *   ==412== Invalid write of size 4
 *   ==412==    at 0x1091BC: bad (a.c:7)
 *   ==412==  Address 0x4a460c0 is 0 bytes after a block of size 16 alloc'd
 *
 *   ==412==ERROR: AddressSanitizer: heap-use-after-free on address 0x6020 at pc 0x55 bp 0x7f sp 0x7f
 *   READ of size 4 at 0x6020 thread T0
 *       #0 0x5638d03771b0 in bad /srv/a.c:7
 *
 * valgrind's XML (--xml=yes) has the same texts: leaks_xml.c. An error counts once, with its first
 * stack, which is where it happened. The others, such as that of the allocation, are omitted.
 *
 * Memory that is still reachable is an event of its own. The label "kind" is how it was lost. What a
 * lost block points to is lost indirectly: memcheck counts it in the record of that block, and again
 * in records of its own if they are requested (--show-leak-kinds=all). Then only these count. */
#include "import/leaks.h"
#include "base/array.h"
#include "import/valgrind_frame.h"
#include "model/sample_labels.h"

#define INDIRECTLY "indirectly lost"

struct leak {
    stack_id stack;
    string_id kind;
    int64_t pid;
    uint64_t bytes, blocks;
};

struct leak_list {
    struct leak *items;
    size_t count, cap;
};

struct leak_reader {
    struct stacktext t; /* first */
    bool in_record;
    struct leak leak;        /* of the current record, without the stack */
    uint64_t indirect_bytes; /* that the record counts, but that are lost indirectly */
    /* Added at the end: the event of the leaks is the first one. */
    struct leak_list reachable, indirect, errors;
    bool is_error;     /* the current record */
    struct str title;  /* the kind of an error whose stack may follow; empty: none */
    bool has_indirect; /* there are records of it */
    struct str above;  /* valgrind's frame before: its text */
    char above_room[512], title_room[256];
};

/* Valgrind's frames of inlined functions have the address of their caller, which follows. */
static void settle_above(struct leak_reader *r, struct str caller)
{
    struct builder *b = r->t.b;
    if (r->above.len)
        builder_path_add(b, valgrind_frame(b, r->t.options, r->above,
                                           valgrind_is_inlined(r->above, caller)));
    r->above.len = 0;
}

/* --- Records ---------------------------------------------------------------------- */

static void add_sample(struct leak_reader *r, const struct leak *leak, struct str event,
                       enum unit unit, uint64_t weight)
{
    struct builder *b = r->t.b;
    label_id label =
        builder_label_text(b, STR("kind"), profile_string(b->profile, leak->kind));
    struct sample s = {.time = TIME_NONE,
                       .cpu = CPU_NONE,
                       .event = builder_event(b, event, unit),
                       .thread = builder_thread(b, leak->pid, ID_NONE, STR("")),
                       .stack = leak->stack,
                       .count = 1,
                       .weight = (double)weight};
    builder_add_labelled(b, &s, builder_label_set(b, &label, 1));
}

static void add_later(struct leak_reader *r, struct leak_list *list, struct leak leak)
{
    struct leak *added = ARRAY_APPEND(&r->t.arena, list->items, list->count, list->cap);
    if (added)
        *added = leak;
}

static void end_record(struct leak_reader *r)
{
    struct builder *b = r->t.b;
    if (!r->in_record)
        return;
    r->in_record = false;
    settle_above(r, STR(""));
    r->leak.stack = builder_path_from_leaf(b);
    r->leak.pid = r->t.pid;
    builder_path_clear(b);
    if (r->is_error) {
        add_later(r, &r->errors, r->leak);
        return;
    }
    if (str_equal(profile_string(b->profile, r->leak.kind), STR("still reachable"))) {
        add_later(r, &r->reachable, r->leak);
        return;
    }
    add_sample(r, &r->leak, STR("leaked"), UNIT_BYTES, r->leak.bytes);
    add_sample(r, &r->leak, STR("leaked blocks"), UNIT_COUNT, r->leak.blocks);
    struct leak indirect = r->leak;
    indirect.bytes = r->indirect_bytes;
    if (indirect.bytes)
        add_later(r, &r->indirect, indirect);
}

/* "5,000" at the start of *text, which is removed with the space after it. */
static bool take_number(struct str *text, uint64_t *value)
{
    size_t n = 0;
    *value = 0;
    for (; n < text->len && (byte_is_digit(text->ptr[n]) || (n && text->ptr[n] == ','));
         n++) {
        if (text->ptr[n] == ',')
            continue;
        if (*value > INT64_MAX / 10 - 1)
            return false;
        *value = *value * 10 + (uint64_t)(text->ptr[n] - '0');
    }
    *text = str_trim_left(str_skip(*text, n));
    return n != 0;
}

static bool take_text(struct str *text, struct str part)
{
    if (!str_starts(*text, part))
        return false;
    *text = str_trim_left(str_skip(*text, part.len));
    return true;
}

static void begin_record(struct leak_reader *r, struct str kind, uint64_t bytes,
                         uint64_t blocks)
{
    end_record(r);
    r->in_record = true;
    r->is_error = false;
    r->title.len = 0;
    r->leak = (struct leak){
        .kind = builder_string(r->t.b, kind), .bytes = bytes, .blocks = blocks};
    r->indirect_bytes = 0;
    r->has_indirect |= str_equal(kind, STR(INDIRECTLY));
    builder_path_clear(r->t.b);
}

/* "48 (16 direct, 32 indirect) bytes in 1 blocks are definitely lost in loss record 3 of 5". */
static bool take_memcheck_head(struct leak_reader *r, struct str text)
{
    uint64_t bytes, direct, indirect = 0, blocks;
    if (!take_number(&text, &bytes))
        return false;
    direct = bytes;
    if (take_text(&text, STR("(")) &&
        !(take_number(&text, &direct) && take_text(&text, STR("direct,")) &&
          take_number(&text, &indirect) && take_text(&text, STR("indirect)"))))
        return false;
    if (!take_text(&text, STR("bytes in")) || !take_number(&text, &blocks) ||
        !take_text(&text, STR("blocks are")))
        return false;
    size_t end = str_search(text, STR(" in loss record "));
    if (end == text.len)
        return false;
    begin_record(r, str_head(text, end), direct, blocks);
    r->indirect_bytes = indirect;
    return true;
}

/* "Direct leak of 300 byte(s) in 3 object(s) allocated from:". */
static bool take_sanitizer_head(struct leak_reader *r, struct str text)
{
    uint64_t bytes, blocks;
    bool is_direct = take_text(&text, STR("Direct leak of"));
    if (!is_direct && !take_text(&text, STR("Indirect leak of")))
        return false;
    if (!take_number(&text, &bytes) || !take_text(&text, STR("byte(s) in")) ||
        !take_number(&text, &blocks))
        return false;
    begin_record(r, is_direct ? STR("direct") : STR("indirect"), bytes, blocks);
    return true;
}

static void set_title(struct leak_reader *r, struct str title)
{
    title = str_head(title, sizeof r->title_room);
    memcpy(r->title_room, title.ptr, title.len);
    r->title = (struct str){r->title_room, title.len};
}

static void begin_error(struct leak_reader *r)
{
    begin_record(r, r->title, 0, 1);
    r->is_error = true;
}

/* "ERROR: AddressSanitizer: heap-use-after-free on address 0x6020 ...", "WARNING: ThreadSanitizer:
 * data race (pid=412)": "heap-use-after-free", "data race". */
static bool take_sanitizer_title(struct leak_reader *r, struct str text)
{
    static const char *const heads[] = {
        "ERROR: AddressSanitizer: ", "ERROR: HWAddressSanitizer: ",
        "WARNING: ThreadSanitizer: ", "WARNING: MemorySanitizer: "};
    static const char *const ends[] = {" on ", " (", ": ", " in "};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct str head = str_of(heads[i]);
        if (!str_starts(text, head))
            continue;
        struct str kind = str_skip(text, head.len);
        for (size_t e = 0; e < sizeof ends / sizeof *ends; e++)
            kind = str_head(kind, str_search(kind, str_of(ends[e])));
        end_record(r);
        set_title(r, str_trim(kind));
        return true;
    }
    return false;
}

/* --- Frames ----------------------------------------------------------------------- */

static bool take_memcheck_frame(struct leak_reader *r, struct str text)
{
    if (!str_starts(text, STR("at 0x")) && !str_starts(text, STR("by 0x")))
        return false;
    text = str_head(str_skip(text, 3), sizeof r->above_room);
    settle_above(r, text);
    memcpy(r->above_room, text.ptr, text.len);
    r->above = (struct str){r->above_room, text.len};
    return true;
}

/* "(/srv/prog+0x10b0) (BuildId: 5f...)": the module. False if it has another form. */
static bool parse_module(struct str location, struct text_frame *f)
{
    size_t plus = str_rsearch(location, STR("+0x"));
    if (!str_starts(location, STR("(")) || plus == location.len)
        return false;
    f->module = str_skip(str_head(location, plus), 1);
    return true;
}

/* "in operator new(unsigned long) /srv/new.cpp:95:3", "in f (/srv/prog+0x10b0)", "(/srv/prog+0x10b0)". */
static void parse_sanitizer(struct str rest, struct text_frame *f)
{
    size_t build = str_search(rest, STR(" (BuildId: "));
    rest = str_trim(str_head(rest, build));
    if (parse_module(rest, f))
        return;
    if (str_starts(rest, STR("in ")))
        rest = str_skip(rest, 3);
    size_t open = str_rsearch(rest, STR(" ("));
    bool has_module = open < rest.len && parse_module(str_skip(rest, open + 1), f);
    if (has_module) /* of ThreadSanitizer, also behind a location */
        rest = str_head(rest, open);
    f->name = rest;
    size_t space = str_rfind(rest, ' ');
    struct str file = stacktext_split_location(str_skip(rest, space + 1), &f->line);
    if (space == rest.len || (!f->line && (has_module || (!str_has(file, STR("/")) &&
                                                          !str_starts(file, STR("<"))))))
        return;
    f->file = file;
    f->name = str_head(rest, space);
}

static bool take_sanitizer_frame(struct leak_reader *r, struct str text)
{
    struct text_frame f = TEXT_FRAME;
    uint64_t number;
    struct str rest = str_skip(text, 1);
    if (!str_starts(text, STR("#")) || !take_number(&rest, &number))
        return false;
    if (stacktext_add_known(&r->t, text))
        return true;
    stacktext_take_hex(&rest, &f.address);
    parse_sanitizer(rest, &f);
    stacktext_add(&r->t, text, &f);
    return true;
}

/* --- Lines ------------------------------------------------------------------------ */

/* Removes "==412== " of valgrind, or "==00:00:01.123 412== "; sets the process. */
static struct str without_prefix(struct leak_reader *r, struct str line)
{
    struct str rest = str_skip(line, 2), inside;
    uint64_t pid;
    if (!str_starts(line, STR("==")))
        return str_trim(line);
    size_t end = str_search(rest, STR("=="));
    inside = str_head(rest, end);
    size_t space = str_rfind(inside, ' ');
    if (space < inside.len)
        inside = str_skip(inside, space + 1);
    if (end == rest.len || !take_number(&inside, &pid) || inside.len)
        return str_trim(line);
    if (r->t.pid != (int64_t)pid)
        end_record(r);
    r->t.pid = (int64_t)pid;
    return str_trim(str_skip(rest, end + 2));
}

static bool is_first_frame(struct str text)
{
    return str_starts(text, STR("at 0x")) || str_starts(text, STR("#0 "));
}

/* "==412== Invalid write of size 4": the stack is in the next line. The texts before the other stacks
 * of an error are indented. */
static void take_memcheck_title(struct leak_reader *r, struct str line, struct str text)
{
    size_t end = str_search(str_skip(line, 2), STR("== ")) + 2;
    if (!str_starts(line, STR("==")) || end >= line.len)
        return;
    struct str rest = str_skip(line, end + 3);
    bool is_title = rest.len && rest.ptr[0] != ' ';
    set_title(r, is_title ? text : STR(""));
}

static void leak_line(struct stacktext *t, struct str line)
{
    struct leak_reader *r = (struct leak_reader *)t;
    struct str text = without_prefix(r, line);
    if (take_memcheck_head(r, text) || take_sanitizer_head(r, text) ||
        take_sanitizer_title(r, text))
        return;
    if (!r->in_record && r->title.len && is_first_frame(text))
        begin_error(r);
    if (r->in_record && (take_memcheck_frame(r, text) || take_sanitizer_frame(r, text)))
        return;
    end_record(r);
    take_memcheck_title(r, line, text);
    if (str_has(text, STR(" in loss record ")))
        stacktext_warn(t, "a record that cannot be read", line);
}

static void leak_finish(struct stacktext *t)
{
    struct leak_reader *r = (struct leak_reader *)t;
    end_record(r);
    for (size_t i = 0; i < r->indirect.count && !r->has_indirect; i++) {
        struct leak *leak = &r->indirect.items[i];
        leak->kind = builder_string(t->b, STR(INDIRECTLY));
        add_sample(r, leak, STR("leaked"), UNIT_BYTES, leak->bytes);
    }
    for (size_t i = 0; i < r->reachable.count; i++) {
        const struct leak *leak = &r->reachable.items[i];
        add_sample(r, leak, STR("reachable"), UNIT_BYTES, leak->bytes);
        add_sample(r, leak, STR("reachable blocks"), UNIT_COUNT, leak->blocks);
    }
    for (size_t i = 0; i < r->errors.count; i++)
        add_sample(r, &r->errors.items[i], STR("errors"), UNIT_COUNT, 1);
}

void leaks_begin(struct stacktext *t, struct str text)
{
    struct leak_reader *r = (struct leak_reader *)t;
    end_record(r);
    if (!take_memcheck_head(r, text))
        set_title(r, text);
}

void leaks_frame(struct stacktext *t, struct str text)
{
    struct leak_reader *r = (struct leak_reader *)t;
    if (!r->in_record && r->title.len)
        begin_error(r);
    if (r->in_record)
        take_memcheck_frame(r, text);
}

void leaks_end(struct stacktext *t)
{
    end_record((struct leak_reader *)t);
}

static bool is_xml(struct str head)
{
    return str_starts(head, STR("<?xml")) && str_has(head, STR("<valgrindoutput>")) &&
           str_has(head, STR("<protocoltool>memcheck</protocoltool>"));
}

static bool read_xml(struct leak_reader *r, struct source *in,
                     const struct import_options *options, struct builder *b,
                     struct error *err)
{
    uint64_t before = b->profile->facts.samples;
    bool damaged = false;
    bool opened = stacktext_open(&r->t, options, b, err);
    bool ok = opened && leaks_read_xml(&r->t, in, &damaged, err);
    stacktext_close(&r->t, ok);
    return ok && (!damaged || b->profile->facts.samples > before);
}

static bool leak_read(struct source *in, const struct import_options *options,
                      struct builder *b, struct error *err)
{
    struct leak_reader r = {
        .t = {.weight = 1, .finish = leak_finish}, .above = STR(""), .title = STR("")};
    if (!source_peek(in, IMPORT_HEAD_SIZE, err))
        return false;
    if (is_xml(str_head(str_span(in->begin, in->end), IMPORT_HEAD_SIZE)))
        return read_xml(&r, in, options, b, err);
    return stacktext_read(&r.t, in, options, b, leak_line, err);
}

static int leak_probe(struct str head)
{
    if (memchr(head.ptr, 0, head.len))
        return 0;
    bool is_memcheck = str_starts(head, STR("==")) &&
                       str_has(head, STR("== Memcheck, a memory error detector"));
    bool has_leaks = str_has(head, STR(" in loss record ")) ||
                     str_has(head, STR(" byte(s) leaked in ")) ||
                     str_has(head, STR("ERROR: LeakSanitizer: detected memory leaks")) ||
                     str_has(head, STR("ERROR: AddressSanitizer: ")) ||
                     str_has(head, STR("WARNING: ThreadSanitizer: ")) ||
                     str_has(head, STR("WARNING: MemorySanitizer: "));
    return is_xml(head) ? 95 : is_memcheck || has_leaks ? 92 : 0;
}

const struct importer import_leaks = {
    .name = "leaks",
    .suffixes = "memcheck,lsan",
    .summary = "leaks and errors of valgrind's memcheck (text, XML) and of sanitizers",
    .empty = "the report has no leaks or errors with stacks; valgrind lists leaks with "
             "--leak-check=full",
    .counts_all = true,
    .probe = leak_probe,
    .read = leak_read,
};
