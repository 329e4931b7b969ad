/* Makes every allocation fail in turn, in every importer with its own goldens, in every
 * exporter and transform with small profiles, and in the decoder. Each time the code
 * must report "out of memory" or give the same result as without the failure, and must
 * free everything.
 *
 *    sweep TESTS-FOLDER */
#include "sweep.h"
#include "codec/decode.h"
#include "dwarf_input.h"
#include "export/exporter.h"
#include "export/table.h"
#include "fail.h"
#include "import/importer.h"
#include "model/sample_labels.h"
#include "transform/transform.h"
#include "unwind/unwind_table.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#define FILE_MAX ((size_t)64 << 10)

/* With more allocations than this, only some of them are made to fail. */
#define POINTS_MAX 300

static unsigned count, failed;

static void report(const struct work *w, unsigned long points, const char *wrong)
{
    printf("%s %u - %s, %lu allocations\n", wrong ? "not ok" : "ok", ++count, w->name,
           points);
    if (wrong)
        printf("# %s\n", wrong);
    failed += wrong != NULL;
    fflush(stdout);
}

/* Runs with the n-th allocation failing; returns what is wrong, or NULL. */
static const char *check_point(const struct work *w, unsigned long n, bool all_after,
                               struct str expected)
{
    static char wrong[800];
    struct output text = OUTPUT_BUFFER;
    struct error err = {.message = ""};
    long before = fail_live_count();
    fail_at(n, all_after);
    bool ok = w->run(w->context, &text, &err) && !text.failed;
    bool hit = fail_count() > 0;
    fail_at(0, false);
    bool same = str_equal(output_contents(&text), expected);
    bool reported = text.failed || strcmp(err.message, "out of memory") == 0;
    output_deinit(&text);
    long left = fail_live_count() - before;
    const char *what = left                      ? "it leaks allocations"
                       : ok && !same             ? "it succeeds with a different result"
                       : !ok && hit && !reported ? "it does not report 'out of memory'"
                       : !ok && !hit ? "it fails although no allocation failed"
                                     : NULL;
    if (!what)
        return NULL;
    snprintf(wrong, sizeof wrong, "%s%lu: %s (%ld) %s", all_after ? "from " : "", n, what,
             left, err.message);
    return wrong;
}

void sweep(const struct work *w)
{
    struct output text = OUTPUT_BUFFER;
    struct error err = {.message = ""};
    fail_at(0, false);
    bool ok = w->run(w->context, &text, &err);
    unsigned long points = fail_seen(), step = 1 + points / POINTS_MAX;
    const char *wrong = NULL;
    for (unsigned long n = 1; ok && !wrong && n <= points; n += step) {
        wrong = check_point(w, n, false, output_contents(&text));
        if (!wrong)
            wrong = check_point(w, n, true, output_contents(&text));
    }
    output_deinit(&text);
    report(w, points, wrong);
}

/* Writes a profile as text; no allocation fails here. */
static bool describe(const struct profile *p, struct output *text, struct error *err)
{
    struct export_options options = {0};
    fail_at(0, false);
    return exporter_named(STR("folded"))->write(p, &options, text, err);
}

/* --- Importers ----------------------------------------------------------------- */

struct input {
    const struct importer *importer;
    struct str bytes;
};

static bool run_import(const void *context, struct output *text, struct error *err)
{
    const struct input *input = context;
    const struct import_options options = {.lines = true};
    struct source in = source_of(input->bytes, STR("input"));
    struct builder b;
    bool ok = builder_init(&b, BUILD_KEEP);
    if (!ok)
        error_memory(err);
    ok = ok && import_read(input->importer, &in, &options, &b, err);
    struct profile *p = ok ? builder_finish(&b, err) : NULL;
    builder_deinit(&b);
    ok = p && (fail_count() || describe(p, text, err));
    if (ok &&
        fail_count()) /* it succeeded despite a failure: the result must be complete */
        ok = describe(p, text, err);
    profile_destroy(p);
    return ok;
}

static struct str read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(FILE_MAX);
    size_t length = file && bytes ? fread(bytes, 1, FILE_MAX, file) : 0;
    if (file)
        fclose(file);
    return (struct str){bytes ? bytes : "", length};
}

