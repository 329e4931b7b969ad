/* SPDX-License-Identifier: Apache-2.0 */
/* The archives of Instruments: a folder NAME.trace, or a zip of it. Apple does not
 * document the format; this description is from inspection and agrees with the output
 * of `xctrace export`.
 *
 *   form.template                         an NSKeyedArchiver's list: the names
 *   corespace/runN/core/stores/S/         a table: schema.xml names it and its columns,
 *                                         bulkstore holds the rows
 *   corespace/runN/core/uniquing/arrayUniquer/integeruniquer.index, .data
 *                                         arrays of 64-bit numbers, which rows refer to
 *
 * Each file may be compressed by zlib. A row of a table "time-profile" is a time in ns
 * (50 bits) and a thread (22 bits), then 4 bytes per column, or 8 for the weight in
 * ns. Thread, process and stack are indices of arrays: {tid, process}, {pid, ...}, and
 * the addresses of a stack, leaf first. A number in a stack that has no symbol and is
 * the index of an array stands for the frames of that array.
 *
 * The weight of a sample is 1; the weight that Instruments states is a second event. */
#include "base/array.h"
#include "base/bytes.h"
#include "base/format.h"
#include "base/idmap.h"
#include "base/limits.h"
#include "base/number.h"
#include "codec/plist.h"
#include "codec/unpack.h"
#include "codec/zip.h"
#include "import/importer.h"
#include "model/rust_name.h"

#define FILES_MAX 65536
#define NESTED_MAX 8 /* nested arrays; usually 2 */
#define FRAMES_MAX 65536
#define TABLE_MAGIC 0x12340a0a
#define ROW_TIME_BITS 50
#define ROW_HEAD_SIZE 9
#define INDEX_HEAD_SIZE 40 /* includes the first entry, which describes no array */
#define INDEX_ENTRY_SIZE 8
#define NOT_THERE UINT32_MAX

/* How large a small archive may be when decompressed, and the ratio for a large one. */
#define TRACE_FREE_SIZE ((uint64_t)64 << 20)

struct trace_file {
    struct str path; /* after ".trace/" */
    struct str packed;
    unsigned method; /* in the zip */
    uint64_t size;   /* decompressed from the zip */
};

/* The symbols of one process. */
struct symbols {
    uint64_t pid;
    struct idmap symbol_lines; /* by address: index of the symbol's UID << 32 | line */
    struct idmap frames;       /* by address: frame_id + 1 after first use */
};

/* The offset of each column in a row; NOT_THERE for a missing column. */
struct row_layout {
    uint32_t size, process, core, weight, stack;
};

struct trace_reader {
    struct builder *b;
    const struct import_options *options;
    struct arena arena;
    struct trace_file *files;
    size_t file_count, file_cap;
    uint64_t packed_size, unpacked_size;
    const struct limits *limits;
    struct keyed_archive archive;
    bool has_archive;
    double version;
    struct output plain; /* the current name */

    /* number of the current run */
    uint64_t run;
    struct symbols *symbols;
    size_t symbols_count, symbols_cap;
    struct str index, data; /* the arrays */
    struct idmap stacks;    /* by process and array: stack_id + 1 */
    struct idmap threads;   /* by number: thread_id + 1 */
    uint64_t budget;        /* steps that are still allowed */
};

/* --- Files ----------------------------------------------------------------------- */

static void add_file(struct trace_reader *r, struct trace_file f)
{
    const struct str mark = STR(".trace/");
    size_t at = str_search(f.path, mark);
    if (at < f.path.len)
        f.path = str_skip(f.path, at + mark.len);
    if (r->file_count < FILES_MAX &&
        ARRAY_RESERVE(&r->arena, r->files, r->file_cap, r->file_count + 1))
        r->files[r->file_count++] = f;
}

static bool list_files(struct trace_reader *r, const struct source *in, struct str all)
{
    struct zip zip;
    struct zip_file f;
    r->packed_size = all.len;
    r->limits = source_limits(in);
    for (size_t i = 0; i < in->file_count; i++) {
        struct str bytes = str_part(all, in->files[i].offset, in->files[i].size);
        add_file(r, (struct trace_file){in->files[i].path, bytes, ZIP_STORED, bytes.len});
    }
    if (in->file_count)
        return true;
    if (!zip_init(&zip, all))
        return false;
    while (zip_next(&zip, &f)) /* macOS adds metadata files next to each file */
        if (!str_starts(f.path, STR("__MACOSX/")))
            add_file(r, (struct trace_file){f.path, f.packed, f.method, f.size});
    return true;
}

