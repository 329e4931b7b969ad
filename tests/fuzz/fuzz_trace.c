/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the readers of instruction traces and the tracer, with a generated program.
 * $STOKE_FUZZ_IMPORTER is trace-FORMAT. Every instruction that was read must be in a
 * stack, and a pipe must give the same result as memory. */
#include "base/hash.h"
#include "bites.h"
#include "fuzz.h"
#include "sound.h"
#include "trace/reader.h"

#define BASE 0x80000000u
#define WORDS 1024 /* of code */
#define FUNCTION_WORDS 16
#define FUNCTIONS (WORDS / FUNCTION_WORDS)
#define FOREIGN_SIZE ((size_t)64 << 10)

static const struct trace_format *chosen;

/* --- The program ------------------------------------------------------------------- */

static char code[WORDS * 4];
static struct arena arena;
static struct symbol_table symbols;
static struct trace_binary binaries[3];

static uint32_t jump(int32_t by, uint32_t link)
{
    uint32_t x = (uint32_t)by;
    return 0x6f | link << 7 | (x >> 20 & 1) << 31 | (x >> 1 & 0x3ff) << 21 |
           (x >> 11 & 1) << 20 | (x >> 12 & 0xff) << 12;
}

/* Instructions of all kinds; every function has some. */
static uint32_t instruction(uint32_t i)
{
    static const uint32_t plain[] = {
        0x00008067 /* ret */,      0x000300e7 /* jalr ra, t1 */,
        0x00030067 /* jr t1 */,    0x000280e7 /* a swap */,
        0x00000073 /* ecall */,    0x30200073 /* mret */,
        0x10200073 /* sret */,     0x00050463 /* beqz a0, 8 */,
        0x80820001 /* nop; ret */, 0x00010001 /* nop; nop */};
    uint64_t hash = hash_bytes((const char *)&i, sizeof i);
    int32_t target = (int32_t)(hash >> 8 & (FUNCTIONS - 1)) * FUNCTION_WORDS;
    switch (hash & 7) {
    case 0:
        return jump((target - (int32_t)i) * 4, 1);
    case 1:
        return jump((target - (int32_t)i) * 4, 0);
    case 2:
    case 3:
        return plain[(hash >> 20) % (sizeof plain / sizeof *plain)];
    default:
        return 0x00000013; /* nop */
    }
}

static struct symbol_entry function(uint32_t i)
{
    static char names[FUNCTIONS][8];
    static const char *const special[] = {"__switch_to", "setjmp", "f4.cold"};
    snprintf(names[i], sizeof names[i], "f%u", (unsigned)i);
    const char *name = i < 3 ? special[i] : names[i];
    bool is_label = i % 8 == 7;
    return (struct symbol_entry){.address = BASE + i * FUNCTION_WORDS * 4,
                                 .end = BASE + (i + 1) * FUNCTION_WORDS * 4,
                                 .name = name,
                                 .length = (uint32_t)strlen(name),
                                 .kind = is_label ? SYMBOL_LABEL : SYMBOL_FUNCTION,
                                 .binding = is_label ? SYMBOL_LOCAL : SYMBOL_GLOBAL};
}

/* Programs with different code at the same addresses; all except the first are user
 * programs. */
static void make_program(void)
{
    static char others[2][WORDS * 4];
    struct error err;
    symbol_table_init(&symbols, &arena);
    for (uint32_t i = 0; i < FUNCTIONS; i++)
        symbol_table_add(&symbols, function(i));
    CHECK(symbol_table_finish(&symbols, SYMBOLS_BEST, &err));
    for (uint32_t i = 0; i < WORDS; i++) {
        uint32_t one = instruction(i), other = instruction(i + WORDS),
                 third = instruction(i + 2 * WORDS);
        memcpy(code + (size_t)i * 4, &one, 4);
        memcpy(others[0] + (size_t)i * 4, &other, 4);
        memcpy(others[1] + (size_t)i * 4, &third, 4);
    }
    for (size_t i = 0; i < 3; i++) {
        struct trace_binary *b = &binaries[i];
        *b = (struct trace_binary){.name = STR("made"), .symbols = &symbols};
        b->is_user = i > 0;
        CHECK(trace_binary_init(b, &arena, &err));
        b->segments[0].bytes = (struct str){i ? others[i - 1] : code, sizeof code};
    }
}

