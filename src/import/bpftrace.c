/* SPDX-License-Identifier: Apache-2.0 */
/* bpftrace's maps, as it prints them when it ends. An entry is a key and a value. A
 * stack that is part of the key has one line per frame, leaf first.
 *
 *   @[
 *       nanosleep+5
 *       do_syscall_64+113
 *   ,
 *       __nanosleep+23
 *       main+12
 *   , bash]: 3
 *   @bytes[4711, bash,
 *           7fd8f863cd7c read+12 (/usr/lib/libc.so.6)
 *   ]: 4096
 *
 * Every map is a separate event. Several stacks in one key become one stack: the
 * kernel stack, which is printed first, is called by the user stack. Numeric keys are
 * process and thread, other keys are the thread's name. An empty stack is printed as
 * nothing between two commas. Histograms and entries without a stack are skipped and
 * counted.
 *
 * With -f json, a line is a map. The key of an entry is a string with commas between its
 * parts; a stack begins with a line end:
 *
 *   {"type": "map", "data": {"@": {"\n    nanosleep+5\n,\n    main+12\n,bash": 3}}} */
#include "base/number.h"
#include "codec/json.h"
#include "import/stacktext.h"

#define KERNEL_HALF 0xffff800000000000u

struct bpftrace_reader {
    struct stacktext text;
    string_id map;      /* of the current entry */
    struct output name; /* from the keys that are neither stacks nor numbers */
    bool in_entry;
    bool has_stack; /* the current entry's key has a stack, which may be empty */
    int numbers;    /* number of numeric keys so far */
    bool skipping; /* skipping the lines of a histogram or of a value that is not a number
                    */
};

/* --- Frames ------------------------------------------------------------------------- */

/* "name+12" with the offset in decimal. */
static void split_offset(struct text_frame *f)
{
    size_t at = f->name.len;
    while (at && byte_is_digit(f->name.ptr[at - 1]))
        at--;
    if (at < 2 || at == f->name.len || f->name.ptr[at - 1] != '+')
        return;
    f->offset = str_skip(f->name, at - 1);
    f->name = str_head(f->name, at - 1);
}

/* Removes the address that the perf style begins with: 16 digits, or any number of
 * digits in a line that ends with a module in brackets. */
static bool take_address(struct str *rest, struct text_frame *f)
{
    struct str left = *rest, word = str_word(&left);
    size_t open = str_rsearch(*rest, STR(" ("));
    bool has_module = str_ends(*rest, STR(")")) && open < rest->len && open > word.len;
    if ((word.len != 16 && !has_module) || left.len == 0 ||
        !number_parse_hex(word, &f->address))
        return false;
    *rest = str_trim(left);
    open = str_rsearch(*rest, STR(" ("));
    if (has_module && open < rest->len) {
        f->module = str_span(rest->ptr + open + 2, rest->ptr + rest->len - 1);
        *rest = str_head(*rest, open);
    }
    if (str_equal(f->module, STR("[unknown]")))
        f->module = STR("");
    return true;
}

static void add_frame(struct stacktext *t, struct str text)
{
    struct text_frame f = TEXT_FRAME;
    struct str rest = text;
    uint64_t address;
    if (text.len == 0 || stacktext_add_known(t, text))
        return;
    take_address(&rest, &f);
    if (str_starts(rest, STR("0x")) && number_parse_hex(rest, &address))
        f.address = address; /* no symbol */
    else
        f.name = rest;
    if (f.address >= KERNEL_HALF)
        f.kind = FRAME_KERNEL;
    split_offset(&f);
    stacktext_add(t, text, &f);
}

/* --- Keys and values ---------------------------------------------------------------- */

static void add_to_name(struct bpftrace_reader *r, struct str key)
{
    if (r->name.used)
        output_str(&r->name, STR(", "));
    output_str(&r->name, key);
}

/* A single key; an empty one is a stack without frames. */
static void add_key(struct bpftrace_reader *r, struct str key)
{
    struct stacktext *t = &r->text;
    uint64_t number;
    bool is_number = number_parse_u64(key, &number) && number <= INT64_MAX;
    if (key.len == 0)
        r->has_stack = true;
    else if (is_number && r->numbers < 2)
        *(r->numbers++ ? &t->tid : &t->pid) = (int64_t)number;
    else
        add_to_name(r, key);
}

