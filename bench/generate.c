/* SPDX-License-Identifier: Apache-2.0 */
/* Writes an input for the benchmark to standard output: generate KIND MEGABYTES
 *
 *   perf         perf script text, about 40 frames per sample, one comm in fifty unique
 *   perf-comms   the same, every comm unique
 *   threads      perf script text of 5,000 threads in 40 processes, six frames per sample
 *   waits        the same, one sample in eight is the end of a wait of its thread
 *   dtrace       the same stacks as DTrace prints them
 *   samples      the same stacks folded, one line per sample
 *   folded       folded lines of about 1000 bytes, distinct, sorted
 *   shuffled     the same lines in another order
 *   deep-perf    one stack of 500,000 frames (MEGABYTES is ignored)
 *   deep-folded  the same, folded
 *
 * Stacks are walks through a call graph of several thousand functions. Each function has a
 * few callees with very different frequencies; frames near the root vary less. So stacks
 * repeat as in real profiles. Return addresses depend on the call; only the leaf's address
 * varies. All data is generated from one seed: each run is identical. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS 6000
#define KERNEL_FUNCTIONS 1200 /* the last of them */
#define CALLEES 6
#define DEPTH_MOST 64
#define DEEP 500000

#define COMMS 11 /* each has a different root function */
#define PROCESSES 40
#define PROCESS_THREADS 125
#define SHORT_DEPTH 6
#define WAITS 8 /* of so many samples one is a wait */

struct function {
    char *name;
    const char *dso;
    uint64_t address;
    uint32_t callees[CALLEES];
};

struct walk {
    uint32_t functions[DEPTH_MOST]; /* outermost first */
    uint64_t addresses[DEPTH_MOST];
    size_t depth;
    uint32_t comm;
};

static struct function functions[FUNCTIONS];
static uint64_t seed = 20;

static uint32_t random_below(uint32_t limit)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 32) * limit >> 32);
}

static const char *pick(const char *const *words, size_t count)
{
    return words[random_below((uint32_t)count)];
}

#define PICK(words) pick(words, sizeof(words) / sizeof *(words))

/* --- Names --------------------------------------------------------------------- */

static const char *const subsystems[] = {
    "http",   "event", "ssl",    "mem",    "page",   "cache", "query", "index",
    "btree",  "log",   "lock",   "net",    "sock",   "file",  "json",  "regex",
    "hash",   "list",  "string", "stream", "timer",  "task",  "pool",  "buffer",
    "parser", "codec", "render", "layout", "shader", "vm"};
static const char *const verbs[] = {
    "read",     "write",  "process",  "handle",  "find",  "insert", "remove",
    "update",   "alloc",  "free",     "compare", "copy",  "parse",  "format",
    "dispatch", "submit", "complete", "lookup",  "merge", "split",  "flush",
    "poll",     "init",   "check",    "encode",  "decode"};
static const char *const things[] = {
    "request", "response", "header",  "body",  "entry", "node",  "page",  "block",
    "row",     "column",   "value",   "key",   "range", "token", "frame", "packet",
    "chunk",   "object",   "context", "state", "queue", "table", "slot",  "record"};
static const char *const namespaces[] = {"std",
                                         "boost::asio::detail",
                                         "folly",
                                         "rocksdb",
                                         "v8::internal",
                                         "blink",
                                         "llvm",
                                         "absl::container_internal",
                                         "(anonymous namespace)",
                                         "mozilla::dom",
                                         "google::protobuf"};
static const char *const classes[] = {
    "Connection",  "Scheduler", "BlockBasedTable", "Compiler", "Parser",
    "HashTable",   "Arena",     "Document",        "Iterator", "Executor",
    "MessageLite", "Allocator", "Session",         "Router"};
static const char *const arguments[] = {"",
                                        "",
                                        "",
                                        "",
                                        "",
                                        "",
                                        "",
                                        "",
                                        "int",
                                        "void*",
                                        "unsigned long, bool",
                                        "std::string const&",
                                        "rocksdb::Slice const&, rocksdb::Slice*",
                                        "std::vector<int, std::allocator<int> > const&",
                                        "char const*, unsigned long",
                                        "std::shared_ptr<folly::IOBuf>&&"};
