/* SPDX-License-Identifier: Apache-2.0 */
/* The fields that are printed of a sample: perf script's -F, for each type of event. */
#ifndef STOKE_CLI_SCRIPT_FIELDS_H
#define STOKE_CLI_SCRIPT_FIELDS_H

#include "perf/perf_data.h"

enum script_field {
    FIELD_COMM = 1 << 0,
    FIELD_TID = 1 << 1,
    FIELD_PID = 1 << 2,
    FIELD_TIME = 1 << 3,
    FIELD_CPU = 1 << 4,
    FIELD_EVENT = 1 << 5,
    FIELD_IP = 1 << 6,
    FIELD_SYM = 1 << 7,
    FIELD_DSO = 1 << 8,
    FIELD_ADDR = 1 << 9,
    FIELD_SYMOFF = 1 << 10,
    FIELD_SRCLINE = 1 << 11,
    FIELD_PERIOD = 1 << 12,
    FIELD_WEIGHT = 1 << 13,
    FIELD_PHYS_ADDR = 1 << 14,
    FIELD_MISC = 1 << 15,
    FIELD_BRSTACK = 1 << 16,
    FIELD_TRACE = 1 << 17,
    FIELD_IREGS = 1 << 18,
    FIELD_UREGS = 1 << 19,
    FIELD_DATA_SRC = 1 << 20,
    FIELD_INS_LAT = 1 << 21,
    FIELD_RETIRE_LAT = 1 << 22,
    FIELD_CGROUP = 1 << 23,
    FIELD_FLAGS = 1 << 24,
    FIELD_DATA_PAGE_SIZE = 1 << 25,
    FIELD_CODE_PAGE_SIZE = 1 << 26,
    /* of instruction traces: nothing for other samples, as in perf */
    FIELD_SYNTH = 1 << 27,
    FIELD_CALLINDENT = 1 << 28,
};

/* Types of events that perf distinguishes here: those of enum perf_event_type, and all
 * others. */
#define SCRIPT_TYPES (PERF_TYPE_KNOWN + 1)

struct script_fields {
    uint32_t shown[SCRIPT_TYPES];
    /* the user chose the fields; otherwise they are the defaults */
    bool chosen[SCRIPT_TYPES];
};

#define FIELDS_STACK (FIELD_IP | FIELD_SYM | FIELD_SYMOFF | FIELD_DSO)
#define FIELDS_HEAD (FIELD_COMM | FIELD_TID | FIELD_CPU | FIELD_TIME | FIELD_EVENT)
#define FIELDS_SAMPLE (FIELDS_HEAD | FIELDS_STACK | FIELD_PERIOD)

/* The defaults of perf script. */
#define SCRIPT_FIELDS_DEFAULT                                                \
    {                                                                        \
        .shown = {                                                           \
            [PERF_TYPE_HARDWARE] = FIELDS_SAMPLE,                            \
            [PERF_TYPE_SOFTWARE] = FIELDS_SAMPLE,                            \
            [PERF_TYPE_TRACEPOINT] = FIELDS_HEAD | FIELD_TRACE,              \
            [PERF_TYPE_HW_CACHE] = FIELDS_SAMPLE,                            \
            [PERF_TYPE_RAW] =                                                \
                FIELDS_SAMPLE | FIELD_ADDR | FIELD_WEIGHT | FIELD_PHYS_ADDR, \
            [PERF_TYPE_BREAKPOINT] = FIELDS_SAMPLE,                          \
            [PERF_TYPE_KNOWN] = FIELDS_SAMPLE                                \
        }                                                                    \
    }

/* Parses the user's text: "comm,ip,sym", "+srcline,-dso", "trace:comm,time". For struct
 * option. */
bool script_fields_parse(const char *text, void *fields, struct error *err);

/* The fields that are printed of a sample of the event: the requested fields that are
 * recorded. `*missing`: fields that the user requests and the event does not have. */
uint32_t script_fields_of(const struct script_fields *f, const struct perf_data *d,
                          const struct perf_event *e, uint32_t *missing);

/* The name of the first of the fields. */
const char *script_field_name(uint32_t fields);

#endif
