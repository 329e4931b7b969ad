/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/code.h"
#include "base/array.h"
#include "base/output.h"

/* Inlined calls are looked up for whole functions of at most this many bytes. */
#define FUNCTION_SIZE_MAX ((uint64_t)1 << 20)

/* --- Functions --------------------------------------------------------------------- */

static const char *const default_switches[] = {"__switch_to",    "cpu_switch_to", "swtch",
                                               "z_riscv_switch", "arch_switch",   NULL};
static const char *const twice[] = {"setjmp",      "_setjmp",    "__setjmp", "sigsetjmp",
                                    "__sigsetjmp", "getcontext", NULL};

static bool is_one_of(struct str name, const char *const *names)
{
    for (; *names; names++)
        if (str_equal(name, str_of(*names)))
            return true;
    return false;
}

/* Adds a function with its location; 0 if out of memory. */
static trace_function_id add_function(struct trace_code *c, struct trace_function f)
{
    if (!ARRAY_RESERVE(c->arena, c->functions, c->function_cap, c->function_count + 1))
        return 0;
    trace_function_id id = (trace_function_id)c->function_count++;
    if (is_one_of(f.name, c->switches ? c->switches : default_switches))
        f.flags |= TRACE_FUNCTION_SWITCH;
    if (is_one_of(f.name, twice))
        f.flags |= TRACE_FUNCTION_TWICE;
    if (!(f.flags & TRACE_FUNCTION_INLINED))
        f.location = trie_child(&c->locations, 0, id);
    c->functions[id] = f;
    return id;
}

/* Longer functions do not switch stacks. */
#define SWITCH_SIZE_MAX 1024

/* The bits of an instruction that saves the stack pointer elsewhere, or sets it from
 * elsewhere. */
static void note_stack_moves(uint32_t x, bool *saves, bool *loads)
{
    enum { SP = 2, S0 = 8, A0 = 10, A1 = 11 };
    uint32_t to = x >> 7 & 31, base = x >> 15 & 31, from = x >> 20 & 31;
    bool apart = base != SP && base != S0;
    if (instruction_length((uint16_t)x) == 2) { /* c.mv */
        from = x >> 2 & 31;
        bool moves = (x & 0xf003) == 0x8002;
        *saves |= moves && from == SP && to != S0;
        *loads |= moves && to == SP && (from == A0 || from == A1);
    } else {
        *saves |= (x & 0x707f) == 0x3023 && from == SP && apart;
        *loads |= (x & 0x707f) == 0x3003 && to == SP && apart;
        *saves |= (x & 0xfff0707f) == 0x13 && base == SP && to != S0;
        *loads |= (x & 0xfff0707f) == 0x13 && to == SP && (base == A0 || base == A1);
    }
}

/* Whether a function stores the stack pointer and then continues with another one,
 * from memory or from an argument. */
static bool swaps_stacks(const struct trace_binary *b, uint64_t start, uint64_t end)
{
    const struct trace_segment *s = trace_segment_at(b, start);
    bool saves = false, loads = false;
    uint32_t bits;
    if (!s || end <= start || end - start > SWITCH_SIZE_MAX)
        return false;
    while (start < end && trace_segment_bits(s, start, &bits)) {
        note_stack_moves(bits, &saves, &loads);
        start += instruction_length((uint16_t)bits);
    }
    return saves && loads;
}

static uint64_t binary_key(uint32_t binary, uint64_t low)
{
    return (uint64_t)binary << 40 | low;
}

static trace_function_id function_of_symbol(struct trace_code *c, uint32_t binary,
                                            uint32_t symbol)
{
    uint64_t *id = idmap_put(&c->by_symbol, c->arena, binary_key(binary, symbol));
    if (!id || *id)
        return id ? (trace_function_id)*id : 0;
    struct symbol s = symbol_table_get(trace_code_binary(c, binary)->symbols, symbol);
    bool label = s.kind == SYMBOL_LABEL && s.binding == SYMBOL_LOCAL;
    bool swaps = swaps_stacks(trace_code_binary(c, binary), s.address, s.end);
    *id = add_function(
        c, (struct trace_function){.binary = binary,
                                   .name = s.name,
                                   .start = s.address,
                                   .end = s.end,
                                   .flags = (label ? TRACE_FUNCTION_LABEL : 0) |
                                            (swaps ? TRACE_FUNCTION_SWAPS : 0)});
    return (trace_function_id)*id;
}

