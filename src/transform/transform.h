/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms: a profile in, a profile out. One file per verb.
 *
 * To add a verb:
 *   1. its options in struct transform_options, where all zero means "not asked for"
 *   2. src/transform/NAME.c with one `const struct transform transform_NAME`
 *   3. its line in transforms.def, which is the order in which verbs are applied
 *   4. its line in src/transform/meson.build
 *   5. its option in src/cli/options/view.c, tests/transform/test_NAME.c
 *
 * A verb never changes the profile that it is given. It fills a builder, most easily with
 * the rewriting of stacks that rewrite.h offers: one pass, parent before child, no
 * recursion. What it leaves out leaves nothing behind: no frame, no thread. The facts are
 * carried over by transform_run; they go on counting what was read, and say so when
 * samples were left out (facts.filtered). */
#ifndef STOKE_TRANSFORM_TRANSFORM_H
#define STOKE_TRANSFORM_TRANSFORM_H

#include "model/builder.h"
#include "model/label.h"

#define TRANSFORM_WORDS_MAX 32

/* Words of the user's, each zero-terminated and outliving the options. */
struct transform_words {
    const char *items[TRANSFORM_WORDS_MAX];
    size_t count;
    bool exact; /* where patterns are asked for: they are whole names instead */
};

/* Numbers and ranges of numbers, both ends included. */
struct number_set {
    struct {
        uint64_t first, last;
    } ranges[TRANSFORM_WORDS_MAX];
    size_t count;
};

/* A moment, as it can be told before the profile is known. */
struct time_point {
    enum {
        TIME_POINT_NONE,
        TIME_POINT_CLOCK,
        TIME_POINT_FROM_FIRST,
        TIME_POINT_PERCENT
    } at;
    uint64_t ns;    /* by the input's clock, or from its first sample on */
    double percent; /* of the way from the first sample to the last */
};

/* Where something is named to be kept, all else goes; what is named to be dropped goes.
 * Names of events and comms may hold '*' and '?'. A sample belongs to a time range from
 * its `start` on and up to, not including, its `end`. */
struct filter_options {
    struct transform_words events, drop_events;
    struct transform_words comms, drop_comms;
    struct number_set pids, drop_pids;
    struct number_set tids, drop_tids;
    struct number_set cpus, drop_cpus;
    struct time_point start, end;
};

struct strip_options {
    bool arguments; /* f(int) -> f */
    bool templates; /* vector<int>::at -> vector::at */
    bool offsets;   /* f+0x1f -> f */
    bool hex;       /* lambda_0x7f00 -> lambda_0x... */
};

/* What stands for a frame instead of its function. */
enum group_by {
    GROUP_FUNCTION,
    GROUP_MODULE,
    GROUP_FILE,
    GROUP_COMM,    /* the whole stack becomes one frame: the thread's name, */
    GROUP_PROCESS, /* with the process, */
    GROUP_THREAD,  /* with process and thread */
};

enum collapse {
    COLLAPSE_NONE,
    COLLAPSE_ADJACENT, /* a;a;b;a -> a;b;a */
    COLLAPSE_CYCLES,   /* a;b;a;c -> a;c: back to where the function was met first */
};

enum split {
    SPLIT_NONE,
    SPLIT_EACH, /* a::b;c::d -> a;b;c;d */
    SPLIT_LEAF, /* a::b;c::d -> c;d: the packages of the functions that ran */
};

/* Patterns are POSIX extended regular expressions, see pattern.h; several of `focus` must
 * all match, of the others one is enough. */
struct transform_options {
    struct filter_options filter;
    struct strip_options strip;
    struct transform_words focus;     /* keep the stacks with such a frame */
    struct transform_words ignore;    /* drop the stacks with such a frame */
    struct transform_words hide;      /* drop such frames */
    struct transform_words show;      /* drop all other frames */
    struct transform_words show_from; /* begin stacks at the outermost such frame */
    struct transform_words
        base; /* names: keep the stacks with one, from the innermost on */
    struct transform_words
        collapse_module;    /* patterns of modules, see collapse_module.c */
    bool wall;              /* running and waiting as one event, see wall.c */
    const char *wall_event; /* of the running; NULL: the first */
    enum group_by group;
    enum collapse collapse;
    enum split split;
    bool thread_frames;        /* threads become the outermost frames */
    enum thread_style threads; /* and this is what they are called */
    bool reverse;              /* leaf first; threads become frames */
    double scale;              /* weights times this; 0: as they are */
    double scale_to;           /* each event's weights add up to this; 0: as they do */
};

struct transform {
    const char *name;    /* lower case */
    const char *summary; /* a phrase: "keep the stacks that match" */
    bool (*wanted)(const struct transform_options *o);

    /* Fills `to`, an empty builder of the same mode as `from`, its facts already those of
     * `from`. False, with err set, where the options do not fit the profile; shortness of
     * memory in the builder need not be looked at. */
    bool (*run)(const struct profile *from, const struct transform_options *o,
                struct builder *to, struct error *err);
};

/* All verbs, in the order of transforms.def, and a NULL behind them. */
extern const struct transform *const transforms[];

const struct transform *transform_named(struct str name);

/* Runs one verb. The result is the caller's; NULL with err set on failure. */
struct profile *transform_run(const struct transform *t, const struct profile *from,
                              const struct transform_options *o, struct error *err);

/* Runs all that the options want, in order. Takes `p` over: gives back p itself where
 * nothing is wanted, else a new profile with p destroyed; NULL, with err set and p
 * destroyed, on failure. *emptied is the verb after which no sample was left, else NULL;
 * that is no failure. p may be NULL: nothing happens then. */
struct profile *transform_apply(const struct transform_options *o, struct profile *p,
                                const struct transform **emptied, struct error *err);

struct diff_options {
    bool normalise;            /* before is scaled to after's total */
    enum thread_style threads; /* THREAD_COMM: runs have other numbers, names stay */
};

/* Two profiles as one that is differential: event 1 holds the weights before, event 2
 * those after. Of each the first event is taken; of `before` the one called like the
 * first of `after`, where there is one. */
struct profile *transform_diff(const struct profile *before, const struct profile *after,
                               const struct diff_options *o, struct error *err);

/* Whether the event is one that the user wants: the name may have '*' and '?', and be
 * without the modifiers that perf puts behind it (cycles:ppp). */
bool event_matches(struct str wanted, struct str name);

/* What users write: "3,7,10-12", added to the set. */
bool number_set_add(struct number_set *set, struct str text, struct error *err);
bool number_set_has(const struct number_set *set, uint64_t number);

/* "12.5" (seconds by the input's clock; also 12500ms, us, ns), "+1.5" (from the first
 * sample on), "20%". */
bool time_point_parse(struct str text, struct time_point *out, struct error *err);

/* The moment by the clock of an input whose samples are from `first` to `last`. The last
 * sample lies before 100 percent. */
uint64_t time_point_resolve(const struct time_point *t, uint64_t first, uint64_t last);

#endif
