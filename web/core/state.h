/* SPDX-License-Identifier: Apache-2.0 */
/* What the functions that the page calls (calls_*.c) share: the open profiles, the data
 * made of them on demand, and the reply. */
#ifndef STOKE_WEB_STATE_H
#define STOKE_WEB_STATE_H

#include "web/core/tracks.h"
#include "web/core/waits.h"

#define EXPORT(name) __attribute__((export_name(#name))) name
#define PROFILES 2 /* the current one, and the one it is compared with */
#define CHART_TIME TREE_COUNT
#define CHART_BEFORE (TREE_COUNT + 1) /* TREE_DOWN with the weights before */
#define CHART_COUNT (TREE_COUNT + 2)

/* How the profile is shown, beside its filters. */
struct show_settings {
    uint32_t event; /* 0: the first */
    bool count, by_process, without_idle;
    bool by_weight; /* of a comparison: see struct changes */
};

extern struct core {
    struct loading loading;
    struct profile *opened[PROFILES];
    struct profile *both;              /* the comparison of both, or NULL */
    struct profile *filtered;          /* NULL: no filter */
    struct profile *retired;           /* still shown, but closed; or NULL */
    struct condensed *condensed;       /* of opened[0]; NULL: not made yet */
    bool plain;                        /* none is made: for a test, which compares both */
    struct condensed *shown_condensed; /* what the shown profile is made of, or NULL */
    struct sample_range range;         /* then: of its samples */
    struct profile *retired_opened;    /* closed, but shown_condensed is of it; or NULL */
    struct profile detailed;           /* the shown samples, made on demand */
    struct arena detailed_arena;
    struct show_settings settings;
    struct shown shown;
    struct tree trees[TREE_COUNT];
    enum tree_order orders[TREE_COUNT];
    struct chart charts[CHART_COUNT];
    struct functions functions;
    struct search search;
    struct graph graph;
    struct waits waits;
    struct tracks tracks[PROFILES]; /* of the opened profiles */
    struct row_index rows;          /* of opened[0] */
    struct row_index retired_rows;  /* of a closed profile that is still shown */
    enum tone_by tone_by;
    uint8_t *tones;        /* by label; allocated from the arena */
    uint8_t *shared_tones; /* by number of a shared name; the same */
    uint8_t *categories;   /* by string: of modules; allocated from the arena */
    bool one_module;       /* known with the categories: it has most stacks */
    struct arena tone_arena;
    struct code *code; /* that opened[0] contains; NULL: none */
    string_id chosen;  /* the function whose callers and callees are shown */
    struct output reply;
    struct error err;
} core;

/* Text and binary results are in the reply: core_reply and core_reply_length give its
 * address and length; it is valid until the next call. If a function returns an int, 0
 * means that the reply is an error (reply_error). */
struct json_writer begin_reply(void);

/* What the function returns. The reply of a call that failed is core.err. */
int end_reply(bool ok);

/* Makes the data if it is not made yet. False with core.err set. */
bool need_shown(void);
bool need_rows(void);
bool need_condensed(void);

/* The shown profile with a row for each sample; NULL with core.err set. */
const struct profile *need_samples(void);

/* The shown profile in *compacted, with only what its samples need; the caller destroys it. Or the
 * shown profile if it is so already, and NULL in *compacted. NULL with core.err set. */
const struct profile *need_compact(struct profile **compacted);
bool need_tree(enum tree_kind kind);
bool need_chart(uint32_t kind);
bool need_functions(void);
bool need_waits(void);
bool need_tones(void);

/* Frees a tree and its chart; the shown profile with all data made of it. */
void forget_tree(enum tree_kind kind);
void forget_shown(void);

/* Frees what need_samples has made. */
void forget_samples(void);

/* aside.c: like forget_shown, but retains the data if the whole profile is shown. take_back
 * shows it again; false: it is not there, or was made with other settings. forget_aside frees it,
 * or forget_unused_aside does so later if the shown data borrows from it. */
void set_aside(void);
bool take_back(const struct show_settings *settings);
void forget_aside(void);
void forget_unused_aside(void);

/* How the whole profile is shown with these settings; NULL: that is not known. set_aside
 * moves it. */
const struct shown *shown_whole(const struct show_settings *settings);

/* The tree of the whole profile while a part of it is shown; NULL: there is none. */
const struct tree *whole_tree(enum tree_kind kind);

/* Selects the function of TREE_CALLERS and TREE_CALLEES; 0: none. */
void choose_label(string_id label);

/* The profile that is shown without filters: the condensed one if there is one. */
const struct profile *whole_profile(void);

/* Closes a profile and sets it to NULL. The shown profile remains until another one is
 * shown, because the page may ask for it in between. */
void retire(struct profile **p);

/* Closes an opened profile, with all data made of it. */
void close_opened(unsigned slot);

/* calls_tracks.c: whether it is known when the function ran, without a long search. */
bool init_when(struct when_of *of, string_id label);

#endif
