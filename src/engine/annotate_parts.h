/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of engine/annotate. */
#ifndef STOKE_ENGINE_ANNOTATE_PARTS_H
#define STOKE_ENGINE_ANNOTATE_PARTS_H

#include "engine/annotate.h"
#include "model/code.h"
#include "resolve/local_resolver.h"

/* The location of a function's code. */
struct annotation_code {
    object_id object;          /* 0: without a file */
    uint64_t low, high;        /* of a function without a symbol; else 0 */
    const struct code *bundle; /* NULL: not in a bundle; else */
    uint32_t bundled_function; /* its number there */
};

/* Samples of one event at one address of a function. */
struct spot {
    uint32_t function, event; /* function 0: code without a name */
    uint32_t cpu;             /* or CPU_NONE: not asked for */
    uint64_t address;         /* the file's own */
    struct annotated samples;
};

/* By what functions differ. */
struct function_identity {
    struct str name;
    struct str module;         /* as perf shows it */
    struct str build_id, path; /* of the file with the code; empty if there is none */
    uint64_t start;
};

/* A function that has samples. */
struct annotated_function {
    struct function_identity is;
    struct annotation_code code;
    double weight; /* of the event that is shown */
    bool matches;
    bool holds_requested; /* the requested one is inlined into it */
};

/* An event, by its name. */
struct event_total {
    double weight;
    enum unit unit;
};

struct hit;

/* The code that a .stoke had. */
struct bundled_code {
    struct code code;
    struct bundled_code *next;
};

struct annotate_collector {
    struct annotations *a;
    struct perf_consumer consumer;
    struct code_consumer code_consumer;
    int recordings_left;

    struct arena hit_arena; /* of the current recording */
    struct idmap by_event, by_location;
    struct hit *hits;
    size_t hit_count, hit_cap;

    struct arena arena;
    struct strings events;      /* those that have samples, in the recording's order */
    struct event_total *totals; /* by the events' numbers */
    size_t total_cap;
    struct strings keys;                  /* of the functions, with the same numbers */
    struct annotated_function *functions; /* [0] is none */
    size_t function_cap;
    struct spot *spots;
    size_t spot_count, spot_cap;
    struct bundled_code *bundles;
    bool saw_cpu; /* a sample has the number of its CPU */
};

/* Keeps the code of the functions with most samples in a->keep. */
bool annotate_keep(struct annotate_collector *c, const struct resolver *resolver);

/* Completes a function that has names, sampled addresses and their sum: adds the range,
 * the lines and the instructions. Returns false if out of memory. */
bool annotation_build(struct annotation *f, const struct annotation_code *code,
                      const struct resolver *resolver, struct arena *arena);

/* Appends the lines and the names of a built function to the tables of `code`, as function
 * `number`, and sets the rest of it there. */
void annotation_keep(const struct annotation *f, struct code *code, uint32_t number);

/* The opposite: sets the range, lines, bytes and marks of a function from a bundle. */
bool annotation_take(struct annotation *f, const struct code *code, uint32_t number,
                     struct arena *arena);

/* Names the targets of its instructions. */
void annotation_take_names(struct annotation *f, const struct code *code, uint32_t number,
                           struct arena *arena);

/* The target of an instruction: in the text of objdump, "f+0x12". */
struct annotation_target {
    uint64_t address;
    struct str before, said; /* the text in front of it; the name */
    bool is_data;            /* the instruction refers to it; else it jumps there */
};

bool annotation_find_target(const struct annotated_code *code,
                            struct annotation_target *t);

/* Replaces objdump's name of the target; none if `name` is empty. */
void annotation_set_target(struct annotated_code *code, const struct annotation_target *t,
                           struct str name, struct arena *arena);

/* Writes the name of a target in the function itself; without `frame` and outside of it, the
 * module and the address there. */
struct str annotation_target_name(const struct annotation *f, uint64_t address,
                                  const struct resolved_frame *frame,
                                  struct output *scratch);

/* Makes room for the samples of other events in a built function. */
bool annotation_add_others(struct annotation *f, size_t count, struct arena *arena);

/* Counts samples of another event at an address of the function. */
void annotation_count_other(struct annotation *f, size_t other, uint64_t address,
                            const struct annotated *samples);

/* Appends an ELF file that contains f->bytes, at the function's address. */
void annotation_write_image(const struct annotation *f, struct output *out);

/* Makes instructions of f->bytes with objdump of binutils. Returns false, with the
 * reason in f->no_code, if there are none: then f has its sampled addresses only. */
bool annotation_disassemble(struct annotation *f, struct arena *arena);

#endif