static const char *const parameters[] = {"",
                                         "",
                                         "",
                                         "<int>",
                                         "<std::string, int>",
                                         "<unsigned long, (bool)1>",
                                         "<std::pair<int const, std::string> >"};
static const char *const dsos[] = {"/usr/sbin/nginx",
                                   "/usr/lib/x86_64-linux-gnu/libc.so.6",
                                   "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30",
                                   "/opt/app/bin/server",
                                   "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
                                   "/opt/app/lib/librocksdb.so.8.1",
                                   "/usr/lib/postgresql/15/bin/postgres",
                                   "/usr/bin/python3.11"};
static const char *const comms[COMMS] = {
    "nginx",   "postgres",     "server",         "java",
    "python3", "rocksdb:low0", "Web Content",    "kworker/u8:2-ev",
    "swapper", "redis-server", "containerd-shim"};
static const char *const kernel_prefixes[] = {
    "", "__", "do_", "tcp_", "ext4_", "sched_", "vfs_", "blk_mq_", "skb_", "__x64_sys_"};

static void make_name(char *out, size_t size, uint32_t n)
{
    const char *subsystem = PICK(subsystems), *verb = PICK(verbs), *thing = PICK(things);
    if (n >= FUNCTIONS - KERNEL_FUNCTIONS)
        snprintf(out, size, "%s%s_%s_%s", PICK(kernel_prefixes), subsystem, verb, thing);
    else if (n % 3 == 0)
        snprintf(out, size, "%s_%s_%s", subsystem, verb, thing);
    else
        snprintf(out, size, "%s::%s%s::%s%c%s(%s)%s", PICK(namespaces), PICK(classes),
                 PICK(parameters), verb, thing[0] - 'a' + 'A', thing + 1, PICK(arguments),
                 n % 5 ? "" : " const");
}

static void make_functions(void)
{
    for (uint32_t n = 0; n < FUNCTIONS; n++) {
        struct function *f = &functions[n];
        bool kernel = n >= FUNCTIONS - KERNEL_FUNCTIONS;
        uint32_t first = kernel ? FUNCTIONS - KERNEL_FUNCTIONS : 0;
        uint32_t count = kernel ? KERNEL_FUNCTIONS : FUNCTIONS - KERNEL_FUNCTIONS;
        char name[400];
        make_name(name, sizeof name, n);
        f->name = strdup(name);
        f->dso = kernel ? "[kernel.kallsyms]" : dsos[n % (sizeof dsos / sizeof *dsos)];
        f->address =
            kernel ? 0xffffffff81000000u + n * 4096ull : 0x7f3c00000000u + n * 8192ull;
        for (int i = 0; i < CALLEES; i++)
            f->callees[i] = first + random_below(count);
        if (n % 40 == 7)
            f->name[0] = 0; /* unknown */
    }
}

/* --- Walks --------------------------------------------------------------------- */

/* Probability in percent of a callee other than the first. */
static uint32_t straying(size_t depth)
{
    return depth < 6 ? 6 : depth < 28 ? 1 : 7;
}

static void step(struct walk *w, uint32_t function, uint64_t offset)
{
    w->functions[w->depth] = function;
    w->addresses[w->depth++] = functions[function].address + offset;
}

static void make_walk(struct walk *w)
{
    size_t depth = 38 + 2 * random_below(3), into_kernel = 999;
    w->comm = random_below(8) ? random_below(3) : random_below(COMMS);
    w->depth = 0;
    uint32_t at = w->comm;
    if (random_below(3) == 0)
        into_kernel = depth - 9;
    while (w->depth + 1 < depth) {
        uint32_t callee = 0;
        while (callee < CALLEES - 1 && random_below(100) < straying(w->depth))
            callee++;
        step(w, at, callee * 0x35 + at % 64 + 0x12);
        at = functions[at].callees[callee];
        if (w->depth == into_kernel)
            at = FUNCTIONS - KERNEL_FUNCTIONS + random_below(4);
    }
    step(w, at, random_below(random_below(8) ? 4 : 40) * 7);
}

/* --- The formats --------------------------------------------------------------- */

static size_t written;

static void wrote(int length)
{
    if (length < 0)
        exit(1);
    written += (size_t)length;
}

