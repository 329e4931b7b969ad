/* SPDX-License-Identifier: Apache-2.0 */
/* The viewer's core: it computes everything that the page shows, with the pure folders
 * of src/; the page draws it. It is built as one WebAssembly module
 * (web/build.py), which imports decompression from the page (unpack.c), and in part natively
 * for a benchmark (bench/viewer_read.c).
 *
 * One profile at a time is open, or two in a comparison. A list of filters makes the
 * profile that is shown. Its trees and charts are made on first use, and freed when
 * the filters change. There is no recursion. */
#ifndef STOKE_WEB_CORE_H
#define STOKE_WEB_CORE_H

#include "analysis/call_graph.h"
#include "analysis/noise.h"
#include "analysis/paths.h"
#include "base/idmap.h"
#include "codec/json.h"
#include "import/detect.h"
#include "model/code.h"

#define NONE UINT32_MAX

/* --- load.c: bytes in pieces, a profile out ---------------------------------------- */

struct loading {
    const struct importer *importer; /* NULL: unknown yet */
    const struct importer *chosen;   /* by the user, by name; NULL: detect it */
    bool looked;
    struct detection detection;
    struct builder builder;
    bool begun;
    char name[256]; /* of the file, for messages and its suffix */
    char *bytes;    /* not read yet */
    size_t used, cap;
    struct arena head_arena;
    struct str head;
    uint64_t lines;    /* in the pieces read so far */
    uint64_t done;     /* bytes read */
    struct code *code; /* of a .stoke that has code; NULL: of other formats */
};

void loading_deinit(struct loading *l);

/* The code that the loaded file contains, which the caller destroys; NULL: none. Call it before
 * loading_finish. */
struct code *loading_take_code(struct loading *l);
void code_destroy(struct code *c);

bool loading_begin(struct loading *l, struct str name, struct error *err);

/* Sets the format (importer_named) instead of detecting it; "" detects it. Call it
 * between loading_begin and the first piece. */
bool loading_format(struct loading *l, struct str format, struct error *err);

/* The buffer for the next `room` bytes of the file; NULL if out of memory. */
char *loading_room(struct loading *l, size_t room);

/* Adds `length` bytes of the buffer. Complete records are read when there are enough;
 * formats that must be read as a whole wait for the last piece. */
bool loading_feed(struct loading *l, size_t length, bool last, struct error *err);

/* The data read so far, as a profile that is marked as partial; the caller owns it.
 * NULL with err set, also if there is no sample yet. It is a copy, so it uses as much
 * memory as the data. */
struct profile *loading_so_far(struct loading *l, struct error *err);

/* Faults of the compressed data of the file: the profile has a warning. */
enum flaw { FLAW_DAMAGED = 1, FLAW_TRUNCATED, FLAW_TRAILING_BYTES, FLAW_TOO_MUCH };
void loading_flaw(struct loading *l, enum flaw flaw);

/* Stops reading: the profile is marked as partial. False if there is no sample. */
bool loading_stop(struct loading *l);

/* At the end: the profile, which the caller owns. NULL with err set. */
struct profile *loading_finish(struct loading *l, struct error *err);

/* --- tree.c: stacks merged to a tree, in either direction -------------------------- */

enum tree_kind {
    TREE_DOWN,    /* from the root */
    TREE_UP,      /* from the leaf, below process and thread */
    TREE_CALLERS, /* from a function to its callers, below its process */
    TREE_CALLEES, /* from a function to its callees, below its process */
    TREE_COUNT,
};

enum tree_order { ORDER_SIZE, ORDER_NAME, ORDER_CAME };

