/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes what agents push: names, forms, texts and trees of Pyroscope, push.v1 and OTLP. What is
 * accepted has its samples within its span, and series that a store can read again. */
#include "fuzz.h"
#include "ingest/multipart.h"
#include "ingest/otlp.h"
#include "ingest/push.h"
#include "ingest/pyroscope.h"
#include "store/series.h"

FUZZ_ONE_WAY("ingest")

#define NOW ((uint64_t)1790000000 * INGEST_SECOND)

static void check_series(const struct profile *p, struct store_series_table *t, size_t i)
{
    struct builder b;
    struct error err;
    event_id event;
    thread_id thread;
    label_set_id labels;
    struct store_series *s = store_series_find(t, &p->samples[i], profile_labels(p, i));
    if (!s || s->id || !builder_init(&b, BUILD_COUNT))
        return;
    s->id = 1;
    CHECK(store_series_read(s->bytes, &b, &event, &thread, &labels, &err));
    builder_deinit(&b);
}

static void check_result(struct ingest *in)
{
    struct error err;
    struct arena arena = ARENA_INIT;
    struct profile *p = builder_finish(&in->builder, &err);
    struct store_series_table t = {.profile = p, .arena = &arena};
    for (size_t i = 0; p && i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        CHECK(s->time >= in->start && s->time < in->end);
        CHECK(s->weight > 0 && s->weight < 1e300 && s->count > 0 && s->event > 0);
        check_series(p, &t, i);
    }
    CHECK(in->end - in->start <= INGEST_LENGTH + INGEST_SECOND);
    arena_deinit(&arena);
    profile_destroy(p);
}

/* Every third profile is known. */
static enum ingest_answer claim(void *context, uint64_t key)
{
    (void)context;
    return key % 3 ? INGEST_NEW : INGEST_KNOWN;
}

static void check(struct str body, const struct ingest_pyroscope_query *q,
                  bool (*read)(struct ingest *in, struct str body, struct error *err))
{
    struct ingest in = {.now = NOW, .oldest = 1, .claim = claim};
    struct error err = {.message = ""};
    bool ok = ingest_init(&in, &err);
    if (ok)
        ok = q ? ingest_pyroscope(&in, q, body, &err) : read(&in, body, &err);
    if (ok)
        check_result(&in);
    else
        CHECK(err.message[0] != '\0');
    ingest_deinit(&in);
}

static void check_parts(struct str body)
{
    struct multipart m;
    struct multipart_part part;
    struct error err;
    if (!multipart_init(&m, STR("multipart/form-data; boundary=\"b\""), body, &err))
        return;
    while (multipart_next(&m, &part, &err))
        CHECK(part.body.ptr >= body.ptr &&
              part.body.ptr + part.body.len <= body.ptr + body.len);
    CHECK(m.parts <= MULTIPART_PARTS_MAX + 1);
}

int fuzz_one(const uint8_t *data, size_t size)
{
    static const char *const formats[] = {"groups", "lines", "trie", "tree", "pprof"};
    struct str body = {(const char *)data, size};
    struct ingest_pyroscope_query q = {
        STR("app.cpu{a=b}"), STR(""), STR(""), STR(""), STR(""), STR(""), STR("")};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        q.format = str_of(formats[i]);
        check(body, &q, NULL);
    }
    q.content_type = STR("multipart/form-data; boundary=b");
    check(body, &q, NULL);
    q.format = STR("groups");
    q.name = str_head(body, 200);
    q.from = q.units = q.rate = str_head(body, 20);
    q.content_type = body;
    check(STR("a;b 1\n"), &q, NULL);
    check_parts(body);
    check(body, NULL, ingest_push);
    check(body, NULL, ingest_otlp);
    return 0;
}
