/* SPDX-License-Identifier: Apache-2.0 */
/* A table of samples that Apple's xctrace exports as XML:
 *   xctrace export --input X.trace --xpath \
 *     '/trace-toc/run[@number="1"]/data/table[@schema="time-profile"]'
 *
 * A <row> is a sample; its children are values. A value has an id at its first
 * occurrence, and later elements only have a ref to it. So every closed element has
 * one number (a stack, a frame, a time), which is stored under its id and passed to
 * its parent.
 *
 * Frames come leaf first, in a <backtrace>, a <tagged-backtrace>, or one nested in the
 * other. The weight of a sample is 1; the weight that xctrace states is a second
 * event. */
#include "base/array.h"
#include "base/idmap.h"
#include "base/number.h"
#include "codec/xml.h"
#include "import/importer.h"
#include "model/rust_name.h"

enum element_kind {
    ELEMENT_OTHER,
    ELEMENT_ROW,
    ELEMENT_TIME,
    ELEMENT_THREAD,
    ELEMENT_TID,
    ELEMENT_PROCESS,
    ELEMENT_PID,
    ELEMENT_CORE,
    ELEMENT_WEIGHT,
    ELEMENT_CYCLES,
    ELEMENT_BACKTRACE,
    ELEMENT_FRAME,
    ELEMENT_BINARY,
    ELEMENT_SOURCE,
    ELEMENT_PATH,
};

static const struct element_name {
    const char *name;
    enum element_kind kind;
    bool is_number; /* its text is a decimal number, which is its value */
} element_names[] = {
    {"row", ELEMENT_ROW, false},
    {"sample-time", ELEMENT_TIME, true},
    {"thread", ELEMENT_THREAD, false},
    {"tid", ELEMENT_TID, true},
    {"process", ELEMENT_PROCESS, false},
    {"pid", ELEMENT_PID, true},
    {"core", ELEMENT_CORE, true},
    {"weight", ELEMENT_WEIGHT, true},
    {"cycle-weight", ELEMENT_CYCLES, true},
    {"backtrace", ELEMENT_BACKTRACE, false},
    {"tagged-backtrace", ELEMENT_BACKTRACE, false},
    {"frame", ELEMENT_FRAME, false},
    {"binary", ELEMENT_BINARY, false},
    {"source", ELEMENT_SOURCE, false},
    {"path", ELEMENT_PATH, false},
};

/* An open element. */
struct element {
    enum element_kind kind;
    bool is_number, is_ref, has_id, has_value;
    uint64_t id;
    uint64_t value;     /* the number of the element */
    int64_t tid;        /* of a thread */
    struct frame frame; /* of a frame; of a source its file and line */
};

/* A closed element that others may refer to. */
struct known {
    enum element_kind kind;
    uint64_t value;
};

struct row {
    struct sample sample;
    bool has_stack, has_weight, has_cycles;
    double weight, cycles;
};

struct xctrace_reader {
    struct builder *b;
    const struct import_options *options;
    struct xml xml;
    struct arena arena;
    struct idmap refs; /* from IDs to `known` */
    struct known *known;
    size_t known_count, known_cap;
    struct element elements[XML_DEPTH_MAX]; /* [depth - 1] is the innermost */
    struct row row;                         /* current */
    struct output decoded, plain;           /* buffers for the current texts */
};

/* --- Values ---------------------------------------------------------------------- */

static uint64_t attribute_number(const struct xctrace_reader *r, struct str name,
                                 bool *has)
{
    struct str text;
    uint64_t v = 0;
    *has = xml_attribute(&r->xml, name, &text) &&
           (number_parse_u64(text, &v) ||
            (str_starts(text, STR("0x")) && number_parse_hex(text, &v)));
    return v;
}

static struct str attribute_text(struct xctrace_reader *r, struct str name)
{
    struct str text;
    if (!xml_attribute(&r->xml, name, &text))
        return STR("");
    return xml_decode(text, &r->decoded);
}

