/* SPDX-License-Identifier: Apache-2.0 */
/* Functions without a symbol, found by the calls that lead to them. A stripped file
 * has few symbols, and a symbol without a size would include all code up to the next
 * symbol. */
#include "trace/code.h"

/* maximum size of a function */
#define TARGET_REACH ((uint64_t)1 << 20)

/* Files with more code or more segments are not searched: segments can overlap. */
#define CODE_MAX ((uint64_t)1 << 30)
#define SEGMENTS_MAX 256

enum { AUIPC = 0x17, WORD_BITS = 64 };

/* --- Bits --------------------------------------------------------------------------- */

/* The number of the segment that contains an address; segment_count: none does. */
static size_t segment_of(const struct trace_binary *b, uint64_t address)
{
    const struct trace_segment *s = trace_segment_at(b, address);
    return s ? (size_t)(s - b->segments) : b->segment_count;
}

/* Whether a symbol covers an address, or begins there. */
static bool has_symbol(const struct trace_binary *b, uint64_t address)
{
    uint32_t i = b->symbols ? ranges_find(&b->symbols->ranges, address) : RANGE_NONE;
    return i != RANGE_NONE &&
           (!b->symbols->entries[i].open || b->symbols->entries[i].address == address);
}

/* False if the bit was set before. */
static bool set_target(const struct trace_known *k, uint64_t address)
{
    const struct trace_binary *b = k->binary;
    size_t segment = segment_of(b, address);
    if (segment == b->segment_count || has_symbol(b, address))
        return false;
    uint64_t at = (address - b->segments[segment].start) / 2;
    uint64_t *word = &k->targets[segment].bits[at / WORD_BITS];
    uint64_t bit = (uint64_t)1 << at % WORD_BITS;
    bool is_new = !(*word & bit);
    *word |= bit;
    return is_new;
}

/* --- Calls in the code -------------------------------------------------------------- */

/* Whether the target of a jump and link only reads the PC from the link register. */
static bool reads_link(const struct trace_segment *s, uint64_t target, uint32_t link,
                       bool is_32)
{
    uint32_t bits;
    for (unsigned i = 0; i < TRACE_AHEAD_OF_LINK; i++) {
        if (target < s->start || !trace_segment_bits(s, target, &bits) ||
            instruction_decode(bits, is_32).kind != INSTRUCTION_PLAIN)
            return false;
        if (instruction_reads(bits, link))
            return true;
        target += instruction_length((uint16_t)bits);
    }
    return false;
}

/* The target of a call of one instruction, or of two (auipc, jalr). 0: not a call. */
static uint64_t target_of(const struct trace_segment *s, uint64_t pc, uint32_t bits,
                          uint32_t before, bool is_32)
{
    struct instruction in = instruction_decode(bits, is_32);
    uint32_t link = in.length == 2 ? 1 : bits >> 7 & 31;
    if (in.kind == INSTRUCTION_CALL) {
        uint64_t target = pc + (uint64_t)(int64_t)in.displacement;
        return reads_link(s, target, link, is_32) ? 0 : target;
    }
    bool is_pair = in.length == 4 && instruction_is_call(in.kind) &&
                   (before & 0x7f) == AUIPC && (before >> 7 & 31) == (bits >> 15 & 31);
    if (!is_pair)
        return 0;
    int64_t high = (int32_t)(before & 0xfffff000), low = (int32_t)bits >> 20;
    return pc - 4 + (uint64_t)(high + low);
}

static void sweep(const struct trace_known *k, const struct trace_segment *s, bool is_32)
{
    uint32_t bits, before = 0;
    for (uint64_t pc = s->start; trace_segment_bits(s, pc, &bits);) {
        unsigned length = instruction_length((uint16_t)bits);
        bool may_call = (bits & 0x77) == 0x67 || (is_32 && length == 2);
        uint64_t target = may_call ? target_of(s, pc, bits, before, is_32) : 0;
        if (target)
            set_target(k, target & ~(uint64_t)1);
        before = bits;
        pc += length;
    }
}

/* Searches all code for calls, once. False if out of memory. */
static bool find_targets(struct trace_code *c, struct trace_known *k)
{
    const struct trace_binary *b = k->binary;
    if (k->targets)
        return true;
    struct trace_targets *targets =
        arena_alloc(c->arena, (b->segment_count + 1) * sizeof *targets);
    for (size_t i = 0; targets && i < b->segment_count; i++) {
        uint64_t size = b->segments[i].end - b->segments[i].start;
        targets[i].bits = arena_zalloc(c->arena, (size_t)(size / 2 / WORD_BITS + 1),
                                       sizeof *targets[i].bits);
        if (!targets[i].bits)
            return false;
    }
    k->targets = targets;
    if (!targets)
        return false;
    set_target(k, b->entry);
    for (size_t i = 0; i < b->segment_count; i++)
        sweep(k, &b->segments[i], c->is_32);
    return true;
}

/* --- Queries ------------------------------------------------------------------------ */

/* Whether the code is searched for call targets. A kernel without a file has no code, and its
 * symbols are all functions. */
static bool is_searched(const struct trace_binary *b)
{
    uint64_t size = 0;
    if (b->segment_count == 0 || b->segment_count > SEGMENTS_MAX)
        return false;
    for (size_t i = 0; i < b->segment_count && size <= CODE_MAX; i++) {
        uint64_t more = b->segments[i].end - b->segments[i].start;
        size = more > CODE_MAX ? more : size + more;
    }
    return size <= CODE_MAX && b->segments[0].bytes.len > 0;
}

