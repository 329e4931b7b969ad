/* SPDX-License-Identifier: Apache-2.0 */
/* The recordings of make_perf_data.py cut at every byte, and the seam to the resolver. */
#include "export/exporter.h"
#include "import/importer.h"
#include "perf/perf_data.h"
#include "unit.h"

static struct str read_fixture(const char *name)
{
    static char bytes[1 << 16];
    char path[4096];
    snprintf(path, sizeof path, "%s/import/perf-data/%s.in", TESTS_FOLDER, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s is not there", path);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return (struct str){bytes, size};
}

/* Number of records that the reader returns, and their size in bytes. */
struct reading {
    size_t records, samples;
    uint64_t last_time;
    uint64_t ends[256]; /* end of each record, in the order of the file */
    bool ok, ordered;
};

static void note_record(struct reading *r, const struct perf_record *record)
{
    r->samples += record->type == PERF_SAMPLE;
    r->ends[r->records++] = record->offset + 8 + record->body.len;
    if (record->time == TIME_NONE)
        return;
    r->ordered &= record->time >= r->last_time;
    r->last_time = record->time;
}

static struct reading read_all(struct source *in)
{
    struct reading r = {.ordered = true};
    struct perf_data d;
    struct perf_record record;
    struct error err = {.message = ""};
    r.ok = perf_data_init(&d, in, &err);
    while (r.ok && perf_data_next(&d, &record, &err))
        note_record(&r, &record);
    assert_true(r.ok || err.message[0]);
    perf_data_deinit(&d);
    return r;
}

static struct reading read_bytes(struct str bytes)
{
    struct source in = source_of(bytes, STR("memory"));
    return read_all(&in);
}

static struct reading read_piped(struct str bytes, size_t bite)
{
    struct bites pipe = {.text = bytes.ptr, .length = bytes.len, .bite = bite};
    struct source in = source_reading(bites_read, &pipe, STR("pipe"));
    struct reading r = read_all(&in);
    source_deinit(&in);
    return r;
}

/* Rounds: the first has 3000 and 2000, the second has records older than 3000. */
static void test_records_come_in_order(void **state)
{
    static const char *const names[] = {"file",       "big-endian", "pipe",
                                        "killed",     "compressed", "compressed-2",
                                        "all-records"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct str bytes = read_fixture(names[i]);
        struct reading r = read_bytes(bytes);
        assert_true(r.ok);
        assert_true(r.ordered);
        assert_int_equal(r.samples, 11);
        assert_int_equal(r.last_time, 4700);
        for (size_t bite = 1; bite < 300; bite += 23) {
            struct reading piped = read_piped(bytes, bite);
            assert_int_equal(piped.samples, r.samples);
            assert_int_equal(piped.records, r.records);
            assert_true(piped.ordered);
        }
    }
}

/* Checks that `more` has all records of `some` that end at `until` or before.
 */
static void check_included(const struct reading *some, const struct reading *more,
                           uint64_t until, const char *name, size_t cut)
{
    for (size_t i = 0; i < some->records; i++) {
        bool found = some->ends[i] > until;
        for (size_t k = 0; !found && k < more->records; k++)
            found = more->ends[k] == some->ends[i];
        if (!found)
            fail_msg("%s cut at %zu: the record that ends at %lu is lost", name, cut,
                     (unsigned long)some->ends[i]);
    }
}

/* With a sanitizer, not every byte. */
#define CUT_STEP (SANITIZED ? 7 : 1)

/* Of a file that is truncated at any byte, the reader returns all records that are
 * complete, from memory and from a pipe. For compressed records, more bytes never give
 * fewer records: the complete ones depend on the blocks of the compressor. */
static void check_cuts(const char *name)
{
    static struct reading whole, before, r;
    struct str bytes = read_fixture(name);
    bool packed = str_starts(str_of(name), STR("compressed"));
    whole = read_bytes(bytes);
    before = (struct reading){0};
    for (size_t cut = bytes.len % CUT_STEP; cut <= bytes.len; cut += CUT_STEP) {
        char *exact = malloc(cut ? cut : 1); /* for a sanitizer to see a step too far */
        memcpy(exact, bytes.ptr, cut);
        struct str text = {exact, cut};
        for (int piped = 0; piped < 2; piped++) {
            r = piped ? read_piped(text, 1 + cut % 700) : read_bytes(text);
            check_included(packed ? &before : &whole, &r, packed ? UINT64_MAX : cut, name,
                           cut);
        }
        before = r;
        free(exact);
    }
    check_included(&whole, &before, UINT64_MAX, name, bytes.len);
}

static void test_every_cut_keeps_whole_records(void **state)
{
    static const char *const names[] = {
        "file",         "big-endian",      "pipe",   "pipe-big-endian",
        "killed",       "all-records",     "dumps",  "every-part",
        "attr-96",      "deferred",        "guests", "compressed",
        "compressed-2", "compressed-pipe", "waits",  "every-part-big-endian",
        "groups",       "waits-on-cpu",    "names",  "plain",
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check_cuts(names[i]);
}

/* --- Folders ----------------------------------------------------------------------- */

#define FILES 3
#define FILE_ROOM ((size_t)8192)

/* The header of a file with its first records; the other records are distributed to
 * several files. */
struct split_recording {
    char bytes[FILES * FILE_ROOM];
    struct source_file files[FILES];
};

static void add_record(struct split_recording *s, size_t file, struct str record)
{
    struct source_file *f = &s->files[file];
    assert_true(f->size + record.len <= FILE_ROOM);
    memcpy(s->bytes + f->offset + f->size, record.ptr, record.len);
    f->size += record.len;
}

static void split(struct split_recording *s, struct str file, size_t first)
{
    struct bytes header = bytes_of(str_skip(file, 40), false);
    uint64_t at = bytes_u64(&header), size = bytes_u64(&header), left;
    memset(s, 0, sizeof *s);
    for (size_t i = 0; i < FILES; i++)
        s->files[i].offset = i * FILE_ROOM;
    add_record(s, 0, str_head(file, at));
    struct str records = str_part(file, at, size);
    for (size_t i = 0; records.len; i++) {
        struct bytes b = bytes_of(str_skip(records, 6), false);
        struct str record = str_head(records, bytes_u16(&b));
        add_record(s, i < first ? 0 : 1 + i % (FILES - 1), record);
        records = str_skip(records, record.len);
    }
    left = s->files[0].size - at;
    memcpy(s->bytes + 48, &left, sizeof left);
}

static struct reading read_split(const struct split_recording *s)
{
    struct source in = source_of((struct str){s->bytes, sizeof s->bytes}, STR("folder"));
    in.files = s->files;
    in.file_count = FILES;
    return read_all(&in);
}

/* Each file has its own order, and rounds apply to one file. */
static void test_a_folder_is_one_recording(void **state)
{
    static struct split_recording s, cut;
    struct reading whole, r;
    (void)state;
    split(&s, read_fixture("file"), 7);
    whole = read_split(&s);
    assert_true(whole.ok);
    assert_true(whole.ordered);
    assert_int_equal(whole.samples, 11);
    assert_int_equal(whole.last_time, 4700);
    for (size_t size = 0; size <= s.files[1].size; size++) {
        cut = s;
        cut.files[1].size = size;
        r = read_split(&cut);
        assert_true(r.ordered);
        for (size_t i = 0; i < whole.records; i++) {
            uint64_t end = whole.ends[i];
            bool lost = end > FILE_ROOM + size && end <= 2 * FILE_ROOM, found = lost;
            for (size_t k = 0; !found && k < r.records; k++)
                found = r.ends[k] == end;
            assert_true(found);
        }
    }
}

/* Each file of compressed records is a separate stream. */
static void test_a_folder_of_compressed_files(void **state)
{
    static struct split_recording s;
    struct str file = read_fixture("compressed");
    struct bytes header = bytes_of(str_skip(file, 40), false);
    uint64_t at = bytes_u64(&header), size = bytes_u64(&header);
    struct str records = str_part(file, at, size);
    (void)state;
    split(&s, file, 7); /* seven are not compressed */
    s.files[1].size = s.files[2].size = 0;
    for (size_t i = 0; records.len; i++) {
        struct bytes b = bytes_of(str_skip(records, 6), false);
        struct str record = str_head(records, bytes_u16(&b));
        for (size_t k = 1; i >= 7 && k < FILES; k++)
            add_record(&s, k, record);
        records = str_skip(records, record.len);
    }
    struct reading r = read_split(&s);
    assert_true(r.ok);
    assert_true(r.ordered);
    assert_int_equal(r.samples, 22); /* the same twice */
}

/* --- A resolver that makes things up ---------------------------------------------- */

struct fake {
    size_t objects, unwound, named, batches;
    char expected[8][128];
};

static object_id fake_object(void *context, const struct object_request *w)
{
    struct fake *f = context;
    if (f->objects < 8)
        snprintf(f->expected[f->objects], sizeof f->expected[0], "%.*s %.*s %d %lx",
                 STR_ARG(w->path), STR_ARG(w->build_id), (int)w->kind,
                 (unsigned long)w->start);
    return (object_id)++f->objects;
}

/* Leaf, a caller that the map holds up to its last byte, a signal frame. */
static void fake_unwind(void *context, unsigned hand, struct unwind_job *jobs,
                        size_t count)
{
    struct fake *f = context;
    assert_int_equal(hand, 0);
    f->batches++;
    for (size_t i = 0; i < count; i++) {
        struct unwind_job *job = &jobs[i];
        const struct address_map *map =
            space_find(job->spaces, job->space, job->registers[8]);
        assert_non_null(map);
        assert_int_equal(job->machine, ARCH_X86_64);
        assert_int_equal(job->recorded, 0xff0fff);
        assert_int_equal(job->stack.len, 16); /* and not the 64 that there was room for */
        assert_true(job->room >= 4);
        job->addresses[0] = job->registers[8];
        job->addresses[1] = map->end; /* the call is the last instruction */
        job->addresses[2] = map->start + 0x300;
        job->signals[0] = 1 << 2;
        job->count = 3;
        job->end = i == 0 ? UNWIND_CUT : UNWIND_WHOLE;
        f->unwound++;
    }
}

static void fake_name(void *context, struct name_job *jobs, size_t count)
{
    static const struct resolved_frame leaf[] = {
        {.name = {"inner(int)", 10},
         .file = {"/src/i.c", 8},
         .line = 3,
         .kind = FRAME_INLINED},
        {.name = {"leaf", 4}, .file = {"/src/l.c", 8}, .line = 7}};
    static const struct resolved_frame caller[] = {{.name = {"caller", 6}}};
    static const struct resolved_frame signal[] = {{.name = {"handler", 7}}};
    struct fake *f = context;
    for (size_t i = 0; i < count; i++) {
        struct name_job *job = &jobs[i];
        if (job->object == 0)
            continue;
        assert_int_equal(job->object, 1);
        f->named++;
        job->count = 1;
        if (job->address == 0x1000) {
            assert_false(job->is_call);
            job->frames = leaf;
            job->count = 2;
        } else if (job->address == 0x10000) {
            assert_true(job->is_call);
            job->frames = caller;
        } else {
            assert_int_equal(job->address, 0x300);
            assert_false(job->is_call);
            job->frames = signal;
        }
    }
}

/* Inlined calls, too. */
static void check_modules(const struct profile *p)
{
    for (frame_id f = 1; f < p->frame_count; f++)
        if (p->frames[f].name)
            assert_str(profile_string(p, p->modules[p->frames[f].module].path),
                       "/usr/bin/prog");
}

static void read_dumps(struct source *in, struct fake *fake, enum build_mode mode,
                       bool lines, const char *expected)
{
    struct resolver resolver = {
        .context = fake, .object = fake_object, .unwind = fake_unwind, .name = fake_name};
    struct import_options options = {.resolver = &resolver, .lines = lines};
    struct export_options folded = {.tree.label.lines = lines};
    struct output out = OUTPUT_BUFFER;
    struct builder b;
    struct error err = {.message = ""};
    assert_true(builder_init(&b, mode));
    if (!import_read(importer_named(STR("perf-data")), in, &options, &b, &err))
        fail_msg("%s", err.message);
    assert_true(exporter_named(STR("folded"))->write(b.profile, &folded, &out, &err));
    assert_str(output_contents(&out), expected);
    assert_int_equal(b.profile->facts.samples, 3);
    assert_int_equal(b.profile->facts.time_last, 12);
    check_modules(b.profile);
    output_deinit(&out);
    builder_deinit(&b);
    source_deinit(in);
}

#define DUMPS_EXPECTED                           \
    "dumps;handler;caller;leaf;inner_[i] 1000\n" \
    "dumps;handler;caller;leaf;inner_[i];[[kernel.kallsyms]] 2000\n"

static void test_dumps_are_unwound(void **state)
{
    struct str bytes = read_fixture("dumps");
    struct fake fake = {0};
    struct source in = source_of(bytes, STR("memory"));
    (void)state;
    read_dumps(&in, &fake, BUILD_COUNT, false, DUMPS_EXPECTED);
    assert_int_equal(fake.objects, 1);
    assert_int_equal(fake.unwound, 3);
    assert_int_equal(fake.batches, 1); /* one batch for all three */
    assert_int_equal(fake.named, 3);   /* each address once */
    assert_string_equal(
        fake.expected[0],
        "/usr/bin/prog 000102030405060708090a0b0c0d0e0f10111213 0 400000");
    /* From a pipe, dumps are unwound before their bytes go. */
    for (size_t bite = 1; bite < 400; bite += 57) {
        struct bites pipe = {.text = bytes.ptr, .length = bytes.len, .bite = bite};
        fake = (struct fake){0};
        in = source_reading(bites_read, &pipe, STR("pipe"));
        read_dumps(&in, &fake, BUILD_KEEP, false, DUMPS_EXPECTED);
        assert_int_equal(fake.unwound, 3);
    }
}

/* As in perf script: without folders. */
static void test_locations(void **state)
{
    struct fake fake = {0};
    struct source in = source_of(read_fixture("dumps"), STR("memory"));
    (void)state;
    read_dumps(
        &in, &fake, BUILD_COUNT, true,
        "dumps;handler;caller;leaf:l.c:7;inner:i.c:3_[i] 1000\n"
        "dumps;handler;caller;leaf:l.c:7;inner:i.c:3_[i];[[kernel.kallsyms]] 2000\n");
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(test_records_come_in_order),     UNIT(test_every_cut_keeps_whole_records),
        UNIT(test_a_folder_is_one_recording), UNIT(test_a_folder_of_compressed_files),
        UNIT(test_dumps_are_unwound),         UNIT(test_locations),
    };
    return UNITS_RUN(units);
}
