/* SPDX-License-Identifier: Apache-2.0 */
#include "os/parallel.h"
#include "unit.h"
#include <stdlib.h>

#define ERRANDS 500
#define HANDS 5

/* Adds up numbers: each hand its own sum, which only it may touch. */
struct addition {
    struct errand errand;
    uint64_t *sums; /* by hand */
    uint64_t number;
    unsigned hand, hands, times;
};

static void add(struct errand *e, unsigned hand)
{
    struct addition *a = (struct addition *)(void *)e;
    volatile uint64_t work = 0; /* long enough for others to come in between */
    for (unsigned i = 0; i < 200; i++)
        work = work + i;
    a->hand = hand;
    a->times++;
    if (hand < a->hands)
        a->sums[hand] += a->number;
}

static void run(unsigned hands, size_t window)
{
    struct os_crew *c = os_crew_create(hands);
    assert_non_null(c);
    struct crew crew = os_crew_seam(c);
    uint64_t sums[HANDS] = {0}, all = 0;
    struct addition *a = calloc(ERRANDS, sizeof *a);
    assert_non_null(a);
    assert_int_equal(crew.hands, hands);
    for (size_t i = 0; i < ERRANDS + window; i++) {
        if (i < ERRANDS) {
            a[i] = (struct addition){{.work = add, .can_wait = i % 7 == 0},
                                     .sums = sums,
                                     .number = i,
                                     .hands = hands};
            crew_start(&crew, &a[i].errand);
        }
        if (i >= window) /* in the order of their start */
            crew_finish(&crew, &a[i - window].errand);
    }
    for (size_t i = 0; i < ERRANDS; i++) {
        assert_int_equal(a[i].times, 1);
        assert_true(a[i].hand < hands);
        assert_int_equal(a[i].errand.state, ERRAND_IDLE);
    }
    for (size_t i = 0; i < HANDS; i++)
        all += sums[i];
    assert_int_equal(all, ERRANDS * (ERRANDS - 1) / 2);
    free(a);
    os_crew_destroy(c);
}

static void test_each_errand_is_done_once(void **state)
{
    (void)state;
    for (unsigned hands = 1; hands <= HANDS; hands++)
        for (size_t window = 0; window <= 64; window = window * 4 + 1)
            run(hands, window);
}

static void test_newest_first(void **state)
{
    struct os_crew *c = os_crew_create(3);
    struct crew crew = os_crew_seam(c);
    struct addition a[40];
    uint64_t sums[3] = {0};
    (void)state;
    for (unsigned i = 0; i < 40; i++) {
        a[i] = (struct addition){{.work = add}, .sums = sums, .number = 1, .hands = 3};
        crew_start(&crew, &a[i].errand);
    }
    for (unsigned i = 40; i-- > 0;)
        crew_finish(&crew, &a[i].errand);
    assert_int_equal(sums[0] + sums[1] + sums[2], 40);
    os_crew_destroy(c);
}

/* One hand does nothing before it is asked for. */
static void test_alone(void **state)
{
    struct os_crew *c = os_crew_create(1);
    struct crew crew = os_crew_seam(c);
    uint64_t sum = 0;
    struct addition a = {{.work = add}, .sums = &sum, .number = 1, .hands = 1};
    (void)state;
    crew_start(&crew, &a.errand);
    assert_int_equal(sum, 0);
    crew_finish(&crew, &a.errand);
    assert_int_equal(sum, 1);
    crew_start(NULL, &a.errand);
    crew_finish(NULL, &a.errand);
    assert_int_equal(sum, 2);
    assert_int_equal(crew_hands(NULL), 1);
    os_crew_destroy(c);
    os_crew_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(test_each_errand_is_done_once),
        UNIT(test_newest_first),
        UNIT(test_alone),
    };
    return UNITS_RUN(units);
}