/* False if the archive decompresses to more than the limit for its size. */
static bool allow(struct trace_reader *r, uint64_t size)
{
    r->unpacked_size += size;
    return r->unpacked_size <= TRACE_FREE_SIZE ||
           !limits_exceeded(r->limits, r->packed_size, r->unpacked_size);
}

static bool is_zlib(struct str s)
{
    return s.len >= 2 && (s.ptr[0] & 0xf) == 8 &&
           ((unsigned)(unsigned char)s.ptr[0] << 8 | (unsigned char)s.ptr[1]) % 31 == 0;
}

/* The file's bytes; empty, with a warning, if they cannot be read. */
static struct str file_bytes(struct trace_reader *r, const struct trace_file *f)
{
    struct str bytes = f->packed, opened;
    bool ok = f->method == ZIP_STORED || f->method == ZIP_DEFLATED;
    if (f->method == ZIP_DEFLATED)
        ok = allow(r, f->size) &&
             unpack(PACK_DEFLATE, f->packed, f->size, r->limits, &r->arena, &bytes, NULL);
    if (ok && is_zlib(bytes) &&
        unpack(PACK_ZLIB, bytes, UNPACK_SIZE_UNKNOWN, r->limits, &r->arena, &opened,
               NULL)) {
        ok = allow(r, opened.len);
        bytes = opened;
    }
    if (ok)
        return bytes;
    builder_warn(r->b,
                 "a file of the archive is damaged, or compressed with an unknown method",
                 0, 0, f->path);
    return STR("");
}

static const struct trace_file *file_named(const struct trace_reader *r, struct str path)
{
    for (size_t i = 0; i < r->file_count; i++)
        if (str_equal(r->files[i].path, path))
            return &r->files[i];
    return NULL;
}

/* The file with that name in the same folder as another file, or in a sibling folder. */
static struct str bytes_beside(struct trace_reader *r, struct str path, struct str end,
                               const char *name)
{
    char text[512];
    if (path.len < end.len || path.len + strlen(name) >= sizeof text)
        return STR("");
    format_text(text, sizeof text, "%.*s%s", STR_ARG(str_head(path, path.len - end.len)),
                name);
    const struct trace_file *f = file_named(r, str_of(text));
    return f ? file_bytes(r, f) : STR("");
}

/* --- Names ----------------------------------------------------------------------- */

static bool spend(struct trace_reader *r, uint64_t steps)
{
    if (r->budget < steps) {
        builder_warn(r->b,
                     "the archive repeats its contents too often; the rest is skipped", 0,
                     0, STR(""));
        r->budget = 0;
        return false;
    }
    r->budget -= steps;
    return true;
}

/* The members of an object under the keys $0, $1, ..., at most `room`; references are
 * not resolved. */
static void read_items(const struct trace_reader *r, const struct plist_value *object,
                       struct plist_value *out, uint32_t room)
{
    const struct plist *p = &r->archive.plist;
    memset(out, 0, room * sizeof *out);
    for (uint32_t i = 0; object->kind == PLIST_DICT && i < object->count; i++) {
        struct plist_value key = plist_item(p, object, i);
        uint32_t n = keyed_position(&key);
        if (n < room)
            out[n] = plist_item(p, object, object->count + i);
    }
}

/* A symbol is {name, source file, library, ?, count of addresses, {address, line} ...}.
 */
enum { SYMBOL_NAME, SYMBOL_FILE, SYMBOL_OWNER, SYMBOL_COUNT = 4, SYMBOL_ADDRESSES };

