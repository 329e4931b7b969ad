/* SPDX-License-Identifier: Apache-2.0 */
/* Labels in the model: one id for equal sets, whatever the order; preserved by merge, copy and
 * every transform; nothing in a profile without labels. */
#include "export/exporter.h"
#include "model/sample_labels.h"
#include "transform/transform.h"
#include "unit.h"

static label_set_id set_of(struct builder *b, const char *const *pairs, size_t count)
{
    label_id labels[8];
    for (size_t i = 0; i < count; i++)
        labels[i] = builder_label_text(b, str_of(pairs[2 * i]), str_of(pairs[2 * i + 1]));
    return builder_label_set(b, labels, count);
}

/* A sample of `stack`, frames divided by ';', on host `host` (NULL: without labels). */
static void add(struct builder *b, const char *stack, const char *host, int64_t bytes,
                double weight)
{
    struct sample s = {.time = TIME_NONE, .cpu = CPU_NONE, .count = 1, .weight = weight};
    s.event = builder_event(b, STR("samples"), UNIT_COUNT);
    s.thread = builder_thread(b, 1, 2, STR("java"));
    for (struct str rest = str_of(stack); rest.len;)
        s.stack = builder_push(b, s.stack, builder_named_frame(b, str_cut(&rest, ';')));
    label_id labels[2];
    if (host) {
        labels[0] = builder_label_text(b, STR("host"), str_of(host));
        labels[1] = builder_label_number(b, STR("size"), bytes, STR("bytes"));
    }
    builder_add_labelled(b, &s, host ? builder_label_set(b, labels, 2) : 0);
}

static struct profile *finished(struct builder *b)
{
    struct error err = {.message = ""};
    struct profile *p = builder_finish(b, &err);
    if (!p)
        fail_msg("%s", err.message);
    builder_deinit(b);
    return p;
}

static struct profile *two_hosts(enum build_mode mode)
{
    struct builder b;
    assert_true(builder_init(&b, mode));
    add(&b, "main;f", NULL, 0, 1);
    add(&b, "main;f", "web-1", 64, 2);
    add(&b, "main;f", "web-2", 64, 4);
    add(&b, "main;f", "web-1", 64, 8);
    add(&b, "main;g", "web-2", 128, 16);
    add(&b, "main;f", NULL, 0, 32);
    return finished(&b);
}

/* "host=web-1,size=64 bytes:10 ..." in the order of the rows. */
static void assert_rows(const struct profile *p, const char *expected)
{
    struct output o = OUTPUT_BUFFER;
    for (size_t i = 0; i < p->sample_count; i++) {
        label_id labels[LABELS_MAX];
        size_t count = 0;
        for (label_set_id s = profile_labels(p, i); s; s = p->label_sets[s].parent)
            labels[count++] = p->label_sets[s].label;
        output_text(&o, i ? " " : "");
        if (count == 2 && str_compare(sample_label_key(p, labels[0]),
                                      sample_label_key(p, labels[1])) < 0) {
            label_id first = labels[0];
            labels[0] = labels[1];
            labels[1] = first;
        }
        while (count-- > 0) {
            output_str(&o, sample_label_key(p, labels[count]));
            output_char(&o, '=');
            sample_label_write(&o, p, labels[count]);
            output_text(&o, count ? "," : "");
        }
        output_format(&o, ":%g", p->samples[i].weight);
    }
    assert_str(output_contents(&o), expected);
    output_deinit(&o);
}

static void equal_sets_have_one_id(void **state)
{
    static const char *const ab[] = {"a", "1", "b", "2", "a", "0"};
    static const char *const ba[] = {"b", "2", "a", "0", "a", "1"};
    static const char *const twice[] = {"a", "1", "a", "1"};
    struct builder b;
    (void)state;
    assert_true(builder_init(&b, BUILD_COUNT));
    label_set_id first = set_of(&b, ab, 3);
    assert_int_equal(set_of(&b, ba, 3), first);
    assert_int_not_equal(set_of(&b, ab, 2), first);
    assert_int_not_equal(set_of(&b, twice, 2), set_of(&b, twice, 1));
    assert_int_equal(set_of(&b, NULL, 0), 0);
    label_id number = builder_label_number(&b, STR("a"), 1, STR(""));
    assert_int_not_equal(number, builder_label_text(&b, STR("a"), STR("1")));
    assert_int_not_equal(number, builder_label_number(&b, STR("a"), 1, STR("s")));
    assert_int_equal(number, builder_label_number(&b, STR("a"), 1, STR("")));
    builder_deinit(&b);
}

static void a_profile_without_labels_has_no_tables(void **state)
{
    struct builder b;
    (void)state;
    assert_true(builder_init(&b, BUILD_COUNT));
    add(&b, "main;f", NULL, 0, 1);
    struct profile *p = finished(&b);
    assert_null(p->labels);
    assert_null(p->label_sets);
    assert_null(p->sample_labels);
    assert_int_equal(p->label_count + p->label_set_count, 0);
    assert_int_equal(profile_labels(p, 0), 0);
    profile_destroy(p);
}

static void samples_are_counted_by_their_labels(void **state)
{
    (void)state;
    struct profile *p = two_hosts(BUILD_COUNT);
    assert_rows(p, ":33 host=web-1,size=64 bytes:10 host=web-2,size=64 bytes:4 "
                   "host=web-2,size=128 bytes:16");
    assert_int_equal(p->label_count, 5); /* two hosts, two sizes, no label */
    struct profile *copy = profile_copy(p);
    assert_rows(copy, ":33 host=web-1,size=64 bytes:10 host=web-2,size=64 bytes:4 "
                      "host=web-2,size=128 bytes:16");
    profile_destroy(copy);
    profile_destroy(p);
}

