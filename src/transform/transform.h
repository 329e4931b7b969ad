/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms: a profile in, a profile out. One file per verb.
 *
 * To add a verb:
 *   1. its options in struct transform_options, where all zero means "not requested"
 *   2. src/transform/NAME.c with one `const struct transform transform_NAME`
 *   3. its line in transforms.def, which is the order in which verbs are applied
 *   4. its line in src/transform/meson.build
 *   5. its option in src/cli/options/transforms.c, tests/transform/test_NAME.c
 *
 * A verb never changes its input profile. It fills a builder, in most cases by rewriting
 * stacks (rewrite.h): one pass, parent before child, no recursion. Frames and threads
 * that only dropped samples use are dropped, too. transform_run copies the facts; they
 * describe the samples that were read, and facts.filtered is set if samples were
 * dropped. */
#ifndef STOKE_TRANSFORM_TRANSFORM_H
#define STOKE_TRANSFORM_TRANSFORM_H

#include "model/builder.h"
#include "model/frame_label.h"

#define TRANSFORM_WORDS_MAX 32

/* Words from the user: zero-terminated, valid as long as the options. */
struct transform_words {
    const char *items[TRANSFORM_WORDS_MAX];
    size_t count;
    bool exact; /* for patterns: they are full names instead */
};

/* Numbers and ranges of numbers, inclusive. */
struct number_set {
    struct {
        uint64_t first, last;
    } ranges[TRANSFORM_WORDS_MAX];
    size_t count;
};

/* A time that is specified before the profile is read. */
struct time_point {
    enum {
        TIME_POINT_NONE,
        TIME_POINT_CLOCK,
        TIME_POINT_FROM_FIRST,
        TIME_POINT_PERCENT
    } at;
    uint64_t ns;    /* on the clock of the input, or from its first sample */
    double percent; /* of the time from the first sample to the last */
};

#define TIME_SPANS_MAX 64

/* A span includes its start and excludes its end. */
struct time_spans {
    struct {
        struct time_point start, end;
    } items[TIME_SPANS_MAX];
    size_t count; /* 0: all times */
};

/* If items to keep are given, all others are dropped; items to drop are dropped. Names of
 * events and comms may contain the wildcards '*' and '?'. A time range includes its
 * `start` and excludes its `end`. Of an event that is live, all samples before `end`
 * remain: its value then. */
struct filter_options {
    struct transform_words events, drop_events;
    /* "KEY=VALUE", where VALUE may contain '*' and '?'; or "KEY" for any value. If
     * several words have the same key, one of them must match; this holds for each
     * key. */
    struct transform_words labels, drop_labels;
    struct transform_words comms, drop_comms;
    struct number_set pids, drop_pids;
    struct number_set tids, drop_tids;
    struct number_set cpus, drop_cpus;
    struct time_point start, end;
    struct time_spans spans; /* and in one of these */
};

struct strip_options {
    bool arguments; /* f(int) -> f */
    bool templates; /* vector<int>::at -> vector::at */
    bool offsets;   /* f+0x1f -> f */
    bool hex;       /* lambda_0x7f00 -> lambda_0x... */
    bool initials;  /* java.lang.Thread.run -> j.l.Thread.run */
    bool packages;  /* java.lang.Thread.run -> Thread.run */
};

/* The unit that becomes a frame. */
enum group_by {
    GROUP_FUNCTION,
    GROUP_MODULE,
    GROUP_FILE,
    GROUP_COMM,    /* the whole stack becomes one frame: the thread's name, */
    GROUP_PROCESS, /* with the process, */
    GROUP_THREAD,  /* with process and thread */
    GROUP_LABEL,   /* the whole stack becomes one frame: the value of a label */
};

enum collapse {
    COLLAPSE_NONE,
    COLLAPSE_ADJACENT, /* a;a;b;a -> a;b;a */
    COLLAPSE_CYCLES,   /* a;b;a;c -> a;c: back to the first occurrence of the function */
};

enum split {
    SPLIT_NONE,
    SPLIT_EACH, /* a::b;c::d -> a;b;c;d */
    SPLIT_LEAF, /* a::b;c::d -> c;d: the packages of the leaf functions */
};

/* Patterns are POSIX extended regular expressions, see pattern.h. Several patterns of
 * `focus` must all match; of the others, one must match. */
