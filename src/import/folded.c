/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks: one stack per line, "root;...;leaf COUNT", as FlameGraph's
 * stackcollapse scripts write them. Two counts per line are a differential profile:
 * before, after. Counts may have a fraction. Names may contain spaces; the count
 * follows the last space. A name may be empty: "a;;b" has three frames. As in
 * FlameGraph, empty names at the end are ignored.
 *
 * Lines of a sorted file share their beginnings, so only the part that differs from
 * the preceding line is looked up. */
#include "import/folded.h"
#include "base/array.h"
#include "base/memo.h"
#include "base/number.h"
#include "base/scan.h"
#include "import/importer.h"
#include "model/frame_label.h"

#define COUNT_MAX 18446744073709551616.0 /* 2^64 */
#define COUNT_TEXT_MAX 64                /* a longer number is not a count */

enum line_kind { LINE_GOOD, LINE_EMPTY, LINE_NO_COUNT, LINE_NEGATIVE, LINE_TOO_LARGE };

struct count {
    double value, rest; /* see the fields of struct sample */
};

/* A parsed line. */
struct folded_line {
    struct str stack;
    struct count counts[2]; /* the last one, and the one before it */
    int count_count;
};

/* Integers of 64 bits have more digits than a double. */
static bool parse_integer(struct str word, struct count *out)
{
    uint64_t integer;
    if (!number_parse_u64(word, &integer))
        return false;
    out->value = (double)integer;
    out->rest = 0;
    if (integer >> 53) {
        double low = (double)(integer & 0xffffffff), high = (double)(integer >> 32 << 32);
        out->value = high;
        weight_add(&out->value, &out->rest, low, 0);
    }
    return true;
}

/* The line without its count and without the single space before it. Further spaces
 * are not part of a name, except a name that is only a space: it stands for a lost
 * name. */
static struct str without_count(struct str line, size_t at)
{
    struct str stack = str_head(line, at ? at - 1 : 0), plain = str_trim_right(stack);
    bool nameless =
        plain.len < stack.len && (plain.len == 0 || plain.ptr[plain.len - 1] == ';');
    return nameless ? str_head(stack, plain.len + 1) : plain;
}

/* Removes a number from the end of *s, with the white space before it. */
static enum line_kind take_count(struct str *s, struct count *out)
{
    char last = s->len ? s->ptr[s->len - 1] : ' ';
    if (!byte_is_digit(last) && last != '.') /* in most cases the end of a name */
        return LINE_NO_COUNT;
    size_t at = s->len, shortest = at > COUNT_TEXT_MAX ? at - COUNT_TEXT_MAX : 0;
    while (at > shortest && !byte_is_space(s->ptr[at - 1]))
        at--;
    if (at == shortest) /* too long for a count, or there is nothing else in the line */
        return LINE_NO_COUNT;
    struct str word = str_skip(*s, at);
    if (at == 0 || word.len == 0 ||
        !(byte_is_digit(word.ptr[0]) || word.ptr[0] == '.' || word.ptr[0] == '-' ||
          word.ptr[0] == '+'))
        return LINE_NO_COUNT;
    struct count count = {0};
    if (!parse_integer(word, &count) && !number_parse_double(word, &count.value))
        return byte_is_digit(word.ptr[word.len - 1]) && byte_is_digit(word.ptr[0]) &&
                       str_find(word, '.') == word.len
                   ? LINE_TOO_LARGE
                   : LINE_NO_COUNT;
    if (count.value < 0)
        return LINE_NEGATIVE;
    if (count.value > COUNT_MAX)
        return LINE_TOO_LARGE;
    *s = without_count(*s, at);
    *out = count;
    return LINE_GOOD;
}

static enum line_kind parse_line(struct str line, struct folded_line *out)
{
    out->stack = str_trim_right(line);
    out->count_count = 0;
    if (out->stack.len == 0)
        return LINE_EMPTY;
    enum line_kind kind = take_count(&out->stack, &out->counts[0]);
    if (kind != LINE_GOOD)
        return kind;
    out->count_count = 1;
    struct str stack = out->stack;
    if (take_count(&stack, &out->counts[1]) == LINE_GOOD && stack.len)
        out->count_count = 2;
    return LINE_GOOD;
}

