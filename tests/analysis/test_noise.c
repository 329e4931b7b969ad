/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform/profiles.h"
#include "analysis/noise.h"
#include <math.h>

static uint64_t state_of_random;

static double random_part(void)
{
    state_of_random = state_of_random * 6364136223846793005U + 1442695040888963407U;
    return (double)(state_of_random >> 11) / 9007199254740992.0;
}

/* A program that is in one of two functions, samples 10 ms apart. `stay` is the mean
 * number of samples in a function before it is chosen again; `share` that of "hot". */
static struct profile *recording(unsigned samples, double stay, double share, bool timed)
{
    static const char *const stacks[] = {"main;cold", "main;hot;deep;hot"};
    struct builder b;
    struct error err;
    unsigned at = random_part() < share;
    assert_true(builder_init(&b, BUILD_KEEP));
    for (unsigned i = 0; i < samples; i++) {
        if (random_part() < 1 / stay)
            at = random_part() < share;
        add_row(&b, &(struct row){.stack = stacks[at],
                                  .weight = 1,
                                  .time = timed ? 1000 + i * (uint64_t)10000000 : 0});
    }
    struct profile *p = builder_finish(&b, &err);
    assert_non_null(p);
    builder_deinit(&b);
    return p;
}

static const struct label_style plain = {.plain = true};

/* Compares the function "hot", of which each side has that weight. */
static struct difference compare(const struct profile *before,
                                 const struct profile *after, struct noise sides[2])
{
    struct paths paths;
    struct error err;
    double parts[2] = {0, 0};
    const struct profile *profiles[2] = {before, after};
    assert_true(paths_init(&paths, after, &plain, &err));
    string_id hot = strings_find(&paths.labels, STR("hot"));
    assert_true(hot);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(noise_init(&sides[i], profiles[i], 1, false, &paths.labels, &err));
        for (size_t k = 0; k < profiles[i]->sample_count; k++) {
            const struct sample *s = &profiles[i]->samples[k];
            frame_id frame = profiles[i]->stacks[s->stack].frame;
            struct str name =
                profile_string(profiles[i], profiles[i]->frames[frame].name);
            parts[i] += str_equal(name, STR("hot")) ? s->weight : 0;
        }
    }
    struct difference d = noise_compare(&sides[0], &sides[1], hot, parts[0], parts[1]);
    sides[0].factor[0] = sides[0].factor[hot]; /* for the tests: label 0 is unused */
    paths_deinit(&paths);
    return d;
}

static void forget(struct noise sides[2])
{
    noise_deinit(&sides[0]);
    noise_deinit(&sides[1]);
}

/* Of pairs of equal programs, the number that differ at the level of 5%, and the mean
 * factor of the noise. */
static unsigned alarms(unsigned pairs, double stay, double *factor)
{
    unsigned found = 0;
    *factor = 0;
    for (unsigned i = 0; i < pairs; i++) {
        struct profile *before = recording(4000, stay, 0.3, true);
        struct profile *after = recording(4000, stay, 0.3, true);
        struct noise sides[2];
        struct difference d = compare(before, after, sides);
        assert_true(sides[0].timed && sides[1].timed);
        found += d.p < 0.05;
        assert_int_equal(d.p<0.05, d.low> 0 || d.high < 0);
        *factor += (double)sides[0].factor[0] / pairs;
        forget(sides);
        profile_destroy(before);
        profile_destroy(after);
    }
    return found;
}

/* The generator is seeded, so the numbers are the same on each run. */
static void equal_programs_seldom_differ(void **state)
{
    double factor;
    (void)state;
    state_of_random = 1;
    assert_in_range(alarms(200, 1, &factor), 0, 20);
    assert_true(factor > 1 && factor < 1.6);
    assert_in_range(alarms(200, 30, &factor), 0, 30);
    assert_true(factor > 25 && factor < 75); /* theory: (1+a)/(1-a) = 59, a = 1-1/30 */
}

static void a_large_change_is_found_whatever_the_rate(void **state)
{
    struct noise sides[2];
    (void)state;
    state_of_random = 2;
    struct profile *before = recording(6000, 3, 0.2, true);
    struct profile *after = recording(3000, 3, 0.4, true);
    struct difference d = compare(before, after, sides);
    assert_true(d.p < 1e-6 && !d.few);
    assert_true(fabs(d.before - 0.2) < 0.05 && fabs(d.after - 0.4) < 0.06);
    assert_true(d.low > 0 && d.low < d.after - d.before && d.high > d.after - d.before);
    forget(sides);
    profile_destroy(before);
    profile_destroy(after);
}

