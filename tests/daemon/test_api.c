/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/api.h"
#include "unit.h"

#define NOW 1800000000000000000ULL
#define SECOND 1000000000ULL

static void times_of_requests(void **state)
{
    static const struct {
        const char *text;
        uint64_t time;
    } times[] = {
        {"now", NOW},
        {"now-5m", NOW - 300 * SECOND},
        {"-90s", NOW - 90 * SECOND},
        {"-2h", NOW - 7200 * SECOND},
        {"-1d", NOW - 86400 * SECOND},
        {"1790000000", 1790000000 * SECOND},
        {"1790000000123", 1790000000123000000},
        {"1790000000123456", 1790000000123456000},
        {"1790000000123456789", 1790000000123456789},
        {"0", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        uint64_t time = 1;
        assert_true(daemon_api_time(str_of(times[i].text), NOW, &time));
        assert_true(time == times[i].time);
    }
}

static void times_that_are_refused(void **state)
{
    static const char *const texts[] = {"-",
                                        "5m",
                                        "-5",
                                        "-m",
                                        "-5y",
                                        "now+5m",
                                        "nowx",
                                        "-1.5h",
                                        "- 5m",
                                        "x",
                                        "-99999999999999999999s",
                                        "99999999999999999999"};
    uint64_t time;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (daemon_api_time(str_of(texts[i]), NOW, &time))
            fail_msg("'%s' is accepted", texts[i]);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {UNIT(times_of_requests),
                                              UNIT(times_that_are_refused)};
    return UNITS_RUN(tests);
}
