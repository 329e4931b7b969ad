/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of an event by the values of a label: sizes and lifetimes of a heap profile. */
#include "model/sample_labels.h"
#include "web/core/core.h"

struct class_sum {
    uint64_t samples;
    double weight;
};

bool reply_histogram(struct json_writer *w, const struct profile *p, event_id event,
                     struct str key, struct error *err)
{
    struct arena a = ARENA_INIT;
    const label_id *label_of_set = label_sets_find(p, key, &a);
    struct class_sum *sums = arena_zalloc(&a, p->label_count + 1, sizeof *sums);
    if (!label_of_set || !sums) {
        arena_deinit(&a);
        return error_memory(err);
    }
    for (size_t i = 0; i < p->sample_count; i++) {
        if (!event || p->samples[i].event != event)
            continue;
        struct class_sum *sum = &sums[label_of_set[profile_labels(p, i)]];
        sum->samples += p->samples[i].count;
        sum->weight += p->samples[i].weight;
    }
    json_begin(w, JSON_ARRAY);
    for (label_id i = 1; i < p->label_count; i++) {
        if (!sums[i].samples)
            continue;
        json_begin(w, JSON_OBJECT);
        json_member_str(w, "value", profile_string(p, p->labels[i].text));
        json_member_u64(w, "samples", sums[i].samples);
        json_member_double(w, "weight", sums[i].weight);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
    arena_deinit(&a);
    return true;
}
