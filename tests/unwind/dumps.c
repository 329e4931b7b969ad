#include "dumps.h"
#include "unwind/source.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Constants of perf_event.h: PERF_SAMPLE_* and PERF_RECORD_* */
enum {
    SAMPLE_IP = 1 << 0,
    SAMPLE_TID = 1 << 1,
    SAMPLE_TIME = 1 << 2,
    SAMPLE_ADDR = 1 << 3,
    SAMPLE_READ = 1 << 4,
    SAMPLE_CALLCHAIN = 1 << 5,
    SAMPLE_ID = 1 << 6,
    SAMPLE_CPU = 1 << 7,
    SAMPLE_PERIOD = 1 << 8,
    SAMPLE_STREAM_ID = 1 << 9,
    SAMPLE_RAW = 1 << 10,
    SAMPLE_BRANCHES = 1 << 11,
    SAMPLE_REGS_USER = 1 << 12,
    SAMPLE_STACK_USER = 1 << 13,
    SAMPLE_IDENTIFIER = 1 << 16,
    RECORD_SAMPLE = 9,
    RECORD_MMAP2 = 10,
    MISC_USER = 2,
};

static void fail(const char *what)
{
    fprintf(stderr, "dumps: %s\n", what);
    exit(2);
}

static struct str map_file(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *at = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size)
        at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (fd >= 0)
        close(fd);
    return at == MAP_FAILED ? STR("") : (struct str){at, (size_t)st.st_size};
}

#define GROW(d, items, cap, count)                                                      \
    do {                                                                                \
        (items) = arena_grow(&(d)->arena, items, &(cap), (count) + 1, sizeof *(items)); \
        if (!(items))                                                                   \
            fail("out of memory");                                                      \
    } while (0)

struct dump_process *dumps_process(struct dumps *d, uint32_t pid)
{
    for (size_t i = 0; i < d->process_count; i++)
        if (d->processes[i].pid == pid)
            return &d->processes[i];
    GROW(d, d->processes, d->process_cap, d->process_count);
    d->processes[d->process_count] = (struct dump_process){.pid = pid};
    return &d->processes[d->process_count++];
}

/* Returns the bytes of this process's vDSO, which stands for that of each process. */
static struct str vdso_bytes(void)
{
    char line[500];
    FILE *maps = fopen("/proc/self/maps", "r");
    struct str found = STR("");
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long start, end;
        if (strstr(line, "[vdso]") && sscanf(line, "%lx-%lx", &start, &end) == 2)
            found = (struct str){(const char *)start, end - start};
    }
    if (maps)
        fclose(maps);
    return found;
}

static object_id object_of(struct dumps *d, const char *path, uint64_t id)
{
    for (size_t i = 1; i < d->object_count; i++)
        if (d->objects[i].id == id && strcmp(d->objects[i].path, path) == 0)
            return (object_id)i;
    GROW(d, d->objects, d->object_cap, d->object_count);
    d->objects[d->object_count] = (struct dump_object){
        .path = path,
        .bytes = strcmp(path, "[vdso]") == 0 ? vdso_bytes() : map_file(path),
        .id = id};
    return (object_id)d->object_count++;
}

static void read_mmap2(struct dumps *d, struct bytes b)
{
    uint32_t pid = bytes_u32(&b);
    bytes_u32(&b);
    struct address_map map = {.start = bytes_u64(&b)};
    map.end = map.start + bytes_u64(&b);
    map.offset = bytes_u64(&b);
    bytes_u64(&b);
    uint64_t inode = bytes_u64(&b);
    bytes_skip(&b, 8);
    uint32_t protection = bytes_u32(&b);
    bytes_skip(&b, 4);
    struct str path = bytes_string(&b);
    if (b.failed || !(protection & PROT_EXEC) || (int32_t)pid < 0)
        return;
    map.object = object_of(d, path.ptr, inode);
    struct dump_process *p = dumps_process(d, pid);
    p->space = space_add(&d->spaces, p->space, &map);
}