/* "4711, bash, ": keys separated by ", ". `goes_on`: there is also a separator after
 * the last one. */
static void add_keys(struct bpftrace_reader *r, struct str keys, bool goes_on)
{
    struct str comma = STR(", ");
    for (;;) {
        size_t at = str_search(keys, comma);
        if (at == keys.len && goes_on && keys.len == 0)
            return;
        add_key(r, str_head(keys, at));
        if (at == keys.len)
            return;
        keys = str_skip(keys, at + comma.len);
    }
}

/* The number in a value: "3", or the total of "count 2, average 5, total 10". */
static bool set_value(struct bpftrace_reader *r, struct str value)
{
    struct str total = STR(", total "), number = str_trim(value);
    size_t at = str_rsearch(number, total);
    if (at < number.len)
        number = str_skip(number, at + total.len);
    return stacktext_is_count(number) && stacktext_set_count(&r->text, number);
}

static void add_sample(struct bpftrace_reader *r)
{
    struct stacktext *t = &r->text;
    struct str map = profile_string(t->b->profile, r->map);
    t->event = builder_event(t->b, map, UNIT_COUNT);
    t->thread = builder_string(t->b, output_contents(&r->name));
    stacktext_add_stack(t, builder_path_from_leaf(t->b));
}

#define NO_NUMBER "a map's value that is not a number (a histogram?)"
#define NO_STACK "a map entry without a stack"
#define OUTSIDE "a line outside of all maps"

static bool lacks_stack(const struct bpftrace_reader *r)
{
    return !r->has_stack && r->text.b->path.count == 0;
}

static void end_entry(struct bpftrace_reader *r, struct str value, struct str line)
{
    struct stacktext *t = &r->text;
    bool is_number = stacktext_is_count(value) || str_has(value, STR(", total "));
    r->in_entry = false;
    if (!is_number)
        stacktext_warn(t, NO_NUMBER, line);
    else if (lacks_stack(r))
        stacktext_warn(t, NO_STACK, line);
    else if (set_value(r, value))
        add_sample(r);
    r->skipping = !is_number;
    t->weight = 0;
    builder_path_clear(t->b);
}

/* --- Lines -------------------------------------------------------------------------- */

/* Where the key ends: at the bracket of "]: VALUE" (a histogram's value is in the next
 * lines). The line's length if the key continues in the next line. */
static size_t key_end(struct str line)
{
    if (str_ends(line, STR("]:")))
        return line.len - 2;
    return str_rsearch(line, STR("]: "));
}

/* The rest of a line: keys that are not stacks, and perhaps the value. */
static void read_keys(struct bpftrace_reader *r, struct str keys, struct str line)
{
    size_t end = key_end(keys);
    bool is_single = lacks_stack(r);
    if (end < keys.len) {
        if (end || is_single)
            add_keys(r, str_head(keys, end), false);
        end_entry(r, str_skip(keys, end + 3), line);
    } else {
        add_keys(r, keys, true);
    }
}

static void clear_entry(struct bpftrace_reader *r)
{
    r->text.pid = r->text.tid = ID_NONE;
    r->name.used = 0;
    r->numbers = 0;
    r->has_stack = r->skipping = false;
    builder_path_clear(r->text.b);
}

/* "@name[" and what follows it. */
static void begin_entry(struct bpftrace_reader *r, struct str line, size_t open)
{
    clear_entry(r);
    r->map = builder_string(r->text.b, str_head(line, open));
    r->in_entry = true;
    struct str rest = str_skip(line, open + 1);
    if (rest.len == 0)
        r->has_stack = true;
    else
        read_keys(r, rest, line);
}

