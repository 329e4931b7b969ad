/* SPDX-License-Identifier: Apache-2.0 */
/* stoke's own format: the whole profile. See base/stoke_format.h. */
#include "base/stoke_format.h"
#include "codec/protobuf.h"
#include "export/stoke_writer.h"

/* Rows per section: less than the maximum, because a truncated section is lost. */
#define ROWS_WRITTEN ((size_t)4096)
_Static_assert(ROWS_WRITTEN <= STOKE_SECTION_ROWS, "readers refuse larger sections");

static void put_fixed(struct output *o, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        output_char(o, (char)(value >> (8 * i) & 0xff));
}

void stoke_put(struct stoke_writer *w, uint64_t value)
{
    proto_put_varint(&w->body, value);
}

void stoke_put_signed(struct stoke_writer *w, uint64_t value)
{
    stoke_put(w, value << 1 ^ (value >> 63 ? UINT64_MAX : 0));
}

static void put_double(struct stoke_writer *w, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_fixed(&w->body, bits, 8);
}

static void put_text(struct stoke_writer *w, struct str s)
{
    stoke_put(w, s.len);
    output_str(&w->body, s);
}

/* Writes the current section; its body is complete. */
static bool put_section(struct stoke_writer *w, const char *tag, size_t first,
                        size_t rows)
{
    struct str body = output_contents(&w->body);
    struct output head = OUTPUT_BUFFER;
    if (w->body.failed || body.len > STOKE_SECTION_BYTES_MAX) {
        output_deinit(&head);
        return false;
    }
    output_bytes(&head, tag, 4);
    put_fixed(&head, first, 4);
    put_fixed(&head, rows, 4);
    put_fixed(&head, body.len, 4);
    put_fixed(&head, crc32_sum(&w->crc, body), 4);
    put_fixed(&head, crc32_sum(&w->crc, output_contents(&head)), 4);
    output_str(w->out, output_contents(&head));
    output_str(w->out, body);
    bool ok = !head.failed;
    output_deinit(&head);
    w->body.used = 0;
    return ok;
}

/* What the first version of the format does not have. The last facts are left out if they are
 * zero. */
static void put_later_facts(struct stoke_writer *w)
{
    const struct facts *f = &w->p->facts;
    bool named = f->interpreters, grafted = named || f->grafted;
    bool sampled = grafted || f->sample_bytes, gaps = sampled || f->unwind_gaps.count;
    if (gaps || f->loss_count)
        stoke_put(w, f->loss_count);
    for (unsigned i = 0; i < f->loss_count; i++) {
        stoke_put(w, f->losses[i].time);
        stoke_put(w, f->losses[i].count);
    }
    if (gaps)
        stoke_put(w, f->unwind_gaps.count);
    for (unsigned i = 0; i < f->unwind_gaps.count; i++) {
        stoke_put(w, f->unwind_gaps.files[i].stacks);
        put_text(w, str_of(f->unwind_gaps.files[i].file));
    }
    if (sampled)
        stoke_put(w, f->sample_bytes);
    if (grafted)
        stoke_put(w, f->grafted);
    if (named)
        stoke_put(w, f->interpreters);
}

static void put_facts(struct stoke_writer *w)
{
    const struct facts *f = &w->p->facts;
    stoke_put(w, f->format);
    stoke_put(w, f->host);
    stoke_put(w, f->command);
    stoke_put(w, f->samples);
    stoke_put(w, f->lost);
    stoke_put(w, f->truncated);
    stoke_put(w, f->time_first + 1);
    stoke_put(w, f->time_last + 1);
    put_double(w, f->rate);
    stoke_put(w, (f->filtered ? STOKE_FILTERED : 0u) |
                     (f->differential ? STOKE_DIFFERENTIAL : 0u));
    stoke_put(w, f->warning_count);
    for (unsigned i = 0; i < f->warning_count; i++) {
        const struct warning *warning = &f->warnings[i];
        put_text(w, str_of(warning->what));
        stoke_put(w, warning->count);
        stoke_put(w, warning->first.line);
        stoke_put(w, warning->first.column);
        stoke_put(w, warning->first.offset + 1);
        stoke_put(w, warning->first.caret | (warning->inferred ? STOKE_INFERRED : 0u));
        put_text(w, str_of(warning->first.text));
    }
    put_later_facts(w);
}

