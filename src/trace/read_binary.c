/* SPDX-License-Identifier: Apache-2.0 */
/* TracerV's binary form: a record contains a cycle and the addresses of the
 * instructions that retired in it, as little-endian words of 64 bits. Bit 63 of an
 * address marks it as valid (bit 40 in traces before 2022); any instruction may be
 * missing.
 *
 * The file does not contain the number of words per record. In each record the valid
 * bit is set in one word at least, and never in the first word, which is the cycle;
 * and cycles increase. The smallest size for which this holds is the right one: a
 * multiple of it can look like a record, too. */
#include "trace/reader.h"

#define WORDS_MAX 8
#define VALID ((uint64_t)1 << 63)
#define VALID_OLD ((uint64_t)1 << 40)
#define PROBED_AS_TEXT 4096
#define RECORDS_PROBED 512
#define RECORDS_TO_GIVE_UP 64
#define GOOD_ENOUGH 0.95

static uint64_t word_at(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* --- One record -------------------------------------------------------------------- */

/* The layout of the records of a trace. */
struct layout {
    size_t words;
    uint64_t valid;
};

/* Whether a record has an instruction, and no valid bit in its cycle. */
static bool is_record(const char *p, struct layout layout)
{
    uint64_t any = 0;
    for (size_t j = 1; j < layout.words; j++)
        any |= word_at(p + j * 8);
    return (any & layout.valid) && !(word_at(p) & layout.valid);
}

/* A larger distance between two cycles is checked closely. */
#define LEAP_MIN ((uint64_t)1 << 20)

/* A sequence of this many records in ascending order cannot be a coincidence. */
#define RECORDS_IN_ORDER 8

/* Whether records begin at p whose cycles continue `cycle`; `left` bytes are
 * available, and `last` is set if nothing follows them. */
static bool are_in_order(const char *p, size_t left, bool last, uint64_t cycle,
                         struct layout layout)
{
    size_t size = layout.words * 8, i;
    for (i = 0; i < RECORDS_IN_ORDER && left >= size; i++, p += size, left -= size) {
        if (!is_record(p, layout) || word_at(p) < cycle ||
            (i > 0 && word_at(p) - cycle > LEAP_MIN))
            return false;
        cycle = word_at(p);
    }
    return i == RECORDS_IN_ORDER || (i > 0 && last && left == 0);
}

/* --- The size of a record ---------------------------------------------------------- */

/* The bytes up to records that are in order; 0 if there are none nearby. The lost bytes
 * of a damaged trace shift all later records. */
static size_t find_order(struct str text, struct layout layout)
{
    for (size_t at = 1; at < 2 * layout.words * 8 && at < text.len; at++)
        if (are_in_order(text.ptr + at, text.len - at, false, 0, layout))
            return at;
    return 0;
}

/* The share of the first records that are valid with that number of words. Damage up to
 * records that are in order does not count. */
static double sense(struct str head, size_t words, uint64_t valid)
{
    struct layout layout = {.words = words, .valid = valid};
    size_t size = words * 8, good = 0, count = 0;
    uint64_t last = 0;
    while (head.len >= size && count < RECORDS_PROBED &&
           (count < RECORDS_TO_GIVE_UP || good * 2 >= count)) {
        bool sound = is_record(head.ptr, layout) && !(word_at(head.ptr) & VALID) &&
                     word_at(head.ptr) >= last;
        size_t step = sound ? 0 : find_order(head, layout);
        good += sound;
        count += step == 0;
        last = step ? 0 : word_at(head.ptr);
        head = str_skip(head, step ? step : size);
    }
    return count ? (double)good / (double)count : 0;
}

/* The number of words per record; 0 if no number is valid. */
static size_t find_words(struct str head, uint64_t *valid)
{
    static const uint64_t marks[] = {VALID, VALID_OLD};
    for (size_t m = 0; m < 2; m++) {
        double best = 0;
        size_t words = 0;
        for (size_t n = 2; n <= WORDS_MAX; n++) {
            double share = sense(head, n, marks[m]);
            if (share > best + 0.01) {
                best = share;
                words = n;
            }
        }
        *valid = marks[m];
        if (best >= GOOD_ENOUGH)
            return words;
    }
    return 0;
}

/* Finds the valid bit when the number of words is known. */
static uint64_t find_valid(struct str head, size_t words)
{
    return sense(head, words, VALID) >= sense(head, words, VALID_OLD) ? VALID : VALID_OLD;
}

/* --- Records ----------------------------------------------------------------------- */

/* Whether a record continues the one before. */
static bool is_next(const struct trace_reader *r, const char *p, struct layout layout)
{
    return is_record(p, layout) && word_at(p) - r->last <= LEAP_MIN;
}

static void add_record(struct trace_reader *r, const char *p, struct layout layout)
{
    for (size_t j = 1; j < layout.words; j++) {
        uint64_t word = word_at(p + j * 8);
        if (word & layout.valid)
            trace_reader_add(r, word & (layout.valid - 1), word_at(p));
    }
}

/* Processes records of the window, as many as fit in a batch, up to one that may be
 * damaged. */
static size_t take_records(struct trace_reader *r, const char *p, size_t count,
                           struct layout layout)
{
    size_t i, size = layout.words * 8;
    for (i = 0; i < count && r->count + WORDS_MAX <= TRACE_BATCH; i++, p += size) {
        if (!is_next(r, p, layout))
            break;
        add_record(r, p, layout);
    }
    return i;
}

/* The same for cores that retire one instruction a cycle, the most common. */
static size_t take_single(struct trace_reader *r, const char *p, size_t count)
{
    size_t room = TRACE_BATCH - r->count, n = count < room ? count : room, i;
    uint64_t *pcs = r->pcs + r->count, *cycles = r->cycles + r->count;
    uint64_t last = r->last, skew = r->skew;
    for (i = 0; i < n; i++) {
        uint64_t cycle = word_at(p + i * 16), word = word_at(p + i * 16 + 8);
        if (!(word & ~cycle & VALID) || cycle - last > LEAP_MIN)
            break;
        pcs[i] = trace_address(word & (VALID - 1));
        cycles[i] = cycle + skew;
        last = cycle;
    }
    r->count += i;
    r->last = last;
    return i;
}

static size_t take_some(struct trace_reader *r, size_t count, struct layout layout)
{
    const char *p = r->in->begin;
    size_t used =
        layout.words == 2 && layout.valid == VALID ? take_single(r, p, count) : 0;
    if (used < count)
        used += take_records(r, p + used * layout.words * 8, count - used, layout);
    r->in->begin += used * layout.words * 8;
    r->in->offset += used * layout.words * 8;
    return used;
}

/* --- Damage -------------------------------------------------------------------------- */

/* Skips damaged bytes, at least one, up to records in order, or to the end. */
static bool skip_damage(struct trace_reader *r, struct layout layout, struct error *err)
{
    struct source *in = r->in;
    size_t needed = (RECORDS_IN_ORDER + 1) * layout.words * 8;
    trace_reader_flaw(r, "damaged bytes are skipped, up to records that are in order", 0,
                      in->offset, STR(""));
    if (!trace_reader_flush(r, err))
        return false;
    do {
        in->begin++;
        in->offset++;
        if ((size_t)(in->end - in->begin) < needed && !source_peek(in, needed, err))
            return false;
    } while (in->begin < in->end &&
             !are_in_order(in->begin, (size_t)(in->end - in->begin), in->last, r->last,
                           layout));
    if (r->core && (size_t)(in->end - in->begin) >= layout.words * 8)
        tracer_gap(&r->core->tracer, word_at(in->begin) + r->skew);
    return true;
}

/* A record that does not continue the one before. If the next records continue this
 * one, the counter was reset, or much time has passed; otherwise it is damaged. */
static bool take_odd(struct trace_reader *r, struct layout layout, struct error *err)
{
    struct source *in = r->in;
    size_t size = layout.words * 8;
    if (!source_peek(in, (RECORDS_IN_ORDER + 1) * size, err))
        return false;
    size_t left = (size_t)(in->end - in->begin);
    bool is_single = r->last && left >= 2 * size && is_next(r, in->begin + size, layout);
    if (is_single || !are_in_order(in->begin, left, in->last, word_at(in->begin), layout))
        return skip_damage(r, layout, err);
    add_record(r, in->begin, layout);
    in->begin += size;
    in->offset += size;
    return true;
}

/* The number of words per record, given or found. A given number is rejected if it
 * does not fit the file and another number does. */
static bool choose_words(struct str head, unsigned ipc, size_t *words, uint64_t *valid,
                         struct error *err)
{
    size_t found = find_words(head, valid);
    *words = found;
    if (ipc) {
        *words = (ipc < WORDS_MAX ? ipc : WORDS_MAX - 1) + 1;
        *valid = find_valid(head, *words);
        if (!found || *words == found || sense(head, *words, *valid) >= GOOD_ENOUGH)
            return true;
        error_set(err, "its records are of %u addresses, not %u", (unsigned)found - 1,
                  (unsigned)*words - 1);
        return error_hint(err, "use --ipc %u, or omit it to detect the number",
                          (unsigned)found - 1);
    }
    if (found)
        return true;
    error_set(err, "no record size fits: not a binary trace, or damaged");
    return error_hint(
        err, "--ipc N sets the number of instructions that the core can retire in a "
             "cycle; 'stoke trace --list-formats' lists other formats");
}

static bool binary_read(struct trace_reader *r, struct error *err)
{
    struct source *in = r->in;
    struct str head = str_head(str_span(in->begin, in->end), TRACE_HEAD_SIZE);
    struct layout layout;
    if (!choose_words(head, r->options->ipc, &layout.words, &layout.valid, err))
        return false;
    for (;;) {
        size_t count = (size_t)(in->end - in->begin) / (layout.words * 8);
        if (count == 0) {
            if (in->last)
                break;
            if (!source_more(in, in->begin, err))
                return false;
            continue;
        }
        size_t before = r->count, used = take_some(r, count, layout);
        if (used < count && !trace_reader_flush(r, err))
            return false;
        if (used == 0 && before == 0 && !take_odd(r, layout, err))
            return false;
    }
    if (in->begin != in->end)
        trace_reader_flaw(r, "the last record is truncated", 0, in->offset, STR(""));
    return true;
}

/* The most significant byte of a cycle is zero, so text is not a binary trace. */
static int binary_probe(struct str head)
{
    uint64_t valid;
    bool is_text =
        !memchr(head.ptr, 0, head.len < PROBED_AS_TEXT ? head.len : PROBED_AS_TEXT);
    return !is_text && find_words(head, &valid) ? 80 : 0;
}

const struct trace_format trace_format_binary = {
    .name = "binary",
    .summary = "TracerV binary: records of a cycle and up to 7 addresses (--ipc)",
    .probe = binary_probe,
    .read = binary_read,
};