static void add_symbol(struct trace_reader *r, struct symbols *s,
                       struct plist_value reference)
{
    struct plist_value symbol = keyed_follow(&r->archive, reference);
    if (reference.kind != PLIST_UID || symbol.kind != PLIST_DICT ||
        !spend(r, symbol.count))
        return;
    size_t cap = 0;
    struct plist_value *symbol_lines =
        arena_grow(&r->arena, NULL, &cap, symbol.count + 1, sizeof *symbol_lines);
    if (!symbol_lines)
        return;
    read_items(r, &symbol, symbol_lines, symbol.count);
    uint64_t count = symbol.count > SYMBOL_COUNT ? symbol_lines[SYMBOL_COUNT].integer : 0;
    for (uint64_t i = 0; i < count && SYMBOL_ADDRESSES + 2 * i + 1 < symbol.count; i++) {
        struct plist_value *pair = &symbol_lines[SYMBOL_ADDRESSES + 2 * i];
        uint64_t *at = pair[0].kind == PLIST_INTEGER
                           ? idmap_put(&s->symbol_lines, &r->arena, pair[0].integer)
                           : NULL;
        if (at && *at == 0)
            *at = reference.integer << 32 | (pair[1].integer & UINT32_MAX);
    }
    arena_release(&r->arena, symbol_lines, cap * sizeof *symbol_lines);
}

/* A process's symbols are {?, ?, ?, thread names, count, symbol ...}. */
static void add_process(struct trace_reader *r, uint64_t pid, struct plist_value process)
{
    const struct plist *p = &r->archive.plist;
    if (process.kind != PLIST_DICT)
        return;
    struct symbols *added =
        ARRAY_APPEND(&r->arena, r->symbols, r->symbols_count, r->symbols_cap);
    if (!added)
        return;
    *added = (struct symbols){.pid = pid};
    for (uint32_t i = 0; i < process.count && spend(r, 1); i++) {
        struct plist_value key = plist_item(p, &process, i);
        if (keyed_position(&key) > 4 && keyed_position(&key) != UINT32_MAX)
            add_symbol(r, added, plist_item(p, &process, process.count + i));
    }
}

/* The current run's object, in {run numbers, objects by number}. */
static struct plist_value run_data(const struct trace_reader *r)
{
    const struct keyed_archive *a = &r->archive;
    struct plist_value list = keyed_find(a, &a->top, STR("com.apple.xray.run.data"));
    struct plist_value runs = keyed_find(a, &list, STR("$1"));
    struct plist_value keys = keyed_find(a, &runs, STR("NS.keys"));
    struct plist_value objects = keyed_find(a, &runs, STR("NS.objects"));
    for (uint32_t i = 0; keys.kind == PLIST_ARRAY && i < keys.count; i++) {
        struct plist_value key = keyed_follow(a, plist_item(&a->plist, &keys, i));
        if (key.kind == PLIST_INTEGER && key.integer == r->run)
            return keyed_follow(a, plist_item(&a->plist, &objects, i));
    }
    return (struct plist_value){0};
}

/* Symbols by process are {count, pid, symbols, pid, symbols ...}. */
static void read_symbols(struct trace_reader *r)
{
    struct plist_value run = run_data(r);
    struct plist_value by_pid = keyed_entry(&r->archive, &run, STR("symbolsByPid"));
    size_t cap = 0;
    r->symbols_count = 0;
    if (by_pid.kind != PLIST_DICT || !spend(r, by_pid.count)) {
        builder_warn(r->b, "the archive has no symbols: frames are unknown", 0, 0,
                     STR(""));
        return;
    }
    struct plist_value *symbol_lines =
        arena_grow(&r->arena, NULL, &cap, by_pid.count + 1, sizeof *symbol_lines);
    if (!symbol_lines)
        return;
    read_items(r, &by_pid, symbol_lines, by_pid.count);
    for (uint32_t i = 1; i + 1 < by_pid.count; i += 2) {
        struct plist_value pid = keyed_follow(&r->archive, symbol_lines[i]);
        add_process(r, pid.integer, keyed_follow(&r->archive, symbol_lines[i + 1]));
    }
}

static module_id module_of(struct trace_reader *r, struct plist_value owner)
{
    char id[2 * 16];
    size_t used = 0;
    struct plist_value uuid = keyed_find(&r->archive, &owner, STR("uuid"));
    struct str path =
        keyed_text(&r->archive, keyed_find(&r->archive, &owner, STR("$1")), &r->arena);
    if (path.len == 0)
        path = keyed_text(&r->archive, keyed_find(&r->archive, &owner, STR("$0")),
                          &r->arena);
    for (size_t i = 0; uuid.kind == PLIST_DATA && i < uuid.bytes.len && used < sizeof id;
         i++) {
        id[used++] = "0123456789abcdef"[(unsigned char)uuid.bytes.ptr[i] >> 4];
        id[used++] = "0123456789abcdef"[uuid.bytes.ptr[i] & 0xf];
    }
    return builder_module(r->b, path, (struct str){id, used});
}

