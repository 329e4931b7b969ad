/* SPDX-License-Identifier: Apache-2.0 */
/* How stoke stat writes counts: as text for people, or as lines for programs. */
#ifndef STOKE_CLI_STAT_PARTS_H
#define STOKE_CLI_STAT_PARTS_H

#include "base/output.h"
#include "engine/stat.h"

struct stat_form {
    const char *separator; /* of the fields of lines; NULL: text */
    bool json;
    bool intervals;  /* lines and text begin with a time */
    bool all_digits; /* text: no thousands separators */
    bool each_run;   /* text: the time of each run */
    enum stat_rows rows;
};

/* Whether a row sums several targets, whose number is printed. */
static inline bool stat_counts_targets(enum stat_rows rows)
{
    return rows >= STAT_BY_CORE && rows <= STAT_BY_NODE;
}

/* What is derived from a count: a ratio to another count, or to a time. */
struct stat_metric {
    double value;
    int decimals;
    bool percent;
    char unit[40]; /* "CPUs utilized", "K/sec", "of all branches" */
};

/* False if there is nothing to derive. */
bool stat_metric(const struct stat_table *t, size_t row, size_t event,
                 struct stat_metric *m);

/* Counts of time are shown in milliseconds. */
bool stat_is_clock(const struct record_event *e);
double stat_shown(const struct record_event *e, double value);
const char *stat_unit(const struct record_event *e);
int stat_decimals(const struct record_event *e);

/* "<not supported>" or "<not counted>"; NULL if there is a count. */
const char *stat_absent(const struct stat_table *t, size_t row, size_t event);

/* The counts as text: one line for each event and row. */
void stat_put_text(struct output *out, const struct stat_table *t,
                   const struct stat_form *form);

/* The heading of text: `what` was counted. Without one, the columns of intervals. */
void stat_put_heading(struct output *out, const char *what, uint64_t runs);
void stat_put_columns(struct output *out);

/* The times after the counts. */
void stat_put_times(struct output *out, const struct stat_table *t,
                    const struct stat_form *form, bool of_command);

/* One line for each event and row: JSON objects, or fields with a separator. */
void stat_put_lines(struct output *out, const struct stat_table *t,
                    const struct stat_form *form);

#endif
