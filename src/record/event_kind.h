/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of events, each with a notation of its own. event.c and event_list.c call these functions. */
#ifndef STOKE_RECORD_EVENT_KIND_H
#define STOKE_RECORD_EVENT_KIND_H

#include "base/nearest.h"
#include "record/event.h"

/* A name of the tables, an event of the processor's caches ("LLC-load-misses"), or a raw number
 * ("r1a8"); false if it is none of these. */
bool event_of_name(struct str name, struct record_event *e);

/* The names of the cache events, separated by commas, into `room`; EVENT_CACHE_NAMES is enough. */
#define EVENT_CACHE_NAMES 1024
struct str event_cache_names(char *room, size_t size);

/* An event of a unit: its name, and the text between the slashes. False with err set. */
bool event_of_unit(struct str unit, struct str terms, struct record_event *e,
                   struct error *err);

/* The unit whose folder has an event of that name; false if there is none. */
bool event_of_any_unit(struct str name, struct record_event *e);

/* Applies a term that any event may have ("period=1000"); false if it is another one. If its
 * value is invalid, *err is set and e->name is empty. */
bool event_take_word(struct str key, struct str value, struct record_event *e,
                     struct error *err);

/* A number in C's notation: 0x1f or 31. */
bool event_number(struct str text, uint64_t *value);

/* Writes the events of this machine's units, one per line. */
void event_list_units(struct output *out);

/* Adds the tracepoints that match the pattern; false with err set if none matches, or if tracefs
 * cannot be read. `like` has the properties of the terms and modifiers. */
bool event_add_tracepoints(struct str pattern, const struct record_event *like,
                           struct record_events *events, struct error *err);

/* Writes the names of all tracepoints, one per line. */
void event_list_tracepoints(struct output *out);

#endif