/* A function of which only the name is known. Names point into the file: an equal
 * pointer is an equal name. */
static trace_function_id function_of_name(struct trace_code *c, uint32_t binary,
                                          struct str name, unsigned flags)
{
    uint64_t key = (uint64_t)(uintptr_t)name.ptr << 1 | (flags != 0);
    if (name.len == 0)
        key = ~binary_key(binary, flags);
    uint64_t *id = idmap_put(name.len ? &c->by_name : &c->by_symbol, c->arena, key);
    if (!id || *id)
        return id ? (trace_function_id)*id : 0;
    *id = add_function(
        c, (struct trace_function){.binary = binary, .name = name, .flags = flags});
    return (trace_function_id)*id;
}

/* A function that is the target of calls and has no symbol. */
static trace_function_id function_of_target(struct trace_code *c, uint32_t binary,
                                            uint64_t target)
{
    uint64_t *id = idmap_put(&c->by_target, c->arena, target ^ (uint64_t)binary << 44);
    if (!id || *id)
        return id ? (trace_function_id)*id : 0;
    struct output text = OUTPUT_BUFFER;
    output_str(&text, trace_code_binary(c, binary)->name);
    output_format(&text, "+0x%llx", (unsigned long long)target);
    struct str name = arena_str(c->arena, (struct str){text.bytes, text.used});
    output_deinit(&text);
    *id = add_function(
        c, (struct trace_function){.binary = binary, .name = name, .start = target});
    return (trace_function_id)*id;
}

trace_function_id trace_code_adopt(struct trace_code *c, const struct trace_code *from,
                                   trace_function_id id)
{
    const struct trace_function *f = &from->functions[id];
    if (id <= TRACE_UNKNOWN_KERNEL)
        return id;
    if (f->binary == 0)
        return TRACE_UNKNOWN_USER;
    const struct trace_binary *b = trace_code_binary(from, f->binary);
    uint32_t binary = trace_code_add(c, b);
    if (f->end && b->symbols) {
        uint32_t symbol = ranges_find(&b->symbols->ranges, f->start);
        return symbol == RANGE_NONE ? TRACE_UNKNOWN_USER
                                    : function_of_symbol(c, binary, symbol);
    }
    if (f->start)
        return function_of_target(c, binary, f->start);
    return function_of_name(c, binary, f->name, f->flags & TRACE_FUNCTION_INLINED);
}

/* --- Inlined calls ------------------------------------------------------------------ */

static struct dwarf_reader *reader_of(struct trace_code *c, uint32_t binary)
{
    struct error ignored;
    struct trace_known *k = &c->known[binary];
    if (!k->asked) {
        k->asked = true;
        k->has_reader =
            k->binary->dwarf && dwarf_reader_init(&k->reader, k->binary->dwarf, &ignored);
        if (k->binary->dwarf && !k->has_reader)
            c->arena->failed = true;
    }
    return k->has_reader ? &k->reader : NULL;
}

/* Memory that a DWARF reader has returned is freed from time to time, because a reset
 * takes time for each file. */
#define RESULTS_MAX ((size_t)16 << 20)

static void forget(struct dwarf_reader *reader)
{
    if (reader->results.total > RESULTS_MAX)
        dwarf_reader_forget(reader);
}

/* Looks the queries up with a DWARF reader of the binary. False if out of memory. */
static bool ask(struct trace_code *c, uint32_t binary, struct dwarf_reader *reader,
                struct dwarf_query *queries, size_t count)
{
    struct error ignored;
    bool ok = dwarf_order(trace_code_binary(c, binary)->dwarf, queries, count) &&
              dwarf_find(reader, queries, count, &ignored);
    if (!ok)
        c->arena->failed = true;
    return ok;
}

