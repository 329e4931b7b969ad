/* SPDX-License-Identifier: Apache-2.0 */
/* The profiling log of Papyrus, the script language of Bethesda's games:
 *
 *   Script_abc log opened (PC)
 *   500:PUSH:3053:1:quest (24021278):abc..function
 *   1500:POP:3053:1:quest (24021278):abc..function
 *
 * Fields: milliseconds, action, stack of the script, its depth, an object, the
 * function. Stacks run concurrently, so each is a thread. */
#include "base/array.h"
#include "base/format.h"
#include "base/idmap.h"
#include "base/number.h"
#include "import/importer.h"

#define TIME_MOST ((uint64_t)1 << 53)

/* A stack of the script engine. */
struct script {
    thread_id thread;
    stack_id stack; /* the open calls */
    uint64_t since; /* milliseconds */
};

struct papyrus_reader {
    struct builder *b;
    const struct import_options *options;
    struct lines lines;
    struct arena arena;
    struct idmap ids;
    struct script *scripts; /* [0] is unused */
    size_t count, cap;
    event_id event;
};

struct record {
    uint64_t time, script;
    bool push;
    struct str function;
};

static bool parse_record(struct str line, struct record *r)
{
    struct str rest = line, time = str_cut(&rest, ':'), what = str_cut(&rest, ':');
    struct str script = str_cut(&rest, ':');
    str_cut(&rest, ':'); /* the depth, which is also known from the stack */
    str_cut(&rest, ':'); /* the object */
    r->push = str_equal(what, STR("PUSH"));
    r->function = str_trim(rest);
    return number_parse_u64(time, &r->time) && r->time < TIME_MOST &&
           (r->push || str_equal(what, STR("POP"))) &&
           number_parse_u64(script, &r->script) && r->function.len;
}

static struct script *script_of(struct papyrus_reader *p, const struct record *r)
{
    uint64_t *number = idmap_put(&p->ids, &p->arena, r->script);
    char name[64];
    if (!number || !ARRAY_RESERVE(&p->arena, p->scripts, p->cap, p->count + 1))
        return NULL;
    if (*number == 0) {
        size_t length =
            format_text(name, sizeof name, "stack %llu", (unsigned long long)r->script);
        *number = p->count++;
        p->scripts[*number] = (struct script){
            .thread = builder_thread(p->b, ID_NONE, ID_NONE, (struct str){name, length}),
            .since = r->time};
    }
    return &p->scripts[*number];
}

/* Adds the time until then to the open calls. */
static void run_until(struct papyrus_reader *p, struct script *s, uint64_t time)
{
    if (time < s->since)
        builder_warn(p->b, "a time before that of the preceding line", p->lines.number, 1,
                     STR(""));
    else if (s->stack && time > s->since)
        builder_add(p->b, &(struct sample){.time = s->since * 1000000,
                                           .thread = s->thread,
                                           .cpu = CPU_NONE,
                                           .event = p->event,
                                           .stack = s->stack,
                                           .count = 1,
                                           .weight = p->options->samples
                                                         ? 1
                                                         : (double)(time - s->since)});
    s->since = time;
}

/* Closes the innermost call of that function, and all calls inside it. */
static void pop(struct papyrus_reader *p, struct script *s, struct str function)
{
    const struct profile *profile = p->b->profile;
    for (stack_id at = s->stack; at; at = profile->stacks[at].parent) {
        string_id name = profile->frames[profile->stacks[at].frame].name;
        if (!str_equal(profile_string(profile, name), function))
            continue;
        if (at != s->stack)
            builder_warn(p->b, "a POP before those of its callees", p->lines.number, 1,
                         function);
        s->stack = profile->stacks[at].parent;
        return;
    }
    builder_warn(p->b, "a POP without its PUSH", p->lines.number, 1, function);
}

static void read_line(struct papyrus_reader *p, struct str line)
{
    struct record r;
    if (line.len == 0 || str_has(line, STR("log opened")) ||
        str_starts(line, STR("Log closed")))
        return;
    if (!parse_record(line, &r)) {
        builder_warn(p->b, "not a line of a script log", p->lines.number, 1, line);
        return;
    }
    struct script *s = script_of(p, &r);
    if (!s)
        return;
    run_until(p, s, r.time);
    if (r.push)
        s->stack = builder_push(p->b, s->stack, builder_named_frame(p->b, r.function));
    else
        pop(p, s, r.function);
}

static bool papyrus_read(struct source *in, const struct import_options *options,
                         struct builder *b, struct error *err)
{
    struct papyrus_reader p = {
        .b = b, .options = options, .lines = lines_of(in, err), .count = 1};
    struct str line;
    p.event =
        builder_event(b, STR("time"), options->samples ? UNIT_COUNT : UNIT_MILLISECONDS);
    while (!builder_failed(b) && !p.arena.failed && lines_next(&p.lines, &line))
        read_line(&p, line);
    builder_end_scratch(b, &p.arena);
    return !p.lines.failed;
}

static int papyrus_probe(struct str head)
{
    struct record r;
    for (int i = 0; i < 10 && head.len; i++) {
        struct str line = str_trim_right(str_cut(&head, '\n'));
        if (parse_record(line, &r))
            return 85;
    }
    return 0;
}

const struct importer import_papyrus = {
    .name = "papyrus",
    .suffixes = "log",
    .summary = "profiling log of Papyrus scripts",
    .probe = papyrus_probe,
    .read = papyrus_read,
};
