/* SPDX-License-Identifier: Apache-2.0 */
/* The code of a recording's functions: what `stoke annotate` needs of their files, for
 * machines without these files. Part of a .stoke file.
 *
 * All functions with samples are in the table; those with most samples have their code:
 * bytes, lines, names. In each table but `spots`, `notes` and `rows`, [0] is "none" and is
 * counted. These three are sorted by function. */
#ifndef STOKE_MODEL_CODE_H
#define STOKE_MODEL_CODE_H

#include "base/strings.h"
#include "model/profile.h"

/* An event with samples. */
struct code_event {
    string_id name;
    uint32_t unit; /* enum unit */
};

enum code_flag {
    CODE_INCLUDED = 1,   /* the range, lines and notes are known */
    CODE_JIT = 2,        /* made by a JIT */
    CODE_STRIPPED = 4,   /* without a symbol: the name is made of its address */
    CODE_64 = 8,         /* the file with the code is of 64 bits, */
    CODE_BIG_ENDIAN = 16 /* and big-endian */
};

struct code_range {
    size_t first, count;
};

struct code_function {
    string_id name, module, build_id;
    string_id path;       /* of the file with the code, on the machine that had it */
    string_id bytes, why; /* its code; without, why there is none */
    uint64_t start; /* its address: functions of the same name in the same file differ */
    uint64_t low, high;
    uint32_t flags, machine, machine_flags; /* the last two as in an ELF file */
    struct code_range rows, notes, spots;   /* set by code_index */
};

/* The source line of the addresses up to the next row. */
struct code_row {
    uint64_t address;
    uint32_t function;
    string_id file;
    uint32_t line; /* 0: unknown */
};

enum code_note_kind {
    CODE_TARGET,   /* the name of an address to which an instruction jumps */
    CODE_VARIABLE, /* the name of an address to which an instruction refers */
    CODE_INLINED,  /* the function that is inlined from there on; empty: none */
    CODE_MARK,     /* a mapping symbol: struct symtab_mark */
};

struct code_note {
    uint64_t address;
    uint32_t function, kind; /* enum code_note_kind */
    string_id text;
};

/* The samples of an event at an address of a function, on one CPU. */
struct code_spot {
    uint64_t address, count;
    double weight;
    uint32_t function;   /* 0: code without a name */
    uint32_t event, cpu; /* or CPU_NONE */
};

struct code_source {
    string_id name, text;
};

struct code {
    struct arena arena;
    struct strings strings;
    struct code_event *events;
    struct code_function *functions;
    struct code_row *rows;
    struct code_note *notes;
    struct code_spot *spots;
    struct code_source *sources;
    size_t event_count, function_count, row_count, note_count, spot_count, source_count;
    size_t event_cap, function_cap, row_cap, note_cap, spot_cap, source_cap;
};

/* An empty one; false when out of memory. Deinit frees it in every case. */
bool code_init(struct code *c);
void code_deinit(struct code *c);

/* Sets the ranges of all functions. */
void code_index(struct code *c);

static inline struct str code_string(const struct code *c, string_id id)
{
    return strings_get(&c->strings, id);
}

#endif
