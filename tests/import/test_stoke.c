/* import/stoke.c reads all files of export/stoke.c, and the intact parts of a damaged
 * file. */
#include "base/array.h"
#include "base/crc32.h"
#include "base/stoke_format.h"
#include "export/exporter.h"
#include "import/importer.h"
#include "model/code.h"
#include "model/sample_labels.h"
#include "unit.h"
#include <math.h>
#include <stdio.h>

static const struct import_options everything = {
    .addresses = true, .every_address = true, .lines = true};

/* --- Profiles -------------------- */

static void add_facts(struct builder *b)
{
    struct facts *f = &b->profile->facts;
    f->format = builder_string(b, STR("perf-data"));
    f->host = builder_string(b, STR("build7"));
    f->command = builder_string(b, STR("./server --port 80"));
    f->lost = 7;
    builder_lost(b, 198792736893123, 4);
    builder_lost(b, TIME_NONE, 0);
    builder_lost(b, UINT64_MAX - 1, 1);
    f->truncated = 3;
    f->rate = 99.5;
    f->filtered = true;
    builder_warn(b, "a literal", 7, 3, STR("the line that it is on"));
    builder_warn_times(b, "another", 5);
    builder_warn_offset(b, "a third", 1234567890123);
}

static stack_id make_stack(struct builder *b, uint32_t seed)
{
    module_id modules[] = {0, builder_module(b, STR("/lib/libc.so.6"), STR("00ff")),
                           builder_module(b, STR(""), STR("abcd")),
                           builder_module(b, STR("[kernel.kallsyms]"), STR(""))};
    static const char *const names[] = {"",  "main", "a;b\n\"",       "\xff\xfe",
                                        "f", "\0x",  "<img onerror>", "__proto__"};
    stack_id stack = 0;
    for (uint32_t depth = 0; depth < seed % 13; depth++) {
        uint32_t n = seed / 3 + depth;
        struct frame f = {.name = builder_string(b, str_of(names[n % 8])),
                          .module = modules[n % 4],
                          .file = n % 5 ? 0 : builder_string(b, STR("src/main.c")),
                          .line = n % 5 ? 0 : n,
                          .kind = n % (FRAME_WAKER + 1),
                          .address = n % 3 ? 0 : UINT64_MAX - n};
        f.offset = f.name || n % 2 ? 0 : 4096 + n;
        stack = builder_push(b, stack, builder_frame(b, &f));
    }
    return stack;
}

/* No labels for most samples. */
static label_set_id make_labels(struct builder *b, uint32_t seed)
{
    label_id labels[] = {builder_label_text(b, STR("host"), STR("web-1")),
                         builder_label_number(b, STR("size"), -(int64_t)(seed % 50),
                                              seed % 4 ? STR("bytes") : STR("")),
                         builder_label_text(b, STR(""), STR("\xff\xfe"))};
    return seed % 3 ? 0 : builder_label_set(b, labels, seed % 4);
}

static struct profile *make_profile(enum build_mode mode, uint32_t rows)
{
    static const double weights[] = {1,    0,      -0.0, -5,           0.5,
                                     1e15, 0x1p53, 3e99, 0x1.8p52 + 1, 0x1p53 - 1};
    struct builder b;
    struct error err;
    assert_true(builder_init(&b, mode));
    add_facts(&b);
    event_id events[] = {builder_event(&b, STR("cycles"), UNIT_CYCLES),
                         builder_event(&b, STR(""), UNIT_BYTES),
                         builder_event(&b, STR("faults"), UNIT_EVENTS)};
    for (uint32_t i = 0; i < rows; i++) {
        struct sample s = {.time =
                               i % 7 ? 198792736893000 - (uint64_t)i * 999 : TIME_NONE,
                           .cpu = i % 5 ? i % 9 : CPU_NONE,
                           .event = events[i % 3],
                           .stack = make_stack(&b, i),
                           .count = i % 4 ? 1 : 1000000 + i,
                           .weight = weights[i % 10]};
        s.thread =
            i % 6 ? builder_thread(&b, i % 6 - 2, INT64_MAX - i % 11, STR("sh")) : 0;
        if (i % 8)
            builder_add_labelled(&b, &s, make_labels(&b, i));
        else
            builder_add_mapped_labelled(&b, &s, make_labels(&b, i));
    }
    struct profile *p = builder_finish(&b, &err);
    assert_non_null(p);
    builder_deinit(&b);
    return p;
}

