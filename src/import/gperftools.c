/* SPDX-License-Identifier: Apache-2.0 */
/* Heap profiles of allocators as text: gperftools' heap profiler (HEAPPROFILE), the samples
 * and the growth of tcmalloc, and jemalloc (MALLOC_CONF=prof:true).
 *
 *   heap profile:  20022: 22975936 [ 24022: 42975936] @ heapprofile
 *       20: 20971520 [    20: 20971520] @ 0x557a18b06208 0x557a18b06279
 *
 *   heap_v2/524288                                    jemalloc since 4
 *     t*: 1367: 1637036 [2560: 4825252]               the total of all threads
 *     t0: 137: 15930 [730: 416845] main               each thread, maybe with its name
 *   @ 0x7fadedea2630 0x7fadedea2d21
 *     t*: 20: 20971520 [20: 20971520]
 *     t1: 20: 20971520 [20: 20971520]
 *
 *   MAPPED_LIBRARIES:                                 or "--- Memory map:"
 *   55d669a6f000-55d669a70000 r-xp 00001000 fe:00 10953071    /usr/bin/x
 *
 * The numbers are objects and bytes in use, and in brackets all that were allocated. The
 * words after the first '@' say how they were sampled, and google-pprof and jeprof scale them
 * so: "heapprofile" and "growth" are complete; "heap_v2/R" has an object of S bytes with the
 * probability 1 - exp(-S / R); "heap/P", of old versions, with S / (P / 2), at most 1. Go
 * writes "heap/P", too, and means another probability: go_profile.c. */
#include "base/array.h"
#include "base/idmap.h"
#include "base/number.h"
#include "import/mapped.h"
#include "import/quantity.h"
#include "import/stacktext.h"
#include <math.h>

#define PERIOD_DEFAULT (128 << 10) /* of pprof, if the head has none */

enum sampling { SAMPLED_ALL, SAMPLED_UNIFORM, SAMPLED_POISSON };

/* Objects and bytes in use, and allocated. */
enum { USED, USED_BYTES, MADE, MADE_BYTES, VALUES };

struct heap_row {
    stack_id stack; /* collected; 0: unknown */
    thread_id thread;
    bool is_missing;
    double values[VALUES];
};

struct heap_reader {
    struct builder *b;
    const struct import_options *options;
    struct lines lines;
    struct arena arena;
    struct mapped mapped;
    struct idmap threads; /* by number, with the name of the head */
    bool has_head, by_thread, grows, in_maps, differs;
    enum sampling sampling;
    double period;
    double stated[VALUES], sums[VALUES]; /* not scaled */
    struct heap_row *rows;
    size_t row_count, row_cap;
    /* of the current stack of jemalloc */
    bool open, has_total;
    stack_id stack;
    double total[VALUES];
    size_t first; /* its rows */
};

/* --- Numbers ---------------------------------------------------------------------------- */

/* Removes a number and the character after it, with spaces around both. */
static bool take_number(struct str *rest, char after, double *number)
{
    uint64_t value;
    *rest = str_trim_left(*rest);
    size_t digits = 0;
    while (digits < rest->len && byte_is_digit(rest->ptr[digits]))
        digits++;
    bool ok = number_parse_u64(str_head(*rest, digits), &value) &&
              (double)value <= QUANTITY_MAX;
    *number = ok ? (double)value : 0;
    *rest = str_trim_left(str_skip(*rest, digits));
    if (!after)
        return ok;
    ok = ok && rest->len && rest->ptr[0] == after;
    *rest = str_trim_left(str_skip(*rest, 1));
    return ok;
}

/* "20: 20971520 [ 20: 20971520]" */
static bool take_values(struct str *rest, double *values)
{
    return take_number(rest, ':', &values[USED]) &&
           take_number(rest, '[', &values[USED_BYTES]) &&
           take_number(rest, ':', &values[MADE]) &&
           take_number(rest, ']', &values[MADE_BYTES]);
}

/* The number of objects for which a sampled one stands. */
static double scale_of(const struct heap_reader *r, double objects, double bytes)
{
    double size = objects > 0 ? bytes / objects / r->period : 0;
    if (r->sampling == SAMPLED_ALL || !(size > 0))
        return 1;
    if (r->sampling == SAMPLED_POISSON)
        return -1 / expm1(-size);
    return size < 1 ? 1 / size : 1;
}

/* --- Rows ------------------------------------------------------------------------------- */

