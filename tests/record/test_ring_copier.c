/* SPDX-License-Identifier: Apache-2.0 */
/* A memory file is the ring: the test writes what the kernel would write. */
#include "os/machine.h"
#include "record/ring_copier.h"
#include "unit.h"
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

/* Offsets of data_head and data_tail in the first page (perf_event_open(2)). */
#define HEAD 1024
#define TAIL 1032

#define RING ((size_t)1 << 20)
#define REGISTERS 3
#define CHUNK_BYTES ((size_t)128 << 10) /* of the queues */
#define DUMP 2048 /* bytes of each dump, of which half has content */

static struct record_layout layout;
static struct ring_copier copier;

struct kernel {
    int fd;
    struct os_wake wake; /* for the counter's descriptor */
    char *map;
    size_t page;
    struct copied_ring *ring;
};

static void open_kernel(struct kernel *k)
{
    struct error err;
    int why;
    k->page = (size_t)sysconf(_SC_PAGESIZE);
    k->fd = memfd_create("ring", MFD_CLOEXEC);
    assert_int_equal(ftruncate(k->fd, (off_t)(k->page + RING)), 0);
    k->map = mmap(NULL, k->page + RING, PROT_READ | PROT_WRITE, MAP_SHARED, k->fd, 0);
    assert_ptr_not_equal(k->map, MAP_FAILED);
    k->ring = ring_copier_add(&copier, k->fd, RING, &why);
    assert_non_null(k->ring);
    assert_true(os_wake_init(&k->wake, &err));
    assert_true(ring_copier_watch(&copier, k->wake.fd, &err));
}

static void close_kernel(struct kernel *k)
{
    ring_copier_unwatch(&copier, k->wake.fd);
    ring_copier_remove(&copier, k->ring);
    os_wake_deinit(&k->wake);
    munmap(k->map, k->page + RING);
    close(k->fd);
}

/* Waits until the reader of the ring has released enough, as the test's kernel loses nothing. */
static void write_ring(struct kernel *k, const char *bytes, size_t size)
{
    uint64_t *at_head = (void *)(k->map + HEAD), *at_tail = (void *)(k->map + TAIL);
    uint64_t head = *at_head;
    while (head + size - __atomic_load_n(at_tail, __ATOMIC_ACQUIRE) > RING)
        os_sleep(1);
    for (size_t i = 0; i < size; i++)
        k->map[k->page + ((head + i) & (RING - 1))] = bytes[i];
    __atomic_store_n(at_head, head + size, __ATOMIC_RELEASE);
    os_wake_set(&k->wake);
}

/* A sample at that time with two addresses, registers, and a dump whose bytes are `fill`. */
static struct record make_sample(struct record_maker *m, uint64_t time, char fill)
{
    char dump[DUMP];
    memset(dump, fill, sizeof dump);
    m->layout = &layout;
    record_begin(m, PERF_SAMPLE, 0);
    record_put_u64(m, 0x1234); /* ip */
    record_put_u64(m, 7);      /* process and thread */
    record_put_u64(m, time);
    record_put_u64(m, 0);    /* CPU */
    record_put_u64(m, 1000); /* period */
    record_put_u64(m, 2);    /* call chain */
    record_put_u64(m, 0x1234);
    record_put_u64(m, 0x5678);
    record_put_u64(m, 2); /* ABI */
    for (int i = 0; i < REGISTERS; i++)
        record_put_u64(m, (uint64_t)i);
    record_put_u64(m, sizeof dump);
    record_put(m, dump, sizeof dump);
    record_put_u64(m, sizeof dump / 2);
    return record_end_bare(m, time);
}

static void write_sample(struct kernel *k, uint64_t time)
{
    struct record_maker m;
    struct record r = make_sample(&m, time, (char)(time % 100));
    write_ring(k, r.bytes.ptr, r.bytes.len);
}

static void begin_test(size_t limit)
{
    struct error err;
    layout = record_layout_of(false, PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
                                         PERF_SAMPLE_STACK_USER);
    layout.registers = REGISTERS;
    assert_true(ring_copier_init(&copier, &layout, limit, &err));
}

/* What a pass gave. */
struct seen {
    uint64_t samples, names, lost, last;
    size_t dumped; /* bytes of the last dump */
};