static void read_sample(struct dumps *d, struct bytes b, uint64_t type, uint64_t regs)
{
    struct unwind_job job = {.machine = ARCH_X86_64, .recorded = regs};
    uint32_t pid;
    uint64_t *values;
    if (type & SAMPLE_IDENTIFIER)
        bytes_skip(&b, 8);
    if (type & SAMPLE_IP)
        bytes_skip(&b, 8);
    pid = bytes_u32(&b);
    bytes_skip(&b, 4);
    static const unsigned words[] = {SAMPLE_ADDR, SAMPLE_ID, SAMPLE_STREAM_ID, SAMPLE_CPU,
                                     SAMPLE_PERIOD};
    uint64_t time = type & SAMPLE_TIME ? bytes_u64(&b) : 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (type & words[i])
            bytes_skip(&b, 8);
    if (type & SAMPLE_CALLCHAIN)
        bytes_skip(&b, bytes_u64(&b) * 8);
    uint64_t abi = bytes_u64(&b);
    values = arena_zalloc(&d->arena, UNWIND_REGISTERS_MAX, sizeof *values);
    if (!values)
        fail("out of memory");
    for (unsigned i = 0; abi && i < 64; i++)
        if (regs >> i & 1)
            values[i] = bytes_u64(&b);
    uint64_t size = bytes_u64(&b);
    struct str stack = bytes_take(&b, size);
    uint64_t dynamic = size ? bytes_u64(&b) : 0;
    if (b.failed || abi != 2 || size == 0)
        return;
    job.registers = values;
    job.stack = str_head(stack, dynamic);
    job.room = d->frames_room;
    job.addresses = arena_alloc(&d->arena, job.room * sizeof *job.addresses);
    job.signals = arena_alloc(&d->arena, (job.room + 31) / 32 * sizeof *job.signals);
    if (!job.addresses || !job.signals)
        fail("out of memory");
    GROW(d, d->jobs, d->cap, d->count);
    GROW(d, d->pids, d->pid_cap, d->count);
    GROW(d, d->times, d->time_cap, d->count);
    d->jobs[d->count] = job;
    d->times[d->count] = time;
    d->pids[d->count++] = pid;
}

void dumps_read(struct dumps *d, const char *path)
{
    struct str file = map_file(path);
    struct bytes head = bytes_of(file, false);
    *d = (struct dumps){.frames_room = 512};
    if (!str_equal(bytes_take(&head, 8), STR("PERFILE2")))
        fail("not a perf.data file");
    bytes_seek(&head, 24);
    uint64_t attrs = bytes_u64(&head);
    bytes_skip(&head, 8);
    uint64_t data = bytes_u64(&head), size = bytes_u64(&head);
    bytes_seek(&head, attrs + 24);
    uint64_t type = bytes_u64(&head);
    bytes_seek(&head, attrs + 80);
    uint64_t regs = bytes_u64(&head);
    uint64_t expected = SAMPLE_TID | SAMPLE_REGS_USER | SAMPLE_STACK_USER;
    uint64_t unknown = SAMPLE_READ | SAMPLE_RAW | SAMPLE_BRANCHES;
    if ((type & expected) != expected || type & unknown)
        fail("not recorded with --call-graph dwarf");
    GROW(d, d->objects, d->object_cap, 0);
    d->objects[0] = (struct dump_object){.path = ""};
    d->object_count = 1;
    struct bytes in = bytes_of(str_part(file, data, size), false);
    while (bytes_left(&in) >= 8) {
        size_t at = bytes_offset(&in);
        uint32_t kind = bytes_u32(&in);
        bytes_u16(&in);
        uint16_t length = bytes_u16(&in);
        if (length < 8)
            break;
        struct bytes record = bytes_of(bytes_take(&in, length - 8u), false);
        if (kind == RECORD_MMAP2)
            read_mmap2(d, record);
        else if (kind == RECORD_SAMPLE)
            read_sample(d, record, type, regs);
        bytes_seek(&in, at + length);
    }
    for (size_t i = 0; i < d->count; i++) {
        d->jobs[i].spaces = &d->spaces;
        d->jobs[i].space = dumps_process(d, d->pids[i])->space;
    }
}

bool dumps_tables(struct dumps *d)
{
    d->tables = arena_zalloc(&d->arena, d->object_count + 1, sizeof *d->tables);
    for (size_t i = 1; d->tables && i < d->object_count; i++) {
        struct elf *elf = arena_alloc(&d->arena, sizeof *elf);
        struct unwind_table *table = arena_alloc(&d->arena, sizeof *table);
        struct unwind_source source;
        struct error err;
        if (!elf || !table || !elf_init(elf, d->objects[i].bytes, &d->arena, &err))
            continue;
        unwind_source_of(&source, elf, NULL);
        if (unwind_table_build(table, &source, &d->arena, &err))
            d->tables[i] = table;
    }
    return d->tables != NULL;
}

const struct unwind_table *dumps_table(void *dumps, object_id object)
{
    const struct dumps *d = dumps;
    return object < d->object_count ? d->tables[object] : NULL;
}
