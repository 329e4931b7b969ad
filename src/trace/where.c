/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the binary at an address in unclear cases: by the executed bytes, or by the
 * order of addresses. */
#include "base/array.h"
#include "trace/code.h"

/* --- By the bytes ------------------------------------------------------------------ */

/* A binary is searched for at least this many bytes: shorter sequences can match by
 * coincidence. */
#define SEARCH_BYTES 12
#define SEARCHES_OF_PAGE 8
#define FOUND_MAX 4096
#define PAGE_BYTES ((uint64_t)4096)

static bool has_bytes(const struct trace_binary *b, uint64_t address, struct str bytes)
{
    const struct trace_segment *s = trace_segment_at(b, address);
    return s && s->bytes.len >= bytes.len &&
           address - s->start <= s->bytes.len - bytes.len &&
           memcmp(s->bytes.ptr + (address - s->start), bytes.ptr, bytes.len) == 0;
}

/* How often a segment contains the bytes, at as many bytes in a page; *address is the
 * first. */
static size_t search_segment(const struct trace_segment *s, uint64_t pc, struct str bytes,
                             uint64_t *address)
{
    size_t times = 0;
    uint64_t at = (pc - s->start) % PAGE_BYTES;
    for (; at + bytes.len <= s->bytes.len && times < 2; at += PAGE_BYTES) {
        if (memcmp(s->bytes.ptr + at, bytes.ptr, bytes.len) != 0)
            continue;
        if (times++ == 0)
            *address = s->start + at;
    }
    return times;
}

static bool may_search(struct trace_code *c, uint64_t pc, size_t count)
{
    uint64_t *times =
        count >= SEARCH_BYTES ? idmap_put(&c->searched, c->arena, pc / PAGE_BYTES) : NULL;
    return times && (*times)++ < SEARCHES_OF_PAGE;
}

/* Searches all pages of all binaries; a match that occurs twice is ignored. */
static struct trace_where search(struct trace_code *c, uint64_t pc, struct str bytes)
{
    struct trace_where where = {0, 0};
    size_t times = 0;
    uint64_t address;
    if (c->found_count == FOUND_MAX || !may_search(c, pc, bytes.len))
        return where;
    for (uint32_t i = 1; i < c->known_count && times < 2; i++) {
        const struct trace_binary *b = c->known[i].binary;
        for (size_t k = 0; k < b->segment_count && times < 2; k++) {
            size_t more = b->is_user && !b->moves
                              ? 0
                              : search_segment(&b->segments[k], pc, bytes, &address);
            if (more)
                where = (struct trace_where){i, pc - address};
            times += more;
        }
    }
    if (times != 1)
        return (struct trace_where){0, 0};
    struct trace_where *added =
        ARRAY_APPEND(c->arena, c->found, c->found_count, c->found_cap);
    if (added)
        *added = where;
    return where;
}

/* Binaries at the addresses of their files: of those with these bytes the one that was
 * found last. */
static struct trace_where match_fixed(const struct trace_code *c, uint64_t pc,
                                      struct str bytes, uint32_t *other)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < c->known_count; i++) {
        const struct trace_binary *b = c->known[i].binary;
        if (b->moves || !trace_segment_at(b, pc))
            continue;
        if (has_bytes(b, pc, bytes))
            best = best == 0 || i == c->last_user ? i : best;
        else if (!b->is_user && *other == 0)
            *other = i;
    }
    return (struct trace_where){best, 0};
}

static struct trace_where match(struct trace_code *c, uint64_t pc, struct str bytes)
{
    uint32_t other = 0;
    for (size_t i = c->placement_count; i-- > 0;) {
        const struct trace_placement *p = &c->placements[i];
        if (pc >= p->start && pc < p->end)
            return (struct trace_where){p->binary, p->bias};
    }
    struct trace_where where = match_fixed(c, pc, bytes, &other);
    for (size_t i = c->found_count; i-- > 0 && where.binary == 0;) {
        const struct trace_where *f = &c->found[i];
        if (has_bytes(c->known[f->binary].binary, pc - f->bias, bytes))
            where = *f;
    }
    if (where.binary == 0 && other == 0)
        where = search(c, pc, bytes);
    return where.binary ? where : (struct trace_where){other, 0};
}

struct trace_where trace_code_match(struct trace_code *c, uint64_t pc, struct str bytes)
{
    struct trace_where where = match(c, pc, bytes);
    if (where.binary && c->known[where.binary].binary->is_user)
        c->last_user = where.binary;
    return where;
}