static void check_sample(struct seen *seen, const struct record *r)
{
    struct record_dump d = {0};
    seen->dumped = 0;
    if (record_dump_of(&layout, r->bytes, &d)) {
        assert_int_equal(d.content, d.size);
        for (size_t i = 0; i < d.size; i++)
            assert_int_equal(r->bytes.ptr[d.at + 8 + i], (char)(r->time % 100));
        seen->dumped = d.size;
    }
    assert_int_equal(record_u64(r->bytes, layout.ip), 0x1234);
    seen->samples++;
}

static void read_ring(struct kernel *k, struct seen *seen)
{
    struct str bytes;
    while (ring_copier_peek(k->ring, &bytes)) {
        struct record r;
        assert_true(record_of(&layout, bytes, &r));
        assert_true(r.time >= seen->last);
        seen->last = r.time;
        if (r.type == PERF_SAMPLE)
            check_sample(seen, &r);
        else if (r.type == PERF_LOST)
            seen->lost += record_u64(bytes, 16);
        else
            seen->names++;
        ring_copier_consume(k->ring, bytes);
    }
}

static void a_dump_has_only_its_content(void **state)
{
    struct kernel k;
    struct seen seen = {0};
    (void)state;
    begin_test(8 << 20);
    open_kernel(&k);
    for (uint64_t i = 1; i <= 1000; i++) { /* the ring wraps around */
        write_sample(&k, i);
        if (i % 100 == 0) {
            ring_copier_begin(&copier);
            read_ring(&k, &seen);
            ring_copier_release(&copier);
        }
    }
    assert_int_equal(seen.samples, 1000);
    assert_int_equal(seen.dumped, DUMP / 2);
    assert_int_equal(copier.bytes, 0);
    assert_false(ring_copier_was_late(&copier));
    assert_int_equal(ring_copier_counts(&copier).shortened, 0);
    close_kernel(&k);
    ring_copier_deinit(&copier);
}

static void what_is_not_consumed_comes_again(void **state)
{
    struct kernel k;
    struct seen seen = {0};
    struct str first, again;
    (void)state;
    begin_test(8 << 20);
    open_kernel(&k);
    for (uint64_t i = 1; i <= 300; i++)
        write_sample(&k, i); /* more than half of the ring */
    ring_copier_begin(&copier);
    assert_true(ring_copier_was_late(&copier));
    assert_true(ring_copier_peek(k.ring, &first));
    write_sample(&k, 301); /* after the start of the pass */
    ring_copier_release(&copier);
    ring_copier_begin(&copier);
    assert_true(ring_copier_peek(k.ring, &again));
    assert_ptr_equal(again.ptr, first.ptr);
    read_ring(&k, &seen);
    assert_int_equal(seen.samples, 301);
    ring_copier_release(&copier);
    close_kernel(&k);
    ring_copier_deinit(&copier);
}

/* The ring is emptied in time; the queue is not. */
static void half_full_queues_are_late(void **state)
{
    const size_t limit = 1 << 20;
    struct kernel k;
    (void)state;
    begin_test(limit);
    open_kernel(&k);
    for (uint64_t i = 1; copier.bytes <= limit / 2; i++) {
        assert_false(ring_copier_was_late(&copier));
        write_sample(&k, i);
        ring_copier_begin(&copier);
    }
    assert_true(ring_copier_was_late(&copier));
    close_kernel(&k);
    ring_copier_deinit(&copier);
}

/* A reader that waits for a disk: the thread copies. */
static void a_reader_that_waits_loses_nothing(void **state)
{
    struct kernel k[2];
    struct seen seen[2] = {{0}};
    struct error err;
    (void)state;
    begin_test(64 << 20);
    for (int i = 0; i < 2; i++)
        open_kernel(&k[i]);
    assert_true(ring_copier_start(&copier, &err));
    ring_copier_begin(&copier);
    for (uint64_t i = 1; i <= 3000; i++) /* three times the ring */
        write_sample(&k[i % 2], i);
    ring_copier_begin(&copier);
    for (int i = 0; i < 2; i++)
        read_ring(&k[i], &seen[i]);
    ring_copier_release(&copier);
    assert_int_equal(seen[0].samples, 1500);
    assert_int_equal(seen[1].samples, 1500);
    assert_int_equal(copier.bytes, 0);
    for (int i = 0; i < 2; i++)
        close_kernel(&k[i]);
    ring_copier_deinit(&copier);
}