static frame_id frame_at(struct trace_reader *r, uint64_t address, uint64_t symbol_line)
{
    const struct keyed_archive *a = &r->archive;
    struct plist_value symbol = keyed_follow(
        a, (struct plist_value){.kind = PLIST_UID, .integer = symbol_line >> 32});
    struct plist_value owner = keyed_find(a, &symbol, STR("$2"));
    struct str name = keyed_text(a, keyed_find(a, &symbol, STR("$0")), &r->arena);
    struct frame frame = {.module = module_of(r, owner)};
    frame.name = builder_string(r->b, rust_name(name, &r->plain));
    if (r->options->lines) {
        frame.file = builder_string(
            r->b, keyed_text(a, keyed_find(a, &symbol, STR("$1")), &r->arena));
        frame.line = frame.file ? (uint32_t)symbol_line : 0;
    }
    if (r->options->every_address || (name.len == 0 && r->options->addresses))
        frame.address = address;
    return builder_frame(r->b, &frame);
}

/* The frame of an address for which this process, or else another, has a symbol; 0 if
 * none. */
static frame_id known_frame(struct trace_reader *r, uint64_t pid, uint64_t address)
{
    struct symbols *found = NULL;
    const uint64_t *symbol_line = NULL;
    for (size_t i = 0; i < r->symbols_count; i++) {
        const uint64_t *at = idmap_find(&r->symbols[i].symbol_lines, address);
        if (at && (!found || r->symbols[i].pid == pid)) {
            found = &r->symbols[i];
            symbol_line = at;
        }
    }
    uint64_t *frame = found ? idmap_put(&found->frames, &r->arena, address) : NULL;
    if (frame && *frame == 0)
        *frame = (uint64_t)frame_at(r, address, *symbol_line) + 1;
    return frame ? (frame_id)(*frame - 1) : 0;
}

/* --- Stacks ---------------------------------------------------------------------- */

/* The numbers of an array; false if there is no array with that index. */
static bool array_of(const struct trace_reader *r, uint64_t number, struct bytes *out)
{
    struct bytes at = bytes_of(r->index, false);
    if (number > r->index.len / INDEX_ENTRY_SIZE)
        return false;
    bytes_seek(&at, INDEX_HEAD_SIZE + number * INDEX_ENTRY_SIZE);
    uint64_t offset = bytes_u32(&at);
    offset += (uint64_t)bytes_u32(&at) << 20;
    if (at.failed || offset == 0)
        return false;
    struct bytes b = bytes_of(r->data, false);
    bytes_seek(&b, offset);
    uint64_t count = bytes_u32(&b);
    *out = bytes_of(bytes_take(&b, count * 8), false);
    return !b.failed;
}

/* Adds the frame of a number in a stack; a nested array is pushed. */
static void add_number(struct trace_reader *r, uint64_t pid, uint64_t number,
                       struct bytes *open, unsigned *depth)
{
    frame_id frame = known_frame(r, pid, number);
    if (!frame && *depth < NESTED_MAX &&
        array_of(r, number & UINT32_MAX, &open[*depth])) {
        ++*depth;
        return;
    }
    if (!frame)
        frame = builder_frame(
            r->b, &(struct frame){.address = r->options->addresses ? number : 0});
    builder_path_add(r->b, frame);
}

static stack_id stack_of(struct trace_reader *r, uint64_t pid, uint32_t number)
{
    uint64_t *known = idmap_put(&r->stacks, &r->arena, pid << 32 | number);
    struct bytes open[NESTED_MAX];
    unsigned depth = 1;
    if (!known)
        return 0;
    if (*known)
        return (stack_id)(*known - 1);
    builder_path_clear(r->b);
    if (!array_of(r, number, &open[0]))
        depth = 0;
    while (depth && r->b->path.count < FRAMES_MAX && spend(r, 1)) {
        struct bytes *top = &open[depth - 1];
        if (bytes_left(top) < 8)
            depth--;
        else
            add_number(r, pid, bytes_u64(top), open, &depth);
    }
    stack_id stack = builder_path_from_leaf(r->b);
    *known = (uint64_t)stack + 1;
    return stack;
}

