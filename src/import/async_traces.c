/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of async-profiler (output=traces): the weight, the number of samples, and the frames, the
 * leaf first. Their sum and a table of methods are not read.
 *
 *   --- Execution profile ---
 *   Total samples       : 123
 *
 *   --- 20000000 ns (66.67%), 2 samples
 *     [ 0] java.util.HashMap.put
 *     [ 1] Shop.main
 *     [ 2] [main tid=412]
 *
 *             ns  percent  samples  top
 *     ----------  -------  -------  ---
 *       20000000   66.67%        2  java.util.HashMap.put */
#include "base/number.h"
#include "import/stacktext.h"

struct async_reader {
    struct stacktext t; /* first */
    bool in_trace;
};

/* "--- 20000000 ns (66.67%), 2 samples" */
static bool parse_head(struct str line, uint64_t *weight, struct str *unit,
                       uint64_t *samples)
{
    struct str rest = line;
    if (!str_equal(str_word(&rest), STR("---")) ||
        !number_parse_u64(str_word(&rest), weight))
        return false;
    size_t open = str_find(rest, '('), comma = str_search(rest, STR("%), "));
    if (open > comma || comma == rest.len)
        return false;
    *unit = str_trim(str_head(rest, open));
    rest = str_skip(rest, comma + 4);
    return number_parse_u64(str_word(&rest), samples) &&
           str_starts(str_trim_left(rest), STR("sample"));
}

static enum unit unit_of(struct str text)
{
    if (str_equal(text, STR("ns")))
        return UNIT_NANOSECONDS;
    if (str_equal(text, STR("bytes")))
        return UNIT_BYTES;
    if (str_equal(text, STR("cycles")))
        return UNIT_CYCLES;
    return UNIT_COUNT;
}

/* The event is named by its unit, because the text has no other name. */
static event_id event_of(struct async_reader *r, enum unit unit)
{
    static const char *const names[] = {[UNIT_NANOSECONDS] = "time",
                                        [UNIT_BYTES] = "allocated",
                                        [UNIT_CYCLES] = "cycles",
                                        [UNIT_COUNT] = "samples"};
    if (r->t.options->samples)
        unit = UNIT_COUNT;
    return builder_event(r->t.b, str_of(names[unit]), unit);
}

/* "[main tid=412]": the thread, the outermost frame (option threads). */
static bool take_thread(struct async_reader *r, struct str name)
{
    size_t at = str_rsearch(name, STR(" tid="));
    uint64_t tid;
    if (!str_starts(name, STR("[")) || !str_ends(name, STR("]")) || at == name.len ||
        !number_parse_u64(str_head(str_skip(name, at + 5), name.len - at - 6), &tid) ||
        tid > INT64_MAX)
        return false;
    r->t.thread = builder_string(r->t.b, str_skip(str_head(name, at), 1));
    r->t.tid = (int64_t)tid;
    return true;
}

static void end_trace(struct async_reader *r)
{
    stacktext_end(&r->t);
    r->t.thread = 0;
    r->t.tid = ID_NONE;
    r->in_trace = false;
}

static void begin_trace(struct async_reader *r, uint64_t weight, struct str unit,
                        uint64_t samples)
{
    end_trace(r);
    r->in_trace = true;
    r->t.event = event_of(r, unit_of(unit));
    r->t.weight = (double)(r->t.options->samples ? samples : weight);
}

/* "[ 0] java.util.HashMap.put": leaves the name in *rest. */
static bool take_number(struct str *rest)
{
    struct str text = str_trim(*rest), number = str_head(text, str_find(text, ']'));
    uint64_t value;
    if (!str_starts(text, STR("[")) || number.len == text.len ||
        !number_parse_u64(str_trim(str_skip(number, 1)), &value))
        return false;
    *rest = str_trim(str_skip(text, number.len + 1));
    return true;
}

static void async_line(struct stacktext *t, struct str line)
{
    struct async_reader *r = (struct async_reader *)t;
    struct str rest = line, unit;
    uint64_t weight, samples;
    if (parse_head(line, &weight, &unit, &samples)) {
        begin_trace(r, weight, unit, samples);
    } else if (r->in_trace && take_number(&rest)) {
        struct text_frame f = TEXT_FRAME;
        f.name = rest;
        f.verbatim = true;
        if (!take_thread(r, rest) && !stacktext_add_known(t, rest))
            stacktext_add(t, rest, &f);
    } else {
        end_trace(r);
    }
}

static bool async_read(struct source *in, const struct import_options *options,
                       struct builder *b, struct error *err)
{
    struct async_reader r = {.t = {.weight = 1}};
    return stacktext_read(&r.t, in, options, b, async_line, err);
}

static int async_probe(struct str head)
{
    struct str line, rest, unit;
    uint64_t weight, samples;
    bool found = false;
    while (stacktext_probe_line(&head, &line)) {
        rest = line;
        if (found && take_number(&rest))
            return 95;
        found = parse_head(line, &weight, &unit, &samples);
    }
    return 0;
}

const struct importer import_async_traces = {
    .name = "async-traces",
    .suffixes = "traces",
    .summary = "traces of async-profiler as text",
    .probe = async_probe,
    .read = async_read,
};
