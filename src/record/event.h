/* Events to sample by, under the names that perf gives them: "cycles", "cpu-clock:u".
 *
 * To add a kind of name: its row in a table of event.c, or a function that parse_one
 * asks.
 */
#ifndef STOKE_RECORD_EVENT_H
#define STOKE_RECORD_EVENT_H

#include "base/error.h"
#include "base/perf_attr.h"

#define RECORD_EVENTS_MAX 32
#define RECORD_EVENT_NAME_MAX 128

struct record_event {
    char name[RECORD_EVENT_NAME_MAX]; /* as it is shown */
    uint32_t type;
    uint64_t config;
    uint64_t exclude; /* PERF_FLAG_EXCLUDE_* that its modifiers ask for */
    unsigned precise; /* how many p's */
};

struct record_events {
    struct record_event items[RECORD_EVENTS_MAX];
    size_t count;
};

/* Adds the events of a list with commas. False, with the nearest name, where there is no
 * such event. */
bool record_events_parse(const char *text, struct record_events *events,
                         struct error *err);

/* The processor's cycles, and the kernel's clock in their place. */
struct record_event record_event_cycles(void);
struct record_event record_event_clock(void);

/* The same event, of user code alone: what is left to users without rights. */
void record_event_only_user(struct record_event *e);

/* The names that may be given, one after the other; NULL behind the last. */
const char *record_event_name(size_t i);

#endif