/* The stack of a line in a differential file: also without the first count. */
static struct str differential_stack(const struct folded_line *line)
{
    struct str stack = line->stack;
    struct count ignored;
    take_count(&stack, &ignored);
    return stack;
}

/* --- Whether a text is folded stacks ----------------------------------------------- */

#define SHARE_LINES 1000

/* Words of a frame outside of brackets: "unsigned long f() const", "Web Content". */
#define WORDS_MAX 4
#define PLAIN_WORDS_MAX 2

/* "12:30", "[2024-05-01T10:00Z]": a date or a time of day. */
static bool is_time(struct str word)
{
    size_t digits = 0, marks = 0, others = 0;
    for (size_t at = 0; at < word.len; at++) {
        char c = word.ptr[at];
        bool is_mark = c == ':' || c == '-' || c == '/' || c == '.';
        digits += byte_is_digit(c);
        marks += is_mark;
        others += !byte_is_digit(c) && !is_mark;
    }
    return word.len && (byte_is_digit(word.ptr[0]) || word.ptr[0] == '[') && marks &&
           digits >= 3 && others <= 3;
}

struct words {
    size_t count; /* outside of brackets */
    bool marked;  /* a word has characters of function names that sentences do not have */
    bool row;     /* a word is a time, or ends like a word in a table or list */
};

static struct words words_of(struct str text)
{
    struct words words = {.row = str_find(text, '\t') < text.len};
    size_t depth = 0;
    for (struct str word; (word = str_word(&text)).len;) {
        char last = word.ptr[word.len - 1];
        bool outside = depth == 0;
        words.count += outside;
        for (size_t i = 0; i < word.len; i++) {
            char c = word.ptr[i];
            bool opens = c == '(' || c == '<' || c == '{' || c == '[';
            bool closes = c == ')' || c == '>' || c == '}' || c == ']';
            depth += opens;
            depth -= closes && depth;
            words.marked |= opens || c == '_' || c == ':' || c == '$';
        }
        bool ends_item = last == ',' || last == ':' || last == '=' || last == '|';
        words.row |= outside && depth == 0 && (ends_item || is_time(word));
    }
    return words;
}

/* "- text", "> text", "| text", "2. text": an item of a list, a quotation, a table. */
static bool is_list_item(struct str text)
{
    struct str mark = str_word(&text);
    bool digits = mark.len > 1 && byte_is_digit(mark.ptr[0]);
    for (size_t i = 0; digits && i + 1 < mark.len; i++)
        digits = byte_is_digit(mark.ptr[i]);
    char last = mark.len ? mark.ptr[mark.len - 1] : 0;
    bool one = mark.len == 1 && strchr("-*+>|", last);
    return last && str_word(&text).len &&
           (one || (digits && (last == '.' || last == ')')));
}

/* Whether a single frame is accepted. It could as well be a row of a table, or a line
 * of a log or of a configuration, so it is rejected if anything indicates that. */
static bool is_frame_like(struct str text)
{
    struct str counts = text;
    struct count ignored;
    if (text.len == 0 || str_has(text, STR("\"")) || is_list_item(text))
        return false;
    if (take_count(&counts, &ignored) == LINE_GOOD && counts.len &&
        take_count(&counts, &ignored) == LINE_GOOD)
        return false; /* a third number */
    struct words words = words_of(text);
    return !words.row && words.count <= (words.marked ? WORDS_MAX : PLAIN_WORDS_MAX);
}

/* Whether ';' separates frames: it does not if it is part of a quoted text of a log or a
 * message. */
static bool has_separator(struct str stack)
{
    bool quoted = false;
    for (size_t at = 0; at < stack.len; at++) {
        quoted ^= stack.ptr[at] == '"';
        if (stack.ptr[at] == ';' && !quoted)
            return true;
    }
    return quoted &&
           str_find(stack, ';') < stack.len; /* a name with a single quote mark */
}

/* Frames between ';', which does not end sentences or statements here. */
static bool is_stack_like(struct str stack)
{
    size_t separators = 0, spaced = 0;
    for (size_t at = 0; at < stack.len; at++) {
        if (stack.ptr[at] != ';')
            continue;
        separators++;
        spaced += at + 1 == stack.len || byte_is_space(stack.ptr[at + 1]);
    }
    return separators > spaced;
}

