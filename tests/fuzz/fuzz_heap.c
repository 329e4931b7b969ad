/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the records of libstoke_heap.so. The input is any number of records; the first
 * byte selects sampling. Two origins alternate. The totals must be consistent: what is
 * leaked at the end was allocated, and the peak is the sum of its sites. */
#include "fuzz.h"
#include "record/heap_events.h"
#include <math.h>
#include <string.h>

FUZZ_ONE_WAY("heap")

static void check_totals(const struct heap_events *e)
{
    double peak = 0, most = 1;
    for (size_t i = 1; i < e->site_count; i++) {
        const struct heap_site *site = &e->sites[i];
        double least = -1e-6 * (1 + site->bytes);
        CHECK(site->leaked <= site->bytes - least);
        CHECK(site->leaked >= least && site->temporary <= site->count - least);
        double bytes = 0;
        for (int j = 0; j < HEAP_LIFETIMES; j++)
            bytes += e->releases[i].bytes[j];
        CHECK(bytes >= least && bytes <= site->bytes - least);
        CHECK(site->live_blocks == 0);
        peak += heap_site_peak(e, site);
        most += site->bytes;
    }
    CHECK(fabs(peak - e->most) <= 1e-6 * most);
    CHECK(fabs(e->live) <= 1e-6 * most);
}

int fuzz_one(const uint8_t *data, size_t size)
{
    struct heap_events e;
    struct heap_origin origins[2] = {{.pid = 1}, {.pid = 2}};
    struct str rest = {(const char *)data + (size > 0), size - (size > 0)};
    CHECK(heap_events_init(&e, NULL, size && data[0] % 2 ? 4096 : 0));
    for (unsigned turn = 0; rest.len; turn++) {
        struct heap_entry event;
        size_t length = heap_event_read(&event, rest);
        if (!length)
            break;
        heap_events_apply(&e, &origins[turn % 3 == 2], &event);
        rest = str_skip(rest, length);
    }
    heap_events_finish(&e);
    if (!e.failed)
        check_totals(&e);
    heap_events_deinit(&e);
    heap_origin_deinit(&origins[0]);
    heap_origin_deinit(&origins[1]);
    return 0;
}
