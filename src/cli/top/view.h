/* SPDX-License-Identifier: Apache-2.0 */
/* What stoke top shows, and what keys do to it: the table or the flame view of the last
 * look, drawn on the terminal, or printed. */
#ifndef STOKE_CLI_TOP_VIEW_H
#define STOKE_CLI_TOP_VIEW_H

#include "cli/top/data.h"
#include "cli/top/flame.h"
#include "cli/top/rows.h"

/* What the line on top says. */
struct top_facts {
    const char *event, *target;
    uint32_t rate;
    uint64_t period; /* where the rate is 0 */
    uint64_t lost, throttled;
    uint64_t lost_before; /* the last look */
    uint64_t samples;     /* for the rate: so many in so many seconds */
    double seconds;       /* 0: not known */
    bool gone;            /* nobody is left to be looked at */
};

enum top_prompt { TOP_NO_PROMPT, TOP_ASKS_FILTER, TOP_ASKS_DELAY, TOP_ASKS_LEAST };

struct top_view {
    struct top_data *data;
    struct top_wanted wanted;
    struct top_facts facts;
    double delay; /* seconds from look to look */
    bool flame, help, paused, quits, no_titles;
    bool clears; /* all is to be forgotten */
    enum top_prompt prompt;
    char typed[TOP_FILTER_MAX];
    char said[256]; /* what came of the last key; or empty */
    struct top_rows rows;
    struct top_flame flames;
    struct flame_path zoom, chosen_box;
    unsigned laid_out;    /* for so many columns; 0: the boxes are to be made anew */
    size_t chosen, first; /* rows: the one the user is at, and the first on the screen */
    uint64_t chosen_key;
};

/* Makes rows and boxes of what was looked at last. */
bool top_view_update(struct top_view *v, struct error *err);

/* Draws all on the terminal. */
void top_view_draw(struct top_view *v);

/* Does what the key asks for. False, with err set, when memory is short. */
bool top_view_key(struct top_view *v, int key, struct error *err);

/* Prints a table of so many rows. */
void top_view_print(const struct top_view *v, size_t rows, size_t columns,
                    struct output *out);

void top_view_deinit(struct top_view *v);

#endif
