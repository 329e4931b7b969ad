/* Unwinds the stack dumps of a recording with the batch, the cursor and libdwfl, and
 * compares them. For tests/unwind.py and bench/run.
 *
 *    compare same RECORDING      compares the three
 *    compare speed RECORDING     frames per second, repeatedly with the same dumps
 *    compare stacks RECORDING    the frames of the batch, one line per dump
 *    compare offsets RECORDING   the same as file offsets, with calls adjusted like in perf
 *                              script, after the time in nanoseconds and the end reason */
#include "dumps.h"
#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- libdwfl ------------------------------------------------------------------------ */

struct dwfl_job {
    const struct unwind_job *job;
    uint64_t *addresses;
    size_t count;
};

struct dwfl_process {
    Dwfl *dwfl;
    struct dwfl_job current;
};

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
    (void)dwfl;
    if (*thread_arg)
        return 0;
    *thread_arg = arg;
    return 1;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *result, void *arg)
{
    const struct dwfl_process *p = arg;
    uint64_t value;
    (void)dwfl;
    if (!unwind_dump_read(p->current.job, addr, 8, &value))
        return false;
    *result = value;
    return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
    static const uint8_t perf[] = {0,  3,  2,  1,  4,  5,  6,  7, 16,
                                   17, 18, 19, 20, 21, 22, 23, 8};
    const struct dwfl_process *p = arg;
    Dwarf_Word words[17];
    for (unsigned i = 0; i < 17; i++)
        words[i] = p->current.job->registers[perf[i]];
    return dwfl_thread_state_registers(thread, 0, 17, words);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
    .next_thread = next_thread,
    .memory_read = memory_read,
    .set_initial_registers = set_registers,
};

static int on_frame(Dwfl_Frame *frame, void *arg)
{
    struct dwfl_job *out = arg;
    Dwarf_Addr pc;
    bool activation;
    if (!dwfl_frame_pc(frame, &pc, &activation) || out->count == out->job->room)
        return DWARF_CB_ABORT;
    out->addresses[out->count++] = pc;
    return DWARF_CB_OK;
}

static char *no_debug = NULL;
static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = &no_debug,
};

static Dwfl *begin_dwfl(struct dumps *d, struct dwfl_process *p, uint32_t pid)
{
    struct dump_process *process = dumps_process(d, pid);
    p->dwfl = dwfl_begin(&callbacks);
    dwfl_report_begin(p->dwfl);
    const struct address_map *m = NULL;
    while ((m = space_from(&d->spaces, process->space, m ? m->end : 0))) {
        const char *path = d->objects[m->object].path;
        if (path[0] == '/')
            dwfl_report_elf(p->dwfl, path, path, -1, m->start - m->offset, false);
    }
    dwfl_report_end(p->dwfl, NULL, NULL);
    if (!dwfl_attach_state(p->dwfl, NULL, 1, &thread_callbacks, p))
        fprintf(stderr, "libdwfl: %s\n", dwfl_errmsg(-1));
    return p->dwfl;
}

/* By process; a recording has few. */
static struct dwfl_process *dwfl_of(struct dumps *d, uint32_t pid)
{
    static struct dwfl_process *all;
    if (!all)
        all = calloc(d->process_count + 1, sizeof *all);
    struct dwfl_process *p = &all[dumps_process(d, pid) - d->processes];
    if (!p->dwfl)
        begin_dwfl(d, p, pid);
    return p;
}

static size_t unwind_by_dwfl(struct dumps *d, size_t i, uint64_t *addresses)
{
    struct dwfl_process *p = dwfl_of(d, d->pids[i]);
    p->current = (struct dwfl_job){&d->jobs[i], addresses, 0};
    dwfl_getthread_frames(p->dwfl, 1, on_frame, &p->current);
    return p->current.count;
}

/* --- Comparing ---------------------------------------------------------------------- */

struct stacks {
    uint64_t *addresses; /* frames_room each */
    size_t *counts;
    enum unwind_end *ends;
    uint32_t *signals;
};

static struct stacks copy_stacks(const struct dumps *d)
{
    struct stacks s = {malloc(d->count * d->frames_room * sizeof *s.addresses),
                       malloc(d->count * sizeof *s.counts),
                       malloc(d->count * sizeof *s.ends),
                       malloc(d->count * d->frames_room / 32 * sizeof *s.signals)};
    for (size_t i = 0; i < d->count; i++) {
        const struct unwind_job *job = &d->jobs[i];
        s.counts[i] = job->count;
        s.ends[i] = job->end;
        memcpy(s.addresses + i * d->frames_room, job->addresses,
               job->count * sizeof *job->addresses);
        memcpy(s.signals + i * d->frames_room / 32, job->signals, d->frames_room / 8);
    }
    return s;
}