static void sweep_file(const struct importer *im, const char *folder, const char *name)
{
    char path[4096], title[600];
    struct builder b;
    struct error err;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(title, sizeof title, "import/%s/%s", im->name, name);
    struct input input = {im, read_file(path)};
    struct source in = source_of(input.bytes, STR("input"));
    const struct import_options none = {.lines = true};
    /* Inputs that are rejected even with enough memory are not used. */
    bool readable = builder_init(&b, BUILD_KEEP) && import_read(im, &in, &none, &b, &err);
    builder_deinit(&b);
    if (readable)
        sweep(&(struct work){title, run_import, &input});
    free((void *)(uintptr_t)input.bytes.ptr);
}

static void sweep_importer(const struct importer *im, const char *tests)
{
    char folder[4000];
    snprintf(folder, sizeof folder, "%s/import/%s", tests, im->name);
    DIR *dir = opendir(folder);
    if (!dir) {
        printf("not ok %u - import/%s\n# there are no goldens in %s\n", ++count, im->name,
               folder);
        failed++;
        return;
    }
    for (const struct dirent *entry; (entry = readdir(dir));)
        if (str_ends(str_of(entry->d_name), STR(".in")))
            sweep_file(im, folder, entry->d_name);
    closedir(dir);
}

/* --- Exporters and transforms -------------------------------------------------- */

/* A profile with everything that a profile can contain: threads, times, modules, kinds,
 * recursion, two events, an unknown frame, an empty stack. */
static struct profile *make_profile(void)
{
    static const char *const names[] = {"main",     "std::vector<int>::push_back(int)",
                                        "f",        "f",
                                        "<script>", "a b;c",
                                        "read_[k]", "main"};
    struct builder b;
    struct error err;
    if (!builder_init(&b, BUILD_KEEP))
        return NULL;
    module_id libc = builder_module(&b, STR("/usr/lib/libc.so.6"), STR("abcd"));
    event_id events[] = {builder_event(&b, STR("cycles"), UNIT_CYCLES),
                         builder_event(&b, STR("bytes"), UNIT_BYTES)};
    for (uint32_t i = 0; i < 200; i++) {
        struct sample s = {.time = i * 1000,
                           .cpu = i % 2,
                           .event = events[i % 7 == 0],
                           .count = 1,
                           .weight = 1 + i % 5};
        char comm[20];
        snprintf(comm, sizeof comm, "worker %u", i % 3);
        s.thread = builder_thread(&b, 100 + i % 2, 200 + i % 3, str_of(comm));
        for (uint32_t depth = 0; depth < i % 9; depth++) {
            struct frame f = {.name = builder_string(&b, str_of(names[(i + depth) % 8])),
                              .module = libc,
                              .line = depth,
                              .address = 4096 + i,
                              .kind = depth % 3 ? FRAME_USER : FRAME_KERNEL};
            s.stack = builder_push(&b, s.stack, builder_frame(&b, &f));
        }
        label_id labels[] = {builder_label_number(&b, STR("size"), i % 5, STR("bytes")),
                             builder_label_text(&b, STR("host"), str_of(comm))};
        builder_add_labelled(&b, &s, builder_label_set(&b, labels, i % 3));
    }
    struct profile *p = builder_finish(&b, &err);
    builder_deinit(&b);
    return p;
}

struct export_work {
    const struct exporter *exporter;
    const struct profile *profile;
};

static bool run_export(const void *context, struct output *text, struct error *err)
{
    const struct export_work *w = context;
    struct export_options options = {.tree.threads = THREAD_TID};
    return w->exporter->write(w->profile, &options, text, err);
}

struct transform_work {
    const struct transform_options *options;
    const struct profile *profile;
};

/* transform_apply takes ownership of its profile. */
static struct profile *copy_of(const struct profile *p, struct error *err)
{
    struct builder b;
    struct profile *copy = NULL;
    if (builder_init(&b, p->all_samples ? BUILD_KEEP : BUILD_COUNT)) {
        builder_merge(&b, p);
        copy = builder_finish(&b, err);
    } else {
        error_memory(err);
    }
    builder_deinit(&b);
    return copy;
}

static bool run_transform(const void *context, struct output *text, struct error *err)
{
    const struct transform_work *w = context;
    const struct transform *emptied;
    struct profile *p =
        transform_apply(w->options, copy_of(w->profile, err), &emptied, err);
    bool ok = p && describe(p, text, err);
    profile_destroy(p);
    return ok;
}

static void sweep_exporters(const struct profile *p)
{
    for (size_t i = 0; exporters[i]; i++) {
        char name[100];
        snprintf(name, sizeof name, "export/%s", exporters[i]->name);
        struct export_work w = {exporters[i], p};
        sweep(&(struct work){name, run_export, &w});
    }
}

