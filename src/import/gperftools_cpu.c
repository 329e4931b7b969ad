/* SPDX-License-Identifier: Apache-2.0 */
/* CPU profiles of gperftools (CPUPROFILE, ProfilerStart): words of 32 or 64 bits, in the byte order
 * of the machine, then text.
 *
 *   0, 3, 0, period, 0      the words of the header that follow, version, microseconds
 *   count, n, n addresses   a stack, leaf first; all but the leaf are return addresses
 *   0, 1, 0                 the end
 *   55d669a6f000-55d669a70000 r-xp 00001000 fe:00 10953071    /usr/bin/x
 *
 * The maps are those of /proc/PID/maps. A stack occurs again when the profiler had to write it
 * early. Source: "Binary format of CPU profiles" of gperftools' documentation. */
#include "base/array.h"
#include "base/bytes.h"
#include "import/mapped.h"
#include "import/quantity.h"

#define HEADER_WORDS 5
#define HEADER_MORE 3  /* the words after the second */
#define HEADER_MOST 64 /* newer versions may add some */
#define PERIOD_MAX 3600000000u
#define SAMPLES_MAX ((uint64_t)1 << 40) /* per stack, so that sums stay exact */

struct cpu_reader {
    struct builder *b;
    const struct import_options *options;
    struct source *in;
    struct error *err;
    struct mapped mapped;
    struct arena arena;
    size_t width; /* of a word */
    bool big_endian;
    uint64_t period;     /* in microseconds */
    bool failed, at_end; /* reading; the input ends inside a word */
    struct cpu_row {
        stack_id stack; /* collected; 0: no addresses */
        uint64_t count;
    } * rows;
    size_t row_count, row_cap;
};

/* --- Words -------------------------------------------------------------------------- */

static uint64_t word_of(struct bytes *bytes, size_t width)
{
    return width == 8 ? bytes_u64(bytes) : bytes_u32(bytes);
}

static uint64_t next_word(struct cpu_reader *r)
{
    struct source *in = r->in;
    if (r->failed || r->at_end)
        return 0;
    if ((size_t)(in->end - in->begin) < r->width && !source_peek(in, r->width, r->err)) {
        r->failed = true;
        return 0;
    }
    struct bytes bytes = bytes_of(str_span(in->begin, in->end), r->big_endian);
    if (bytes_left(&bytes) < r->width) {
        r->at_end = true;
        return 0;
    }
    in->begin += r->width;
    in->offset += r->width;
    return word_of(&bytes, r->width);
}

/* Whether `head` begins with a header of such words. */
static bool is_header(struct str head, size_t width, bool big_endian)
{
    struct bytes bytes = bytes_of(head, big_endian);
    uint64_t words[HEADER_WORDS];
    for (size_t i = 0; i < HEADER_WORDS; i++)
        words[i] = word_of(&bytes, width);
    return !bytes.failed && !words[0] && words[1] >= HEADER_MORE &&
           words[1] <= HEADER_MOST && !words[2] && words[3] && words[3] <= PERIOD_MAX &&
           !words[4];
}

static bool find_header(struct str head, size_t *width, bool *big_endian)
{
    for (int i = 0; i < 4; i++) {
        *width = i & 1 ? 4 : 8;
        *big_endian = i & 2;
        if (is_header(head, *width, *big_endian))
            return true;
    }
    return false;
}

/* --- Stacks ------------------------------------------------------------------------- */

/* The handler of the signal may find the interrupted instruction twice: in the context of the
 * signal and as the first one of the stack. */
static void add_stack(struct cpu_reader *r, uint64_t count, uint64_t length)
{
    uint64_t leaf = 0;
    for (uint64_t i = 0; i < length; i++) {
        uint64_t address = next_word(r);
        if (r->failed || r->at_end)
            break;
        if (i == 0)
            mapped_instruction(&r->mapped, leaf = address);
        else if (i > 1 || address != leaf)
            mapped_call(&r->mapped, address);
    }
    stack_id stack = mapped_stack(&r->mapped);
    if (r->failed || r->at_end)
        return;
    if (count > SAMPLES_MAX) {
        builder_warn(r->b, "a number of samples that is too large", 0, 0, STR(""));
        return;
    }
    struct cpu_row *row = ARRAY_APPEND(&r->arena, r->rows, r->row_count, r->row_cap);
    if (row)
        *row = (struct cpu_row){stack, count};
}

