/* SPDX-License-Identifier: Apache-2.0 */
/* Go's profiles as text: /debug/pprof/NAME?debug=1, and pprof.Lookup(NAME).WriteTo(w, 1).
 *
 *   goroutine profile: total 7
 *   4 @ 0x42d576 0x45d7c5
 *   #	0x42d575	main.serve+0x24	/src/main.go:12
 *
 *   --- mutex:                          or "--- contention:", the block profile
 *   cycles/second=2096041800
 *   sampling period=1
 *   159308058 4 @ 0x4b6b2f             cycles, contentions
 *
 *   heap profile: 5: 1778176 [5: 1778176] @ heap/1048576
 *   1: 663552 [1: 663552] @ 0x4a1f2f   objects and bytes in use, [allocated]
 *
 * A sample without lines of symbols has frames with addresses only. Values are scaled as
 * `go tool pprof` does: delays by the cycles per second and the period; the heap, which is
 * sampled by bytes, by the probability that an object of that size is sampled.
 * Source: runtime/pprof/pprof.go, and profile/legacy_profile.go of github.com/google/pprof. */
#include "base/number.h"
#include "import/quantity.h"
#include "import/stacktext.h"
#include <math.h>

#define VALUES_MAX 4

enum kind { KIND_COUNT, KIND_DELAY, KIND_HEAP };

struct go_profile {
    struct stacktext text; /* first */
    enum kind kind;
    event_id events[VALUES_MAX];
    double values[VALUES_MAX]; /* of the current sample */
    size_t event_count;
    double nanoseconds; /* of a cycle, or of a period of cycles */
    double period;      /* delays: contentions per sample; heap: bytes */
    struct output addresses;
    bool open; /* a sample line was read */
};

static void add_event(struct go_profile *g, struct str name, enum unit unit)
{
    if (g->text.options->samples)
        unit = UNIT_COUNT;
    g->events[g->event_count++] = builder_event(g->text.b, name, unit);
}

/* --- Samples ------------------------------------------------------------------------ */

/* Frames of a sample whose addresses have no symbols. */
static void add_addresses(struct go_profile *g)
{
    struct str rest = output_contents(&g->addresses), word;
    while ((word = str_word(&rest)).len) {
        struct text_frame f = TEXT_FRAME;
        if (number_parse_hex(word, &f.address) && !stacktext_add_known(&g->text, word))
            stacktext_add(&g->text, word, &f);
    }
}

static void end_sample(struct go_profile *g)
{
    struct builder *b = g->text.b;
    bool first = true;
    if (!g->open)
        return;
    if (b->path.count == 0)
        add_addresses(g);
    struct sample s = {.stack = builder_path_from_leaf(b),
                       .count = 1,
                       .time = TIME_NONE,
                       .cpu = CPU_NONE};
    for (size_t i = 0; i < g->event_count; i++) {
        s.event = g->events[i];
        s.weight = g->text.options->samples ? 1 : g->values[i];
        if (g->values[i] > 0 && first)
            builder_add(b, &s);
        else if (g->values[i] > 0)
            builder_add_mapped(b, &s);
        first &= g->values[i] <= 0;
    }
    builder_path_clear(b);
    g->open = false;
}

/* The number of objects for which a sampled one of this size stands. */
static double heap_scale(double objects, double bytes, double period)
{
    if (objects <= 0 || bytes <= 0 || period <= 1)
        return 1;
    return 1 / (1 - exp(-bytes / objects / period));
}

static void scale_values(struct go_profile *g, const double *numbers)
{
    if (g->kind == KIND_COUNT) {
        g->values[0] = numbers[0];
    } else if (g->kind == KIND_DELAY) {
        g->values[0] = numbers[0] * g->nanoseconds * g->period;
        g->values[1] = numbers[1] * g->period;
    } else {
        double used = heap_scale(numbers[0], numbers[1], g->period);
        double all = heap_scale(numbers[2], numbers[3], g->period);
        g->values[0] = numbers[1] * used;
        g->values[1] = numbers[0] * used;
        g->values[2] = numbers[3] * all;
        g->values[3] = numbers[2] * all;
    }
}

/* The numbers before '@': "4", "159308058 4", "1: 663552 [1: 663552]". */
static bool take_numbers(struct str text, double *numbers, size_t count)
{
    struct str word;
    uint64_t value;
    size_t found = 0;
    while ((word = str_word(&text)).len) {
        word = str_skip(word, str_starts(word, STR("[")));
        while (word.len && strchr(":]", word.ptr[word.len - 1]))
            word.len--;
        if (found == count || !number_parse_u64(word, &value) ||
            (double)value > QUANTITY_MAX)
            return false;
        numbers[found++] = (double)value;
    }
    return found == count;
}

static size_t numbers_of(enum kind kind)
{
    return kind == KIND_HEAP ? 4 : kind == KIND_DELAY ? 2 : 1;
}

static void begin_sample(struct go_profile *g, struct str line, size_t at)
{
    double numbers[VALUES_MAX] = {0};
    end_sample(g);
    if (!g->event_count ||
        !take_numbers(str_head(line, at), numbers, numbers_of(g->kind))) {
        stacktext_warn(&g->text, "a sample whose values cannot be read", line);
        return;
    }
    scale_values(g, numbers);
    g->addresses.used = 0;
    output_str(&g->addresses, str_skip(line, at + 1));
    g->open = true;
}

