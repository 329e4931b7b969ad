/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/namer.h"
#include "base/text_cache.h"
#include <stdlib.h>

#define CACHED_TEXTS 1024

struct namer {
    const struct resolve_settings *settings;
    struct arena *arena; /* owns results */
    struct output scratch;
    struct arena cache_arena;
    struct text_cache names;        /* demangled names, by the file's text */
    struct text_cache reader_texts; /* copies, by text of the current reader */
};

struct namer *namer_create(const struct resolve_settings *settings, struct arena *arena)
{
    struct namer *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->settings = settings;
    r->arena = arena;
    r->scratch = OUTPUT_BUFFER;
    if (text_cache_init(&r->names, &r->cache_arena, CACHED_TEXTS) &&
        text_cache_init(&r->reader_texts, &r->cache_arena, CACHED_TEXTS))
        return r;
    namer_destroy(r);
    return NULL;
}

void namer_destroy(struct namer *r)
{
    if (!r)
        return;
    output_deinit(&r->scratch);
    arena_deinit(&r->cache_arena);
    free(r);
}

/* --- Texts ------------------------------------------------------------------------- */

/* Stores a copy of `result` as the value of `text`: the address of a struct str. */
static struct str cache_text(struct namer *r, struct text_cache_slot *slot,
                             struct str text, struct str result)
{
    struct str *copy = arena_alloc(r->arena, sizeof *copy);
    if (!copy)
        return STR("");
    *copy = arena_str(r->arena, result);
    *slot = (struct text_cache_slot){text, 0, (uint64_t)(uintptr_t)copy};
    return *copy;
}

static struct str cached_text(const struct text_cache_slot *slot)
{
    return *(const struct str *)(uintptr_t)slot->value;
}

static struct str demangled_name(struct namer *r, struct str name)
{
    struct text_cache_slot *slot = text_cache_slot(&r->names, name, 0);
    if (name.len == 0)
        return STR("");
    if (text_cache_has(slot, name, 0))
        return cached_text(slot);
    return cache_text(r, slot, name, demangle(name, r->settings->demangle, &r->scratch));
}

/* A copy of a text of the DWARF reader (a path, a generated name), which is freed with
 * the reader. */
static struct str reader_text(struct namer *r, struct str text)
{
    struct text_cache_slot *slot = text_cache_slot(&r->reader_texts, text, 0);
    if (text.len == 0)
        return STR("");
    if (text_cache_has(slot, text, 0))
        return cached_text(slot);
    return cache_text(r, slot, text, text);
}

static struct str function_name(struct namer *r, const struct dwarf_frame *f)
{
    return f->is_made ? reader_text(r, f->name) : demangled_name(r, f->name);
}

/* --- Answers ----------------------------------------------------------------------- */

uint64_t namer_call_address(const struct object *o, uint64_t address)
{
    struct symbol symbol;
    bool begins =
        o->has_symbols && !symbol_table_find(&o->symbols, address - 1, &symbol) &&
        symbol_table_find(&o->symbols, address, &symbol) && symbol.address == address;
    return begins ? address : address - 1;
}

/* Number of functions inlined at an address. Those without a name (it may be in a missing
 * file) do not become frames: the enclosing function has a name. */
static size_t count_inlined(const struct namer *r, const struct dwarf_query *q)
{
    size_t count = 0;
    for (size_t i = 0; i + 1 < q->count && !r->settings->no_inline; i++)
        count += q->frames[i].name.len != 0;
    return count;
}

/* Each kernel function has padding before it that is never executed, with a symbol of
 * its own (CONFIG_CALL_PADDING). So a return address right after the padding is not a
 * call: an interrupt occurred at the function's first instruction. */
static bool find_symbol(const struct object *o, uint64_t address, bool is_call,
                        struct symbol *symbol)
{
    struct symbol next;
    if (!o->has_symbols || !symbol_table_find(&o->symbols, address, symbol))
        return false;
    if (is_call && str_starts(symbol->name, STR("__pfx_")) &&
        symbol_table_find(&o->symbols, address + 1, &next) && next.address == address + 1)
        *symbol = next;
    return true;
}

/* Distance of the job's address from the start of its function; `found` is the address
 * that was looked up. */
