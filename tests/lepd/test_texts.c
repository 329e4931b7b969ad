/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of the methods, on a machine of the test's own. */
#include "base/format.h"
#include "lepd/texts.h"
#include "model/builder.h"
#include "unit.h"

struct file {
    const char *path, *text;
};

static const struct file files[] = {
    {"/proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU\n\nprocessor\t: 1\n"},
    {"/proc/mounts",
     "/dev/vda / ext4 rw 0 0\nproc /proc proc rw 0 0\n"
     "/dev/vda /mnt/again ext4 rw 0 0\nserver:/a\\040b /n\\040m nfs rw 0 0\n"},
    {"/proc/7/cmdline", "sh"},
    {"/proc/7/cgroup", "1:cpu:/x\n0::/user/a\n"},
    {"/proc/8/cgroup", "0::/user/b\n"},
    {"/proc/7/smaps_rollup", "00 rollup\nPss: 100 kB\nPrivate_Clean: 1 kB\n"
                             "Private_Dirty: 2 kB\n"},
    {"/sys/block/vda/stat", "1\n"},
};

static bool read_file(void *context, const char *path, struct output *o)
{
    (void)context;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strcmp(files[i].path, path) == 0) {
            output_text(o, files[i].text);
            return true;
        }
    return false;
}

static bool filesystem(void *context, const char *path, struct lepd_filesystem *out)
{
    (void)context;
    *out = (struct lepd_filesystem){strlen(path) == 4, 1000, 501, 400};
    return strcmp(path, "/proc") != 0;
}

static bool kernel_log(void *context, struct output *o)
{
    (void)context;
    output_text(o, "<6>[    0.000000] Linux\n<3>[    1.5] a <b>\n");
    return true;
}

static void user_name(void *context, uint32_t user, char *room, size_t size)
{
    (void)context;
    format_text(room, size, user ? "a-long-name" : "root");
}

static struct lepd_clock wall_clock(void *context, uint64_t time)
{
    (void)context;
    return (struct lepd_clock){2026, 11, 23, 9, 47, (unsigned)(time / 1000000000)};
}

/* Readings two seconds apart. */
struct machine {
    struct arena arena;
    struct metrics before, now;
    struct lepd_machine lepd;
};

static void fill(struct metrics *m, struct arena *a, const char *stat, const char *soft,
                 uint64_t seconds)
{
    assert_true(cpu_counters_parse(str_of(stat), a, &m->cpu));
    assert_true(cpu_counter_table_parse(str_of(soft), a, &m->softirqs));
    assert_true(
        cpu_counter_table_parse(STR("CPU0 CPU1\n24: 1 2 x\n"), a, &m->interrupts));
    m->time = m->wall = seconds * 1000000000;
    m->uptime = 100;
}

static void machine_init(struct machine *m)
{
    struct arena *a = &m->arena;
    *m = (struct machine){.arena = ARENA_INIT};
    fill(&m->before, a, "cpu 0 0 0 0\ncpu0 0 0 0 0\nintr 10\nsoftirq 10\n",
         "CPU0 CPU1\nNET_RX: 1 1\nRCU: 1 1\n", 1);
    fill(&m->now, a,
         "cpu 50 0 30 100 20\ncpu0 50 0 50 0\ncpu1 0 0 0 100\nintr 30\nsoftirq 50\n",
         "CPU0 CPU1\nNET_RX: 5 1\nRCU: 1 0\n", 3);
    assert_true(metric_fields_parse(
        STR("MemTotal: 1000 kB\nMemFree: 300 kB\nMemAvailable: 600 kB\nBuffers: 10 kB\n"
            "Cached: 20 kB\nSReclaimable: 3 kB\nShmem: 5 kB\nSwapTotal: 50 kB\n"
            "SwapFree: 20 kB\n"),
        a, &m->now.memory));
    assert_true(disks_parse(
        STR("254 0 vda 100 50 2000 400 100 10 4000 600 0 5000 9\n"
            "254 1 vda1 1 1 1 1 1 1 1 1 1 1 1\n7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n"),
        a, &m->now.disks));
    m->lepd = (struct lepd_machine){.host = STR("vm"),
                                    .release = STR("6.1.0"),
                                    .architecture = STR("x86_64"),
                                    .page_size = 4096,
                                    .now = &m->now,
                                    .before = &m->before,
                                    .file = read_file,
                                    .filesystem = filesystem,
                                    .kernel_log = kernel_log,
                                    .user_name = user_name,
                                    .clock = wall_clock};
}

