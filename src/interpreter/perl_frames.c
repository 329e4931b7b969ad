/* SPDX-License-Identifier: Apache-2.0 */
#include "base/output.h"
#include "interpreter/perl.h"
#include "interpreter/walk.h"

#define PIECE ((uint64_t)64) /* of a text, aligned: it does not exceed a page */

/* Text that ends with a 0; empty, with m->failed set, if it is not readable. */
static struct str read_text(struct memory *m, uint64_t at, struct arena *arena)
{
    struct output text = OUTPUT_BUFFER;
    unsigned char piece[PIECE];
    size_t length = 0;
    bool ends = at == 0;
    m->failed |= at == 0;
    while (!ends && length < INTERPRETER_NAME_MAX) {
        size_t size = (size_t)(PIECE - at % PIECE);
        if (!memory_read(m, at, piece, size))
            break;
        const unsigned char *end = memchr(piece, 0, size);
        ends = end != NULL;
        size = end ? (size_t)(end - piece) : size;
        output_str(&text, (struct str){(const char *)piece, size});
        length += size;
        at += size;
    }
    struct str found =
        arena_str(arena, str_head(output_contents(&text), INTERPRETER_NAME_MAX));
    output_deinit(&text);
    return m->failed ? STR("") : found;
}

/* Bytes that are characters of Latin-1, as UTF-8. */
static void put_latin1(struct output *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c >= 0x80)
            output_char(out, (char)(0xc0 | c >> 6));
        output_char(out, (char)(c < 0x80 ? c : 0x80 | (c & 0x3f)));
    }
}

/* Adds a shared name (HEK) to a text. */
static void put_name(struct memory *m, uint64_t name, struct output *out)
{
    char bytes[INTERPRETER_NAME_MAX + 2];
    uint32_t length = memory_u32(m, name + PERL_NAME_LENGTH);
    bool is_whole = length <= INTERPRETER_NAME_MAX;
    size_t size = is_whole ? length + 2 : INTERPRETER_NAME_MAX;
    if (!name || m->failed || !memory_read(m, name + PERL_NAME_BYTES, bytes, size)) {
        m->failed = true;
        return;
    }
    struct str text = {bytes, is_whole ? length : size};
    if (is_whole && !(bytes[length + 1] & PERL_NAME_IS_UTF8))
        put_latin1(out, text);
    else
        output_str(out, text);
}

/* The name of a package; 0 if it has none. */
static uint64_t package_name(struct memory *m, const struct perl_layout *l,
                             uint64_t package)
{
    if (!package || !(memory_u32(m, package + PERL_VALUE_FLAGS) & PERL_HASH_HAS_NAMES))
        return 0;
    uint64_t body = memory_u64(m, package), names = body + PERL_HASH_BODY_NAMES;
    if (!l->names_in_body)
        names = memory_u64(m, package + PERL_VALUE_POINTER) +
                (memory_u64(m, body + PERL_HASH_LAST) + 1) * 8;
    uint64_t name = memory_u64(m, names);
    if (name && memory_u32(m, names + PERL_NAMES_COUNT))
        name = memory_u64(m, name);
    return name;
}

/* The name of a function with its package, "Counter::add". */
static struct str read_name(struct memory *m, const struct perl_layout *l, uint64_t body,
                            struct arena *arena)
{
    struct output text = OUTPUT_BUFFER;
    uint64_t name = memory_u64(m, body + PERL_CODE_GLOB);
    uint64_t package = memory_u64(m, body + PERL_CODE_PACKAGE);
    if (!(memory_u32(m, body + PERL_CODE_FLAGS) & PERL_CODE_IS_NAMED) && !m->failed) {
        uint64_t glob = memory_u64(m, name);
        name = memory_u64(m, glob + PERL_GLOB_NAME);
        package = memory_u64(m, glob + PERL_GLOB_PACKAGE);
    }
    uint64_t of = m->failed ? 0 : package_name(m, l, package);
    if (of)
        put_name(m, of, &text);
    if (m->failed && !m->exhausted) /* only the package is unknown */
        m->failed = false;
    else if (of)
        output_str(&text, STR("::"));
    put_name(m, name, &text);
    struct str joined =
        arena_str(arena, str_head(output_contents(&text), INTERPRETER_NAME_MAX));
    output_deinit(&text);
    return joined;
}

