/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/push.h"
#include "codec/protobuf.h"

#define ID_MAX 128

struct series {
    struct ingest_about about;
    uint64_t key; /* of its labels */
};

static bool damaged(const char *what, struct error *err)
{
    return error_set(err, "the push request is damaged: %s", what);
}

static bool read_label(struct series *s, struct proto_reader in, struct error *err)
{
    struct proto_field f;
    struct str name = STR(""), value = STR("");
    while (proto_next(&in, &f)) {
        if (f.number == 1 && f.wire == PROTO_BYTES)
            name = f.bytes;
        else if (f.number == 2 && f.wire == PROTO_BYTES)
            value = f.bytes;
    }
    s->key = hash_mix(s->key ^ hash_bytes(name.ptr, name.len) ^ HASH_A,
                      hash_bytes(value.ptr, value.len) ^ HASH_B);
    return in.failed ? damaged("a label", err)
                     : ingest_put_label(&s->about.labels, name, value, err);
}

static bool read_labels(struct series *s, struct proto_reader in, struct error *err)
{
    struct proto_field f;
    while (proto_next(&in, &f))
        if (f.number == 1 && f.wire == PROTO_BYTES &&
            !read_label(s, proto_inside(&in, &f), err))
            return false;
    if (in.failed)
        return damaged("a series", err);
    if (!ingest_label(&s->about.labels, STR("__name__")).len)
        return error_set(err, "a series has no label __name__");
    if (!ingest_label(&s->about.labels, STR("service_name")).len)
        return error_set(err, "a series has no label service_name");
    return true;
}

/* An ID alone does not make a profile the same: some agents have one for all. */
static uint64_t key_of(const struct series *s, struct str id, struct str profile)
{
    uint64_t key = hash_mix(s->key ^ hash_bytes(id.ptr, id.len), HASH_C);
    return hash_mix(key ^ hash_bytes(profile.ptr, profile.len), HASH_D);
}

static bool read_sample(struct ingest *in, const struct series *s,
                        struct proto_reader reader, struct error *err)
{
    struct proto_field f;
    struct str profile = STR(""), id = STR("");
    struct ingest_about about = s->about;
    bool is_new = true;
    while (proto_next(&reader, &f)) {
        if (f.number == 1 && f.wire == PROTO_BYTES)
            profile = f.bytes;
        else if (f.number == 2 && f.wire == PROTO_BYTES)
            id = f.bytes;
    }
    if (reader.failed)
        return damaged("a sample", err);
    if (profile.len == 0)
        return error_set(err, "a sample has no profile");
    if (id.len > ID_MAX)
        return error_set(err, "the ID of a sample has more than %d bytes", ID_MAX);
    if (id.len && !ingest_claim(in, key_of(s, id, profile), &is_new, err))
        return false;
    return !is_new || ingest_add_format(in, "pprof", profile, &about, err);
}

static bool read_series(struct ingest *in, struct proto_reader reader, struct error *err)
{
    struct series s = {.key = 0};
    struct proto_field f;
    if (!read_labels(&s, reader, err)) /* they may follow the samples */
        return false;
    while (proto_next(&reader, &f))
        if (f.number == 2 && f.wire == PROTO_BYTES &&
            !read_sample(in, &s, proto_inside(&reader, &f), err))
            return false;
    return true;
}

bool ingest_push(struct ingest *in, struct str body, struct error *err)
{
    struct str message;
    struct proto_field f;
    if (!ingest_unpack(in, body, &message, err))
        return false;
    struct proto_reader reader = proto_of(message);
    while (proto_next(&reader, &f))
        if (f.number == 1 && f.wire == PROTO_BYTES &&
            !read_series(in, proto_inside(&reader, &f), err))
            return false;
    return !reader.failed || damaged("its fields", err);
}
