/* SPDX-License-Identifier: Apache-2.0 */
/* The viewer's core: everything the page shows is computed here, by the pure folders of
 * src/, and the page draws what it is given. Built to one WebAssembly module that imports
 * nothing (web/build.py), and natively for the tests.
 *
 * One profile at a time is open (or two, compared). A stack of filters makes the one that
 * is shown; of that, the trees and charts are made when they are first asked for, and
 * forgotten when the filters change. Nothing recurses. */
#ifndef STOKE_WEB_CORE_H
#define STOKE_WEB_CORE_H

#include "analysis/calls.h"
#include "analysis/paths.h"
#include "codec/json.h"
#include "import/detect.h"

#define NONE UINT32_MAX

/* --- load.c: bytes in pieces, a profile out ---------------------------------------- */

struct loading {
    const struct importer *importer; /* NULL: not known yet */
    const struct importer *chosen; /* by the user, by name; NULL: found from the bytes */
    bool looked;
    struct detection detection;
    struct builder builder;
    bool begun;
    char name[256]; /* of the file, for messages and its suffix */
    char *bytes;    /* what is not read yet */
    size_t used, cap;
    struct arena head_arena;
    struct str head;
    uint64_t lines; /* of the pieces read */
    uint64_t done;  /* bytes read */
};

void loading_deinit(struct loading *l);
bool loading_begin(struct loading *l, struct str name, struct error *err);

/* The file is of that format (importer_named), whatever it looks like; "" leaves it to be
 * found. To be called between loading_begin and the first piece. */
bool loading_format(struct loading *l, struct str format, struct error *err);

/* Where the next `room` bytes of the file go; NULL when memory is short. */
char *loading_room(struct loading *l, size_t room);

/* That many were put there. What makes whole records is read when enough is at hand;
 * formats that must be read at once wait for the last piece. */
bool loading_feed(struct loading *l, size_t length, bool last, struct error *err);

/* What is read so far, as a profile that says that it is a part: the caller's. NULL with
 * err set, also where there is no sample yet. It is a copy, so it takes as much memory as
 * what is read does. */
struct profile *loading_so_far(struct loading *l, struct error *err);

/* The packed data that the file came in could not be read to its end: the profile has a
 * warning. */
enum flaw { FLAW_DAMAGED = 1, FLAW_CUT_SHORT, FLAW_MORE_BEHIND, FLAW_TOO_MUCH };
void loading_flaw(struct loading *l, enum flaw flaw);

/* Nothing more is to be read: what is, is all, and says that it is a part. False where
 * there is no sample. */
bool loading_stop(struct loading *l);

/* All is read: the profile, the caller's. NULL with err set. */
struct profile *loading_finish(struct loading *l, struct error *err);

/* --- tree.c: stacks added up, in one direction or the other ------------------------- */

enum tree_kind {
    TREE_DOWN,    /* from the outermost caller */
    TREE_UP,      /* from the leaf */
    TREE_CALLERS, /* from one function to its callers */
    TREE_CALLEES, /* from one function to its callees */
    TREE_COUNT,
};

enum tree_order { ORDER_SIZE, ORDER_NAME, ORDER_CAME };

/* Columns by node; 0 is the root, a parent comes before its child. */
struct tree {
    struct arena arena;
    bool made;
    size_t count;
    const struct trie_node *nodes; /* parent, and in `key` a label (of paths: a frame) */
    const string_id *label_of_key; /* NULL: the key is the label */
    double *self, *total;
    double *base_self, *base_total; /* before, of two profiles compared; or NULL */
    double *waiting;                /* how much of the total waits; or NULL */
    struct children children;       /* in order */
};

/* What is shown: the profile behind the filters, its labels, and what each path weighs.
 */
struct shown {
    struct arena arena;
    const struct profile *p;
    struct paths paths;
    event_id event, base;     /* base: the event before, or 0 */
    bool count;               /* samples are counted, whatever they weigh */
    double *self, *base_self; /* by path; base_self NULL where nothing is compared */
    double total, base_total;
    double unnamed;           /* of the total: ends in functions without a name */
    uint64_t samples;         /* of the event */
    frame_id *frame_of_label; /* the first frame of that label, if there is one the first
                                 whose file is known; 0 for threads */
    uint8_t *kind_of_label;   /* enum frame_kind; what idles is FRAME_IDLE */
    uint8_t *marks_of_label;  /* DRAWN_UNKNOWN, DRAWN_CUT, DRAWN_OFF */
    uint8_t *waits; /* by path: why it waits is in it; NULL: none, or all wait */
};

