/* SPDX-License-Identifier: Apache-2.0 */
#include "import/perf_line.h"
#include "base/hash.h"
#include "base/number.h"
#include "model/name.h"

/* --- Frame lines ----------------------------------------------------------------- */

/* The start of the last bracketed text of the line, with balanced brackets if
 * possible: "x (/tmp/a (deleted))" starts at "/tmp". s.len if the line does not end
 * with one. */
static size_t module_start(struct str s)
{
    size_t depth = 0, last = s.len;
    if (s.len == 0 || s.ptr[s.len - 1] != ')')
        return s.len;
    for (size_t i = s.len; i-- > 0;) {
        if (s.ptr[i] == ')')
            depth++;
        if (s.ptr[i] != '(')
            continue;
        bool starts_word = i == 0 || s.ptr[i - 1] == ' ';
        if (starts_word && last == s.len)
            last = i;
        if (--depth == 0 && starts_word)
            return i;
        if (depth == 0)
            break;
    }
    return last;
}

static bool is_hex(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!byte_is_hex(s.ptr[i]))
            return false;
    return s.len != 0;
}

bool perf_parse_frame(struct str line, struct perf_frame_line *f, bool bare)
{
    struct str rest = str_trim(line);
    size_t open = module_start(rest);
    if (open == rest.len && !bare)
        return false;
    f->module = STR("[unknown]");
    f->is_bare = open == rest.len;
    if (open < rest.len)
        f->module = str_skip(str_head(rest, rest.len - 1), open + 1);
    struct str symbol = str_trim_right(str_head(rest, open));
    rest = symbol;
    f->pc = str_word(&rest);
    if (is_hex(f->pc)) {
        f->symbol = str_trim(rest);
        /* only an address (-F ip), or a module behind it (-F ip,dso); behind the address and the
         * space of an empty symbol, a module has two spaces */
        if (f->symbol.len == 0 && open <= f->pc.len + 1)
            f->symbol = STR("[unknown]");
        return true;
    }
    f->pc = STR(""); /* only inlined frames may have no address */
    f->symbol = symbol;
    return perf_is_inlined(f) && symbol.len;
}

frame_id perf_frame(struct builder *b, const struct import_options *options,
                    const struct perf_frame_line *line, struct str symbol, bool inlined)
{
    bool has_module = !perf_is_inlined(line);
    inlined |= !has_module;
    struct frame f = {.kind = inlined ? FRAME_INLINED : module_kind(line->module)};
    bool unknown = str_equal(symbol, STR("[unknown]"));
    if (symbol.len == 0) /* a symbol without a name; all folders show it as this */
        f.name = builder_string(b, STR(" "));
    else if (!unknown)
        f.name = builder_string(b, options->signatures ? symbol : name_tidy(symbol));
    if (!str_equal(line->module, STR("[unknown]")) && has_module)
        f.module = builder_module(b, line->module, STR(""));
    if (options->every_address || (unknown && options->addresses))
        number_parse_hex(line->pc, &f.address);
    return builder_frame(b, &f);
}

static frame_id in_module(struct perf_inlined *in, struct builder *b, frame_id frame,
                          module_id module)
{
    struct perf_inlined_entry *cached =
        &in->cached[hash_pair(frame, module) % PERF_INLINED_CACHED];
    if (cached->from != frame || cached->module != module) {
        struct frame f = b->profile->frames[frame];
        f.module = module;
        *cached = (struct perf_inlined_entry){frame, builder_frame(b, &f), module};
    }
    return cached->to;
}

void perf_inlined_settle(struct perf_inlined *in, struct builder *b, size_t from,
                         size_t to, stack_id callers)
{
    const struct profile *p = b->profile;
    if (!in->any)
        return;
    module_id module = p->frames[p->stacks[callers].frame].module;
    for (size_t i = to; i-- > from;) {
        frame_id *frame = &b->path.items[i];
        const struct frame *f = &p->frames[*frame];
        if (f->kind != FRAME_INLINED || f->module)
            module = f->module;
        else if (module)
            *frame = in_module(in, b, *frame, module);
    }
}