static void add_share(struct folded_share *share, struct str text)
{
    struct folded_line line;
    enum line_kind kind = parse_line(text, &line);
    if (kind == LINE_EMPTY || str_starts(text, STR("#")))
        return;
    if (kind == LINE_NO_COUNT) {
        share->bad++;
        return;
    }
    bool stack = has_separator(line.stack);
    bool like = stack ? is_stack_like(line.stack)
                      : is_frame_like(line.stack) && !byte_is_space(text.ptr[0]);
    share->good += like;
    share->stacks += like && stack;
    share->bad += !like;
}

struct folded_share folded_share(struct str head)
{
    struct folded_share share = {0};
    size_t lines = 0;
    for (; head.len && lines < SHARE_LINES; lines++) {
        bool whole = str_find(head, '\n') < head.len;
        struct str text = str_cut(&head, '\n');
        if (whole || lines == 0) /* the last line may be incomplete */
            add_share(&share, text);
    }
    return share;
}

static bool is_differential(struct str head)
{
    size_t good = 0, pairs = 0;
    for (size_t lines = 0; head.len && lines < SHARE_LINES; lines++) {
        bool whole = str_find(head, '\n') < head.len;
        struct folded_line line;
        struct str text = str_cut(&head, '\n');
        if ((!whole && lines) || parse_line(text, &line) != LINE_GOOD)
            continue;
        good++;
        pairs += line.count_count == 2;
    }
    return good && pairs == good;
}

/* A difference of files or a mail: their lines can be those of folded stacks. */
static bool is_other_text(struct str head)
{
    struct str rest = head, first = str_cut(&rest, '\n'), second = str_cut(&rest, '\n');
    return str_starts(first, STR("diff ")) || str_starts(first, STR("Index: ")) ||
           (str_starts(first, STR("--- ")) && str_starts(second, STR("+++ "))) ||
           (str_starts(first, STR("From ")) && str_has(head, STR("\nSubject:")));
}

/* The format has no signature, so most lines must be such stacks; nearly all of them
 * if few have more than one frame. */
static int folded_probe(struct str head)
{
    if (memchr(head.ptr, 0, head.len) || is_other_text(head))
        return 0;
    if (head.len == IMPORT_HEAD_SIZE && str_find(head, '\n') == head.len)
        return str_find(head, ';') < head.len ? 20 : 0; /* a single very deep stack */
    struct folded_share share = folded_share(head);
    size_t all = share.good + share.bad;
    bool many_stacks = share.stacks * 10 >= all;
    bool most = many_stacks ? share.good * 2 > all : share.good * 10 >= all * 9;
    if (all == 0 || share.good == 0 || !most)
        return 0;
    return (int)(share.good * (share.stacks ? 45 : 10) / all);
}

/* Checks that the callees of each caller are adjacent, so that the stacks can be drawn
 * in the order of the input. Lines in byte order are accepted, even if other
 * text ("a b") is between "a" and "a;b". */
struct line_order {
    uint32_t *seen; /* by stack: the last line with it or one of its callees */
    size_t seen_cap;
    uint32_t line; /* number of lines with stacks */
    char *last;    /* the preceding line */
    size_t last_len, last_cap;
    bool unsorted;
    struct input_location
        again; /* the first line with a stack that had ended before; line 0: none */
};

struct folded_reader {
    struct builder *b;
    struct line_order *order; /* NULL: any order */
    struct memo names;        /* frames by their text */
    struct memo whole;        /* stacks by their text */
    struct arena arena;
    char *last; /* the stack text of the last line */
    size_t last_len, last_cap;
    size_t shared;    /* length of the beginning that this line has in common with it */
    size_t *ends;     /* where each frame of the last line ends in it, */
    stack_id *stacks; /* and the stack up to that frame */
    size_t segment_count, end_cap, stack_cap;
    bool differential;
    event_id before, after; /* `before` is unused if lines have a single count */
};

static frame_id frame_named(struct folded_reader *r, struct str name)
{
    if (name.len == 0)
        return builder_frame(r->b, &(struct frame){.kind = FRAME_MARKER});
    struct hash128 key = hash_bytes128(name.ptr, name.len);
    const uint64_t *known = memo_find(&r->names, key);
    if (known)
        return (frame_id)*known;
    struct frame f = {.name = builder_string(r->b, name),
                      .kind = label_suffix_kind(name)};
    if (str_equal(name, STR("-")) || str_equal(name, STR("--")))
        f.kind = FRAME_MARKER;
    frame_id frame = builder_frame(r->b, &f);
    memo_put(&r->names, key, frame);
    return frame;
}

