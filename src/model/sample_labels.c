/* SPDX-License-Identifier: Apache-2.0 */
#include "model/sample_labels.h"
#include "base/array.h"
#include "base/format.h"
#include "base/hash.h"
#include "base/nearest.h"
#include "base/sort.h"

#define TOO_MANY_SETS "label sets above the limit were left out; --limits x8 raises it"

/* --- Labels ------------------------------------------------------------------------ */

struct label_lookup {
    const struct sample_label *labels, *label;
};

static bool same_label(const void *context, uint32_t id)
{
    const struct label_lookup *w = context;
    const struct sample_label *a = &w->labels[id], *l = w->label;
    return a->key == l->key && a->text == l->text && a->unit == l->unit &&
           a->is_number == l->is_number && a->number == l->number;
}

static bool label_room(struct builder *b)
{
    struct profile *p = b->profile;
    size_t used = p->label_count ? p->label_count : 1; /* [0] is none */
    if (!ARRAY_RESERVE(&p->arena, p->labels, b->label_cap, used + 1))
        return false;
    p->label_count = used;
    p->labels[0] = (struct sample_label){0};
    return index_reserve(&b->labels, &p->arena, 1);
}

label_id builder_label(struct builder *b, const struct sample_label *label)
{
    struct profile *p = b->profile;
    if (builder_failed(b) || !label_room(b))
        return 0;
    uint64_t value = hash_pair(label->text, label->unit) ^ (uint64_t)label->number;
    uint32_t hash =
        (uint32_t)hash_mix(hash_pair(label->key, label->is_number), value ^ HASH_C);
    struct index_slot *slot = index_find(&b->labels, hash, same_label,
                                         &(struct label_lookup){p->labels, label});
    if (!slot->id) {
        p->labels[p->label_count] = *label;
        index_fill(&b->labels, slot, hash, (uint32_t)p->label_count++);
    }
    return slot->id;
}

label_id builder_label_text(struct builder *b, struct str key, struct str text)
{
    return builder_label(b, &(struct sample_label){.key = builder_string(b, key),
                                                   .text = builder_string(b, text)});
}

label_id builder_label_number(struct builder *b, struct str key, int64_t number,
                              struct str unit)
{
    return builder_label(b, &(struct sample_label){.key = builder_string(b, key),
                                                   .unit = builder_string(b, unit),
                                                   .is_number = true,
                                                   .number = number});
}

static label_id copy_label(struct builder *b, const struct profile *other, label_id id)
{
    const struct sample_label *l = &other->labels[id];
    struct str key = profile_string(other, l->key);
    return l->is_number
               ? builder_label_number(b, key, l->number, profile_string(other, l->unit))
               : builder_label_text(b, key, profile_string(other, l->text));
}

/* --- Sets -------------------------------------------------------------------------- */

static bool label_before(const void *context, uint32_t a, uint32_t b)
{
    (void)context;
    return a < b;
}

static bool sets_begin(struct builder *b)
{
    return b->label_tree.arena || trie_init(&b->label_tree, &b->profile->arena);
}

/* The profile's label sets are the nodes of the tree. The tree may have moved them. */
static void show_sets(struct builder *b)
{
    struct trie *t = &b->label_tree;
    builder_warn_times(b, TOO_MANY_SETS, t->refused);
    t->refused = 0;
    b->profile->label_sets = (struct label_set *)(void *)t->nodes;
    b->profile->label_set_count = t->count;
}

_Static_assert(sizeof(struct label_set) == sizeof(struct trie_node) &&
                   offsetof(struct label_set, label) == offsetof(struct trie_node, key),
               "the nodes of the tree are the label sets");

label_set_id builder_label_set(struct builder *b, label_id *labels, size_t count)
{
    uint32_t scratch[LABELS_MAX];
    if (count > LABELS_MAX) {
        builder_warn_times(b, TOO_MANY_LABELS, count - LABELS_MAX);
        count = LABELS_MAX;
    }
    if (count == 0 || builder_failed(b) || !sets_begin(b))
        return 0;
    sort_u32(labels, count, scratch, label_before, NULL);
    label_set_id set = trie_descend(&b->label_tree, 0, labels, count, NULL);
    show_sets(b);
    return set;
}