static bool read_header(struct cpu_reader *r)
{
    if (!source_peek(r->in, HEADER_WORDS * sizeof(uint64_t), r->err))
        return false;
    if (!find_header(str_span(r->in->begin, r->in->end), &r->width, &r->big_endian)) {
        error_set(r->err, "this is no CPU profile of gperftools: its header is damaged");
        return error_hint(r->err, "copy the file again");
    }
    next_word(r);
    uint64_t more = next_word(r);
    for (uint64_t i = 0; i < more; i++) {
        uint64_t word = next_word(r);
        if (i == 1)
            r->period = word;
    }
    return !r->failed;
}

/* True at the end of the stacks; without it the file is truncated. */
static bool read_stack(struct cpu_reader *r)
{
    uint64_t count = next_word(r), length = next_word(r);
    if (r->failed || r->at_end)
        return false;
    if (!count) {
        bool ends = length == 1 && next_word(r) == 0 && !r->at_end;
        for (uint64_t i = length == 1; i < length && !r->failed && !r->at_end; i++)
            next_word(r);
        return ends;
    }
    add_stack(r, count, length);
    return false;
}

static bool read_stacks(struct cpu_reader *r)
{
    while (!r->failed && !r->at_end && !r->arena.failed && !builder_failed(r->b))
        if (read_stack(r))
            return true;
    if (r->at_end) {
        builder_warn_offset(r->b, "the file ends before the end of its stacks",
                            r->in->offset);
        r->b->profile->facts.incomplete = true;
    }
    return !r->failed;
}

/* --- The file ----------------------------------------------------------------------- */

static bool read_maps(struct cpu_reader *r)
{
    struct lines lines = lines_of(r->in, r->err);
    struct str line;
    while (!r->at_end && !builder_failed(r->b) && lines_next(&lines, &line)) {
        line = str_trim(line);
        if (line.len && !mapped_line(&r->mapped, line) &&
            !str_starts(line, STR("build=")))
            builder_warn(r->b, "not a line of the maps", lines.number, 1, line);
    }
    if (!lines.failed && !r->mapped.map_count && r->row_count)
        builder_warn(r->b, "the file has no maps, so its addresses have no names", 0, 0,
                     STR(""));
    return !lines.failed;
}

static bool drop_none(struct str module, struct str function)
{
    (void)module;
    (void)function;
    return false;
}

static void add_samples(struct cpu_reader *r)
{
    struct facts *facts = &r->b->profile->facts;
    double nanoseconds = (double)r->period * 1000;
    event_id event = builder_event(r->b, STR("cpu"),
                                   r->options->samples ? UNIT_COUNT : UNIT_NANOSECONDS);
    stack_id unknown =
        builder_push(r->b, 0, builder_frame(r->b, &(struct frame){.kind = FRAME_USER}));
    for (size_t i = 0; i < r->row_count; i++) {
        const struct cpu_row *row = &r->rows[i];
        double count = (double)row->count;
        struct sample s = {.event = event,
                           .stack = row->stack ? mapped_result(&r->mapped, row->stack)
                                               : unknown,
                           .count = row->count,
                           .weight = r->options->samples ? count : count * nanoseconds,
                           .time = TIME_NONE,
                           .cpu = CPU_NONE};
        builder_add(r->b, &s);
    }
    facts->rate = 1e9 / nanoseconds;
    if (r->mapped.map_count && !facts->command) /* the first file with code */
        facts->command = r->mapped.maps[0].path;
}

static bool gperftools_cpu_read(struct source *in, const struct import_options *options,
                                struct builder *b, struct error *err)
{
    struct cpu_reader r = {.b = b, .options = options, .in = in, .err = err, .width = 8};
    bool ok = mapped_init(&r.mapped, b, options) || error_memory(err);
    ok = ok && read_header(&r) && read_stacks(&r) && read_maps(&r);
    if (ok && !r.arena.failed && mapped_finish(&r.mapped, drop_none))
        add_samples(&r);
    else if (ok)
        b->profile->arena.failed = true;
    mapped_deinit(&r.mapped);
    builder_end_scratch(b, &r.arena);
    return ok;
}

static int gperftools_cpu_probe(struct str head)
{
    size_t width;
    bool big_endian;
    return find_header(head, &width, &big_endian) ? 98 : 0;
}

const struct importer import_gperftools_cpu = {
    .name = "gperftools-cpu",
    .suffixes = "prof",
    .summary = "CPU profiles of gperftools (CPUPROFILE)",
    .shape = SHAPE_BINARY,
    .empty = "the profile has no samples",
    .probe = gperftools_cpu_probe,
    .resolves_lines = true,
    .read = gperftools_cpu_read,
};