static bool segment_add(struct folded_reader *r, size_t end)
{
    size_t count = r->segment_count + 1;
    if (!ARRAY_RESERVE(&r->arena, r->ends, r->end_cap, count) ||
        !ARRAY_RESERVE(&r->arena, r->stacks, r->stack_cap, count))
        return false;
    r->ends[r->segment_count++] = end;
    return true;
}

/* The stack of the text, whose first `shared` bytes equal those of the last line, and
 * so do the frames in them. */
static stack_id parse_stack(struct folded_reader *r, struct str text, size_t shared)
{
    while (r->segment_count && r->ends[r->segment_count - 1] >= shared)
        r->segment_count--;
    stack_id stack = 0;
    size_t at = 0;
    if (r->segment_count) {
        stack = r->stacks[r->segment_count - 1];
        at = r->ends[r->segment_count - 1] + 1;
    }
    size_t first = r->segment_count;
    builder_path_clear(r->b);
    for (bool more = text.len > 0; more; at++) {
        if (r->segment_count >= r->b->limits->depth) {
            builder_cut(r->b);
            break;
        }
        struct str name = str_head(str_skip(text, at), str_find(str_skip(text, at), ';'));
        frame_id frame = frame_named(r, name);
        if (r->segment_count == first) /* the tree of stacks may branch here */
            trie_prefetch(&r->b->stack_tree, stack, frame);
        builder_path_add(r->b, frame);
        at += name.len;
        more = at < text.len;
        if (!segment_add(r, at))
            return stack;
    }
    size_t count = r->segment_count - first;
    if (count)
        stack = builder_push_run(r->b, stack, r->b->path.items, count, r->stacks + first);
    if (!ARRAY_RESERVE(&r->arena, r->last, r->last_cap, text.len + 1))
        return stack;
    memcpy(r->last + shared, text.ptr + shared, text.len - shared);
    r->last_len = text.len;
    return stack;
}

/* The stack of the text. Files that were not merged repeat the same lines, so whole
 * texts are looked up first. If most of the text equals the preceding line, as in
 * sorted files, parsing the rest is faster than hashing. */
static stack_id stack_of(struct folded_reader *r, struct str text)
{
    while (str_ends(text, STR(";")))
        text.len--;
    size_t shared = text.len < r->shared ? text.len : r->shared;
    if (shared > text.len / 2 || r->order) /* the order check needs the segments */
        return parse_stack(r, text, shared);
    struct hash128 key = hash_bytes128(text.ptr, text.len);
    const uint64_t *known = memo_find(&r->whole, key);
    if (known)
        return (stack_id)*known;
    stack_id stack = parse_stack(r, text, shared);
    memo_put(&r->whole, key, stack);
    return stack;
}

static void add_count(struct folded_reader *r, event_id event, stack_id stack,
                      const struct count *count)
{
    builder_add(r->b, &(struct sample){.time = TIME_NONE,
                                       .cpu = CPU_NONE,
                                       .event = event,
                                       .stack = stack,
                                       .count = 1,
                                       .weight = count->value,
                                       .rest = count->rest});
}

static void add_line(struct folded_reader *r, const struct folded_line *line)
{
    const struct count *after = &line->counts[0], *before = &line->counts[1];
    if (!r->differential) {
        add_count(r, r->after, stack_of(r, line->stack), after);
        return;
    }
    stack_id stack = stack_of(r, differential_stack(line));
    if (before->value > 0 || after->value <= 0)
        add_count(r, r->before, stack, before);
    if (after->value > 0)
        add_count(r, r->after, stack, after);
}

static const char *complaint(enum line_kind kind)
{
    switch (kind) {
    case LINE_NEGATIVE:
        return "a negative count";
    case LINE_TOO_LARGE:
        return "a count that is too large";
    default:
        return "no count at the end of the line";
    }
}

/* --- Whether the order of the input can be drawn -------------------------------------
 */

