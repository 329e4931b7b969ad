/* SPDX-License-Identifier: Apache-2.0 */
/* Stack dumps to chains, from made-up records and from this program; memory stays bounded. */
#include "os/proc.h"
#include "record/unwinder.h"
#include "unit.h"
#include <unistd.h>

#if defined(__x86_64__)
#define REGISTERS ((uint64_t)0xff0fff)
#else
#define REGISTERS ((uint64_t)0)
#endif

struct heard {
    struct record_layout layout;
    size_t samples, others;
    uint64_t chain[2000];
    size_t count;
};

static void hear(void *context, const struct record *r)
{
    struct heard *h = context;
    if (r->type != PERF_SAMPLE) {
        h->others++;
        return;
    }
    h->samples++;
    h->count = (size_t)record_u64(r->bytes, h->layout.fixed_size);
    assert_true(h->count <= 2000);
    assert_int_equal(r->bytes.len, h->layout.fixed_size + 8 + h->count * 8);
    memcpy(h->chain, r->bytes.ptr + h->layout.fixed_size + 8, h->count * 8);
}

static void hear_round(void *context)
{
    (void)context;
}

static struct heard heard;
static struct record_unwinder unwinder;
static struct record_maker maker;
static const struct resolve_settings settings = {.find.only_mapped = true};

static void set_up(void)
{
    struct error err;
    heard = (struct heard){.layout = record_layout_of(false, PERF_SAMPLE_CALLCHAIN |
                                                                 PERF_SAMPLE_REGS_USER |
                                                                 PERF_SAMPLE_STACK_USER)};
    maker.layout = &heard.layout;
    assert_true(record_unwinder_init(&unwinder, &heard.layout, REGISTERS, &settings,
                                     (struct record_sink){&heard, hear, hear_round},
                                     &err));
}

static void give(struct record r)
{
    struct record_sink to = record_unwinder_sink(&unwinder);
    record_pass(&to, &r);
}

static void end_round(void)
{
    struct record_sink to = record_unwinder_sink(&unwinder);
    to.round(to.context);
}

static void map(uint32_t pid, uint64_t start, uint64_t size, uint64_t offset,
                uint64_t inode, struct str path)
{
    record_begin(&maker, PERF_MMAP2, PERF_MODE_USER);
    record_put_u32(&maker, pid);
    record_put_u32(&maker, pid);
    record_put_u64(&maker, start);
    record_put_u64(&maker, size);
    record_put_u64(&maker, offset);
    record_put_u32(&maker, 8);
    record_put_u32(&maker, 1);
    record_put_u64(&maker, inode);
    record_put_u64(&maker, 0);
    record_put_u32(&maker, 5);
    record_put_u32(&maker, 2);
    record_put_text(&maker, path);
    give(record_end(&maker, pid, pid, 1));
}

static void thread(uint32_t type, uint32_t pid, uint32_t parent, uint32_t tid)
{
    record_begin(&maker, type, 0);
    record_put_u32(&maker, pid);
    record_put_u32(&maker, parent);
    record_put_u32(&maker, tid);
    record_put_u32(&maker, parent);
    record_put_u64(&maker, 1);
    give(record_end(&maker, pid, tid, 1));
}

static void task(uint32_t type, uint32_t pid, uint32_t parent)
{
    thread(type, pid, parent, pid);
}

/* A sample with a chain of the kernel, registers, and a dump. */
static void sample(uint32_t pid, const uint64_t *registers, struct str stack)
{
    record_begin(&maker, PERF_SAMPLE, PERF_MODE_KERNEL);
    record_put_u64(&maker, 0xffffffff81000010);
    record_put_u32(&maker, pid);
    record_put_u32(&maker, pid);
    record_put_u64(&maker, 2);
    record_put_u64(&maker, 0);
    record_put_u64(&maker, 1);
    record_put_u64(&maker, 2);
    record_put_u64(&maker, PERF_CONTEXT_KERNEL);
    record_put_u64(&maker, 0xffffffff81000010);
    record_put_u64(&maker, registers ? 2 : 0);
    for (unsigned i = 0; registers && i < 64; i++)
        if (REGISTERS >> i & 1)
            record_put_u64(&maker, registers[i]);
    record_put_u64(&maker, stack.len);
    record_put(&maker, stack.ptr, stack.len);
    if (stack.len)
        record_put_u64(&maker, stack.len);
    struct record r = record_end_bare(&maker, 2);
    /* it stays until the end of the round, as in a ring */
    static char copy[PERF_RECORD_MAX + 1];
    memcpy(copy, r.bytes.ptr, r.bytes.len);
    r.bytes.ptr = copy;
    give(r);
}

/* Samples of kernel threads, and of unknown processes. */
static void test_not_unwindable(void **state)
{
    uint64_t registers[64] = {0};
    (void)state;
    set_up();
    sample(2, NULL, STR(""));
    assert_int_equal(heard.samples, 1);
    assert_int_equal(heard.count, 2);
    registers[8] = 0x1234567;
    registers[7] = 0x7ffc0000;
    sample(5, registers, STR("01234567"));
    end_round();
    assert_int_equal(heard.samples, 2);
#if defined(__x86_64__)
    assert_int_equal(heard.chain[0], PERF_CONTEXT_KERNEL);
    assert_int_equal(heard.chain[2], PERF_CONTEXT_USER);
    assert_int_equal(heard.chain[3], 0x1234567);
    /* no unwind information */
    assert_int_equal(heard.chain[4], PERF_CONTEXT_USER);
    assert_int_equal(heard.chain[5], PERF_CONTEXT_USER);
    assert_int_equal(heard.count, 6);
#endif
    /* a sample that is shorter than its fields say is dropped */
    record_begin(&maker, PERF_SAMPLE, 0);
    for (int i = 0; i < 6; i++)
        record_put_u64(&maker, 1000);
    give(record_end_bare(&maker, 1));
    end_round();
    assert_int_equal(heard.samples, 2);
    record_unwinder_deinit(&unwinder);
}