/* Columns by node; 0 is the root, a parent comes before its children. */
struct tree {
    struct arena arena;
    bool made;
    size_t count;
    const struct trie_node *nodes; /* `key` is a label (of paths: a frame) */
    const string_id *label_of_key; /* NULL: the key is the label */
    double *self, *total;
    double *base_self, *base_total; /* of the profile before, in a comparison; or NULL */
    double *waiting;                /* the part of the total that waits; or NULL */
    string_id *
        process; /* the label of its process, or 0; NULL: no name is of several programs */
    struct children children; /* sorted */
};

/* --- change.c: two profiles compared ------------------------------------------------ */

/* Both profiles after the filters: [0] before, [1] after. */
struct comparison {
    struct profile *opened[2], *sides[2];
    event_id events[2];
    double idle[2]; /* left out: the weight of the events in which CPUs were idle */
};

struct comparison_options {
    struct str filters;
    event_id event; /* of the profile after; the event before is the one with its name */
    bool without_idle; /* leaves out the time of idle CPUs, unless a side has no other */
};

/* Filters both. Both profiles must outlive the comparison. */
bool comparison_init(struct comparison *c, struct profile *before, struct profile *after,
                     const struct comparison_options *o, struct error *err);
void comparison_deinit(struct comparison *c);

/* Without filters and with the first event. */
struct profile *comparison_whole(struct profile *before, struct profile *after,
                                 struct error *err);

/* The differential profile, which the caller owns. If a side has several processes, those of one
 * name are one process. */
struct profile *comparison_profile(const struct comparison *c, struct error *err);

enum part { PART_SELF, PART_TOTAL };

/* What is known about the noise of both profiles. */
struct changes {
    struct arena arena;
    bool made;                 /* false without a comparison */
    struct noise sides[2];     /* before, after */
    struct str event_names[2]; /* owned */
    event_id event;            /* of the profile after */
    double idle[2];            /* as in struct comparison */
    bool
        by_weight; /* weights are compared instead of shares, in parts of the larger total */
    double limit[2]; /* by enum part: the largest p that is a finding */
    size_t tested;
};

/* A process or a thread that is an outermost level of the trees. Processes with the same
 * name are one. */
struct owner {
    string_id label;
    bool process;
    uint32_t first, count; /* its threads in owner_threads, sorted by process */
};

/* Labels with frames of several modules or kinds, if there are several processes. */
struct shared_names {
    uint8_t *is_shared;      /* by label */
    struct idmap of_process; /* process << 32 | label: a number of `frames`, plus 1 */
    frame_id *frames;        /* of the label in one process */
    size_t count, cap;
};

/* What kind_of_label has for labels of owners, above enum frame_kind. */
enum owner_kind { KIND_PROCESS = 16, KIND_THREAD = 17 };

/* The shown profile: after the filters, with its labels, and the weight of each node of
 * the tree from the root. The nodes are the paths or, by process, the paths below their
 * processes and threads. */
struct shown {
    struct arena arena;
    const struct profile *p;
    struct paths paths;
    const struct trie_node *nodes; /* a parent comes before its children */
    const string_id *label_of_key; /* NULL: the key is the label */
    size_t node_count;
    struct owner *owners; /* by process */
    size_t owner_count, owner_cap;
    uint32_t *owner_threads;
    string_id *process_of_thread, *thread_label_of_thread; /* labels, or 0 */
    struct shared_names shared;
    event_id event, base;     /* base: the event before, or 0 */
    bool count;               /* count samples instead of their weights */
    double *self, *base_self; /* by node; base_self is NULL without a comparison */
    double total, base_total;
    double unnamed;           /* of the total: in leaves without a name */
    double idle;              /* of the total, or not in it: in idle functions */
    const uint8_t *idle_left; /* by frame: not shown, as idle; NULL: all are shown */
    uint64_t samples;         /* of the event */
    frame_id *frame_of_label; /* the first with a file (see tree.c); 0 for threads */
    uint8_t *kind_of_label;   /* enum frame_kind; FRAME_IDLE for idle functions */
    uint8_t *marks_of_label;  /* DRAWN_UNKNOWN, DRAWN_CUT, DRAWN_OFF */
    struct changes changes;
    uint8_t
        *waits; /* by node: it contains the reason of a wait; NULL: none, or all wait */
    uint32_t
        *node_of_row; /* by sample of p, if parts of them may be shown; NULL: the path */
    bool borrows;     /* its labels and nodes are those of another one */
};