/* Copies the labels of the set into an array of LABELS_MAX; returns their number. */
static size_t list_labels(const struct profile *p, label_set_id set, label_id *labels)
{
    size_t count = 0;
    for (; set && count < LABELS_MAX; set = p->label_sets[set].parent)
        labels[count++] = p->label_sets[set].label;
    return count;
}

label_set_id builder_label_set_add(struct builder *b, label_set_id set, label_id label)
{
    const struct profile *p = b->profile;
    label_id labels[LABELS_MAX + 1];
    if (builder_failed(b) || !label || !sets_begin(b))
        return 0;
    if (set && p->label_sets[set].label > label) {
        size_t count = list_labels(p, set, labels);
        labels[count++] = label;
        return builder_label_set(b, labels, count);
    }
    set = trie_child(&b->label_tree, set, label);
    show_sets(b);
    return set;
}

label_set_id builder_copy_label_set(struct builder *b, const struct profile *other,
                                    label_set_id set)
{
    label_id labels[LABELS_MAX];
    size_t count = list_labels(other, set, labels);
    for (size_t i = 0; i < count; i++)
        labels[i] = copy_label(b, other, labels[i]);
    return builder_label_set(b, labels, count);
}

label_set_id *builder_map_label_sets(struct builder *b, const struct profile *other)
{
    struct arena *a = &b->profile->arena;
    label_id *labels = arena_zalloc(a, other->label_count + 1, sizeof *labels);
    label_set_id *sets = arena_zalloc(a, other->label_set_count + 1, sizeof *sets);
    if (!labels || !sets)
        return NULL;
    for (label_id i = 1; i < other->label_count; i++)
        labels[i] = copy_label(b, other, i);
    for (label_set_id i = 1; i < other->label_set_count; i++) {
        struct label_set s = other->label_sets[i];
        sets[i] = builder_label_set_add(b, sets[s.parent], labels[s.label]);
    }
    return builder_failed(b) ? NULL : sets;
}

/* --- Reading ----------------------------------------------------------------------- */

void sample_label_write(struct output *o, const struct profile *p, label_id label)
{
    const struct sample_label *l = &p->labels[label];
    if (!l->is_number) {
        output_str(o, profile_string(p, l->text));
        return;
    }
    output_format(o, "%lld", (long long)l->number);
    if (l->unit) {
        output_char(o, ' ');
        output_str(o, profile_string(p, l->unit));
    }
}

label_id *label_sets_find(const struct profile *p, struct str key, struct arena *a)
{
    string_id id = strings_find(&p->strings, key);
    label_id *found = arena_zalloc(a, p->label_set_count + 1, sizeof *found);
    for (label_set_id i = 1; found && i < p->label_set_count; i++) {
        struct label_set s = p->label_sets[i];
        bool is = p->labels[s.label].key == id && (id || key.len == 0);
        found[i] = found[s.parent] || !is ? found[s.parent] : s.label;
    }
    return found;
}

#define KEYS_LISTED 12

/* Lists the first distinct keys of the profile. */
static void list_keys(const struct profile *p, char *text, size_t size)
{
    string_id listed[KEYS_LISTED];
    unsigned count = 0;
    size_t used = format_text(text, size, "it has: ");
    for (label_id i = 1; i < p->label_count && count < KEYS_LISTED; i++) {
        unsigned at = 0;
        while (at < count && listed[at] != p->labels[i].key)
            at++;
        if (at < count)
            continue;
        listed[count++] = p->labels[i].key;
        if (used < size - 1)
            used += format_text(text + used, size - used, "%s%.*s", at ? ", " : "",
                                STR_ARG(sample_label_key(p, i)));
    }
}

bool label_key_check(const struct profile *p, struct str key, struct error *err)
{
    char all[200];
    struct nearest nearest = {.word = key};
    for (label_id i = 1; i < p->label_count; i++) {
        if (str_equal(sample_label_key(p, i), key))
            return true;
        nearest_offer(&nearest, sample_label_key(p, i));
    }
    if (p->label_count < 2)
        return error_set(err, "the input has no labels");
    error_set(err, "the input has no label '%.*s'", STR_ARG(key));
    list_keys(p, all, sizeof all);
    return nearest_hint(&nearest, "", all, err);
}
