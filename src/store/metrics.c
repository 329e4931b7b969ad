/* SPDX-License-Identifier: Apache-2.0 */
#include "store/metrics.h"
#include "base/array.h"
#include "base/bytes.h"
#include "codec/encode.h"
#include "codec/protobuf.h"
#include "codec/unpack.h"

#define VERSION 1
#define LEVEL 6 /* of zstd */

struct store_metric *store_metric_put(struct store_metric_block *b, struct arena *a,
                                      struct str name, struct str unit, size_t hint)
{
    if (hint < b->count && str_equal(b->items[hint].name, name))
        return &b->items[hint];
    for (size_t i = 0; i < b->count; i++)
        if (str_equal(b->items[i].name, name))
            return &b->items[i];
    struct store_metric *m =
        b->count < STORE_METRICS_MAX ? ARRAY_APPEND(a, b->items, b->count, b->cap) : NULL;
    if (!m)
        return NULL;
    m->name = arena_str(a, name);
    m->unit = arena_str(a, unit);
    for (size_t i = 0; i < STORE_BLOCK_VALUES; i++)
        m->values[i] = STORE_NO_VALUE;
    return a->failed ? NULL : m;
}

bool store_metrics_merge(struct store_metric_block *to,
                         const struct store_metric_block *from, struct arena *a)
{
    for (size_t i = 0; i < from->count; i++) {
        const struct store_metric *old = &from->items[i];
        struct store_metric *m = store_metric_put(to, a, old->name, old->unit, i);
        for (size_t k = 0; m && k < STORE_BLOCK_VALUES; k++)
            if (m->values[k] == STORE_NO_VALUE)
                m->values[k] = old->values[k];
    }
    return !a->failed;
}

/* --- Bytes -------------------------------------------------------------------------- */

static void put_str(struct output *o, struct str s)
{
    proto_put_varint(o, s.len);
    output_str(o, s);
}

/* 0: no value; else the difference from the last value, with the sign in the lowest bit,
 * plus 1. The largest difference has no such number: it is left out. */
static void put_values(struct output *o, const int64_t *values)
{
    uint64_t before = 0;
    for (size_t i = 0; i < STORE_BLOCK_VALUES; i++) {
        uint64_t change = (uint64_t)values[i] - before;
        uint64_t folded = change >> 63 ? ~(change << 1) : change << 1;
        bool none = values[i] == STORE_NO_VALUE || folded == UINT64_MAX;
        proto_put_varint(o, none ? 0 : folded + 1);
        if (!none)
            before = (uint64_t)values[i];
    }
}

/* No difference leads to the mark of no value. */
static bool take_values(struct bytes *b, int64_t *values)
{
    uint64_t before = 0;
    for (size_t i = 0; i < STORE_BLOCK_VALUES; i++) {
        uint64_t folded = bytes_uleb(b);
        values[i] = STORE_NO_VALUE;
        if (!folded)
            continue;
        folded--;
        before += folded & 1 ? ~(folded >> 1) : folded >> 1;
        values[i] = (int64_t)before;
        b->failed |= values[i] == STORE_NO_VALUE;
    }
    return !b->failed;
}

bool store_metrics_encode(const struct store_metric_block *b, struct output *out,
                          struct error *err)
{
    struct output columns = OUTPUT_BUFFER;
    proto_put_varint(&columns, b->count);
    for (size_t i = 0; i < b->count; i++) {
        put_str(&columns, b->items[i].name);
        put_str(&columns, b->items[i].unit);
    }
    for (size_t i = 0; i < b->count; i++)
        put_values(&columns, b->items[i].values);
    output_char(out, VERSION);
    bool ok = !columns.failed && packer_write(LEVEL, output_contents(&columns), out, err);
    output_deinit(&columns);
    return ok || error_memory(err);
}

static bool damaged(struct error *err)
{
    error_set(err, "metrics are damaged");
    return error_hint(err, "other spans may be intact");
}

bool store_metrics_decode(struct str bytes, struct arena *a, struct store_metric_block *b,
                          struct error *err)
{
    struct str plain;
    if (bytes.len == 0 || bytes.ptr[0] != VERSION) {
        error_set(err, "metrics are in an unknown format");
        return error_hint(err, "a newer stoke wrote this store");
    }
    if (!unpack(PACK_ZSTD, str_skip(bytes, 1), UNPACK_SIZE_UNKNOWN, NULL, a, &plain, err))
        return false;
    struct bytes in = bytes_of(plain, false);
    uint64_t count = bytes_uleb(&in);
    if (in.failed || count > STORE_METRICS_MAX || count > bytes_left(&in))
        return damaged(err);
    b->items = arena_zalloc(a, (size_t)count + 1, sizeof *b->items);
    b->count = b->cap = b->items ? (size_t)count : 0;
    for (size_t i = 0; i < b->count; i++) {
        b->items[i].name = bytes_take(&in, bytes_uleb(&in));
        b->items[i].unit = bytes_take(&in, bytes_uleb(&in));
    }
    for (size_t i = 0; i < b->count; i++)
        if (!take_values(&in, b->items[i].values))
            return damaged(err);
    if (a->failed)
        return error_memory(err);
    return !bytes_left(&in) || damaged(err);
}
