/* SPDX-License-Identifier: Apache-2.0 */
/* The data of the whole profile is set aside while a part of it is shown: to show all again
 * takes no time. */
#include "web/core/state.h"

#define ASIDE_MOST ((size_t)1 << 30) /* bytes; more is made again when it is needed */

static struct aside {
    bool made;
    struct show_settings settings;
    struct shown shown;
    struct tree trees[TREE_COUNT];
    enum tree_order orders[TREE_COUNT];
    struct chart charts[CHART_COUNT];
    struct functions functions;
    struct graph graph;
    struct waits waits;
} aside;

static size_t bytes_shown(void)
{
    size_t bytes =
        core.shown.arena.total + core.shown.paths.arena.total + core.waits.arena.total;
    for (unsigned i = 0; i < TREE_COUNT; i++)
        bytes += core.trees[i].arena.total;
    for (unsigned i = 0; i < CHART_COUNT; i++)
        bytes += core.charts[i].arena.total +
                 core.charts[i].cap * (2 * sizeof(double) + sizeof(uint32_t));
    return bytes;
}

static void free_aside(void)
{
    for (unsigned i = 0; i < CHART_COUNT; i++)
        chart_deinit(&aside.charts[i]);
    for (unsigned i = 0; i < TREE_COUNT; i++)
        tree_deinit(&aside.trees[i]);
    functions_deinit(&aside.functions);
    graph_deinit(&aside.graph);
    waits_deinit(&aside.waits);
    shown_deinit(&aside.shown);
    aside = (struct aside){0};
}

void forget_aside(void)
{
    aside.made = false;
    if (!core.shown.borrows)
        free_aside();
}

void forget_unused_aside(void)
{
    if (!aside.made)
        free_aside();
}

static bool same_settings(const struct show_settings *a, const struct show_settings *b)
{
    return a->event == b->event && a->count == b->count &&
           a->without_idle == b->without_idle && a->by_process == b->by_process;
}

const struct shown *shown_whole(const struct show_settings *settings)
{
    const struct profile *whole = whole_profile();
    if (core.shown.p == whole && !core.shown.changes.made)
        return same_settings(&core.settings, settings) && bytes_shown() <= ASIDE_MOST
                   ? &core.shown
                   : NULL;
    return aside.made && aside.shown.p == whole &&
                   same_settings(&aside.settings, settings)
               ? &aside.shown
               : NULL;
}

const struct tree *whole_tree(enum tree_kind kind)
{
    return core.shown.borrows ? &aside.trees[kind] : NULL;
}

void set_aside(void)
{
    if (!core.shown.p || core.shown.p != whole_profile() || core.shown.changes.made ||
        bytes_shown() > ASIDE_MOST) {
        forget_shown();
        return;
    }
    forget_aside();
    choose_label(0);
    aside.made = true;
    aside.settings = core.settings;
    /* Pointers between them remain right, because they return to the same addresses. */
    aside.shown = core.shown;
    aside.functions = core.functions;
    aside.graph = core.graph;
    aside.waits = core.waits;
    memcpy(aside.trees, core.trees, sizeof core.trees);
    memcpy(aside.orders, core.orders, sizeof core.orders);
    memcpy(aside.charts, core.charts, sizeof core.charts);
    core.shown = (struct shown){0};
    core.functions = (struct functions){0};
    core.graph = (struct graph){0};
    core.waits = (struct waits){0};
    memset(core.trees, 0, sizeof core.trees);
    memset(core.charts, 0, sizeof core.charts);
    forget_shown();
}

bool take_back(const struct show_settings *settings)
{
    if (!aside.made || !same_settings(&aside.settings, settings))
        return false;
    retire(&core.filtered);
    forget_shown();
    core.settings = aside.settings;
    core.shown_condensed = aside.shown.p == core.opened[0] ? NULL : core.condensed;
    core.shown = aside.shown;
    core.functions = aside.functions;
    core.graph = aside.graph;
    core.waits = aside.waits;
    memcpy(core.trees, aside.trees, sizeof core.trees);
    memcpy(core.orders, aside.orders, sizeof core.orders);
    memcpy(core.charts, aside.charts, sizeof core.charts);
    aside = (struct aside){0};
    return true;
}
