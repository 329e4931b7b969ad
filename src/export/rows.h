/* SPDX-License-Identifier: Apache-2.0 */
/* Rows by keys, as in `perf report`: shared by the writers of text, CSV and JSON. */
#ifndef STOKE_EXPORT_ROWS_H
#define STOKE_EXPORT_ROWS_H

#include "export/table_parts.h"

/* One event as rows. Do not move it in memory. */
struct rows {
    const struct table_options *o;
    struct breakdown b;
    struct chain_trees graphs; /* if call graphs are requested */
    uint32_t shown;            /* in the breakdown's order, filled from the start */
    uint32_t *order;           /* row indices: shown rows first */
    size_t count;
    double *rest;  /* by event: the self weight of rows that are not shown */
    size_t events; /* the breakdown's, and the others of a group */
};

/* False, with err set, if out of memory; call deinit in every case. */
bool rows_init(struct rows *r, const struct profile *p,
               const struct export_options *options, event_id event, struct error *err);
void rows_deinit(struct rows *r);

/* The weight, or the number of samples, that a row has in a column of figures. Events are
 * counted from 0, the breakdown's. */
double rows_figure(const struct rows *r, const struct breakdown_row *row, unsigned column,
                   size_t event);

/* In percent of the event's weights; 0 if it has none. */
double rows_share(const struct rows *r, double weight, size_t event);

/* Writes "12.34%" and a zero as printf does: halves are rounded to even digits, as in perf.
 * Returns the length. */
#define PERCENT_TEXT_MAX 32
size_t rows_write_percent(double share, char *out);

/* An event of the rows. */
struct rows_event {
    event_id id;
    uint64_t samples;
    double total, left_out;
};
struct rows_event rows_event(const struct rows *r, size_t event);

/* The next event to show, which has samples; 0 after the last. A group is shown once, as its
 * first event. */
event_id rows_next_event(const struct profile *p, const struct export_options *options,
                         event_id last);

/* The writers; each writes all events. */
bool rows_write_text(const struct profile *p, const struct export_options *options,
                     struct output *out, struct error *err);
bool rows_write_csv(const struct profile *p, const struct export_options *options,
                    struct output *out, struct error *err);
bool rows_write_json(const struct profile *p, const struct export_options *options,
                     struct output *out, struct error *err);

/* The call graph below a row, as text. */
bool rows_write_graph(struct rows *r, uint32_t row, struct output *out,
                      struct error *err);

#endif
