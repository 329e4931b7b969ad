/* SPDX-License-Identifier: Apache-2.0 */
/* heaptrack files (heaptrack.PROGRAM.PID.zst), as heaptrack_interpret writes them.
 * Words are hexadecimal. Objects are numbered from 1, in the order of their lines.
 *
 *   v 10400 3                        the version, and the file format's
 *   X ./prog                         the recorded command
 *   s 4 main                         a string, with its length since version 3
 *   i 56275b8ec18a 1 17 15 6 18 15 8 an address: its module, then function, file and line
 *                                    of each inlined function, innermost first, and last
 * of the function that contains them t b a                            a call: its
 * address, and its caller a 30d40 b                        the size of an allocation, and
 * the call
 *   + 2, - 2                         it is allocated, freed; numbered from 0
 *   c 1f                             ms from the start: the time of what precedes
 *   I 1000 5e298d                    size of a page, and pages of the machine
 *   R 412                            resident pages
 *
 * The live bytes at the peak are found in one pass: when an allocation changes for the
 * first time after the largest peak so far, its bytes at the peak are saved with the
 * number of that peak. A later peak has another number, which invalidates the saved
 * bytes. The live bytes over time also have the peak: if memory was freed between the
 * peak and the time that follows it, the peak is 1 ns before that time. An allocation is
 * temporary if it is freed before any other event. */
#include "base/array.h"
#include "base/number.h"
#include "import/importer.h"
#include "import/quantity.h"
#include "import/runs.h"
#include "model/name.h"

#define MAX_PAGE ((uint64_t)1 << 30) /* bytes */

/* The frames of an address, root first. */
struct address {
    size_t first, count;
};

/* Allocations of one size at one location. */
struct allocation {
    stack_id stack;
    uint64_t size;
    uint64_t times, temporary; /* since it was put */
    uint64_t live, at_peak;    /* counts */
    uint64_t live_then;        /* when it was put */
    uint64_t peak;             /* number of the peak that at_peak belongs to */
    bool is_changed;           /* since it was put */
};

enum heap_event {
    PEAK,
    LEAKED,
    ALLOCATED,
    ALLOCATIONS,
    TEMPORARY,
    LIVE,
    RESIDENT,
    HEAP_EVENTS
};

static const struct {
    const char *name;
    enum unit unit;
} heap_events[HEAP_EVENTS] = {
    {"peak", UNIT_BYTES},        {"leaked", UNIT_BYTES},    {"allocated", UNIT_BYTES},
    {"allocations", UNIT_COUNT}, {"temporary", UNIT_COUNT}, {"live", UNIT_BYTES},
    {"resident", UNIT_BYTES},
};

struct heaptrack_reader {
    struct builder *b;
    const struct import_options *options;
    struct lines lines;
    struct arena arena;
    string_id *strings;
    string_id *plain; /* by string: without arguments; 0: not made yet */
    struct address *addresses;
    frame_id *frames;
    struct runs runs;
    uint32_t *calls; /* nodes of the runs */
    struct allocation *allocations;
    size_t string_count, string_cap, plain_cap, address_count, address_cap, frame_count,
        frame_cap, call_count, call_cap, allocation_count, allocation_cap;
    uint64_t version;
    uint64_t bytes, most; /* live, and at the peak */
    uint64_t peak;        /* number of the largest peak so far */
    size_t last;          /* the allocation of the preceding line, + 1; 0: none */
    size_t *changed;      /* allocations that are not put yet */
    size_t changed_count, changed_cap;
    uint64_t time, peak_time; /* ns, or TIME_NONE */
    uint64_t page, resident;  /* bytes */
    event_id events[HEAP_EVENTS];
    stack_id unknown;
};

static bool take_hex(struct str *rest, uint64_t *number)
{
    return number_parse_hex(str_word(rest), number);
}

/* --- Names ----------------------------------------------------------------------- */

/* An object gets its number even if its line is damaged; otherwise all later numbers
 * would be wrong. */

static bool read_string(struct heaptrack_reader *r, struct str rest)
{
    uint64_t length = rest.len;
    bool sized = r->version >= 3;
    bool ok = !sized || (take_hex(&rest, &length) && length < rest.len);
    string_id *added =
        ARRAY_APPEND(&r->arena, r->strings, r->string_count, r->string_cap);
    if (!added)
        return true;
    rest = str_skip(rest, sized);
    *added = builder_string(r->b, ok ? str_head(rest, (size_t)length) : STR(""));
    return ok;
}

