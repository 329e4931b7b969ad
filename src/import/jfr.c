/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings of Java's Flight Recorder (JFR), by the JVM or async-profiler, version 2.
 *
 * A file is a sequence of independent chunks:
 *
 *   head       magic "FLR\0", version, size, offsets of the last checkpoint and of the
 *              metadata, start (ns), duration, start (ticks), ticks a second, features
 *   events     size, type, fields. Type 0 is the metadata: the classes of all values in
 * the chunk, with their fields. Type 1 is a checkpoint: pools of constants, which other
 * values refer to by key
 *
 * All is big-endian; integers are LEB128 of at most nine bytes, the ninth of which has
 * eight bits. A value is the fields of its class; an array begins with its count. So
 * the reader walks every value by the metadata, and extracts the fields it needs. */
#include "base/bytes.h"
#include "base/idmap.h"
#include "base/limits.h"
#include "base/number.h"
#include "base/output.h"
#include "base/utf8.h"
#include "import/importer.h"
#include "import/jfr_events.h"

#define CHUNK_HEAD 68
#define NESTED_MAX 24 /* nested values */
#define CLASSES_MAX 65536
#define ELEMENTS_MAX 64 /* nested metadata */
#define STEPS_FREE 4096
#define STEPS_A_BYTE 8

/* The meaning of a field for this reader. */
enum role {
    ROLE_NONE,
    SYMBOL_TEXT,
    CLASS_NAME,
    METHOD_CLASS,
    METHOD_NAME,
    FRAME_METHOD,
    FRAME_LINE_NUMBER,
    TRACE_CUT,
    THREAD_OS_NAME,
    THREAD_OS_ID,
    THREAD_JAVA_NAME,
    EVENT_START,
    EVENT_THREAD,
    EVENT_TRACE,
    EVENT_WEIGHT,
    ROLES
};

static const struct {
    const char *class, *field;
    enum role role;
} roles[] = {
    {"jdk.types.Symbol", "string", SYMBOL_TEXT},
    {"java.lang.Class", "name", CLASS_NAME},
    {"jdk.types.Method", "type", METHOD_CLASS},
    {"jdk.types.Method", "name", METHOD_NAME},
    {"jdk.types.StackFrame", "method", FRAME_METHOD},
    {"jdk.types.StackFrame", "lineNumber", FRAME_LINE_NUMBER},
    {"jdk.types.StackTrace", "truncated", TRACE_CUT},
    {"java.lang.Thread", "osName", THREAD_OS_NAME},
    {"java.lang.Thread", "osThreadId", THREAD_OS_ID},
    {"java.lang.Thread", "javaName", THREAD_JAVA_NAME},
    {"", "startTime", EVENT_START}, /* of events */
    {"", "sampledThread", EVENT_THREAD},
    {"", "eventThread", EVENT_THREAD},
    {"", "stackTrace", EVENT_TRACE},
};

enum base_type {
    TYPE_OBJECT,
    TYPE_BYTE, /* and boolean */
    TYPE_WHOLE,
    TYPE_FLOAT,
    TYPE_DOUBLE,
    TYPE_STRING
};

enum class_kind {
    KIND_OTHER,
    KIND_SYMBOL,
    KIND_CLASS,
    KIND_METHOD,
    KIND_FRAME,
    KIND_TRACE,
    KIND_THREAD,
    KIND_EVENT
};

struct field {
    uint64_t class_id;
    struct str name;
    uint32_t class, next; /* class: index of its class; next: index of a field, or 0 */
    enum role role;
    bool constant, array;
};

struct class {
    struct str name;
    uint32_t first, last; /* indices of fields, or 0 */
    enum base_type type;
    enum class_kind kind;
    uint32_t sampled; /* index in the table, plus 1; 0: none */
};

struct trace_frame {
    uint64_t method;
    uint32_t line;
};

/* Objects made from constants. */
struct method {
    uint64_t class, name;
    string_id full_name; /* once it is made */
    bool named;
};

struct trace {
    size_t first, count; /* frames, innermost first */
    bool cut, made;
    stack_id stack;
};

struct java_thread {
    string_id name;
    int64_t tid;
};

/* A value being read: the fields of a class, or of several in an array. */
struct level {
    uint32_t class, field;
    uint64_t more; /* remaining values of the array */
};