static void expect(const struct machine *m, const char *method, const char *part)
{
    struct output o = OUTPUT_BUFFER;
    assert_true(lepd_method_write(lepd_method_find(str_of(method)), &m->lepd, &o));
    if (!str_has(output_contents(&o), str_of(part)))
        fail_msg("no \"%s\" in %s:\n%.*s", part, method, STR_ARG(output_contents(&o)));
    output_deinit(&o);
}

static void cpu(void **state)
{
    (void)state;
    struct machine m;
    machine_init(&m);
    expect(&m, "GetCpuInfo", "cpunr: 2\ncpu_name: Some CPU\n");
    expect(&m, "GetCmdMpstat",
           "Linux 6.1.0 (vm) \t11/23/26 \t_x86_64_\t(2 CPU)\n\n09:47:01");
    expect(&m, "GetCmdMpstat",
           "\n09:47:03     all   25.00    0.00   15.00   10.00    0.00    0.00    0.00   "
           " 0.00"
           "    0.00   50.00\n09:47:03       0   50.00 ");
    expect(&m, "GetCmdMpstat", "\n\nAverage:     CPU    %usr   %nice    %sys %iowait");
    expect(&m, "GetCmdMpstat-I", "CPU    intr/s\n09:47:03     all     10.00\n\n");
    expect(&m, "GetCmdMpstat-I",
           "\n09:47:01     CPU   NET_RX/s      RCU/s\n09:47:03       0       2.00       "
           "0.00\n"
           "09:47:03       1       0.00       0.00\n");
    expect(&m, "GetCmdIrqInfo", "irq:10/s softirq:20/s\n");
    m.lepd.before = NULL; /* the first second: since boot */
    expect(&m, "GetCmdIrqInfo", "irq:0/s softirq:1/s\n");
    expect(&m, "GetCmdMpstat", "all   25.00 ");
    arena_deinit(&m.arena);
}

static void memory_and_disks(void **state)
{
    (void)state;
    struct machine m;
    machine_init(&m);
    expect(&m, "GetCmdFree",
           "               total        used        free      shared  buff/cache   "
           "available\n"
           "Mem:            1000         400         300           5          33         "
           "600\n"
           "Swap:             50          30          20\n");
    expect(
        &m, "GetCmdIostat",
        "\n\nDevice:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz "
        "avgqu-sz   await r_await w_await  svctm  %util\n"
        "vda               0.50     0.10    1.00    1.00    10.00    20.00    30.00     "
        "0.01"
        "    5.00    4.00    6.00  25.00   5.00\n");
    expect(&m, "GetCmdDf",
           "Filesystem     1K-blocks     Used Available Use% Mounted on\n"
           "/dev/vda            1000      501       400  56% /\n"
           "server:/a b         1000      501       400  56% /n m\n");
    expect(&m, "GetCmdDmesg", "[    0.000000] Linux\n[    1.5] a <b>\n");
    arena_deinit(&m.arena);
}