/* Reads the number of a string; 0: none. */
static bool take_string(const struct heaptrack_reader *r, struct str *rest,
                        size_t *number)
{
    uint64_t value;
    if (!take_hex(rest, &value) || value > r->string_count)
        return false;
    *number = (size_t)value;
    return true;
}

static string_id string_at(const struct heaptrack_reader *r, size_t number)
{
    return number ? r->strings[number - 1] : 0;
}

/* The string as the name of a function. Each is stripped once: many may refer to it. */
static string_id name_at(struct heaptrack_reader *r, size_t number)
{
    string_id id = string_at(r, number);
    struct str name = profile_string(r->b->profile, id);
    if (r->options->signatures || name.len == 0)
        return id;
    if (!ARRAY_RESERVE_ZEROED(&r->arena, r->plain, r->plain_cap, number + 1))
        return id;
    if (!r->plain[number]) {
        struct str bare = name_without_arguments(name);
        r->plain[number] = bare.len ? builder_string(r->b, bare) : id;
    }
    return r->plain[number];
}

/* Reads function, file and line. */
static bool take_function(struct heaptrack_reader *r, struct str *rest, struct frame *f)
{
    uint64_t line = 0;
    size_t name, file = 0;
    if (!take_string(r, rest, &name))
        return false;
    if (rest->len &&
        (!take_string(r, rest, &file) || !take_hex(rest, &line) || line > UINT32_MAX))
        return false;
    f->name = name_at(r, name);
    if (line && r->options->lines) {
        f->file = string_at(r, file);
        f->line = (uint32_t)line;
    }
    return true;
}

/* Collects the address's frames, innermost first, in the builder's path. */
static bool collect_frames(struct heaptrack_reader *r, struct str rest)
{
    uint64_t address;
    size_t path;
    builder_path_clear(r->b);
    if (!take_hex(&rest, &address) || !take_string(r, &rest, &path))
        return false;
    module_id module =
        builder_module(r->b, profile_string(r->b->profile, string_at(r, path)), STR(""));
    do {
        struct frame f = {.module = module};
        if (rest.len && !take_function(r, &rest, &f))
            return false;
        f.kind = rest.len ? FRAME_INLINED : FRAME_USER;
        if (r->options->every_address || (!f.name && r->options->addresses))
            f.address = address;
        builder_path_add(r->b, builder_frame(r->b, &f));
    } while (rest.len && !builder_failed(r->b));
    return true;
}

static bool read_address(struct heaptrack_reader *r, struct str rest)
{
    bool ok = collect_frames(r, rest);
    size_t first = r->frame_count, count = r->b->path.count;
    if (!ARRAY_RESERVE(&r->arena, r->addresses, r->address_cap, r->address_count + 1) ||
        !ARRAY_RESERVE(&r->arena, r->frames, r->frame_cap, first + count + 1))
        return true;
    builder_path_reverse(r->b, 0);
    if (count)
        memcpy(r->frames + first, r->b->path.items, count * sizeof *r->frames);
    r->frame_count += count;
    r->addresses[r->address_count++] = (struct address){first, count};
    return ok;
}

/* --- Allocations ----------------------------------------------------------------- */

static bool read_call(struct heaptrack_reader *r, struct str rest)
{
    uint64_t address, caller;
    bool ok = take_hex(&rest, &address) && take_hex(&rest, &caller) && address > 0 &&
              address <= r->address_count && caller <= r->call_count;
    if (!ARRAY_RESERVE(&r->arena, r->calls, r->call_cap, r->call_count + 1))
        return true;
    r->calls[r->call_count] = 0;
    if (ok) {
        struct address a = r->addresses[address - 1];
        r->runs.in = r->lines.source->offset;
        r->calls[r->call_count] =
            runs_push(&r->runs, caller ? r->calls[caller - 1] : 0, (uint32_t)address,
                      r->frames + a.first, a.count);
    }
    r->call_count++;
    return ok;
}

static bool read_allocation(struct heaptrack_reader *r, struct str rest)
{
    uint64_t size, call;
    bool ok = take_hex(&rest, &size) && take_hex(&rest, &call) && call <= r->call_count &&
              (double)size <= QUANTITY_MAX;
    if (!ARRAY_RESERVE(&r->arena, r->allocations, r->allocation_cap,
                       r->allocation_count + 1))
        return true;
    r->allocations[r->allocation_count] = (struct allocation){.peak = 0};
    if (ok) {
        r->allocations[r->allocation_count].size = size;
        r->allocations[r->allocation_count].stack =
            call ? runs_stack(&r->runs, r->calls[call - 1]) : 0;
    }
    r->allocation_count++;
    return ok;
}