/* --- Rows ------------------------------------------------------------------------ */

static thread_id thread_of(struct trace_reader *r, uint32_t number, uint64_t *pid)
{
    struct bytes thread, process;
    uint64_t *known = idmap_put(&r->threads, &r->arena, number);
    uint64_t tid = 0, process_number = 0;
    *pid = 0;
    bool named = array_of(r, number, &thread);
    if (named) {
        tid = bytes_u64(&thread);
        process_number = bytes_u64(&thread);
        named = !thread.failed && tid <= INT32_MAX;
    }
    if (named && array_of(r, process_number, &process))
        *pid = bytes_u64(&process) & INT32_MAX;
    if (known && *known == 0)
        *known = (uint64_t)builder_thread(r->b, *pid ? (int64_t)*pid : ID_NONE,
                                          named ? (int64_t)tid : ID_NONE, STR("")) +
                 1;
    return known ? (thread_id)(*known - 1) : 0;
}

static uint64_t field(struct str row, uint32_t at, unsigned size)
{
    struct bytes b = bytes_of(row, false);
    bytes_seek(&b, at);
    return bytes_number(&b, size);
}

static void add_row(struct trace_reader *r, struct str row, const struct row_layout *l)
{
    struct sample s = {.cpu = CPU_NONE, .count = 1, .weight = 1};
    uint64_t pid;
    s.time = field(row, 0, 8) & ((UINT64_C(1) << ROW_TIME_BITS) - 1);
    uint32_t thread = (uint32_t)(field(row, 1, 8) >> (ROW_TIME_BITS - 8)) & 0x3fffff;
    s.thread = thread_of(r, thread, &pid);
    s.stack = stack_of(r, pid, (uint32_t)field(row, l->stack, 4));
    if (l->core != NOT_THERE)
        s.cpu = (uint32_t)field(row, l->core, 4);
    if (!s.stack) {
        builder_warn(r->b, "a row without a stack", 0, 0, STR(""));
        return;
    }
    s.event = builder_event(r->b, STR("samples"), UNIT_COUNT);
    builder_add(r->b, &s);
    if (l->weight == NOT_THERE)
        return;
    s.event = builder_event(r->b, STR("time"), UNIT_NANOSECONDS);
    s.weight = (double)field(row, l->weight, 8);
    builder_add_mapped(r->b, &s);
}

/* Sets the offsets of the schema's columns, if the columns add up to the whole row. */
static bool lay_out(struct str schema, uint32_t row_size, struct row_layout *l)
{
    uint32_t at = ROW_HEAD_SIZE, number = 0;
    *l = (struct row_layout){row_size, NOT_THERE, NOT_THERE, NOT_THERE, NOT_THERE};
    while (number < 64) {
        const struct str mark = STR("mnemonic=\"");
        size_t found = str_search(schema, mark);
        if (found == schema.len)
            break;
        schema = str_skip(schema, found + mark.len);
        struct str name = str_cut(&schema, '"');
        if (number++ < 2)
            continue;
        if (str_equal(name, STR("process")))
            l->process = at;
        else if (str_equal(name, STR("core")))
            l->core = at;
        else if (str_equal(name, STR("weight")))
            l->weight = at;
        else if (str_equal(name, STR("stack")))
            l->stack = at;
        at += l->weight == at ? 8 : 4;
    }
    return at == row_size && l->stack != NOT_THERE;
}

/* A table's header: a magic number, its version and size, the offset of the rows, and
 * the size of a row. The last row is followed by zeros. */
static bool read_rows(struct trace_reader *r, struct str schema, struct str table)
{
    struct row_layout layout;
    struct bytes b = bytes_of(table, false);
    bool known = bytes_u32(&b) == TABLE_MAGIC;
    bytes_skip(&b, 8);
    uint32_t begin = bytes_u32(&b), size = bytes_u32(&b);
    known = known && str_has(schema, STR("topology=\"XRT50_C22_TypeID\"")) &&
            lay_out(schema, size, &layout);
    bytes_seek(&b, begin);
    if (!known || b.failed)
        return false;
    while (bytes_left(&b) >= size && !builder_failed(r->b)) {
        struct str row = bytes_take(&b, size);
        if (field(row, 0, 8) == 0 && row.ptr[8] == 0)
            break;
        add_row(r, row, &layout);
    }
    return true;
}