static const char *shown_name(const struct function *f)
{
    return f->name[0] ? f->name : "[unknown]";
}

static void write_frames(const struct walk *w)
{
    for (size_t i = w->depth; i-- > 0;) {
        const struct function *f = &functions[w->functions[i]];
        if (f->name[0])
            wrote(printf("\t%16llx %s+0x%llx (%s)\n", (unsigned long long)w->addresses[i],
                         f->name, (unsigned long long)(w->addresses[i] - f->address),
                         f->dso));
        else
            wrote(printf("\t%16llx [unknown] (%s)\n", (unsigned long long)w->addresses[i],
                         f->dso));
    }
    wrote(printf("\n"));
}

static void write_perf(const struct walk *w, uint64_t number, bool unique)
{
    static uint64_t ns = 4096123456789u;
    char comm[32];
    uint32_t who = w->comm;
    ns += 10000 + random_below(300000);
    snprintf(comm, sizeof comm, "%s", comms[who]);
    if (unique || random_below(50) == 0)
        snprintf(comm, sizeof comm, "job-%llu", (unsigned long long)number);
    wrote(printf("%-16s %5u/%-5u [%03u] %5llu.%06llu: %10u cycles:P: \n", comm,
                 1000 + who, 1000 + who * 8 + random_below(8), random_below(16),
                 (unsigned long long)(ns / 1000000000),
                 (unsigned long long)(ns / 1000 % 1000000),
                 100000 + random_below(900000)));
    write_frames(w);
}

/* The header of a sample of a thread at `ns`; of a wait, its reason too. A wait is shorter than the time
 * since the thread's last sample. */
static void write_thread_head(uint32_t process, uint32_t thread, uint64_t ns, bool waits)
{
    static const char *const reasons[] = {"lock", "io", "sleep", "network"};
    static uint64_t last[PROCESSES][PROCESS_THREADS];
    uint32_t pid = 2000 + process * PROCESS_THREADS;
    uint64_t since = ns - last[process][thread];
    waits =
        waits && last[process][thread]; /* so the first event of the file is the CPU's */
    uint32_t most = since < 100000000 ? (uint32_t)since : 100000000;
    uint32_t value = waits ? 1 + random_below(most) : 100000 + random_below(900000);
    last[process][thread] = ns;
    wrote(printf("service-%-8u %5u/%-5u [%03u] %5llu.%09llu: %10u %s: \n", process, pid,
                 pid + thread, random_below(16), (unsigned long long)(ns / 1000000000),
                 (unsigned long long)(ns % 1000000000), value,
                 waits ? "off-cpu" : "cycles:P"));
    if (waits)
        wrote(printf("\t%16x [%s] ([%s])\n", 0, PICK(reasons), "off-cpu"));
}

/* The busier half of the processes has most samples. */
static void write_thread(bool some_wait)
{
    static uint64_t ns = 4096123456789u;
    uint32_t process =
        random_below(4) ? random_below(PROCESSES / 2) : random_below(PROCESSES);
    struct walk w = {.depth = 0};
    uint32_t at = process;
    ns += 1000 + random_below(3000);
    write_thread_head(process, random_below(PROCESS_THREADS), ns,
                      some_wait && random_below(WAITS) == 0);
    while (w.depth < SHORT_DEPTH) {
        uint32_t callee = 0;
        while (callee < CALLEES - 1 && random_below(100) < straying(w.depth))
            callee++;
        step(&w, at, callee * 0x35 + 0x12);
        at = functions[at].callees[callee];
    }
    write_frames(&w);
}

static void write_dtrace(const struct walk *w)
{
    if (written == 0)
        wrote(printf("CPU     ID                    FUNCTION:NAME\n"
                     "  0  64091                        :tick-60s \n\n"));
    wrote(printf("\n"));
    for (size_t i = w->depth; i-- > 0;) {
        const struct function *f = &functions[w->functions[i]];
        const char *slash = strrchr(f->dso, '/');
        wrote(printf("              %s`%s+0x%llx\n", slash ? slash + 1 : "genunix",
                     f->name[0] ? f->name : "0x7f3c1234",
                     (unsigned long long)(w->addresses[i] - f->address)));
    }
    wrote(printf("%17u\n", 1 + random_below(20)));
}