static uint64_t offset_in(const struct object *o, const struct name_job *job,
                          uint64_t found, uint64_t start)
{
    uint64_t address;
    return (object_address(o, job->address, &address) ? address : found) - start;
}

/* Sets the frames of one address: the inlined functions, innermost first, then the
 * function in the symbol table. */
static void answer(struct namer *r, const struct object *o, const struct dwarf_query *q,
                   struct name_job *job)
{
    struct symbol symbol;
    size_t inlined = count_inlined(r, q);
    bool has_symbol = find_symbol(o, q->address, job->is_call, &symbol);
    uint64_t size = has_symbol ? symbol.end - symbol.address : 0;
    if (!has_symbol && q->count == 0)
        return;
    struct resolved_frame *frames = arena_alloc(r->arena, (inlined + 1) * sizeof *frames);
    if (!frames)
        return;
    for (size_t i = 0, at = 0; at < inlined; i++)
        if (q->frames[i].name.len)
            frames[at++] = (struct resolved_frame){function_name(r, &q->frames[i]),
                                                   reader_text(r, q->frames[i].file),
                                                   q->frames[i].line,
                                                   FRAME_INLINED,
                                                   0,
                                                   size};
    struct resolved_frame *outer = &frames[inlined];
    *outer =
        (struct resolved_frame){.name = STR(""), .kind = o->request.kind, .size = size};
    if (q->count) {
        const struct dwarf_frame *last = &q->frames[q->count - 1];
        const struct dwarf_frame *line = inlined ? last : &q->frames[0];
        outer->name = has_symbol ? STR("") : function_name(r, last);
        outer->file = reader_text(r, line->file);
        outer->line = line->line;
    }
    if (has_symbol) {
        outer->name = demangled_name(r, symbol.name);
        outer->offset = offset_in(o, job, q->address, symbol.address);
    }
    job->frames = frames;
    job->count = inlined + 1;
}

/* Answers from the jitdump, for the version of the code in the job. */
static bool answer_jit(struct namer *r, const struct object *o, const struct jitdump *jit,
                       const struct dwarf_query *q, struct name_job *job)
{
    const struct jit_code *code = job->version
                                      ? &jit->codes[job->version - 1]
                                      : jitdump_find(jit, q->address, UINT64_MAX);
    struct resolved_frame *frame = code ? arena_alloc(r->arena, sizeof *frame) : NULL;
    if (!frame)
        return false;
    const struct jit_line *line = jitdump_line(jit, code, q->address);
    *frame =
        (struct resolved_frame){.name = demangled_name(r, code->name),
                                .file = line ? reader_text(r, line->file) : STR(""),
                                .line = line ? line->line : 0,
                                .kind = FRAME_JIT,
                                .offset = offset_in(o, job, q->address, code->address),
                                .size = code->size};
    job->frames = frame;
    job->count = 1;
    return true;
}

/* Answers queries that DWARF cannot answer from Go's function table. */
static void answer_go(struct go_reader *reader, const struct object *o,
                      struct dwarf_query *queries, size_t count)
{
    go_reader_init(reader, &o->go);
    for (size_t i = 0; o->has_go && i < count; i++)
        go_find(reader, &queries[i]);
}

bool namer_answer(struct namer *r, struct object *o, struct dwarf_query *queries,
                  size_t count, struct name_job *jobs)
{
    struct dwarf_reader reader;
    struct error ignored;
    const struct jitdump *jit = object_jitdump(o, r->settings);
    bool reads = o->has_dwarf && dwarf_reader_init(&reader, &o->dwarf, &ignored);
    bool found = reads && dwarf_find(&reader, queries, count, &ignored);
    for (size_t i = 0; reads && !found && i < count; i++)
        queries[i].count = 0;
    struct go_reader go;
    answer_go(&go, o, queries, count);
    for (size_t i = 0; i < count; i++) {
        struct name_job *job = &jobs[queries[i].tag];
        bool dumped = jit && job->version <= jit->code_count;
        if (!dumped || !answer_jit(r, o, jit, &queries[i], job))
            answer(r, o, &queries[i], job);
    }
    bool no_memory = go.arena.failed || go.results.failed;
    go_reader_deinit(&go);
    if (reads) {
        dwarf_reader_deinit(&reader);
        text_cache_clear(&r->reader_texts); /* the addresses may be reused */
    }
    return !no_memory && (found || !o->has_dwarf);
}