/* --- There and back -------------------- */

static string_id text_of(struct code *c, const char *name, unsigned i)
{
    char text[40];
    snprintf(text, sizeof text, "%s %u", name, i);
    return strings_add(&c->strings, str_of(text));
}

static void make_code_function(struct code *c, uint32_t f)
{
    struct code_function *to =
        ARRAY_APPEND(&c->arena, c->functions, c->function_count, c->function_cap);
    assert_non_null(to);
    *to = (struct code_function){.name = text_of(c, "function", f),
                                 .module = text_of(c, "module", f % 2),
                                 .build_id = text_of(c, "id", f % 2),
                                 .path = text_of(c, "/bin", f % 2),
                                 .bytes = f % 3 ? text_of(c, "\x90\xff", f) : 0,
                                 .why = f % 3 ? 0 : text_of(c, "why", f),
                                 .start = f * (uint64_t)64,
                                 .low = f % 4 ? f * (uint64_t)64 : UINT64_MAX - f,
                                 .high = f % 4 ? f * (uint64_t)64 + 60 : UINT64_MAX,
                                 .flags = f % 32,
                                 .machine = 62,
                                 .machine_flags = f % 2 ? UINT32_MAX : 0};
    for (uint32_t i = 0; i < 4; i++) {
        struct code_row *row = ARRAY_APPEND(&c->arena, c->rows, c->row_count, c->row_cap);
        struct code_note *note =
            ARRAY_APPEND(&c->arena, c->notes, c->note_count, c->note_cap);
        struct code_spot *spot =
            ARRAY_APPEND(&c->arena, c->spots, c->spot_count, c->spot_cap);
        assert_true(row && note && spot);
        *row = (struct code_row){f * 64 + i * 7, f, i ? text_of(c, "file", i) : 0, i * 9};
        *note = (struct code_note){f * 64 + i * 3, f, i, text_of(c, "target", i)};
        *spot = (struct code_spot){f * 64 + i, i + 1,     i % 2 ? 3.5 : 1e6,
                                   f - 1,      1 + i % 2, i ? i : CPU_NONE};
    }
}

static struct code make_code(uint32_t functions)
{
    struct code c;
    assert_true(code_init(&c));
    for (unsigned i = 0; i < 2; i++) {
        struct code_event *e =
            ARRAY_APPEND(&c.arena, c.events, c.event_count, c.event_cap);
        struct code_source *s =
            ARRAY_APPEND(&c.arena, c.sources, c.source_count, c.source_cap);
        assert_true(e && s);
        *e = (struct code_event){text_of(&c, "event", i), i ? UNIT_EVENTS : UNIT_CYCLES};
        *s = (struct code_source){text_of(&c, "file", i), text_of(&c, "int main;\n", i)};
    }
    for (uint32_t f = 1; f <= functions; f++)
        make_code_function(&c, f);
    code_index(&c);
    return c;
}

/* Every file has code, too: it is damaged and cut like the rest. */
static struct output written(const struct profile *p)
{
    struct output out = OUTPUT_BUFFER;
    struct error err = {.message = ""};
    struct code code = make_code(5);
    const struct export_options options = {.code = &code};
    assert_true(exporter_named(STR("stoke"))->write(p, &options, &out, &err));
    assert_false(out.failed);
    code_deinit(&code);
    return out;
}

static void check_range(const struct code_range *range, size_t count)
{
    assert_true(range->count == 0 ||
                (range->first < count && range->count <= count - range->first));
}