static void without_times_a_factor_is_assumed(void **state)
{
    struct noise sides[2];
    (void)state;
    state_of_random = 3;
    struct profile *before = recording(1000, 1, 0.3, false);
    struct profile *after = recording(1000, 1, 0.3, true);
    struct difference d = compare(before, after, sides);
    assert_false(sides[0].timed);
    assert_true(sides[1].timed);
    assert_true(sides[0].factor[0] == NOISE_ASSUMED);
    assert_true(d.low < 0 && d.high > 0);
    forget(sides);
    profile_destroy(before);
    profile_destroy(after);
}

/* The same program for twice as long: the share is the same, the weight is not. The interval has
 * the true value, and weights of equal recordings do not differ. */
static void weights_differ_where_shares_do_not(void **state)
{
    struct noise sides[2];
    (void)state;
    state_of_random = 4;
    struct profile *before = recording(3000, 2, 0.3, true);
    struct profile *after = recording(6000, 2, 0.3, true);
    struct difference d = compare(before, after, sides);
    assert_true(d.p > 0.01);
    string_id assumed = (string_id)sides[0].labels; /* not known: the assumed factor */
    d = noise_compare_weights(&sides[0], &sides[1], assumed, 900, 1800);
    assert_true(fabs(d.before - 0.15) < 1e-9 && fabs(d.after - 0.3) < 1e-9);
    assert_true(d.p < 1e-6 && d.low > 0 && d.low < 0.15 && d.high > 0.15);
    d = noise_compare_weights(&sides[0], &sides[0], assumed, 900, 930);
    assert_true(d.p > 0.05 && d.low < 0 && d.high > 0);
    forget(sides);
    profile_destroy(before);
    profile_destroy(after);
}

static void few_samples_and_nothing_at_all(void **state)
{
    static const struct row few[] = {{"a", 3, "", NULL, 1000},
                                     {"hot", 5, "", NULL, 2000}};
    static const struct row other[] = {{"cold", 9, "", NULL, 5}};
    struct profile *p = PROFILE(few), *q = PROFILE(other);
    struct noise sides[2], empty;
    struct error err;
    struct strings none = {0};
    (void)state;
    struct difference d = compare(q, p, sides);
    assert_true(d.few && d.before == 0 && d.after == 5.0 / 8 && d.p > 0 && d.p <= 1);
    assert_false(sides[0].timed || sides[1].timed);
    none.count = 1;
    assert_true(noise_init(&empty, p, 0, false, &none, &err));
    d = noise_compare(&empty, &empty, 7, 0, 0);
    assert_true(d.few && d.before == 0 && d.low <= 0 && d.high >= 0);
    noise_deinit(&empty);
    forget(sides);
    profile_destroy(p);
    profile_destroy(q);
}

/* In a heap recording, a sampled block counts for many allocations. */
static void allocations_are_estimates(void **state)
{
    struct builder b;
    struct error err;
    struct noise n;
    struct strings none = {.count = 1};
    (void)state;
    assert_true(builder_init(&b, BUILD_KEEP));
    event_id allocations = builder_event(&b, STR("allocations"), UNIT_COUNT);
    struct sample s = {.time = TIME_NONE,
                       .cpu = CPU_NONE,
                       .event = allocations,
                       .count = 10,
                       .weight = 5000};
    builder_add(&b, &s);
    s.event = builder_event(&b, STR("live"), UNIT_BYTES);
    builder_add(&b, &s);
    struct profile *p = builder_finish(&b, &err);
    assert_non_null(p);
    builder_deinit(&b);
    assert_true(noise_init(&n, p, allocations, false, &none, &err));
    assert_true(fabs(n.samples - 10) < 1e-9 && n.total == 5000);
    noise_deinit(&n);
    profile_destroy(p);
}

static void a_share_of_findings_may_be_false(void **state)
{
    double p[] = {0.9, 0.001, 0.012, 0.2, 0.04};
    double chance[] = {0.3, 0.2, 0.06};
    (void)state;
    assert_true(fabs(noise_limit(p, 5) - 0.02) < 1e-9); /* 0.04 > 3/5 of 0.05 */
    assert_true(fabs(noise_limit(chance, 3) - 0.05 / 3) < 1e-9);
    assert_true(noise_limit(NULL, 0) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_are_estimates),
        cmocka_unit_test(equal_programs_seldom_differ),
        cmocka_unit_test(a_large_change_is_found_whatever_the_rate),
        cmocka_unit_test(without_times_a_factor_is_assumed),
        cmocka_unit_test(weights_differ_where_shares_do_not),
        cmocka_unit_test(few_samples_and_nothing_at_all),
        cmocka_unit_test(a_share_of_findings_may_be_false),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