static void merge_keeps_labels(void **state)
{
    struct builder b;
    (void)state;
    assert_true(builder_init(&b, BUILD_COUNT));
    add(&b, "x", "web-2", 64, 1);
    struct profile *p = two_hosts(BUILD_KEEP);
    builder_merge(&b, p);
    builder_merge(&b, p);
    profile_destroy(p);
    p = finished(&b);
    assert_rows(p, "host=web-2,size=64 bytes:1 :66 host=web-1,size=64 bytes:20 "
                   "host=web-2,size=64 bytes:8 host=web-2,size=128 bytes:32");
    assert_int_equal(p->label_count, 5);
    profile_destroy(p);
}

static struct profile *transformed(const struct transform_options *o)
{
    struct error err = {.message = ""};
    const struct transform *emptied;
    struct profile *p = transform_apply(o, two_hosts(BUILD_COUNT), &emptied, &err);
    if (!p)
        fail_msg("%s", err.message);
    return p;
}

static void assert_transformed(const struct transform_options *o, const char *expected)
{
    struct profile *p = transformed(o);
    assert_rows(p, expected);
    profile_destroy(p);
}

static void transforms_keep_labels(void **state)
{
    static const char all[] =
        ":33 host=web-1,size=64 bytes:10 host=web-2,size=64 bytes:4 "
        "host=web-2,size=128 bytes:16";
    static const struct transform_options options[] = {
        {.strip = {true, true, true, true}},
        {.focus = {{"main"}, 1}},
        {.hide = {{"nothing"}, 1}},
        {.show_from = {{"main"}, 1}},
        {.base = {{"main"}, 1}},
        {.split = SPLIT_EACH},
        {.split = SPLIT_LEAF},
        {.collapse = COLLAPSE_CYCLES},
        {.thread_frames = true},
        {.reverse = true},
        {.scale = 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        assert_transformed(&options[i], all);
    struct transform_options comm = {.group = GROUP_COMM};
    assert_transformed(&comm, all);
}

static void samples_are_filtered_by_labels(void **state)
{
    struct transform_options one = {.filter = {.labels = {{"host=web-1"}, 1}}};
    struct transform_options any = {.filter = {.labels = {{"host=web-*", "size=64"}, 2}}};
    struct transform_options either = {
        .filter = {.labels = {{"host=web-1", "host=web-2"}, 2}}};
    struct transform_options unit = {.filter = {.labels = {{"size=128 bytes"}, 1}}};
    struct transform_options key = {.filter = {.drop_labels = {{"host"}, 1}}};
    (void)state;
    assert_transformed(&one, "host=web-1,size=64 bytes:10");
    assert_transformed(&any, "host=web-1,size=64 bytes:10 host=web-2,size=64 bytes:4");
    assert_transformed(&either, "host=web-1,size=64 bytes:10 host=web-2,size=64 bytes:4 "
                                "host=web-2,size=128 bytes:16");
    assert_transformed(&unit, "host=web-2,size=128 bytes:16");
    assert_transformed(&key, ":33");
    struct profile *p = transformed(&one); /* removed labels leave no data */
    assert_int_equal(p->label_count, 3);
    profile_destroy(p);
}

static void a_key_that_is_not_there_is_an_error(void **state)
{
    struct transform_options o = {.filter = {.labels = {{"hosts=web-1"}, 1}}};
    struct error err = {.message = ""};
    const struct transform *emptied;
    (void)state;
    assert_null(transform_apply(&o, two_hosts(BUILD_COUNT), &emptied, &err));
    assert_str(str_of(err.message), "the input has no label 'hosts'");
    assert_non_null(strstr(err.hint, "did you mean host?"));
    assert_non_null(strstr(err.hint, "size"));
}

static void assert_folded(const struct transform_options *o, const char *expected)
{
    struct output out = OUTPUT_BUFFER;
    struct export_options options = {.tree = {.threads = THREAD_NONE}};
    struct error err;
    struct profile *p = transformed(o);
    assert_true(exporter_named(STR("folded"))->write(p, &options, &out, &err));
    assert_str(output_contents(&out), expected);
    output_deinit(&out);
    profile_destroy(p);
}

static void a_label_stands_for_the_stack(void **state)
{
    struct transform_options host = {.group = GROUP_LABEL, .group_label = "host"};
    struct transform_options size = {.group = GROUP_LABEL, .group_label = "size"};
    (void)state;
    assert_folded(&host, "[no host] 33\nweb-1 10\nweb-2 20\n");
    assert_folded(&size, "128 bytes 16\n64 bytes 14\n[no size] 33\n");
}

static void labels_above_the_limit_are_counted(void **state)
{
    static label_id labels[LABELS_MAX + 5];
    struct builder b;
    (void)state;
    assert_true(builder_init(&b, BUILD_COUNT));
    for (size_t i = 0; i < LABELS_MAX + 5; i++)
        labels[i] = builder_label_number(&b, STR("n"), (int64_t)i, STR(""));
    assert_int_not_equal(builder_label_set(&b, labels, LABELS_MAX + 5), 0);
    assert_int_equal(b.profile->label_set_count, LABELS_MAX + 1);
    assert_int_equal(b.profile->facts.warnings[0].count, 5);
    builder_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(equal_sets_have_one_id),
        UNIT(a_profile_without_labels_has_no_tables),
        UNIT(samples_are_counted_by_their_labels),
        UNIT(merge_keeps_labels),
        UNIT(transforms_keep_labels),
        UNIT(samples_are_filtered_by_labels),
        UNIT(a_key_that_is_not_there_is_an_error),
        UNIT(a_label_stands_for_the_stack),
        UNIT(labels_above_the_limit_are_counted),
    };
    return UNITS_RUN(units);
}