/* A line within an entry: a frame, ", KEYS" or "]: VALUE". */
static void read_entry(struct bpftrace_reader *r, struct str line)
{
    size_t end = key_end(line);
    if (line.len && line.ptr[0] == ',') {
        read_keys(r, str_skip(line, str_starts(line, STR(", ")) ? 2 : 1), line);
    } else if (end < line.len &&
               (end == 0 || stacktext_is_count(str_skip(line, end + 3)))) {
        add_frame(&r->text, str_trim(str_head(line, end)));
        end_entry(r, str_skip(line, end + 3), line);
    } else {
        r->has_stack = true;
        add_frame(&r->text, str_trim(line));
    }
}

/* The offset of the bracket that opens the key of a map entry, "@name["; 0 if the line
 * does not begin an entry. */
static size_t entry_open(struct str line)
{
    size_t at = 1;
    if (line.len == 0 || line.ptr[0] != '@')
        return 0;
    while (at < line.len && byte_is_word(line.ptr[at]))
        at++;
    return at < line.len && line.ptr[at] == '[' ? at : 0;
}

/* --- JSON --------------------------------------------------------------------------- */

/* "4711,bash": parts of a key. Before a stack, its comma follows. */
static void add_json_keys(struct bpftrace_reader *r, struct str keys, bool before_stack)
{
    for (;;) {
        size_t at = str_search(keys, STR(","));
        if (at < keys.len || at || !before_stack)
            add_key(r, str_head(keys, at));
        if (at == keys.len)
            return;
        keys = str_skip(keys, at + 1);
    }
}

/* The lines of a stack, and the comma after it. Returns the rest of the key. */
static struct str read_json_stack(struct bpftrace_reader *r, struct str rest)
{
    r->has_stack = true;
    while (rest.len && byte_is_space(rest.ptr[0])) {
        size_t end = str_search(rest, STR("\n"));
        add_frame(&r->text, str_trim(str_head(rest, end)));
        rest = str_skip(rest, end < rest.len ? end + 1 : end);
    }
    return str_skip(rest, str_starts(rest, STR(",")) ? 1 : 0);
}

static void read_json_key(struct bpftrace_reader *r, struct str key)
{
    if (key.len == 0)
        add_key(r, key);
    while (key.len) {
        size_t end = str_search(key, STR("\n"));
        if (end)
            add_json_keys(r, str_head(key, end), end < key.len);
        key = str_skip(key, end);
        if (key.len)
            key = read_json_stack(r, str_skip(key, 1));
    }
}

/* A number, or that of "total" in an object. */
static bool set_json_value(struct bpftrace_reader *r, struct json *j)
{
    bool is_set = false;
    struct str text;
    if (json_peek(j) != JSON_OBJECT)
        return json_text(j, &text) && stacktext_is_count(text) &&
               stacktext_set_count(&r->text, text);
    json_enter(j, JSON_OBJECT);
    while (json_key(j, &text)) {
        if (str_equal(text, STR("total")) && json_text(j, &text))
            is_set = stacktext_is_count(text) && stacktext_set_count(&r->text, text);
        else
            json_skip(j);
    }
    return is_set;
}

/* The entries of a map: {KEY: VALUE, ...}. A map without keys is a value. */
static void read_json_map(struct bpftrace_reader *r, struct json *j, struct str line)
{
    struct stacktext *t = &r->text;
    struct str key;
    if (json_peek(j) != JSON_OBJECT) {
        json_skip(j);
        stacktext_warn(t, NO_STACK, line);
        return;
    }
    json_enter(j, JSON_OBJECT);
    while (json_key(j, &key)) {
        clear_entry(r);
        read_json_key(r, key);
        bool is_number = set_json_value(r, j);
        if (!is_number)
            stacktext_warn(t, NO_NUMBER, line);
        else if (lacks_stack(r))
            stacktext_warn(t, NO_STACK, line);
        else
            add_sample(r);
        t->weight = 0;
    }
    builder_path_clear(t->b);
}

