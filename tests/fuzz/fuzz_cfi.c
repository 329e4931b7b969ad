/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes call frame information: the input is a section and a stack to unwind with it.
 * The table must agree with the rows, must be unchanged after writing and reading, and
 * batch and cursor must agree. */
#include "fuzz.h"
#include "unwind/unwind.h"

#define ADDRESS 0x1000u
#define FRAMES 40
#define STACK_TOP 0x7ffc00000000u
#define JOBS 3

static const char *const variants[] = {"x86-64 .eh_frame", "x86-64 .debug_frame",
                                       "AArch64 .eh_frame", "AArch64 .debug_frame"};
static size_t chosen = SIZE_MAX; /* SIZE_MAX: the first byte of the input selects */

size_t fuzz_variants(void)
{
    return sizeof variants / sizeof *variants;
}

const char *fuzz_choose(size_t variant, const uint8_t *data, size_t *size)
{
    (void)data;
    (void)size;
    chosen = variant;
    return variants[variant];
}

/* Every row must be found in the table; general rules through the FDE. */
static void check_rows(const struct unwind_table *t, const struct cfi_section *section)
{
    static struct cfi_program program;
    struct cfi_reader reader = cfi_reader_of(section);
    struct cfi_fde fde, found;
    const struct cfi_section *from;
    cfi_program_init(&program, section);
    while (cfi_next(&reader, &fde)) {
        CHECK(fde.end > fde.start);
        uint64_t end = fde.start;
        cfi_rows_begin(&program, &fde);
        while (cfi_rows_next(&program)) {
            const struct cfi_row *row = &program.row;
            CHECK(row->start == end && row->end > row->start && row->end <= fde.end);
            end = row->end;
            struct unwind_rule rule = unwind_rule_of(&program);
            const struct unwind_rule *in_table = unwind_table_find(t, row->start);
            bool own = unwind_table_fde(t, row->start, &from, &found) &&
                       found.offset == fde.offset;
            CHECK(!own || memcmp(in_table, &rule, sizeof rule) == 0);
        }
    }
}

static void check_bytes(const struct unwind_table *t, const struct unwind_source *source,
                        struct arena *arena)
{
    struct unwind_table again;
    struct error err = {.message = ""};
    struct str bytes = unwind_table_bytes(t, arena);
    CHECK(unwind_table_load(&again, bytes, source, arena, &err));
    CHECK(again.row_count == t->row_count && again.fde_count == t->fde_count);
    for (size_t i = 0; i < t->row_count; i++)
        CHECK(memcmp(unwind_table_find(t, t->base + t->pcs[i]),
                     unwind_table_find(&again, t->base + t->pcs[i]),
                     sizeof(struct unwind_rule)) == 0);
}

struct result {
    uint64_t addresses[FRAMES];
    uint32_t signals[(FRAMES + 31) / 32];
};

static void set_job(struct unwind_job *job, struct result *result)
{
    job->addresses = result->addresses;
    job->signals = result->signals;
    job->room = FRAMES;
}

static const struct unwind_table *table_of(void *context, object_id object)
{
    return object == 1 ? context : NULL;
}

static void check_stacks(const struct unwind_table *t, const struct spaces *spaces,
                         space_id space, struct str stack, struct unwind_cache *cache)
{
    struct unwind_table copy = *t;
    struct unwind_objects objects = {.table = table_of, .context = &copy};
    uint64_t registers[JOBS][UNWIND_REGISTERS_MAX];
    struct unwind_job fast[JOBS], slow[JOBS];
    struct result fast_taken[JOBS], slow_taken[JOBS];
    bool is_arm = t->machine == ARCH_ARM64;
    for (size_t i = 0; i < JOBS; i++) {
        for (size_t r = 0; r < UNWIND_REGISTERS_MAX; r++)
            registers[i][r] = STACK_TOP + 8 * (r + i);
        registers[i][is_arm ? 31 : 7] = STACK_TOP;
        registers[i][is_arm ? 32 : 8] =
            t->base + (t->row_count ? t->pcs[i % t->row_count] : 0) + i;
        slow[i] = (struct unwind_job){.machine = t->machine,
                                      .spaces = spaces,
                                      .space = space,
                                      .registers = registers[i],
                                      .recorded = i == 2 ? 0xffffffu : UINT64_MAX,
                                      .stack = stack};
        fast[i] = slow[i];
        set_job(&slow[i], &slow_taken[i]);
        set_job(&fast[i], &fast_taken[i]);
    }
    unwind_by_cursor(&objects, slow, JOBS);
    unwind_batch(cache, &objects, fast, JOBS);
    for (size_t i = 0; i < JOBS; i++) {
        size_t count = slow[i].count;
        CHECK(fast[i].count == count && count <= FRAMES && fast[i].end == slow[i].end);
        CHECK(memcmp(&fast_taken[i].addresses, &slow_taken[i].addresses, count * 8) == 0);
        CHECK(memcmp(&fast_taken[i].signals, &slow_taken[i].signals,
                     sizeof slow_taken[i].signals) == 0);
    }
}

static void check_header(struct str bytes)
{
    struct cfi_header h;
    uint64_t fde;
    if (cfi_header_read(bytes, ADDRESS, ARCH_X86_64, false, &h))
        for (uint64_t at = ADDRESS; at < ADDRESS + 64; at += 7)
            cfi_header_find(&h, at, &fde);
}

int fuzz_one(const uint8_t *data, size_t size)
{
    if (size < 4)
        return 0;
    size_t variant = chosen == SIZE_MAX ? data[0] % fuzz_variants() : chosen;
    struct str rest = {(const char *)data + 2, size - 2};
    struct str bytes = str_head(rest, rest.len - rest.len * data[1] / 512);
    struct unwind_source source = {
        .machine = variant < 2 ? ARCH_X86_64 : ARCH_ARM64,
        .section_count = 1,
        .segments = {{0, (uint64_t)1 << 40, 0}},
        .segment_count = 1,
        .code = str_skip(rest, rest.len / 2),
        .code_address = ADDRESS,
    };
    source.sections[0] = (struct cfi_section){.bytes = bytes,
                                              .address = ADDRESS,
                                              .machine = source.machine,
                                              .is_debug_frame = variant & 1};
    struct arena arena = ARENA_INIT;
    struct spaces spaces = SPACES_INIT;
    struct address_map map = {.end = (uint64_t)1 << 40, .object = 1};
    struct error err = {.message = ""};
    struct unwind_table table;
    static struct unwind_cache *cache;
    static struct arena cache_arena;
    static uint32_t version;
    if (!cache)
        cache = unwind_cache_create(&cache_arena);
    CHECK(unwind_table_build(&table, &source, &arena, &err));
    check_rows(&table, &source.sections[0]);
    check_bytes(&table, &source, &arena);
    map.offset = 0;
    map.object = 1;
    /* a new space for each input, so that no cached rule of the previous one is used */
    map.end += ++version;
    space_id space = space_add(&spaces, 0, &map);
    check_stacks(&table, &spaces, space, rest, cache);
    check_header(rest);
    spaces_deinit(&spaces);
    arena_deinit(&arena);
    return 0;
}
