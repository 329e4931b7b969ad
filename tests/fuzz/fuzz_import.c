/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes every importer. $STOKE_FUZZ_IMPORTER selects one; otherwise the first byte of
 * the input does. The profile must be valid, must be the same from a pipe as from
 * memory, and, if the format can be split, the same in two parts. */
#include "base/bytes.h"
#include "base/crc32.h"
#include "base/hash.h"
#include "base/stoke_format.h"
#include "bites.h"
#include "export/exporter.h"
#include "fuzz.h"
#include "import/importer.h"
#include "model/code.h"
#include "sound.h"

static const struct importer *chosen;

/* Larger inputs of other formats test nothing new. */
#define FOREIGN_SIZE ((size_t)256 << 10)

/* How an input is read; derived from its bytes, so it is reproducible. */
struct read_mode {
    struct import_options options;
    enum build_mode mode;
    bool piped; /* also read from a pipe, in bites of this size */
    size_t bite;
    bool split; /* also read in two parts, split near `split_at` */
    size_t split_at;
    bool
        /* also exported, read back, and drawn as a tree, which is slower than reading */
        complete;
};

/* Replay does this for every input; fuzzing for one in eight, to try more inputs. */
static bool replaying;

/* A resolver that generates frames from its arguments, so that all of them are read. */
static object_id fake_object(void *context, const struct object_request *expected)
{
    (void)context;
    /* reads every byte */
    CHECK(hash_bytes(expected->build_id.ptr, expected->build_id.len) != 1);
    return 1 + (object_id)(hash_bytes(expected->path.ptr, expected->path.len) % 7);
}

static void fake_unwind(void *context, unsigned worker, struct unwind_job *jobs,
                        size_t count)
{
    (void)worker;
    (void)context;
    for (size_t i = 0; i < count; i++) {
        struct unwind_job *job = &jobs[i];
        uint64_t hash = hash_bytes(job->stack.ptr, job->stack.len);
        for (unsigned r = 0; r < UNWIND_REGISTERS_MAX; r++)
            hash += job->registers[r];
        const struct address_map *map = space_from(job->spaces, job->space, hash);
        job->count = hash % (job->room + 1);
        for (size_t k = 0; k < job->count; k++)
            job->addresses[k] = (map ? map->start : hash) + k % 5;
        job->signals[0] = (uint32_t)hash;
        job->end = (enum unwind_end)(hash % 6);
    }
}

static void fake_name(void *context, struct name_job *jobs, size_t count)
{
    static const struct resolved_frame frames[] = {
        {.name = {"in(int)", 7}, .file = {"a.c", 3}, .line = 1, .kind = FRAME_INLINED},
        {.name = {"f->g", 4}, .file = {"", 0}},
        {.name = {"", 0}, .file = {"", 0}},
    };
    (void)context;
    for (size_t i = 0; i < count; i++) {
        size_t first = jobs[i].object ? jobs[i].address % 4 : 3;
        jobs[i].frames = &frames[first % 3];
        jobs[i].count = first == 3 ? 0 : 3 - first;
    }
}

static const struct resolver fake = {
    .object = fake_object, .unwind = fake_unwind, .name = fake_name};

static struct read_mode read_mode_of(const uint8_t *data, size_t size)
{
    uint64_t hash = hash_bytes(data, size);
    struct read_mode w = {.bite = 1 + size / 64 + hash % 97,
                          .split_at = hash % (size + 1)};
    w.mode = hash >> 8 & 1 ? BUILD_KEEP : BUILD_COUNT;
    w.piped = (hash >> 20 & 3) == 0;
    w.split = (hash >> 22 & 1) == 0;
    w.complete = replaying || (hash >> 24 & 7) == 0;
    w.options.resolver = hash >> 27 & 1 ? &fake : NULL;
    if (hash >> 9 & 1)
        return w;
    w.options = (struct import_options){
        .resolver = w.options.resolver,
        .addresses = hash >> 10 & 1,
        .every_address = hash >> 11 & 1,
        .lines = hash >> 12 & 1,
        .offsets = hash >> 13 & 1,
        .samples = hash >> 14 & 1,
        .all_threads = hash >> 15 & 1,
        .ghc = (enum ghc_column)(hash >> 16 & 0xff) % 3,
    };
    return w;
}

/* Writes the profile as folded lines to o; false if the input was rejected. */
static bool read_folded(struct source *in, const struct read_mode *read_mode,
                        struct output *o, struct builder *b)
{
    struct error err = {.message = ""};
    struct export_options options = {0};
    CHECK(builder_init(b, read_mode->mode));
    if (!import_read(chosen, in, &read_mode->options, b, &err)) {
        CHECK(err.message[0]);
        return false;
    }
    CHECK(exporter_named(STR("folded"))->write(b->profile, &options, o, &err));
    return true;
}

static void check_pipe(struct str text, const struct read_mode *read_mode,
                       struct str expected, bool ok)
{
    struct bites pipe = {.text = text.ptr, .length = text.len, .bite = read_mode->bite};
    struct source in = source_reading(bites_read, &pipe, STR("pipe"));
    struct output o = OUTPUT_BUFFER;
    struct builder b;
    CHECK(read_folded(&in, read_mode, &o, &b) == ok);
    CHECK(str_equal(output_contents(&o), expected));
    builder_deinit(&b);
    output_deinit(&o);
    source_deinit(&in);
}