/* With `by_process`, profiles of several processes begin with process and thread. `without_idle`
 * leaves out the time in which CPUs were idle, unless that is all; of a comparison, comparison_init
 * does that. `has_parts`: shown_part may be called with it. */
struct shown_options {
    event_id event;
    bool count, by_process, without_idle, has_parts;
};

bool shown_init(struct shown *s, const struct profile *p,
                const struct shown_options *options, struct error *err);
void shown_deinit(struct shown *s);

/* `part` has samples with the tables of whole->p, and the number of their row in it as
 * their CPU. The labels and nodes, some of which may have no weight then, are those of
 * `whole`, which must outlive s. False if out of memory. */
bool shown_part(struct shown *s, const struct shown *whole, const struct profile *part);
double shown_weight(const struct shown *s, const struct sample *sample);

static inline bool shown_has(const struct shown *s, event_id event)
{
    return event == s->event || (s->base && event == s->base);
}

static inline string_id shown_label(const struct shown *s, uint32_t node)
{
    uint32_t key = s->nodes[node].key;
    return node == 0 ? 0 : s->label_of_key ? s->label_of_key[key] : key;
}

/* Whether samples end in the node. */
static inline bool shown_weighs(const struct shown *s, uint32_t node)
{
    return s->self[node] != 0 || (s->base_self && s->base_self[node] != 0);
}

/* by_process.c: the labels of processes and threads; none if there is only one process.
 * False if out of memory. */
bool owners_init(struct shown *s);

/* By thread of the profile: a number of its process that stands for the name (see
 * label_process.h), or ID_NONE. Returns the number of processes with samples of the event. */
size_t process_numbers(const struct profile *p, event_id event, int64_t *numbers);

/* NULL if the label is of a function. */
const struct owner *owner_of(const struct shown *s, string_id label);

/* shared_names.c: needs the owners and the frames of the labels. False if out of memory. */
bool shared_names_init(struct shown *s);

/* The number of the label's function in the process; NONE: the label stands for one function,
 * or the process is 0. */
uint32_t shared_name_in(const struct shown *s, string_id process, string_id label);

/* The frame of the label in the process, or (also if the process is 0) anywhere. */
frame_id frame_in(const struct shown *s, string_id process, string_id label);

/* Makes the nodes, and adds each sample of the event to its node. With `has_parts`, sets
 * node_of_row. False if out of memory. */
typedef void (*shown_add)(struct shown *s, const struct sample *sample, uint32_t node);
bool owners_graft(struct shown *s, bool has_parts, shown_add add);

/* node_order.c: nodes with their weights, and the nodes of rows of samples. */
struct nodes {
    struct trie_node *nodes; /* a parent comes before its children */
    double *self;
    size_t count;
    uint32_t *of_row;
    size_t row_count;
};

/* Puts the nodes in the order in which a chart reads them. False if out of memory. */
bool nodes_order(struct nodes *n);

struct tree_options {
    enum tree_kind kind;
    string_id label; /* the function of TREE_CALLERS and TREE_CALLEES */
    enum tree_order order;
    const struct tree
        *whole; /* of the same kind, of the profile of which s is a part; or NULL */
};

bool tree_init(struct tree *t, const struct shown *s, const struct tree_options *o,
               struct error *err);
void tree_deinit(struct tree *t);

static inline string_id tree_label(const struct tree *t, uint32_t node)
{
    uint32_t key = t->nodes[node].key;
    return node == 0 ? 0 : t->label_of_key ? t->label_of_key[key] : key;
}

