/* SPDX-License-Identifier: Apache-2.0 */
/* Small profiles written as tables, transformed, and compared as folded lines. */
#ifndef STOKE_TESTS_TRANSFORM_PROFILES_H
#define STOKE_TESTS_TRANSFORM_PROFILES_H

#include "export/exporter.h"
#include "transform/transform.h"
#include "unit.h"

/* A sample. `thread` is "comm", "comm/pid" or "comm/pid/tid"; NULL: no thread. */
struct row {
    const char *stack;
    double weight;
    const char *thread;
    const char *event; /* NULL: "samples" */
    uint64_t time;     /* 0: none */
    uint32_t cpu;      /* from 1; 0: none */
};

static inline int64_t number_or_none(struct str s)
{
    int64_t n = 0;
    for (size_t i = 0; i < s.len; i++)
        n = n * 10 + (s.ptr[i] - '0');
    return s.len ? n : ID_NONE;
}

static inline thread_id thread_of(struct builder *b, const char *text)
{
    struct str rest = str_of(text), name = str_cut(&rest, '/'), pid = str_cut(&rest, '/');
    return builder_thread(b, number_or_none(pid), number_or_none(rest), name);
}

static inline void add_row(struct builder *b, const struct row *row)
{
    struct sample s = {.time = row->time ? row->time : TIME_NONE,
                       .cpu = row->cpu ? row->cpu - 1 : CPU_NONE,
                       .count = 1,
                       .weight = row->weight};
    for (struct str rest = str_of(row->stack); rest.len;) {
        struct str name = str_cut(&rest, ';');
        struct frame f = {.name = builder_string(b, name),
                          .kind = label_suffix_kind(name)};
        s.stack = builder_push(b, s.stack, builder_frame(b, &f));
    }
    s.event = builder_event(b, str_of(row->event ? row->event : "samples"), UNIT_COUNT);
    s.thread = row->thread ? thread_of(b, row->thread) : 0;
    builder_add(b, &s);
}

/* Of a builder that may have events already, whose units they say; it is used up. */
static inline struct profile *profile_built(struct builder *b, const struct row *rows,
                                            size_t count)
{
    struct error err;
    for (size_t i = 0; i < count; i++)
        add_row(b, &rows[i]);
    struct profile *p = builder_finish(b, &err);
    assert_non_null(p);
    builder_deinit(b);
    return p;
}

static inline struct profile *profile_of(const struct row *rows, size_t count,
                                         enum build_mode mode)
{
    struct builder b;
    assert_true(builder_init(&b, mode));
    return profile_built(&b, rows, count);
}

#define PROFILE(rows) profile_of(rows, sizeof(rows) / sizeof *(rows), BUILD_KEEP)

/* What folding the event prints (0: the first). */
static inline void assert_folded_event(const struct profile *p, event_id event,
                                       enum thread_style threads, const char *expected)
{
    struct export_options options = {.tree = {.event = event, .threads = threads}};
    struct output out = OUTPUT_BUFFER;
    struct error err;
    assert_true(exporter_named(STR("folded"))->write(p, &options, &out, &err));
    assert_str(output_contents(&out), expected);
    output_deinit(&out);
}

static inline void assert_folded(const struct profile *p, const char *expected)
{
    assert_folded_event(p, 0, THREAD_TID, expected);
}

/* Checks that parents are before their children, and that all ids are valid. */
static inline void assert_sound(const struct profile *p)
{
    for (stack_id i = 1; i < p->stack_count; i++) {
        assert_true(p->stacks[i].parent < i);
        assert_true(p->stacks[i].frame > 0 && p->stacks[i].frame < p->frame_count);
    }
    for (size_t i = 0; i < p->sample_count; i++) {
        assert_true(p->samples[i].stack < p->stack_count);
        assert_true(p->samples[i].thread < p->thread_count);
        assert_true(p->samples[i].event < p->event_count);
    }
}

/* Compares the folded stacks with the expected ones; frees p. */
static inline struct profile *transformed(struct profile *p,
                                          const struct transform_options *o)
{
    struct error err = {.location = LOCATION_NONE};
    const struct transform *emptied;
    struct profile *to = transform_apply(o, p, &emptied, &err);
    if (!to) {
        fail_msg("%s", err.message);
        return NULL;
    }
    assert_sound(to);
    return to;
}

/* Rows, transformed, are the folded lines expected. */
#define assert_transformed(rows, options, expected)                  \
    do {                                                             \
        struct profile *p_ = transformed(PROFILE(rows), &(options)); \
        assert_folded(p_, expected);                                 \
        profile_destroy(p_);                                         \
    } while (0)

/* Rows, transformed, fail with a message that has `part` in it. */
#define assert_refused(rows, options, part)                                        \
    do {                                                                           \
        struct error err_;                                                         \
        const struct transform *emptied_;                                          \
        assert_null(transform_apply(&(options), PROFILE(rows), &emptied_, &err_)); \
        if (!str_has(str_of(err_.message), str_of(part)))                          \
            fail_msg("\"%s\" does not say \"%s\"", err_.message, part);            \
    } while (0)

#endif