/* IDs are in range, and the rows of a function follow each other, for every content of a file. */
static void check_code(const struct code *c)
{
    for (size_t i = 0; i < c->function_count; i++) {
        const struct code_function *f = &c->functions[i];
        assert_true(f->name < c->strings.count && f->module < c->strings.count);
        assert_true(f->build_id < c->strings.count && f->path < c->strings.count);
        assert_true(f->bytes < c->strings.count && f->why < c->strings.count);
        assert_true(f->low <= f->high);
        check_range(&f->rows, c->row_count);
        check_range(&f->notes, c->note_count);
        check_range(&f->spots, c->spot_count);
    }
    for (size_t i = 0; i < c->row_count; i++) {
        assert_true(c->rows[i].file < c->strings.count);
        assert_in_range(c->rows[i].function, 1, c->function_count - 1);
        assert_true(i == 0 || c->rows[i].function >= c->rows[i - 1].function);
    }
    for (size_t i = 0; i < c->note_count; i++) {
        assert_true(c->notes[i].text < c->strings.count);
        assert_in_range(c->notes[i].function, 1, c->function_count - 1);
        assert_true(i == 0 || c->notes[i].function >= c->notes[i - 1].function);
    }
    for (size_t i = 0; i < c->spot_count; i++) {
        assert_in_range(c->spots[i].event, 1, c->event_count - 1);
        assert_true(c->spots[i].function < c->function_count);
        assert_true(i == 0 || c->spots[i].function >= c->spots[i - 1].function);
        assert_true(isfinite(c->spots[i].weight));
    }
    for (size_t i = 0; i < c->source_count; i++)
        assert_true(c->sources[i].name < c->strings.count &&
                    c->sources[i].text < c->strings.count);
}

static struct profile *read_back(struct str bytes, enum build_mode mode,
                                 const struct import_options *options, struct error *err)
{
    struct builder b;
    struct source in = source_of(bytes, STR("test.stoke"));
    struct profile *p = NULL;
    struct code code;
    struct import_options with_code = *options;
    assert_true(code_init(&code));
    with_code.code = &code;
    *err = (struct error){.message = ""};
    assert_true(builder_init(&b, mode));
    if (import_read(importer_named(STR("stoke")), &in, &with_code, &b, err))
        p = builder_finish(&b, err);
    check_code(&code);
    code_deinit(&code);
    builder_deinit(&b);
    return p;
}

static void same_facts(const struct facts *a, const struct facts *b)
{
    assert_int_equal(a->format, b->format);
    assert_int_equal(a->host, b->host);
    assert_int_equal(a->command, b->command);
    assert_int_equal(a->samples, b->samples);
    assert_int_equal(a->lost, b->lost);
    assert_int_equal(a->truncated, b->truncated);
    assert_int_equal(a->loss_count, b->loss_count);
    for (unsigned i = 0; i < a->loss_count; i++) {
        assert_int_equal(a->losses[i].time, b->losses[i].time);
        assert_int_equal(a->losses[i].count, b->losses[i].count);
    }
    assert_int_equal(a->time_first, b->time_first);
    assert_int_equal(a->time_last, b->time_last);
    assert_double(a->rate, b->rate);
    assert_int_equal(a->filtered, b->filtered);
    assert_int_equal(a->differential, b->differential);
    assert_int_equal(a->warning_count, b->warning_count);
    for (unsigned i = 0; i < a->warning_count; i++) {
        const struct warning *x = &a->warnings[i], *y = &b->warnings[i];
        assert_string_equal(x->what, y->what);
        assert_int_equal(x->count, y->count);
        assert_int_equal(x->first.line, y->first.line);
        assert_int_equal(x->first.column, y->first.column);
        assert_int_equal(x->first.offset, y->first.offset);
        assert_int_equal(x->first.caret, y->first.caret);
        assert_string_equal(x->first.text, y->first.text);
    }
}

#define SAME_TABLE(a, b, rows, count)                                              \
    do {                                                                           \
        assert_int_equal((a)->count, (b)->count);                                  \
        assert_memory_equal((a)->rows, (b)->rows, (a)->count * sizeof *(a)->rows); \
    } while (0)

