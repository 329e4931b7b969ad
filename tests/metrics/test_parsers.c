/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/counters.h"
#include "metrics/cpu.h"
#include "metrics/devices.h"
#include "metrics/fields.h"
#include "metrics/load.h"
#include "metrics/process.h"
#include "unit.h"

#define PARSED(function, text, out)  \
    struct arena arena = ARENA_INIT; \
    assert_true(function(str_of(text), &arena, (out)))

static void stat_of_this_kernel(void **state)
{
    (void)state;
    struct cpu_counters c;
    PARSED(cpu_counters_parse,
           "cpu  10 1 20 300 4 5 6 7 2 1\ncpu0 4 1 9 150 2 2 3 3 1 0\n"
           "cpu3 6 0 11 150 2 3 3 4 1 1\nintr 77 1 2 3\nctxt 88\nbtime 99\n"
           "processes 11\nprocs_running 2\nprocs_blocked 1\nsoftirq 55 1 2\n",
           &c);
    assert_int_equal(c.count, 2);
    assert_int_equal(c.all.ticks[CPU_STEAL], 7);
    assert_int_equal(cpu_counters_find(&c, 3)->ticks[CPU_GUEST_NICE], 1);
    assert_null(cpu_counters_find(&c, 1));
    assert_int_equal(c.interrupts, 77);
    assert_int_equal(c.softirqs, 55);
    assert_int_equal(c.context_switches, 88);
    assert_int_equal(c.forks, 11);
    arena_deinit(&arena);
}

/* Linux 2.4 had four modes; a CPU number may be absurd. */
static void stat_of_other_kernels(void **state)
{
    (void)state;
    struct cpu_counters c;
    PARSED(cpu_counters_parse,
           "cpu 1 2 3 4\ncpu99999999999999999999 1\ncpux 2\ncpu1 7\nctxt -3\nctxt", &c);
    assert_int_equal(c.all.ticks[CPU_IDLE], 4);
    assert_int_equal(c.all.ticks[CPU_IOWAIT], 0);
    assert_int_equal(c.count, 1);
    assert_int_equal(c.context_switches, 0);
    assert_false(cpu_counters_parse(STR(""), &arena, &c));
    assert_false(cpu_counters_parse(STR("cpu0 1 2 3 4\n"), &arena, &c));
    arena_deinit(&arena);
}

static void shares_add_up(void **state)
{
    (void)state;
    struct cpu_time before = {0, {100, 100, 100, 100, 50, 0, 0, 0, 60, 10}};
    struct cpu_time now = {0, {150, 120, 110, 105, 40, 5, 5, 5, 80, 15}};
    double shares[CPU_MODES], sum = 0;
    cpu_shares(&before, &now, shares);
    for (size_t i = 0; i < CPU_MODES; i++)
        sum += shares[i];
    assert_true(sum > 0.999999 && sum < 1.000001);
    assert_double(shares[CPU_USER], 0.3); /* without the guest's 20 */
    assert_double(shares[CPU_IOWAIT], 0); /* went back, as iowait can */
    cpu_shares(&now, &now, shares);
    assert_double(shares[CPU_IDLE], 0);
}

static void interrupts(void **state)
{
    (void)state;
    struct cpu_counter_table t;
    PARSED(
        cpu_counter_table_parse,
        "           CPU0       CPU2\n 24:   1   5  IO-APIC   5-edge   ACPI:Ged\n"
        "NMI:   3   4   Non-maskable interrupts\nERR:          7\nbroken\n:\n X: y 1\n",
        &t);
    assert_int_equal(t.cpu_count, 2);
    assert_int_equal(t.cpus[1], 2);
    assert_int_equal(t.count, 4);
    assert_str(t.rows[0].description, "IO-APIC   5-edge   ACPI:Ged");
    assert_int_equal(cpu_counter_at(cpu_counter_find(&t, STR("NMI"), 7), 1), 4);
    assert_int_equal(cpu_counter_at(cpu_counter_find(&t, STR("ERR"), 0), 1), 0);
    assert_int_equal(cpu_counter_at(cpu_counter_find(&t, STR("none"), 0), 0), 0);
    assert_int_equal(cpu_counter_sum(&t), 20);
    assert_false(cpu_counter_table_parse(STR("24: 1 2\n"), &arena, &t));
    arena_deinit(&arena);
}