static void add_row(struct heap_reader *r, stack_id stack, thread_id thread,
                    const double *values)
{
    struct heap_row *row = ARRAY_APPEND(&r->arena, r->rows, r->row_count, r->row_cap);
    if (!row)
        return;
    *row = (struct heap_row){.stack = stack, .thread = thread};
    memcpy(row->values, values, sizeof row->values);
}

static void scale_row(const struct heap_reader *r, struct heap_row *row,
                      const double *total)
{
    for (int i = 0; i < VALUES; i++)
        row->values[i] *= scale_of(r, total[i & ~1], total[i | 1]);
}

/* Counts what a stack has in all threads. */
static void count_total(struct heap_reader *r, const double *total)
{
    for (int i = 0; i < VALUES; i++)
        r->sums[i] += total[i];
    r->differs |= total[MADE] > total[USED] || total[MADE_BYTES] > total[USED_BYTES];
}

static void add_addresses(struct heap_reader *r, struct str rest, struct str line)
{
    struct str word;
    uint64_t address;
    while ((word = str_word(&rest)).len)
        if (number_parse_hex(word, &address) && address)
            mapped_call(&r->mapped, address);
        else
            builder_warn(r->b, "not an address", r->lines.number, 1, line);
    r->stack = mapped_stack(&r->mapped);
}

/* Ends a stack of jemalloc. Threads that ended may be part of the total only. All threads
 * have the scale of the total, so that they add up to it. */
static void end_stack(struct heap_reader *r)
{
    double rest[VALUES];
    bool more = false;
    if (!r->open)
        return;
    r->open = false;
    memcpy(rest, r->total, sizeof rest);
    for (size_t i = r->first; i < r->row_count; i++)
        for (int v = 0; v < VALUES; v++) {
            rest[v] -= r->rows[i].values[v];
            r->total[v] += r->has_total ? 0 : r->rows[i].values[v];
        }
    for (int v = 0; v < VALUES; v++) {
        rest[v] = r->has_total && rest[v] > 0 ? rest[v] : 0;
        more |= rest[v] > 0;
    }
    if (more)
        add_row(r, r->stack, 0, rest);
    for (size_t i = r->first; i < r->row_count; i++)
        scale_row(r, &r->rows[i], r->total);
    count_total(r, r->total);
}

static void begin_stack(struct heap_reader *r, struct str line)
{
    end_stack(r);
    add_addresses(r, str_skip(line, 1), line);
    r->open = true;
    r->has_total = false;
    r->first = r->row_count;
    memset(r->total, 0, sizeof r->total);
}

/* Only the head has the names of the threads. */
static thread_id thread_of(struct heap_reader *r, uint64_t tid, struct str name)
{
    uint64_t *known = idmap_put(&r->threads, &r->arena, tid);
    if (known && !*known)
        *known = builder_thread(r->b, ID_NONE, (int64_t)tid, name);
    return known ? (thread_id)*known : 0;
}

/* "t*: 1367: 1637036 [2560: 4825252]", "t0: 137: 15930 [730: 416845] main" */
static bool read_thread(struct heap_reader *r, struct str line)
{
    double values[VALUES];
    uint64_t tid = 0;
    struct str rest = line, name = str_skip(str_cut(&rest, ':'), 1);
    bool is_total = str_equal(name, STR("*"));
    if (!is_total && !number_parse_u64(name, &tid))
        return false;
    if (!take_values(&rest, values) || tid > INT64_MAX)
        return false;
    if (is_total) {
        memcpy(r->open ? r->total : r->stated, values, sizeof values);
        r->has_total |= r->open;
        return true;
    }
    thread_id thread = thread_of(r, tid, str_trim(rest));
    if (r->open)
        add_row(r, r->stack, thread, values);
    return true;
}

/* "20: 20971520 [ 20: 20971520] @ 0x557a18b06208" */
static bool read_row(struct heap_reader *r, struct str line)
{
    double values[VALUES];
    struct str rest = line;
    if (!take_values(&rest, values) || !str_starts(rest, STR("@")))
        return false;
    add_addresses(r, str_skip(rest, 1), line);
    add_row(r, r->stack, 0, values);
    count_total(r, values);
    if (r->row_count)
        scale_row(r, &r->rows[r->row_count - 1], values);
    return true;
}

/* --- Heads ------------------------------------------------------------------------------ */

struct head {
    bool by_thread, grows, is_old; /* "heap/P" */
    enum sampling sampling;
    double period, stated[VALUES];
};

