/* SPDX-License-Identifier: Apache-2.0 */
#include "os/machine.h"
#include "base/format.h"
#include "base/number.h"
#include "os/regular_file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000u

static uint64_t clock_ns(clockid_t which)
{
    struct timespec t = {0};
    clock_gettime(which, &t);
    return (uint64_t)t.tv_sec * NS + (uint64_t)t.tv_nsec;
}

/* Parses "monotonic  -5000  0": seconds and ns by which this time namespace is ahead. */
static int64_t read_offset(void)
{
    char room[256];
    struct str text = os_read_text("/proc/self/timens_offsets", room, sizeof room);
    while (text.len) {
        struct str line = str_cut(&text, '\n');
        if (!str_equal(str_word(&line), STR("monotonic")))
            continue;
        struct str seconds = str_word(&line);
        bool behind = str_starts(seconds, STR("-"));
        uint64_t s = 0, ns = 0;
        number_parse_u64(str_skip(seconds, behind), &s);
        number_parse_u64(str_word(&line), &ns);
        return (behind ? -1 : 1) * (int64_t)(s * NS) + (int64_t)ns;
    }
    return 0;
}

#define OFFSET_UNKNOWN INT64_MIN

uint64_t os_clock_local(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

bool os_clock_is_ticks(void)
{
    char room[64];
    struct str source =
        os_read_text("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                     room, sizeof room);
    return str_equal(str_trim(source), STR("tsc"));
}

uint64_t os_clock_of_thread(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t os_clock_monotonic(void)
{
    static int64_t offset = OFFSET_UNKNOWN;
    int64_t ahead = __atomic_load_n(&offset, __ATOMIC_RELAXED);
    if (ahead == OFFSET_UNKNOWN) {
        ahead = read_offset(); /* all threads compute the same value */
        __atomic_store_n(&offset, ahead, __ATOMIC_RELAXED);
    }
    return clock_ns(CLOCK_MONOTONIC) - (uint64_t)ahead;
}

uint64_t os_clock_real(void)
{
    return clock_ns(CLOCK_REALTIME);
}

uint64_t os_own_cpu_time(void)
{
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t os_own_peak_bytes(void)
{
    struct rusage usage = {0};
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss * 1024;
}

uint64_t os_own_bytes(void)
{
    char room[128];
    struct str text = os_read_text("/proc/self/statm", room, sizeof room);
    uint64_t pages = 0;
    str_cut(&text, ' ');
    number_parse_u64(str_cut(&text, ' '), &pages);
    return pages * os_page_size();
}

uint64_t os_clock_resolution(void)
{
    struct timespec t = {0};
    clock_getres(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS + (uint64_t)t.tv_nsec;
}

int32_t os_clock_number(void)
{
    return CLOCK_MONOTONIC;
}

void os_machine_read(struct os_machine *m)
{
    struct utsname u = {0};
    struct sysinfo info = {0};
    uname(&u);
    sysinfo(&info);
    *m = (struct os_machine){.memory = (uint64_t)info.totalram * info.mem_unit};
    format_text(m->host, sizeof m->host, "%s", u.nodename);
    format_text(m->release, sizeof m->release, "%s", u.release);
    format_text(m->arch, sizeof m->arch, "%s", u.machine);
}

struct str os_read_text(const char *path, char *room, size_t size)
{
    size_t used = 0;
    ssize_t got = 1;
    int fd = os_proc_open(path);
    if (fd < 0)
        return STR("");
    while (got > 0 && used < size) {
        do
            got = read(fd, room + used, size - used);
        while (got < 0 && errno == EINTR);
        used += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    return (struct str){room, used};
}

/* The kernel shows kernel addresses if kptr_restrict is 0 and perf_event_paranoid is at
 * most 1 (kallsyms_show_value in kernel/ksyms_common.c). */
const char *os_kernel_hidden_by(void)
{
    char room[32];
    struct str text =
        str_trim(os_read_text("/proc/sys/kernel/kptr_restrict", room, sizeof room));
    return str_equal(text, STR("0")) ? "kernel.perf_event_paranoid"
                                     : "kernel.kptr_restrict";
}

bool os_folder_each(const char *path, void (*each)(void *context, struct str name),
                    void *context)
{
    DIR *folder = opendir(path);
    if (!folder)
        return false;
    for (struct dirent *e = readdir(folder); e; e = readdir(folder))
        if (e->d_name[0] != '.')
            each(context, str_of(e->d_name));
    closedir(folder);
    return true;
}

size_t os_cpu_list(struct str text, uint32_t *cpus)
{
    size_t count = 0;
    struct str rest = str_trim(text);
    while (rest.len) {
        struct str last = str_cut(&rest, ','), first = str_cut(&last, '-');
        uint64_t from, to;
        if (!number_parse_u64(first, &from) || from >= UINT32_MAX)
            continue;
        if (last.len == 0 || !number_parse_u64(last, &to))
            to = from;
        for (; from <= to && count < OS_CPUS_MAX; from++, count++)
            if (cpus)
                cpus[count] = (uint32_t)from;
    }
    return count;
}

size_t os_cpus_online(uint32_t *cpus)
{
    char room[4096];
    struct str text = os_read_text("/sys/devices/system/cpu/online", room, sizeof room);
    size_t count = os_cpu_list(text, cpus);
    if (count)
        return count;
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    for (; count < OS_CPUS_MAX && (long)count < n; count++)
        if (cpus)
            cpus[count] = (uint32_t)count;
    return count;
}

size_t os_cpus_possible(void)
{
    char room[4096];
    struct str text = os_read_text("/sys/devices/system/cpu/possible", room, sizeof room);
    size_t count = os_cpu_list(text, NULL);
    long n = sysconf(_SC_NPROCESSORS_CONF);
    return count ? count : n > 0 ? (size_t)n : 1;
}

bool os_random(void *room, size_t size)
{
    return getrandom(room, size, GRND_NONBLOCK) == (ssize_t)size;
}

bool os_random_text(char *text, size_t size)
{
    unsigned char bytes[OS_RANDOM_TEXT_MAX / 2];
    size_t count = size / 2;
    if (count > sizeof bytes || !os_random(bytes, count))
        return false;
    for (size_t i = 0; i < count; i++)
        format_text(text + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

size_t os_page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static void find_switches(void *context, struct str lines)
{
    while (lines.len) {
        struct str line = str_cut(&lines, '\n');
        if (str_equal(str_cut(&line, ' '), STR("ctxt")))
            number_parse_u64(line, context);
    }
}

uint64_t os_context_switches(void)
{
    char room[4096];
    uint64_t switches = 0;
    os_read_lines("/proc/stat", room, sizeof room, find_switches, &switches);
    return switches;
}

/* "0.20 1.18 1.12 2/178 17234" */
static uint64_t runnable_threads(void)
{
    char room[128];
    uint64_t threads = 0;
    struct str text = os_read_text("/proc/loadavg", room, sizeof room);
    for (int average = 0; average < 3; average++)
        str_word(&text);
    number_parse_u64(str_cut(&text, '/'), &threads);
    return threads;
}

#define CROWDED_CPU 8 /* threads */

bool os_is_crowded(void)
{
    return runnable_threads() > (uint64_t)CROWDED_CPU * os_cpus_possible();
}

#define PID_MAX_DEFAULT 32768
#define PID_MAX_LIMIT ((uint64_t)1 << 22)

uint32_t os_pid_max(void)
{
    char room[32];
    uint64_t v;
    struct str text = os_read_text("/proc/sys/kernel/pid_max", room, sizeof room);
    if (!number_parse_u64(str_trim(text), &v) || v < PID_MAX_DEFAULT)
        return PID_MAX_DEFAULT;
    return (uint32_t)(v < PID_MAX_LIMIT ? v : PID_MAX_LIMIT) + 1;
}

#define NICE_FIRST (-10)

void os_run_first(void)
{
    setpriority(PRIO_PROCESS, 0, NICE_FIRST);
}

int32_t os_thread_id(void)
{
    return (int32_t)gettid();
}

static bool set_scheduler(int32_t thread, int policy, int above_least)
{
    struct sched_param param = {.sched_priority =
                                    sched_get_priority_min(policy) + above_least};
    return sched_setscheduler(thread, policy | SCHED_RESET_ON_FORK, &param) == 0;
}

bool os_thread_set_first(int32_t thread, bool first)
{
    return set_scheduler(thread, first ? SCHED_RR : SCHED_OTHER, 0);
}

void os_run_thread_first(void)
{
    os_run_first();
    set_scheduler(0, SCHED_RR, 1);
}

void os_run_in_background(void)
{
    struct sched_param none = {.sched_priority = 0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close_range(STDERR_FILENO + 1, UINT_MAX, 0);
    setpriority(PRIO_PROCESS, 0, 19);
    sched_setscheduler(0, SCHED_BATCH, &none);
}

/* Passes the whole lines of the text, and moves the rest to its start. */
static size_t pass_lines(char *room, size_t used, bool full,
                         void (*take)(void *context, struct str lines), void *context)
{
    const char *last = memrchr(room, '\n', used);
    size_t whole = last ? (size_t)(last - room) + 1 : 0;
    if (whole)
        take(context, (struct str){room, whole});
    if (!whole && full)
        return 0;
    memmove(room, room + whole, used - whole);
    return used - whole;
}

bool os_read_lines(const char *path, char *room, size_t size,
                   void (*take)(void *context, struct str lines), void *context)
{
    size_t used = 0;
    ssize_t got;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    while ((got = read(fd, room + used, size - used)) > 0)
        used = pass_lines(room, used + (size_t)got, used + (size_t)got == size, take,
                          context);
    close(fd);
    return true;
}

/* The kernel's default maximum (fs.nr_open), for processes that may raise their hard
 * limit. */
#define FILES_OF_ROOT ((rlim_t)1 << 20)

uint64_t os_raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    struct rlimit more = {FILES_OF_ROOT, FILES_OF_ROOT};
    limit.rlim_cur = limit.rlim_max;
    if (limit.rlim_max >= FILES_OF_ROOT || setrlimit(RLIMIT_NOFILE, &more) != 0)
        setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}