static void meminfo(void **state)
{
    (void)state;
    struct metric_fields f;
    PARSED(metric_fields_parse,
           "MemTotal:       24684096 kB\nHugePages_Total:       3\nnr_free_pages 42\n"
           "Bad: -1 kB\nNothing:\n\n",
           &f);
    assert_int_equal(f.count, 3);
    assert_int_equal(metric_field(&f, STR("MemTotal")), 24684096);
    assert_true(f.items[0].has_unit && !f.items[1].has_unit);
    assert_int_equal(metric_field(&f, STR("nr_free_pages")), 42);
    assert_int_equal(metric_field(&f, STR("MemFree")), 0);
    assert_int_equal(metric_field_in(STR("a: 1\nb: 2\n"), STR("b")), 2);
    arena_deinit(&arena);
}

/* 11 counters since Linux 2.6.25, 15 since 4.18, 17 since 5.5. */
static void diskstats_of_all_kernels(void **state)
{
    (void)state;
    struct disks d;
    PARSED(disks_parse,
           " 254 0 vda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n"
           "   8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n"
           "   8 1 sda1 1 2 3 4 5 6 7 8 9 10 11\n   8 2 sda2 1 2 3 4\nbroken\n",
           &d);
    assert_int_equal(d.count, 3);
    assert_int_equal(disks_find(&d, STR("vda"))->counters[DISK_FLUSH_TIME], 17);
    assert_int_equal(disks_find(&d, STR("sda1"))->counters[DISK_QUEUE_TIME], 11);
    assert_int_equal(disks_find(&d, STR("sda1"))->counters[DISK_DISCARDS], 0);
    assert_null(disks_find(&d, STR("sda2")));
    arena_deinit(&arena);
}

static void network(void **state)
{
    (void)state;
    struct network_interfaces n;
    PARSED(network_interfaces_parse,
           "Inter-|   Receive |  Transmit\n face |bytes packets\n"
           "    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
           "eth0:1:21 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n eth1: 1 2\n",
           &n);
    assert_int_equal(n.count, 2);
    assert_str(n.items[0].name, "lo");
    assert_int_equal(n.items[0].sent.drops, 12);
    assert_str(n.items[1].name, "eth0:1");
    assert_int_equal(n.items[1].received.bytes, 21);
    arena_deinit(&arena);
}

static void buddyinfo(void **state)
{
    (void)state;
    struct buddy_zones b;
    PARSED(
        buddy_zones_parse,
        "Node 0, zone      DMA      0      1      3 \nNode 1, zone   Normal 5\nNode x\n",
        &b);
    assert_int_equal(b.count, 2);
    assert_int_equal(b.items[0].orders, 3);
    assert_int_equal(b.items[0].free[2], 3);
    assert_int_equal(b.items[1].node, 1);
    assert_str(b.items[1].name, "Normal");
    arena_deinit(&arena);
}

static void slabinfo(void **state)
{
    (void)state;
    struct slab_caches s;
    PARSED(slab_caches_parse,
           "slabinfo - version: 2.1\n"
           "# name <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : "
           "tunables\n"
           "dentry  90 105 192 21 1 : tunables 0 0 0 : slabdata 5 6 0\n"
           "kmalloc:rnd 1 2 8 512 1 : tunables 0 0 0 : slabdata 1 1 0\n"
           "cut 1 2 8 512 1 : tunables 0 0 0\nx 1 2 : slabdata 1 1 0\n",
           &s);
    assert_int_equal(s.count, 2);
    assert_str(s.items[0].name, "dentry");
    assert_int_equal(s.items[0].active, 90);
    assert_int_equal(s.items[0].objects, 105);
    assert_int_equal(s.items[0].object_size, 192);
    assert_int_equal(s.items[0].pages_per_slab, 1);
    assert_int_equal(s.items[0].slabs, 6);
    assert_str(s.items[1].name, "kmalloc:rnd");
    arena_deinit(&arena);
}

