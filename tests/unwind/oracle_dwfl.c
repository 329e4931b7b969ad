/* Compares the stack dumps of a recording, unwound by libdwfl (elfutils) and by
 * src/unwind, frame by frame. libdwfl gets the same registers and bytes, and the same
 * files at the recorded addresses.
 *
 *    oracle_dwfl RECORDING [SYMFS]
 *
 * prints the stacks that differ, then "stacks N frames OURS DWFL equal E more M fewer F
 * invented I". Frames are equal if they have the same address at the same depth;
 * invented are those of libdwfl that are not mapped in the process. */
#include "import/importer.h"
#include "resolve/local_resolver.h"
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FRAMES_MAX 1024
#define REGISTERS 17
#define FILES_MAX 4096

/* perf's numbers of x86-64 registers, by DWARF number. */
static const unsigned char perf_numbers[REGISTERS] = {0,  3,  2,  1,  4,  5,  6,  7, 16,
                                                      17, 18, 19, 20, 21, 22, 23, 8};

/* libdwfl's modules of a space: rebuilt when the space changes. */
struct modules {
    Dwfl *dwfl;
    uint64_t serial;
    bool attached;
};

static struct {
    struct resolver inner, outer;
    char *paths[FILES_MAX]; /* by object */
    char vdso[64];
    const char *symfs;            /* or NULL */
    const struct unwind_job *job; /* the current one */
    uint64_t frames[FRAMES_MAX];
    size_t count;
    struct modules modules;
    size_t stacks, ours, theirs, equal, more, fewer, invented;
} o;

/* --- What libdwfl asks ------------------------------------------------------------- */

static pid_t next_thread(Dwfl *dwfl, void *context, void **thread)
{
    (void)dwfl;
    (void)context;
    if (*thread)
        return 0;
    *thread = &o;
    return 1;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *value, void *context)
{
    uint64_t word, offset = address - o.job->registers[7];
    (void)dwfl;
    (void)context;
    if (offset > o.job->stack.len || o.job->stack.len - offset < sizeof word)
        return false;
    memcpy(&word, o.job->stack.ptr + offset, sizeof word);
    *value = word;
    return true;
}

static bool set_registers(Dwfl_Thread *thread, void *context)
{
    Dwarf_Word registers[REGISTERS];
    (void)context;
    for (unsigned i = 0; i < REGISTERS; i++)
        registers[i] = o.job->registers[perf_numbers[i]];
    return dwfl_thread_state_registers(thread, 0, REGISTERS, registers);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
    .next_thread = next_thread,
    .memory_read = read_memory,
    .set_initial_registers = set_registers,
};

static int add_frame(Dwfl_Frame *frame, void *context)
{
    Dwarf_Addr pc;
    bool is_activation;
    (void)context;
    if (o.count >= FRAMES_MAX || !dwfl_frame_pc(frame, &pc, &is_activation) || pc == 0)
        return DWARF_CB_ABORT;
    /* Without rules libdwfl follows the frame pointer to any address. An address
     * outside mapped code is not a caller, and neither is anything found from it. */
    const struct address_map *map = space_find(o.job->spaces, o.job->space, pc - 1);
    if (o.count && (!map || map->no_code)) {
        o.invented++;
        return DWARF_CB_ABORT;
    }
    o.frames[o.count++] = pc;
    return DWARF_CB_OK;
}

static char no_path[] = "";
static char *debug_path = no_path;

static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .debuginfo_path = &debug_path,
    .section_address = dwfl_offline_section_address,
};

/* --- Modules ----------------------------------------------------------------------- */

/* Reports the file at its mapped position, with its first byte at `start`. */
static void report_module(Dwfl *dwfl, object_id object, uint64_t start)
{
    const char *path = object < FILES_MAX ? o.paths[object] : NULL;
    if (!path)
        return;
    char below[4096];
    snprintf(below, sizeof below, "%s%s", o.symfs ? o.symfs : "", path);
    const char *file = strcmp(path, "[vdso]") ? below : o.vdso;
    dwfl_report_elf(dwfl, path, file, -1, start, false);
}

static void make_modules(const struct unwind_job *job)
{
    struct modules *m = &o.modules;
    uint64_t serial = space_hash(job->spaces, job->space), at = 0;
    const struct address_map *map;
    object_id last = 0;
    if (m->dwfl && m->serial == serial)
        return;
    if (m->dwfl)
        dwfl_end(m->dwfl);
    *m = (struct modules){.dwfl = dwfl_begin(&callbacks), .serial = serial};
    dwfl_report_begin(m->dwfl);
    while ((map = space_from(job->spaces, job->space, at))) {
        if (map->object != last)
            report_module(m->dwfl, map->object, map->start - map->offset);
        last = map->object;
        at = map->end;
    }
    dwfl_report_end(m->dwfl, NULL, NULL);
    m->attached = dwfl_attach_state(m->dwfl, NULL, 1, &thread_callbacks, &o);
}

