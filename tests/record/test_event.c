/* SPDX-License-Identifier: Apache-2.0 */
/* Events in perf's notation. */
#include "perf/format.h"
#include "record/event.h"
#include "unit.h"
#include <unistd.h>

static struct record_events parsed(const char *text)
{
    struct record_events events = {.count = 0};
    struct error err = {.message = ""};
    if (!record_events_parse(text, &events, &err))
        fail_msg("'%s': %s", text, err.message);
    return events;
}

static void assert_refused(const char *text, const char *message, const char *hint)
{
    struct record_events events = {.count = 0};
    struct error err = {.message = ""};
    assert_false(record_events_parse(text, &events, &err));
    if (!strstr(err.message, message) || !strstr(err.hint, hint))
        fail_msg("'%s' message '%s', hint '%s'", text, err.message, err.hint);
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

static void test_refused(void **state)
{
    (void)state;
    assert_refused("cycle", "unknown event 'cycle'", "cycles");
    assert_refused("{cycles,cs", "no '}' after the group '{cycles,cs'",
                   "{EVENT,EVENT}:u");
    assert_refused("{cycles,cs}u", "no '}' after", "");
    assert_refused("{}", "no events in the group '{}'", "");
    assert_refused("{cs,{cycles,cs}}", "group in a group", "");
    assert_refused("{cycles,cs}:S", "first event only", "without the S");
    assert_refused("{cycles,cs}:x", "modifier", "u: in user code");
    assert_refused("{cycles,nosuch}", "unknown event 'nosuch'", "");
    assert_refused("cycles/period=x/", "invalid value of 'period': 'x'", "0x3c");
    assert_refused("cycles/umask=1/", "'umask'", "period=N");
    assert_refused("mem:here", "invalid memory event 'mem:here'", "rw");
    assert_refused("LLC-lods", "unknown event 'LLC-lods'", "LLC-loads");
    assert_refused("iTLB-stores", "unknown event 'iTLB-stores'", "");
    assert_refused("", "no event given", "");
    assert_refused(",", "unknown event ''", "");
    assert_refused("cycles:x", "modifier", "u: in user code");
    assert_refused("cycles:pppp", "modifier", "p: precise");
    char many[RECORD_EVENTS_MAX * 3 + 10] = "cs";
    for (size_t i = 0; i < RECORD_EVENTS_MAX; i++)
        strcat(many, ",cs");
    assert_refused(many, "more than", "");
}

static void test_groups(void **state)
{
    (void)state;
    struct record_events e = parsed("cs,{cycles:k,cs/period=7,name={x/}:uDW, mine{cs,"
                                    "mem:0x10/2:rw,cpu-clock},{page-faults},cs");
    assert_int_equal(e.count, 8);
    static const uint32_t groups[] = {0, 1, 1, 2, 2, 2, 0, 0};
    static const size_t leaders[] = {0, 1, 1, 3, 3, 3, 6, 7};
    for (size_t i = 0; i < e.count; i++) {
        assert_int_equal(e.items[i].group, groups[i]);
        assert_int_equal(record_events_leader(&e, i), leaders[i]);
    }
    assert_int_equal(e.group_count, 2);
    assert_string_equal(e.groups[0].name, "");
    assert_string_equal(e.groups[1].name, "mine");
    assert_true(e.groups[0].weak && !e.groups[1].weak);
    assert_int_equal(e.items[1].exclude, PERF_FLAG_EXCLUDE_HV); /* k, and the group's u */
    assert_int_equal(e.items[2].exclude, PERF_FLAG_EXCLUDE_KERNEL | PERF_FLAG_EXCLUDE_HV);
    assert_string_equal(e.items[2].name, "{x");
    assert_int_equal(e.items[2].period, 7);
    assert_string_equal(e.items[1].name, "cycles:kuD");
    assert_string_equal(parsed("{cs,cycles}:uW").items[0].name, "cs:u");
    assert_string_equal(parsed("{cs,cs/period=2/}:u").items[1].name, "cs/period=2/u");
    assert_int_equal(e.items[1].flags, PERF_FLAG_PINNED);
    assert_int_equal(e.items[2].flags, 0);
    assert_int_equal(e.items[4].type, PERF_TYPE_BREAKPOINT);
}

static void assert_cache(const char *name, unsigned cache, unsigned op, unsigned result)
{
    struct record_event e = parsed(name).items[0];
    assert_int_equal(e.type, PERF_TYPE_HW_CACHE);
    assert_int_equal(e.config, cache | op << 8 | result << 16);
}

static void test_caches_and_numbers(void **state)
{
    (void)state;
    assert_cache("L1-dcache-load-misses", 0, 0, 1);
    assert_cache("L1-dcache", 0, 0, 0);
    assert_cache("l1d-stores", 0, 1, 0);
    assert_cache("L1-icache-prefetch-misses", 1, 2, 1);
    assert_cache("LLC-loads", 2, 0, 0);
    assert_cache("llc-misses-store", 2, 1, 1);
    assert_cache("Data-TLB-speculative-read-refs", 3, 2, 0);
    assert_cache("iTLB-misses", 4, 0, 1);
    assert_cache("branch-load-misses:u", 5, 0, 1);
    assert_cache("node-prefetches", 6, 2, 0);
    struct record_event e = parsed("r1a8:k").items[0];
    assert_int_equal(e.type, PERF_TYPE_RAW);
    assert_int_equal(e.config, 0x1a8);
    assert_true(e.needs_kernel);
}

static void test_terms(void **state)
{
    (void)state;
    struct record_events e = parsed("cycles/period=1000,name=mine/pp,cs/freq=77/:u,"
                                    "cs/freq=9,period=0x10/,cs");
    assert_int_equal(e.count, 4);
    assert_string_equal(e.items[0].name, "mine");
    assert_int_equal(e.items[0].type, PERF_TYPE_HARDWARE);
    assert_int_equal(e.items[0].period, 1000);
    assert_int_equal(e.items[0].precise, 2);
    assert_int_equal(e.items[1].rate, 77);
    assert_int_equal(e.items[1].period, 0);
    assert_int_equal(e.items[1].exclude, PERF_FLAG_EXCLUDE_KERNEL | PERF_FLAG_EXCLUDE_HV);
    assert_int_equal(e.items[2].rate, 0);
    assert_int_equal(e.items[2].period, 16);
    record_events_pace(&e, 99, 0); /* none has a default of its kind */
    assert_int_equal(e.items[0].period, 1000);
    assert_int_equal(e.items[3].rate, 0);
}

static void test_units(void **state)
{
    (void)state;
    if (access("/sys/bus/event_source/devices/software/type", R_OK) != 0)
        skip();
    struct record_event e = parsed("software/config=0x3,config1=7,config2=8/k").items[0];
    assert_int_equal(e.type, PERF_TYPE_SOFTWARE);
    assert_int_equal(e.config, PERF_SOFTWARE_CONTEXT_SWITCHES);
    assert_int_equal(e.config1, 7);
    assert_int_equal(e.config2, 8);
    assert_true(e.needs_kernel);
    assert_refused("no-such-unit/event=1/", "no unit 'no-such-unit'", "it has ");
    assert_refused("software/no-such=1/", "has no 'no-such'", "");
    assert_refused("software/config=x/", "invalid value of 'config': 'x'", "");
    assert_refused("../x/config=1/", "no unit ", "");
    if (access("/sys/bus/event_source/devices/msr/events/tsc", R_OK) != 0)
        skip();
    assert_int_equal(parsed("msr/tsc/").items[0].config, 0);
    assert_int_equal(parsed("msr/event=0x3/").items[0].config, 3);
    assert_int_equal(parsed("tsc").items[0].type, parsed("msr/tsc/").items[0].type);
}

static void test_memory(void **state)
{
    (void)state;
    struct record_events e =
        parsed("mem:0x7f001000,mem:4096/8:w,mem:0x10/2:rw:u,mem:1:x");
    assert_int_equal(e.count, 4);
    assert_int_equal(e.items[0].type, PERF_TYPE_BREAKPOINT);
    assert_int_equal(e.items[0].config1, 0x7f001000);
    assert_int_equal(e.items[0].config2, 4);
    assert_int_equal(e.items[0].breakpoint, 3);
    assert_int_equal(e.items[1].config1, 4096);
    assert_int_equal(e.items[1].config2, 8);
    assert_int_equal(e.items[1].breakpoint, 2);
    assert_int_equal(e.items[2].exclude, PERF_FLAG_EXCLUDE_KERNEL | PERF_FLAG_EXCLUDE_HV);
    assert_int_equal(e.items[3].config2, sizeof(long));
    assert_int_equal(e.items[3].breakpoint, 4);
    assert_int_equal(e.items[3].period, 1);
    record_events_pace(&e, 99, 0);
    assert_int_equal(e.items[3].rate, 99);
    assert_int_equal(e.items[3].period, 0);
    record_events_pace(&e, 99, 5);
    assert_int_equal(e.items[3].period, 5);
}

static void test_guests_and_modifiers(void **state)
{
    (void)state;
    struct record_events e = parsed("cs:G,cs:H,cs:GH,cs:PIDe,cs:uk");
    assert_true(e.items[0].guests);
    assert_int_equal(e.items[0].exclude, PERF_FLAG_EXCLUDE_HOST);
    assert_false(e.items[1].guests);
    assert_int_equal(e.items[1].exclude, 0);
    assert_true(e.items[2].guests);
    assert_int_equal(e.items[2].exclude, 0);
    assert_true(e.items[3].most_precise);
    assert_int_equal(e.items[3].exclude, PERF_FLAG_EXCLUDE_IDLE);
    assert_int_equal(e.items[3].flags, PERF_FLAG_PINNED | PERF_FLAG_EXCLUSIVE);
    assert_int_equal(e.items[4].exclude, PERF_FLAG_EXCLUDE_HV);
}

/* The content, as perf reads it. */
static void test_formats(void **state)
{
    (void)state;
    static const char *const names[] = {"no:thing", "no:other", "no:thing", "two:thing"};
    struct output out = OUTPUT_BUFFER;
    record_tracepoint_formats(names, 4, &out);
    struct str text = output_contents(&out);
    assert_memory_equal(text.ptr, "\x17\x08\x44tracing0.6", 14);
    size_t at = str_search(text, STR("header_event"));
    assert_true(at < text.len);
    uint32_t word;
    uint64_t size;
    memcpy(&size, text.ptr + at + 13, sizeof size);
    at += 13 + 8 + (size_t)size;
    memcpy(&word, text.ptr + at + 4, sizeof word);
    assert_int_equal(word, 2); /* systems */
    assert_string_equal(text.ptr + at + 8, "no");
    memcpy(&word, text.ptr + at + 11, sizeof word);
    assert_int_equal(word, 2); /* formats, each once: empty */
    assert_string_equal(text.ptr + at + 15 + 16, "two");
    assert_int_equal(text.len, at + 15 + 16 + 4 + 4 + 8 + 16);
    output_deinit(&out);
}

static void test_user_code_only(void **state)
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
    e = parsed("cycles:p").items[0];
    record_event_only_kernel(&e);
    record_event_only_kernel(&e);
    assert_string_equal(e.name, "cycles:pk");
    assert_true(e.needs_kernel);
    assert_int_equal(e.exclude, PERF_FLAG_EXCLUDE_USER | PERF_FLAG_EXCLUDE_HV);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(test_every_name),    UNIT(test_lists_and_modifiers),
        UNIT(test_refused),       UNIT(test_caches_and_numbers),
        UNIT(test_terms),         UNIT(test_units),
        UNIT(test_memory),        UNIT(test_guests_and_modifiers),
        UNIT(test_groups),        UNIT(test_formats),
        UNIT(test_user_code_only)};
    return UNITS_RUN(units);
}
