/* SPDX-License-Identifier: Apache-2.0 */
/* The text of jfr print, Java's tool for flight recordings: events with their fields.
 *
 *   jdk.ExecutionSample {
 *     startTime = 10:24:32.165
 *     sampledThread = "main" (javaThreadId = 1)
 *     state = "STATE_RUNNABLE"
 *     stackTrace = [
 *       Shop.spin(int) line: 4
 *       Shop.main(String[]) line: 9
 *       ...
 *     ]
 *   }
 *
 * Events have the names and weights that they have in the recording (jfr.c). "..." marks a stack of
 * which jfr print omits the outermost frames: it prints 5 of them without --stack-depth. */
#include "base/array.h"
#include "import/jfr_events.h"
#include "import/quantity.h"
#include "import/stacktext.h"

struct jfr_sample {
    const struct jfr_event *event;
    stack_id stack;
    thread_id thread;
    double weight;
};

struct jfr_text {
    struct stacktext t;            /* first */
    const struct jfr_event *event; /* of the current lines; NULL: skipped */
    struct jfr_sample sample;
    bool in_stack;
    struct jfr_sample *samples; /* added at the end: by event */
    size_t count, cap;
};

static const struct jfr_event *event_of(struct str line)
{
    for (size_t i = 0; i < JFR_EVENT_COUNT; i++) {
        struct str class = str_of(jfr_events[i].class);
        if (str_starts(line, class) && str_equal(str_skip(line, class.len), STR(" {")))
            return &jfr_events[i];
    }
    return NULL;
}

/* "key = value": the value, empty if it has another key. */
static struct str value_of(struct str text, struct str key)
{
    struct str rest = str_skip(text, key.len), mark = STR(" = ");
    return str_starts(text, key) && str_starts(rest, mark) ? str_skip(rest, mark.len)
                                                           : STR("");
}

/* "\"main\" (javaThreadId = 1)"; newer versions add "virtual". */
static void read_thread(struct jfr_text *r, struct str value)
{
    size_t close = str_rfind(value, '"');
    struct str name = str_skip(str_head(value, close), 1);
    if (!str_starts(value, STR("\"")) || close == 0)
        name = STR("");
    r->sample.thread = builder_thread(r->t.b, ID_NONE, ID_NONE, name);
}

/* "18.6 MB": jfr print divides by 1024. */
static double bytes_of(struct str value)
{
    static const char units[] = "kMGTPE";
    struct quantity q;
    struct str number = str_word(&value), unit = str_trim(value);
    double scale = 1;
    if (!quantity_take(&number, &q))
        return -1;
    size_t power = unit.len ? str_find(STR("kMGTPE"), unit.ptr[0]) : sizeof units - 1;
    for (size_t i = 0; power < sizeof units - 1 && i <= power; i++)
        scale *= 1024;
    return q.value * scale <= QUANTITY_MAX ? q.value * scale : -1;
}

static void read_weight(struct jfr_text *r, struct str value)
{
    struct quantity q;
    double weight = -1;
    if (r->event->unit == UNIT_BYTES)
        weight = bytes_of(value);
    else if (quantity_take(&value, &q))
        weight = q.value;
    if (weight < 0)
        stacktext_warn(&r->t, "a weight that cannot be read", value);
    else
        r->sample.weight = weight;
}

static void read_field(struct jfr_text *r, struct str text)
{
    struct str value = value_of(text, STR("sampledThread"));
    if (!value.len)
        value = value_of(text, STR("eventThread"));
    if (value.len)
        read_thread(r, value);
    if (r->event->weight) {
        value = value_of(text, str_of(r->event->weight));
        if (value.len)
            read_weight(r, value);
    }
    r->in_stack = str_equal(text, STR("stackTrace = ["));
}

/* "Shop.spin(int) line: 4"; native methods have no line. */
static void read_frame(struct jfr_text *r, struct str text)
{
    struct text_frame f = TEXT_FRAME;
    if (str_equal(text, STR("...")))
        stacktext_cut(&r->t);
    else if (!stacktext_add_known(&r->t, text)) {
        f.name = str_head(text, str_rsearch(text, STR(" line: ")));
        stacktext_add(&r->t, text, &f);
    }
}

static void end_event(struct jfr_text *r)
{
    struct jfr_sample *added = NULL;
    r->sample.event = r->event;
    r->sample.stack = builder_path_from_leaf(r->t.b);
    if (r->sample.weight >= 0)
        added = ARRAY_APPEND(&r->t.arena, r->samples, r->count, r->cap);
    if (added)
        *added = r->sample;
    r->event = NULL;
    builder_path_clear(r->t.b);
}

static void jfr_text_line(struct stacktext *t, struct str line)
{
    struct jfr_text *r = (struct jfr_text *)t;
    struct str text = str_trim(line);
    const struct jfr_event *begins = event_of(line);
    if (begins) {
        builder_path_clear(t->b);
        r->event = begins;
        r->in_stack = false;
        r->sample = (struct jfr_sample){.weight = begins->weight ? -1 : 1};
    } else if (!r->event) {
        return;
    } else if (str_equal(line, STR("}"))) {
        end_event(r);
    } else if (r->in_stack && str_equal(text, STR("]"))) {
        r->in_stack = false;
    } else if (r->in_stack) {
        read_frame(r, text);
    } else {
        read_field(r, text);
    }
}

static void add_samples(struct jfr_text *r, const struct jfr_event *event)
{
    struct builder *b = r->t.b;
    bool counted = r->t.options->samples;
    for (size_t i = 0; i < r->count; i++) {
        const struct jfr_sample *s = &r->samples[i];
        if (s->event != event)
            continue;
        builder_add(b, &(struct sample){
                           .time = TIME_NONE,
                           .cpu = CPU_NONE,
                           .event = builder_event(b, str_of(event->event),
                                                  counted ? UNIT_COUNT : event->unit),
                           .thread = s->thread,
                           .stack = s->stack,
                           .count = 1,
                           .weight = counted ? 1 : s->weight});
    }
}

static void jfr_text_finish(struct stacktext *t)
{
    struct jfr_text *r = (struct jfr_text *)t;
    if (r->event)
        stacktext_warn(t, "an event that is truncated at the end", STR(""));
    builder_path_clear(t->b);
    for (size_t i = 0; i < JFR_EVENT_COUNT; i++)
        add_samples(r, &jfr_events[i]);
}

static bool jfr_text_read(struct source *in, const struct import_options *options,
                          struct builder *b, struct error *err)
{
    struct jfr_text r = {.t = {.weight = 1, .finish = jfr_text_finish}};
    return stacktext_read(&r.t, in, options, b, jfr_text_line, err);
}

static int jfr_text_probe(struct str head)
{
    size_t starts = 0, stacks = 0;
    struct str line;
    while (stacktext_probe_line(&head, &line)) {
        starts += event_of(line) != NULL;
        stacks += starts && str_equal(str_trim(line), STR("stackTrace = ["));
    }
    return starts && stacks ? 95 : 0;
}

const struct importer import_jfr_text = {
    .name = "jfr-text",
    .suffixes = "",
    .summary = "text of jfr print: Java's samples, allocations and locks",
    .empty = "no event with a stack that is read; jfr print --events "
             "jdk.ExecutionSample --stack-depth 64 prints samples",
    .probe = jfr_text_probe,
    .read = jfr_text_read,
};