/* --- slices.c: samples in the order of their threads or CPUs ----------------------- */

/* What is needed of a sample: the samples themselves are too large to be read in another order
 * than theirs. */
struct slice {
    double begin, length; /* ns */
    uint32_t id;          /* of a sample, a path or a process */
    bool waits;
};

/* ns of the axis of time for a unit of the event's weights; NAN if they are no times. The
 * axis of an instruction trace has cycles instead of ns. */
double slice_scale(const struct profile *p, event_id event);
bool clock_is_cycles(const struct profile *p);

/* By their start; those with the same one remain in order. False if out of memory. */
bool slices_sort(struct slice *slices, size_t count);

/* --- chart.c: boxes in rows -------------------------------------------------------- */

#define ALL_WAITS 0.995 /* the share from which a box is drawn as waiting */

/* level.c: rows with many boxes at low zoom. Boxes that begin in the same cell of the
 * axis and are narrower than a cell are one span. It covers the boxes from `box` to
 * that of the next span in the row, and looks like the first. */
struct level {
    double cell;
    uint32_t *row_first, *row_stop; /* NONE: not made yet; an empty row has no spans */
    struct span {
        double begin, end;
        uint32_t box;
    } * spans;
    size_t count, cap;
};

#define LEVELS_MAX 12

struct row_index; /* row_index.c, below */

/* The boxes of a row are adjacent and sorted by their start; row r has those from
 * row_first[r] to row_stop[r]. By time, the boxes of a lane are made when they are needed
 * (chart_need), and numbered in the order in which they are made. */
struct chart {
    struct arena arena;
    bool made;
    uint32_t rows;
    uint32_t *row_first, *row_stop;
    thread_id *thread_of_row; /* by time */
    uint32_t count;           /* boxes; by time: those that are made */
    size_t cap;               /* by time: room for boxes, which the arena does not own */
    double *begin, *end;
    uint32_t *node;          /* by box: node of the tree or, by time, path */
    float *waited;           /* by box: the part in which the thread waits; or NULL */
    uint8_t *reasons;        /* by node: of the wait, enum activity; NULL: no waits */
    const struct tree *tree; /* NULL: by time */
    bool waits;              /* by time: boxes may wait */
    bool before;             /* its widths are the weights before */
    double to;               /* the range of the axis is 0 to `to` */
    uint64_t origin;         /* by time: the profile's time at 0 */
    bool timed; /* the axis is ns from the profile's first sample; otherwise weight */
    struct lane *lanes; /* by time: one per thread */
    size_t lane_count;
    struct clock *clock;             /* by time: what lanes are made of */
    struct level levels[LEVELS_MAX]; /* from fine to coarse */
    unsigned level_count;
};

struct lane {
    thread_id thread;
    uint32_t row, rows; /* the first is the header, without boxes */
    double weight;
    bool made; /* its boxes */
};

/* With `before`, the boxes are as wide as the weights before. They have the same numbers
 * in both charts. */
bool chart_of_tree(struct chart *c, const struct tree *t, bool before, struct error *err);

/* The boxes of the first row remain, but are in no row. */
void chart_hide_outermost(struct chart *c);

static inline bool chart_has(const struct chart *c, uint32_t box)
{
    return box < c->count && c->rows && box >= c->row_first[0];
}

/* time.c: the samples of all threads on one axis, in ns; without times, in order, by
 * weight. `rows` has the sums of the samples by thread, event and stack: condensed rows,
 * or the profile s->p itself. `index` is of s->p; NULL makes one. On failure the chart
 * must be freed, too. */
bool chart_of_time(struct chart *c, const struct shown *s, const struct profile *rows,
                   const struct row_index *index, struct error *err);

/* Makes the boxes of the rows from `first` to `last`, if they are not made yet. What
 * `shown` had of labels and paths must still be there and, by time, its samples and their index. */
bool chart_need(struct chart *c, uint32_t first, uint32_t last, struct error *err);

