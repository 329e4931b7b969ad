/* SPDX-License-Identifier: Apache-2.0 */
/* The mapped files: files of processes, the kernel and its modules, guests, code without
 * a file. Names are perf's (tools/perf/util/map.c, dso.c). */
#include "base/array.h"
#include "base/format.h"
#include "base/output.h"
#include "import/perf_data/profile.h"
#include "perf/interpreted.h"

/* The id of the file with that key, and whether it is new. 0 if out of memory. */
static uint32_t file_number(struct perf_profile *p, struct str key, bool *is_new)
{
    size_t before = p->keys.count;
    uint32_t number = strings_add(&p->keys, key);
    *is_new = number && p->keys.count > before;
    if (!*is_new)
        return number;
    if (!ARRAY_RESERVE(&p->maps, p->files, p->file_cap, number + 1))
        return 0;
    p->files[number] =
        (struct perf_file){.module = STR(""), .build_id = STR(""), .symbol = STR("")};
    return number;
}

bool perf_files_init(struct perf_profile *p)
{
    static const char *const names[] = {"", "[kernel.kallsyms]",
                                        "[guest.kernel.kallsyms]", "[guest]"};
    bool is_new;
    if (!strings_init(&p->keys, &p->maps))
        return false;
    p->files = arena_grow(&p->maps, NULL, &p->file_cap, 16, sizeof *p->files);
    for (uint32_t i = 0; p->files && i <= FILE_GUEST_USER; i++) {
        uint32_t number = i ? file_number(p, str_of(names[i]), &is_new) : 0;
        if (number == i)
            p->files[i] = (struct perf_file){.module = str_of(names[i]),
                                             .build_id = STR(""),
                                             .symbol = STR(""),
                                             .by_address = true};
    }
    p->kernel = (struct perf_scope){0, ++p->processes.versions, FILE_KERNEL};
    p->guest = (struct perf_scope){0, ++p->processes.versions, FILE_GUEST_KERNEL};
    return !p->maps.failed;
}

static struct str hexadecimal(struct perf_profile *p, struct str raw)
{
    char text[41];
    size_t n = 0;
    for (size_t i = 0; i < raw.len && i < 20; i++)
        n += format_text(text + n, sizeof text - n, "%02x", (unsigned char)raw.ptr[i]);
    return arena_str(&p->maps, (struct str){text, n});
}

/* "/lib/modules/6.1/ext4.ko.xz" -> "[ext4]". Modules with a build ID keep their path, as
 * in perf; so does everything else. */
static struct str kernel_module_name(struct perf_profile *p, struct str path,
                                     bool identified)
{
    struct str base = str_basename(path);
    size_t end = str_search(base, STR(".ko"));
    if (str_starts(path, STR("[kernel.kallsyms]")) ||
        str_starts(path, STR("[guest.kernel.kallsyms")))
        return arena_str(&p->maps, str_head(path, str_find(path, ']') + 1));
    if (end == base.len || identified)
        return arena_str(&p->maps, path);
    char *name = arena_alloc(&p->maps, end + 2);
    if (!name)
        return STR("");
    name[0] = '[';
    for (size_t i = 0; i < end; i++)
        name[i + 1] = base.ptr[i] == '-' ? '_' : base.ptr[i];
    name[end + 1] = ']';
    return (struct str){name, end + 2};
}

/* The build ID in the recording's header. */
static struct str recorded_build_id(const struct perf_profile *p, struct str path,
                                    bool of_kernel)
{
    bool itself = of_kernel && str_starts(path, STR("[kernel.kallsyms]"));
    return perf_data_build_id(&p->data, itself ? STR("[kernel.kallsyms]") : path);
}

void perf_files_finish(struct perf_profile *p)
{
    size_t i =
        p->files_finished > FILE_GUEST_USER ? p->files_finished : FILE_GUEST_USER + 1;
    for (; i < p->keys.count && i < p->file_cap; i++) {
        struct perf_file *file = &p->files[i];
        if (file->build_id.len == 0)
            file->build_id =
                arena_str(&p->maps, recorded_build_id(p, file->module, file->of_kernel));
        if (file->of_kernel)
            file->module = kernel_module_name(p, file->module, file->build_id.len);
    }
    p->files_finished = i;
}

/* Executable memory without a file: code of a JIT, named by a perf map. */
static bool is_jit(const struct perf_record *r, const struct perf_mmap *m)
{
    bool executable = r->type == PERF_MMAP || m->protection & PERF_PROTECTION_EXEC;
    return executable &&
           (str_equal(m->path, STR("//anon")) || str_starts(m->path, STR("/dev/zero")) ||
            str_starts(m->path, STR("/anon_hugepage")) || m->flags & PERF_MAP_HUGE_TLB);
}