/* --- The archive ----------------------------------------------------------------- */

/* Reads the table of the schema, if it is a time profile. */
static void read_table(struct trace_reader *r, const struct trace_file *f)
{
    const struct str begin = STR("corespace/run"), end = STR("schema.xml");
    if (!str_starts(f->path, begin) || !str_ends(f->path, end))
        return;
    struct str schema = file_bytes(r, f), rest = str_skip(f->path, begin.len);
    struct str number = str_cut(&rest, '/');
    size_t folders = str_search(f->path, STR("stores/"));
    if (!str_has(schema, STR("<schema name=\"time-profile\"")) ||
        !number_parse_u64(number, &r->run))
        return;
    struct str stores = str_skip(f->path, folders);
    struct str table = bytes_beside(r, f->path, end, "bulkstore");
    r->stacks = r->threads = (struct idmap){0};
    r->index =
        bytes_beside(r, f->path, stores, "uniquing/arrayUniquer/integeruniquer.index");
    r->data =
        bytes_beside(r, f->path, stores, "uniquing/arrayUniquer/integeruniquer.data");
    r->budget = ((uint64_t)r->data.len + r->archive.plist.bytes.len) * 16 + 65536;
    read_symbols(r);
    if (!read_rows(r, schema, table))
        builder_warn(r->b, "a time profile of an unknown version", 0, 0, number);
}

static void read_template(struct trace_reader *r)
{
    const struct trace_file *f = file_named(r, STR("form.template"));
    r->has_archive = f && keyed_init(&r->archive, file_bytes(r, f));
    if (r->has_archive)
        r->version = keyed_find(&r->archive, &r->archive.top,
                                STR("com.apple.xray.owner.template.version"))
                         .real;
}

static bool refuse(const struct trace_reader *r, struct error *err)
{
    const struct facts *facts = &r->b->profile->facts;
    char version[32] = "unknown";
    if (r->arena.failed || builder_failed(r->b))
        return error_memory(err);
    if (r->has_archive)
        format_text(version, sizeof version, "%.1f", r->version);
    error_set(
        err,
        "this Instruments archive has no readable time profile (its version: %s)%s%s",
        version, facts->warning_count ? ": " : "",
        facts->warning_count ? facts->warnings[0].what : "");
    return error_hint(err,
                      "on a Mac, run: xcrun xctrace export --input FILE.trace --xpath "
                      "'//table[@schema=\"time-profile\"]'; stoke reads its output");
}

static bool refuse_single(struct str all, struct error *err)
{
    if (str_starts(all, STR("bplist0"))) {
        error_set(err, "this is a single file of an Instruments archive");
        return error_hint(
            err, "give the folder that contains it, NAME.trace, or a zip of the folder");
    }
    error_set(err, "the zip archive is damaged: its directory at the end is missing");
    return error_hint(err, "copy it again, or give the folder NAME.trace");
}

static bool instruments_trace_read(struct source *in,
                                   const struct import_options *options,
                                   struct builder *b, struct error *err)
{
    struct trace_reader r = {.b = b, .options = options};
    struct str all;
    uint64_t before = b->profile->facts.samples;
    if (!source_all(in, &all, err))
        return false;
    bool ok = list_files(&r, in, all) || refuse_single(all, err);
    if (ok)
        read_template(&r);
    for (size_t i = 0; ok && i < r.file_count; i++)
        read_table(&r, &r.files[i]);
    if (ok && b->profile->facts.samples == before)
        ok = refuse(&r, err);
    b->profile->arena.failed |= r.arena.failed | r.plain.failed;
    output_deinit(&r.plain);
    arena_deinit(&r.arena);
    return ok;
}

static int instruments_trace_probe(struct str head)
{
    if (str_starts(head, STR("PK\x03\x04")) &&
        str_has(str_head(head, 256), STR(".trace/")))
        return 100;
    return str_starts(head, STR("bplist0")) ? 60 : 0; /* form.template in a folder */
}

const struct importer import_instruments_trace = {
    .name = "instruments-trace",
    .suffixes = "trace,zip",
    .summary = "Instruments .trace archive, a folder or a zip of it: its time profile",
    .probe = instruments_trace_probe,
    .shape = SHAPE_BINARY,
    .read = instruments_trace_read,
};