/* time.c: frees what the arena of the chart does not own. */
void chart_of_time_deinit(struct chart *c);

/* reasons.c: of the waits. False if out of memory. */
bool reasons_make(struct chart *c, const struct shown *s);
void chart_deinit(struct chart *c);

/* Prepares levels for rows of at most `most` boxes. */
void levels_init(struct chart *c, uint32_t most);

/* The coarsest level of the row whose cells are not wider than a pixel; NULL: the
 * boxes. The row's part of a level is made when it is first needed. */
const struct level *chart_level(struct chart *c, uint32_t row, double pixel);

/* The first span of the row that ends after x; the row's end if there is none. */
uint32_t level_find(const struct level *l, uint32_t row, double x);

/* The first box of the row, from `at` on, that ends after x; the row's end if there is
 * none. */
uint32_t chart_find(const struct chart *c, uint32_t row, uint32_t at, double x);
string_id chart_label(const struct chart *c, const struct shown *s, uint32_t box);

/* The label of the process of a box in the row; 0: unknown, or no name is of several programs. */
string_id chart_process(const struct chart *c, const struct shown *s, uint32_t row,
                        uint32_t box);

/* The part of a box that waits: from 0 to 1. */
double chart_waits(const struct chart *c, uint32_t box);

/* A box as the page draws it. */
struct drawn_box {
    float x, width; /* pixels from the left of the view */
    uint32_t row, box, label;
    uint32_t look; /* tone | kind << 8 | flags << 16 | share that waits, of 255 << 24 */
};

enum drawn_flag {
    DRAWN_MATCH = 1,
    DRAWN_MANY = 2,
    DRAWN_SAME = 4,
    DRAWN_UNKNOWN = 8, /* the function is unknown */
    DRAWN_CUT = 16,    /* represents missing callers */
    DRAWN_OFF = 32,    /* off CPU: the thread waits */
};

/* The visible part of a chart. */
struct window {
    double from, to;
    double width;                 /* pixels */
    uint32_t first_row, last_row; /* last_row is exclusive */
};

/* What determines the colour of boxes. TONE_AUTO: the module, or the name if most stacks are
 * of one module. */
enum tone_by { TONE_NAME, TONE_MODULE, TONE_KIND, TONE_SELF, TONE_CHANGE, TONE_AUTO };

/* By name and by module, a tone is a category and, in the high bits, a variant of it, so
 * that neighbours differ. */
#define CATEGORIES 12 /* the next one is the kernel */
#define VARIANT_SHIFT 4

struct looks {
    const uint8_t *tones;   /* by label; of trees, unused for TONE_SELF and TONE_CHANGE */
    const uint8_t *shared;  /* by number of a shared name */
    const uint8_t *matches; /* by label; or NULL */
    enum tone_by by;
    string_id same; /* the selected function */
};

/* Writes the visible boxes; those that share a pixel are drawn as one. The chart may get levels. */
void chart_draw(struct chart *c, const struct shown *s, const struct window *w,
                const struct looks *looks, struct output *out);

/* --- functions.c: the table of functions, and the search --------------------------- */

struct functions {
    struct arena arena;
    bool made;
    size_t labels;
    double *self, *total, *base_self, *base_total; /* by label; base: or NULL */
    uint32_t *order;                               /* labels, as last sorted */
    size_t count;
};

/* SORT_FOUND: by the change of self; functions that changed by more than noise first. */
enum function_sort {
    SORT_SELF,
    SORT_TOTAL,
    SORT_NAME,
    SORT_MODULE,
    SORT_CHANGE,
    SORT_FOUND,
};

bool functions_init(struct functions *f, const struct shown *s, const struct tree *down,
                    struct error *err);
void functions_deinit(struct functions *f);

/* --- change.c, continued ------------------------------------------------------------ */