static bool parse_sampling(struct str word, struct head *h)
{
    struct str number = word, name = str_cut(&number, '/');
    h->period = PERIOD_DEFAULT;
    h->grows = str_equal(name, STR("growth"));
    h->is_old = str_equal(name, STR("heap"));
    if (str_equal(name, STR("heap_v2")) || str_equal(name, STR("heapz_v2")))
        h->sampling = SAMPLED_POISSON;
    else if (h->is_old)
        h->sampling = SAMPLED_UNIFORM;
    else
        return h->grows || str_equal(name, STR("heapprofile"));
    if (number.len && !take_number(&number, 0, &h->period))
        return false;
    h->period = h->is_old ? h->period / 2 : h->period;
    if (h->period < 1) /* complete */
        h->sampling = SAMPLED_ALL;
    return number.len == 0;
}

static bool parse_head(struct str line, struct head *h)
{
    struct str start = STR("heap profile:");
    *h = (struct head){.by_thread = !str_starts(line, start)};
    if (h->by_thread)
        return str_starts(line, STR("heap_v2/")) && parse_sampling(line, h);
    struct str rest = str_skip(line, start.len);
    return take_values(&rest, h->stated) && str_starts(rest, STR("@")) &&
           parse_sampling(str_trim_left(str_skip(rest, 1)), h);
}

static bool begin_profile(struct heap_reader *r, struct str line)
{
    struct head h;
    if (!parse_head(line, &h))
        return false;
    if (r->has_head) {
        builder_warn(r->b, "a second profile in the file", r->lines.number, 1, line);
        return true;
    }
    r->has_head = true;
    r->by_thread = h.by_thread;
    r->grows = h.grows;
    r->sampling = h.sampling;
    r->period = h.period;
    memcpy(r->stated, h.stated, sizeof r->stated);
    return true;
}

/* --- The file --------------------------------------------------------------------------- */

static void read_line(struct heap_reader *r, struct str line)
{
    bool ok = true;
    if (line.len == 0 || line.ptr[0] == '#')
        return;
    if (r->in_maps)
        ok = mapped_line(&r->mapped, line) || str_starts(line, STR("build="));
    else if (str_starts(line, STR("MAPPED_LIBRARIES:")) ||
             str_starts(line, STR("--- Memory map:")))
        r->in_maps = true;
    else if (line.ptr[0] == 'h')
        ok = begin_profile(r, line);
    else if (line.ptr[0] == 't' && r->by_thread)
        ok = read_thread(r, line);
    else if (line.ptr[0] == '@' && r->by_thread)
        begin_stack(r, line);
    else
        ok = r->has_head && read_row(r, line);
    if (!ok)
        builder_warn(r->b, "not a line of a heap profile", r->lines.number, 1, line);
}

/* gperftools writes as much as its buffer holds. */
static void add_missing(struct heap_reader *r)
{
    double rest[VALUES];
    bool more = false;
    for (int v = 0; v < VALUES; v++) {
        rest[v] = r->stated[v] > r->sums[v] ? r->stated[v] - r->sums[v] : 0;
        more |= rest[v] > 0;
    }
    if (!more || r->by_thread || r->sampling != SAMPLED_ALL)
        return;
    add_row(r, 0, 0, rest);
    if (r->row_count)
        r->rows[r->row_count - 1].is_missing = true;
    count_total(r, rest);
    builder_warn(r->b, "stacks that are in the total, but not in the file", 0, 0,
                 STR(""));
}

/* Of the frames at the leaf, those of the allocator. */
static bool is_allocator(struct str module, struct str function)
{
    static const char *const names[] = {"malloc",
                                        "calloc",
                                        "realloc",
                                        "free",
                                        "memalign",
                                        "valloc",
                                        "pvalloc",
                                        "posix_memalign",
                                        "aligned_alloc",
                                        "mallocx",
                                        "rallocx",
                                        "operator new",
                                        "operator new[]",
                                        "tc_malloc",
                                        "tc_calloc",
                                        "tc_realloc",
                                        "tc_memalign",
                                        "tc_new",
                                        "tc_newarray",
                                        "je_malloc",
                                        "je_calloc",
                                        "je_realloc",
                                        "je_mallocx",
                                        "je_rallocx",
                                        "je_memalign",
                                        "je_prof_tctx_create",
                                        "prof_tctx_create",
                                        "je_prof_backtrace",
                                        "prof_backtrace_impl",
                                        "imalloc_body",
                                        NULL};
    struct str base = str_basename(module);
    bool is =
        str_starts(base, STR("libtcmalloc")) || str_starts(base, STR("libjemalloc"));
    for (int i = 0; !is && names[i]; i++)
        is = str_equal(function, str_of(names[i]));
    return is;
}