struct transform_options {
    struct filter_options filter;
    struct suppressions *suppressions; /* of leaks; they count what they drop. Or NULL */
    struct strip_options strip;
    struct transform_words focus;  /* keep the stacks with such a frame */
    struct transform_words ignore; /* drop the stacks with such a frame */
    struct transform_words hide;   /* drop such frames */
    struct transform_words show;   /* drop all other frames */
    struct transform_words
        show_module; /* patterns of modules: drop the frames of all others */
    struct transform_words show_from; /* start stacks at the outermost such frame */
    struct transform_words
        base; /* names: keep the stacks with one, starting at the innermost */
    struct transform_words
        collapse_module;    /* patterns of modules, see collapse_module.c */
    bool wall;              /* running and waiting in one event, see wall.c */
    bool latency;           /* time by the number of running threads, see latency.c */
    const char *wall_event; /* the event of running; NULL: the first */
    bool marks_truncated;   /* with `graft`: also mark stacks that remain truncated */
    bool graft;             /* infer the callers of truncated stacks, see graft.c */
    uint32_t max_stack;     /* frames of a stack that remain, the innermost; 0: all */
    enum group_by group;
    const char *group_label; /* GROUP_LABEL: the key */
    enum collapse collapse;
    enum split split;
    bool thread_frames;        /* threads become the outermost frames */
    enum thread_style threads; /* the form of their names */
    bool process_frames;       /* with thread_frames: processes, then the threads of those
                                  with several; samples keep their threads */
    bool reverse;              /* leaf first; threads become frames */
    double scale;              /* factor for weights; 0: none */
    double scale_to;           /* total of the weights of each event; 0: unchanged */
};

struct transform {
    const char *name;    /* lower case */
    const char *summary; /* a phrase: "keep the stacks that match" */
    bool (*requested)(const struct transform_options *o);

    /* Fills `to`, an empty builder with the mode of `from` and a copy of its facts.
     * False, with err set, if the options do not fit the profile; the caller checks the
     * builder for memory shortage. */
    bool (*run)(const struct profile *from, const struct transform_options *o,
                struct builder *to, struct error *err);
};

/* All transforms, in the order of transforms.def, followed by NULL. */
extern const struct transform *const transforms[];

const struct transform *transform_named(struct str name);

/* Runs one transform. The caller owns the result; NULL, with err set, on failure. */
struct profile *transform_run(const struct transform *t, const struct profile *from,
                              const struct transform_options *o, struct error *err);

/* Runs all transforms that the options request, in order. Takes over p: returns p if
 * there are none, else a new profile, and destroys p. On failure it destroys p and
 * returns NULL, with err set. *emptied is the transform that removed the last sample, or
 * NULL; this is not a failure. p may be NULL: nothing happens. */
struct profile *transform_apply(const struct transform_options *o, struct profile *p,
                                const struct transform **emptied, struct error *err);

struct diff_options {
    bool normalise; /* scale before to the total of after */
    event_id
        events[2]; /* of BEFORE and AFTER; 0: the first of AFTER, and of BEFORE the one
                           with its name */
    enum thread_style threads;   /* THREAD_COMM: IDs differ between runs, names do not */
    const int64_t *processes[2]; /* by thread of BEFORE and AFTER: the ID that its process
                                    has in the result, whatever the style; or NULL */
};

/* Makes one differential profile of two: event 1 has the weights before, event 2 those
 * after. The first event of `after` is used, and of `before` the event of that name, or
 * else the first. */
struct profile *transform_diff(const struct profile *before, const struct profile *after,
                               const struct diff_options *o, struct error *err);

/* True if the event matches: `requested` may contain '*' and '?', and omit the modifiers of
 * perf (cycles:ppp). */
bool event_matches(struct str requested, struct str name);

/* Adds numbers from text to the set: "3,7,10-12". */
bool number_set_add(struct number_set *set, struct str text, struct error *err);
bool number_set_has(const struct number_set *set, uint64_t number);

/* "12.5" (seconds on the clock of the input; also 12500ms, us, ns), "+1.5" (from the
 * first sample), "20%". */
bool time_point_parse(struct str text, struct time_point *out, struct error *err);

/* Replaces *spans: "START,STOP", either of which may be missing and STOP is included; several
 * with spaces between; or shares: "10%-20%,30%-40%", "10%/2" (the second tenth). */
bool time_spans_parse(struct str text, struct time_spans *spans, struct error *err);

/* The time on the clock of an input whose samples are from `first` to `last`. The last
 * sample is before 100 percent. */
uint64_t time_point_resolve(const struct time_point *t, uint64_t first, uint64_t last);

#endif