static void same_profile(const struct profile *a, const struct profile *b)
{
    assert_int_equal(a->strings.count, b->strings.count);
    for (string_id i = 0; i < a->strings.count; i++)
        assert_true(str_equal(profile_string(a, i), profile_string(b, i)));
    SAME_TABLE(a, b, modules, module_count);
    SAME_TABLE(a, b, stacks, stack_count);
    SAME_TABLE(a, b, events, event_count);
    SAME_TABLE(a, b, labels, label_count);
    SAME_TABLE(a, b, label_sets, label_set_count);
    for (size_t i = 0; i < a->sample_count; i++)
        assert_int_equal(profile_labels(a, i), profile_labels(b, i));
    assert_int_equal(a->frame_count, b->frame_count);
    for (size_t i = 0; i < a->frame_count; i++) { /* there is padding in these two */
        assert_int_equal(a->frames[i].name, b->frames[i].name);
        assert_int_equal(a->frames[i].module, b->frames[i].module);
        assert_int_equal(a->frames[i].file, b->frames[i].file);
        assert_int_equal(a->frames[i].line, b->frames[i].line);
        assert_int_equal(a->frames[i].kind, b->frames[i].kind);
        assert_int_equal(a->frames[i].address, b->frames[i].address);
        assert_int_equal(a->frames[i].offset, b->frames[i].offset);
    }
    assert_int_equal(a->thread_count, b->thread_count);
    for (size_t i = 0; i < a->thread_count; i++) {
        assert_int_equal(a->threads[i].pid, b->threads[i].pid);
        assert_int_equal(a->threads[i].tid, b->threads[i].tid);
        assert_int_equal(a->threads[i].name, b->threads[i].name);
    }
    assert_int_equal(a->sample_count, b->sample_count);
    for (size_t i = 0; i < a->sample_count; i++)
        assert_memory_equal(&a->samples[i], &b->samples[i], sizeof *a->samples);
    assert_int_equal(a->all_samples, b->all_samples);
    same_facts(&a->facts, &b->facts);
}

static void check_round(enum build_mode mode, uint32_t rows, bool differential)
{
    struct error err;
    struct profile *p = make_profile(mode, rows);
    if (differential) {
        p->facts.differential = true;
        p->event_count = 3;
        for (size_t i = 0; i < p->sample_count; i++)
            p->samples[i].event = 1 + p->samples[i].event % 2;
    }
    struct output out = written(p);
    struct profile *q = read_back(output_contents(&out), mode, &everything, &err);
    if (!q)
        fail_msg("%s", err.message);
    same_profile(p, q);
    profile_destroy(q);
    profile_destroy(p);
    output_deinit(&out);
}

static void all_columns_come_back(void **state)
{
    (void)state;
    check_round(BUILD_KEEP, 500, false);
    check_round(BUILD_KEEP, 500, true);
    check_round(BUILD_COUNT, 500, false);
}

static void tables_of_several_sections_come_back(void **state)
{
    (void)state;
    check_round(BUILD_KEEP, STOKE_SECTION_ROWS * 2 + 100, false);
}

static void same_code(const struct code *a, const struct code *b)
{
    assert_int_equal(a->strings.count, b->strings.count);
    for (string_id i = 0; i < a->strings.count; i++)
        assert_true(str_equal(code_string(a, i), code_string(b, i)));
    SAME_TABLE(a, b, events, event_count);
    SAME_TABLE(a, b, sources, source_count);
    assert_int_equal(a->function_count, b->function_count);
    for (size_t i = 1; i < a->function_count; i++) {
        const struct code_function *x = &a->functions[i], *y = &b->functions[i];
        assert_memory_equal(x, y, offsetof(struct code_function, machine_flags));
        assert_int_equal(x->machine_flags, y->machine_flags);
        assert_memory_equal(&x->rows, &y->rows, 3 * sizeof x->rows);
    }
    assert_int_equal(a->spot_count, b->spot_count);
    for (size_t i = 0; i < a->spot_count; i++) {
        assert_memory_equal(&a->spots[i], &b->spots[i], offsetof(struct code_spot, cpu));
        assert_int_equal(a->spots[i].cpu, b->spots[i].cpu);
    }
    assert_int_equal(a->row_count, b->row_count);
    for (size_t i = 0; i < a->row_count; i++) {
        assert_int_equal(a->rows[i].address, b->rows[i].address);
        assert_int_equal(a->rows[i].function, b->rows[i].function);
        assert_int_equal(a->rows[i].file, b->rows[i].file);
        assert_int_equal(a->rows[i].line, b->rows[i].line);
    }
    assert_int_equal(a->note_count, b->note_count);
    for (size_t i = 0; i < a->note_count; i++) {
        assert_int_equal(a->notes[i].address, b->notes[i].address);
        assert_int_equal(a->notes[i].function, b->notes[i].function);
        assert_int_equal(a->notes[i].kind, b->notes[i].kind);
        assert_int_equal(a->notes[i].text, b->notes[i].text);
    }
}

