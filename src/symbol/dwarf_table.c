/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/dwarf_table.h"
#include "base/array.h"
#include "base/sort.h"
#include <stdlib.h>

/* Maximum nesting of ranges, more than in any executable. */
#define OUTER_MAX 256

bool dwarf_table_add(struct dwarf_table *t, struct arena *a, uint64_t low, uint64_t high,
                     uint32_t value)
{
    if (low >= high)
        return true;
    if (t->count >= UINT32_MAX - 1)
        return false;
    if (!ARRAY_RESERVE(a, t->items, t->cap, t->count + 1))
        return false;
    t->items[t->count++] = (struct dwarf_range){low, high, value, 0};
    return true;
}

/* An outer range comes before an inner one. */
static bool range_before(const struct dwarf_range *a, const struct dwarf_range *b)
{
    return a->low < b->low || (a->low == b->low && a->high > b->high);
}

static bool index_before(const void *context, uint32_t a, uint32_t b)
{
    const struct dwarf_range *items = context;
    return range_before(&items[a], &items[b]);
}

static bool is_sorted(const struct dwarf_table *t)
{
    for (size_t i = 1; i < t->count; i++)
        if (range_before(&t->items[i], &t->items[i - 1]))
            return false;
    return true;
}

static bool sort_items(struct dwarf_table *t)
{
    struct dwarf_range *copy = malloc(t->count * (sizeof *copy + 2 * sizeof(uint32_t)));
    if (!copy)
        return false;
    uint32_t *order = (uint32_t *)(copy + t->count);
    memcpy(copy, t->items, t->count * sizeof *copy);
    for (size_t i = 0; i < t->count; i++)
        order[i] = (uint32_t)i;
    sort_u32(order, t->count, order + t->count, index_before, copy);
    for (size_t i = 0; i < t->count; i++)
        t->items[i] = copy[order[i]];
    free(copy);
    return true;
}

/* Links each range to its enclosing range: the open ranges at an address form a chain. */
static void link_outer(struct dwarf_table *t)
{
    uint32_t open = 0; /* 1 + the innermost open range */
    for (size_t i = 0; i < t->count; i++) {
        while (open && t->items[open - 1].high <= t->items[i].low)
            open = t->items[open - 1].outer;
        t->items[i].outer = open;
        open = (uint32_t)i + 1;
    }
}

/* Reverses the order of equal ranges, because a lookup finds the last one. */
static void reverse_equal(struct dwarf_table *t)
{
    for (size_t i = 0, end; i < t->count; i = end) {
        for (end = i + 1; end < t->count; end++)
            if (range_before(&t->items[i], &t->items[end]))
                break;
        for (size_t a = i, b = end - 1; a < b; a++, b--) {
            struct dwarf_range other = t->items[a];
            t->items[a] = t->items[b];
            t->items[b] = other;
        }
    }
}

bool dwarf_table_sort(struct dwarf_table *t, bool first_counts)
{
    if (!is_sorted(t) && !sort_items(t))
        return false;
    if (first_counts)
        reverse_equal(t);
    link_outer(t);
    return true;
}

const struct dwarf_range *dwarf_table_find(const struct dwarf_table *t, uint64_t address)
{
    size_t low = 0, high = t->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->items[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    size_t at = low; /* 1 + the last range that begins at or before the address */
    for (int i = 0; at && i < OUTER_MAX; i++) {
        const struct dwarf_range *range = &t->items[at - 1];
        if (address < range->high)
            return range;
        at = range->outer;
    }
    return NULL;
}
