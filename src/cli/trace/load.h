/* SPDX-License-Identifier: Apache-2.0 */
/* From instruction traces to a profile: open, unpack, find the format, read, one trace a
 * thread. */
#ifndef STOKE_CLI_TRACE_LOAD_H
#define STOKE_CLI_TRACE_LOAD_H

#include "cli/options/option.h"
#include "cli/trace/trigger.h"
#include "engine/symbols.h"
#include "trace/reader.h"

struct trace_load {
    struct symbol_settings symbols;
    struct name_list binaries, users; /* files that ran, below and above a kernel */
    struct name_list switches;        /* functions that switch tasks; none: the known */
    struct trigger_settings trigger;
    const struct trace_format *format; /* NULL: found from the content */
    int64_t ipc;                       /* of binary traces; 0: found out */
    int64_t threads;                   /* 0: as many as there are cores */
    bool quiet, keep;                  /* see struct load_settings */
};

/* Reads the traces ("-" is standard input) into one profile, says what of them is in no
 * binary, and hands it out; NULL with err set when any could not be read, or is empty. */
struct profile *trace_load(const struct trace_load *s, int file_count, char **files,
                           struct error *err);

/* Whether the file looks like an instruction trace. False for standard input, which
 * cannot be looked at without reading it. */
bool trace_load_knows(const char *path);

#endif
