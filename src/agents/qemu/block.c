/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/qemu/block.h"
#include "agents/qemu/channel.h"
#include "agents/qemu/trigger.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/qemu_format.h"
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct arena memory;
static struct block **blocks; /* by id - 1 */
static uint32_t block_count;
static size_t block_cap;
static uint32_t *slots; /* ids by hash, 0 for none; open addressing */
static size_t slot_count;

void blocks_lock(void)
{
    pthread_mutex_lock(&lock);
}

void blocks_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

static bool compressed_may_trap(unsigned word)
{
    unsigned quadrant = word & 3, function = word >> 13;
    if (quadrant == 0)
        return function != 0; /* c.addi4spn */
    if (quadrant == 1)
        return false;                      /* constants, arithmetic, jumps */
    return function != 0 && function != 4; /* c.slli; c.mv, c.add, c.jr, c.jalr */
}

bool instruction_may_trap(const unsigned char *bytes, size_t size)
{
    if (size == 2)
        return compressed_may_trap(bytes[0] | (unsigned)bytes[1] << 8);
    switch (bytes[0] & 0x7f) {
    case 0x13: /* OP-IMM */
    case 0x1b: /* OP-IMM-32 */
    case 0x33: /* OP */
    case 0x3b: /* OP-32 */
    case 0x17: /* AUIPC */
    case 0x37: /* LUI */
    case 0x63: /* BRANCH */
    case 0x67: /* JALR */
    case 0x6f: /* JAL */
        return false;
    default:
        return true;
    }
}

static const unsigned char *draft_bytes(const struct block_draft *d, uint32_t index)
{
    return d->bytes + d->at[index];
}

static size_t draft_size(const struct block_draft *d, uint32_t index)
{
    return (index + 1 < d->count ? d->at[index + 1] : d->size) - d->at[index];
}

static uint64_t hash_of(uint64_t address, uint32_t map, const unsigned char *bytes,
                        uint32_t size)
{
    return hash_bytes(bytes, size) ^ hash_mix(address ^ HASH_A, map ^ HASH_B);
}

/* --- Contexts ---------------------------------------------------------------------- */

enum {
    REGISTER_RA = 1,
    REGISTER_SP = 2,
    REGISTER_S0 = 8,
    CONTEXT_REGISTERS =
        8, /* at least this many registers are a context; a function saves fewer */
};

/* A load or store of a register of 8 bytes. */
struct access {
    bool loads, stores;
    unsigned reg, base;
};

static struct access access_of(const struct block_draft *d, uint32_t index)
{
    const unsigned char *b = draft_bytes(d, index);
    unsigned low = b[0] | (unsigned)b[1] << 8, function = low >> 13;
    if (draft_size(d, index) == 2) {
        bool loads = (low & 3) == 2 && function == 3;  /* c.ldsp */
        bool stores = (low & 3) == 2 && function == 7; /* c.sdsp */
        return (struct access){loads, stores, loads ? low >> 7 & 31 : low >> 2 & 31,
                               REGISTER_SP};
    }
    unsigned high = b[2] | (unsigned)b[3] << 8;
    unsigned base = low >> 15 | (high & 15) << 1;
    bool is_double = (low >> 12 & 7) == 3;
    bool loads = (low & 0x7f) == 0x03 && is_double;
    bool stores = (low & 0x7f) == 0x23 && is_double;
    return (struct access){loads, stores, loads ? low >> 7 & 31 : high >> 4 & 31, base};
}

static bool is_of_kind(struct access a, bool loads)
{
    return (loads ? a.loads : a.stores) && a.base == REGISTER_SP;
}

/* The stack pointer is copied to or from another register, or exchanged with a CSR. A
 * copy in the frame pointer (s0) is not another stack. */
static bool moves_stack(const struct block_draft *d, uint32_t index)
{
    const unsigned char *b = draft_bytes(d, index);
    unsigned low = b[0] | (unsigned)b[1] << 8;
    unsigned to = low >> 7 & 31, from = low >> 2 & 31;
    bool is_move = draft_size(d, index) == 2 && (low & 0xf003) == 0x8002 && from != 0;
    if (draft_size(d, index) == 4) {
        unsigned high = b[2] | (unsigned)b[3] << 8;
        from = low >> 15 | (high & 15) << 1;
        is_move = (low & 0x707f) == 0x0013 && high >> 4 == 0;
        if ((low & 0x707f) == 0x1073) /* csrrw */
            return to == REGISTER_SP;
    }
    return is_move && (to == REGISTER_SP) != (from == REGISTER_SP) && to != REGISTER_S0 &&
           from != REGISTER_S0;
}

/* Whether the block loads or stores as many registers at the stack pointer as a
 * context has, and one of them is a register that functions do not save, or the stack
 * pointer is changed. */