static bool run_diff(const void *context, struct output *text, struct error *err)
{
    const struct profile *both = context;
    struct profile *p = transform_diff(both, both, &(struct diff_options){0}, err);
    bool ok = p && describe(p, text, err);
    profile_destroy(p);
    return ok;
}

static bool run_table(const void *context, struct output *text, struct error *err)
{
    const struct export_work *w = context;
    struct table_options table = {.form = TABLE_JSON, .tree = true};
    struct export_options options = {.table = &table};
    bool ok = w->exporter->write(w->profile, &options, text, err);
    table = (struct table_options){.form = TABLE_CSV};
    ok = ok && w->exporter->write(w->profile, &options, text, err);
    table = (struct table_options){.tree = true};
    return ok && w->exporter->write(w->profile, &options, text, err);
}

/* Rows by keys, in all forms, with call graphs in both directions. */
static bool run_rows(const void *context, struct output *text, struct error *err)
{
    const struct export_work *w = context;
    struct str word = STR("*");
    struct rows_options rows = {
        .by = {.keys = {KEY_PID, KEY_TID, KEY_COMM, KEY_DSO, KEY_SYM, KEY_SRCLINE},
               .key_count = 6,
               .children = true,
               .symbols = {&word, 1}},
        .graph = {.order = CHAINS_CALLER}};
    struct table_options table = {.form = TABLE_JSON, .rows = &rows};
    struct export_options options = {.table = &table};
    bool ok = w->exporter->write(w->profile, &options, text, err);
    table.form = TABLE_TEXT;
    ok = ok && w->exporter->write(w->profile, &options, text, err);
    rows.by.children = false;
    ok = ok && w->exporter->write(w->profile, &options, text, err);
    table.form = TABLE_CSV;
    return ok && w->exporter->write(w->profile, &options, text, err);
}

static void sweep_transforms(const struct profile *p)
{
    static const struct transform_options options[] = {
        {.filter = {.comms = {{"worker*"}, 1}}},
        {.filter = {.labels = {{"host=worker 1"}, 1}, .drop_labels = {{"size=1"}, 1}}},
        {.group = GROUP_LABEL, .group_label = "host"},
        {.strip = {true, true, true, true}},
        {.focus = {{"f"}, 1}, .ignore = {{"script"}, 1}},
        {.hide = {{"main"}, 1}, .show = {{"[a-z]"}, 1}, .show_from = {{"f"}, 1}},
        {.base = {{"f"}, 1}, .group = GROUP_MODULE},
        {.split = SPLIT_EACH, .collapse = COLLAPSE_CYCLES},
        {.thread_frames = true, .reverse = true, .scale = 2},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        char name[100];
        snprintf(name, sizeof name, "transform/%zu", i + 1);
        struct transform_work w = {&options[i], p};
        sweep(&(struct work){name, run_transform, &w});
    }
    struct export_work table = {exporter_named(STR("table")), p};
    sweep(&(struct work){"export/table, other forms", run_table, &table});
    sweep(&(struct work){"export/table, rows by keys", run_rows, &table});
    sweep(&(struct work){"transform/diff", run_diff, p});
}

/* --- The decoder --------------------------------------------------------------- */

static bool run_decode(const void *context, struct output *text, struct error *err)
{
    const struct str *bytes = context;
    struct source raw = source_of(*bytes, STR("packed"));
    struct decoder d;
    struct str all;
    bool ok = decoder_init(&d, &raw, err);
    ok = ok && source_all(&d.source, &all, err);
    if (ok)
        output_str(text, all);
    if (d.from)
        decoder_deinit(&d);
    source_deinit(&raw);
    return ok;
}

static void sweep_decoder(void)
{
    static unsigned char packed[1000];
    z_stream z = {0};
    deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    z.next_in = (z_const Bytef *)(uintptr_t) "main;leaf 1\n";
    z.avail_in = 12;
    z.next_out = packed;
    z.avail_out = sizeof packed;
    deflate(&z, Z_FINISH);
    struct str gzip = {(const char *)packed, z.total_out};
    struct str wide = {"\xff\xfe"
                       "a\0 \0"
                       "1\0",
                       8};
    deflateEnd(&z);
    sweep(&(struct work){"decode/gzip", run_decode, &gzip});
    sweep(&(struct work){"decode/UTF-16", run_decode, &wide});
}

