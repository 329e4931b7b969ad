/* SPDX-License-Identifier: Apache-2.0 */
/* The facts that stoke info prints, and the two forms: text and JSON. */
#ifndef STOKE_CLI_INFO_INFO_H
#define STOKE_CLI_INFO_INFO_H

#include "analysis/summary.h"
#include "base/output.h"
#include "model/profile.h"

struct info_report {
    const struct profile *p;
    const struct summary *s;
    struct output *out;
    bool colour;
    bool all; /* all threads and modules, not only the first */
    int file_count;
    char **files;
};

/* The weight in percent of the weight of all samples. */
double info_share(const struct info_report *r, double weight);

struct str info_event_name(const struct info_report *r, event_id event);

void info_print_text(const struct info_report *r);
void info_print_json(const struct info_report *r);

#endif