bool shown_init(struct shown *s, const struct profile *p, event_id event, bool count,
                struct error *err);
void shown_deinit(struct shown *s);
double shown_weight(const struct shown *s, const struct sample *sample);

/* `label` is the function of TREE_CALLERS and TREE_CALLEES. */
bool tree_init(struct tree *t, const struct shown *s, enum tree_kind kind,
               string_id label, enum tree_order order, struct error *err);
void tree_deinit(struct tree *t);

static inline string_id tree_label(const struct tree *t, uint32_t node)
{
    uint32_t key = t->nodes[node].key;
    return node == 0 ? 0 : t->label_of_key ? t->label_of_key[key] : key;
}

/* --- chart.c: boxes in rows -------------------------------------------------------- */

#define SPAN_OFF 0x80000000U /* the thread waits in all of it */
#define ALL_WAITS 0.995      /* of a box that is drawn as one that waits */

/* level.c: rows of many boxes as they look from far away. What begins in the same cell of
 * the axis and is narrower than one is one span; it stands for the boxes from `box` up to
 * that of the next span in the row, and has the label of the first. */
struct level {
    double cell;
    uint32_t *row_first; /* rows + 1; an empty row is not summed up here */
    struct span {
        double begin, end;
        uint32_t box;
        uint32_t look; /* the label, and SPAN_OFF; what the boxes say lies far apart */
    } * spans;
    size_t count, cap;
};

#define LEVELS_MAX 12

/* The boxes of a row lie side by side, by their begin; row r has those from row_first[r]
 * up to row_first[r + 1]. */
struct chart {
    struct arena arena;
    bool made;
    uint32_t rows;
    uint32_t *row_first;
    double *begin, *end;
    uint32_t *node;          /* by box: of the tree, or, by time, of the paths */
    float *waited;           /* by box: how much of it the thread waits; or NULL */
    const struct tree *tree; /* NULL: by time */
    double to;               /* all of it is from 0 to there */
    uint64_t origin;         /* by time: of the profile's clock, where 0 is */
    bool timed;         /* in ns from the profile's first sample on, else in weight */
    struct lane *lanes; /* by time: one a thread */
    size_t lane_count;
    struct level levels[LEVELS_MAX]; /* from fine to coarse */
    unsigned level_count;
};

struct lane {
    thread_id thread;
    uint32_t row, rows; /* the first is the heading, without boxes */
    double weight;
};

bool chart_of_tree(struct chart *c, const struct tree *t, struct error *err);

/* time.c: every thread's samples on one axis, in ns; without times, in order, by weight.
 */
bool chart_of_time(struct chart *c, const struct shown *s, struct error *err);
void chart_deinit(struct chart *c);

/* Makes the levels; where memory is short there are fewer. */
void chart_sum_up(struct chart *c, const struct shown *s);

/* The coarsest level of the row whose cells are no wider than a pixel; NULL: the boxes.
 */
const struct level *chart_level(const struct chart *c, uint32_t row, double pixel);

/* The first span of the row that ends behind x; the row's end for none. */
uint32_t level_find(const struct level *l, uint32_t row, double x);

/* The first box of the row that ends behind x, from `at` on; the row's end for none. */
uint32_t chart_find(const struct chart *c, uint32_t row, uint32_t at, double x);
string_id chart_label(const struct chart *c, const struct shown *s, uint32_t box);

/* How much of a box waits: from 0 to 1. */
double chart_waits(const struct chart *c, uint32_t box);

/* A box by itself, as one of a level's spans. */
struct span chart_span(const struct chart *c, const struct shown *s, uint32_t box);

/* As the page draws it. */
struct drawn_box {
    float x, width; /* pixels from the left of the view */
    uint32_t row, box, label;
    uint32_t look; /* tone | kind << 8 | flags << 16 | part of 255 that waits << 24 */
};