/* Measures the noise of the shown comparison. */
bool changes_init(struct changes *n, const struct comparison *c, const struct shown *s,
                  struct error *err);
void changes_deinit(struct changes *n);

/* Sets the limits of the findings; nothing without a comparison. */
bool changes_test(struct shown *s, const struct functions *f, struct error *err);

enum verdict { CHANGE_NOISE, CHANGE_LESS, CHANGE_MORE, CHANGE_FEW };

/* The change of a function, or of a part of it: a box, a node. */
struct change {
    struct difference difference; /* of shares, or of weights: see struct changes */
    enum verdict verdict;
};

struct change change_of(const struct shown *s, string_id label, enum part part,
                        double before, double after);

/* 128: within noise. Below it less, above it more, stronger up to a change of 10% of the
 * whole. */
uint32_t change_tone(const struct change *c);

/* A member of an object; nothing without a comparison. */
void reply_change(struct json_writer *w, const char *key, const struct shown *s,
                  string_id label, enum part part, double before, double after);

/* How the noise was measured, and how many functions changed. */
void reply_comparison(struct json_writer *w, const struct shown *s,
                      const struct functions *f);

/* Sets f->order to the labels that match (NULL: all), sorted. */
bool functions_sort(struct functions *f, const struct shown *s, enum function_sort by,
                    bool up, const uint8_t *matches, struct error *err);

/* The heaviest functions, at most `most`, whose name, file or module contains the text:
 * [{"label", "name"}] as JSON. */
bool reply_named(struct json_writer *w, const struct shown *s, const struct functions *f,
                 struct str text, uint32_t most, struct error *err);

/* By label, whether its name, file or module contains the text, or matches the
 * pattern. The weight of a stack with such a frame is added once. */
struct search {
    struct arena arena;
    uint8_t *matches; /* NULL: no search */
    size_t functions;
    double total;
};

bool search_init(struct search *q, const struct shown *s, struct str text, bool pattern,
                 struct error *err);
void search_deinit(struct search *q);

/* --- row_index.c: the samples of threads and of spans, found without reading all --------- */

struct row_index {
    struct arena arena;
    const struct profile *p;
    bool by_time;        /* the samples are in the order of their times */
    uint32_t *first;     /* by thread: its rows in of_thread; one more at the end */
    uint32_t *of_thread; /* rows by thread, in their order */
};

/* `p` must remain until row_index_deinit. */
bool row_index_init(struct row_index *x, const struct profile *p, struct error *err);
void row_index_deinit(struct row_index *x);

/* The first sample that is not before the time; they are in the order of their times. */
size_t row_at(const struct profile *p, uint64_t time);

struct filter_options;

/* Makes `view` a profile with the tables of x->p, and of its samples at least those that the
 * filter leaves. It is valid as long as the arena and x->p, and owns nothing. False: the filter
 * must read all samples. */
bool row_index_narrow(const struct row_index *x, const struct filter_options *o,
                      struct arena *a, struct profile *view);

/* --- condensed.c: samples with the same thread, event and stack as one row -------------- */

/* The views that do not show time need only the rows, and filters that need nothing else
 * change only them. The rows of any span are found without reading its samples: sums are noted
 * every `spacing` samples. All of it is exact: where the weights are not integers, or a sum of
 * them would not be, the profile is not condensed. */
struct condensed {
    struct arena arena;
    const struct profile *p;
    bool made;    /* false: it would be no gain, or not exact */
    bool by_time; /* the samples are in the order of their times */
    struct profile
        rows;          /* the tables of p; a row has no time, and its number as its CPU */
    uint32_t *row_of;  /* by sample: the number */
    uint32_t *longest; /* by number: the first sample with the largest weight */
    size_t spacing;
    struct row_sums {
        size_t rows;    /* that there were by then */
        double *weight; /* by number of the row */
        uint32_t *count;
    } * sums; /* of the samples before i * spacing; the last ones of all */
    size_t sum_count;
    struct event_sums
        *by_event; /* before i * CONDENSED_STEP, the events adjacent; NULL: many events */
};