bool perf_is_annotation(struct str line)
{
    struct str text = str_trim(line);
    size_t colon = str_rfind(text, ':'), open = str_rfind(text, '[');
    uint64_t number;
    if (str_starts(text, STR("0x")) || str_ends(text, STR(":?")) ||
        str_starts(text, STR("ABI:")) || str_starts(text, STR("ilen: ")) ||
        str_starts(text, STR("insn: ")))
        return true;
    if (open < text.len && text.ptr[text.len - 1] == ']' &&
        is_hex(str_head(str_skip(text, open + 1), text.len - open - 2)))
        return true;
    return colon < text.len && number_parse_u64(str_skip(text, colon + 1), &number);
}

bool perf_parse_location(struct str line, struct str *file, uint32_t *number)
{
    struct str text = str_trim(line);
    size_t colon = str_rfind(text, ':');
    uint64_t v;
    *file = str_head(text, colon);
    if (colon == text.len || !number_parse_u64(str_skip(text, colon + 1), &v) || v == 0 ||
        v > UINT32_MAX || str_equal(*file, STR("??")))
        return false;
    *number = (uint32_t)v;
    return file->len != 0;
}

/* --- Header lines ---------------------------------------------------------------- */

static bool is_number(struct str s)
{
    uint64_t v;
    return number_parse_u64(s, &v);
}

static bool is_id_number(struct str word)
{
    struct str first = str_cut(&word, '/');
    return (is_number(first) || str_equal(first, STR("-1"))) &&
           (word.len == 0 || is_number(word) || str_equal(word, STR("-1")));
}

/* "12", "12/34", "-1" or "12/-1": a process or thread ID; -1 if it has exited. Most words are none,
 * as their first byte shows. */
static inline bool is_id(struct str word)
{
    return word.len && (byte_is_digit(word.ptr[0]) || word.ptr[0] == '-') &&
           is_id_number(word);
}

static bool is_cpu(struct str word)
{
    return word.len > 2 && word.ptr[0] == '[' && word.ptr[word.len - 1] == ']' &&
           is_number(str_head(str_skip(word, 1), word.len - 2));
}

/* "123.456789:" as nanoseconds. */
static bool parse_time(struct str word, uint64_t *time)
{
    if (word.len < 4 || word.ptr[word.len - 1] != ':')
        return false;
    word.len--;
    struct str seconds = str_cut(&word, '.');
    uint64_t s, fraction;
    if (!number_parse_u64(seconds, &s) || !number_parse_u64(word, &fraction) ||
        word.len > 9 || s > UINT64_MAX / 1000000000 - 1)
        return false;
    for (size_t i = word.len; i < 9; i++)
        fraction *= 10;
    *time = s * 1000000000 + fraction;
    return true;
}

/* perf pads an ID to 5 or 7 columns and a period to 10; a space is before each field. */
#define ID_COLUMNS 6
#define PERIOD_COLUMNS 11

/* The columns of a number in its line, with the spaces before it. */
static size_t columns_of(struct str line, struct str word)
{
    const char *from = word.ptr;
    while (from > line.ptr && from[-1] == ' ')
        from--;
    size_t columns = (size_t)(word.ptr - from) + str_cut(&word, '/').len;
    return columns + (from == line.ptr);
}

/* Whether a number that neither a CPU nor a time follows is an ID: others are a period, or a part
 * of the comm. */
static bool has_id_columns(struct str line, struct str word)
{
    size_t columns = columns_of(line, word);
    return columns >= ID_COLUMNS && columns < PERIOD_COLUMNS;
}

static bool is_event(struct str word)
{
    return word.len > 1 && word.ptr[word.len - 1] == ':';
}

