/* SPDX-License-Identifier: Apache-2.0 */
/* Rows by keys, as `perf report` shows them: what the writers of text, CSV and JSON
 * share.
 */
#ifndef STOKE_EXPORT_ROWS_H
#define STOKE_EXPORT_ROWS_H

#include "export/table_parts.h"

/* One event as rows. Not to be moved. */
struct rows {
    const struct table_options *o;
    struct breakdown b;
    struct callgraphs graphs; /* where call graphs are asked for */
    uint32_t shown;           /* of the breakdown's order, filled up from its begin */
    uint32_t *order;          /* row numbers: those shown first, the others behind */
    size_t count;
    double rest; /* the self of those that are not shown */
};

/* False, with err set, when memory is short; deinit in every case. */
bool rows_init(struct rows *r, const struct profile *p,
               const struct export_options *options, event_id event, struct error *err);
void rows_deinit(struct rows *r);

/* In percent of the event's weights; 0 where it has none. */
double rows_share(const struct rows *r, double weight);

/* The events shown, in turn: those that have samples; 0 behind the last. */
event_id rows_next_event(const struct profile *p, const struct export_options *options,
                         event_id last);

/* The writers, each of all events. */
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
