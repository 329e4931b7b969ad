/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sort.h"
#include <string.h>

#define RUN 8 /* runs this short are sorted by insertion */

typedef bool (*before_fn)(const void *, uint32_t, uint32_t);

static void insertion(uint32_t *items, size_t count, before_fn before,
                      const void *context)
{
    for (size_t i = 1; i < count; i++) {
        uint32_t item = items[i];
        size_t at = i;
        for (; at > 0 && before(context, item, items[at - 1]); at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

/* Merges the sorted halves [0, middle) and [middle, count) of `from` into `to`. */
static void merge(const uint32_t *from, size_t middle, size_t count, uint32_t *to,
                  before_fn before, const void *context)
{
    size_t a = 0, b = middle;
    if (middle >= count || !before(context, from[middle], from[middle - 1])) {
        memcpy(to, from, count * sizeof *to);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        bool take_b = a == middle || (b < count && before(context, from[b], from[a]));
        to[i] = take_b ? from[b++] : from[a++];
    }
}

void sort_u32(uint32_t *items, size_t count, uint32_t *scratch, before_fn before,
              const void *context)
{
    uint32_t *from = items, *to = scratch;
    for (size_t at = 0; at < count; at += RUN)
        insertion(items + at, count - at < RUN ? count - at : RUN, before, context);
    for (size_t width = RUN; width < count; width *= 2) {
        for (size_t at = 0; at < count; at += 2 * width) {
            size_t rest = count - at;
            merge(from + at, width, rest < 2 * width ? rest : 2 * width, to + at, before,
                  context);
        }
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != items)
        memcpy(items, from, count * sizeof *items);
}

static bool in_order(const struct sort_key *items, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (items[i].key < items[i - 1].key)
            return false;
    return true;
}

/* One pass of a radix sort: by the byte at `shift`. */
static void sort_byte(const struct sort_key *from, size_t count, unsigned shift,
                      struct sort_key *to)
{
    size_t begins[256] = {0}, at = 0;
    for (size_t i = 0; i < count; i++)
        begins[from[i].key >> shift & 0xff]++;
    for (unsigned digit = 0; digit < 256; digit++) {
        size_t many = begins[digit];
        begins[digit] = at;
        at += many;
    }
    for (size_t i = 0; i < count; i++)
        to[begins[from[i].key >> shift & 0xff]++] = from[i];
}

void sort_keys(struct sort_key *items, size_t count, struct sort_key *scratch)
{
    struct sort_key *from = items, *to = scratch;
    uint64_t differ = 0;
    if (in_order(items, count))
        return;
    for (size_t i = 1; i < count; i++)
        differ |= items[i].key ^ items[0].key;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if ((differ >> shift & 0xff) == 0)
            continue;
        sort_byte(from, count, shift, to);
        struct sort_key *swap = from;
        from = to;
        to = swap;
    }
    if (from != items)
        memcpy(items, from, count * sizeof *items);
}