/* Also if it takes several sections; and who does not ask for it reads the same profile. */
static void the_code_of_functions_comes_back(void **state)
{
    (void)state;
    struct error err = {.message = ""};
    struct output out = OUTPUT_BUFFER;
    struct code code = make_code(5000), back;
    struct profile *p = make_profile(BUILD_KEEP, 60);
    const struct export_options options = {.code = &code};
    assert_true(exporter_named(STR("stoke"))->write(p, &options, &out, &err));
    for (int asks = 0; asks < 2; asks++) {
        struct builder b;
        struct source in = source_of(output_contents(&out), STR("test.stoke"));
        struct import_options reading = everything;
        assert_true(code_init(&back) && builder_init(&b, BUILD_KEEP));
        reading.code = asks ? &back : NULL;
        assert_true(import_read(importer_named(STR("stoke")), &in, &reading, &b, &err));
        struct profile *q = builder_finish(&b, &err);
        same_profile(p, q);
        if (asks)
            same_code(&code, &back);
        profile_destroy(q);
        builder_deinit(&b);
        code_deinit(&back);
    }
    profile_destroy(p);
    code_deinit(&code);
    output_deinit(&out);
}

/* A string longer than the usual size of a section. */
static void a_long_string_comes_back(void **state)
{
    (void)state;
    struct builder b;
    struct error err;
    size_t size = STOKE_SECTION_BYTES * 3;
    char *name = malloc(size);
    assert_non_null(name);
    memset(name, 'x', size);
    assert_true(builder_init(&b, BUILD_COUNT));
    b.profile->facts.format = builder_string(&b, STR("folded"));
    for (size_t cut = 0; cut < 3; cut++) {
        stack_id stack =
            builder_push(&b, 0, builder_named_frame(&b, (struct str){name, size - cut}));
        builder_add_stack(&b, builder_event(&b, STR("samples"), UNIT_COUNT), stack, 1);
    }
    struct profile *p = builder_finish(&b, &err);
    builder_deinit(&b);
    struct output out = written(p);
    struct profile *q = read_back(output_contents(&out), BUILD_COUNT, &everything, &err);
    assert_non_null(q);
    same_profile(p, q);
    profile_destroy(q);
    profile_destroy(p);
    output_deinit(&out);
    free(name);
}

/* A file with every sample, read with counts; a file with counts, read with every
 * sample. */
static void samples_become_counts_and_counts_stay(void **state)
{
    (void)state;
    struct error err;
    for (int i = 0; i < 2; i++) {
        struct profile *p = make_profile(i ? BUILD_KEEP : BUILD_COUNT, 300);
        struct output out = written(p);
        struct profile *q = read_back(output_contents(&out), i ? BUILD_COUNT : BUILD_KEEP,
                                      &everything, &err);
        assert_non_null(q);
        assert_false(q->all_samples);
        assert_int_equal(q->facts.samples, p->facts.samples);
        assert_int_equal(q->stack_count, p->stack_count);
        profile_destroy(q);
        profile_destroy(p);
        output_deinit(&out);
    }
}

static void what_is_not_asked_for_is_left_out(void **state)
{
    (void)state;
    struct error err;
    struct profile *p = make_profile(BUILD_KEEP, 500);
    struct output out = written(p);
    const struct import_options few = {.samples = true};
    struct profile *q = read_back(output_contents(&out), BUILD_KEEP, &few, &err);
    assert_non_null(q);
    for (size_t i = 1; i < q->frame_count; i++)
        assert_true(!q->frames[i].file && !q->frames[i].line && !q->frames[i].address);
    assert_true(q->frame_count < p->frame_count);
    for (size_t i = 0; i < q->sample_count; i++)
        assert_double(q->samples[i].weight, (double)q->samples[i].count);
    profile_destroy(q);
    profile_destroy(p);
    output_deinit(&out);
}

/* --- Damaged files -------------------- */

/* IDs are in range and parents come before children, for every content of the file. */
static void check_sound(const struct profile *p)
{
    for (size_t i = 1; i < p->frame_count; i++) {
        assert_true(p->frames[i].name < p->strings.count);
        assert_true(p->frames[i].file < p->strings.count);
        assert_true(p->frames[i].module < p->module_count);
        assert_true(p->frames[i].kind <= FRAME_WAKER);
    }
    for (size_t i = 1; i < p->stack_count; i++) {
        assert_true(p->stacks[i].parent < i);
        assert_true(p->stacks[i].frame && p->stacks[i].frame < p->frame_count);
    }
    for (size_t i = 0; i < p->sample_count; i++) {
        assert_true(p->samples[i].stack < p->stack_count);
        assert_true(p->samples[i].thread < p->thread_count);
        assert_true(p->samples[i].event && p->samples[i].event < p->event_count);
        assert_true(isfinite(p->samples[i].weight));
    }
}

