/* SPDX-License-Identifier: Apache-2.0 */
/* What a tracepoint tells, as text: the raw part of its samples, printed by the format
 * that the kernel gives it.
 *
 * A format (Documentation/trace/events.rst of Linux) names the fields, where each lies,
 * and under "print fmt:" how they are printed: a text as of printf, and expressions of C
 * for what stands in it. Those are made into a list of steps once, and gone through for
 * each sample. Where one is not understood, the fields are printed one by one. */
#ifndef STOKE_PERF_TRACEPOINT_H
#define STOKE_PERF_TRACEPOINT_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/output.h"

struct tracepoint_field {
    struct str name;
    uint32_t offset, size; /* in the raw part */
    uint32_t element;      /* the size of an array's elements; 0: it is none */
    bool is_signed, is_text, is_common;
    bool is_placed, is_behind; /* what lies there tells where and how long the content is:
                                  from the beginning; from behind itself */
};

enum tracepoint_step_kind {
    TRACE_NUMBER,  /* a value is put on the stack */
    TRACE_TEXT,    /* the same */
    TRACE_FIELD,   /* the same: the field of that number */
    TRACE_UNARY,   /* one value to another, by the operator */
    TRACE_BINARY,  /* two to one */
    TRACE_CHOICE,  /* condition, one, other */
    TRACE_ELEMENT, /* an array, a number */
    TRACE_CALL,    /* so many values to one, by the function */
    TRACE_SHOW,    /* the value is the next to be printed */
};

struct tracepoint_step {
    uint8_t kind;   /* enum tracepoint_step_kind */
    uint8_t op;     /* of TRACE_UNARY and TRACE_BINARY; TRACE_CALL's function */
    uint32_t count; /* of values, or the field's number */
    int64_t number;
    struct str text;
};

struct tracepoint_format {
    struct str name;
    uint64_t id;
    struct tracepoint_field *fields;
    size_t field_count, field_cap;
    struct str print; /* the text, without its quotes; empty: it was not understood */
    struct tracepoint_step *steps;
    size_t step_count, step_cap;
};

/* The number that a format has, without reading all of it; UINT64_MAX for none. */
uint64_t tracepoint_format_id(struct str text);

/* Reads a format, which outlives `f`; memory is the arena's. False when it is short. */
bool tracepoint_format_read(struct tracepoint_format *f, struct str text,
                            struct arena *a);

/* Prints the raw part of a sample. What it does not hold is empty, or 0. */
void tracepoint_format_print(const struct tracepoint_format *f, struct str raw,
                             bool big_endian, struct output *o);

/* --- What the two files share ------------------------------------------------------ */

/* A value: a number, a text, or the bytes of an array. */
struct tracepoint_value {
    int64_t number;
    struct str text;
    uint32_t element; /* of an array */
    bool is_text;
};

/* The content of a field in the raw part. */
struct tracepoint_value tracepoint_field_value(const struct tracepoint_field *field,
                                               struct str raw, bool big_endian);

/* An element of an array; 0 where it has none there. */
int64_t tracepoint_element(const struct tracepoint_value *array, uint64_t i,
                           bool big_endian);

/* Where a text of C ends whose quote was opened before `text`; text.len for nowhere. */
size_t tracepoint_text_end(struct str text);

/* Makes the steps of what stands behind the printed text: expressions with commas between
 * them. False where something in it is not understood. */
bool tracepoint_compile(struct tracepoint_format *f, struct str text, struct arena *a);

/* Values at most that are printed, and that steps have under way. */
#define TRACE_VALUES_MAX 256
#define TRACE_SCRATCH 1024

/* What steps made: the values to be printed. Texts may lie in `scratch`. */
struct tracepoint_values {
    struct tracepoint_value shown[TRACE_VALUES_MAX];
    size_t count;
    char scratch[TRACE_SCRATCH];
    size_t used;
};

void tracepoint_evaluate(const struct tracepoint_format *f, struct str raw,
                         bool big_endian, struct tracepoint_values *values);

#endif
