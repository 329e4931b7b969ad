/* SPDX-License-Identifier: Apache-2.0 */
/* Samples as text in the layout of perf script (tools/perf/builtin-script.c,
 * evsel_fprintf.c), which other programs parse. */
#ifndef STOKE_CLI_SCRIPT_TEXT_H
#define STOKE_CLI_SCRIPT_TEXT_H

#include "cli/script/fields.h"
#include "import/perf_data/recording.h"

/* How times are printed. Give it to all heads, in the order of the output. */
struct script_clock {
    bool ns;       /* nine digits after the point instead of six */
    bool relative; /* since the first time */
    bool delta;    /* since the previous time */
    bool started;  /* `since` is set */
    uint64_t since;
};

/* The text before a sample's stack. */
struct script_head {
    struct script_clock *clock;
    uint32_t fields;
    bool has_chain; /* the stack is on separate lines */
    struct str comm, event;
    size_t event_width; /* width of the longest name */
    int64_t pid, tid;
    uint32_t cpu, misc;
    uint32_t record; /* its type; of a sample 0 */
    uint64_t time;
    /* not NULL: the time is not written, but this is set to the length of the text before it */
    size_t *time_at;
};

void script_write_time(struct output *o, struct script_clock *clock, uint64_t time);

/* The head up to the period or the text of a record. */
void script_write_head(struct output *o, const struct script_head *h);

void script_write_event(struct output *o, const struct script_head *h);

/* The branches that were recorded, the newest first: "0x1100/0x2200/P/-/-/0/COND  ". */
void script_write_branches(struct output *o, struct perf_words branches);

/* Where the data of an access to memory came from, as perf decodes it: "|OP LOAD|LVL L1
 * hit|SNP None|TLB N/A|LCK No|BLK  N/A". Padded to `*width`, the longest so far. */
void script_write_data_source(struct output *o, uint64_t source, size_t *width);

/* A size of a page: " 4K"; " N/A" if it is unknown. */
void script_write_page_size(struct output *o, uint64_t size);

/* Like %#lx: 0 has no "0x". */
void script_write_hex_marked(struct output *o, uint64_t v);

/* The name of perf, "AX"; those of other architectures are numbers, written to `text`. */
const char *script_register_name(enum architecture machine, unsigned number, char *text,
                                 size_t size);

/* Registers that were recorded: " ABI:2    AX:0x1 ". */
void script_write_registers(struct output *o, enum architecture machine,
                            const struct perf_registers *registers);

/* The text of a record that is not a sample, after its head, with the end of the line.
 * False if records of this type are not printed. */
bool script_write_record(struct output *o, const struct perf_data *d,
                         const struct perf_record *r);

/* One frame, after its address: " symbol+0xoffset (module)". */
struct script_frame {
    uint64_t address;
    uint64_t in_module; /* its address there, shown if the source line is not known */
    struct str name, module, file; /* empty: not known */
    uint64_t offset;
    uint32_t line;
    bool has_offset, inlined;
};

/* The frame; a frame of a chain has a tab before it and a line end after it. */
void script_write_frame(struct output *o, uint32_t fields, bool in_chain,
                        const struct script_frame *f);

#endif