/* --- Comparing --------------------------------------------------------------------- */

static void print_stacks(const struct unwind_job *job)
{
    size_t most = job->count > o.count ? job->count : o.count;
    printf("stack at %llx: ours ends with %d\n", (unsigned long long)job->registers[8],
           (int)job->end);
    for (size_t i = 0; i < most; i++) {
        uint64_t a = i < job->count ? job->addresses[i] : 0;
        uint64_t b = i < o.count ? o.frames[i] : 0;
        const struct address_map *map = space_find(job->spaces, job->space, a ? a : b);
        const char *path = map && map->object < FILES_MAX ? o.paths[map->object] : NULL;
        printf(" %c %12llx %12llx %s+%llx\n", a == b ? ' ' : '!', (unsigned long long)a,
               (unsigned long long)b, path ? path : "?",
               map ? (unsigned long long)((a ? a : b) - map->start + map->offset) : 0);
    }
}

static void compare(const struct unwind_job *job)
{
    o.job = job;
    o.count = 0;
    make_modules(job);
    if (o.modules.attached)
        dwfl_getthread_frames(o.modules.dwfl, 1, add_frame, NULL);
    size_t equal = 0;
    for (size_t i = 0; i < job->count && i < o.count; i++)
        equal += job->addresses[i] == o.frames[i];
    o.stacks++;
    o.ours += job->count;
    o.theirs += o.count;
    o.equal += equal;
    o.more += job->count > o.count ? job->count - o.count : 0;
    o.fewer += job->count < o.count ? o.count - job->count : 0;
    if (equal != job->count || equal != o.count)
        print_stacks(job);
}

/* --- In between the reader and the resolver ---------------------------------------- */

static object_id add_object(void *context, const struct object_request *expected)
{
    object_id id = o.inner.object(o.inner.context, expected);
    (void)context;
    if (id < FILES_MAX && !o.paths[id])
        o.paths[id] = strndup(expected->path.ptr, expected->path.len);
    return id;
}

static void unwind(void *context, unsigned worker, struct unwind_job *jobs, size_t count)
{
    (void)context;
    o.inner.unwind(o.inner.context, worker, jobs, count);
    for (size_t i = 0; i < count; i++)
        compare(&jobs[i]);
}

static void name(void *context, struct name_job *jobs, size_t count)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        jobs[i].count = 0;
}

/* libdwfl needs a file. */
static void write_vdso(void)
{
    const char *vdso = (const char *)getauxval(AT_SYSINFO_EHDR);
    strcpy(o.vdso, "/tmp/stoke-vdso-XXXXXX");
    int fd = mkstemp(o.vdso);
    if (fd < 0 || !vdso || write(fd, vdso, 8192) != 8192)
        fprintf(stderr, "oracle_dwfl: no vdso\n");
    if (fd >= 0)
        close(fd);
}

static struct str map_file(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        return STR("");
    void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    return bytes == MAP_FAILED ? STR("") : (struct str){bytes, (size_t)st.st_size};
}

static bool run(const char *path)
{
    struct error err = {0};
    struct builder b;
    struct resolve_settings settings = {
        .no_inline = true, .no_lines = true, .threads = 1};
    settings.find.symfs = o.symfs;
    struct local_resolver *machine = local_resolver_create(&settings);
    struct source in = source_of(map_file(path), str_of(path));
    const struct importer *im = importer_named(STR("perf-data"));
    if (!machine || !im || !builder_init(&b, BUILD_COUNT))
        return false;
    o.inner = local_resolver_interface(machine);
    o.outer = (struct resolver){.object = add_object, .unwind = unwind, .name = name};
    struct import_options options = {.resolver = &o.outer};
    bool ok = import_read(im, &in, &options, &b, &err);
    if (!ok)
        fprintf(stderr, "oracle_dwfl: %s\n", err.message);
    builder_deinit(&b);
    local_resolver_destroy(machine);
    return ok;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 1;
    o.symfs = argc > 2 ? argv[2] : NULL;
    write_vdso();
    bool ok = run(argv[1]);
    unlink(o.vdso);
    if (!ok)
        return 1;
    printf("stacks %zu frames %zu %zu equal %zu more %zu fewer %zu invented %zu\n",
           o.stacks, o.ours, o.theirs, o.equal, o.more, o.fewer, o.invented);
    return 0;
}
