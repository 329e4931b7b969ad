/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of profiles: what is stored is known, what failed is not, and what is being stored has
 * to come again. */
#include "daemon/intake.h"
#include "unit.h"

static void keys_of_requests(void **state)
{
    struct daemon_intake t = {.history = NULL};
    struct daemon_intake_claims a = {.intake = &t}, b = {.intake = &t};
    (void)state;
    assert_true(daemon_intake_init(&t));
    assert_int_equal(daemon_intake_claim(&a, 1), INGEST_NEW);
    assert_int_equal(daemon_intake_claim(&a, 1), INGEST_KNOWN); /* twice in one request */
    assert_int_equal(daemon_intake_claim(&b, 1), INGEST_BUSY);
    assert_int_equal(daemon_intake_claim(&b, 2), INGEST_NEW);
    daemon_intake_settle(&a, false);
    assert_int_equal(daemon_intake_claim(&b, 1), INGEST_NEW);
    daemon_intake_settle(&b, true);
    assert_int_equal(daemon_intake_claim(&a, 1), INGEST_KNOWN);
    assert_int_equal(daemon_intake_claim(&a, 2), INGEST_KNOWN);
    daemon_intake_settle(&a, false); /* what it did not claim stays */
    assert_int_equal(daemon_intake_claim(&a, 2), INGEST_KNOWN);
    daemon_intake_settle(&a, true);
    daemon_intake_deinit(&t);
}

/* The oldest keys are forgotten, the newest are not. */
static void many_keys(void **state)
{
    struct daemon_intake t = {.history = NULL};
    struct daemon_intake_claims c = {.intake = &t};
    const uint64_t count = 3 * DAEMON_INTAKE_KEYS;
    (void)state;
    assert_true(daemon_intake_init(&t));
    for (uint64_t key = 1; key <= count; key++) {
        assert_int_equal(daemon_intake_claim(&c, key), INGEST_NEW);
        daemon_intake_settle(&c, true);
    }
    for (uint64_t key = count; key > count - DAEMON_INTAKE_KEYS; key--)
        assert_int_equal(daemon_intake_claim(&c, key), INGEST_KNOWN);
    assert_int_equal(daemon_intake_claim(&c, 1), INGEST_NEW);
    daemon_intake_settle(&c, true);
    daemon_intake_deinit(&t);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {UNIT(keys_of_requests), UNIT(many_keys)};
    return UNITS_RUN(tests);
}