/* "#\t0x45d7c4\tmain.serve+0x24\t\t/src/main.go:12": the columns are aligned by tabs. */
static void read_frame(struct go_profile *g, struct str line)
{
    struct text_frame f = TEXT_FRAME;
    struct str rest = str_skip(line, 2);
    if (!g->open) {
        stacktext_warn(&g->text, "a frame without a sample", line);
        return;
    }
    if (stacktext_add_known(&g->text, line))
        return;
    number_parse_hex(str_trim(str_cut(&rest, '\t')), &f.address);
    rest = str_trim_left(rest);
    struct str name = str_cut(&rest, '\t');
    size_t plus = str_rfind(name, '+');
    f.name = str_head(name, plus);
    f.offset = str_skip(name, plus);
    f.verbatim = true;
    f.file = stacktext_split_location(str_trim(rest), &f.line);
    stacktext_add(&g->text, line, &f);
}

/* --- Heads -------------------------------------------------------------------------- */

struct head {
    enum kind kind;
    struct str name; /* of a profile with counts */
    uint64_t period; /* of a heap profile, 0: none */
};

/* "heap profile: 5: 1778176 [5: 1778176] @ heap/1048576": twice the period. */
static bool parse_heap_head(struct str line, struct head *h)
{
    struct str mark = STR("@ heap/");
    size_t at = str_search(line, mark);
    *h = (struct head){.kind = KIND_HEAP};
    return str_starts(line, STR("heap profile: ")) && at < line.len &&
           number_parse_u64(str_trim(str_skip(line, at + mark.len)), &h->period);
}

static bool parse_head(struct str line, struct head *h)
{
    struct str total = STR(" profile: total ");
    size_t at = str_search(line, total);
    if (parse_heap_head(line, h))
        return true;
    *h = (struct head){.kind = KIND_DELAY};
    if (str_equal(line, STR("--- contention:")) || str_equal(line, STR("--- mutex:")))
        return true;
    *h = (struct head){.kind = KIND_COUNT, .name = str_head(line, at)};
    return at && at < line.len && stacktext_is_count(str_skip(line, at + total.len));
}

static void begin_profile(struct go_profile *g, const struct head *h)
{
    end_sample(g);
    g->kind = h->kind;
    g->event_count = 0;
    g->nanoseconds = 1;
    g->period = h->kind == KIND_HEAP ? (double)h->period / 2 : 1;
    if (h->kind == KIND_COUNT) {
        add_event(g, h->name, UNIT_COUNT);
    } else if (h->kind == KIND_DELAY) {
        add_event(g, STR("delay"), UNIT_NANOSECONDS);
        add_event(g, STR("contentions"), UNIT_COUNT);
    } else {
        add_event(g, STR("inuse_space"), UNIT_BYTES);
        add_event(g, STR("inuse_objects"), UNIT_COUNT);
        add_event(g, STR("alloc_space"), UNIT_BYTES);
        add_event(g, STR("alloc_objects"), UNIT_COUNT);
    }
}

/* "cycles/second=2096041800", "sampling period=1". */
static bool read_setting(struct go_profile *g, struct str line)
{
    struct str value = line, key = str_cut(&value, '=');
    double number;
    if (!number_parse_double(str_trim(value), &number) || !(number >= 1) ||
        number > QUANTITY_MAX)
        return false;
    if (str_equal(key, STR("cycles/second")))
        g->nanoseconds = 1e9 / number;
    else if (str_equal(key, STR("sampling period")))
        g->period = number;
    else
        return false;
    return true;
}

static void go_profile_line(struct stacktext *t, struct str line)
{
    struct go_profile *g = (struct go_profile *)t;
    struct head head;
    line = str_trim_right(line);
    size_t at = str_find(line, '@');
    if (line.len == 0)
        end_sample(g);
    else if (str_starts(line, STR("#\t")))
        read_frame(g, line);
    else if (line.ptr[0] == '#') /* labels, and the statistics of the memory */
        return;
    else if (parse_head(line, &head))
        begin_profile(g, &head);
    else if (at < line.len)
        begin_sample(g, line, at);
    else if (!read_setting(g, line))
        stacktext_warn(t, "not a line of a Go profile", line);
}

static void go_profile_finish(struct stacktext *t)
{
    struct go_profile *g = (struct go_profile *)t;
    end_sample(g);
    t->b->profile->arena.failed |= g->addresses.failed;
}

static bool go_profile_read(struct source *in, const struct import_options *options,
                            struct builder *b, struct error *err)
{
    struct go_profile g = {.text = {.finish = go_profile_finish}, .nanoseconds = 1};
    bool ok = stacktext_read(&g.text, in, options, b, go_profile_line, err);
    output_deinit(&g.addresses);
    return ok;
}

static int go_profile_probe(struct str head)
{
    struct str line;
    struct head h;
    while (stacktext_probe_line(&head, &line))
        if (line.len)
            return parse_head(line, &h) ? 90 : 0;
    return 0;
}

const struct importer import_go_profile = {
    .name = "go-profile",
    .suffixes = "",
    .summary =
        "Go's profiles as text: /debug/pprof/heap?debug=1, goroutine, mutex, block",
    .probe = go_profile_probe,
    .read = go_profile_read,
};
