/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the table exporter: one event of a profile as rows. */
#ifndef STOKE_EXPORT_TABLE_PARTS_H
#define STOKE_EXPORT_TABLE_PARTS_H

#include "analysis/measure.h"
#include "codec/json.h"
#include "export/table.h"

/* A function. If the profile is not differential, the weights before are 0. */
struct table_row {
    struct str name, module;
    double self, total, base_self, base_total;
};

/* The functions of one event in display order. */
struct table {
    const struct profile *p;
    const struct table_options *o;
    struct calltree tree;
    struct table_row *rows;
    uint32_t *order; /* row indices: shown rows first */
    size_t shown, count;
    double total, base_total; /* of the event */
    double unknown;   /* the part of the total that is in functions without a name */
    uint64_t samples; /* of the input */
    bool differential;
    bool modules_apart; /* functions with the same name in two modules are two rows */
};

/* Makes the tree and, unless the tree is requested, the rows. False, with err set, if
 * out of memory; call deinit in every case. */
bool table_init(struct table *t, const struct profile *p,
                const struct export_options *options, event_id event, struct error *err);
void table_deinit(struct table *t);

/* In percent of the event's weights; 0 if it has none. */
double table_share(const struct table *t, double weight);
double table_base_share(const struct table *t, double weight);

/* Of a row: the weight used for the order and in a differential table. */
double table_weight(const struct table *t, const struct table_row *r);
double table_base_weight(const struct table *t, const struct table_row *r);

/* One for all weights of the event. */
struct measure measure_of(const struct table *t);

/* The writers; each writes all events. */
bool table_write_text(const struct profile *p, const struct export_options *options,
                      struct output *out, struct error *err);
bool table_write_csv(const struct profile *p, const struct export_options *options,
                     struct output *out, struct error *err);
bool table_write_json(const struct profile *p, const struct export_options *options,
                      struct output *out, struct error *err);

/* The locks of all events, in the requested form. */
bool table_write_locks(const struct profile *p, const struct export_options *options,
                       struct output *out, struct error *err);

/* The facts about the data as lines with '#', and as members of an object; a field of
 * CSV. */
void table_write_facts(struct output *out, const struct profile *p, struct str title);
void table_json_facts(struct json_writer *w, const struct profile *p);
void table_csv_text(struct output *out, struct str s);

/* The colour of a share: red from 5%, green from 0.5%; empty without colours. */
const char *table_percent_colour(const struct table_options *o, double percent);

/* The text of the tree, below its header lines. */
bool table_write_tree(const struct table *t, struct output *out, struct error *err);

/* Colours of a share, and of a change: written around a cell if colours are requested. */
const char *table_share_colour(const struct table *t, double percent);
const char *table_change_colour(const struct table *t, double points);
#define TABLE_COLOUR_END "\x1b[0m"

/* The next event to show, 0 after the last. A differential profile has one. */
event_id table_next_event(const struct profile *p, const struct export_options *options,
                          event_id last);

#endif