static const char *const end_names[] = {"whole",    "cut",      "no table",
                                        "bad rule", "too deep", "switched"};
#define ENDS (sizeof end_names / sizeof *end_names)

static void print_stack(const char *who, const uint64_t *addresses, size_t count,
                        const char *end)
{
    printf("  %s:", who);
    for (size_t i = 0; i < count && i < 60; i++)
        printf(" %" PRIx64, addresses[i]);
    printf("  %s\n", end);
}

static size_t common(const uint64_t *a, size_t na, const uint64_t *b, size_t nb)
{
    size_t n = 0;
    while (n < na && n < nb && a[n] == b[n])
        n++;
    return n;
}

#define RARE 2 /* stacks */

/* Totals over all dumps. */
struct outcome {
    size_t frames, dwfl_frames, same, whole_stacks, worse, different, ends[ENDS];
};

static bool is_mapped(const struct unwind_job *job, uint64_t address)
{
    return space_find(job->spaces, job->space, address - 1) != NULL;
}

/* Compares the stored stacks of a dump. */
static void compare_implementations(const struct dumps *d, const struct stacks *fast,
                                    const struct stacks *slow, size_t i,
                                    struct outcome *o)
{
    const uint64_t *a = fast->addresses + i * d->frames_room;
    const uint64_t *b = slow->addresses + i * d->frames_room;
    size_t n = fast->counts[i], m = slow->counts[i];
    if (n == m && common(a, n, b, m) == n && fast->ends[i] == slow->ends[i] &&
        memcmp(fast->signals + i * d->frames_room / 32,
               slow->signals + i * d->frames_room / 32, (n + 31) / 32 * 4) == 0)
        return;
    o->different++;
    printf("batch and cursor differ at dump %zu\n", i);
    print_stack("batch", a, n, end_names[fast->ends[i]]);
    print_stack("cursor", b, m, end_names[slow->ends[i]]);
}

/* Returns true if all addresses of b are in a, in the same order. */
static bool contains(const uint64_t *a, size_t na, const uint64_t *b, size_t nb)
{
    size_t found = 0;
    for (size_t i = 0; i < na && found < nb; i++)
        found += a[i] == b[found];
    return found == nb;
}

/* Our stack is worse if a frame of libdwfl is missing, except for those from the first one
 * that is not code on. Ours may have more frames where libdwfl uses the frame pointer: it loses
 * some in a trampoline, and all in the stubs of ld.so. */
static void compare_dwfl(struct dumps *d, const struct stacks *fast, size_t i,
                         struct outcome *o)
{
    static uint64_t dwfl_frames[4096];
    const uint64_t *ours = fast->addresses + i * d->frames_room;
    size_t n = fast->counts[i], k = unwind_by_dwfl(d, i, dwfl_frames);
    size_t c = common(ours, n, dwfl_frames, k);
    size_t invented =
        c == n && k > n && !is_mapped(&d->jobs[i], dwfl_frames[n]) ? k - n : 0;
    o->ends[fast->ends[i]]++;
    o->frames += n;
    o->dwfl_frames += k - invented;
    o->same += c;
    o->whole_stacks += c == n && c == k;
    if (c == n && c == k)
        return;
    /* In the last instructions of __builtin_eh_return no rule is correct: reported as
     * UNWIND_BAD_RULE. */
    o->worse += !contains(ours, n, dwfl_frames, k - invented) &&
                !(n == 1 && fast->ends[i] == UNWIND_BAD_RULE);
    printf("libdwfl differs at dump %zu, frame %zu\n", i, c);
    print_stack("ours", ours, n, end_names[fast->ends[i]]);
    print_stack("libdwfl", dwfl_frames, k, "");
}

/* Fails if batch and cursor differ, or if libdwfl is better in more than one stack of a
 * thousand, apart from a few: a short recording has few samples. */