/* Two parts, read separately and merged as in engine/parts.c, must equal the whole. */
static void check_split(struct str text, const struct read_mode *read_mode,
                        const struct profile *whole, struct str expected)
{
    size_t at =
        read_mode->split_at + chosen->split(str_skip(text, read_mode->split_at), 0);
    struct builder both, part;
    struct error err;
    struct output o = OUTPUT_BUFFER;
    struct export_options options = {0};
    if (at >= text.len)
        return;
    struct import_options part_options = read_mode->options;
    part_options.head = str_head(text, IMPORT_HEAD_SIZE);
    CHECK(builder_init(&both, read_mode->mode));
    for (int i = 0; i < 2; i++) {
        struct source in =
            source_of(i ? str_skip(text, at) : str_head(text, at), STR("part"));
        CHECK(builder_init(&part, read_mode->mode));
        CHECK(chosen->read(&in, &part_options, &part, &err));
        builder_merge(&both, part.profile);
        builder_deinit(&part);
    }
    CHECK(both.profile->facts.samples == whole->facts.samples);
    CHECK(exporter_named(STR("folded"))->write(both.profile, &options, &o, &err));
    CHECK(str_equal(output_contents(&o), expected));
    output_deinit(&o);
    builder_deinit(&both);
}

/* Corrects the checksums of a .stoke file, without which nearly every input would be refused at
 * its first section. Returns a copy, which the caller frees; NULL if it is of another format. */
static char *sign_sections(struct str text)
{
    char *copy = str_starts(text, STOKE_MAGIC) ? malloc(text.len) : NULL;
    struct crc32 crc;
    if (!copy)
        return NULL;
    crc32_init(&crc);
    memcpy(copy, text.ptr, text.len);
    for (size_t at = STOKE_FILE_HEAD, size; text.len - at >= STOKE_SECTION_HEAD;
         at += STOKE_SECTION_HEAD + size) {
        struct bytes head = bytes_of(str_skip(text, at + 12), false);
        size = bytes_u32(&head);
        if (size > text.len - at - STOKE_SECTION_HEAD)
            size = text.len - at - STOKE_SECTION_HEAD;
        uint32_t sum =
            crc32_sum(&crc, (struct str){copy + at + STOKE_SECTION_HEAD, size});
        memcpy(copy + at + 16, &sum, sizeof sum);
        sum = crc32_sum(&crc, (struct str){copy + at, STOKE_HEAD_SUMMED});
        memcpy(copy + at + 20, &sum, sizeof sum);
    }
    return copy;
}

/* Only reading: it must end, and the profile must be valid; so must the code of functions. */
static void check_reading(struct str text, const struct read_mode *read_mode)
{
    struct source in = source_of(text, STR("memory"));
    struct error err = {.message = ""};
    struct builder b;
    CHECK(builder_init(&b, read_mode->mode));
    struct import_options options = read_mode->options;
    struct code code;
    CHECK(code_init(&code));
    options.code = &code;
    if (import_read(chosen, &in, &options, &b, &err)) {
        sound_profile(b.profile);
        if (code.event_count > 1)
            sound_code(b.profile, &code);
    } else {
        CHECK(err.message[0]);
    }
    code_deinit(&code);
    builder_deinit(&b);
}

static void check_input(struct str text, const struct read_mode *read_mode)
{
    struct source in = source_of(text, STR("memory"));
    struct output o = OUTPUT_BUFFER;
    struct builder b;
    bool ok = read_folded(&in, read_mode, &o, &b);
    if (read_mode->piped)
        check_pipe(text, read_mode, output_contents(&o), ok);
    if (ok) {
        sound_profile(b.profile);
        for (event_id e = 1; e < b.profile->event_count && e < 4; e++)
            sound_tree(b.profile, e);
        sound_folded(b.profile);
        if (read_mode->piped)
            sound_exports(b.profile);
        if (read_mode->split && chosen->split && text.len)
            check_split(text, read_mode, b.profile, output_contents(&o));
    }
    builder_deinit(&b);
    output_deinit(&o);
}

size_t fuzz_variants(void)
{
    size_t count = 0;
    while (importers[count])
        count++;
    return count;
}

const char *fuzz_choose(size_t variant, const uint8_t *data, size_t *size)
{
    struct str head = str_head((struct str){(const char *)data, *size}, IMPORT_HEAD_SIZE);
    chosen = importers[variant];
    replaying = true;
    if (*size > FOREIGN_SIZE && chosen->probe(head) == 0)
        *size = FOREIGN_SIZE;
    return chosen->name;
}

int fuzz_one(const uint8_t *data, size_t size)
{
    const char *name = getenv("STOKE_FUZZ_IMPORTER");
    bool from_input = !chosen && !name;
    if (!chosen && name) {
        chosen = importer_named(str_of(name));
        CHECK(chosen);
    }
    if (from_input && size == 0)
        return 0;
    if (from_input) {
        chosen = importers[data[0] % fuzz_variants()];
        data++;
        size--;
    }
    struct read_mode read_mode = read_mode_of(data, size);
    struct str text = {(const char *)data, size};
    char *signed_text = text.len >= STOKE_FILE_HEAD && (replaying || size % 4)
                            ? sign_sections(text)
                            : NULL;
    CHECK(chosen->probe(str_head(text, IMPORT_HEAD_SIZE)) <= 100);
    if (signed_text)
        check_reading((struct str){signed_text, size}, &read_mode);
    free(signed_text);
    if (read_mode.complete)
        check_input(text, &read_mode);
    if (!read_mode.complete || replaying)
        check_reading(text, &read_mode);
    if (from_input)
        chosen = NULL;
    return 0;
}
