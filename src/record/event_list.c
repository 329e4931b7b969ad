/* SPDX-License-Identifier: Apache-2.0 */
/* The list of events that can be named. */
#include "record/event_kind.h"
#include "record/perf_sampler.h"

static void list_names(struct str names, struct output *out)
{
    struct record_event e = {.type = 0};
    struct str rest = names, first = str_cut(&rest, ',');
    bool there = event_of_name(first, &e) && perf_sampler_has(&e);
    output_format(out, "  %.*s", STR_ARG(first));
    while (rest.len) {
        struct str other = str_cut(&rest, ',');
        output_format(out, ", %.*s", STR_ARG(other));
    }
    output_text(out, there ? "\n" : "  (not on this machine)\n");
}

void record_events_list(struct output *out)
{
    char room[EVENT_CACHE_NAMES];
    output_text(out, "kernel and processor:\n");
    for (size_t i = 0; record_event_name(i); i++)
        list_names(str_of(record_event_name(i)), out);
    output_text(out, "caches of the processor:\n");
    for (struct str rest = event_cache_names(room, sizeof room); rest.len;)
        list_names(str_cut(&rest, ','), out);
    output_text(out, "raw event of the processor, in hex:\n  rNNN\nmemory accesses:\n  "
                     "mem:ADDRESS[/LENGTH][:rwx]\nunits of this machine:\n");
    event_list_units(out);
    output_text(out, "tracepoints:\n");
    event_list_tracepoints(out);
}