/* --- What holds -------------------------------------------------------------------- */

/* A short summary of a profile, because deep stacks would make a long text. */
static uint64_t digest(const struct profile *p)
{
    uint64_t hash = p->stack_count * 31 + p->thread_count;
    for (stack_id s = 1; s < p->stack_count; s++)
        hash = hash * 31 + ((uint64_t)p->stacks[s].parent << 32 | p->stacks[s].frame);
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        uint64_t weight;
        memcpy(&weight, &s->weight, sizeof weight);
        hash = (hash * 31 + s->stack) * 31 + weight + s->count + s->thread;
    }
    return hash;
}

/* Reads the trace; false if it was rejected. */
static bool read_trace(struct source *in, const struct trace_reader_options *options,
                       uint64_t *made, bool thorough)
{
    struct error err = {.message = ""};
    struct builder b;
    uint64_t counted = 0;
    struct trace_reader *r = malloc(sizeof *r);
    CHECK(r && builder_init(&b, options->keeps ? BUILD_KEEP : BUILD_COUNT));
    trace_reader_init(r, in, options);
    bool ok = trace_read(r, chosen, &err);
    ok = ok && trace_reader_finish(r, &b, DEMANGLE_SIMPLE, &err);
    CHECK(ok || err.message[0]);
    for (size_t i = 0; ok && i < b.profile->sample_count; i++)
        counted += b.profile->samples[i].count;
    CHECK(!ok || counted == trace_reader_instructions(r));
    *made = ok ? digest(b.profile) : 0;
    if (ok && thorough)
        sound_profile(b.profile);
    builder_deinit(&b);
    trace_reader_deinit(r);
    free(r);
    return ok;
}

size_t fuzz_variants(void)
{
    size_t count = 0;
    while (trace_formats[count])
        count++;
    return count;
}

const char *fuzz_choose(size_t variant, const uint8_t *data, size_t *size)
{
    (void)data;
    chosen = trace_formats[variant];
    if (*size > FOREIGN_SIZE)
        *size = FOREIGN_SIZE;
    return chosen->name;
}

static void choose_by_name(void)
{
    const char *name = getenv("STOKE_FUZZ_IMPORTER");
    struct str whole = str_of(name ? name : "trace-qemu");
    chosen = trace_format_named(str_skip(whole, sizeof "trace-" - 1));
    CHECK(chosen);
}

int fuzz_one(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    uint64_t hash = hash_bytes(text.ptr, text.len);
    struct trace_reader_options options = {.binaries = binaries + (hash >> 2 & 1),
                                           .binary_count = 2 - (hash & 1),
                                           .keeps = hash >> 1 & 1,
                                           .core = 0};
    struct bites pipe = {
        .text = text.ptr, .length = text.len, .bite = 1 + hash % 97 + size / 64};
    struct source memory = source_of(text, STR("memory"));
    struct source piped = source_reading(bites_read, &pipe, STR("pipe"));
    uint64_t one, two;
    if (!symbols.count)
        make_program();
    if (!chosen)
        choose_by_name();
    for (size_t i = 0; trace_formats[i]; i++)
        CHECK(trace_formats[i]->probe(str_head(text, TRACE_HEAD_SIZE)) <= 100);
    bool ok = read_trace(&memory, &options, &one, true);
    CHECK(read_trace(&piped, &options, &two, false) == ok);
    CHECK(one == two);
    source_deinit(&piped);
    return 0;
}
