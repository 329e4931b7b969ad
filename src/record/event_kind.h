/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of events, each with its own way to be named: what event.c and event_list.c ask.
 */
#ifndef STOKE_RECORD_EVENT_KIND_H
#define STOKE_RECORD_EVENT_KIND_H

#include "base/nearest.h"
#include "record/event.h"

/* A name of the tables, one of the processor's caches ("LLC-load-misses"), or a number of
 * its own ("r1a8"); false where it is none. */
bool event_of_name(struct str name, struct record_event *e);

/* Names of the caches' events, with commas, into `room`: EVENT_CACHE_NAMES is enough. */
#define EVENT_CACHE_NAMES 1024
struct str event_cache_names(char *room, size_t size);

/* An event of a unit: its name, and what stands between the slashes. False, with why. */
bool event_of_unit(struct str unit, struct str terms, struct record_event *e,
                   struct error *err);

/* The unit that has an event of that name in its folder; false where none has it. */
bool event_of_any_unit(struct str name, struct record_event *e);

/* Takes a word that any event may have ("period=1000"); false where it is none. Where its
 * value makes no sense, *err is set and e->name is empty. */
bool event_take_word(struct str key, struct str value, struct record_event *e,
                     struct error *err);

/* A number as C writes it: 0x1f or 31. */
bool event_number(struct str text, uint64_t *value);

/* Writes what the units of this machine have, one a line. */
void event_list_units(struct output *out);

/* The tracepoints that the pattern names, added to the events; of none, or where it
 * cannot be told, false with why. `like` has what stands behind the name. */
bool event_add_tracepoints(struct str pattern, const struct record_event *like,
                           struct record_events *events, struct error *err);

/* Writes the names of all tracepoints, one a line. */
void event_list_tracepoints(struct output *out);

#endif
