/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of samples: key=value, such as host=web-3, service=checkout, alloc=4096 bytes.
 *
 * A profile holds each distinct label once, and each distinct set of labels once: sets
 * are nodes of a tree, in which a set is its parent and one more label. So memory grows
 * with distinct labels and sets only, and a profile without labels has none of these
 * tables. A set may hold several labels of one key, and one label several times. */
#ifndef STOKE_MODEL_SAMPLE_LABELS_H
#define STOKE_MODEL_SAMPLE_LABELS_H

#include "base/output.h"
#include "model/builder.h"

/* Labels of one sample: further ones are left out, with a warning. */
#define LABELS_MAX 128
#define TOO_MANY_LABELS "labels of a sample above the limit were left out"

/* The ID of the label, which is added if it is new; 0 when out of memory. The strings
 * are strings of the profile. */
label_id builder_label(struct builder *b, const struct sample_label *label);
label_id builder_label_text(struct builder *b, struct str key, struct str text);
label_id builder_label_number(struct builder *b, struct str key, int64_t number,
                              struct str unit);

/* The set of these labels, in any order; 0 if there are none. Sorts `labels`. */
label_set_id builder_label_set(struct builder *b, label_id *labels, size_t count);

/* The set with one more label; 0 when out of memory. This takes constant time if
 * labels are added in the order of their IDs. */
label_set_id builder_label_set_add(struct builder *b, label_set_id set, label_id label);

/* Maps a label set of another profile to this one. */
label_set_id builder_copy_label_set(struct builder *b, const struct profile *other,
                                    label_set_id set);

/* By label set of the other profile: the set in this one. The builder owns the array.
 * NULL when out of memory. */
label_set_id *builder_map_label_sets(struct builder *b, const struct profile *other);

/* Writes the value: "web-3", "4096 bytes". */
void sample_label_write(struct output *o, const struct profile *p, label_id label);

static inline struct str sample_label_key(const struct profile *p, label_id label)
{
    return profile_string(p, p->labels[label].key);
}

/* By label set: its first label of that key, or 0. The arena owns the array; NULL when
 * out of memory. */
label_id *label_sets_find(const struct profile *p, struct str key, struct arena *a);

/* True if a label has that key. Otherwise false; err lists the keys of the profile. */
bool label_key_check(const struct profile *p, struct str key, struct error *err);

#endif