#define CONDENSED_STEP 64

struct event_sums {
    double weight, count;
};

/* The sums of the samples of the event before `at`; by_event must be made. */
struct event_sums condensed_before(const struct condensed *c, event_id event, size_t at);

/* `p` must remain until condensed_deinit. */
void condensed_init(struct condensed *c, const struct profile *p);
void condensed_deinit(struct condensed *c);

/* Makes `view` the rows of the samples from `from` to `to`. It is valid as long as the arena and c,
 * and owns nothing. False if out of memory. */
bool condensed_span(const struct condensed *c, size_t from, size_t to, struct arena *a,
                    struct profile *view);

/* Whether `p` is the rows of a span, of which all is known but the weights. c may be NULL. */
bool condensed_has_span(const struct condensed *c, const struct profile *p);

/* Makes `full` the profile of the samples from `from` to `to` that `rows` stands for: it
 * was made of the rows of that span by filters. It has the tables of `rows` and samples
 * in the arena. */
bool condensed_expand(const struct condensed *c, const struct profile *rows, size_t from,
                      size_t to, struct profile *full, struct arena *a,
                      struct error *err);

/* --- filter.c: the stack of filters ------------------------------------------------ */

/* Applies a JSON array of {"verb": ..., "text": ...} in order. `rows` are those of `from`, or
 * NULL. The caller owns the result unless it is `from` itself. NULL with err set, also if no
 * sample remains and it may not be empty. */
struct profile *filter_apply(struct profile *from, const struct row_index *rows,
                             struct str filters, bool may_be_empty, struct error *err);

/* The same for the profile before, in a comparison: filters by time have "before": [FROM,
 * TO] if its times are others. It may have no samples. */
struct profile *filter_apply_before(struct profile *from, struct str filters,
                                    struct error *err);

/* Makes `view` the profile with only the samples for which `stays` is true, which are in
 * the arena. It owns nothing. False if out of memory. */
typedef bool (*row_stays)(const struct profile *p, const struct sample *s,
                          const void *context);
bool filter_rows(const struct profile *p, row_stays stays, const void *context,
                 struct arena *a, struct profile *view);

/* A span of samples. */
struct sample_range {
    size_t from, to;
};

/* The same for the condensed rows of a profile, of which only those of the span in *range
 * remain. If nothing else is filtered, the result has all tables of the rows and only its samples
 * are its own. Sets *done to false, with NULL, if one of the filters needs the samples. */
struct profile *filter_condensed(const struct condensed *c, struct str filters,
                                 struct sample_range *range, bool *done,
                                 struct error *err);

/* A profile with only what the samples need, such as every other filter makes. */
struct profile *profile_compact(const struct profile *from, struct error *err);

/* --- reply.c: JSON for the page ----------------------------------------------------- */

void reply_error(struct json_writer *w, const struct error *err);
/* The events are those of another profile in a comparison. */
void reply_profile(struct json_writer *w, const struct profile *p,
                   const struct profile *events);
/* With the heaviest threads and labels, at most `most` of each, and their numbers. */
bool reply_summary(struct json_writer *w, const struct profile *p, uint32_t most,
                   struct error *err);
/* `process`: the label of the process whose function it is; 0: any. */
void reply_function(struct json_writer *w, const struct shown *s,
                    const struct functions *f, string_id process, string_id label);
void reply_losses(struct json_writer *w, const struct shown *s, const struct chart *c);
/* The lanes with a row from `first` to `last`. */
void reply_lanes(struct json_writer *w, const struct shown *s, const struct chart *c,
                 uint32_t first, uint32_t last);

/* --- graph.c: the call graph ------------------------------------------------------- */

struct graph {
    struct calltree tree; /* its labels have the same numbers as the shown ones */
    bool made;
};

