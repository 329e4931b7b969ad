/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include <stdlib.h>

#define CHUNK_FIRST (16u << 10)
#define CHUNK_LARGEST (2u << 20)   /* with its header */
#define BLOCK_SMALLEST (32u << 10) /* from here on a piece is a block of its own */

struct arena_chunk {
    struct arena_chunk *older;
    size_t size; /* the header's included */
};

struct arena_block {
    struct arena_block *newer, *older;
    size_t size;
    size_t pad; /* keeps the bytes behind the header aligned to 16 */
};

/* --- Blocks ------------------------------------------------------------------------ */

static struct arena_source source = {.least = SIZE_MAX}; /* else malloc */

void arena_take_from(const struct arena_source *from)
{
    source = *from;
}

/* Zeroed blocks are asked for as such: fresh pages of the system's are so already. The
 * sizes are with the header. */
static void *block_new(size_t size, bool zeroed)
{
    if (size >= source.least)
        return source.take(size);
    return zeroed ? calloc(1, size) : malloc(size);
}

static void block_free(void *block, size_t size)
{
    if (size >= source.least)
        source.give_back(block, size);
    else
        free(block);
}

/* Only to more. NULL when memory is short, and the block is as it was. */
static struct arena_block *block_more(struct arena_block *b, size_t size)
{
    size_t before = sizeof *b + b->size;
    if (before >= source.least)
        return source.resize(b, before, size);
    if (size < source.least)
        return realloc(b, size);
    struct arena_block *moved = source.take(size);
    if (moved) {
        memcpy(moved, b, before);
        free(b);
    }
    return moved;
}

/* --- The bound of a thread --------------------------------------------------------- */

/* WebAssembly has one thread. The model is the compiler's: an agent is loaded late into
 * other programs, which have no static thread storage left for it. */
#ifdef __wasm__
#define OF_THREAD
#else
#define OF_THREAD _Thread_local
#endif

static OF_THREAD struct {
    int64_t held, most;
    bool bounded, refused;
} bound;

int64_t arena_held(void)
{
    return bound.held;
}

void arena_allow(int64_t most)
{
    bound.bounded = most != INT64_MAX;
    bound.most = most;
    bound.refused &= bound.bounded;
}

bool arena_was_refused(void)
{
    return bound.refused;
}

/* Whether so much more may be held. */
static bool may_take(uint64_t more)
{
    if (!bound.bounded ||
        (more < INT64_MAX / 2 && bound.held + (int64_t)more <= bound.most))
        return true;
    bound.refused = true;
    return false;
}

static void count_held(struct arena *a, size_t before, size_t now)
{
    a->total += now - before;
    bound.held += (int64_t)now - (int64_t)before;
}

void arena_deinit(struct arena *a)
{
    count_held(a, a->total, 0);
    while (a->chunks) {
        struct arena_chunk *older = a->chunks->older;
        block_free(a->chunks, a->chunks->size);
        a->chunks = older;
    }
    while (a->blocks) {
        struct arena_block *older = a->blocks->older;
        block_free(a->blocks, sizeof *older + a->blocks->size);
        a->blocks = older;
    }
    *a = ARENA_INIT;
}

static void *arena_fail(struct arena *a)
{
    a->failed = true;
    return NULL;
}

static void block_link(struct arena *a, struct arena_block *b)
{
    b->newer = NULL;
    b->older = a->blocks;
    if (a->blocks)
        a->blocks->newer = b;
    a->blocks = b;
}

static void block_unlink(struct arena *a, struct arena_block *b)
{
    if (b->newer)
        b->newer->older = b->older;
    else
        a->blocks = b->older;
    if (b->older)
        b->older->newer = b->newer;
}

static void *block_alloc(struct arena *a, size_t size, bool zeroed)
{
    struct arena_block *b = NULL;
    if (size < SIZE_MAX - sizeof *b && may_take(size))
        b = block_new(sizeof *b + size, zeroed);
    if (!b)
        return arena_fail(a);
    b->size = size;
    block_link(a, b);
    count_held(a, 0, size);
    return b + 1;
}

static void *block_resize(struct arena *a, void *items, size_t size)
{
    struct arena_block *old = (struct arena_block *)items - 1, *moved = NULL;
    size_t before = old->size;
    block_unlink(a, old);
    if (size < SIZE_MAX - sizeof *old && may_take(size - before))
        moved = block_more(old, sizeof *old + size);
    block_link(a, moved ? moved : old);
    if (!moved)
        return arena_fail(a);
    moved->size = size;
    count_held(a, before, size);
    return moved + 1;
}

static bool chunk_add(struct arena *a)
{
    size_t size = a->chunks ? a->chunks->size * 2 : CHUNK_FIRST;
    if (size > CHUNK_LARGEST)
        size = CHUNK_LARGEST;
    struct arena_chunk *c = may_take(size) ? block_new(size, false) : NULL;
    if (!c)
        return arena_fail(a);
    *c = (struct arena_chunk){a->chunks, size};
    a->chunks = c;
    a->next = (char *)(c + 1);
    a->end = (char *)c + size;
    count_held(a, 0, size);
    return true;
}

void *arena_alloc(struct arena *a, size_t size)
{
    if (a->failed)
        return NULL;
    if (size >= BLOCK_SMALLEST)
        return block_alloc(a, size, false);
    size = (size + !size + 7) & ~(size_t)7; /* nothing has a place, too */
    while (size > (size_t)(a->end - a->next))
        if (!chunk_add(a))
            return NULL;
    void *piece = a->next;
    a->next += size;
    return piece;
}

void *arena_zalloc(struct arena *a, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / 2 / size)
        return arena_fail(a);
    if (count * size >= BLOCK_SMALLEST && !a->failed)
        return block_alloc(a, count * size, true);
    void *piece = arena_alloc(a, count * size);
    if (piece)
        memset(piece, 0, count * size);
    return piece;
}

void *arena_enlarge(struct arena *a, void *items, size_t *cap, size_t want, size_t size)
{
    if (a->failed || want > SIZE_MAX / 4 / size)
        return arena_fail(a);
    size_t room = *cap * 2 > want ? *cap * 2 : want;
    if (room < 16)
        room = 16;
    void *moved;
    if (items && *cap * size >= BLOCK_SMALLEST) {
        moved = block_resize(a, items, room * size);
    } else {
        moved = arena_alloc(a, room * size);
        if (moved && items)
            memcpy(moved, items, *cap * size);
    }
    if (moved)
        *cap = room;
    return moved;
}

void arena_release(struct arena *a, void *piece, size_t size)
{
    if (!piece || size < BLOCK_SMALLEST)
        return;
    struct arena_block *b = (struct arena_block *)piece - 1;
    block_unlink(a, b);
    count_held(a, b->size, 0);
    block_free(b, sizeof *b + b->size);
}

struct str arena_str(struct arena *a, struct str s)
{
    char *copy = s.len ? arena_alloc(a, s.len) : NULL;
    if (!copy)
        return STR("");
    memcpy(copy, s.ptr, s.len);
    return (struct str){copy, s.len};
}
