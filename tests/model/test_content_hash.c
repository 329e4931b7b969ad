/* SPDX-License-Identifier: Apache-2.0 */
/* Content hashes: the vectors of stoke-file(5), and what counts and what does not. */
#include "export/exporter.h"
#include "import/importer.h"
#include "model/builder.h"
#include "model/content_hash.h"
#include "unit.h"

static const struct frame_text {
    const char *name, *file, *module, *build_id;
    enum frame_kind kind;
    uint32_t line;
    uint64_t address, offset;
    const char *hash;
} vectors[] = {
    {"main", "", "", "", FRAME_USER, 0, 0, 0, "d4c354ef93861aa861ceccea809a2c9a"},
    {"handle", "src/server.c", "/opt/bin/server", "00ff", FRAME_USER, 31, 0x7f001234, 0,
     "72d090c5d0c0a0edf015cc30cb89b6f0"},
    {"copy_user", "", "[kernel.kallsyms]", "", FRAME_KERNEL, 0, 0xffffffff81234567, 0,
     "7d3289af77c621595c5ff1a65697f38b"},
    {"copy_user_[k]", "", "[kernel.kallsyms]", "", FRAME_KERNEL, 0, 0, 0,
     "7d3289af77c621595c5ff1a65697f38b"},
    {"Lexer::next", "", "/tmp/perf-7.map", "", FRAME_JIT, 0, 0x7f00, 0,
     "650c4b55c403ab4fc6f4e3ac506f79f3"},
    {"", "", "/usr/bin/server", "6f1c0f2d9ab8e1c2a3b4c5d6e7f8091a2b3c4d5e", FRAME_USER, 0,
     0x55d0c0001234, 0x1234, "9d94349548db198fbc158abcd17b445a"},
    {"", "", "/usr/lib/libz.so.1", "", FRAME_USER, 0, 0x7f0000001234, 0x1234,
     "2ff123cfbe04c183b64bd233af7e76c6"},
    {"", "", "", "", FRAME_USER, 0, 0x1234, 0, "48cd70876e5ed904b7bd6ce1208a7791"},
    {"", "", "", "", FRAME_MARKER, 0, 0, 0, "193975657ce93d8e70b31f03404f8e01"},
};

static frame_id frame_of(struct builder *b, const struct frame_text *t)
{
    struct frame f = {.name = builder_string(b, str_of(t->name)),
                      .module = builder_module(b, str_of(t->module), str_of(t->build_id)),
                      .file = builder_string(b, str_of(t->file)),
                      .line = t->line,
                      .kind = t->kind,
                      .address = t->address,
                      .offset = t->offset};
    return builder_frame(b, &f);
}

static void assert_hash(const struct content_hash *hash, const char *expected)
{
    char text[CONTENT_HASH_TEXT];
    content_hash_text(hash, text);
    assert_string_equal(text, expected);
}

static void frames_have_the_documented_hashes(void **state)
{
    struct builder b;
    (void)state;
    assert_true(builder_init(&b, BUILD_COUNT));
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct content_hash hash =
            content_hash_frame(b.profile, frame_of(&b, &vectors[i]));
        assert_hash(&hash, vectors[i].hash);
    }
    builder_deinit(&b);
}

static void stacks_have_the_documented_hashes(void **state)
{
    struct content_hashes h;
    struct builder b;
    struct error err;
    (void)state;
    assert_true(builder_init(&b, BUILD_COUNT));
    frame_id other = builder_named_frame(&b, STR("other")); /* other ids */
    builder_push(&b, 0, other);
    stack_id outer = builder_push(&b, 0, frame_of(&b, &vectors[0]));
    stack_id inner = builder_push(&b, outer, frame_of(&b, &vectors[1]));
    assert_true(content_hashes_init(&h, b.profile, &err));
    assert_hash(&h.stacks[0], "00000000000000000000000000000000");
    assert_hash(&h.stacks[outer], "13c9fc9dbd574a4e6fdd3f9d9531954f");
    assert_hash(&h.stacks[inner], "e5f92b8a868ac48bd32307afed5e98d3");
    content_hashes_deinit(&h);
    builder_deinit(&b);
}