static char *folded_line(const struct walk *w)
{
    char line[DEPTH_MOST * 200];
    size_t used = 0;
    for (size_t i = 0; i < w->depth; i++)
        used += (size_t)snprintf(line + used, sizeof line - used, "%s%s", i ? ";" : "",
                                 shown_name(&functions[w->functions[i]]));
    return strdup(line);
}

static void write_sample(const struct walk *w)
{
    char *line = folded_line(w);
    wrote(printf("%s;%s %u\n", comms[w->comm], line, 1 + random_below(20)));
    free(line);
}

/* --- Folded lines: generated, sorted, made distinct, written ------------------- */

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void write_folded(size_t bytes, bool shuffled)
{
    size_t room = bytes / 300 + 1000, count = 0, made = 0, distinct = 0;
    char **lines = malloc(room * sizeof *lines);
    while (made < bytes && count < room) {
        struct walk w;
        make_walk(&w);
        w.depth = 19 + random_below(6);
        for (size_t i = 14; i < w.depth; i++) /* each once: they must differ */
            w.functions[i] = functions[w.functions[i - 1]].callees[random_below(CALLEES)];
        lines[count] = folded_line(&w);
        made += strlen(lines[count++]) + 3;
    }
    qsort(lines, count, sizeof *lines, compare_lines);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(lines[i], lines[distinct - 1]) != 0)
            lines[distinct++] = lines[i];
    for (size_t i = distinct; shuffled && i > 1; i--) {
        size_t j = random_below((uint32_t)i);
        char *line = lines[i - 1];
        lines[i - 1] = lines[j];
        lines[j] = line;
    }
    for (size_t i = 0; i < distinct; i++)
        wrote(printf("%s %u\n", lines[i], 1 + random_below(50)));
}

static void write_deep(bool folded)
{
    if (!folded)
        wrote(printf("deep  1/1 [000] 1.000000: 1 cycles:P: \n"));
    for (uint32_t i = 0; i < DEEP; i++) {
        const struct function *f = &functions[3 + i % 12 * 3]; /* they recur */
        if (folded)
            wrote(printf("%s%s", i ? ";" : "deep;", shown_name(f)));
        else
            wrote(printf("\t%16llx %s+0x10 (%s)\n", (unsigned long long)f->address + 16,
                         shown_name(f), f->dso));
    }
    wrote(printf(folded ? " 1\n" : "\n"));
}

/* Writes samples of one format up to the requested number of bytes. */
static void write_samples(const char *kind, size_t bytes)
{
    bool some_wait = strcmp(kind, "waits") == 0;
    for (uint64_t n = 0; written < bytes; n++) {
        struct walk w;
        if (some_wait || strcmp(kind, "threads") == 0) {
            write_thread(some_wait);
            continue;
        }
        make_walk(&w);
        if (strcmp(kind, "dtrace") == 0)
            write_dtrace(&w);
        else if (strcmp(kind, "samples") == 0)
            write_sample(&w);
        else
            write_perf(&w, n, strcmp(kind, "perf-comms") == 0);
    }
}

static bool is_one_of(const char *kind, const char *const *kinds)
{
    while (*kinds && strcmp(kind, *kinds) != 0)
        kinds++;
    return *kinds != NULL;
}

int main(int argc, char **argv)
{
    static const char *const samples[] = {"perf",   "perf-comms", "threads", "waits",
                                          "dtrace", "samples",    NULL};
    static const char *const lines[] = {"folded", "shuffled", NULL};
    static const char *const deep[] = {"deep-perf", "deep-folded", NULL};
    const char *kind = argc == 3 ? argv[1] : "";
    size_t bytes = argc == 3 ? strtoul(argv[2], NULL, 10) * 1000000 : 0;
    make_functions();
    if (is_one_of(kind, samples)) {
        write_samples(kind, bytes);
    } else if (is_one_of(kind, lines)) {
        write_folded(bytes, strcmp(kind, "shuffled") == 0);
    } else if (is_one_of(kind, deep)) {
        write_deep(strcmp(kind, "deep-folded") == 0);
    } else {
        fprintf(stderr, "usage: generate KIND MEGABYTES\n");
        return 2;
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