static void processes(void **state)
{
    (void)state;
    struct machine m;
    struct process_counters before = {.pid = 7, .start = 1000, .read_bytes = 100};
    struct process_counters now[] = {{.pid = 7,
                                      .start = 1000,
                                      .name = "sh",
                                      .state = 'S',
                                      .priority = 20,
                                      .user = 4000,
                                      .system = 500,
                                      .virtual_bytes = 8192000,
                                      .resident_pages = 25,
                                      .read_bytes = 4196,
                                      .user_id = 1000,
                                      .block_delay = 40},
                                     {.pid = 8,
                                      .start = 9000,
                                      .name = "k thread",
                                      .state = 'I',
                                      .priority = 0,
                                      .nice = -20}};
    machine_init(&m);
    m.before.processes = &before;
    m.before.process_count = 1;
    m.now.processes = now;
    m.now.process_count = 2;
    m.now.has_processes = true;
    expect(&m, "GetCmdTop",
           "  PID USER     PRI  NI    VSZ   RSS S %CPU %MEM     TIME CMD\n"
           "    7 a-long-+  19   0   8000   100 S 50.0 10.0 00:00:45 sh\n"
           "    8 root      39 -20      0     0 I  0.0  0.0 00:00:00 [k thread]\n");
    expect(&m, "GetCmdIotop",
           "\n      7 be/4 a-long-+    2.00 K/s    0.00 B/s  0.00 % 20.00 % sh\n");
    expect(&m, "GetCmdProcrank", "    7      8000K     100K     100K       3K  sh\n   ");
    expect(&m, "GetCmdProcrank",
           "  TOTAL\n\nRAM: 1000K total, 300K free, 10K buffers, 20K cached,");
    expect(&m, "GetCmdCgtop", "/user                                          2 2250.0 ");
    expect(&m, "GetCmdCgtop", "/user/a                                        1 2250.0 ");
    arena_deinit(&m.arena);
}

static struct profile *make_profile(void)
{
    struct builder b;
    struct error err;
    assert_true(builder_init(&b, BUILD_COUNT));
    event_id event = builder_event(&b, STR("cpu-clock"), UNIT_NANOSECONDS);
    module_id libc = builder_module(&b, STR("/lib/libc.so.6"), STR(""));
    struct frame leaf = {.name = builder_string(&b, STR("f(int, char)+0x1f")),
                         .module = libc};
    stack_id stack = builder_push(&b, 0, builder_named_frame(&b, STR("main")));
    stack = builder_push(&b, stack, builder_frame(&b, &leaf));
    struct sample s = {.time = TIME_NONE,
                       .cpu = CPU_NONE,
                       .event = event,
                       .stack = stack,
                       .count = 3,
                       .weight = 30000000,
                       .thread = builder_thread(&b, 5, 6, STR("Web Content"))};
    builder_add(&b, &s);
    s.stack = builder_push(&b, 0, builder_named_frame(&b, STR("other")));
    s.count = 1;
    s.weight = 10000000;
    builder_add(&b, &s);
    struct profile *p = builder_finish(&b, &err);
    assert_non_null(p);
    builder_deinit(&b);
    return p;
}

static void perf(void **state)
{
    (void)state;
    struct machine m;
    struct profile *p = make_profile();
    struct output o = OUTPUT_BUFFER;
    machine_init(&m);
    assert_false(
        lepd_method_write(lepd_method_find(STR("GetCmdPerfFlame")), &m.lepd, &o));
    output_deinit(&o);
    m.lepd.profile = p;
    expect(&m, "GetCmdPerfFlame",
           "Web_Content     6 [000]     3.000000:   10000000 cpu-clock: \n"
           "\t               0 f(int,_char) (/lib/libc.so.6)\n"
           "\t               0 main ([unknown])\n\nWeb_Content ");
    expect(&m, "GetCmdPerfFlame", "\n\n# 4 samples\n");
    expect(&m, "GetCmdPerfCpuclock", "# Samples: 4  of event 'cpu-clock'\n");
    expect(&m, "GetCmdPerfCpuclock",
           "\n#\n    75.00%  Web_Content      libc.so.6            [.] f(int, char)\n"
           "    25.00%  Web_Content      [unknown]            [.] other\n");
    expect(&m, "GetCmdPerfFaults", "# Samples: 0  of event 'page-faults'\n");
    profile_destroy(p);
    arena_deinit(&m.arena);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {UNIT(cpu), UNIT(memory_and_disks),
                                              UNIT(processes), UNIT(perf)};
    return UNITS_RUN(tests);
}