static void remember(struct xctrace_reader *r, const struct element *e)
{
    uint64_t *at = idmap_put(&r->refs, &r->arena, e->id);
    if (!at || !ARRAY_RESERVE(&r->arena, r->known, r->known_cap, r->known_count + 1))
        return;
    *at = r->known_count;
    r->known[r->known_count++] = (struct known){e->kind, e->value};
}

static bool find_known(const struct xctrace_reader *r, uint64_t id,
                       enum element_kind kind, uint64_t *value)
{
    const uint64_t *at = idmap_find(&r->refs, id);
    if (!at || r->known[*at].kind != kind)
        return false;
    *value = r->known[*at].value;
    return true;
}

static int64_t id_of(uint64_t v)
{
    return v <= INT64_MAX ? (int64_t)v : ID_NONE;
}

static void pass_to_row(struct row *row, enum element_kind kind, uint64_t value)
{
    switch (kind) {
    case ELEMENT_TIME:
        row->sample.time = value;
        break;
    case ELEMENT_THREAD:
        row->sample.thread = (thread_id)value;
        break;
    case ELEMENT_CORE:
        row->sample.cpu = value < CPU_NONE ? (uint32_t)value : CPU_NONE;
        break;
    case ELEMENT_WEIGHT:
        row->has_weight = true;
        row->weight = (double)value;
        break;
    case ELEMENT_CYCLES:
        row->has_cycles = true;
        row->cycles = (double)value;
        break;
    case ELEMENT_BACKTRACE:
        row->has_stack = value != 0;
        row->sample.stack = (stack_id)value;
        break;
    default:
        break;
    }
}

/* Passes the value of an element of that kind to its parent. */
static void pass_to_parent(struct xctrace_reader *r, enum element_kind kind,
                           uint64_t value)
{
    if (r->xml.depth == 0)
        return;
    struct element *to = &r->elements[r->xml.depth - 1];
    if (to->kind == ELEMENT_ROW) {
        pass_to_row(&r->row, kind, value);
    } else if (to->kind == ELEMENT_BACKTRACE && kind == ELEMENT_FRAME) {
        builder_path_add(r->b, (frame_id)value);
    } else if (to->kind == ELEMENT_THREAD && kind == ELEMENT_TID) {
        to->tid = id_of(value);
    } else if (to->kind == ELEMENT_FRAME && kind == ELEMENT_BINARY) {
        to->frame.module = (module_id)value;
    } else if (to->kind == ELEMENT_FRAME && kind == ELEMENT_SOURCE && r->options->lines) {
        to->frame.file = (string_id)(value >> 32);
        to->frame.line = (uint32_t)value;
    } else if (to->kind == ELEMENT_SOURCE && kind == ELEMENT_PATH) {
        to->frame.file = (string_id)value;
    } else if ((to->kind == ELEMENT_THREAD && kind == ELEMENT_PROCESS) ||
               (to->kind == ELEMENT_PROCESS && kind == ELEMENT_PID) ||
               (to->kind == ELEMENT_BACKTRACE && kind == ELEMENT_BACKTRACE)) {
        to->value = value;
        to->has_value = true;
    }
}

/* --- Elements -------------------------------------------------------------------- */

static const struct element_name *kind_named(struct str name)
{
    for (size_t i = 0; i < sizeof element_names / sizeof *element_names; i++)
        if (str_equal(name, str_of(element_names[i].name)))
            return &element_names[i];
    return NULL;
}

static void open_frame(struct xctrace_reader *r, struct element *e)
{
    struct str name = attribute_text(r, STR("name")), inlined;
    bool has_address;
    uint64_t address = attribute_number(r, STR("addr"), &has_address);
    bool unknown = name.len == 0 || str_starts(name, STR("0x"));
    e->frame.name = builder_string(r->b, rust_name(name, &r->plain));
    if (xml_attribute(&r->xml, STR("inlined"), &inlined) &&
        str_equal(inlined, STR("true")))
        e->frame.kind = FRAME_INLINED;
    if (r->options->every_address || (unknown && r->options->addresses))
        e->frame.address = address;
}

