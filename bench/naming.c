/* SPDX-License-Identifier: Apache-2.0 */
/* Measures symbol resolution: functions, inlined calls and lines of addresses, resolved and
 * demangled like in `stoke script`, on one core, printed in the format of llvm-addr2line -a
 * -f -i -C. Both programs start without a cache, read the same input and write the same output.
 *
 *   naming FILE < ADDRESSES
 *
 * Addresses are those of the file, in hexadecimal, one per line. */
#include "base/number.h"
#include "os/file.h"
#include "resolve/local_resolver.h"
#include <stdio.h>
#include <stdlib.h>

struct input {
    uint64_t *addresses;
    struct name_job *jobs;
    size_t count;
    struct arena arena;
};

static bool read_addresses(struct input *in)
{
    char line[100];
    size_t cap = 0;
    while (fgets(line, sizeof line, stdin)) {
        uint64_t *room = arena_grow(&in->arena, in->addresses, &cap, in->count + 1,
                                    sizeof *in->addresses);
        if (!room)
            return false;
        in->addresses = room;
        in->addresses[in->count++] = strtoull(line, NULL, 16);
    }
    in->jobs = arena_zalloc(&in->arena, in->count + 1, sizeof *in->jobs);
    return in->jobs != NULL;
}

static void print_hexadecimal(struct output *out, uint64_t v)
{
    char digits[16];
    size_t at = sizeof digits;
    do
        digits[--at] = "0123456789abcdef"[v & 15];
    while (v >>= 4);
    output_text(out, "0x");
    output_bytes(out, digits + at, sizeof digits - at);
    output_char(out, '\n');
}

static void print_frame(struct output *out, const struct resolved_frame *f)
{
    output_str(out, f->name.len ? f->name : STR("??"));
    output_char(out, '\n');
    output_str(out, f->file.len ? f->file : STR("??"));
    output_char(out, ':');
    output_u64(out, f->line);
    output_char(out, '\n');
}

static bool print_all(const struct input *in, struct error *err)
{
    static const struct resolved_frame unknown = {.line = 0};
    struct os_output file;
    if (!os_output_open(&file, "-", err))
        return false;
    struct output out = os_output_stream(&file);
    for (size_t i = 0; i < in->count; i++) {
        const struct name_job *job = &in->jobs[i];
        print_hexadecimal(&out, in->addresses[i]);
        for (size_t k = 0; k < job->count; k++)
            print_frame(&out, &job->frames[k]);
        if (!job->count)
            print_frame(&out, &unknown);
    }
    bool ok = os_output_close(&file, &out, err);
    output_deinit(&out);
    return ok;
}

/* Recordings contain file offsets, not addresses. */
static bool make_jobs(struct input *in, object_id object, const char *path,
                      struct error *err)
{
    struct os_mapping m;
    struct arena arena = ARENA_INIT;
    struct elf elf;
    if (!os_mapping_open(&m, path, err))
        return false;
    bool ok = elf_init(&elf, m.bytes, &arena, err);
    for (size_t i = 0; ok && i < in->count; i++) {
        in->jobs[i] = (struct name_job){.object = object, .address = UINT64_MAX};
        elf_offset_of_address(&elf, in->addresses[i], &in->jobs[i].address);
    }
    arena_deinit(&arena);
    os_mapping_close(&m);
    return ok;
}

static bool name_all(struct input *in, const char *path, struct error *err)
{
    struct resolve_settings settings = {.threads = 1, .demangle = DEMANGLE_FULL};
    struct object_request request = {.path = str_of(path),
                                     .build_id = STR(""),
                                     .pid = ID_NONE,
                                     .kind = FRAME_USER,
                                     .release = STR("")};
    struct local_resolver *m = local_resolver_create(&settings);
    if (!m)
        return error_memory(err);
    struct resolver resolver = local_resolver_interface(m);
    bool ok = make_jobs(in, resolver.object(resolver.context, &request), path, err);
    if (ok)
        resolver.name(resolver.context, in->jobs, in->count);
    ok = ok && print_all(in, err);
    local_resolver_destroy(m);
    return ok;
}

int main(int argc, char **argv)
{
    struct error err = {.message = ""};
    struct input in = {.arena = ARENA_INIT};
    if (argc != 2)
        return 2;
    bool ok = read_addresses(&in) ? name_all(&in, argv[1], &err) : error_memory(&err);
    arena_deinit(&in.arena);
    if (!ok)
        fprintf(stderr, "naming: %s\n", err.message);
    return ok ? 0 : 1;
}
