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
    uint64_t period;  /* of its own, in place of the recording's; or 0 */
    uint64_t flags;   /* PERF_FLAG_* that only it has */
    bool of_everyone; /* counted for all tasks, whoever is recorded */
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

/* Threads that leave their CPU, each time, with word of when they are back. */
struct record_event record_event_switches(void);

/* The tracepoint of that name, "sched:sched_waking"; false, with why, where it may not be
 * had. `format`: the text that says what is in its bytes. */
bool record_event_tracepoint(const char *name, struct record_event *e, char *format,
                             size_t room, struct error *err);

/* The same event, of user code alone: what is left to users without rights. */
void record_event_only_user(struct record_event *e);

/* The names that may be given, one after the other; NULL behind the last. */
const char *record_event_name(size_t i);

#endif
