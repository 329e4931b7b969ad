/* SPDX-License-Identifier: Apache-2.0 */
/* The view of stoke top and its keys: the table or the flame view of the last refresh,
 * drawn on the terminal or printed. */
#ifndef STOKE_CLI_TOP_VIEW_H
#define STOKE_CLI_TOP_VIEW_H

#include "cli/top/flame.h"
#include "engine/live.h"
#include "engine/live_tasks.h"

/* The contents of the first line. */
struct top_facts {
    const char *event, *target;
    uint32_t rate;
    uint64_t period; /* used if the rate is 0 */
    uint64_t lost, throttled;
    uint64_t lost_before; /* value at the last refresh */
    uint64_t samples;     /* for the rate: number of samples in `seconds` */
    double seconds;       /* 0: unknown */
    double cpus;          /* that the samples use; 0: unknown */
    bool gone;            /* all targets have ended */
};

enum top_prompt { TOP_NO_PROMPT, TOP_ASKS_FILTER, TOP_ASKS_DELAY, TOP_ASKS_LEAST };

struct top_view {
    struct live_samples *samples;
    struct live_request request;
    struct top_facts facts;
    double delay; /* seconds between refreshes */
    bool flame, help, paused, quits, no_titles;
    bool clears; /* the next refresh drops all samples */
    enum top_prompt prompt;
    char typed[LIVE_FILTER_MAX];
    char said[256];          /* the result of the last key; or empty */
    struct live_tasks tasks; /* read by the caller while top_view_has_tasks */
    struct live_rows rows;
    struct top_flame flames;
    struct flame_path zoom, chosen_box;
    /* number of columns of the layout; 0: the boxes must be laid out again */
    unsigned laid_out;
    size_t chosen, first; /* the selected row, and the first row on the screen */
    uint64_t chosen_key;
};

/* Whether rows are processes, threads, services or containers. */
static inline bool top_view_has_tasks(const struct top_view *v)
{
    return v->request.by != LIVE_FUNCTIONS;
}

/* Makes the rows and boxes of the last refresh. */
bool top_view_update(struct top_view *v, struct error *err);

/* Draws all on the terminal. */
void top_view_draw(struct top_view *v);

/* Executes the command of a key. False, with err set, when out of memory. */
bool top_view_key(struct top_view *v, int key, struct error *err);

/* Prints a table with the given number of rows. */
void top_view_print(const struct top_view *v, size_t rows, size_t columns,
                    struct output *out);

void top_view_deinit(struct top_view *v);

#endif