/* Only the name in "rust_test2 (49374)". */
static void open_process(struct xctrace_reader *r)
{
    struct str text = attribute_text(r, STR("fmt"));
    if (!r->b->profile->facts.command)
        r->b->profile->facts.command =
            builder_string(r->b, str_trim(str_head(text, str_rfind(text, '('))));
}

static uint64_t module_value(struct xctrace_reader *r)
{
    char id[64];
    size_t used = 0;
    struct str uuid = attribute_text(r, STR("UUID"));
    for (size_t i = 0; i < uuid.len && used < sizeof id; i++)
        if (byte_is_hex(uuid.ptr[i]))
            id[used++] = uuid.ptr[i] >= 'A' && uuid.ptr[i] <= 'F'
                             ? (char)(uuid.ptr[i] + 0x20)
                             : uuid.ptr[i];
    struct str path = attribute_text(r, STR("path"));
    if (path.len == 0)
        path = attribute_text(r, STR("name"));
    return builder_module(r->b, path, (struct str){id, used});
}

static void start_row(struct xctrace_reader *r)
{
    r->row = (struct row){
        .sample = {.time = TIME_NONE, .cpu = CPU_NONE, .count = 1, .weight = 1}};
}

static void open_value(struct xctrace_reader *r, struct element *e)
{
    bool has;
    switch (e->kind) {
    case ELEMENT_ROW:
        start_row(r);
        break;
    case ELEMENT_BACKTRACE:
        builder_path_clear(r->b);
        break;
    case ELEMENT_FRAME:
        open_frame(r, e);
        break;
    case ELEMENT_PROCESS:
        open_process(r);
        break;
    case ELEMENT_BINARY:
        e->value = module_value(r);
        e->has_value = true;
        break;
    case ELEMENT_SOURCE:
        e->frame.line = (uint32_t)(attribute_number(r, STR("line"), &has) & UINT32_MAX);
        break;
    default:
        break;
    }
}

static void open_element(struct xctrace_reader *r)
{
    const struct element_name *name = kind_named(r->xml.name);
    struct element *e = &r->elements[r->xml.depth - 1];
    *e = (struct element){.kind = name ? name->kind : ELEMENT_OTHER, .tid = ID_NONE};
    if (!name)
        return;
    uint64_t ref = attribute_number(r, STR("ref"), &e->is_ref);
    e->id = attribute_number(r, STR("id"), &e->has_id);
    e->is_number = name->is_number;
    if (!e->is_ref) {
        open_value(r, e);
        return;
    }
    e->has_id = e->is_number = false;
    e->has_value = find_known(r, ref, e->kind, &e->value);
    e->kind = e->has_value ? e->kind : ELEMENT_OTHER;
    if (!e->has_value)
        builder_warn(r->b, "a reference to a missing element", r->xml.line, 0, STR(""));
}

/* The text of a value: a number, or a path. */
static void read_text(struct xctrace_reader *r)
{
    struct str text = str_trim(r->xml.text);
    if (r->xml.depth == 0 || text.len == 0)
        return;
    struct element *e = &r->elements[r->xml.depth - 1];
    if (e->is_number) {
        e->has_value = number_parse_u64(text, &e->value);
        if (!e->has_value)
            builder_warn(r->b, "a value that is not a number", r->xml.line, 1, text);
    } else if (e->kind == ELEMENT_PATH && r->options->lines && !e->has_value) {
        e->value = builder_string(r->b, xml_decode(text, &r->decoded));
        e->has_value = true;
    }
}

