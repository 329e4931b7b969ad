/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a profile of instruction traces: opens and unpacks them, finds the format, and
 * reads them, one trace per thread. */
#ifndef STOKE_ENGINE_TRACE_LOAD_H
#define STOKE_ENGINE_TRACE_LOAD_H

#include "base/name_list.h"
#include "engine/symbols.h"
#include "engine/trace/trigger.h"
#include "trace/reader.h"

struct trace_load {
    struct symbol_settings symbols;
    struct name_list binaries, users; /* files that ran, below and above a kernel */
    /* functions that switch tasks; none: the known functions */
    struct name_list switches;
    struct trigger_settings trigger;
    const struct trace_format *format; /* NULL: found from the content */
    int64_t ipc;                       /* of binary traces; 0: detected */
    int64_t threads;                   /* 0: as many as there are cores */
    bool quiet, keep;                  /* see struct load_settings */
    struct load_result *result;        /* see struct load_settings */
};

/* Reads the traces ("-" is standard input) into one profile, which the caller owns, and
 * reports the parts that are in no binary. NULL, with err set, if one cannot be read or
 * is empty. */
struct profile *engine_load_traces(const struct trace_load *s, int file_count,
                                   char **files, const struct engine_report *report,
                                   struct error *err);

/* True if the file starts like an instruction trace. False for standard input, which
 * cannot be examined without reading it. */
bool engine_is_trace(const char *path);

#endif
