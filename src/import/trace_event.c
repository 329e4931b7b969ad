/* SPDX-License-Identifier: Apache-2.0 */
/* Chrome's trace-event JSON, which many tracers write: an array of events, or an
 * object that has one under "traceEvents".
 *
 *   {"ph": "X", "pid": 1, "tid": 2, "ts": 10, "dur": 5, "name": "f"}    ran from 10 to 15
 *   {"ph": "B", ..., "ts": 10, "name": "f"}  {"ph": "E", ..., "ts": 15} the same
 *   {"ph": "M", ..., "name": "thread_name", "args": {"name": "main"}}
 *
 * Times are microseconds. An event's weight is its self time in nanoseconds: its
 * duration without that of nested events. In a trace whose events all have no duration
 * (instants, durations of 0) each event has weight 1. Other phases are skipped:
 * counters, asynchronous events, flows.
 *
 * clang -ftime-trace writes what an event works on into its arguments, {"detail": "vector.h"}: it
 * is part of the name. The sums by name that clang adds at the end are not events: they are
 * skipped.
 *
 * Events of one thread come in any order, so each is stored as a span until all are
 * read, which takes 24 bytes per event. A begin and its end become a span, the spans
 * are sorted, and a sweep over them maintains the stack of open spans. The array may
 * end after any event without its bracket: the format allows that, for tracers that
 * are killed.
 *
 * Chrome's own traces contain V8 profiles among the events, in one piece
 * ("CpuProfile") or in chunks
 * ("ProfileChunk"), under "args" {"data": {"cpuProfile": ...}}. Users of such a trace
 * want the profile, so it is the first event, and the trace's events are the second
 * ("events").
 *
 * The object form may also have "samples" whose stacks are in "stackFrames", a tree by
 * name: {"1": {"name": "main"}, "2": {"name": "f", "parent": "1"}}. */
#include "base/format.h"
#include "import/trace_event_parts.h"

static void read_metadata(struct trace *t)
{
    struct json *j = &t->json;
    struct facts *facts = &t->b->profile->facts;
    struct str key, s;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key)) {
        if (!str_equal(key, STR("command_line")))
            json_skip(j);
        else if (json_string(j, &s) && !facts->command)
            facts->command = builder_string(t->b, s);
    }
}

static void read_file(struct trace *t)
{
    struct json *j = &t->json;
    struct str key;
    if (json_peek(j) == JSON_ARRAY) {
        trace_event_events(t);
        if (t->unclosed) {
            j->cut = false;
            builder_infer_times(
                t->b,
                "the array of events has no closing bracket, which the format allows", 1);
        }
        return;
    }
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key)) {
        if (str_equal(key, STR("traceEvents")))
            trace_event_events(t);
        else if (str_equal(key, STR("stackFrames")))
            trace_event_stack_frames(t);
        else if (str_equal(key, STR("metadata")))
            read_metadata(t);
        else if (!str_equal(key, STR("samples")))
            json_skip(j);
        else if (json_enter(j, JSON_ARRAY))
            while (json_item(j) && !t->arena.failed)
                trace_event_sample(t);
    }
}

/* Phases that are skipped, by kind. */
static const struct other {
    const char *phases, *what;
} others[] = {
    {"C", "counter values"}, {"benSTpF", "asynchronous events"},
    {"stf", "flow events"},  {"NOD", "object states"},
    {"Vv", "memory dumps"},  {"M", "names"},
};

/* Sets a message that names the contents of the file, if none of it is a stack. */
static bool only_others(const struct trace *t, struct error *err)
{
    char all[200] = "";
    size_t used = 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        uint64_t count = 0;
        for (const char *c = others[i].phases; *c; c++)
            count += t->phases[(unsigned char)*c];
        if (count)
            used +=
                format_text(all + used, sizeof all - used, "%s%s: %llu", used ? ", " : "",
                            others[i].what, (unsigned long long)count);
    }
    if (used == 0)
        return true;
    error_set(err, "no event of this trace has a duration or is an instant (%s)", all);
    return error_hint(err, "stoke reads events of the phases X, B with E, and i");
}

static void add_all(struct trace *t, uint64_t before)
{
    trace_event_pair(t);
    trace_event_sweep(t);
    trace_event_add_samples(t);
    if (t->b->profile->facts.samples == before && !t->lasting)
        trace_event_count(t);
}

static bool trace_event_read(struct source *in, const struct import_options *options,
                             struct builder *b, struct error *err)
{
    struct trace t = {.options = options, .b = b, .track_count = 1, .process_count = 1};
    const struct facts *facts = &b->profile->facts;
    uint64_t before = facts->samples;
    unsigned warnings = facts->warning_count;
    json_init(&t.json, in, true, err);
    v8_init(&t.chunk, b, options);
    if (strings_init(&t.ids, &t.arena))
        read_file(&t);
    trace_event_add_profiles(&t);
    if (!t.arena.failed)
        add_all(&t, before);
    b->profile->arena.failed |= t.arena.failed;
    v8_deinit(&t.chunk);
    output_deinit(&t.record.name);
    output_deinit(&t.record.args_name);
    output_deinit(&t.record.detail);
    output_deinit(&t.record.file);
    arena_deinit(&t.arena);
    bool whole = !t.json.cut && !t.json.broken;
    bool ok = json_input_end(&t.json, b, before);
    if (ok && whole && facts->samples == before && facts->warning_count == warnings)
        ok = only_others(&t, err);
    return ok;
}

static int trace_event_probe(struct str head)
{
    static const struct json_rule rules[] = {
        {70, '{', {"\"traceEvents\""}}, {60, '[', {"\"ph\"", "\"ts\""}}, {0}};
    return json_probe(head, rules);
}

const struct importer import_trace_event = {
    .name = "trace-event",
    .suffixes = "json,trace",
    .summary = "Chrome trace-event JSON (chrome://tracing, Perfetto's old format)",
    .probe = trace_event_probe,
    .shape = SHAPE_JSON,
    .read = trace_event_read,
};