/* Reads a file that may be damaged; returns its number of samples. */
static size_t read_damaged(struct str bytes, bool must_warn)
{
    struct error err;
    struct profile *p = read_back(bytes, BUILD_KEEP, &everything, &err);
    size_t rows = p ? p->sample_count : 0;
    if (!p) {
        assert_true(err.message[0]);
        assert_true(err.location.line == 0);
    } else {
        check_sound(p);
        const struct facts *f = &p->facts; /* three belong to the profile itself */
        bool own = f->warning_count && strcmp(f->warnings[0].what, "a literal") == 0;
        assert_true(!must_warn || f->warning_count > (own ? 3 : 0));
    }
    profile_destroy(p);
    return rows;
}

static void every_byte_may_be_wrong(void **state)
{
    (void)state;
    struct profile *p = make_profile(BUILD_KEEP, 60);
    struct output out = written(p);
    for (size_t i = 0; i < out.used; i++) {
        for (int bit = 0; bit < 8; bit += 3) {
            out.bytes[i] = (char)(out.bytes[i] ^ (1 << bit));
            /* a flag of the header, and a bit of the version, are not covered by a
             * checksum */
            read_damaged(output_contents(&out), i >= STOKE_FILE_HEAD);
            out.bytes[i] = (char)(out.bytes[i] ^ (1 << bit));
        }
    }
    assert_int_equal(read_damaged(output_contents(&out), false), p->sample_count);
    profile_destroy(p);
    output_deinit(&out);
}

static void every_length_may_be_all_there_is(void **state)
{
    (void)state;
    struct profile *p = make_profile(BUILD_KEEP, 60);
    struct output out = written(p);
    size_t before = 0;
    for (size_t length = 0; length < out.used; length++) {
        size_t rows = read_damaged((struct str){out.bytes, length}, true);
        assert_true(rows >= before);
        before = rows;
    }
    assert_int_equal(before, p->sample_count); /* only "END " is missing */
    profile_destroy(p);
    output_deinit(&out);
}

static uint32_t number_at(const char *bytes)
{
    uint32_t v;
    memcpy(&v, bytes, sizeof v);
    return v;
}

/* The offset of the header of the nth section with that tag. */
static size_t find_section(const struct output *out, const char *tag, unsigned n)
{
    size_t at = STOKE_FILE_HEAD;
    while (at < out->used) {
        if (memcmp(out->bytes + at, tag, 4) == 0 && n-- == 0)
            return at;
        at += STOKE_SECTION_HEAD + number_at(out->bytes + at + 12);
    }
    fail_msg("no section %s", tag);
    return 0;
}

/* Corrects the checksums. */
static void sign_section(struct output *out, size_t at)
{
    struct crc32 c;
    crc32_init(&c);
    struct str body = {out->bytes + at + STOKE_SECTION_HEAD,
                       number_at(out->bytes + at + 12)};
    uint32_t sum = crc32_sum(&c, body);
    memcpy(out->bytes + at + 16, &sum, 4);
    sum = crc32_sum(&c, (struct str){out->bytes + at, STOKE_HEAD_SUMMED});
    memcpy(out->bytes + at + 20, &sum, 4);
}

/* One of many sections of samples is damaged: the others are read, and the position is
 * reported. */
static void other_sections_stand(void **state)
{
    (void)state;
    struct error err;
    struct profile *p = make_profile(BUILD_KEEP, STOKE_SECTION_ROWS * 2 + 100);
    struct output out = written(p);
    size_t at = find_section(&out, "SMPS", 1);
    size_t rows = number_at(out.bytes + at + 8);
    out.bytes[at + STOKE_SECTION_HEAD + 5] ^= 1;
    struct profile *q = read_back(output_contents(&out), BUILD_KEEP, &everything, &err);
    assert_non_null(q);
    assert_in_range(rows, 1, STOKE_SECTION_ROWS);
    assert_int_equal(q->sample_count, STOKE_SECTION_ROWS * 2 + 100 - rows);
    const struct warning *w = &q->facts.warnings[q->facts.warning_count - 1];
    assert_string_equal(w->what, "a section with a wrong checksum was left out");
    assert_int_equal(w->first.offset, at);
    profile_destroy(q);
    profile_destroy(p);
    output_deinit(&out);
}