struct jfr {
    struct builder *b;
    const struct import_options *options;
    struct arena arena; /* of one chunk */
    struct bytes in;    /* the bytes of the chunk */
    uint64_t offset;    /* of the chunk in the file */
    double start_ns, start_ticks, tick_ns;
    struct str *strings; /* of the metadata */
    size_t string_count;
    struct field *fields;  /* [0] is unused */
    struct class *classes; /* [0] is unused */
    struct method *methods;
    struct trace *traces;
    struct java_thread *threads;
    struct trace_frame *frames;
    size_t field_count, field_cap, class_count, class_cap, method_count, method_cap;
    size_t trace_count, trace_cap, thread_count, thread_cap, frame_count, frame_cap;
    struct idmap class_ids, symbols, class_names, method_ids, trace_ids, thread_ids;
    uint64_t values[ROLES]; /* of the current value */
    string_id texts[ROLES];
    size_t first_frame; /* of the current trace */
    uint64_t steps; /* limit for the current event, because values may have no bytes */
    uint64_t bytes; /* of the file */
    uint64_t named; /* bytes of the names that were composed */
};

static void warn(struct jfr *r, const char *what)
{
    builder_warn_offset(r->b, what, r->offset + bytes_offset(&r->in));
}

/* --- Numbers and strings -------------------- */

static uint64_t take_whole(struct bytes *in)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 9; i++) {
        uint64_t byte = bytes_u8(in);
        if (i == 8)
            return value | byte << 56;
        value |= (byte & 0x7f) << (7 * i);
        if (!(byte & 0x80))
            break;
    }
    return value;
}

enum { TEXT_NULL, TEXT_EMPTY, TEXT_CONSTANT, TEXT_UTF8, TEXT_CHARS, TEXT_LATIN1 };

/* A text of 16-bit characters as UTF-8, in the arena. Unpaired surrogates are
 * replaced. */
static struct str take_chars(struct jfr *r, uint64_t count)
{
    struct output text = OUTPUT_BUFFER;
    if (count > bytes_left(&r->in))
        r->in.failed = true;
    for (uint64_t i = 0; i < count && !r->in.failed; i++) {
        uint64_t c = take_whole(&r->in);
        char utf8[8];
        bool whole = c < 0xd800 || (c >= 0xe000 && c < 0x110000);
        size_t length = utf8_write(whole ? (uint32_t)c : UTF8_REPLACEMENT, utf8);
        output_bytes(&text, utf8, length);
    }
    struct str stored = arena_str(&r->arena, output_contents(&text));
    r->arena.failed |= text.failed;
    output_deinit(&text);
    return stored;
}

/* A text; or sets *constant to the key of a constant. */
static struct str take_text(struct jfr *r, uint64_t *constant)
{
    struct bytes *in = &r->in;
    unsigned how = bytes_u8(in);
    switch (how) {
    case TEXT_NULL:
    case TEXT_EMPTY:
        return STR("");
    case TEXT_CONSTANT:
        *constant = take_whole(in);
        return STR("");
    case TEXT_UTF8:
    case TEXT_LATIN1:
        return bytes_take(in, take_whole(in));
    case TEXT_CHARS:
        return take_chars(r, take_whole(in));
    default:
        in->failed = true;
        return STR("");
    }
}

/* --- Metadata -------------------- */

#define GROW(r, items, cap, count) \
    arena_grow(&(r)->arena, (r)->items, &(r)->cap, (r)->count + 1, sizeof *(r)->items)

static struct str string_at(const struct jfr *r, uint64_t number)
{
    return number < r->string_count ? r->strings[number] : STR("");
}