static size_t copied_bytes(void)
{
    os_lock_acquire(&copier.lock);
    size_t bytes = copier.bytes;
    os_lock_release(&copier.lock);
    return bytes;
}

static bool is_ready(int milliseconds)
{
    struct pollfd fd = {ring_copier_fd(&copier), POLLIN, 0};
    return poll(&fd, 1, milliseconds) == 1;
}

/* Few records wait until there are more. */
static void many_records_wake_the_reader(void **state)
{
    struct kernel k;
    struct seen seen = {0};
    struct error err;
    (void)state;
    begin_test(64 << 20);
    open_kernel(&k);
    assert_true(ring_copier_start(&copier, &err));
    write_sample(&k, 1);
    while (copied_bytes() == 0)
        os_sleep(1);
    size_t size = copied_bytes();
    assert_false(is_ready(0));
    for (uint64_t i = 2; i * size < 512 << 10; i++)
        write_sample(&k, i);
    assert_true(is_ready(-1));
    ring_copier_begin(&copier);
    read_ring(&k, &seen);
    ring_copier_release(&copier);
    assert_int_equal(copied_bytes(), 0);
    close_kernel(&k);
    ring_copier_deinit(&copier);
}

static bool runs_first(void)
{
    return (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_RR;
}

/* Until the queues are nearly empty again. */
static void a_reader_that_falls_behind_runs_first(void **state)
{
    struct kernel k;
    struct seen seen = {0};
    struct error err;
    (void)state;
    if (!os_thread_set_first(0, true)) /* this user may not */
        skip();
    assert_true(runs_first());
    assert_true(os_thread_set_first(0, false));
    begin_test(4 << 20);
    open_kernel(&k);
    assert_true(ring_copier_start(&copier, &err));
    for (uint64_t i = 1; i <= 100; i++) /* less than a sixteenth */
        write_sample(&k, i);
    ring_copier_begin(&copier);
    assert_false(runs_first());
    assert_false(ring_copier_is_filling(&copier));
    for (uint64_t i = 101; i <= 2000; i++)
        write_sample(&k, i);
    while (!runs_first()) /* the thread copies, and raises it */
        os_sleep(1);
    ring_copier_release(&copier);
    assert_true(runs_first());
    assert_true(ring_copier_is_filling(&copier));
    ring_copier_begin(&copier);
    read_ring(&k, &seen);
    ring_copier_release(&copier);
    assert_false(runs_first());
    assert_false(ring_copier_is_filling(&copier));
    assert_int_equal(seen.samples, 2000);
    assert_int_equal(ring_copier_counts(&copier).dropped, 0);
    close_kernel(&k);
    ring_copier_deinit(&copier);
}

static void a_reader_that_hurries_runs_first(void **state)
{
    struct error err;
    (void)state;
    if (!os_thread_set_first(0, true)) /* this user may not */
        skip();
    assert_true(os_thread_set_first(0, false));
    begin_test(4 << 20);
    ring_copier_hurry(&copier, true); /* without the thread: nothing happens */
    ring_copier_hurry(&copier, false);
    assert_false(runs_first());
    assert_true(ring_copier_start(&copier, &err));
    for (int i = 0; i < 100; i++) {
        ring_copier_hurry(&copier, true);
        while (!runs_first())
            os_sleep(1);
        ring_copier_release(&copier);
        assert_true(runs_first());
        ring_copier_hurry(&copier, false);
        assert_false(runs_first());
    }
    ring_copier_deinit(&copier);
}

/* Sum of what is read and what is reported as lost: everything. */
static void full_queues_shorten_dumps_before_they_drop(void **state)
{
    struct kernel k;
    struct seen seen = {0};
    struct error err;
    struct record_maker m;
    (void)state;
    begin_test(256 << 10);
    open_kernel(&k);
    m.layout = &layout;
    assert_true(ring_copier_start(&copier, &err));
    for (uint64_t i = 1; i <= 3000; i++) {
        write_sample(&k, i);
        struct record name = record_make_name(&m, 7, 7, STR("a"), i);
        if (i % 10 == 0)
            write_ring(&k, name.bytes.ptr, name.bytes.len);
    }
    ring_copier_begin(&copier);
    read_ring(&k, &seen);
    ring_copier_release(&copier);
    assert_int_equal(seen.dumped, 64); /* of the last one before the queue was full */
    assert_true(ring_copier_counts(&copier).shortened > 0);
    write_sample(&k, 3001); /* there is room again */
    ring_copier_begin(&copier);
    read_ring(&k, &seen);
    assert_int_equal(seen.dumped, DUMP / 2);
    assert_int_equal(seen.names, 300);
    assert_int_equal(seen.samples + seen.lost, 3001);
    assert_int_equal(ring_copier_counts(&copier).dropped, seen.lost);
    assert_true(seen.lost > 0);
    ring_copier_release(&copier);
    close_kernel(&k);
    ring_copier_deinit(&copier);
}

/* Names, and switches of threads, of which there are many. */
static void other_records_have_a_limit_too(void **state)
{
    struct kernel k;
    struct seen seen = {0};
    struct error err;
    struct record_maker m;
    const size_t limit = 256 << 10;
    (void)state;
    begin_test(limit);
    open_kernel(&k);
    m.layout = &layout;
    assert_true(ring_copier_start(&copier, &err));
    for (uint64_t i = 1; i <= 20000; i++) {
        struct record name = record_make_name(&m, 7, 7, STR("a"), i);
        write_ring(&k, name.bytes.ptr, name.bytes.len);
    }
    ring_copier_begin(&copier);
    assert_true(copier.bytes > limit);
    assert_true(copier.bytes < limit + limit / 8 + 256);
    read_ring(&k, &seen);
    ring_copier_release(&copier);
    assert_int_equal(copier.bytes, 0);
    assert_int_equal(seen.names + ring_copier_counts(&copier).dropped, 20000);
    close_kernel(&k);
    ring_copier_deinit(&copier);
}

/* Addresses of this process, in pages. */
static unsigned long addresses_of_process(void)
{
    unsigned long addresses = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%lu", &addresses), 1);
    fclose(f);
    return addresses;
}

/* Memory of the queues, in pages of 4 KiB. */
static size_t memory_of_queues(void)
{
    size_t size = copier.chunk_count * (CHUNK_BYTES / 4096), count = 0;
    static unsigned char in_memory[1 << 18];
    assert_true(size <= sizeof in_memory);
    assert_int_equal(mincore(copier.chunks, copier.chunk_count * CHUNK_BYTES, in_memory),
                     0);
    for (size_t i = 0; i < size; i++)
        count += in_memory[i] & 1;
    return count;
}

/* The memory of full queues: no new mapping, whose lock another thread may hold, and it goes back
 * to the system. */
static void queues_make_no_mappings(void **state)
{
    struct kernel k;
    struct seen seen = {0};
    (void)state;
    begin_test(128 << 20); /* dumps are not shortened */
    open_kernel(&k);
    unsigned long addresses = addresses_of_process();
    assert_int_equal(memory_of_queues(), 0);
    for (uint64_t i = 1; i <= 20000; i++) {
        write_sample(&k, i);
        if (i % 50 == 0)
            ring_copier_begin(&copier);
    }
    assert_true(copier.bytes > 12 << 20);
    assert_true(memory_of_queues() > (12 << 20) / 4096);
    assert_true(addresses_of_process() < addresses + (4 << 20) / 4096);
    read_ring(&k, &seen);
    ring_copier_release(&copier);
    assert_int_equal(seen.samples, 20000);
    assert_true(memory_of_queues() < (4 << 20) / 4096);
    assert_true(addresses_of_process() < addresses + (4 << 20) / 4096);
    close_kernel(&k);
    ring_copier_deinit(&copier);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dump_has_only_its_content),
        cmocka_unit_test(what_is_not_consumed_comes_again),
        cmocka_unit_test(half_full_queues_are_late),
        cmocka_unit_test(a_reader_that_waits_loses_nothing),
        cmocka_unit_test(many_records_wake_the_reader),
        cmocka_unit_test(a_reader_that_falls_behind_runs_first),
        cmocka_unit_test(a_reader_that_hurries_runs_first),
        cmocka_unit_test(full_queues_shorten_dumps_before_they_drop),
        cmocka_unit_test(other_records_have_a_limit_too),
        cmocka_unit_test(queues_make_no_mappings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