/* The location for the calls inlined at an address, outermost first. */
static trace_location_id location_of_frames(struct trace_code *c, uint32_t binary,
                                            trace_location_id location,
                                            const struct dwarf_query *q)
{
    for (size_t i = q->count > 0 ? q->count - 1 : 0; i-- > 0;) {
        trace_function_id f =
            function_of_name(c, binary, q->frames[i].name, TRACE_FUNCTION_INLINED);
        if (f)
            location = trie_child(&c->locations, location, f);
    }
    return location;
}

/* Looks up all addresses of a function at once, so that its debug information is read
 * once. */
static void find_inlined(struct trace_code *c, trace_function_id id)
{
    const struct trace_function f = c->functions[id];
    struct dwarf_reader *reader = f.binary ? reader_of(c, f.binary) : NULL;
    uint64_t size = f.end - f.start;
    if (!reader || f.end <= f.start || size > FUNCTION_SIZE_MAX)
        return;
    size_t count = (size_t)(size + 1) / 2;
    if (!ARRAY_RESERVE(c->arena, c->queries, c->query_cap, count))
        return;
    for (size_t i = 0; i < count; i++)
        c->queries[i] =
            (struct dwarf_query){.address = f.start + i * 2, .tag = (uint32_t)i};
    if (!ask(c, f.binary, reader, c->queries, count))
        return;
    bool any = false;
    for (size_t i = 0; i < count; i++)
        any |= c->queries[i].count > 1;
    trace_location_id *locations =
        any ? arena_alloc(c->arena, count * sizeof *locations) : NULL;
    for (size_t i = 0; locations && i < count; i++)
        locations[c->queries[i].tag] =
            location_of_frames(c, f.binary, f.location, &c->queries[i]);
    c->functions[id].locations = locations;
    forget(reader);
}

/* Code in a part (f.cold) belongs to its function, but is found by the bounds of the
 * part. */
static trace_location_id location_in_function(struct trace_code *c, trace_function_id id,
                                              trace_function_id owner, uint64_t address)
{
    if (!c->functions[id].asked) {
        c->functions[id].asked = true;
        c->functions[id].location = c->functions[owner].location;
        find_inlined(c, id);
    }
    const struct trace_function *f = &c->functions[id];
    return f->locations && address >= f->start && address < f->end
               ? f->locations[(address - f->start) / 2]
               : f->location;
}

/* Code without a symbol. DWARF may know the function, but not its first address.
 * target: the target of the call that leads here, or 0. */
static trace_location_id location_without_symbol(struct trace_code *c, uint32_t binary,
                                                 uint64_t address, uint64_t target)
{
    struct dwarf_query q = {.address = address};
    struct dwarf_reader *reader = reader_of(c, binary);
    if (!reader || !ask(c, binary, reader, &q, 1))
        q.count = 0;
    struct str name = q.count ? q.frames[q.count - 1].name : STR("");
    trace_function_id f = name.len == 0 && target ? function_of_target(c, binary, target)
                                                  : function_of_name(c, binary, name, 0);
    trace_location_id location =
        location_of_frames(c, binary, c->functions[f].location, &q);
    if (reader)
        forget(reader);
    return location;
}

/* --- Sites ------------------------------------------------------------------------- */

