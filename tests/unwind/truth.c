/* Unwinds this process, interrupted at any instruction by a timer, and compares the
 * frames with those of libgcc on the live stack: with the cursor in the signal handler,
 * and with the batch from copies of the registers and the stack. */
#include "unwind/source.h"
#include "unwind/unwind.h"
#include <alloca.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "sanitized.h"

/* Sanitizers use stacks of their own, and report a copy of a stack as an error. */
#if defined __x86_64__ && !SANITIZED

#define SAMPLES 400
#define FRAMES 400
#define STACK_COPY ((size_t)64 << 10)
#define APART __attribute__((noinline))

static volatile unsigned long sink;

/* --- What is mapped ----------------------------------------------------------------- */

static struct arena arena;
static struct spaces spaces;
static space_id space;
static const struct unwind_table *tables[64];

static const struct unwind_table *table_of(void *context, object_id object)
{
    (void)context;
    return object < 64 ? tables[object] : NULL;
}

static struct unwind_objects objects = {.table = table_of};
static size_t object_count = 1;
static char paths[64][500];

static struct str file_bytes(const char *path, unsigned long start, unsigned long end)
{
    struct stat st;
    if (strcmp(path, "[vdso]") == 0)
        return (struct str){(const char *)start, end - start};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        return STR("");
    void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    return at == MAP_FAILED ? STR("") : (struct str){at, (size_t)st.st_size};
}

static void add_object(const char *path, unsigned long start, unsigned long end,
                       unsigned long offset)
{
    struct unwind_table *table = arena_alloc(&arena, sizeof *table);
    struct elf *elf = arena_alloc(&arena, sizeof *elf);
    struct unwind_source source;
    struct error err;
    struct str bytes = file_bytes(path, start, end);
    if (object_count == 64 || !table || !elf || !elf_init(elf, bytes, &arena, &err))
        return;
    unwind_source_of(&source, elf, NULL);
    if (!unwind_table_build(table, &source, &arena, &err))
        return;
    struct address_map map = {start, end, offset, (uint32_t)object_count, 0, false};
    snprintf(paths[object_count], sizeof paths[0], "%s", path);
    tables[object_count++] = table;
    space = space_add(&spaces, space, &map);
}

static void read_maps(void)
{
    char line[1000], path[500], rights[8];
    unsigned long start, end, offset;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %499s", &start, &end, rights, &offset,
                   path) == 5 &&
            rights[2] == 'x')
            add_object(path, start, end, offset);
    if (maps)
        fclose(maps);
}

/* --- Sampling ----------------------------------------------------------------------- */

struct moment {
    uint64_t registers[UNWIND_REGISTERS_MAX];
    uint64_t truth[FRAMES], alive[FRAMES];
    size_t truth_count, alive_count;
    enum unwind_end alive_end;
    char *stack;
    size_t stack_size;
};

static struct moment *samples;
static volatile size_t sample_count;
static uint64_t stack_top;

static bool read_live(void *context, uint64_t address, unsigned size, uint64_t *value)
{
    struct iovec to = {value, size}, from = {(void *)(uintptr_t)address, size};
    (void)context;
    *value = 0;
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)size;
}

static bool find_live(void *context, uint64_t address, struct unwind_location *location)
{
    const struct unwind_job job = {
        .machine = ARCH_X86_64, .spaces = &spaces, .space = space};
    (void)context;
    return unwind_find_location(&objects, &job, address, location);
}

static void unwind_live(struct moment *s)
{
    struct unwind_access access = {NULL, read_live, find_live};
    struct unwind_cursor c;
    if (!unwind_cursor_init(&c, ARCH_X86_64, s->registers, 0xff01ff))
        return;
    do
        s->alive[s->alive_count++] = c.pc;
    while (s->alive_count < FRAMES && unwind_step(&c, &access, &s->alive_end));
}

static _Unwind_Reason_Code on_frame(struct _Unwind_Context *context, void *arg)
{
    struct moment *s = arg;
    int interrupted = 0;
    uint64_t pc = _Unwind_GetIPInfo(context, &interrupted);
    /* The timer may interrupt the signal trampoline at the very address to which the
     * timer's own handler returns: only the second of the two is the interrupted frame. */
    bool begun = s->truth_count || (interrupted && pc == s->registers[8]);
    if (begun && pc && s->truth_count < FRAMES)
        s->truth[s->truth_count++] = pc;
    return _URC_NO_REASON;
}