/* The checksums are correct, but the contents are invalid. */
static void signed_nonsense_is_sound(void **state)
{
    (void)state;
    static const char *const tags[] = {"FACT", "STRS", "MODS", "FRMS", "STKS",
                                       "THRS", "EVTS", "SMPS", "CSTR", "CEVT",
                                       "CFUN", "CROW", "CNTE", "CSPT", "CSRC"};
    struct profile *p = make_profile(BUILD_KEEP, 60);
    struct output out = written(p);
    for (size_t t = 0; t < sizeof tags / sizeof *tags; t++) {
        size_t at = find_section(&out, tags[t], 0);
        size_t end = at + STOKE_SECTION_HEAD + number_at(out.bytes + at + 12);
        for (size_t i = at + 4; i < end; i += i < at + 12 ? 1 : 3) {
            static const unsigned char values[] = {0x00, 0x7f, 0x80, 0xff};
            char old = out.bytes[i];
            if (i >= at + 12 && i < at + STOKE_SECTION_HEAD)
                continue;
            for (size_t v = 0; v < sizeof values; v++) {
                out.bytes[i] = (char)values[v];
                sign_section(&out, at);
                read_damaged(output_contents(&out), false);
            }
            out.bytes[i] = old;
        }
        sign_section(&out, at);
    }
    assert_int_equal(read_damaged(output_contents(&out), false), p->sample_count);
    profile_destroy(p);
    output_deinit(&out);
}

/* A large row number must not determine the size of an allocation. */
static void rows_far_away_are_refused(void **state)
{
    (void)state;
    struct error err;
    struct profile *p = make_profile(BUILD_KEEP, 60);
    struct output out = written(p);
    size_t at = find_section(&out, "STKS", 0);
    memset(out.bytes + at + 4, 0xff, 4);
    sign_section(&out, at);
    struct profile *q = read_back(output_contents(&out), BUILD_KEEP, &everything, &err);
    assert_non_null(q); /* samples without a stack remain */
    assert_true(q->arena.total < (size_t)8 << 20);
    assert_string_equal(q->facts.warnings[3].what, "rows with an invalid position");
    assert_int_equal(q->facts.warnings[3].first.offset, at);
    profile_destroy(q);
    profile_destroy(p);
    output_deinit(&out);
}

/* Additions of later versions are skipped; the version is reported. */
static void later_versions_are_reported(void **state)
{
    (void)state;
    struct error err;
    struct profile *p = make_profile(BUILD_KEEP, 60);
    struct output out = written(p);
    size_t at = find_section(&out, "THRS", 0);
    memcpy(out.bytes + at, "NEW?", 4);
    sign_section(&out, at);
    struct profile *q = read_back(output_contents(&out), BUILD_KEEP, &everything, &err);
    assert_non_null(q);
    assert_int_equal(q->sample_count, p->sample_count);
    profile_destroy(q);
    out.bytes[STOKE_MAGIC.len] = 2;
    assert_null(read_back(output_contents(&out), BUILD_KEEP, &everything, &err));
    assert_string_equal(
        err.message,
        "unsupported version 2 of the .stoke format, this stoke reads version 1");
    assert_int_equal(err.location.offset, STOKE_MAGIC.len);
    profile_destroy(p);
    output_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(all_columns_come_back),
        UNIT(tables_of_several_sections_come_back),
        UNIT(the_code_of_functions_comes_back),
        UNIT(a_long_string_comes_back),
        UNIT(samples_become_counts_and_counts_stay),
        UNIT(what_is_not_asked_for_is_left_out),
        UNIT(every_byte_may_be_wrong),
        UNIT(every_length_may_be_all_there_is),
        UNIT(other_sections_stand),
        UNIT(signed_nonsense_is_sound),
        UNIT(rows_far_away_are_refused),
        UNIT(later_versions_are_reported),
    };
    return UNITS_RUN(units);
}
