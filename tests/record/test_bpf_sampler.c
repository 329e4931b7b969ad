/* SPDX-License-Identifier: Apache-2.0 */
/* Samples made of stacks that the kernel counted: as many as were counted, between the first and
 * the last time, each in the kernel's own form. */
#include "record/bpf_sampler.h"
#include "unit.h"

struct heard {
    struct record_layout layout;
    size_t samples;
    uint64_t times[8], periods;
    struct record last;
    char bytes[PERF_RECORD_MAX];
};

static void hear(void *context, const struct record *r)
{
    struct heard *h = context;
    struct record again;
    assert_true(record_of(&h->layout, r->bytes, &again));
    assert_int_equal(again.time, r->time);
    assert_int_equal(r->type, PERF_SAMPLE);
    if (h->samples < 8)
        h->times[h->samples] = r->time;
    h->samples++;
    h->periods += record_u64(r->bytes, h->layout.period);
    h->last = *r;
    memcpy(h->bytes, r->bytes.ptr, r->bytes.len);
    h->last.bytes.ptr = h->bytes;
}

static void hear_round(void *context)
{
    (void)context;
}

static struct heard heard;
static struct bpf_sampler sampler;
static struct record_sink to = {&heard, hear, hear_round};

static void give(const struct stack_counts_key *key, const struct stack_count *count)
{
    heard = (struct heard){.layout = record_layout_of(false, PERF_SAMPLE_CALLCHAIN)};
    sampler.layout = sampler.maker.layout = &heard.layout;
    sampler.to = &to;
    bpf_sampler_give(&sampler, key, count);
}

static void test_counts(void **state)
{
    (void)state;
    struct stack_counts_key key = {7, 8, 1, 2, 1, {0x10, 0x20, 0xffffffff81000000}};
    give(&key, &(struct stack_count){4, 4000, 100, 400});
    assert_int_equal(heard.samples, 4);
    assert_int_equal(heard.periods, 4000);
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(heard.times[i], 100 * (i + 1));
    give(&key, &(struct stack_count){1, 1000, 100, 100});
    assert_int_equal(heard.samples, 1);
    assert_int_equal(heard.times[0], 100);
    give(&key, &(struct stack_count){0, 0, 0, 0});
    assert_int_equal(heard.samples, 0);
}

static void test_chain(void **state)
{
    (void)state;
    struct stack_counts_key key = {7, 8, 1, 2, 1, {0x10, 0x20, 0xffffffff81000000}};
    const uint64_t expected[] = {
        5, PERF_CONTEXT_KERNEL, 0xffffffff81000000, PERF_CONTEXT_USER, 0x10, 0x20};
    give(&key, &(struct stack_count){1, 1000, 100, 100});
    assert_int_equal(heard.last.misc, PERF_MODE_KERNEL);
    assert_int_equal(record_u64(heard.last.bytes, heard.layout.ip), expected[2]);
    assert_int_equal(record_pid(&heard.layout, &heard.last), 7);
    assert_int_equal(record_tid(&heard.layout, &heard.last), 8);
    assert_int_equal(record_u32(heard.last.bytes, heard.layout.cpu), 1);
    assert_int_equal(heard.last.bytes.len, heard.layout.fixed_size + sizeof expected);
    assert_memory_equal(heard.bytes + heard.layout.fixed_size, expected, sizeof expected);
}

static void test_only_user(void **state)
{
    (void)state;
    struct stack_counts_key key = {7, 8, 1, 2, 0, {0x10, 0x20}};
    const uint64_t expected[] = {3, PERF_CONTEXT_USER, 0x10, 0x20};
    give(&key, &(struct stack_count){1, 1000, 100, 100});
    assert_int_equal(heard.last.misc, PERF_MODE_USER);
    assert_int_equal(record_u64(heard.last.bytes, heard.layout.ip), 0x10);
    assert_memory_equal(heard.bytes + heard.layout.fixed_size, expected, sizeof expected);
}

/* The longest possible stack fits into a record. */
static void test_longest(void **state)
{
    (void)state;
    struct stack_counts_key key = {1,  1, 0, STACK_COUNTS_FRAMES, STACK_COUNTS_FRAMES,
                                   {0}};
    for (size_t i = 0; i < (size_t)2 * STACK_COUNTS_FRAMES; i++)
        key.frames[i] = i + 1;
    give(&key, &(struct stack_count){1, 1, 1, 1});
    assert_int_equal(record_u64(heard.last.bytes, heard.layout.fixed_size),
                     2 * STACK_COUNTS_FRAMES + 2);
    assert_int_equal(record_u64(heard.last.bytes, heard.last.bytes.len - 8),
                     STACK_COUNTS_FRAMES);
}

/* Requests that the kernel cannot fulfil are refused before the program is loaded. */
static void test_suits(void **state)
{
    (void)state;
    struct error err;
    struct perf_sampler_settings set = {.stacks = RECORD_STACKS_FP, .rate = 99};
    assert_true(record_events_parse("cpu-clock", &set.events, &err));
    assert_true(bpf_sampler_suits(&set, &err));
    set.stacks = RECORD_STACKS_DWARF;
    assert_false(bpf_sampler_suits(&set, &err));
    set.stacks = RECORD_STACKS_FP;
    set.events.items[0].precise = 1;
    assert_false(bpf_sampler_suits(&set, &err));
    set.events.items[0].precise = 0;
    assert_true(record_events_parse("page-faults", &set.events, &err));
    assert_false(bpf_sampler_suits(&set, &err));
}

int main(void)
{
    const struct CMUnitTest units[] = {UNIT(test_counts), UNIT(test_chain),
                                       UNIT(test_only_user), UNIT(test_longest),
                                       UNIT(test_suits)};
    return UNITS_RUN(units);
}
