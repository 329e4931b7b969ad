/* Prints functions and lines of addresses with src/symbol/dwarf.h, like llvm-addr2line
 * -a -f -i. Reads hexadecimal addresses from standard input, one per line.
 *
 *    lines [-a ALTERNATE] [-p PACKAGE] [-j THREADS] [-n TIMES] [-q] FILE
 *    lines -g FILE
 *    lines -r FILE
 *
 * -g uses Go's function table instead of DWARF. -r prints the rows (address, line,
 * column, file) of the ranges "LOW HIGH" on standard input. -q prints times instead of
 * frames. -n repeats the lookups, with a new reader each time. */
#include "symbol/dwarf_package.h"
#include "symbol/go_lines.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHARES_A_THREAD 8
#define THREADS_MAX 16

struct work {
    const struct dwarf *dwarf;
    struct dwarf_query *queries;
    size_t count, share;
    size_t next; /* index of the next share */
    pthread_mutex_t lock;
    struct dwarf_reader readers[THREADS_MAX];
    int reader_count;
};

static struct str map_file(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) || !st.st_size)
        return STR("");
    void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    return bytes == MAP_FAILED ? STR("") : (struct str){bytes, (size_t)st.st_size};
}

static void check(bool ok, const struct error *err)
{
    if (ok)
        return;
    fprintf(stderr, "lines: %s\n", err->message);
    exit(1);
}

static double cpu_seconds(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)used.ru_utime.tv_sec + (double)used.ru_utime.tv_usec / 1e6 +
           (double)used.ru_stime.tv_sec + (double)used.ru_stime.tv_usec / 1e6;
}

static double wall_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A file that stays open until the end. */
struct open_file {
    struct open_file *next;
    struct elf elf;
    struct arena arena;
};

static struct open_file *open_files;
static struct arena arena; /* freed at the end */

/* The files of split units, by their name relative to comp_dir. */
static bool open_split(void *context, const struct dwarf_split *split,
                       struct dwarf_sections *out)
{
    char path[4096];
    struct error err = {.message = ""};
    if (context)
        return dwarf_package_find(context, split->id, out);
    struct open_file *opened = calloc(1, sizeof *opened);
    bool absolute = split->name.len && split->name.ptr[0] == '/';
    snprintf(path, sizeof path, "%.*s%s%.*s", absolute ? 0 : (int)split->directory.len,
             split->directory.ptr, absolute ? "" : "/", STR_ARG(split->name));
    struct str file = map_file(path);
    if (opened) {
        opened->next = open_files;
        open_files = opened;
    }
    if (!file.len || !opened || !elf_init(&opened->elf, file, &opened->arena, &err)) {
        fprintf(stderr, "lines: %s cannot be read\n", path);
        return false;
    }
    *out = dwarf_elf_sections(&opened->elf, true);
    return true;
}

static bool next_share(struct work *w, struct dwarf_query **queries, size_t *count)
{
    pthread_mutex_lock(&w->lock);
    *queries = w->queries + w->next;
    *count = dwarf_cut(*queries, w->count - w->next, w->share);
    w->next += *count;
    pthread_mutex_unlock(&w->lock);
    return *count != 0;
}

static void *run_thread(void *argument)
{
    struct work *w = argument;
    struct dwarf_query *queries;
    struct error err = {.message = ""};
    size_t count;
    pthread_mutex_lock(&w->lock);
    struct dwarf_reader *r = &w->readers[w->reader_count++];
    pthread_mutex_unlock(&w->lock);
    check(dwarf_reader_init(r, w->dwarf, &err), &err);
    while (next_share(w, &queries, &count))
        check(dwarf_find(r, queries, count, &err), &err);
    return NULL;
}

static void find_all(struct work *w, int threads)
{
    pthread_t thread[THREADS_MAX];
    w->next = 0;
    w->reader_count = 0;
    w->share =
        threads == 1 ? w->count : w->count / ((size_t)threads * SHARES_A_THREAD) + 1;
    for (int i = 1; i < threads; i++)
        pthread_create(&thread[i], NULL, run_thread, w);
    run_thread(w);
    for (int i = 1; i < threads; i++)
        pthread_join(thread[i], NULL);
}

static struct dwarf_query *read_addresses(size_t *count)
{
    size_t cap = 1024;
    struct dwarf_query *queries = malloc(cap * sizeof *queries);
    char line[100];
    for (*count = 0; queries && fgets(line, sizeof line, stdin); ++*count) {
        if (*count == cap)
            queries = realloc(queries, (cap *= 2) * sizeof *queries);
        queries[*count] = (struct dwarf_query){.address = strtoull(line, NULL, 16),
                                               .tag = (uint32_t)*count};
    }
    return queries;
}

static void print_frame(const struct dwarf_frame *f)
{
    struct str unknown = STR("??");
    printf("%.*s\n%.*s:%u\n", STR_ARG(f->name.len ? f->name : unknown),
           STR_ARG(f->file.len ? f->file : unknown), f->line);
}