static unsigned hex_digit(char c)
{
    return c >= '0' && c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
}

/* Undoes the percent-encoding of a function's name. */
static struct str unescape(struct perf_profile *p, struct str text)
{
    char *name = arena_alloc(&p->maps, text.len + 1);
    size_t n = 0;
    for (size_t i = 0; name && i < text.len; i++) {
        bool coded = text.ptr[i] == '%' && i + 2 < text.len &&
                     hex_digit(text.ptr[i + 1]) < 16 && hex_digit(text.ptr[i + 2]) < 16;
        name[n++] =
            coded ? (char)(hex_digit(text.ptr[i + 1]) << 4 | hex_digit(text.ptr[i + 2]))
                  : text.ptr[i];
        i += coded ? 2 : 0;
    }
    return name ? (struct str){name, n} : STR("");
}

/* Whether a map is a function of an interpreted program: //interpreted/LANGUAGE/FILE/NAME. */
static bool is_interpreted(const struct perf_mmap *m)
{
    return str_starts(m->path, STR(PERF_INTERPRETED_PREFIX)) &&
           perf_is_interpreted(m->start) && m->start % PERF_INTERPRETED_SIZE == 0 &&
           m->size <= PERF_INTERPRETED_SIZE;
}

static void describe_interpreted(struct perf_profile *p, struct perf_file *file,
                                 struct str path)
{
    struct str rest = str_skip(path, sizeof PERF_INTERPRETED_PREFIX - 1);
    str_cut(&rest, '/'); /* the language */
    size_t last = str_rfind(rest, '/');
    bool has_file = last < rest.len;
    file->is_interpreted = true;
    file->module = arena_str(&p->maps, has_file ? str_head(rest, last) : STR(""));
    file->symbol = unescape(p, has_file ? str_skip(rest, last + 1) : rest);
}

/* The file of a map. The same path can be different files in different containers. */
static uint32_t file_of_map(struct perf_profile *p, const struct perf_mmap *m,
                            enum frame_kind kind, struct str build_id)
{
    char tail[160];
    struct output key = OUTPUT_BUFFER;
    bool jit = kind == FRAME_JIT, kernel = kind == FRAME_KERNEL || kind == FRAME_GUEST;
    size_t tail_size = format_text(
        tail, sizeof tail, "%.*s %llx %x %x %x", STR_ARG(str_head(build_id, 64)),
        (unsigned long long)m->inode, m->major, m->minor, jit ? m->pid : (uint32_t)kind);
    output_str(&key, m->path);
    output_char(&key, 0);
    output_bytes(&key, tail, tail_size);
    bool is_new;
    uint32_t number = key.failed ? 0 : file_number(p, output_contents(&key), &is_new);
    p->maps.failed |= key.failed;
    output_deinit(&key);
    if (number == 0 || !is_new)
        return number;
    struct perf_file *file = &p->files[number];
    file->by_address = jit || kernel;
    file->of_kernel = kernel;
    file->start = m->offset ? m->offset : m->start;
    file->build_id = arena_str(&p->maps, build_id);
    file->module = arena_str(&p->maps, m->path);
    if (jit) {
        size_t n = format_text(tail, sizeof tail, "/tmp/perf-%d.map", (int)m->pid);
        file->module = arena_str(&p->maps, (struct str){tail, n});
    }
    if (kind == FRAME_USER && is_interpreted(m)) {
        describe_interpreted(p, file, m->path);
        return number;
    }
    if (!p->resolver)
        return number;
    uint64_t end = m->start + m->size;
    struct object_request request = {
        .path = jit ? file->module : m->path,
        .build_id = build_id,
        .pid = m->pid == PERF_ID_NONE ? ID_NONE : (int64_t)m->pid,
        .kind = kind,
        .start = m->start,
        .end = end > m->start ? end : UINT64_MAX,
        .offset = m->offset,
        .reference = kernel ? m->offset : 0,
        .major = m->major,
        .minor = m->minor,
        .inode = m->inode,
        .written = p->options->written,
        .host = p->data.facts.host,
        .release = p->data.facts.release,
        .jit_map = jit ? perf_data_jit_map(&p->data, m->pid) : STR(""),
    };
    file->object = p->resolver->object(p->resolver->context, &request);
    return number;
}

uint32_t perf_file_marker(struct perf_profile *p, struct str name, enum frame_kind kind)
{
    struct output key = OUTPUT_BUFFER;
    bool is_new = false;
    output_str(&key, kind == FRAME_WAKER ? STR("waker") : STR("marker"));
    output_char(&key, 0);
    output_str(&key, name);
    uint32_t number = key.failed ? 0 : file_number(p, output_contents(&key), &is_new);
    p->maps.failed |= key.failed;
    output_deinit(&key);
    if (is_new && p->files[number].symbol.len == 0) {
        p->files[number].symbol = arena_str(&p->maps, name);
        p->files[number].marker = (uint8_t)kind;
    }
    return number;
}