bool graph_init(struct graph *g, const struct shown *s, struct error *err);
void graph_deinit(struct graph *g);

/* The functions and calls above the limits, heaviest first, with their look. JSON. */
bool reply_graph(struct json_writer *w, struct graph *g, const struct shown *s,
                 const struct functions *f, const struct call_limits *limits,
                 const struct looks *looks, struct error *err);

/* --- peek.c: functions with their direct callers and callees --------------------------- */

struct peek_limits {
    uint32_t functions, calls; /* calls: for each side of a function */
};

/* The functions in the order of functions_sort, with the heaviest callers and callees of
 * each. JSON. */
bool reply_peek(struct json_writer *w, struct graph *g, const struct shown *s,
                const struct functions *f, const struct peek_limits *limits,
                struct error *err);

/* --- listings.c: the code of a .stoke file ------------------------------------------ */

/* Its sources, and the addresses with samples of its functions, heaviest first; of NULL none.
 * JSON. */
void reply_texts(struct json_writer *w, const struct code *c);
bool reply_listings(struct json_writer *w, const struct code *c);

/* --- line_shift.c: functions that an edit moved --------------------------------------- */

/* Of a comparison: by how many lines each function of the file, which was `before` or has the same
 * name, was moved. Sets shifts[], by label, which the caller sets to 0. False when out of memory. */
bool find_shifts(const struct shown *s, string_id file, string_id before,
                 int64_t *shifts);

/* --- source.c: files and their lines ----------------------------------------------- */

/* The files of the frames, heaviest first; the lines of one of them. In a comparison with their
 * changes, which needs changes_test. JSON. */
bool reply_files(struct json_writer *w, const struct shown *s, struct error *err);
bool reply_lines(struct json_writer *w, const struct shown *s, struct str file,
                 struct error *err);

/* --- heat.c: samples over time ----------------------------------------------------- */

/* The samples of an event, which may be counted instead of their weights. */
struct heat_of {
    const struct profile *p;
    event_id event;
    bool count;
    bool without_idle;
    const struct condensed *sums; /* of p: its samples need not all be read; or NULL */
};

/* Columns of `column` ns from the first sample on, each divided into `rows` slots:
 * weights, column by column, as JSON. False if there are no times. */
bool reply_heat(struct json_writer *w, const struct heat_of *of, double column,
                uint32_t rows, struct error *err);

/* --- neighbours.c: callers and callees ------------------------------------------------- */

struct neighbours_of {
    const struct tree *tree; /* TREE_CALLERS or TREE_CALLEES of the function */
    string_id label;
    uint32_t most; /* rows */
};

/* The heaviest of the functions next to it in the tree, and the number of all. JSON. */
bool reply_neighbours(struct json_writer *w, const struct shown *s,
                      const struct functions *f, const struct neighbours_of *of,
                      struct error *err);

/* --- when.c: the time of a function --------------------------------------------------- */

struct when_of {
    const struct shown *shown;
    const struct profile *p; /* its samples, with their times */
    uint64_t first;          /* the time of 0 */
    event_id event;
    bool count; /* of samples, not their weights */
    string_id label;
};

#define WHEN_SAMPLES_READ \
    ((size_t)1 << 20) /* of more, every second or third one is read */

/* By stack: 1 if the function is in it. NULL if out of memory. */
uint8_t *when_stacks(const struct when_of *of, struct arena *a);

/* The weight of the function's samples in each of the equal columns of a span (ns). JSON. */
bool reply_when(struct json_writer *w, const struct when_of *of, double from, double to,
                uint32_t columns, struct error *err);

/* --- histogram.c: the values of a label ---------------------------------------------- */

/* Adds up the samples of an event (0: none) by the values of the label; in no order. JSON. */
bool reply_histogram(struct json_writer *w, const struct profile *p, event_id event,
                     struct str key, struct error *err);

#endif
