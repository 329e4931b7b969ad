/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes transforms and tables: eight bytes select the verbs, the rest is read as
 * folded lines. The result must be valid, have the same weight (less after filtering),
 * and be printed without bytes that a terminal interprets. */
#include "base/hash.h"
#include "export/table.h"
#include "fuzz.h"
#include "import/importer.h"
#include "sound.h"
#include "transform/transform.h"
#include <math.h>

static const char *const patterns[] = {"a",        "^m.*n$", "(?i)[A-F]",
                                       "_\\[k\\]", "\\d",    "b|x"};

static void add_word(struct transform_words *words, uint64_t *bits)
{
    if (*bits & 1)
        words->items[words->count++] = patterns[(*bits >> 1) % 6];
    *bits = hash_mix(*bits ^ HASH_A, HASH_B);
}

/* Verbs that drop no sample. */
static struct transform_options shaping(uint64_t bits)
{
    struct transform_options o = {
        .strip = {bits >> 1 & 1, bits >> 2 & 1, bits >> 3 & 1, bits >> 4 & 1},
        .collapse = (enum collapse)((bits >> 5 & 3) % 3),
        .split = (enum split)((bits >> 7 & 3) % 3),
        .group = bits >> 9 & 1 ? GROUP_COMM : GROUP_FUNCTION,
        .thread_frames = bits >> 10 & 1,
        .threads = (enum thread_style)(bits >> 11 & 3),
        .reverse = bits >> 13 & 1,
    };
    return o;
}

static struct transform_options filtering(uint64_t bits)
{
    struct transform_options o = {0};
    add_word(&o.focus, &bits);
    add_word(&o.focus, &bits);
    add_word(&o.ignore, &bits);
    add_word(&o.base, &bits);
    add_word(&o.hide, &bits);
    add_word(&o.show, &bits);
    add_word(&o.show_from, &bits);
    add_word(&o.filter.drop_comms, &bits);
    return o;
}

static double weight_of(const struct profile *p)
{
    double sum = 0;
    for (size_t i = 0; i < p->sample_count; i++)
        sum += fabs(p->samples[i].weight);
    return sum;
}

static struct profile *apply(const struct transform_options *o, struct profile *p)
{
    struct error err = {.message = ""};
    const struct transform *emptied;
    p = transform_apply(o, p, &emptied, &err);
    CHECK(p);
    sound_profile(p);
    CHECK(!emptied || p->sample_count == 0);
    return p;
}

static void check_tables(const struct profile *p, uint64_t bits)
{
    struct table_options table = {.form = (enum table_form)((bits & 3) % 3),
                                  .tree = bits >> 2 & 1,
                                  .sort = (enum table_sort)((bits >> 3 & 7) % 5),
                                  .limit = bits >> 6 & 15,
                                  .depth = bits >> 10 & 7,
                                  .percent_limit = (double)(bits >> 13 & 31),
                                  .width = bits >> 18 & 127};
    struct export_options options = {.table = &table};
    struct output out = OUTPUT_BUFFER;
    struct error err;
    CHECK(exporter_named(STR("table"))->write(p, &options, &out, &err));
    for (size_t i = 0; i < out.used; i++)
        CHECK(out.bytes[i] == '\n' || (unsigned char)out.bytes[i] >= ' ');
    output_deinit(&out);
}

static struct profile *read_lines(struct str lines, bool keep)
{
    static const struct import_options none;
    struct source in = source_of(lines, STR("fuzz"));
    struct builder b;
    struct error err;
    CHECK(builder_init(&b, keep ? BUILD_KEEP : BUILD_COUNT));
    bool ok = import_read(importer_named(STR("folded")), &in, &none, &b, &err);
    struct profile *p = ok ? builder_finish(&b, &err) : NULL;
    builder_deinit(&b);
    return p;
}

FUZZ_ONE_WAY("transform")

int fuzz_one(const uint8_t *data, size_t size)
{
    if (size < 8)
        return 0;
    uint64_t bits = hash_read64(data);
    struct transform_options shape = shaping(bits), filter = filtering(bits >> 16);
    struct profile *p =
        read_lines((struct str){(const char *)data + 8, size - 8}, bits & 1);
    if (!p)
        return 0;
    double before = weight_of(p);
    p = apply(&shape, p);
    CHECK(fabs(weight_of(p) - before) <= before * 1e-9);
    CHECK(!p->facts.filtered);
    p = apply(&filter, p);
    CHECK(weight_of(p) <= before * (1 + 1e-9));
    CHECK(p->facts.filtered || weight_of(p) >= before * (1 - 1e-9));
    check_tables(p, bits >> 24);
    profile_destroy(p);
    return 0;
}