static void print_all(const struct work *w)
{
    const struct dwarf_query **by_tag = calloc(w->count + 1, sizeof *by_tag);
    for (size_t i = 0; i < w->count; i++)
        by_tag[w->queries[i].tag] = &w->queries[i];
    for (size_t i = 0; i < w->count; i++) {
        printf("0x%llx\n", (unsigned long long)by_tag[i]->address);
        for (size_t k = 0; k < by_tag[i]->count; k++)
            print_frame(&by_tag[i]->frames[k]);
        if (!by_tag[i]->count)
            printf("??\n??:0\n");
    }
    free(by_tag);
}

static void print_rows(const struct dwarf *d)
{
    struct dwarf_reader r;
    struct error err = {.message = ""};
    char line[100], *rest;
    check(dwarf_reader_init(&r, d, &err), &err);
    while (fgets(line, sizeof line, stdin)) {
        struct dwarf_row *rows;
        size_t count;
        uint64_t low = strtoull(line, &rest, 16), high = strtoull(rest, NULL, 16);
        check(dwarf_rows(&r, low, high, &rows, &count, &err), &err);
        for (size_t i = 0; i < count; i++)
            printf("0x%016llx %u %u %.*s\n", (unsigned long long)rows[i].address,
                   rows[i].line, rows[i].column, STR_ARG(rows[i].file));
    }
    dwarf_reader_deinit(&r);
}

/* Repeats the lookups: prints the answers of the first run, or the time of each run. */
static void find_times(struct work *w, int threads, int times, bool quiet)
{
    double cpu = cpu_seconds(), wall = wall_seconds();
    for (int n = 0; n < times; n++) {
        find_all(w, threads);
        size_t held = arena.total;
        for (int i = 0; i < threads; i++)
            held += w->readers[i].arena.total + w->readers[i].results.total;
        if (quiet)
            printf("find: %.1f ms CPU since the start, %.1f ms wall, %.1f us an address, "
                   "%.1f MB held\n",
                   (cpu_seconds() - cpu) * 1e3, (wall_seconds() - wall) * 1e3,
                   (cpu_seconds() - cpu) * 1e6 / (double)w->count, (double)held / 1e6);
        cpu = cpu_seconds();
        wall = wall_seconds();
        if (!quiet && n == 0)
            print_all(w);
        for (int i = 0; i < threads; i++)
            dwarf_reader_deinit(&w->readers[i]);
    }
}

/* Answers from Go's function table instead of DWARF. */
static void find_go(struct work *w, struct elf *elf)
{
    struct go_table table;
    struct go_reader reader;
    struct error err = {.message = "there is no table of Go's functions"};
    check(go_table_init(&table, elf), &err);
    go_reader_init(&reader, &table);
    for (size_t i = 0; i < w->count; i++)
        go_find(&reader, &w->queries[i]);
    print_all(w);
    go_reader_deinit(&reader);
}

int main(int argc, char **argv)
{
    struct error err = {.message = ""};
    struct elf elf, alternate, packed;
    struct dwarf_package package;
    struct dwarf dwarf;
    struct work w = {.lock = PTHREAD_MUTEX_INITIALIZER};
    int threads = 1, times = 1, option;
    bool quiet = false, print_row = false, has_alternate = false, has_package = false;
    bool is_go = false;
    while ((option = getopt(argc, argv, "a:gj:n:p:qr")) != -1) {
        if (option == 'a') {
            check(elf_init(&alternate, map_file(optarg), &arena, &err), &err);
            has_alternate = true;
        }
        if (option == 'p') {
            check(elf_init(&packed, map_file(optarg), &arena, &err), &err);
            package = dwarf_elf_package(&packed);
            has_package = true;
        }
        threads = option == 'j' ? atoi(optarg) : threads;
        times = option == 'n' ? atoi(optarg) : times;
        quiet |= option == 'q';
        print_row |= option == 'r';
        is_go |= option == 'g';
    }
    if (optind >= argc || threads < 1 || threads > THREADS_MAX)
        return 2;
    w.queries = print_row ? NULL : read_addresses(&w.count);
    check(elf_init(&elf, map_file(argv[optind]), &arena, &err), &err);
    double cpu = cpu_seconds();
    struct dwarf_input input = dwarf_elf_input(&elf, has_alternate ? &alternate : NULL);
    input.split = open_split;
    input.split_context = has_package ? &package : NULL;
    check(dwarf_init(&dwarf, &input, &arena, &err), &err);
    if (quiet)
        printf("init: %.1f ms CPU, %zu units\n", (cpu_seconds() - cpu) * 1e3,
               dwarf.main.count);
    if (print_row) {
        print_rows(&dwarf);
        return 0;
    }
    check(dwarf_order(&dwarf, w.queries, w.count), &err);
    w.dwarf = &dwarf;
    if (is_go)
        find_go(&w, &elf);
    else
        find_times(&w, threads, times, quiet);
    arena_deinit(&arena);
    free(w.queries);
    fflush(stdout);
    return 0;
}