/* Adds a map to the kernel's or the guest's. */
static void map_shared(struct perf_profile *p, struct perf_scope *scope,
                       const struct address_map *map)
{
    scope->space = space_add(&p->processes.spaces, scope->space, map);
    scope->version = ++p->processes.versions;
}

#define KERNEL_REGION ((uint64_t)1 << 30)

/* perf's map of the kernel ends at _etext. After it is the code that starts the machine,
 * which contains callers of idle tasks. The kernel has a region of a gigabyte
 * (Documentation/arch/x86/x86_64/mm.rst); later maps replace parts of it. */
static uint64_t kernel_end(const struct perf_mmap *m, uint64_t end)
{
    bool is_image =
        str_starts(m->path, STR("[kernel.kallsyms]")) && end > m->start && m->start >> 63;
    return is_image ? (m->start | (KERNEL_REGION - 1)) + 1 : end;
}

/* Some recorders write no protection. */
static bool is_data(const struct perf_record *r, const struct perf_mmap *m)
{
    return r->misc & PERF_MISC_MMAP_DATA ||
           (m->protection && !(m->protection & PERF_PROTECTION_EXEC));
}

static void map_file(struct perf_profile *p, const struct perf_record *r,
                     const struct perf_mmap *m)
{
    uint32_t mode = r->misc & PERF_CPU_MODE;
    bool guest = mode == PERF_MODE_GUEST_KERNEL || mode == PERF_MODE_GUEST_USER;
    bool kernel = mode == PERF_MODE_KERNEL || mode == PERF_MODE_GUEST_KERNEL;
    enum frame_kind kind = guest          ? FRAME_GUEST
                           : kernel       ? FRAME_KERNEL
                           : is_jit(r, m) ? FRAME_JIT
                                          : FRAME_USER;
    struct str build_id = m->build_id.len ? hexadecimal(p, m->build_id)
                                          : recorded_build_id(p, m->path, kernel);
    if (guest && !kernel) /* processes of guests cannot be distinguished */
        return;
    struct address_map map = {.start = m->start,
                              .end = m->start + m->size,
                              .offset = m->offset,
                              .tag = file_of_map(p, m, kind, build_id)};
    if (kernel && !guest)
        map.end = kernel_end(m, map.end);
    if (map.end < map.start || (kernel && map.end == 0))
        map.end = UINT64_MAX;
    map.object = map.tag ? p->files[map.tag].object : 0;
    map.no_code = !kernel && is_data(r, m);
    if (str_equal(m->path, STR("[vdso]")))
        map.offset = 0;
    else if (kind == FRAME_JIT)
        map.offset = m->start;
    if (p->files[map.tag].by_address)
        map.offset = map.start;
    struct perf_scope *shared = guest ? &p->guest : &p->kernel;
    if (kernel) {
        map_shared(p, shared, &map);
        shared->otherwise = FILE_NONE;
    } else {
        processes_map(&p->processes, m->pid, &map);
    }
}

/* A single function of the kernel: a BPF program, a trampoline. */
static void map_symbol(struct perf_profile *p, const struct perf_symbol *s)
{
    struct output key = OUTPUT_BUFFER;
    bool is_new;
    if (s->flags & 1 || s->name.len == 0)
        return; /* removed: its successor has a record of its own */
    output_str(&key, STR("symbol"));
    output_char(&key, 0);
    output_str(&key, s->name);
    output_format(&key, " %llx",
                  (unsigned long long)s->address); /* it may be loaded twice */
    uint32_t number = key.failed ? 0 : file_number(p, output_contents(&key), &is_new);
    p->maps.failed |= key.failed;
    output_deinit(&key);
    if (number == 0)
        return;
    if (is_new) {
        struct str name = arena_str(&p->maps, s->name);
        p->files[number].module = p->files[number].symbol = name;
        p->files[number].by_address = true;
        p->files[number].start = s->address;
    }
    map_shared(p, &p->kernel,
               &(struct address_map){.start = s->address,
                                     .end = s->address + s->size,
                                     .offset = s->address,
                                     .tag = number});
}

void perf_file_mapped(struct perf_profile *p, const struct perf_record *r)
{
    struct perf_mmap m;
    struct perf_symbol s;
    if (r->type == PERF_KSYMBOL && perf_symbol_of(&p->data, r, &s))
        map_symbol(p, &s);
    else if (r->type != PERF_KSYMBOL && perf_map_of(&p->data, r, &m))
        map_file(p, r, &m);
    else
        builder_warn_offset(p->b, "a truncated map record is skipped", r->offset);
}
