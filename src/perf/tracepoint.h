/* SPDX-License-Identifier: Apache-2.0 */
/* Printing the raw data of a tracepoint's samples by the format that the kernel supplies.
 *
 * A format (Documentation/trace/events.rst of Linux) lists the fields with their offsets.
 * Its "print fmt:" is a printf format and C expressions for the arguments. The
 * expressions are compiled to a list of steps once, which is evaluated for every sample.
 * If an expression is not supported, the fields are printed one by one. */
#ifndef STOKE_PERF_TRACEPOINT_H
#define STOKE_PERF_TRACEPOINT_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/output.h"

struct tracepoint_field {
    struct str name;
    uint32_t offset, size; /* in the raw data */
    uint32_t element;      /* the size of an array's elements; 0: not an array */
    bool is_signed, is_text, is_common;
    bool is_placed,
        is_behind; /* the field holds offset and size of the content: from the start of the data; from the end of the field */
};

enum tracepoint_step_kind {
    TRACE_NUMBER,  /* pushes a number */
    TRACE_TEXT,    /* pushes a string */
    TRACE_FIELD,   /* pushes the field with that index */
    TRACE_UNARY,   /* pops one value, pushes the result */
    TRACE_BINARY,  /* pops two */
    TRACE_CHOICE,  /* pops condition and two values */
    TRACE_ELEMENT, /* pops an array and an index */
    TRACE_CALL,    /* pops the arguments of a function */
    TRACE_SHOW,    /* pops the next value to print */
};

struct tracepoint_step {
    uint8_t kind;   /* enum tracepoint_step_kind */
    uint8_t op;     /* operator of TRACE_UNARY and TRACE_BINARY; function of TRACE_CALL */
    uint32_t count; /* number of values, or index of the field */
    int64_t number;
    struct str text;
};

struct tracepoint_format {
    struct str name;
    uint64_t id;
    struct tracepoint_field *fields;
    size_t field_count, field_cap;
    struct str print; /* the printf format without quotes; empty: not supported */
    struct tracepoint_step *steps;
    size_t step_count, step_cap;
};

/* The id in a format, without reading the rest; UINT64_MAX: none. */
uint64_t tracepoint_format_id(struct str text);

/* Reads a format, whose text must outlive `f`; memory is from the arena. Returns false if
 * out of memory. */
bool tracepoint_format_read(struct tracepoint_format *f, struct str text,
                            struct arena *a);

/* Prints the raw data of a sample. Missing fields are empty or 0. */
void tracepoint_format_print(const struct tracepoint_format *f, struct str raw,
                             bool big_endian, struct output *o);

/* --- What the two files share ------------------------------------------------------ */

/* A value: a number, a string, or the bytes of an array. */
struct tracepoint_value {
    int64_t number;
    struct str text;
    uint32_t element; /* of an array */
    bool is_text;
};

/* The content of a field in the raw data. */
struct tracepoint_value tracepoint_field_value(const struct tracepoint_field *field,
                                               struct str raw, bool big_endian);

/* An element of an array; 0 if it is out of range. */
int64_t tracepoint_element(const struct tracepoint_value *array, uint64_t i,
                           bool big_endian);

/* The offset of the end of a C string whose opening quote is before `text`; text.len:
 * none. */
size_t tracepoint_text_end(struct str text);

/* Compiles the arguments after the printf format: expressions separated by commas.
 * Returns false if one is not supported. */
bool tracepoint_compile(struct tracepoint_format *f, struct str text, struct arena *a);

/* Maximum number of values on the stack, and of printed values. */
#define TRACE_VALUES_MAX 256
#define TRACE_SCRATCH 1024

/* The values to print. Strings may be in `scratch`. */
struct tracepoint_values {
    struct tracepoint_value shown[TRACE_VALUES_MAX];
    size_t count;
    char scratch[TRACE_SCRATCH];
    size_t used;
};

void tracepoint_evaluate(const struct tracepoint_format *f, struct str raw,
                         bool big_endian, struct tracepoint_values *values);

#endif