enum drawn_flag {
    DRAWN_MATCH = 1,
    DRAWN_MANY = 2,
    DRAWN_SAME = 4,
    DRAWN_UNKNOWN = 8, /* nobody knows what function this is */
    DRAWN_CUT = 16,    /* stands for callers that are missing */
    DRAWN_OFF = 32,    /* off the CPU: the thread waits */
};

/* What is seen of a chart. */
struct window {
    double from, to;
    double width;                 /* pixels */
    uint32_t first_row, last_row; /* up to, not including */
};

/* How boxes look. */
enum tone_by { TONE_NAME, TONE_MODULE, TONE_KIND, TONE_SELF, TONE_CHANGE };

struct looks {
    const uint8_t *tones;   /* by label; unused for TONE_SELF and TONE_CHANGE */
    const uint8_t *matches; /* by label; or NULL */
    enum tone_by by;
    string_id same; /* the chosen function */
};

/* Writes the visible boxes; those narrower than a pixel are drawn as one. */
void chart_draw(const struct chart *c, const struct shown *s, const struct window *w,
                const struct looks *looks, struct output *out);

/* --- functions.c: the table, and what is found -------------------------------------- */

struct functions {
    struct arena arena;
    bool made;
    size_t labels;
    double *self, *total, *base_self, *base_total; /* by label; base: or NULL */
    uint32_t *order;                               /* labels, as last asked for */
    size_t count;
};

enum function_sort { SORT_SELF, SORT_TOTAL, SORT_NAME, SORT_MODULE, SORT_CHANGE };

bool functions_init(struct functions *f, const struct shown *s, const struct tree *down,
                    struct error *err);
void functions_deinit(struct functions *f);

/* Puts into f->order the labels that match (NULL: all), sorted. */
bool functions_sort(struct functions *f, const struct shown *s, enum function_sort by,
                    bool up, const uint8_t *matches, struct error *err);

/* By label, whether its name, file or module has the text, or matches the pattern. The
 * weight of the stacks with such a frame is added up once a stack. */
struct search {
    struct arena arena;
    uint8_t *matches; /* NULL: nothing is searched for */
    size_t functions;
    double total;
};

bool search_init(struct search *q, const struct shown *s, struct str text, bool pattern,
                 struct error *err);
void search_deinit(struct search *q);

/* --- filter.c: the stack of filters ------------------------------------------------ */

/* Applies a JSON array of {"verb": ..., "text": ...} in order. The result is the caller's
 * unless it is `from` itself. NULL with err set. */
struct profile *filter_apply(struct profile *from, struct str filters, struct error *err);

/* --- tell.c: JSON for the page ----------------------------------------------------- */

void tell_error(struct json_writer *w, const struct error *err);
void tell_profile(struct json_writer *w, const struct profile *p);
bool tell_summary(struct json_writer *w, const struct shown *s, struct error *err);
void tell_function(struct json_writer *w, const struct shown *s,
                   const struct functions *f, string_id label);
void tell_losses(struct json_writer *w, const struct shown *s, const struct chart *c);
void tell_lanes(struct json_writer *w, const struct shown *s, const struct chart *c);

/* --- graph.c: who calls whom ------------------------------------------------------- */

struct graph {
    struct calltree tree; /* its labels have the numbers of those that are shown */
    bool made;
};

bool graph_init(struct graph *g, const struct shown *s, struct error *err);
void graph_deinit(struct graph *g);

/* What weighs enough for the limits, the heaviest first, with how it looks. JSON. */
bool tell_graph(struct json_writer *w, struct graph *g, const struct shown *s,
                const struct functions *f, const struct call_limits *limits,
                const struct looks *looks, struct error *err);

/* --- source.c: files and their lines ----------------------------------------------- */

/* The files that frames name, the heaviest first; the lines of one of them. JSON. */
bool tell_files(struct json_writer *w, const struct shown *s, struct error *err);
bool tell_lines(struct json_writer *w, const struct shown *s, struct str file,
                struct error *err);

/* --- heat.c: when samples came ----------------------------------------------------- */

/* Columns of `column` ns from the first sample on, each of `rows` slots from its begin to
 * its end: weights, column by column. Told as JSON. False where there are no times. */
bool tell_heat(struct json_writer *w, const struct shown *s, double column, uint32_t rows,
               struct error *err);

#endif