/* Compares the line with the preceding one and copies it. */
static bool order_add_text(struct folded_reader *r, struct str text)
{
    struct line_order *o = r->order;
    o->unsorted |= str_compare((struct str){o->last, o->last_len}, text) > 0;
    if (!ARRAY_RESERVE(&r->arena, o->last, o->last_cap, text.len + 1))
        return false;
    memcpy(o->last, text.ptr, text.len);
    o->last_len = text.len;
    return true;
}

/* Records the stacks of the last line, and the first one that had ended before. */
static bool order_add(struct folded_reader *r, uint64_t line, struct str text)
{
    struct line_order *o = r->order;
    if (!order_add_text(r, text))
        return false;
    o->line++;
    for (size_t i = 0; i < r->segment_count; i++) {
        stack_id stack = r->stacks[i];
        if (!ARRAY_RESERVE_ZEROED(&r->arena, o->seen, o->seen_cap, (size_t)stack + 1))
            return false;
        uint32_t *seen = &o->seen[stack];
        if (*seen && *seen + 1 < o->line && !o->again.line)
            input_location_set_line(&o->again, line, i ? r->ends[i - 1] + 2 : 1, text);
        *seen = o->line;
    }
    return true;
}

static bool order_check(const struct line_order *o, struct error *err)
{
    if (!o || !o->unsorted || !o->again.line)
        return true;
    error_set(
        err,
        "unsorted input: this frame occurs again after others, and would be drawn twice");
    err->location = o->again;
    return error_hint(err, "remove --no-sort; or draw it with --flamechart, which keeps "
                           "the order of time; or sort the lines (LC_ALL=C sort)");
}

/* Whether there are one or two counts per line is decided from the beginning of the
 * input. */
static bool folded_start(struct folded_reader *r, struct source *in, struct str head,
                         struct error *err)
{
    if (!memo_init(&r->names, &r->arena, 8192) || !memo_init(&r->whole, &r->arena, 32768))
        return error_memory(err);
    if (!source_peek(in, IMPORT_HEAD_SIZE, err))
        return false;
    if (head.len == 0)
        head = str_head(str_span(in->begin, in->end), IMPORT_HEAD_SIZE);
    r->differential = is_differential(head);
    if (r->differential) {
        r->before = builder_event(r->b, STR("before"), UNIT_COUNT);
        r->after = builder_event(r->b, STR("after"), UNIT_COUNT);
        r->b->profile->facts.differential = true;
    } else {
        r->after = builder_event(r->b, STR("samples"), UNIT_COUNT);
    }
    return true;
}

/* The part that the line shares with the last one contains no line end. */
static bool next_line(struct folded_reader *r, struct lines *lines, struct str *text)
{
    const struct source *in = lines->source;
    size_t window = (size_t)(in->end - in->begin);
    size_t shorter = window < r->last_len ? window : r->last_len;
    r->shared = scan_common(in->begin, r->last, shorter);
    return lines_next_after(lines, r->shared, text);
}

static bool folded_read(struct source *in, const struct import_options *options,
                        struct builder *b, struct error *err)
{
    struct line_order order = {0};
    struct folded_reader r = {.b = b, .order = options->in_order ? &order : NULL};
    struct lines lines = lines_of(in, err);
    struct str text;
    bool ok = folded_start(&r, in, options->head, err);
    while (ok && !builder_failed(b) && next_line(&r, &lines, &text)) {
        struct folded_line line;
        if (str_starts(text, STR("# "))) /* a comment */
            continue;
        enum line_kind kind = parse_line(text, &line);
        if (kind == LINE_GOOD && r.differential && line.count_count < 2)
            kind = LINE_NO_COUNT;
        if (kind == LINE_GOOD) {
            add_line(&r, &line);
            ok = !r.order || order_add(&r, lines.number, text) || error_memory(err);
        } else if (kind != LINE_EMPTY && text.ptr[0] != '#')
            builder_warn(b, complaint(kind), lines.number, text.len, text);
    }
    builder_end_scratch(b, &r.arena);
    return ok && !lines.failed && order_check(r.order, err);
}

static size_t folded_split(struct str bytes, size_t from)
{
    size_t at = from + str_find(str_skip(bytes, from), '\n');
    return at < bytes.len ? at + 1 : bytes.len;
}

const struct importer import_folded = {
    .name = "folded",
    .suffixes = "folded,collapsed,fold",
    .summary = "folded stacks, with one count or two (differential)",
    .probe = folded_probe,
    .read = folded_read,
    .split = folded_split,
};