/* Called before the live count changes. */
static void save_peak(const struct heaptrack_reader *r, struct allocation *a)
{
    if (a->peak != r->peak)
        a->at_peak = a->live;
    a->peak = r->peak;
}

static void note_change(struct heaptrack_reader *r, size_t number)
{
    struct allocation *a = &r->allocations[number];
    save_peak(r, a);
    if (a->is_changed)
        return;
    size_t *changed =
        ARRAY_APPEND(&r->arena, r->changed, r->changed_count, r->changed_cap);
    if (changed)
        *changed = number;
    a->is_changed = true;
}

static bool read_change(struct heaptrack_reader *r, struct str rest, bool made)
{
    uint64_t number;
    size_t last = r->last;
    r->last = 0;
    if (!take_hex(&rest, &number) || number >= r->allocation_count)
        return false;
    struct allocation *a = &r->allocations[number];
    if (!made && a->live == 0)
        return false;
    note_change(r, (size_t)number);
    if (!made) {
        a->live--;
        r->bytes -= a->size;
        a->temporary += last == number + 1;
        return true;
    }
    a->live++;
    a->times++;
    r->bytes += a->size;
    r->last = (size_t)number + 1;
    if (r->bytes > r->most) {
        r->most = r->bytes;
        r->peak++;
        r->peak_time = TIME_NONE; /* that of the next time */
    }
    return true;
}

/* --- Samples --------------------------------------------------------------------- */

static void put_weight(const struct heaptrack_reader *r, enum heap_event event,
                       const struct sample *like, double weight)
{
    struct sample s = *like;
    s.event = r->events[event];
    s.weight = weight;
    if (weight > 0 || weight < 0)
        builder_add_mapped(r->b, &s);
}

static struct sample sample_of(const struct heaptrack_reader *r,
                               const struct allocation *a, uint64_t time)
{
    return (struct sample){.time = time,
                           .cpu = CPU_NONE,
                           .event = r->events[ALLOCATIONS],
                           .stack = a->stack ? a->stack : r->unknown,
                           .count = a->times,
                           .weight = (double)a->times};
}

static uint64_t count_at_peak(const struct heaptrack_reader *r,
                              const struct allocation *a)
{
    return a->peak == r->peak ? a->at_peak : a->live;
}

static void put_live(const struct heaptrack_reader *r, struct allocation *a,
                     uint64_t count, uint64_t time)
{
    struct sample s = sample_of(r, a, time);
    put_weight(r, LIVE, &s, ((double)count - (double)a->live_then) * (double)a->size);
    a->live_then = count;
}

/* Whether the largest peak was after the last time, and not at its end. */
static bool has_passed_peak(const struct heaptrack_reader *r)
{
    if (r->peak_time != TIME_NONE || r->time == TIME_NONE || r->time == 0)
        return false;
    for (size_t i = 0; i < r->changed_count; i++) {
        const struct allocation *a = &r->allocations[r->changed[i]];
        if (count_at_peak(r, a) != a->live)
            return true;
    }
    return false;
}

/* Puts what happened since the last time. */
static void put_changes(struct heaptrack_reader *r)
{
    bool passed = has_passed_peak(r);
    for (size_t i = 0; passed && i < r->changed_count; i++) {
        struct allocation *a = &r->allocations[r->changed[i]];
        put_live(r, a, count_at_peak(r, a), r->time - 1);
    }
    for (size_t i = 0; i < r->changed_count; i++) {
        struct allocation *a = &r->allocations[r->changed[i]];
        struct sample s = sample_of(r, a, r->time);
        double size = (double)a->size;
        if (a->times)
            builder_add(r->b, &s);
        put_weight(r, ALLOCATED, &s, (double)a->times * size);
        put_weight(r, TEMPORARY, &s, (double)a->temporary);
        put_live(r, a, a->live, r->time);
        a->times = a->temporary = 0;
        a->is_changed = false;
    }
    r->changed_count = 0;
    if (r->peak_time == TIME_NONE)
        r->peak_time = r->time - passed;
}

static bool read_time(struct heaptrack_reader *r, struct str rest)
{
    uint64_t ms;
    if (!take_hex(&rest, &ms) || (double)ms * 1e6 > QUANTITY_MAX)
        return false;
    r->time = ms * 1000000;
    put_changes(r);
    return true;
}

static bool read_resident(struct heaptrack_reader *r, struct str rest)
{
    uint64_t pages;
    if (!take_hex(&rest, &pages) || (double)pages * (double)r->page > QUANTITY_MAX)
        return false;
    uint64_t bytes = pages * r->page;
    struct frame memory = {.name = builder_string(r->b, STR("[resident memory]")),
                           .kind = FRAME_MARKER};
    struct sample s = {.time = r->time == TIME_NONE ? 0 : r->time,
                       .cpu = CPU_NONE,
                       .stack = builder_push(r->b, 0, builder_frame(r->b, &memory))};
    put_weight(r, RESIDENT, &s, (double)bytes - (double)r->resident);
    r->resident = bytes;
    return true;
}