static struct trace_known *known_of(struct trace_code *c, uint32_t binary)
{
    struct trace_known *k = binary ? &c->known[binary] : NULL;
    return k && is_searched(k->binary) && find_targets(c, k) ? k : NULL;
}

bool trace_code_add_target(struct trace_code *c, uint32_t binary, uint64_t address)
{
    const struct trace_known *k = known_of(c, binary);
    return k && set_target(k, address);
}

/* The address of the last bit that is set up to `at`; 0 if that is below `low`. */
static uint64_t last_target(const struct trace_segment *s, const uint64_t *words,
                            uint64_t at, uint64_t low)
{
    uint64_t i = at / WORD_BITS;
    uint64_t word = words[i] & (~(uint64_t)0 >> (WORD_BITS - 1 - at % WORD_BITS));
    while (word == 0 && i > 0 && s->start + i * WORD_BITS * 2 > low)
        word = words[--i];
    if (word == 0)
        return 0;
    unsigned top = WORD_BITS - 1 - (unsigned)__builtin_clzll(word);
    uint64_t found = s->start + (i * WORD_BITS + top) * 2;
    return found >= low ? found : 0;
}

uint64_t trace_code_target(struct trace_code *c, uint32_t binary, uint64_t address)
{
    const struct trace_known *k = known_of(c, binary);
    const struct trace_binary *b = k ? k->binary : NULL;
    size_t segment = k ? segment_of(b, address) : 0;
    if (!k || segment == b->segment_count)
        return 0;
    const struct trace_segment *s = &b->segments[segment];
    uint64_t low = b->symbols ? ranges_start(&b->symbols->ranges, address) : 0;
    if (address > TARGET_REACH && low < address - TARGET_REACH)
        low = address - TARGET_REACH;
    return last_target(s, k->targets[segment].bits, (address - s->start) / 2, low);
}

/* --- Calls of several instructions --------------------------------------------------- */

#define LINK_AHEAD 32 /* ra is set in this number of bytes before the jump */

enum { LUI = 0x37, ADDI = 0x13, LOAD = 0x03, RA = 1 };

/* Whether an instruction can write ra, or branch before the jump. */
static bool disturbs_link(uint32_t bits, bool is_32)
{
    bool writes = (bits >> 7 & 31) == RA;
    if (instruction_length((uint16_t)bits) == 4) {
        uint32_t opcode = bits & 0x7f;
        writes = writes && opcode != 0x23 && opcode != 0x63; /* stores, branches */
    }
    return writes || instruction_decode(bits, is_32).kind != INSTRUCTION_PLAIN;
}

/* The value at an address of the file, in the global offset table of
 * position-independent code; 0 if it is unknown before linking. */
static uint64_t loaded_from(const struct trace_binary *b, uint64_t address, bool is_32)
{
    struct str bytes = b->elf ? elf_bytes_at(b->elf, address, is_32 ? 4 : 8) : STR("");
    uint64_t value = 0;
    for (size_t i = bytes.len; i-- > 0;)
        value = value << 8 | (unsigned char)bytes.ptr[i];
    return value;
}

/* Whether two instructions at `at` set ra to `expected`: auipc or lui, then addi or a
 * load from the global offset table. Returns the address after both; 0 if they do not. */
static uint64_t behind_link(const struct trace_binary *b, const struct trace_segment *s,
                            uint64_t at, uint64_t expected, bool is_32)
{
    uint32_t high, low;
    if (!trace_segment_bits(s, at, &high) || !trace_segment_bits(s, at + 4, &low) ||
        (high >> 7 & 31) != RA || ((high & 0x7f) != AUIPC && (high & 0x7f) != LUI))
        return 0;
    uint32_t width = is_32 ? 2 : 3, function = low >> 12 & 7;
    bool is_short = (low & 0xef83) == 0x0081; /* c.addi ra */
    bool on_ra = (low >> 7 & 31) == RA && (low >> 15 & 31) == RA;
    bool adds = on_ra && (low & 0x7f) == ADDI && function == 0;
    bool loads = on_ra && (low & 0x7f) == LOAD && function == width;
    int64_t more = (int32_t)low >> 20;
    if (is_short)
        more = (int64_t)(low >> 2 & 31) - (low & 0x1000 ? 32 : 0);
    uint64_t value = (uint64_t)((int64_t)(int32_t)(high & 0xfffff000) + more);
    if ((high & 0x7f) == AUIPC)
        value += at;
    if (loads) {
        value = loaded_from(b, value, is_32);
        value = value ? value : expected;
    }
    bool sets = (is_short || adds || loads) && value == expected;
    return sets ? at + (is_short ? 6 : 8) : 0;
}

bool trace_code_links(const struct trace_code *c, uint32_t binary, uint64_t address)
{
    const struct trace_binary *b = trace_code_binary(c, binary);
    const struct trace_segment *s = trace_segment_at(b, address);
    uint32_t bits;
    if (!s || !trace_segment_bits(s, address, &bits))
        return false;
    uint64_t expected = address + instruction_length((uint16_t)bits);
    for (uint64_t back = 6; back <= LINK_AHEAD && back <= address - s->start; back += 2) {
        uint64_t pc = behind_link(b, s, address - back, expected, c->is_32);
        if (!pc)
            continue;
        while (pc < address && trace_segment_bits(s, pc, &bits) &&
               !disturbs_link(bits, c->is_32))
            pc += instruction_length((uint16_t)bits);
        if (pc == address)
            return true;
    }
    return false;
}