#if defined(__x86_64__)
static void map_own(void *context, const struct os_code *code)
{
    (void)context;
    map((uint32_t)getpid(), code->start, code->end - code->start, code->offset,
        code->inode, code->path);
}

#define DUMP_MOST 60000

/* A sanitizer makes parts of the stack unreadable. */
__attribute__((noinline, no_sanitize("address"))) static void copy_stack(
    volatile char *to, uint64_t from, size_t size)
{
    for (size_t i = 0; i < size; i++)
        to[i] = ((const volatile char *)(uintptr_t)from)[i];
}

static __attribute__((noinline)) void sample_self(size_t size)
{
    static char stack[DUMP_MOST];
    uint64_t r[64] = {0};
    __asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2\n\t"
                     "movq %%rbx, %3\n\tmovq %%r12, %4\n\tmovq %%r13, %5\n\t"
                     "movq %%r14, %6\n\tmovq %%r15, %7"
                     : "=&a"(r[8]), "=m"(r[7]), "=m"(r[6]), "=m"(r[1]), "=m"(r[20]),
                       "=m"(r[21]), "=m"(r[22]), "=m"(r[23]));
    size_t most = (size_t)((uint64_t)(uintptr_t)environ - r[7]); /* above all frames */
    size = size < most ? size : most;
    copy_stack(stack, r[7], size);
    sample((uint32_t)getpid(), r, (struct str){stack, size});
    end_round();
}

static __attribute__((noinline)) void deeper(int left, size_t size)
{
    if (left)
        deeper(left - 1, size);
    else
        sample_self(size);
    __asm__ volatile("");
}

static size_t within_deeper(void)
{
    size_t count = 0;
    uint64_t start = (uint64_t)(uintptr_t)deeper;
    for (size_t i = 0; i < heard.count; i++)
        count += heard.chain[i] - start < 200;
    return count;
}

static void test_own_stack(void **state)
{
    uint32_t own = (uint32_t)getpid();
    (void)state;
    set_up();
    os_process_code(own, own, map_own, NULL);
    deeper(30, DUMP_MOST);
    assert_int_equal(heard.samples, 1);
    assert_int_equal(within_deeper(), 31);
    assert_int_equal(unwinder.counts.stacks, 1);
    assert_int_equal(unwinder.counts.broken, 0);
    deeper(200, 1024); /* a truncated stack is marked */
    assert_int_equal(unwinder.counts.truncated, 1);
    assert_int_equal(heard.chain[heard.count - 1], PERF_CONTEXT_USER);
    assert_true(within_deeper() < 100 && within_deeper() > 0);
    /* an exec removes all mappings */
    record_begin(&maker, PERF_COMM, PERF_MISC_COMM_EXEC);
    record_put_u32(&maker, own);
    record_put_u32(&maker, own);
    record_put_text(&maker, STR("other"));
    give(record_end(&maker, own, own, 3));
    deeper(30, DUMP_MOST);
    assert_true(within_deeper() < 5);
    record_unwinder_deinit(&unwinder);
}
#endif

/* Ten thousand programs, each run once: the tables of files and of mappings stay bounded. */
static void test_memory_is_bounded(void **state)
{
    char path[64];
    (void)state;
    set_up();
    map(10, 0x400000, 0x1000, 0, 1, STR("/bin/parent"));
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t pid = 100 + i % 3000;
        task(PERF_FORK, pid, 10);
        snprintf(path, sizeof path, "/bin/program-%u", i);
        map(pid, 0x600000, 0x1000, 0, i + 2, str_of(path));
        map(pid, 0x700000, 0x1000, 0, 0, STR("//anon"));
        task(PERF_EXIT, pid, 10);
    }
    assert_true(unwinder.known < 5000);
    assert_true(unwinder.file_count < 10000);
    assert_int_equal(heard.others, 1 + 4 * 20000);
    const struct address_map *m =
        space_find(&unwinder.spaces, unwinder.space_of[10], 0x400000);
    assert_non_null(m);
    assert_str(unwinder.files[m->object].path, "/bin/parent");
    record_unwinder_deinit(&unwinder);
}

/* A process whose main thread ends first keeps its mappings until the last thread ends. */
static void test_main_thread_ends_first(void **state)
{
    (void)state;
    set_up();
    map(10, 0x400000, 0x1000, 0, 1, STR("/bin/program"));
    thread(PERF_FORK, 10, 10, 11);
    thread(PERF_FORK, 10, 10, 12);
    thread(PERF_EXIT, 10, 10, 12);
    task(PERF_EXIT, 10, 1);
    end_round();
    assert_non_null(space_find(&unwinder.spaces, unwinder.space_of[10], 0x400000));
    thread(PERF_EXIT, 10, 10, 11);
    end_round();
    assert_null(space_find(&unwinder.spaces, unwinder.space_of[10], 0x400000));
    record_unwinder_deinit(&unwinder);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(test_not_unwindable),
#if defined(__x86_64__)
        UNIT(test_own_stack),
#endif
        UNIT(test_main_thread_ends_first),
        UNIT(test_memory_is_bounded)
    };
    return UNITS_RUN(units);
}