bool perf_find_head(struct str line, struct perf_head *h)
{
    struct str remaining = line;
    bool at_event = false;
    uint64_t time;
    *h = (struct perf_head){.id = STR(""), .frame = STR("")};
    while (remaining.len && !h->sure) {
        const char *end = remaining.ptr;
        struct str word = str_word(&remaining);
        if (parse_time(word, &time))
            break; /* what follows it, or a CPU at the beginning, is no ID */
        bool cpu = is_cpu(word);
        at_event |= h->id.len && is_event(word);
        if (!cpu && !is_id(word))
            continue;
        struct str before = str_trim(str_span(line.ptr, end));
        if (cpu && before.len)
            continue;
        if (cpu)
            break;
        struct str peek = remaining, next = str_word(&peek);
        h->sure = is_cpu(next) || parse_time(next, &time);
        if (h->sure || (before.len && !at_event && has_id_columns(line, word))) {
            h->id = word;
            h->comm = before;
            h->rest = remaining;
        }
    }
    return h->id.len != 0;
}

#define COMM_MOST 32 /* the kernel has 15 bytes; perf adds a PID to some */

/* Whether the text begins like what follows the comm and the ID: a CPU, a time, a period or an
 * event; the last two, if nothing but an event follows. */
static bool is_field(struct str line, struct str rest)
{
    uint64_t number;
    struct str word = str_word(&rest), event = rest;
    str_word(&event);
    bool last = !str_trim(rest).len,
         before_event = !event.len && is_event(str_trim(rest));
    return (last && is_event(word)) || is_cpu(word) || parse_time(word, &number) ||
           (number_parse_u64(word, &number) && (last || before_event) &&
            columns_of(line, word) >= PERIOD_COLUMNS);
}

bool perf_find_loose_head(struct str line, struct perf_head *h)
{
    struct str text = str_trim(line), rest = text, id = str_word(&rest);
    bool has_id = is_id(id) && has_id_columns(line, id);
    if (!has_id) {
        id = str_skip(text, text.len);
        rest = text;
    }
    struct str after = rest;
    while (str_trim(after).len && !is_field(line, after))
        str_word(&after);
    struct str comm = str_trim(str_span(rest.ptr, after.ptr));
    bool fits = comm.len <= COMM_MOST && !(has_id && comm.len);
    if (has_id)
        comm = str_head(id, 0);
    *h = (struct perf_head){.comm = comm, .id = id, .rest = after, .frame = STR("")};
    return fits;
}

#define ADDRESS_COLUMNS 16
#define FRAME_PC_LEAST 3 /* hexadecimal digits of an address in a header */
#define FRAME_COLUMNS 18 /* of that address with the spaces before it */

#define TID_COLUMNS 7 /* at most, of the second number of an ID "12/34" */

/* The most spaces that fill the columns of the ID "12/34"; other words are not filled. */
static size_t filling(struct str word)
{
    struct str second = word;
    str_cut(&second, '/');
    bool filled = is_id(word) && second.len && second.len < TID_COLUMNS;
    return filled ? TID_COLUMNS - second.len : 0;
}

/* Finds the address in a line: hexadecimal digits at the right of their columns. */
static bool find_address(struct str line, struct str *address)
{
    struct str rest = line, before = str_head(line, 0);
    for (; rest.len; before = *address) {
        *address = str_word(&rest);
        const char *end = address->ptr + address->len;
        size_t columns = (size_t)(end - (before.ptr + before.len));
        size_t least =
            before.ptr == line.ptr && !before.len ? FRAME_COLUMNS - 1 : FRAME_COLUMNS;
        if (columns >= least && columns <= least + filling(before) &&
            address->len >= FRAME_PC_LEAST && is_hex(*address))
            return true;
    }
    return false;
}