static void end_row(struct xctrace_reader *r)
{
    struct sample s = r->row.sample;
    if (!r->row.has_stack) {
        builder_warn(r->b, "a row without a stack", r->xml.line, 0, STR(""));
        return;
    }
    s.event = builder_event(r->b, STR("samples"), UNIT_COUNT);
    builder_add(r->b, &s);
    if (r->row.has_weight) {
        s.event = builder_event(r->b, STR("time"), UNIT_NANOSECONDS);
        s.weight = r->row.weight;
        builder_add_mapped(r->b, &s);
    }
    if (r->row.has_cycles) {
        s.event = builder_event(r->b, STR("cycles"), UNIT_CYCLES);
        s.weight = r->row.cycles;
        builder_add_mapped(r->b, &s);
    }
}

/* Computes the value of the element, which is now complete. */
static void finish_value(struct xctrace_reader *r, struct element *e)
{
    switch (e->kind) {
    case ELEMENT_BACKTRACE:
        if (!e->has_value)
            e->value = builder_path_from_leaf(r->b);
        break;
    case ELEMENT_FRAME:
        if (!e->has_value)
            e->value = builder_frame(r->b, &e->frame);
        break;
    case ELEMENT_SOURCE:
        if (!e->has_value)
            e->value = (uint64_t)e->frame.file << 32 | e->frame.line;
        break;
    case ELEMENT_THREAD: /* its name would otherwise precede every stack, which is
                            unexpected */
        if (e->has_value || e->tid != ID_NONE)
            e->value = builder_thread(r->b, e->has_value ? id_of(e->value) : ID_NONE,
                                      e->tid, STR(""));
        break;
    default:
        break;
    }
}

static void close_element(struct xctrace_reader *r)
{
    struct element *e = &r->elements[r->xml.depth];
    if (e->kind == ELEMENT_OTHER)
        return;
    if (e->kind == ELEMENT_ROW) {
        end_row(r);
        return;
    }
    if (!e->is_ref)
        finish_value(r, e);
    if (e->has_id)
        remember(r, e);
    if (!e->is_number || e->has_value)
        pass_to_parent(r, e->kind, e->value);
}

/* --- The document ---------------------------------------------------------------- */

static bool is_open(const struct xctrace_reader *r, enum element_kind kind)
{
    for (unsigned i = 0; i < r->xml.depth; i++)
        if (r->elements[i].kind == kind)
            return true;
    return false;
}

static void read_elements(struct xctrace_reader *r)
{
    for (;;) {
        enum xml_piece piece = xml_next(&r->xml);
        if (piece == XML_END || builder_failed(r->b))
            return;
        if (piece == XML_OPEN)
            open_element(r);
        else if (piece == XML_CLOSE)
            close_element(r);
        else
            read_text(r);
    }
}

static bool xctrace_read(struct source *in, const struct import_options *options,
                         struct builder *b, struct error *err)
{
    struct xctrace_reader r = {.b = b, .options = options};
    uint64_t before = b->profile->facts.samples;
    xml_init(&r.xml, in, err);
    start_row(&r);
    read_elements(&r);
    bool some = b->profile->facts.samples > before;
    b->profile->facts.incomplete |= r.xml.cut || (r.xml.damaged && some);
    if (r.xml.cut) {
        builder_warn(b, "the end of the document is missing", r.xml.line, 0, STR(""));
        if (is_open(&r, ELEMENT_ROW) && r.row.has_stack)
            end_row(&r);
    } else if (r.xml.damaged && some) {
        builder_warn(b, "damaged XML: only the part before the damage is used",
                     r.xml.line, 0, STR(""));
    }
    b->profile->arena.failed |= r.arena.failed | r.decoded.failed | r.plain.failed;
    output_deinit(&r.decoded);
    output_deinit(&r.plain);
    arena_deinit(&r.arena);
    return !r.xml.failed || (r.xml.damaged && some);
}

static int xctrace_probe(struct str head)
{
    return str_has(str_head(head, 4096), STR("<trace-query-result")) ? 95 : 0;
}

const struct importer import_xctrace = {
    .name = "xctrace",
    .suffixes = "xml",
    .summary = "xctrace export of a time profile, XML",
    .probe = xctrace_probe,
    .shape = SHAPE_XML,
    .read = xctrace_read,
};
