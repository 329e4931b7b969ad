/* Events by the names that perf gives them. */
#include "base/perf_format.h"
#include "record/event.h"
#include "unit.h"

static struct record_events parsed(const char *text)
{
    struct record_events events = {.count = 0};
    struct error err = {.message = ""};
    if (!record_events_parse(text, &events, &err))
        fail_msg("'%s': %s", text, err.message);
    return events;
}

static void assert_refused(const char *text, const char *said, const char *hint)
{
    struct record_events events = {.count = 0};
    struct error err = {.message = ""};
    assert_false(record_events_parse(text, &events, &err));
    if (!strstr(err.message, said) || !strstr(err.hint, hint))
        fail_msg("'%s' said '%s', try '%s'", text, err.message, err.hint);
}

static void test_every_name(void **state)
{
    (void)state;
    for (size_t i = 0; record_event_name(i); i++)
        for (struct str names = str_of(record_event_name(i)); names.len;) {
            char name[64];
            struct str one = str_cut(&names, ',');
            snprintf(name, sizeof name, "%.*s", STR_ARG(one));
            struct record_events e = parsed(name);
            assert_int_equal(e.count, 1);
            assert_string_equal(e.items[0].name, name);
            assert_int_equal(e.items[0].exclude, 0);
        }
    assert_int_equal(parsed("cycles").items[0].type, PERF_TYPE_HARDWARE);
    assert_int_equal(parsed("cs").items[0].config, PERF_SOFTWARE_CONTEXT_SWITCHES);
    assert_int_equal(parsed("cpu-clock").items[0].type, PERF_TYPE_SOFTWARE);
}

static void test_lists_and_modifiers(void **state)
{
    (void)state;
    struct record_events e = parsed("cycles:pp, page-faults,cpu-clock:u,cs:k");
    assert_int_equal(e.count, 4);
    assert_int_equal(e.items[0].precise, 2);
    assert_int_equal(e.items[0].exclude, 0);
    assert_int_equal(e.items[2].exclude, PERF_FLAG_EXCLUDE_KERNEL | PERF_FLAG_EXCLUDE_HV);
    assert_int_equal(e.items[3].exclude, PERF_FLAG_EXCLUDE_USER | PERF_FLAG_EXCLUDE_HV);
    assert_string_equal(e.items[2].name, "cpu-clock:u");
}

static void test_what_is_refused(void **state)
{
    (void)state;
    assert_refused("cycle", "no event 'cycle'", "cycles");
    assert_refused("", "no event is named", "");
    assert_refused(",", "no event ''", "");
    assert_refused("cycles:x", "modifier", "u: in user code");
    assert_refused("cycles:pppp", "modifier", "p: precisely");
    char many[RECORD_EVENTS_MAX * 3 + 10] = "cs";
    for (size_t i = 0; i < RECORD_EVENTS_MAX; i++)
        strcat(many, ",cs");
    assert_refused(many, "more than", "");
}

static void test_user_code_alone(void **state)
{
    (void)state;
    struct record_event e = record_event_clock();
    record_event_only_user(&e);
    assert_string_equal(e.name, "cpu-clock:u");
    assert_int_equal(e.exclude, PERF_FLAG_EXCLUDE_KERNEL | PERF_FLAG_EXCLUDE_HV);
    record_event_only_user(&e);
    assert_string_equal(e.name, "cpu-clock:u");
    e = parsed("cycles:p").items[0];
    record_event_only_user(&e);
    assert_string_equal(e.name, "cycles:pu");
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(test_every_name), UNIT(test_lists_and_modifiers), UNIT(test_what_is_refused),
        UNIT(test_user_code_alone)};
    return UNITS_RUN(units);
}