/* --- The DWARF reader ---------------------------------------------------------- */

#define QUERIES 24

static void print_queries(const struct dwarf_query *queries, struct output *text)
{
    for (size_t i = 0; i < QUERIES; i++)
        for (size_t k = 0; k < queries[i].count; k++) {
            const struct dwarf_frame *f = &queries[i].frames[k];
            output_str(text, f->name);
            output_str(text, f->file);
            output_format(text, " %u\n", f->line);
        }
}

static bool run_dwarf(const void *context, struct output *text, struct error *err)
{
    struct arena arena = ARENA_INIT;
    struct dwarf_sections split;
    struct dwarf_input input;
    struct dwarf d;
    struct dwarf_reader r = {0};
    struct dwarf_query queries[QUERIES] = {{0}};
    struct dwarf_row *rows;
    size_t row_count;
    bool ok = dwarf_input_read(*(const struct str *)context, &input, &split) &&
              dwarf_init(&d, &input, &arena, err) && dwarf_reader_init(&r, &d, err);
    for (size_t i = 0; ok && i < QUERIES && d.ranges.count; i++)
        queries[i].address = d.ranges.items[i % d.ranges.count].low + i;
    ok = ok && (dwarf_order(&d, queries, QUERIES) || error_memory(err)) &&
         dwarf_find(&r, queries, QUERIES, err) &&
         dwarf_rows(&r, queries[0].address, queries[0].address + 40, &rows, &row_count,
                    err);
    if (ok)
        print_queries(queries, text);
    dwarf_reader_deinit(&r);
    arena_deinit(&arena);
    return ok;
}

static void sweep_dwarf(const char *tests)
{
    static const char *const names[] = {"gcc-5", "clang-4", "split-g++-5", "dwz"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[4096], title[100];
        snprintf(path, sizeof path, "%s/fuzz/corpus/%s.dwarf", tests, names[i]);
        snprintf(title, sizeof title, "symbol/dwarf, %s", names[i]);
        struct str bytes = read_file(path);
        sweep(&(struct work){title, run_dwarf, &bytes});
        free((void *)(uintptr_t)bytes.ptr);
    }
}

/* --- Unwind tables -------------------------------------------------------------- */

/* An .eh_frame with two functions at 4096 and 4352. */
static const char eh_frame[] = "\x14\0\0\0\0\0\0\0\x01zR\0\x01\x78\x10\x01\x03"
                               "\x0c\x07\x08\x90\x01\0\0"
                               "\x14\0\0\0\x1c\0\0\0\0\x10\0\0\x40\0\0\0\0"
                               "\x41\x0e\x10\x86\x02\x43\x0d"
                               "\x14\0\0\0\x34\0\0\0\0\x11\0\0\x40\0\0\0\0"
                               "\x44\x0e\x18\0\0\0\0";

static bool run_unwind(const void *context, struct output *text, struct error *err)
{
    struct arena arena = ARENA_INIT;
    struct unwind_source source = {
        .machine = ARCH_X86_64, .section_count = 1, .code = STR("")};
    struct unwind_table table, again;
    (void)context;
    source.sections[0] = (struct cfi_section){.bytes = {eh_frame, sizeof eh_frame - 1},
                                              .machine = ARCH_X86_64};
    bool ok = unwind_table_build(&table, &source, &arena, err);
    struct str bytes = ok ? unwind_table_bytes(&table, &arena) : STR("");
    if (ok && bytes.len == 0)
        ok = error_memory(err);
    ok = ok && unwind_table_load(&again, bytes, &source, &arena, err);
    for (uint64_t at = 4090; ok && at < 4500; at++)
        output_format(text, "%u %d ", unwind_table_find(&again, at)->cfa,
                      unwind_table_find(&again, at)->cfa_offset);
    arena_deinit(&arena);
    return ok;
}

int main(int argc, char **argv)
{
    struct profile *p = make_profile();
    if (argc > 1)
        sweep_dwarf(argv[1]);
    for (size_t i = 0; argc > 1 && importers[i]; i++)
        sweep_importer(importers[i], argv[1]);
    sweep_exporters(p);
    sweep_transforms(p);
    sweep_decoder();
    sweep(&(struct work){"unwind/unwind_table", run_unwind, NULL});
    if (argc > 1) {
        sweep_symbols(argv[1]);
        sweep_traces(argv[1]);
    }
    profile_destroy(p);
    printf("1..%u\n", count);
    return failed ? 1 : 0;
}