/* --- The file -------------------------------------------------------------------- */

static bool read_line(struct heaptrack_reader *r, struct str line)
{
    struct str rest = str_skip(line, 2);
    switch (line.len > 1 && line.ptr[1] == ' ' ? line.ptr[0] : 0) {
    case '+':
        return read_change(r, rest, true);
    case '-':
        return read_change(r, rest, false);
    case 't':
        return read_call(r, rest);
    case 'a':
        return read_allocation(r, rest);
    case 'i':
        return read_address(r, rest);
    case 's':
        return read_string(r, rest);
    case 'X':
        r->b->profile->facts.command = builder_string(r->b, str_trim(rest));
        return true;
    case 'v':
        str_word(&rest);
        return take_hex(&rest, &r->version);
    case 'c':
        return read_time(r, rest);
    case 'I':
        return take_hex(&rest, &r->page) && r->page <= MAX_PAGE;
    case 'R':
        return read_resident(r, rest);
    default: /* suppressions of leaks */
        return true;
    }
}

/* What is known at the end. */
static void put_totals(struct heaptrack_reader *r)
{
    for (size_t i = 0; i < r->allocation_count; i++) {
        const struct allocation *a = &r->allocations[i];
        struct sample s = sample_of(r, a, r->peak_time);
        double size = (double)a->size;
        s.count = count_at_peak(r, a);
        put_weight(r, PEAK, &s, (double)s.count * size);
        s.time = r->time;
        s.count = a->live;
        put_weight(r, LEAKED, &s, (double)a->live * size);
    }
    if (r->time != TIME_NONE) {
        r->b->profile->facts.time_first = 0;
        r->b->profile->facts.time_last = r->time;
    }
}

static void begin(struct heaptrack_reader *r)
{
    struct frame nameless = {.kind = FRAME_USER};
    r->time = r->peak_time = TIME_NONE;
    r->unknown = builder_push(r->b, 0, builder_frame(r->b, &nameless));
    for (int e = 0; e < HEAP_EVENTS; e++)
        r->events[e] =
            builder_event(r->b, str_of(heap_events[e].name), heap_events[e].unit);
}

/* Only the recorder's raw data has no symbols yet. */
static bool is_raw(struct str line)
{
    return str_starts(line, STR("x ")) || str_starts(line, STR("m "));
}

static bool fail_raw(struct error *err)
{
    error_set(err, "heaptrack's raw data has no symbols");
    return error_hint(err, "'/usr/lib/heaptrack/libexec/heaptrack_interpret < RAW > "
                           "FILE' resolves them, on the machine where the program ran");
}

static bool heaptrack_read(struct source *in, const struct import_options *options,
                           struct builder *b, struct error *err)
{
    struct heaptrack_reader r = {.b = b, .options = options, .lines = lines_of(in, err)};
    struct str line;
    bool raw = false;
    r.arena.failed |= !runs_init(&r.runs, b, &r.arena);
    begin(&r);
    while (!raw && !builder_failed(b) && !r.arena.failed && lines_next(&r.lines, &line)) {
        raw = is_raw(line);
        if (!raw && !read_line(&r, line))
            builder_warn(b, "not a line in heaptrack's format", r.lines.number, 1, line);
    }
    runs_end(&r.runs);
    r.time += has_passed_peak(&r); /* the time of the last changes was put already */
    put_changes(&r);
    put_totals(&r);
    builder_end_scratch(b, &r.arena);
    return !r.lines.failed && (!raw || fail_raw(err));
}

static int heaptrack_probe(struct str head)
{
    uint64_t number;
    struct str first = str_trim_right(str_cut(&head, '\n'));
    if (!str_starts(first, STR("v ")))
        return 0;
    first = str_skip(first, 2);
    bool is = take_hex(&first, &number) &&
              (first.len == 0 || take_hex(&first, &number)) && first.len == 0;
    return is && (str_starts(head, STR("X ")) || str_starts(head, STR("x "))) ? 96 : 0;
}

const struct importer import_heaptrack = {
    .name = "heaptrack",
    .suffixes = "heaptrack",
    .summary = "heaptrack: the heap at its peak, leaked, allocated, temporary",
    .empty = "the program made no allocations",
    .counts_all = true,
    .probe = heaptrack_probe,
    .read = heaptrack_read,
};