static enum base_type type_of(struct str name)
{
    static const struct {
        const char *name;
        enum base_type type;
    } types[] = {{"boolean", TYPE_BYTE},
                 {"byte", TYPE_BYTE},
                 {"char", TYPE_WHOLE},
                 {"short", TYPE_WHOLE},
                 {"int", TYPE_WHOLE},
                 {"long", TYPE_WHOLE},
                 {"float", TYPE_FLOAT},
                 {"double", TYPE_DOUBLE},
                 {"java.lang.String", TYPE_STRING}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (str_equal(name, str_of(types[i].name)))
            return types[i].type;
    return TYPE_OBJECT;
}

static enum class_kind kind_of(struct str name)
{
    static const struct {
        const char *name;
        enum class_kind kind;
    } kinds[] = {
        {"jdk.types.Symbol", KIND_SYMBOL},    {"java.lang.Class", KIND_CLASS},
        {"jdk.types.Method", KIND_METHOD},    {"jdk.types.StackFrame", KIND_FRAME},
        {"jdk.types.StackTrace", KIND_TRACE}, {"java.lang.Thread", KIND_THREAD}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (str_equal(name, str_of(kinds[i].name)))
            return kinds[i].kind;
    return KIND_OTHER;
}

static void add_class(struct jfr *r, uint64_t id, struct str name)
{
    struct class *classes = GROW(r, classes, class_cap, class_count);
    uint64_t *number = idmap_put(&r->class_ids, &r->arena, id);
    if (!classes || !number || r->class_count >= CLASSES_MAX)
        return;
    r->classes = classes;
    struct class c = {.name = name, .type = type_of(name), .kind = kind_of(name)};
    for (uint32_t i = 0; i < JFR_EVENT_COUNT; i++)
        if (str_equal(name, str_of(jfr_events[i].class))) {
            c.kind = KIND_EVENT;
            c.sampled = i + 1;
        }
    *number = r->class_count;
    classes[r->class_count++] = c;
}

static enum role role_of(const struct class *c, struct str field)
{
    if (c->sampled && jfr_events[c->sampled - 1].weight &&
        str_equal(field, str_of(jfr_events[c->sampled - 1].weight)))
        return EVENT_WEIGHT;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        bool event = !roles[i].class[0] && c->kind == KIND_EVENT;
        if ((event || str_equal(c->name, str_of(roles[i].class))) &&
            str_equal(field, str_of(roles[i].field)))
            return roles[i].role;
    }
    return ROLE_NONE;
}

/* Adds a field to the class that was added last. */
static void add_field(struct jfr *r, struct field f)
{
    struct field *fields = GROW(r, fields, field_cap, field_count);
    if (!fields || r->class_count < 2)
        return;
    r->fields = fields;
    struct class *c = &r->classes[r->class_count - 1];
    f.role = role_of(c, f.name);
    fields[r->field_count] = f;
    if (c->last)
        fields[c->last].next = (uint32_t)r->field_count;
    else
        c->first = (uint32_t)r->field_count;
    c->last = (uint32_t)r->field_count++;
}

/* An element's name and attributes; its children follow. */
static void take_element(struct jfr *r)
{
    struct bytes *in = &r->in;
    struct str element = string_at(r, take_whole(in)), name = STR("");
    uint64_t attributes = take_whole(in), id = 0, class_id = 0;
    struct field f = {0};
    for (uint64_t i = 0; i < attributes && !in->failed; i++) {
        struct str key = string_at(r, take_whole(in));
        struct str value = string_at(r, take_whole(in));
        if (str_equal(key, STR("name")))
            name = value;
        else if (str_equal(key, STR("id")))
            number_parse_u64(value, &id);
        else if (str_equal(key, STR("class")))
            number_parse_u64(value, &class_id);
        else if (str_equal(key, STR("constantPool")))
            f.constant = str_equal(value, STR("true"));
        else if (str_equal(key, STR("dimension")))
            f.array = !str_equal(value, STR("0"));
    }
    f.name = name;
    f.class_id = class_id;
    if (str_equal(element, STR("class")))
        add_class(r, id, name);
    else if (str_equal(element, STR("field")))
        add_field(r, f);
}

/* Nested elements: the number of remaining ones by depth. */
static void take_elements(struct jfr *r)
{
    uint64_t remaining[ELEMENTS_MAX] = {1};
    for (size_t depth = 1; depth && !r->in.failed && !r->arena.failed;) {
        if (remaining[depth - 1] == 0) {
            depth--;
            continue;
        }
        remaining[depth - 1]--;
        take_element(r);
        uint64_t children = take_whole(&r->in);
        if (children && depth == ELEMENTS_MAX)
            r->in.failed = true;
        else if (children)
            remaining[depth++] = children;
    }
}

/* Resolves the classes of fields, which may come later than the fields. */
static void link_fields(struct jfr *r)
{
    for (size_t i = 1; i < r->field_count; i++) {
        const uint64_t *class = idmap_find(&r->class_ids, r->fields[i].class_id);
        r->fields[i].class = class ? (uint32_t) * class : 0;
    }
}

static bool read_metadata(struct jfr *r, uint64_t offset)
{
    struct bytes *in = &r->in;
    uint64_t constant;
    bytes_seek(in, offset);
    take_whole(in); /* size */
    bool metadata = take_whole(in) == 0;
    for (int i = 0; i < 3; i++)
        take_whole(in); /* start, duration, ID */
    uint64_t count = take_whole(in);
    if (in->failed || !metadata || count > bytes_left(in))
        return false;
    r->strings = arena_zalloc(&r->arena, (size_t)count + 1, sizeof *r->strings);
    if (!r->strings)
        return false;
    for (uint64_t i = 0; i < count && !in->failed; i++)
        r->strings[i] = take_text(r, &constant);
    r->string_count = (size_t)count;
    take_elements(r);
    link_fields(r);
    return !in->failed;
}

/* --- Values -------------------- */

static void end_frame(struct jfr *r)
{
    struct trace_frame *frames = GROW(r, frames, frame_cap, frame_count);
    if (!frames)
        return;
    r->frames = frames;
    uint64_t line = r->values[FRAME_LINE_NUMBER];
    frames[r->frame_count++] = (struct trace_frame){
        r->values[FRAME_METHOD], line < INT32_MAX ? (uint32_t)line : 0};
}

/* One number, text or key, of a field. */
static void take_single(struct jfr *r, const struct field *f)
{
    const struct class *c = &r->classes[f->class];
    struct bytes *in = &r->in;
    uint64_t constant = 0;
    if (f->constant || c->type == TYPE_WHOLE) {
        r->values[f->role] = take_whole(in);
    } else if (c->type == TYPE_STRING) {
        struct str text = take_text(r, &constant);
        if (f->role)
            r->texts[f->role] = builder_string(r->b, text);
        r->values[f->role] = constant;
    } else if (c->type == TYPE_BYTE) {
        r->values[f->role] = bytes_u8(in);
    } else {
        bytes_skip(in, c->type == TYPE_FLOAT ? 4 : 8);
    }
}

static bool is_single(const struct jfr *r, const struct field *f)
{
    return f->constant || r->classes[f->class].type != TYPE_OBJECT;
}

/* Walks a value of the class. Its roles are then in r->values and r->texts. */
static void take_value(struct jfr *r, uint32_t class)
{
    struct level levels[NESTED_MAX] = {{class, r->classes[class].first, 0}};
    size_t depth = 1;
    memset(r->values, 0, sizeof r->values);
    memset(r->texts, 0, sizeof r->texts);
    r->first_frame = r->frame_count;
    while (depth && !r->in.failed && !r->arena.failed) {
        r->in.failed = r->steps-- == 0;
        struct level *l = &levels[depth - 1];
        const struct field *f = &r->fields[l->field];
        if (!l->field) {
            if (r->classes[l->class].kind == KIND_FRAME)
                end_frame(r);
            if (l->more && r->classes[l->class].first) {
                l->more--;
                l->field = r->classes[l->class].first;
            } else {
                depth--;
            }
            continue;
        }
        l->field = f->next;
        uint64_t count = f->array ? take_whole(&r->in) : 1;
        if (count > bytes_left(&r->in) && f->array)
            r->in.failed = true;
        if (!f->class || (!is_single(r, f) && depth == NESTED_MAX))
            r->in.failed = true;
        else if (is_single(r, f))
            for (uint64_t i = 0; i < count && !r->in.failed; i++)
                take_single(r, f);
        else if (count)
            levels[depth++] =
                (struct level){f->class, r->classes[f->class].first, count - 1};
    }
}

/* --- Constants -------------------- */

static void store_method(struct jfr *r, uint64_t key)
{
    struct method *methods = GROW(r, methods, method_cap, method_count);
    uint64_t *number = idmap_put(&r->method_ids, &r->arena, key);
    if (!methods || !number)
        return;
    r->methods = methods;
    *number = r->method_count;
    methods[r->method_count++] =
        (struct method){.class = r->values[METHOD_CLASS], .name = r->values[METHOD_NAME]};
}

static void store_trace(struct jfr *r, uint64_t key)
{
    struct trace *traces = GROW(r, traces, trace_cap, trace_count);
    uint64_t *number = idmap_put(&r->trace_ids, &r->arena, key);
    if (!traces || !number)
        return;
    r->traces = traces;
    *number = r->trace_count;
    traces[r->trace_count++] = (struct trace){.first = r->first_frame,
                                              .count = r->frame_count - r->first_frame,
                                              .cut = r->values[TRACE_CUT]};
}

static void store_thread(struct jfr *r, uint64_t key)
{
    struct java_thread *threads = GROW(r, threads, thread_cap, thread_count);
    uint64_t *number = idmap_put(&r->thread_ids, &r->arena, key);
    if (!threads || !number)
        return;
    r->threads = threads;
    uint64_t id = r->values[THREAD_OS_ID];
    string_id name = r->texts[THREAD_JAVA_NAME];
    *number = r->thread_count;
    threads[r->thread_count++] =
        (struct java_thread){name ? name : r->texts[THREAD_OS_NAME],
                             id && id < INT64_MAX ? (int64_t)id : ID_NONE};
}

static void store_number(struct jfr *r, struct idmap *map, uint64_t key, uint64_t value)
{
    uint64_t *stored = idmap_put(map, &r->arena, key);
    if (stored)
        *stored = value;
}

static void store_constant(struct jfr *r, const struct class *c, uint64_t key)
{
    if (c->kind == KIND_SYMBOL)
        store_number(r, &r->symbols, key, r->texts[SYMBOL_TEXT]);
    else if (c->kind == KIND_CLASS)
        store_number(r, &r->class_names, key, r->values[CLASS_NAME]);
    else if (c->kind == KIND_METHOD)
        store_method(r, key);
    else if (c->kind == KIND_TRACE)
        store_trace(r, key);
    else if (c->kind == KIND_THREAD)
        store_thread(r, key);
}

static void read_pool(struct jfr *r)
{
    const uint64_t *class = idmap_find(&r->class_ids, take_whole(&r->in));
    uint64_t count = take_whole(&r->in);
    if (!class || count > bytes_left(&r->in)) {
        r->in.failed = true;
        return;
    }
    const struct class *c = &r->classes[*class];
    for (uint64_t i = 0; i < count && !r->in.failed && !r->arena.failed; i++) {
        uint64_t key = take_whole(&r->in), constant = 0;
        if (c->type == TYPE_STRING)
            take_text(r, &constant);
        else
            take_value(r, (uint32_t) * class);
        if (!r->in.failed)
            store_constant(r, c, key);
    }
}

static void read_checkpoint(struct jfr *r)
{
    for (int i = 0; i < 3; i++)
        take_whole(&r->in); /* start, duration, offset of the preceding checkpoint */
    bytes_u8(&r->in);       /* the kind */
    uint64_t pools = take_whole(&r->in);
    for (uint64_t i = 0; i < pools && !r->in.failed && !r->arena.failed; i++)
        read_pool(r);
}

/* --- Samples -------------------- */

static struct str symbol_at(const struct jfr *r, uint64_t key)
{
    const uint64_t *symbol = idmap_find(&r->symbols, key);
    return profile_string(r->b->profile, symbol ? (string_id)*symbol : 0);
}

static char dotted(char c)
{
    return c == '/' ? '.' : c;
}

/* "java/util/List" and "add" as java.util.List.add. Many methods may refer to one long
 * class name: above the limit they are named without it. */
static string_id name_of(struct jfr *r, const struct method *m)
{
    const uint64_t *class = idmap_find(&r->class_names, m->class);
    struct str owner = symbol_at(r, class ? *class : 0), method = symbol_at(r, m->name);
    struct output name = OUTPUT_BUFFER;
    if (limits_expansion_exceeded(r->b->limits, r->bytes, r->named + owner.len)) {
        builder_warn(
            r->b,
            "a method named without its class, because the names are longer than "
            "the limit; --limits x8 raises it",
            0, 0, STR(""));
        owner = STR("");
    }
    r->named += owner.len;
    for (size_t i = 0; i < owner.len; i++)
        output_char(&name, dotted(owner.ptr[i]));
    if (owner.len && method.len)
        output_char(&name, '.');
    output_str(&name, method);
    r->arena.failed |= name.failed;
    string_id id = builder_string(r->b, output_contents(&name));
    output_deinit(&name);
    return id;
}

static frame_id frame_of(struct jfr *r, const struct trace_frame *frame)
{
    const uint64_t *number = idmap_find(&r->method_ids, frame->method);
    struct frame f = {.line = r->options->lines ? frame->line : 0};
    if (number) {
        struct method *m = &r->methods[*number];
        if (!m->named)
            m->full_name = name_of(r, m);
        m->named = true;
        f.name = m->full_name;
    }
    return builder_frame(r->b, &f);
}

static stack_id stack_of(struct jfr *r, uint64_t key)
{
    const uint64_t *number = idmap_find(&r->trace_ids, key);
    if (!number)
        return 0;
    struct trace *t = &r->traces[*number];
    if (t->made)
        return t->stack;
    builder_path_clear(r->b);
    for (size_t i = 0; i < t->count; i++)
        builder_path_add(r->b, frame_of(r, &r->frames[t->first + i]));
    if (t->cut && r->options->cuts) {
        struct frame mark = {.name = builder_string(r->b, STR(TRUNCATED_MARK)),
                             .kind = FRAME_MARKER};
        builder_path_add(r->b, builder_frame(r->b, &mark));
    }
    t->stack = builder_path_from_leaf(r->b);
    t->made = true;
    return t->stack;
}

static thread_id thread_of(struct jfr *r, uint64_t key)
{
    const uint64_t *number = idmap_find(&r->thread_ids, key);
    if (!number)
        return 0;
    const struct java_thread *t = &r->threads[*number];
    return builder_thread(r->b, ID_NONE, t->tid, profile_string(r->b->profile, t->name));
}

static void add_sample(struct jfr *r, const struct jfr_event *s)
{
    struct facts *facts = &r->b->profile->facts;
    stack_id stack = stack_of(r, r->values[EVENT_TRACE]);
    const uint64_t *trace = idmap_find(&r->trace_ids, r->values[EVENT_TRACE]);
    double weight = s->weight ? (double)r->values[EVENT_WEIGHT] : 1;
    double time =
        r->start_ns + ((double)r->values[EVENT_START] - r->start_ticks) * r->tick_ns;
    bool counted = r->options->samples;
    if (s->unit == UNIT_NANOSECONDS)
        weight *= r->tick_ns;
    facts->truncated += trace && r->traces[*trace].cut;
    builder_add(r->b,
                &(struct sample){.time = time_of_ns(time),
                                 .thread = thread_of(r, r->values[EVENT_THREAD]),
                                 .cpu = CPU_NONE,
                                 .event = builder_event(r->b, str_of(s->event),
                                                        counted ? UNIT_COUNT : s->unit),
                                 .stack = stack,
                                 .count = 1,
                                 .weight = counted ? 1 : weight});
}

/* --- Chunks -------------------- */

/* All events of the chunk: the checkpoints, or the samples of one kind. */
static void read_events(struct jfr *r, bool checkpoints, uint32_t kind)
{
    bytes_seek(&r->in, CHUNK_HEAD);
    while (bytes_left(&r->in) && !r->arena.failed) {
        size_t at = bytes_offset(&r->in);
        uint64_t size = take_whole(&r->in), type = take_whole(&r->in);
        struct bytes whole = r->in;
        if (r->in.failed || size > (size_t)(r->in.end - r->in.begin) - at ||
            size < bytes_offset(&r->in) - at) {
            r->in.failed = false;
            if (checkpoints)
                warn(
                    r,
                    "an event with an impossible size; the rest of the chunk is skipped");
            return;
        }
        r->in.end = r->in.begin + at + size;
        r->steps = STEPS_FREE + size * STEPS_A_BYTE;
        const uint64_t *class = idmap_find(&r->class_ids, type);
        const struct class *c = class ? &r->classes[*class] : NULL;
        if (checkpoints && type == 1) {
            read_checkpoint(r);
        } else if (!checkpoints && type > 1 && c && c->sampled == kind) {
            take_value(r, (uint32_t) * class);
            r->frame_count = r->first_frame;
            if (!r->in.failed)
                add_sample(r, &jfr_events[kind - 1]);
        }
        if (r->in.failed)
            warn(r, "an event that does not match its class");
        r->in = whole;
        bytes_seek(&r->in, at + size);
    }
}

static void clear_chunk(struct jfr *r)
{
    builder_end_scratch(r->b, &r->arena);
    *r = (struct jfr){.b = r->b,
                      .options = r->options,
                      .offset = r->offset,
                      .bytes = r->bytes,
                      .named = r->named};
    r->field_count = r->class_count = 1;
    r->fields = arena_zalloc(&r->arena, 64, sizeof *r->fields);
    r->classes = arena_zalloc(&r->arena, 64, sizeof *r->classes);
    r->field_cap = r->class_cap = 64;
}

static bool has_class(const struct jfr *r, uint32_t kind)
{
    for (size_t i = 1; i < r->class_count; i++)
        if (r->classes[i].sampled == kind)
            return true;
    return false;
}

/* Reads the samples event by event, because the first event is shown first. */
static void read_chunk(struct jfr *r, struct str chunk)
{
    clear_chunk(r);
    r->in = bytes_of(chunk, true);
    bytes_seek(&r->in, 24);
    uint64_t metadata = bytes_u64(&r->in);
    r->start_ns = (double)bytes_u64(&r->in);
    bytes_u64(&r->in); /* duration */
    r->start_ticks = (double)bytes_u64(&r->in);
    double ticks = (double)bytes_u64(&r->in);
    r->tick_ns = ticks > 0 ? 1e9 / ticks : 1;
    if (!r->fields || !r->classes)
        return;
    if (!read_metadata(r, metadata)) {
        warn(r, "a chunk whose metadata cannot be read, skipped");
        return;
    }
    read_events(r, true, 0);
    for (uint32_t kind = 1; kind <= JFR_EVENT_COUNT; kind++)
        if (has_class(r, kind))
            read_events(r, false, kind);
}

static void end_early(struct jfr *r, const char *what)
{
    builder_warn_offset(r->b, what, r->offset);
    r->b->profile->facts.incomplete = true;
}

static bool read_chunks(struct jfr *r, struct str all, struct error *err)
{
    for (r->offset = 0; r->offset + CHUNK_HEAD <= all.len && !builder_failed(r->b);) {
        struct bytes in = bytes_of(str_skip(all, (size_t)r->offset), true);
        struct str magic = bytes_take(&in, 4);
        unsigned major = bytes_u16(&in);
        bytes_u16(&in);
        uint64_t size = bytes_u64(&in);
        if (!str_equal(magic, STR("FLR\0")) || major < 2) {
            if (r->offset) {
                end_early(r, "bytes that are not a chunk");
                return true;
            }
            error_set(err,
                      "a flight recording of version %u; stoke reads version 2 and later",
                      major);
            error_at_offset(err, 4);
            return error_hint(err,
                              "recordings of the commercial JDK 8 have an older version");
        }
        if (size < CHUNK_HEAD || size > all.len - r->offset) {
            end_early(r, "a truncated chunk");
            size = all.len - r->offset;
        }
        read_chunk(r, str_part(all, r->offset, size));
        r->offset += size;
    }
    if (r->offset < all.len && !builder_failed(r->b))
        end_early(r, "a truncated chunk");
    return true;
}

static bool jfr_read(struct source *in, const struct import_options *options,
                     struct builder *b, struct error *err)
{
    struct jfr r = {.b = b, .options = options};
    struct str all;
    if (!source_all(in, &all, err))
        return false;
    r.bytes = all.len;
    bool ok = read_chunks(&r, all, err);
    builder_end_scratch(b, &r.arena);
    return ok;
}

static int jfr_probe(struct str head)
{
    return str_starts(head, STR("FLR\0")) ? 100 : 0;
}

const struct importer import_jfr = {
    .name = "jfr",
    .suffixes = "jfr",
    .summary = "Java Flight Recorder, also by async-profiler",
    .probe = jfr_probe,
    .shape = SHAPE_BINARY,
    .empty = "no stack samples in this flight recording",
    .read = jfr_read,
};