static void load_and_pressure(void **state)
{
    (void)state;
    struct load_average l;
    struct pressure p[PRESSURE_KINDS];
    assert_true(load_average_parse(STR("20.25 18.37 10.70 3/512 24750\n"), &l));
    assert_double(l.minutes[1], 18.37);
    assert_int_equal(l.running, 3);
    assert_int_equal(l.threads, 512);
    assert_false(load_average_parse(STR("1 2"), &l));
    assert_true(
        pressure_parse(STR("some avg10=81.27 avg60=58.60 avg300=73.73 total=134\n"),
                       p)); /* the CPU's before Linux 5.13 */
    assert_double(p[PRESSURE_SOME].average[1], 58.6);
    assert_int_equal(p[PRESSURE_SOME].total, 134);
    assert_int_equal(p[PRESSURE_FULL].total, 0);
    assert_false(pressure_parse(STR(""), p));
}

#define STAT_TAIL                                                                 \
    " S 1 10 10 0 -1 4194560 100 200 3 400 50 60 70 80 20 -5 4 0 777 4096000 25 " \
    "18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 2 9 0 0\n"

static void process_names_may_be_anything(void **state)
{
    (void)state;
    struct process_counters p;
    assert_true(process_stat_parse(STR("42 (a) R (b) " STAT_TAIL), &p));
    assert_string_equal(p.name, "a) R (b");
    assert_int_equal(p.pid, 42);
    assert_int_equal(p.state, 'S');
    assert_int_equal(p.parent, 1);
    assert_int_equal(p.user, 50);
    assert_int_equal(p.system, 60);
    assert_int_equal(p.nice, -5);
    assert_int_equal(p.threads, 4);
    assert_int_equal(p.start, 777);
    assert_int_equal(p.resident_pages, 25);
    assert_int_equal(p.policy, 2);
    assert_int_equal(p.block_delay, 9);
    assert_false(process_is_kernel(&p));
    assert_true(process_stat_parse(STR("7 ()" STAT_TAIL), &p));
    assert_string_equal(p.name, "");
}

static void process_lines_that_are_refused(void **state)
{
    (void)state;
    struct process_counters p;
    static const char *const lines[] = {"",        "1",           "1 (a",
                                        "1 a) S",  "x (a) S 1 2", "1 (a) S 1 2 3",
                                        "1 )a( S", "1 (a) SS 1"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_false(process_stat_parse(str_of(lines[i]), &p));
}

static void process_io(void **state)
{
    (void)state;
    struct process_counters p = {0};
    process_io_parse(STR("rchar: 1\nread_bytes: 4096\nwrite_bytes: 8192\n"
                         "cancelled_write_bytes: 5\n"),
                     &p);
    assert_true(p.has_io);
    assert_int_equal(p.read_bytes, 4096);
    assert_int_equal(p.written_bytes, 8192);
    process_io_parse(STR(""), &p);
    assert_false(p.has_io);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        UNIT(stat_of_this_kernel),
        UNIT(stat_of_other_kernels),
        UNIT(shares_add_up),
        UNIT(interrupts),
        UNIT(meminfo),
        UNIT(diskstats_of_all_kernels),
        UNIT(network),
        UNIT(buddyinfo),
        UNIT(slabinfo),
        UNIT(load_and_pressure),
        UNIT(process_names_may_be_anything),
        UNIT(process_lines_that_are_refused),
        UNIT(process_io),
    };
    return UNITS_RUN(tests);
}