/* --- The tables: each writes the columns of the rows from `from` to `to` ----------- */

void stoke_put_string_rows(struct stoke_writer *w, const struct strings *strings,
                           size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        stoke_put(w, strings_get(strings, (string_id)i).len);
    for (size_t i = from; i < to; i++)
        output_str(&w->body, strings_get(strings, (string_id)i));
}

static void put_strings(struct stoke_writer *w, size_t from, size_t to)
{
    stoke_put_string_rows(w, &w->p->strings, from, to);
}

#define PUT_COLUMN(w, rows, field)     \
    for (size_t i = from; i < to; i++) \
    stoke_put((w), (w)->p->rows[i].field)

static void put_modules(struct stoke_writer *w, size_t from, size_t to)
{
    PUT_COLUMN(w, modules, path);
    PUT_COLUMN(w, modules, build_id);
}

static void put_frames(struct stoke_writer *w, size_t from, size_t to)
{
    PUT_COLUMN(w, frames, name);
    PUT_COLUMN(w, frames, module);
    PUT_COLUMN(w, frames, file);
    PUT_COLUMN(w, frames, line);
    PUT_COLUMN(w, frames, kind);
    uint64_t before = 0;
    for (size_t i = from; i < to; i++) {
        stoke_put_signed(w, w->p->frames[i].address - before);
        before = w->p->frames[i].address;
    }
    bool any_offset = false;
    for (size_t i = from; i < to; i++)
        any_offset |= w->p->frames[i].offset != 0;
    before = 0;
    for (size_t i = from; any_offset && i < to; before = w->p->frames[i++].offset)
        stoke_put_signed(w, w->p->frames[i].offset - before);
}

static void put_stacks(struct stoke_writer *w, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        stack_id parent = w->p->stacks[i].parent;
        stoke_put(w, parent ? i - parent : 0);
    }
    PUT_COLUMN(w, stacks, frame);
}

static void put_threads(struct stoke_writer *w, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        stoke_put_signed(w, (uint64_t)w->p->threads[i].pid);
    for (size_t i = from; i < to; i++)
        stoke_put_signed(w, (uint64_t)w->p->threads[i].tid);
    PUT_COLUMN(w, threads, name);
}

static void put_events(struct stoke_writer *w, size_t from, size_t to)
{
    PUT_COLUMN(w, events, name);
    PUT_COLUMN(w, events, unit);
}

static void put_labels(struct stoke_writer *w, size_t from, size_t to)
{
    PUT_COLUMN(w, labels, key);
    PUT_COLUMN(w, labels, text);
    for (size_t i = from; i < to; i++)
        stoke_put_signed(w, (uint64_t)w->p->labels[i].number);
    PUT_COLUMN(w, labels, unit);
    PUT_COLUMN(w, labels, is_number);
}

static void put_label_sets(struct stoke_writer *w, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        label_set_id parent = w->p->label_sets[i].parent;
        stoke_put(w, parent ? i - parent : 0);
    }
    PUT_COLUMN(w, label_sets, label);
}

void stoke_put_weight(struct stoke_writer *w, double weight)
{
    uint64_t whole =
        weight >= 0 && weight <= STOKE_WEIGHT_WHOLE ? (uint64_t)weight : UINT64_MAX;
    if (whole != UINT64_MAX && (double)whole == weight &&
        !(whole == 0 && __builtin_signbit(weight))) {
        stoke_put(w, whole * 2);
    } else {
        stoke_put(w, STOKE_WEIGHT_DOUBLE);
        put_double(w, weight);
    }
}

static void put_samples(struct stoke_writer *w, size_t from, size_t to)
{
    const struct sample *s = w->p->samples;
    uint64_t before = 0;
    for (size_t i = from; i < to; before = s[i++].time)
        stoke_put_signed(w, s[i].time - before);
    PUT_COLUMN(w, samples, thread);
    for (size_t i = from; i < to; i++)
        stoke_put(w, (uint32_t)(s[i].cpu + 1));
    PUT_COLUMN(w, samples, event);
    before = 0;
    for (size_t i = from; i < to; before = s[i++].stack)
        stoke_put_signed(w, s[i].stack - before);
    PUT_COLUMN(w, samples, count);
    for (size_t i = from; i < to; i++)
        stoke_put_weight(w, s[i].weight);
    bool any_rest = false, any_labels = false;
    for (size_t i = from; i < to; i++) {
        any_rest |= s[i].rest < 0 || s[i].rest > 0;
        any_labels |= profile_labels(w->p, i) != 0;
    }
    for (size_t i = from; (any_rest || any_labels) && i < to; i++)
        stoke_put_weight(w, s[i].rest);
    for (size_t i = from; any_labels && i < to; i++)
        stoke_put(w, profile_labels(w->p, i));
}