static void on_timer(int number, siginfo_t *info, void *context)
{
    static const int order[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI,
                                REG_RBP, REG_RSP, REG_RIP, -1,      -1,      -1,
                                -1,      -1,      -1,      -1,      REG_R8,  REG_R9,
                                REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    const ucontext_t *u = context;
    (void)number;
    (void)info;
    if (sample_count == SAMPLES)
        return;
    struct moment *s = &samples[sample_count];
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        s->registers[i] = order[i] < 0 ? 0 : (uint64_t)u->uc_mcontext.gregs[order[i]];
    uint64_t sp = s->registers[7];
    s->stack_size = stack_top - sp < STACK_COPY ? stack_top - sp : STACK_COPY;
    memcpy(s->stack, (const char *)(uintptr_t)sp, s->stack_size);
    s->truth_count = s->alive_count = 0;
    _Unwind_Backtrace(on_frame, s);
    unwind_live(s);
    sample_count = sample_count + 1;
}

/* --- What is interrupted ------------------------------------------------------------ */

static APART unsigned long leaf(unsigned long n)
{
    for (int i = 0; i < 30; i++)
        n = n * 6364136223846793005u + 1442695040888963407u;
    return n;
}

static APART unsigned long deep(unsigned depth)
{
    if (depth == 0)
        return leaf(sink);
    return deep(depth - 1) * 3 + depth;
}

static APART unsigned long with_alloca(unsigned size)
{
    unsigned char *bytes = alloca(size);
    memset(bytes, (int)size, size);
    return leaf(bytes[size / 2]) + deep(3);
}

static APART unsigned long aligned(unsigned n)
{
    _Alignas(64) volatile unsigned char bytes[256];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(n + i);
    return leaf(bytes[n % 256]) + with_alloca(100 + n % 100);
}

static int compare(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    sink = leaf((unsigned long)x);
    return (x > y) - (x < y);
}

static APART void sort(void)
{
    int numbers[64];
    for (size_t i = 0; i < 64; i++)
        numbers[i] = rand();
    qsort(numbers, 64, sizeof *numbers, compare);
}

static void on_signal(int number)
{
    (void)number;
    sink = leaf(sink) + deep(20);
}

static APART unsigned long many(unsigned n)
{
    return n < 2 ? n : many(n - 1) + many(n - 2);
}

static APART void work(void)
{
    struct timespec t;
    while (sample_count < SAMPLES) {
        sink = deep(60) + with_alloca(1000) + aligned(77) + many(12);
        sort();
        raise(SIGUSR1);
        sink = leaf(sink);
        for (int i = 0; i < 100; i++)
            clock_gettime(CLOCK_MONOTONIC, &t);
    }
}

/* --- Judging ------------------------------------------------------------------------ */

static void print_stack(const char *who, const uint64_t *addresses, size_t count)
{
    printf("#   %s:", who);
    for (size_t i = 0; i < count && i < 40; i++) {
        const struct address_map *map = space_find(&spaces, space, addresses[i] - 1);
        printf(" %s+%llx", map ? str_basename(str_of(paths[map->object])).ptr : "?",
               (unsigned long long)(map ? addresses[i] - map->start + map->offset
                                        : addresses[i]));
    }
    putchar('\n');
}

/* All of libgcc's frames must be among ours, in their order: if it stops at code
 * without a rule, we may have more. */
static bool contains(const uint64_t *ours, size_t count, const struct moment *s)
{
    size_t found = 0;
    for (size_t i = 0; i < count && found < s->truth_count; i++)
        found += ours[i] == s->truth[found];
    return s->truth_count && found == s->truth_count;
}

static bool report(int number, const char *what, size_t wrong, size_t frames)
{
    bool ok = wrong == 0 && frames > SAMPLES;
    printf("%s %d - %s: %zu of %d stacks are wrong, %zu frames\n", ok ? "ok" : "not ok",
           number, what, wrong, SAMPLES, frames);
    return ok;
}

static bool check_live(void)
{
    size_t wrong = 0, frames = 0;
    for (size_t i = 0; i < sample_count; i++) {
        struct moment *s = &samples[i];
        frames += s->truth_count;
        if (contains(s->alive, s->alive_count, s) && s->alive_end == UNWIND_WHOLE)
            continue;
        wrong++;
        print_stack("libgcc", s->truth, s->truth_count);
        print_stack("ours", s->alive, s->alive_count);
    }
    return report(1, "alive", wrong, frames);
}

static bool check_copies(void)
{
    static struct unwind_job jobs[SAMPLES];
    static uint64_t addresses[SAMPLES][FRAMES];
    static uint32_t signals[SAMPLES][(FRAMES + 31) / 32];
    struct unwind_cache *cache = unwind_cache_create(&arena);
    size_t wrong = 0, frames = 0;
    for (size_t i = 0; i < sample_count; i++)
        jobs[i] = (struct unwind_job){.machine = ARCH_X86_64,
                                      .spaces = &spaces,
                                      .space = space,
                                      .registers = samples[i].registers,
                                      .recorded = 0xff01ff,
                                      .stack = {samples[i].stack, samples[i].stack_size},
                                      .addresses = addresses[i],
                                      .signals = signals[i],
                                      .room = FRAMES};
    unwind_batch(cache, &objects, jobs, sample_count);
    for (size_t i = 0; i < sample_count; i++) {
        frames += jobs[i].count;
        if (contains(addresses[i], jobs[i].count, &samples[i]) &&
            jobs[i].end == UNWIND_WHOLE)
            continue;
        wrong++;
        print_stack("libgcc", samples[i].truth, samples[i].truth_count);
        print_stack("ours", addresses[i], jobs[i].count);
    }
    return report(2, "copies", wrong, frames);
}

int main(int argc, char **argv)
{
    struct sigaction timer = {.sa_sigaction = on_timer,
                              .sa_flags = SA_SIGINFO | SA_RESTART};
    struct itimerval often = {{0, 1000}, {0, 1000}};
    (void)argc;
    stack_top = ((uint64_t)(uintptr_t)argv | 4095) + 1;
    samples = calloc(SAMPLES, sizeof *samples);
    for (size_t i = 0; samples && i < SAMPLES; i++)
        if (!(samples[i].stack = malloc(STACK_COPY)))
            return 2;
    read_maps();
    signal(SIGUSR1, on_signal);
    sigaction(SIGPROF, &timer, NULL);
    setitimer(ITIMER_PROF, &often, NULL);
    work();
    setitimer(ITIMER_PROF, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    bool ok = check_live();
    ok &= check_copies();
    printf("1..2\n");
    spaces_deinit(&spaces);
    arena_deinit(&arena);
    return !ok;
}

#else

int main(void)
{
    puts("ok 1 - truth # SKIP not x86-64, or a sanitizer's build\n1..1");
}

#endif