bool perf_find_flat_head(struct str line, struct perf_head *h)
{
    struct str address;
    struct perf_frame_line frame;
    if (line.len == 0 || line.ptr[0] == '\t' || !find_address(line, &address))
        return false;
    struct str before = str_span(line.ptr, address.ptr);
    if (!perf_find_head(str_trim(before), h) && !perf_find_loose_head(before, h))
        return false;
    h->frame = str_span(address.ptr, line.ptr + line.len);
    return perf_parse_frame(h->frame, &frame, true);
}

bool perf_is_stack_line(struct str line)
{
    if (line.len <= ADDRESS_COLUMNS || line.ptr[0] != '\t')
        return false;
    struct str address = str_trim_left(str_head(str_skip(line, 1), ADDRESS_COLUMNS));
    return is_hex(address) &&
           (line.len == ADDRESS_COLUMNS + 1 || line.ptr[ADDRESS_COLUMNS + 1] == ' ');
}

static int64_t id_number(struct str word)
{
    uint64_t v;
    return number_parse_u64(word, &v) && v <= INT64_MAX ? (int64_t)v : ID_NONE;
}

thread_id perf_thread(struct builder *b, struct str comm, struct str id)
{
    struct str second = id, first = str_cut(&second, '/');
    int64_t pid = second.len ? id_number(first) : ID_NONE;
    int64_t tid = id_number(second.len ? second : first);
    return builder_thread(b, pid, tid, comm);
}

/* The mode of -F misc: kernel, user, hypervisor or guest. */
static bool is_mode(struct str word)
{
    return word.len == 1 && str_find(STR("KUHGg"), word.ptr[0]) < 5;
}

bool perf_parse_frame_in_header(struct str text, struct perf_frame_line *f)
{
    struct str rest = str_trim(text);
    size_t spaces = (size_t)(rest.ptr - text.ptr);
    if (perf_parse_frame(rest, f, false))
        return f->pc.len >= FRAME_PC_LEAST;
    return spaces && spaces + str_word(&rest).len >= FRAME_COLUMNS &&
           perf_parse_frame(text, f, true) && f->pc.len >= FRAME_PC_LEAST;
}

struct str perf_parse_fields(struct sample *s, struct str rest, uint64_t *period)
{
    uint64_t cpu;
    *period = 0;
    for (struct str remaining = rest; remaining.len; rest = remaining) {
        struct str word = str_word(&remaining);
        if (is_cpu(word)) {
            number_parse_u64(str_head(str_skip(word, 1), word.len - 2), &cpu);
            s->cpu = cpu < CPU_NONE ? (uint32_t)cpu : CPU_NONE;
        } else if (parse_time(word, &s->time)) {
            continue;
        } else if ((size_t)(word.ptr - rest.ptr) + word.len >= FRAME_COLUMNS) {
            break; /* the frame */
        } else if (!number_parse_u64(word, period)) {
            bool flags = s->time == TIME_NONE && s->cpu != CPU_NONE && word.len &&
                         word.ptr[word.len - 1] != ':';
            if (!flags && !(s->time == TIME_NONE && is_mode(word)))
                break;
        }
    }
    return rest;
}

enum unit perf_event_unit(struct str name, bool has_period)
{
    if (!has_period)
        return UNIT_COUNT;
    if (str_starts(name, STR("cpu-clock")) || str_starts(name, STR("task-clock")))
        return UNIT_NANOSECONDS;
    if (str_equal(name, STR("off-cpu")) || str_equal(name, STR("offcpu-time")) ||
        str_equal(name, STR("lock-holder")))
        return UNIT_NANOSECONDS;
    if (str_starts(name, STR("sched:sched_stat_"))) /* they count their time */
        return UNIT_NANOSECONDS;
    if (str_equal(name, STR("samples"))) /* the event name that stoke script prints for
                                            other formats */
        return UNIT_COUNT;
    return str_starts(name, STR("cycles")) ? UNIT_CYCLES : UNIT_EVENTS;
}

bool perf_symbol_is_process(struct str symbol)
{
    return str_starts(symbol, STR("(")) && !str_starts(symbol, STR("(anonymous"));
}
