/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform/profiles.h"
#include "analysis/fleet.h"
#include "model/sample_labels.h"
#include <math.h>

static uint64_t state_of_random = 7;

static double random_part(void)
{
    state_of_random = state_of_random * 6364136223846793005U + 1442695040888963407U;
    return (double)(state_of_random >> 11) / 9007199254740992.0;
}

/* A row "FUNCTION;FUNCTION;..." of a host and a version. */
static void add(struct builder *b, const char *stack, unsigned host, const char *version,
                double weight)
{
    char name[16];
    label_id labels[2];
    struct sample s = {.time = TIME_NONE, .cpu = CPU_NONE, .count = (uint64_t)weight};
    format_text(name, sizeof name, "h%u", host);
    labels[0] = builder_label_text(b, STR("host"), str_of(name));
    labels[1] = builder_label_text(b, STR("version"), str_of(version));
    for (struct str rest = str_of(stack); rest.len;)
        s.stack = builder_push(b, s.stack, builder_named_frame(b, str_cut(&rest, ';')));
    s.event = builder_event(b, STR("cpu"), UNIT_COUNT);
    s.weight = weight;
    builder_add_labelled(b, &s, builder_label_set(b, labels, version[0] ? 2 : 1));
}

static struct profile *finish(struct builder *b)
{
    struct error err;
    struct profile *p = builder_finish(b, &err);
    assert_non_null(p);
    builder_deinit(b);
    return p;
}

static uint32_t index_of(const struct fleet *f, const char *name)
{
    uint32_t index = f->function_of_name[strings_find(&f->p->strings, str_of(name))];
    assert_true(index);
    return index - 1;
}

static struct fleet asked(const struct profile *p, struct fleet_question q)
{
    struct fleet f;
    struct error err;
    q.event = 1;
    assert_true(fleet_init(&f, p, &q, &err));
    return f;
}

static void a_recursive_function_counts_once(void **state)
{
    struct builder b;
    (void)state;
    assert_true(builder_init(&b, BUILD_COUNT));
    add(&b, "main;f;g;f", 1, "", 30);
    add(&b, "main;g", 1, "", 10);
    add(&b, "main;f", 2, "", 60);
    struct profile *p = finish(&b);
    struct fleet f = asked(p, (struct fleet_question){.key = STR("host")});
    const struct fleet_function *of = &f.functions[index_of(&f, "f")];
    assert_int_equal(f.group_count, 2);
    assert_true(f.groups[0].weight == 60 && f.groups[1].weight == 40);
    assert_true(of->sides[0].total == 90 && of->sides[0].self == 90);
    assert_int_equal(of->groups, 2);
    assert_true(of->most == 0 && of->most_weight == 60);
    of = &f.functions[index_of(&f, "g")];
    assert_true(of->sides[0].total == 40 && of->sides[0].self == 10);
    assert_int_equal(of->groups, 1);

    bool chosen[8] = {false};
    double *self, *total;
    chosen[index_of(&f, "f")] = chosen[index_of(&f, "g")] = true;
    assert_true(fleet_by_group(&f, chosen, &self, &total));
    assert_true(self[0] == 60 && self[1] == 40 && total[0] == 60 && total[1] == 40);
    fleet_deinit(&f);
    profile_destroy(p);
}

static void distances_are_those_of_self_weights(void **state)
{
    struct builder b;
    (void)state;
    assert_true(builder_init(&b, BUILD_COUNT));
    add(&b, "main;f", 1, "", 50);
    add(&b, "main;g", 1, "", 50);
    add(&b, "main;f", 2, "", 100);
    struct profile *p = finish(&b);
    struct fleet f = asked(p, (struct fleet_question){.key = STR("host")});
    struct fleet_distance *d = fleet_distances(&f);
    assert_non_null(d);
    for (size_t i = 0; i < 2; i++)
        assert_true(fabs(d[i].distance - 0.25) < 1e-12);
    fleet_deinit(&f);
    profile_destroy(p);
}

/* Hosts of two releases. The share of "f" is 20% and differs between hosts by `spread`; in the
 * second release it is `change` more. */
static struct difference compare(unsigned hosts, double spread, double change)
{
    struct builder b;
    assert_true(builder_init(&b, BUILD_COUNT));
    for (unsigned host = 0; host < 2 * hosts; host++) {
        double share = 0.2 + spread * (random_part() - 0.5) + change * (host & 1);
        double weight = floor(1000 * share);
        add(&b, "main;f", host, host & 1 ? "new" : "old", weight);
        add(&b, "main;g", host, host & 1 ? "new" : "old", 1000 - weight);
    }
    struct profile *p = finish(&b);
    struct fleet_question q = {.key = STR("host"),
                               .side_keys = {STR("version"), STR("version")},
                               .side_values = {STR("old"), STR("n*w")}};
    struct fleet f = asked(p, q);
    struct difference d = fleet_compare(&f, &f.functions[index_of(&f, "f")]);
    fleet_deinit(&f);
    profile_destroy(p);
    return d;
}

/* Hosts with 20,000 samples in all seem to differ by far more than chance, if samples were
 * independent. */
static void equal_releases_are_rarely_findings(void **state)
{
    unsigned found = 0;
    (void)state;
    for (unsigned i = 0; i < 400; i++)
        found += compare(10, 0.3, 0).p < 0.05;
    assert_in_range(found, 4, 36); /* 20 are expected */
}

static void a_change_is_found(void **state)
{
    unsigned found = 0, covered = 0;
    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        struct difference d = compare(20, 0.1, 0.05);
        found += d.p < 0.05;
        covered += d.low < 0.05 && d.high > 0.05;
    }
    assert_in_range(found, 190, 200);
    assert_in_range(covered, 178, 200);
}

static void few_hosts_are_not_judged(void **state)
{
    (void)state;
    struct difference d = compare(2, 0, 0.5);
    assert_true(d.few && d.p == 1);
    assert_true(fabs(d.before - 0.2) < 1e-6 && fabs(d.after - 0.7) < 1e-6);
    assert_false(compare(3, 0, 0.5).few);
}

static void time_makes_groups(void **state)
{
    struct builder b;
    (void)state;
    assert_true(builder_init(&b, BUILD_KEEP));
    for (unsigned i = 0; i < 10; i++)
        add_row(&b, &(struct row){.stack = "f", .weight = 1 + i, .time = 100 + 25 * i});
    struct profile *p = finish(&b);
    struct fleet f = asked(p, (struct fleet_question){.step = 100});
    assert_int_equal(f.group_count, 3);
    assert_true(f.groups[0].time == 100 && f.groups[0].weight == 1 + 2 + 3 + 4);
    assert_true(f.groups[2].time == 300 && f.groups[2].weight == 9 + 10);
    fleet_deinit(&f);
    profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recursive_function_counts_once),
        cmocka_unit_test(distances_are_those_of_self_weights),
        cmocka_unit_test(equal_releases_are_rarely_findings),
        cmocka_unit_test(a_change_is_found),
        cmocka_unit_test(few_hosts_are_not_judged),
        cmocka_unit_test(time_makes_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
