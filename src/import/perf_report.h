/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a report by perf: rows, each a function with its share of an event and the
 * call graph below it, as they are printed. perf_report.c reads them, and
 * perf_report_stacks.c makes stacks of them. */
#ifndef STOKE_IMPORT_PERF_REPORT_H
#define STOKE_IMPORT_PERF_REPORT_H

#include "import/importer.h"

#define REPORT_NO_NODE UINT32_MAX

/* How a value of the call graph is printed. */
enum report_value { VALUE_NONE, VALUE_PERCENT, VALUE_NUMBER };

/* A line of a call graph. */
struct report_node {
    uint32_t parent; /* or REPORT_NO_NODE */
    string_id name;
    bool is_inlined;
    uint32_t value_kind; /* enum report_value; VALUE_NONE: that of the parent */
    double value;        /* as printed */
    uint32_t depth;
    /* Set when the stacks are made: */
    double total, rest; /* in the unit of the values; without that of the children */
    uint32_t children;
};

struct report_row {
    string_id name;  /* 0: the rows are not functions */
    string_id label; /* then: what a row without a graph shows instead */
    module_id module;
    enum frame_kind kind;
    thread_id thread;
    uint32_t cpu;
    double total, self; /* percent; the same without --children; negative: not printed */
    double samples;     /* negative: not printed */
    double period;      /* the same; of self */
    uint32_t first_node, node_count;
};

/* The rows of an event. */
struct report {
    struct builder *b;
    struct arena arena;
    string_id event;   /* 0: none yet */
    double samples;    /* stated; negative if not */
    double total;      /* sum of the periods, stated; negative if not */
    bool has_children; /* rows have totals: --children */
    bool counts;       /* weights are samples, not periods */
    struct report_row *rows;
    struct report_node *nodes;
    size_t row_count, row_cap, node_count, node_cap;
};

/* Adds the samples of the rows to the profile, and removes the rows. Reports a sum that
 * is not the stated total. */
void perf_report_settle(struct report *r);

#endif