static void fill_location(struct trace_code *c, uint32_t binary, uint64_t address,
                          struct trace_site *s)
{
    const struct trace_binary *b = trace_code_binary(c, binary);
    uint32_t symbol = b->symbols ? ranges_find(&b->symbols->ranges, address) : RANGE_NONE;
    bool jumps = s->kind == INSTRUCTION_JUMP || s->kind == INSTRUCTION_JUMP_REGISTER ||
                 s->kind == INSTRUCTION_RETURN; /* jr t0 */
    if (jumps && trace_code_links(c, binary, address))
        s->flags |= TRACE_SITE_LINKS;
    if (address == b->entry)
        s->flags |= TRACE_SITE_START | TRACE_SITE_ENTRY;
    const struct symbol_entry *e =
        symbol == RANGE_NONE ? NULL : &b->symbols->entries[symbol];
    uint64_t target = !e || (e->open && e->address != address)
                          ? trace_code_target(c, binary, address)
                          : 0;
    if (!e || target) {
        s->flags |= address == target ? TRACE_SITE_ENTRY : 0;
        s->location = location_without_symbol(c, binary, address, target);
        return;
    }
    trace_function_id f = function_of_symbol(c, binary, symbol), owner = f;
    if (b->owners[symbol] != symbol)
        owner = function_of_symbol(c, binary, b->owners[symbol]);
    s->location = location_in_function(c, f, owner, address);
    if (c->functions[f].start == address)
        s->flags |= TRACE_SITE_ENTRY;
}

static void fill_instruction(const struct trace_code *c, struct trace_site *s,
                             uint32_t bits)
{
    struct instruction in = instruction_decode(bits, c->is_32);
    s->bits = in.length == 2 ? bits & 0xffff : bits;
    s->kind = (uint8_t)in.kind;
    s->length = in.length;
    s->displacement = in.displacement;
    s->advance = instruction_falls_through(in.kind) ? in.length : 0;
}

enum {
    LI_A7_SIGRETURN = 0x08b00893, /* li a7, 139: Linux's rt_sigreturn */
    ECALL = 0x00000073,
};

bool trace_site_begins_sigreturn(const struct trace_site *s)
{
    return s->bits == LI_A7_SIGRETURN;
}

void trace_code_follow(const struct trace_site *before, struct trace_site *site)
{
    if (trace_site_begins_sigreturn(before) && site->bits == ECALL)
        site->flags |= TRACE_SITE_SIGRETURN;
}

/* Decodes the instruction at an address of a binary. */
static void fill_site(struct trace_code *c, uint32_t binary, uint64_t address,
                      struct trace_site *s)
{
    const struct trace_segment *segment =
        trace_segment_at(trace_code_binary(c, binary), address);
    uint32_t bits;
    *s = (struct trace_site){.kind = INSTRUCTION_UNKNOWN, .length = 2};
    if (segment && trace_segment_bits(segment, address, &bits))
        fill_instruction(c, s, bits);
    if (s->bits == ECALL && trace_segment_bits(segment, address - 4, &bits))
        trace_code_follow(&(struct trace_site){.bits = bits}, s);
    fill_location(c, binary, address, s);
}

/* --- Location of binaries ----------------------------------------------------------- */

uint32_t trace_code_add(struct trace_code *c, const struct trace_binary *binary)
{
    for (uint32_t i = 1; i < c->known_count; i++)
        if (c->known[i].binary == binary)
            return i;
    if (!ARRAY_RESERVE(c->arena, c->known, c->known_cap, c->known_count + 1))
        return 0;
    c->known[c->known_count] = (struct trace_known){.binary = binary};
    c->is_32 |= binary->elf && !binary->elf->is_64;
    return (uint32_t)c->known_count++;
}

void trace_code_add_placement(struct trace_code *c, struct trace_placement placement)
{
    struct trace_placement *item =
        ARRAY_APPEND(c->arena, c->placements, c->placement_count, c->placement_cap);
    if (!item)
        return;
    *item = placement;
}

struct trace_where trace_code_where(const struct trace_code *c, uint64_t pc)
{
    for (size_t i = c->placement_count; i-- > 0;) {
        const struct trace_placement *p = &c->placements[i];
        if (pc >= p->start && pc < p->end)
            return (struct trace_where){p->binary, p->bias};
    }
    for (uint32_t i = 1; i < c->known_count; i++) {
        const struct trace_binary *b = c->known[i].binary;
        if (!b->moves && trace_segment_at(b, pc))
            return (struct trace_where){i, 0};
    }
    return (struct trace_where){0, 0};
}

