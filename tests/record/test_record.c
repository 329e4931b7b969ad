/* SPDX-License-Identifier: Apache-2.0 */
/* Making and reading records, and lists of CPUs. */
#include "os/machine.h"
#include "record/record.h"
#include "unit.h"

static void check_layout(bool several)
{
    struct record_layout l = record_layout_of(several, PERF_SAMPLE_CALLCHAIN);
    struct record_maker m = {.layout = &l};
    struct record r;
    assert_int_equal((l.sample_type & PERF_SAMPLE_IDENTIFIER) != 0, several);
    record_begin(&m, PERF_SAMPLE, PERF_MODE_USER);
    if (several)
        record_put_u64(&m, 77);
    record_put_u64(&m, 0x1234);
    record_put_u32(&m, 5);
    record_put_u32(&m, 6);
    record_put_u64(&m, 999);
    record_put_u64(&m, 1);
    record_put_u64(&m, 100);
    assert_int_equal(m.used, l.fixed_size);
    struct record made = record_end_bare(&m, 999);
    assert_true(record_of(&l, made.bytes, &r));
    assert_int_equal(r.type, PERF_SAMPLE);
    assert_int_equal(r.time, 999);
    assert_int_equal(record_pid(&l, &r), 5);
    assert_int_equal(record_tid(&l, &r), 6);
    assert_int_equal(record_u64(r.bytes, l.ip), 0x1234);
    assert_int_equal(record_u64(r.bytes, l.period), 100);
    for (size_t cut = 0; cut < made.bytes.len; cut++)
        assert_false(record_of(&l, str_head(made.bytes, cut), &r));

    made = record_make_name(&m, 5, 6, STR("seven77"), 12);
    assert_int_equal(made.bytes.len % 8, 0);
    assert_int_equal(made.bytes.len, 8 + 8 + 8 + l.trailer);
    assert_true(record_of(&l, made.bytes, &r));
    assert_int_equal(r.type, PERF_COMM);
    assert_int_equal(r.time, 12);
    assert_str(str_of(r.bytes.ptr + 16), "seven77");
    made = record_make_name(&m, 5, 6, STR("eighteen"), 12);
    assert_int_equal(made.bytes.len, 8 + 8 + 16 + l.trailer);
}

/* What the kernel adds after the trailer is not read. */
static void check_symbol(bool several, size_t name_length, size_t excess)
{
    struct record_layout l = record_layout_of(several, 0);
    struct record_maker m = {.layout = &l};
    struct record r;
    char name[512];
    memset(name, 'n', sizeof name);
    record_begin(&m, PERF_KSYMBOL, 0);
    record_put_u64(&m, 0xffffffff81000000);
    record_put_u32(&m, 64);
    record_put_u32(&m, 1);
    record_put_text(&m, (struct str){name, name_length});
    size_t length = record_end(&m, 5, 6, 999).bytes.len;
    memset(m.bytes + length, 0x5a, excess);
    struct str grown = {m.bytes, length + excess};
    assert_int_equal(record_length(&l, grown), length);
    assert_true(record_of(&l, str_head(grown, record_length(&l, grown)), &r));
    assert_int_equal(r.time, 999);
    for (size_t cut = 0; cut < length; cut++)
        assert_int_equal(record_length(&l, str_head(grown, cut)), cut);
}

static void test_symbol_sizes(void **state)
{
    (void)state;
    for (size_t name = 0; name < 20; name++)
        for (size_t excess = 0; excess < 100; excess += 8) {
            check_symbol(false, name, excess);
            check_symbol(true, name, excess);
        }
    check_symbol(true, 511, 320);
}

static void test_layouts(void **state)
{
    (void)state;
    check_layout(false);
    check_layout(true);
}

/* A record without a time is one of perf's own, or broken. */
static void test_invalid_records(void **state)
{
    struct record_layout l = record_layout_of(false, 0);
    struct record r;
    static const char round[8] = {PERF_FINISHED_ROUND, 0, 0, 0, 0, 0, 8, 0};
    static const char lost[8] = {PERF_LOST, 0, 0, 0, 0, 0, 8, 0};
    (void)state;
    assert_true(record_of(&l, (struct str){round, 8}, &r));
    assert_int_equal(r.time, 0);
    assert_false(record_of(&l, (struct str){lost, 8}, &r));
    assert_false(record_of(&l, STR(""), &r));
}

/* What does not fit is cut off. */
static void test_long_texts(void **state)
{
    static struct record_maker m;
    struct record_layout l = record_layout_of(false, 0);
    static char text[100000];
    (void)state;
    m.layout = &l;
    memset(text, 'x', sizeof text);
    struct record r = record_make_name(&m, 1, 2, (struct str){text, sizeof text}, 3);
    assert_true(r.bytes.len < 5000);
    assert_int_equal(r.bytes.len % 8, 0);
    record_begin(&m, PERF_SAMPLE, 0);
    record_put(&m, text, sizeof text);
    assert_int_equal(record_end_bare(&m, 0).bytes.len, PERF_RECORD_MAX);
}

static void test_cpu_lists(void **state)
{
    static uint32_t cpus[OS_CPUS_MAX];
    (void)state;
    assert_int_equal(os_cpu_list(STR("0-3,8\n"), cpus), 5);
    assert_int_equal(cpus[3], 3);
    assert_int_equal(cpus[4], 8);
    assert_int_equal(os_cpu_list(STR("7"), cpus), 1);
    assert_int_equal(os_cpu_list(STR(""), cpus), 0);
    assert_int_equal(os_cpu_list(STR("x,2,9-"), cpus), 2);
    assert_int_equal(os_cpu_list(STR("5-2"), cpus), 0);
    assert_int_equal(os_cpu_list(STR("0-4000000000"), cpus), OS_CPUS_MAX);
    assert_int_equal(os_cpu_list(STR("0-99999999999999999999"), NULL), 1);
    assert_true(os_cpus_online(NULL) >= 1);
    assert_true(os_cpus_possible() >= os_cpus_online(NULL));
}

int main(void)
{
    const struct CMUnitTest units[] = {UNIT(test_layouts), UNIT(test_symbol_sizes),
                                       UNIT(test_invalid_records), UNIT(test_long_texts),
                                       UNIT(test_cpu_lists)};
    return UNITS_RUN(units);
}