/* {"type": "map", "data": {"@name": {...}}} */
static void read_json(struct bpftrace_reader *r, struct json *j, struct str line)
{
    struct str key, type;
    bool has_maps = false, is_silent = false;
    json_enter(j, JSON_OBJECT);
    while (json_key(j, &key)) {
        if (str_equal(key, STR("type")) && json_string(j, &type)) {
            has_maps = str_equal(type, STR("map")) || str_equal(type, STR("stats")) ||
                       str_equal(type, STR("hist"));
            is_silent = str_equal(type, STR("attached_probes"));
        } else if (has_maps && str_equal(key, STR("data")) &&
                   json_enter(j, JSON_OBJECT)) {
            while (json_key(j, &key)) {
                r->map = builder_string(r->text.b, key);
                read_json_map(r, j, line);
            }
        } else {
            json_skip(j);
        }
    }
    if (!has_maps && !is_silent)
        stacktext_warn(&r->text, OUTSIDE, line);
}

static void read_json_line(struct bpftrace_reader *r, struct str line)
{
    struct source source = source_of(line, STR(""));
    struct error ignored;
    struct json j;
    json_init(&j, &source, true, &ignored);
    read_json(r, &j, line);
    if (j.failed && !j.broken) /* out of memory */
        r->text.b->profile->arena.failed = true;
    else if (j.broken || j.cut)
        stacktext_warn(&r->text, "a line that is not valid JSON", line);
    json_deinit(&j);
}

static void bpftrace_line(struct stacktext *t, struct str line)
{
    struct bpftrace_reader *r = (struct bpftrace_reader *)t;
    if (!r->in_entry && str_starts(line, STR("{\""))) {
        read_json_line(r, line);
        return;
    }
    size_t open = entry_open(line);
    bool is_map = str_starts(line, STR("@"));
    if (is_map && r->in_entry)
        stacktext_warn(t, "a map entry without its value", line);
    if (open) {
        begin_entry(r, line, open);
    } else if (is_map) {
        stacktext_warn(t, NO_STACK, line);
        builder_path_clear(t->b);
        r->in_entry = false;
        r->skipping = true;
    } else if (r->in_entry) {
        read_entry(r, line);
    } else if (str_trim(line).len && !r->skipping &&
               !(str_starts(line, STR("Attach")) && str_has(line, STR(" probe")))) {
        stacktext_warn(t, OUTSIDE, line);
    }
}

static bool bpftrace_read(struct source *in, const struct import_options *options,
                          struct builder *b, struct error *err)
{
    struct bpftrace_reader r = {.text = {.weight = 0}};
    bool ok = stacktext_read(&r.text, in, options, b, bpftrace_line, err);
    b->profile->arena.failed |= r.name.failed;
    output_deinit(&r.name);
    return ok;
}

/* The outline (json_outline.h) of the first line: the number of probes, a map, or text that the
 * program prints. */
static int probe_json(struct str outline)
{
    static const char *const sure[] = {"\"probes\":", "\"@"};
    struct str begin = STR("{\"type\":\"data\":"), rest = str_skip(outline, begin.len);
    if (!str_starts(outline, begin))
        return 0;
    for (size_t i = 0; i < sizeof sure / sizeof *sure; i++)
        if (str_starts(rest, str_of(sure[i])))
            return 92;
    return rest.len == 0 ? 50 : 0;
}

static int bpftrace_probe(struct str head)
{
    struct str line;
    if (str_starts(head, STR("{")))
        return probe_json(head);
    size_t opened = 0, frames = 0, closed = 0;
    while (stacktext_probe_line(&head, &line)) {
        size_t open = entry_open(line);
        opened += open != 0;
        frames += opened && !open && line.len && byte_is_space(line.ptr[0]);
        closed += opened && str_has(line, STR("]:"));
    }
    if (!opened || !closed)
        return opened && frames ? 60 : 0;
    return frames ? 92 : 55;
}

/* An entry begins with an at sign at the start of a line. */
static size_t bpftrace_split(struct str bytes, size_t from)
{
    size_t at = from + str_search(str_skip(bytes, from), STR("\n@"));
    return at < bytes.len ? at + 1 : bytes.len;
}

const struct importer import_bpftrace = {
    .name = "bpftrace",
    .suffixes = "bpftrace",
    .summary = "bpftrace maps with stacks in their keys",
    .probe = bpftrace_probe,
    .read = bpftrace_read,
    .split = bpftrace_split,
};