/* What ASLR moves, and where in a function a sample is, do not count. */
static void addresses_and_lines_do_not_count(void **state)
{
    struct builder b;
    (void)state;
    assert_true(builder_init(&b, BUILD_COUNT));
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct frame_text moved = vectors[i];
        moved.address += 0x111000;
        moved.line += 3;
        struct content_hash hash = content_hash_frame(b.profile, frame_of(&b, &moved));
        assert_hash(&hash, vectors[i].hash);
    }
    builder_deinit(&b);
}

static void all_else_counts(void **state)
{
    struct builder b;
    char before[CONTENT_HASH_TEXT] = "", text[CONTENT_HASH_TEXT];
    struct frame_text t[] = {vectors[1], vectors[1], vectors[1], vectors[1],
                             vectors[5], vectors[5], vectors[5]};
    t[1].name = "handler";
    t[2].file = "src/other.c";
    t[3].module = "/opt/bin/other";
    t[5].offset++;
    t[6].build_id = "00";
    (void)state;
    assert_true(builder_init(&b, BUILD_COUNT));
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct content_hash hash = content_hash_frame(b.profile, frame_of(&b, &t[i]));
        content_hash_text(&hash, text);
        assert_string_not_equal(text, before);
        if (i == 0 || i == 4)
            memcpy(before, text, sizeof text);
    }
    builder_deinit(&b);
}

/* --- Two formats ------------------------------------------------------------------- */

static struct profile *read_as(struct str bytes, const char *format)
{
    struct import_options options = {.lines = true};
    struct source in = source_of(bytes, STR("memory"));
    struct builder b;
    struct error err;
    assert_true(builder_init(&b, BUILD_COUNT));
    assert_true(import_read(importer_named(str_of(format)), &in, &options, &b, &err));
    struct profile *p = builder_finish(&b, &err);
    builder_deinit(&b);
    source_deinit(&in);
    return p;
}

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct content_hash));
}

static void formats_do_not_matter(void **state)
{
    struct export_options options = {.tree.threads = THREAD_NONE};
    struct content_hashes h[2];
    struct output out = OUTPUT_BUFFER;
    struct error err;
    (void)state;
    struct profile *p =
        read_as(STR("b;write_[k] 3\nmain;f;g 2\nmain;f_[i] 1\n"), "folded");
    assert_true(exporter_named(STR("stoke"))->write(p, &options, &out, &err));
    struct profile *q = read_as(output_contents(&out), "stoke");
    assert_true(content_hashes_init(&h[0], p, &err));
    assert_true(content_hashes_init(&h[1], q, &err));
    assert_int_equal(p->stack_count, q->stack_count);
    for (int i = 0; i < 2; i++)
        qsort(h[i].stacks, p->stack_count, sizeof *h[i].stacks, compare);
    assert_memory_equal(h[0].stacks, h[1].stacks, p->stack_count * sizeof *h[0].stacks);
    content_hashes_deinit(&h[0]);
    content_hashes_deinit(&h[1]);
    output_deinit(&out);
    profile_destroy(p);
    profile_destroy(q);
}

/* --- Collisions --------------------------------------------------------------------- */

#define MANY 1000000

static void a_million_stacks_have_a_million_hashes(void **state)
{
    struct content_hashes h;
    struct builder b;
    struct error err;
    frame_id frames[100];
    (void)state;
    assert_true(builder_init(&b, BUILD_COUNT));
    for (unsigned i = 0; i < 100; i++) {
        char name[20];
        struct str text = {name, (size_t)snprintf(name, sizeof name, "f%u", i)};
        frames[i] = builder_named_frame(&b, text);
    }
    for (stack_id i = 0; b.profile->stack_count <= MANY; i++)
        for (unsigned f = 0; f < 100 && b.profile->stack_count <= MANY; f++)
            builder_push(&b, i, frames[f]);
    assert_true(content_hashes_init(&h, b.profile, &err));
    qsort(h.stacks, MANY + 1, sizeof *h.stacks, compare);
    for (size_t i = 1; i <= MANY; i++)
        assert_true(compare(&h.stacks[i - 1], &h.stacks[i]) < 0);
    content_hashes_deinit(&h);
    builder_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(frames_have_the_documented_hashes),
        UNIT(stacks_have_the_documented_hashes),
        UNIT(addresses_and_lines_do_not_count),
        UNIT(all_else_counts),
        UNIT(formats_do_not_matter),
        UNIT(a_million_stacks_have_a_million_hashes),
    };
    return UNITS_RUN(units);
}