/* Texts that are executed are numbered: "(eval 12)". */
static bool is_text(struct str file)
{
    return str_starts(file, STR("(eval "));
}

/* The file of a statement; empty if it has none. */
static struct str read_file(struct memory *m, const struct perl *perl, uint64_t file,
                            struct arena *arena)
{
    struct str path;
    if (perl->has_threads) {
        path = read_text(m, file, arena);
    } else {
        struct output text = OUTPUT_BUFFER;
        put_name(m, memory_u64(m, memory_u64(m, file) + PERL_GLOB_NAME), &text);
        path = arena_str(arena, output_contents(&text));
        output_deinit(&text);
        if (str_starts(path, STR("_<")))
            path = str_skip(path, 2);
    }
    return path;
}

/* Code without a code object: its name says what executes it. */
static void describe_file(struct memory *m, const struct perl *perl,
                          const struct interpreter_walk_frame *walked,
                          struct interpreter_frame *f, struct arena *arena)
{
    f->file = read_file(m, perl, walked->code & ~INTERPRETER_WALK_BITS, arena);
    if ((uint32_t)walked->instruction & INTERPRETER_WALK_MAIN) {
        f->function = STR("{main}");
    } else if (is_text(f->file)) {
        f->function = STR("{eval}");
    } else {
        struct output text = OUTPUT_BUFFER;
        output_str(&text, STR("{require "));
        output_str(&text, str_basename(f->file));
        output_char(&text, '}');
        f->function =
            arena_str(arena, str_head(output_contents(&text), INTERPRETER_NAME_MAX));
        output_deinit(&text);
    }
}

static void describe_function(struct memory *m, const struct perl *perl,
                              const struct interpreter_walk_frame *walked,
                              struct interpreter_frame *f, struct arena *arena)
{
    uint64_t code = walked->code & ~INTERPRETER_WALK_BITS;
    uint32_t type = memory_u32(m, code + PERL_VALUE_FLAGS) & 0xff;
    uint64_t body = memory_u64(m, code);
    uint64_t root = memory_u64(m, body + PERL_CODE_ROOT);
    uint32_t glob = memory_u32(m, body + PERL_CODE_GLOB);
    m->failed |= type != PERL_TYPE_CODE && type != PERL_TYPE_FORMAT;
    m->failed |= interpreter_walk_check(root, glob) != walked->check;
    if (m->failed)
        return;
    f->function = read_name(m, perl->layout, body, arena);
    if (m->failed)
        return;
    f->file = read_text(m, memory_u64(m, body + PERL_CODE_FILE), arena);
    m->failed = m->exhausted;
}

bool perl_describe(struct interpreter_runtime *r,
                   const struct interpreter_walk_frame *walked,
                   struct interpreter_frame *frame)
{
    const struct perl *perl = r->data;
    struct memory m = memory_of(r->access);
    uint32_t instruction = (uint32_t)walked->instruction;
    *frame = (struct interpreter_frame){
        .function = STR(""),
        .file = STR(""),
        .line = instruction & INTERPRETER_WALK_LINES,
        .is_entry = walked->code & INTERPRETER_WALK_ENTRY,
    };
    if (instruction & (INTERPRETER_WALK_MAIN | INTERPRETER_WALK_EVAL))
        describe_file(&m, perl, walked, frame, r->arena);
    else
        describe_function(&m, perl, walked, frame, r->arena);
    if (is_text(frame->file))
        frame->file = STR("");
    return !m.failed && !r->arena->failed;
}

bool perl_stack(struct interpreter_runtime *r, const struct interpreter_thread *thread,
                struct interpreter_stack *stack, struct arena *scratch)
{
    const struct perl *perl = r->data;
    return interpreter_walk_stack(r, &perl->walk, thread->state, stack, scratch);
}
