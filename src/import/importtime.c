/* SPDX-License-Identifier: Apache-2.0 */
/* What `python3 -X importtime` prints: the time of each import of a module.
 *
 *   import time: self [us] | cumulative | imported package
 *   import time:       120 |        120 |     json.scanner
 *   import time:       300 |        420 |   json.decoder
 *   import time:       200 |        620 | json
 *
 * A module comes after those that it imports, which are indented by two more spaces. Other lines are
 * output of the program, and are left out. */
#include "base/array.h"
#include "base/number.h"
#include "import/importer.h"

#define PREFIX STR("import time:")
#define INDENT 2          /* spaces per level */
#define MICROSECONDS 1000 /* ns */

struct imported {
    frame_id frame;
    uint64_t self; /* us */
    uint32_t
        importer; /* number of the module that imports it, plus one; 0: the program */
    uint32_t depth, next; /* next: of those whose importer is not known yet, plus one */
};

struct reader {
    struct builder *b;
    const struct import_options *options;
    struct arena arena;
    struct imported *modules;
    size_t count, cap;
    uint32_t open; /* the last module whose importer is not known yet, plus one */
};

/* The columns of a line. False if it is not one of a module. */
static bool split_line(struct str line, uint64_t *self, uint32_t *depth, struct str *name)
{
    if (!str_starts(line, PREFIX))
        return false;
    struct str rest = str_skip(line, PREFIX.len);
    struct str number = str_trim(str_cut(&rest, '|'));
    struct str cumulative = str_trim(str_cut(&rest, '|'));
    uint64_t unused;
    if (!number_parse_u64(number, self) || !number_parse_u64(cumulative, &unused) ||
        *self > UINT64_MAX / MICROSECONDS)
        return false;
    size_t spaces = 0;
    while (spaces < rest.len && rest.ptr[spaces] == ' ')
        spaces++;
    *depth = (uint32_t)(spaces / INDENT); /* one space follows the bar */
    *name = str_trim(rest);
    return name->len > 0 && spaces <= UINT32_MAX;
}

/* Those before it that are deeper are what it imports. */
static void add_module(struct reader *r, struct str name, uint64_t self, uint32_t depth)
{
    struct frame f = {.name = import_label(r->b, builder_string(r->b, name))};
    struct imported *m = r->count < UINT32_MAX - 1
                             ? ARRAY_APPEND(&r->arena, r->modules, r->count, r->cap)
                             : NULL;
    if (!m)
        return;
    *m =
        (struct imported){.frame = builder_frame(r->b, &f), .self = self, .depth = depth};
    while (r->open && r->modules[r->open - 1].depth > depth) {
        struct imported *inner = &r->modules[r->open - 1];
        r->open = inner->next;
        inner->importer = (uint32_t)r->count;
    }
    m->next = r->open;
    r->open = (uint32_t)r->count;
}

/* An importer comes after what it imports. */
static void add_samples(struct reader *r)
{
    stack_id *stacks = arena_alloc(&r->arena, (r->count + 1) * sizeof *stacks);
    event_id event = builder_event(r->b, STR("import time"),
                                   r->options->samples ? UNIT_COUNT : UNIT_NANOSECONDS);
    for (size_t i = r->count; stacks && i-- > 0 && !builder_failed(r->b);) {
        const struct imported *m = &r->modules[i];
        stack_id caller = m->importer ? stacks[m->importer - 1] : 0;
        stacks[i] = builder_push(r->b, caller, m->frame);
        struct sample s = {.time = TIME_NONE,
                           .cpu = CPU_NONE,
                           .event = event,
                           .stack = stacks[i],
                           .count = 1,
                           .weight = (double)m->self * MICROSECONDS};
        if (r->options->samples)
            s.weight = 1;
        builder_add(r->b, &s);
    }
}

static bool is_heading(struct str line)
{
    return str_starts(line, PREFIX) &&
           str_starts(str_trim_left(str_skip(line, PREFIX.len)), STR("self ["));
}

static bool importtime_read(struct source *in, const struct import_options *options,
                            struct builder *b, struct error *err)
{
    struct reader r = {.b = b, .options = options};
    struct lines lines = lines_of(in, err);
    struct str line, name;
    uint64_t self;
    uint32_t depth;
    while (!builder_failed(b) && !r.arena.failed && lines_next(&lines, &line))
        if (split_line(line, &self, &depth, &name))
            add_module(&r, name, self, depth);
        else if (str_starts(line, PREFIX) && !is_heading(line))
            builder_warn(b, "not a time of an import", lines.number, 1, line);
    add_samples(&r);
    bool ok = !r.arena.failed || error_memory(err);
    builder_end_scratch(b, &r.arena);
    return ok && !lines.failed;
}

static int importtime_probe(struct str head)
{
    struct str name;
    uint64_t self;
    uint32_t depth;
    for (int i = 0; i < 200 && head.len; i++) {
        struct str line = str_cut(&head, '\n');
        if (is_heading(line) || split_line(line, &self, &depth, &name))
            return 94;
    }
    return 0;
}

const struct importer import_importtime = {
    .name = "importtime",
    .suffixes = "",
    .summary = "import times of Python's modules, by python3 -X importtime",
    .probe = importtime_probe,
    .counts_all = true,
    .read = importtime_read,
};