static int compare(struct dumps *d, const struct unwind_objects *objects,
                   struct unwind_cache *cache)
{
    struct outcome o = {.frames = 0};
    unwind_by_cursor(objects, d->jobs, d->count);
    struct stacks slow = copy_stacks(d);
    unwind_batch(cache, objects, d->jobs, d->count);
    struct stacks fast = copy_stacks(d);
    for (size_t i = 0; i < d->count; i++) {
        compare_implementations(d, &fast, &slow, i, &o);
        compare_dwfl(d, &fast, i, &o);
    }
    printf("dumps %zu, frames %zu, libdwfl's %zu, the same %zu, whole stacks %zu, worse "
           "%zu; ends:",
           d->count, o.frames, o.dwfl_frames, o.same, o.whole_stacks, o.worse);
    for (size_t i = 0; i < ENDS; i++)
        printf(" %s %zu", end_names[i], o.ends[i]);
    putchar('\n');
    return o.different || o.worse > RARE + d->count / 1000 ||
           o.ends[UNWIND_BAD_RULE] > RARE + d->count / 100 || d->count <= RARE;
}

/* --- Speed -------------------------------------------------------------------------- */

static size_t count_frames(const struct dumps *d)
{
    size_t frames = 0;
    for (size_t i = 0; i < d->count; i++)
        frames += d->jobs[i].count;
    return frames;
}

/* CPU time of one round over all dumps. */
static double time_batch(struct dumps *d, const struct unwind_objects *objects,
                         struct unwind_cache *cache)
{
    double start = now();
    unwind_batch(cache, objects, d->jobs, d->count);
    return now() - start;
}

/* The cursor runs first, so that all memory has been touched. */
static void speed(struct dumps *d, const struct unwind_objects *objects,
                  struct unwind_cache *cache)
{
    static uint64_t addresses[4096];
    size_t dwfl_frames = 0, some = d->count < 2000 ? d->count : 2000;
    double start = now();
    unwind_by_cursor(objects, d->jobs, d->count);
    double slow = now() - start;
    double first = time_batch(d, objects, cache), best = first;
    double frames = 1e-6 * (double)count_frames(d);
    for (int i = 0; i < 10; i++) {
        double took = time_batch(d, objects, cache);
        best = took < best ? took : best;
    }
    for (size_t i = 0; i < some; i++)
        unwind_by_dwfl(d, i, addresses);
    start = now();
    for (size_t i = 0; i < some; i++)
        dwfl_frames += unwind_by_dwfl(d, i, addresses);
    double dwfl_time = now() - start;
    printf("dumps %zu, frames %.0f; M frames/s: batch %.2f, its first round %.2f, cursor "
           "%.2f, libdwfl %.2f\n",
           d->count, 1e6 * frames, frames / best, frames / first, frames / slow,
           1e-6 * (double)dwfl_frames / dwfl_time);
}

static void print_stacks(const struct dumps *d)
{
    for (size_t i = 0; i < d->count; i++)
        print_stack(end_names[d->jobs[i].end], d->jobs[i].addresses, d->jobs[i].count,
                    "");
}

static void print_offsets(const struct dumps *d)
{
    for (size_t i = 0; i < d->count; i++) {
        const struct unwind_job *job = &d->jobs[i];
        printf("%" PRIu64 " %u", d->times[i], (unsigned)job->end);
        for (size_t j = 0; j < job->count; j++) {
            /* perf treats a signal trampoline as a caller */
            size_t k = j && j + 1 < job->count ? j + 1 : j;
            bool is_call = !(job->signals[j / 32] >> j % 32 & 1) ||
                           (k != j && job->signals[k / 32] >> k % 32 & 1);
            uint64_t at = job->addresses[j] - is_call;
            const struct address_map *map = space_find(job->spaces, job->space, at);
            printf(" %" PRIx64, map ? at - map->start + map->offset : at);
        }
        putchar('\n');
    }
}

int main(int argc, char **argv)
{
    struct dumps d;
    if (argc < 3)
        return 2;
    dumps_read(&d, argv[2]);
    struct unwind_objects objects = {.table = dumps_table, .context = &d};
    struct unwind_cache *cache = unwind_cache_create(&d.arena);
    if (!cache || !dumps_tables(&d))
        return 2;
    if (strcmp(argv[1], "same") == 0)
        return compare(&d, &objects, cache);
    if (strcmp(argv[1], "speed") == 0) {
        speed(&d, &objects, cache);
        return 0;
    }
    unwind_batch(cache, &objects, d.jobs, d.count);
    if (strcmp(argv[1], "offsets") == 0)
        print_offsets(&d);
    else
        print_stacks(&d);
    return 0;
}