struct trace_where trace_code_where_in(const struct trace_code *c, uint64_t pc,
                                       uint32_t binary)
{
    const struct trace_binary *b = binary ? c->known[binary].binary : NULL;
    for (size_t i = c->placement_count; b && i-- > 0;) {
        const struct trace_placement *p = &c->placements[i];
        if (p->binary == binary && pc >= p->start && pc < p->end)
            return (struct trace_where){binary, p->bias};
    }
    if (b && !b->moves && trace_segment_at(b, pc))
        return (struct trace_where){binary, 0};
    for (size_t i = c->found_count; b && i-- > 0;)
        if (c->found[i].binary == binary && trace_segment_at(b, pc - c->found[i].bias))
            return c->found[i];
    return (struct trace_where){0, 0};
}

/* --- Programs at one address ------------------------------------------------------- */

/* Maximum number of addresses that are examined ahead. */
#define AHEAD_MAX 48

static bool leads(const struct trace_site *s, uint64_t from, uint64_t to)
{
    bool at_target = to == from + (uint64_t)(int64_t)s->displacement;
    switch ((enum instruction_kind)s->kind) {
    case INSTRUCTION_PLAIN:
    case INSTRUCTION_ENVIRONMENT:
        return to == from + s->length;
    case INSTRUCTION_BRANCH:
        return to == from + s->length || at_target;
    case INSTRUCTION_JUMP:
    case INSTRUCTION_CALL:
        return at_target;
    case INSTRUCTION_UNKNOWN:
    case INSTRUCTION_TRAP_RETURN:
        return false;
    case INSTRUCTION_JUMP_REGISTER:
    case INSTRUCTION_CALL_REGISTER:
    case INSTRUCTION_RETURN:
    case INSTRUCTION_SWAP:
        return true;
    }
    return false;
}

/* The number of addresses from which the code of the program leads to the next
 * address. The program may end at any of them. */
static size_t follows(struct trace_code *c, uint32_t program, const uint64_t *pcs,
                      size_t count)
{
    size_t i = 0;
    c->program = program;
    if (!trace_code_where_in(c, pcs[0], program).binary)
        return 0;
    for (; i + 1 < count && i < AHEAD_MAX; i++) {
        if (!trace_code_is_shared(c, pcs[i + 1]))
            return AHEAD_MAX;
        if (!leads(trace_code_find(c, pcs[i]), pcs[i], pcs[i + 1]))
            return i;
    }
    return AHEAD_MAX;
}

void trace_code_choose(struct trace_code *c, const uint64_t *pcs, size_t count,
                       uint32_t before)
{
    uint32_t best = before;
    size_t most = before ? follows(c, before, pcs, count) : 0;
    for (uint32_t i = 1; i < c->known_count && most < AHEAD_MAX; i++) {
        const struct trace_binary *b = c->known[i].binary;
        size_t far = b->is_user && !b->moves ? follows(c, i, pcs, count) : 0;
        if (far > most) {
            best = i;
            most = far;
        }
    }
    c->program = best;
}

/* Where the segments of two programs overlap: from the first to the end of the last. */
static void find_shared(struct trace_code *c, const struct trace_binary *a,
                        const struct trace_binary *b)
{
    uint64_t start = c->shared_start, end = start + c->shared_size;
    for (size_t i = 0; i < a->segment_count; i++)
        for (size_t k = 0; k < b->segment_count; k++) {
            const struct trace_segment *x = &a->segments[i], *y = &b->segments[k];
            if (x->end <= y->start || y->end <= x->start)
                continue;
            uint64_t low = x->start < y->start ? x->start : y->start;
            uint64_t high = x->end > y->end ? x->end : y->end;
            start = c->shared_size == 0 || low < start ? low : start;
            end = c->shared_size == 0 || high > end ? high : end;
            c->shared_start = start;
            c->shared_size = end - start;
        }
}

void trace_code_share(struct trace_code *c)
{
    for (uint32_t i = 1; i < c->known_count; i++)
        for (uint32_t k = i + 1; k < c->known_count; k++) {
            const struct trace_binary *a = c->known[i].binary, *b = c->known[k].binary;
            if (a->is_user && b->is_user && !a->moves && !b->moves)
                find_shared(c, a, b);
        }
}