struct value_event {
    const char *name, *grown; /* in a growth profile */
    enum unit unit;
    int value;
};

static const struct value_event value_events[] = {
    {"inuse_space", "space", UNIT_BYTES, USED_BYTES},
    {"inuse_objects", "objects", UNIT_COUNT, USED},
    {"alloc_space", NULL, UNIT_BYTES, MADE_BYTES},
    {"alloc_objects", NULL, UNIT_COUNT, MADE},
};

static void add_sample(struct heap_reader *r, const struct heap_row *row, stack_id stack,
                       const event_id *events)
{
    struct sample s = {.stack = stack,
                       .thread = row->thread,
                       .count = 1,
                       .time = TIME_NONE,
                       .cpu = CPU_NONE};
    bool first = true;
    for (size_t e = 0; e < VALUES && events[e]; e++) {
        double value = row->values[value_events[e].value];
        s.event = events[e];
        s.weight = r->options->samples ? 1 : value;
        if (value > QUANTITY_MAX)
            builder_warn(r->b, "a size that is too large", 0, 0, STR(""));
        else if (value > 0 && first)
            builder_add(r->b, &s);
        else if (value > 0)
            builder_add_mapped(r->b, &s);
        first &= value <= 0;
    }
}

static void add_samples(struct heap_reader *r)
{
    event_id events[VALUES] = {0};
    struct frame unknown = {.kind = FRAME_USER}, missing = {.kind = FRAME_MARKER};
    missing.name = builder_string(r->b, STR("[not in the file]"));
    stack_id of_unknown = builder_push(r->b, 0, builder_frame(r->b, &unknown));
    for (size_t e = 0; e < (r->differs && !r->grows ? 4 : 2); e++)
        events[e] = builder_event(
            r->b, str_of(r->grows ? value_events[e].grown : value_events[e].name),
            r->options->samples ? UNIT_COUNT : value_events[e].unit);
    for (size_t i = 0; i < r->row_count; i++) {
        const struct heap_row *row = &r->rows[i];
        stack_id stack = row->stack ? mapped_result(&r->mapped, row->stack) : of_unknown;
        if (row->is_missing)
            stack = builder_push(r->b, 0, builder_frame(r->b, &missing));
        add_sample(r, row, stack, events);
    }
}

/* The program is the first file with code. */
static void set_command(const struct heap_reader *r)
{
    struct facts *facts = &r->b->profile->facts;
    if (r->mapped.map_count && !facts->command)
        facts->command = r->mapped.maps[0].path;
}

static bool gperftools_read(struct source *in, const struct import_options *options,
                            struct builder *b, struct error *err)
{
    struct heap_reader r = {
        .b = b, .options = options, .lines = lines_of(in, err), .period = 1};
    struct str line;
    bool ok = mapped_init(&r.mapped, b, options);
    while (ok && !builder_failed(b) && !r.arena.failed && lines_next(&r.lines, &line))
        read_line(&r, str_trim(line));
    end_stack(&r);
    add_missing(&r);
    if (ok && !r.arena.failed && mapped_finish(&r.mapped, is_allocator)) {
        set_command(&r);
        add_samples(&r);
    } else {
        b->profile->arena.failed = true;
    }
    mapped_deinit(&r.mapped);
    builder_end_scratch(b, &r.arena);
    return !r.lines.failed;
}

/* Go's profiles have lines with '#': symbols, and statistics at the end. Old gperftools pads
 * its numbers; old jemalloc does not, and writes maps. */
static bool is_of_go(struct str line, struct str rest)
{
    bool padded = str_has(line, STR(":  ")) || str_has(line, STR("[ "));
    bool has_maps = false, has_comments = false;
    while (stacktext_probe_line(&rest, &line)) {
        has_maps |= str_starts(line, STR("MAPPED_LIBRARIES:"));
        has_comments |= str_starts(line, STR("#"));
    }
    return has_comments || !(padded || has_maps);
}

static int gperftools_probe(struct str head)
{
    struct str line;
    struct head h;
    while (stacktext_probe_line(&head, &line))
        if (line.len)
            return parse_head(line, &h) && !(h.is_old && is_of_go(line, head)) ? 95 : 0;
    return 0;
}

const struct importer import_gperftools = {
    .name = "gperftools",
    .suffixes = "heap",
    .summary = "heap profiles of gperftools, tcmalloc and jemalloc (text)",
    .empty = "the profile has no allocations",
    .probe = gperftools_probe,
    .resolves_lines = true,
    .read = gperftools_read,
};
