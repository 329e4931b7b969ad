/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the table exporter share: one event of a profile as rows. */
#ifndef STOKE_EXPORT_TABLE_PARTS_H
#define STOKE_EXPORT_TABLE_PARTS_H

#include "analysis/measure.h"
#include "codec/json.h"
#include "export/table.h"

/* A function. Where the profile is not differential, the weights before are 0. */
struct table_row {
    struct str name, module;
    double self, total, base_self, base_total;
};

/* One event's functions in the order in which they are shown. */
struct table {
    const struct profile *p;
    const struct table_options *o;
    struct calltree tree;
    struct table_row *rows;
    uint32_t *order; /* row numbers: those shown first, the others behind */
    size_t shown, count;
    double total, base_total; /* of the event */
    double unknown;           /* the part of the total that is in functions of no name */
    uint64_t samples;         /* counted, of the input */
    bool differential;
    bool modules_apart; /* functions of one name in two modules are two rows */
};

/* Makes the tree, and, unless the tree is what is asked for, the rows. False, with err
 * set, when memory is short; deinit in every case. */
bool table_init(struct table *t, const struct profile *p,
                const struct export_options *options, event_id event, struct error *err);
void table_deinit(struct table *t);

/* In percent of the event's weights; 0 where it has none. */
double table_share(const struct table *t, double weight);
double table_base_share(const struct table *t, double weight);

/* Of a row: the weight that the order and a differential table are about. */
double table_weight(const struct table *t, const struct table_row *r);
double table_base_weight(const struct table *t, const struct table_row *r);

/* One for all weights of the event. */
struct measure measure_of(const struct table *t);

/* The writers, each of all events. */
bool table_write_text(const struct profile *p, const struct export_options *options,
                      struct output *out, struct error *err);
bool table_write_csv(const struct profile *p, const struct export_options *options,
                     struct output *out, struct error *err);
bool table_write_json(const struct profile *p, const struct export_options *options,
                      struct output *out, struct error *err);

/* What the data is, as lines with '#', and as members of an object; a field of CSV. */
void table_write_facts(struct output *out, const struct profile *p, struct str title);
void table_json_facts(struct json_writer *w, const struct profile *p);
void table_csv_text(struct output *out, struct str s);

/* A share of 5% stands out in red, one of half a percent in green; empty without colour.
 */
const char *table_percent_colour(const struct table_options *o, double percent);

/* The text of the tree, below its headings. */
bool table_write_tree(const struct table *t, struct output *out, struct error *err);

/* Colours of a share, and of a change: printed around a cell where they are asked for. */
const char *table_share_colour(const struct table *t, double percent);
const char *table_change_colour(const struct table *t, double points);
#define TABLE_COLOUR_END "\x1b[0m"

/* The events shown: in turn, 0 behind the last. A differential profile is one. */
event_id table_next_event(const struct profile *p, const struct export_options *options,
                          event_id last);

#endif
