/* SPDX-License-Identifier: Apache-2.0 */
#include "store/series.h"
#include "base/array.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "codec/protobuf.h"
#include "model/sample_labels.h"

/* --- Writing ------------------------------------------------------------------------ */

static void put_str(struct output *o, struct str s)
{
    proto_put_varint(o, s.len);
    output_str(o, s);
}

/* By key, then value: ids differ between profiles. */
static bool label_before(const struct profile *p, label_id x, label_id y)
{
    const struct sample_label *a = &p->labels[x], *b = &p->labels[y];
    int order = str_compare(profile_string(p, a->key), profile_string(p, b->key));
    if (order == 0)
        order = str_compare(profile_string(p, a->text), profile_string(p, b->text));
    return order ? order < 0 : a->number < b->number;
}

static size_t sorted_labels(const struct profile *p, label_set_id set,
                            label_id labels[LABELS_MAX])
{
    size_t count = 0;
    for (; set && count < LABELS_MAX; set = p->label_sets[set].parent) {
        size_t at = count++;
        for (; at && label_before(p, p->label_sets[set].label, labels[at - 1]); at--)
            labels[at] = labels[at - 1];
        labels[at] = p->label_sets[set].label;
    }
    return count;
}

static void put_label(struct output *o, const struct profile *p, label_id id)
{
    const struct sample_label *l = &p->labels[id];
    put_str(o, profile_string(p, l->key));
    proto_put_varint(o, l->is_number);
    if (l->is_number) {
        proto_put_varint(o, (uint64_t)l->number);
        put_str(o, profile_string(p, l->unit));
    } else {
        put_str(o, profile_string(p, l->text));
    }
}

static bool write_series(struct store_series_table *t, struct store_series *s)
{
    const struct profile *p = t->profile;
    const struct event *e = &p->events[s->event];
    label_id labels[LABELS_MAX];
    struct output o = OUTPUT_BUFFER;
    size_t count = sorted_labels(p, s->labels, labels);
    put_str(&o, profile_string(p, e->name));
    proto_put_varint(&o, e->unit);
    put_str(&o, profile_string(p, p->threads[s->thread].name));
    proto_put_varint(&o, count);
    for (size_t i = 0; i < count; i++)
        put_label(&o, p, labels[i]);
    s->bytes = arena_str(t->arena, output_contents(&o));
    bool ok = !o.failed && !t->arena->failed;
    output_deinit(&o);
    return ok;
}

struct lookup {
    const struct store_series *items, *key;
};

static bool same_series(const void *context, uint32_t id)
{
    const struct lookup *l = context;
    const struct store_series *s = &l->items[id], *key = l->key;
    return s->event == key->event && s->thread == key->thread && s->labels == key->labels;
}

struct store_series *store_series_find(struct store_series_table *t,
                                       const struct sample *s, label_set_id labels)
{
    struct store_series key = {.event = s->event, .thread = s->thread, .labels = labels};
    uint32_t hash = (uint32_t)hash_mix(hash_pair(s->event, s->thread), labels ^ HASH_C);
    if (!index_reserve(&t->index, t->arena, 1))
        return NULL;
    struct index_slot *slot =
        index_find(&t->index, hash, same_series, &(struct lookup){t->items, &key});
    if (slot->id)
        return &t->items[slot->id];
    struct store_series *added =
        ARRAY_APPEND_FROM_1(t->arena, t->items, t->count, t->cap);
    if (!added)
        return NULL;
    *added = key;
    index_fill(&t->index, slot, hash, (uint32_t)t->count);
    return write_series(t, added) ? added : NULL;
}

/* --- Reading ------------------------------------------------------------------------ */

static struct str take_str(struct bytes *b)
{
    return bytes_take(b, bytes_uleb(b));
}

static label_id take_label(struct bytes *b, struct builder *to)
{
    struct str key = take_str(b);
    if (bytes_uleb(b) == 0)
        return builder_label_text(to, key, take_str(b));
    int64_t number = (int64_t)bytes_uleb(b);
    return builder_label_number(to, key, number, take_str(b));
}

bool store_series_read(struct str data, struct builder *to, event_id *event,
                       thread_id *thread, label_set_id *labels, struct error *err)
{
    struct bytes b = bytes_of(data, false);
    label_id items[LABELS_MAX];
    struct str name = take_str(&b);
    uint64_t unit = bytes_uleb(&b);
    struct str comm = take_str(&b);
    uint64_t count = bytes_uleb(&b);
    if (b.failed || unit > UNIT_EVENTS || count > LABELS_MAX ||
        data.len > STORE_SERIES_BYTES_MAX)
        return error_set(err, "the labels of a series are damaged");
    for (uint64_t i = 0; i < count; i++)
        items[i] = take_label(&b, to);
    if (b.failed || bytes_left(&b))
        return error_set(err, "the labels of a series are damaged");
    /* views show the first event: CPU time, also if waits come first */
    if (str_equal(name, STR("off-cpu")))
        builder_event(to, STR("cpu-clock"), UNIT_NANOSECONDS);
    *event = builder_event(to, name, (enum unit)unit);
    *thread = builder_thread(to, ID_NONE, ID_NONE, comm);
    *labels = builder_label_set(to, items, (size_t)count);
    return !builder_failed(to) || error_memory(err);
}