static bool has_context(const struct block_draft *d, bool loads)
{
    uint32_t seen = 0, preserved = UINT32_C(0x0ffc0306); /* ra, sp, s0 to s11 */
    bool moves = false;
    if (d->count == 1)
        return true; /* QEMU makes blocks of single instructions: -singlestep */
    for (uint32_t i = 0; i < d->count; i++) {
        struct access a = access_of(d, i);
        if (is_of_kind(a, loads))
            seen |= UINT32_C(1) << a.reg;
        moves |= moves_stack(d, i);
    }
    return __builtin_popcount(seen) >= CONTEXT_REGISTERS &&
           ((seen & ~preserved) || moves);
}

enum block_context block_context_at(const struct block_draft *d, uint32_t index)
{
    struct access a = access_of(d, index);
    if (!a.loads && !a.stores)
        return CONTEXT_NONE;
    bool is_one =
        a.reg == REGISTER_SP ||
        (a.reg == REGISTER_RA && a.base == REGISTER_SP && has_context(d, a.loads));
    if (!is_one)
        return CONTEXT_NONE;
    return a.loads ? CONTEXT_LOAD : CONTEXT_SAVE;
}

/* The slot of the id of a block, or a free slot for it. */
static uint32_t *slot_of(const struct block_draft *d)
{
    size_t mask = slot_count - 1;
    for (size_t at = hash_of(d->address, d->map, d->bytes, d->size);; at++) {
        uint32_t *slot = &slots[at & mask];
        if (!*slot)
            return slot;
        const struct block *b = blocks[*slot - 1];
        if (b->address == d->address && b->map == d->map && b->size == d->size &&
            memcmp(b->bytes, d->bytes, d->size) == 0)
            return slot;
    }
}

/* Makes sure that at least half of the slots are free, and that there is room for one
 * more block. */
static bool make_room(void)
{
    if (!ARRAY_RESERVE(&memory, blocks, block_cap, block_count + 1))
        return false;
    if (2 * ((size_t)block_count + 1) <= slot_count)
        return true;
    size_t count = slot_count ? 2 * slot_count : 4096;
    uint32_t *larger = arena_zalloc(&memory, count, sizeof *larger);
    if (!larger)
        return false;
    for (uint32_t i = 0; i < block_count; i++) {
        const struct block *b = blocks[i];
        size_t at = hash_of(b->address, b->map, b->bytes, b->size);
        while (larger[at & (count - 1)])
            at++;
        larger[at & (count - 1)] = b->id;
    }
    arena_release(&memory, slots, slot_count * sizeof *slots);
    slots = larger;
    slot_count = count;
    return true;
}

static bool find_marks(struct block *b, const struct block_draft *d)
{
    struct block_mark found[BLOCK_INSTRUCTIONS];
    for (uint32_t i = 0; i < d->count; i++) {
        uint32_t on;
        if (trigger_turns(d->address + d->at[i], draft_bytes(d, i), draft_size(d, i),
                          &on))
            found[b->mark_count++] = (struct block_mark){i, on};
    }
    if (!b->mark_count)
        return true;
    struct block_mark *marks = arena_alloc(&memory, b->mark_count * sizeof *marks);
    if (!marks)
        return false;
    memcpy(marks, found, b->mark_count * sizeof *marks);
    b->marks = marks;
    b->whole = 0;
    return true;
}

static struct block *block_new(const struct block_draft *d)
{
    struct block *b = arena_alloc(&memory, sizeof *b + d->size);
    if (!b)
        return NULL;
    *b = (struct block){.address = d->address,
                        .id = block_count + 1,
                        .map = d->map,
                        .size = d->size,
                        .count = d->count,
                        .begin = d->count,
                        .whole = d->count};
    memcpy(b->bytes, d->bytes, d->size);
    for (uint32_t i = 0; i + 1 < d->count; i++)
        if (instruction_may_trap(draft_bytes(d, i), draft_size(d, i)))
            b->begin = 1;
    return find_marks(b, d) ? b : NULL;
}

static void describe(const struct block *b)
{
    struct {
        uint32_t id, map;
        uint64_t address;
        uint32_t size, count;
    } head = {b->id, b->map, b->address, b->size, b->count};
    _Static_assert(sizeof head == QEMU_TRACE_BLOCK_SIZE, "the size in the format");
    feed_put(&channel->blocks, &head, sizeof head, b->bytes, b->size);
}

static const struct block *find_or_make(const struct block_draft *d)
{
    if (!make_room())
        return NULL;
    uint32_t *slot = slot_of(d);
    if (*slot)
        return blocks[*slot - 1];
    if (block_count + 1 >= QEMU_RUN_PART)
        return NULL;
    struct block *b = block_new(d);
    if (!b)
        return NULL;
    blocks[block_count++] = b;
    *slot = b->id;
    describe(b);
    return b;
}

const struct block *block_of(const struct block_draft *draft)
{
    blocks_lock();
    const struct block *b = find_or_make(draft);
    blocks_unlock();
    return b;
}

void blocks_describe_again(void)
{
    for (uint32_t i = 0; i < block_count; i++)
        describe(blocks[i]);
}
