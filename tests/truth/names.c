/* Prints the names of the addresses in a recording, one line per frame.
 * tests/import/perf_data/perf_data_truth.py compares them with llvm-symbolizer:
 *
 *   names RECORDING [SYMFS]
 *
 * "@ PATH OFFSET CALL" is an address: its offset in the file, and 1 for a return
 * address. "NAME\tFILE:LINE" lines follow, innermost first. Names are mangled. */
#include "import/importer.h"
#include "resolve/local_resolver.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX 4096

static struct resolver inner;
static char *paths[FILES_MAX]; /* by object */

static object_id know_object(void *context, const struct object_request *expected)
{
    object_id id = inner.object(context, expected);
    if (id < FILES_MAX && !paths[id])
        paths[id] = strndup(expected->path.ptr, expected->path.len);
    return id;
}

static void print_names(void *context, struct name_job *jobs, size_t count)
{
    inner.name(context, jobs, count);
    for (size_t i = 0; i < count; i++) {
        const struct name_job *job = &jobs[i];
        const char *path = job->object < FILES_MAX ? paths[job->object] : NULL;
        printf("@ %s %llx %d\n", path ? path : "?", (unsigned long long)job->address,
               job->is_call);
        for (size_t j = 0; j < job->count; j++)
            printf("%.*s\t%.*s:%u\n", STR_ARG(job->frames[j].name),
                   STR_ARG(job->frames[j].file), job->frames[j].line);
    }
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

int main(int argc, char **argv)
{
    struct error err = {0};
    struct builder b;
    struct resolve_settings settings = {.demangle = DEMANGLE_NO};
    settings.find.symfs = argc > 2 ? argv[2] : NULL;
    struct local_resolver *machine = local_resolver_create(&settings);
    struct str path = str_of(argc > 1 ? argv[1] : "");
    struct source in = source_of(map_file(path.ptr), path);
    if (!machine || !builder_init(&b, BUILD_COUNT))
        return 1;
    inner = local_resolver_interface(machine);
    struct resolver outer = inner;
    outer.object = know_object;
    outer.name = print_names;
    struct import_options options = {
        .resolver = &outer, .lines = true, .every_address = true};
    bool ok = import_read(importer_named(STR("perf-data")), &in, &options, &b, &err);
    if (!ok)
        fprintf(stderr, "names: %s\n", err.message);
    builder_deinit(&b);
    local_resolver_destroy(machine);
    return ok ? 0 : 1;
}