/* --- Pages ------------------------------------------------------------------------- */

/* The page of an address. It is created if it overlaps a binary; otherwise NULL. */
static struct trace_page *make_page(struct trace_code *c, uint64_t pc, uint64_t number)
{
    struct trace_where where = {0, 0};
    if (trace_code_is_shared(c, pc))
        where = trace_code_where_in(c, pc, c->program);
    if (!where.binary)
        where = trace_code_where(c, pc);
    uint64_t *slot = where.binary ? idmap_put(&c->pages, c->arena, number) : NULL;
    if (!slot)
        return NULL;
    struct trace_page *page = (struct trace_page *)(uintptr_t)*slot;
    if (!page) {
        page = arena_zalloc(c->arena, 1, sizeof *page);
        if (!page)
            return NULL;
        page->number = number;
        page->binary = where.binary;
        page->bias = where.bias;
        *slot = (uint64_t)(uintptr_t)page;
    }
    return page;
}

static struct trace_page *find_page(struct trace_code *c, uint64_t pc)
{
    uint64_t number = pc >> TRACE_PAGE_SHIFT;
    size_t slot = number % TRACE_PAGE_CACHE;
    if (trace_code_is_shared(c, pc))
        number |= (uint64_t)c->program << 44; /* each program has its own pages */
    if (c->cache[slot].number == number + 1)
        return c->cache[slot].page;
    struct trace_page *page = make_page(c, pc, number);
    if (page) {
        c->cache[slot].number = number + 1;
        c->cache[slot].page = page;
    }
    return page;
}

void trace_code_call(struct trace_code *c, struct trace_where where, uint64_t pc)
{
    trace_code_add_target(c, where.binary, pc - where.bias);
}

/* Sites of the page before that belong to the function now, because they are after its
 * start. */
void trace_code_call_page(struct trace_code *c, uint64_t pc)
{
    struct trace_page *page = find_page(c, pc);
    if (!page || !trace_code_add_target(c, page->binary, pc - page->bias))
        return;
    for (size_t i = pc / 2 % TRACE_PAGE_SITES; i < TRACE_PAGE_SITES; i++) {
        uint64_t at = (pc >> TRACE_PAGE_SHIFT << TRACE_PAGE_SHIFT) + i * 2;
        if (page->sites[i].length)
            fill_site(c, page->binary, at - page->bias, &page->sites[i]);
    }
}

/* RAM begins at 2 GiB. */
#define RAM_START 0x80000000u
#define RAM_END 0x100000000u

static const struct trace_site *unknown_site(const struct trace_code *c, uint64_t pc)
{
    bool physical = pc < TRACE_BOOT_END || (pc >= RAM_START && pc < RAM_END);
    if (pc >> 63)
        return &c->unknown[TRACE_UNKNOWN_KERNEL];
    if (c->in_firmware || physical)
        return &c->unknown[TRACE_UNKNOWN_FIRMWARE];
    return &c->unknown[TRACE_UNKNOWN_USER];
}

const struct trace_site *trace_code_find(struct trace_code *c, uint64_t pc)
{
    struct trace_page *page = find_page(c, pc);
    if (!page)
        return unknown_site(c, pc);
    struct trace_site *s = &page->sites[pc / 2 % TRACE_PAGE_SITES];
    if (s->length == 0) {
        if (!trace_segment_at(trace_code_binary(c, page->binary), pc - page->bias))
            return unknown_site(c, pc);
        fill_site(c, page->binary, pc - page->bias, s);
    }
    return s;
}

const struct trace_site *trace_code_find_beside(struct trace_code *c, uint64_t pc,
                                                const struct trace_site *from,
                                                struct trace_site *scratch)
{
    const struct trace_site *site = trace_code_find(c, pc);
    uint32_t binary = c->functions[trace_site_function(c, from)].binary;
    if (!binary || c->functions[trace_site_function(c, site)].binary == binary)
        return site;
    struct trace_where where = trace_code_where_in(c, pc, binary);
    if (!where.binary)
        return site;
    fill_site(c, binary, pc - where.bias, scratch);
    return scratch;
}