static void put_calls(struct stoke_writer *w, size_t from, size_t to)
{
    PUT_COLUMN(w, calls, caller);
    PUT_COLUMN(w, calls, callee);
    PUT_COLUMN(w, calls, event);
    for (size_t i = from; i < to; i++)
        stoke_put_weight(w, w->p->calls[i].count);
    for (size_t i = from; i < to; i++)
        stoke_put_weight(w, w->p->calls[i].total);
    PUT_COLUMN(w, calls, summed);
}

/* The number of strings, starting with `from`, that fit into one section. */
static size_t strings_end(const struct strings *strings, size_t from, size_t to)
{
    size_t bytes = 0, end = from;
    while (end < to && (end == from || bytes < STOKE_SECTION_BYTES))
        bytes += strings_get(strings, (string_id)end++).len;
    return end;
}

bool stoke_put_table(struct stoke_writer *w, const char *tag, size_t from, size_t count,
                     const struct strings *strings, stoke_put_rows *put_rows)
{
    while (from < count) {
        size_t left = count - from;
        size_t to = from + (left < ROWS_WRITTEN ? left : ROWS_WRITTEN);
        if (strings)
            to = strings_end(strings, from, to);
        put_rows(w, from, to);
        if (!put_section(w, tag, from, to - from))
            return false;
        from = to;
    }
    return true;
}

static bool put_profile(struct stoke_writer *w)
{
    const struct profile *p = w->p;
    output_str(w->out, STOKE_MAGIC);
    put_fixed(w->out, STOKE_FORMAT_VERSION, 4);
    put_fixed(w->out, p->all_samples ? STOKE_ALL_SAMPLES : 0, 4);
    /* readers need the facts first, but the facts refer to strings */
    put_facts(w);
    return put_section(w, "FACT", 0, 1) &&
           stoke_put_table(w, "STRS", 1, p->strings.count, &p->strings, put_strings) &&
           stoke_put_table(w, "MODS", 1, p->module_count, NULL, put_modules) &&
           stoke_put_table(w, "FRMS", 1, p->frame_count, NULL, put_frames) &&
           stoke_put_table(w, "STKS", 1, p->stack_count, NULL, put_stacks) &&
           stoke_put_table(w, "THRS", 1, p->thread_count, NULL, put_threads) &&
           stoke_put_table(w, "EVTS", 1, p->event_count, NULL, put_events) &&
           stoke_put_table(w, "LBLS", 1, p->label_count, NULL, put_labels) &&
           stoke_put_table(w, "LSET", 1, p->label_set_count, NULL, put_label_sets) &&
           stoke_put_table(w, "SMPS", 0, p->sample_count, NULL, put_samples) &&
           stoke_put_table(w, "CALS", 0, p->call_count, NULL, put_calls) &&
           stoke_put_code(w) && put_section(w, "END ", 0, 0);
}

static bool stoke_write(const struct profile *p, const struct export_options *options,
                        struct output *out, struct error *err)
{
    struct stoke_writer w = {.p = p, .code = options->code, .out = out};
    crc32_init(&w.crc);
    bool ok = put_profile(&w);
    bool too_long = !ok && !w.body.failed && w.body.used > STOKE_SECTION_BYTES_MAX;
    output_deinit(&w.body);
    if (too_long)
        return error_set(err, "a name of more than 2 GiB cannot be written");
    return ok || error_memory(err);
}

const struct exporter export_stoke = {
    .name = "stoke",
    .suffixes = "stoke",
    .summary = "the complete profile in stoke's own format, compressed with gzip",
    .needs_time = true,
    .cuts = true,
    .whole = true,
    .packed = true,
    .write = stoke_write,
};