/* Whether the file has the same instruction at that address. */
static void compare(struct trace_code *c, struct trace_where where, uint64_t pc,
                    const struct trace_site *site)
{
    struct trace_known *k = &c->known[where.binary];
    const struct trace_segment *s = trace_segment_at(k->binary, pc - where.bias);
    uint32_t bits;
    if (!s || !trace_segment_bits(s, pc - where.bias, &bits))
        return;
    if (site->length == 2)
        bits &= 0xffff;
    k->described++;
    k->differing += bits != site->bits;
}

static bool is_call(const struct trace_site *s)
{
    return instruction_is_call((enum instruction_kind)s->kind) ||
           (s->flags & TRACE_SITE_LINKS);
}

/* Programs may be at the same addresses; no address has this many bits. */
static uint64_t call_key(uint64_t behind, uint32_t binary)
{
    return behind ^ (uint64_t)binary << 44;
}

void trace_code_describe(struct trace_code *c, uint64_t pc, uint32_t bits,
                         struct trace_where where, struct trace_site *site)
{
    *site = (struct trace_site){.kind = INSTRUCTION_UNKNOWN};
    fill_instruction(c, site, bits);
    if (where.binary) {
        compare(c, where, pc, site);
        fill_location(c, where.binary, pc - where.bias, site);
    } else {
        site->location = unknown_site(c, pc)->location;
    }
    if (!is_call(site))
        return;
    uint64_t *call =
        idmap_put(&c->calls, c->arena, call_key(pc + site->length, where.binary));
    if (call)
        *call = site->location;
}

trace_location_id trace_code_call_before(struct trace_code *c, uint64_t pc,
                                         uint32_t binary)
{
    const uint64_t *known = idmap_find(&c->calls, call_key(pc, binary));
    if (known)
        return (trace_location_id)*known;
    for (uint64_t length = 4; length >= 2; length -= 2) {
        const struct trace_site *s = trace_code_find(c, pc - length);
        if (s->length == length && is_call(s) &&
            c->functions[trace_site_function(c, s)].binary == binary)
            return s->location;
    }
    return 0;
}

/* --- Beginning and end ------------------------------------------------------------- */

static bool add_unknown(struct trace_code *c)
{
    static const char *const names[] = {"[user]", "[firmware]", "[kernel]"};
    for (unsigned i = 0; i < 3; i++) {
        trace_function_id f =
            add_function(c, (struct trace_function){.name = str_of(names[i]),
                                                    .flags = TRACE_FUNCTION_UNKNOWN});
        if (f != TRACE_UNKNOWN_USER + i)
            return false;
        c->unknown[f] = (struct trace_site){.kind = INSTRUCTION_UNKNOWN,
                                            .length = 2,
                                            .location = c->functions[f].location};
    }
    return true;
}

bool trace_code_init(struct trace_code *c, struct arena *arena,
                     const struct trace_binary *binaries, size_t count)
{
    *c = (struct trace_code){.arena = arena};
    c->known = arena_grow(arena, NULL, &c->known_cap, count + 1, sizeof *c->known);
    c->functions = arena_grow(arena, NULL, &c->function_cap, 64, sizeof *c->functions);
    if (!c->known || !c->functions || !trie_init(&c->locations, arena))
        return false;
    c->known[0] = (struct trace_known){.binary = NULL};
    c->known_count = 1;
    c->functions[0] = (struct trace_function){.name = STR("")};
    c->function_count = 1;
    for (size_t i = 0; i < count; i++)
        if (!trace_code_add(c, &binaries[i]))
            return false;
    trace_code_share(c);
    return add_unknown(c);
}

void trace_code_deinit(struct trace_code *c)
{
    for (size_t i = 1; i < c->known_count; i++)
        if (c->known[i].has_reader)
            dwarf_reader_deinit(&c->known[i].reader);
}
