/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include <stdlib.h>

#define CHUNK_FIRST (16u << 10)
#define CHUNK_LARGEST (2u << 20) /* including its header */
/* pieces of at least this size get a block of their own */
#define BLOCK_SMALLEST (32u << 10)

struct arena_chunk {
    struct arena_chunk *older;
    size_t size; /* including the header */
};

struct arena_block {
    struct arena_block *newer, *older;
    size_t size;
    size_t pad; /* keeps the bytes after the header aligned to 16 */
};

/* --- Blocks ------------------------------------------------------------------------ */

/* SIZE_MAX: malloc serves all sizes */
static struct arena_source source = {.min_size = SIZE_MAX};

void arena_set_source(const struct arena_source *from)
{
    source = *from;
}

/* Zeroed memory comes from calloc, because fresh pages of the system are zero already.
 * Sizes include the header. */
static void *block_new(size_t size, bool zeroed)
{
    if (size >= source.min_size)
        return source.allocate(size);
    return zeroed ? calloc(1, size) : malloc(size);
}

static void block_free(void *block, size_t size)
{
    if (size >= source.min_size)
        source.free(block, size);
    else
        free(block);
}

/* Grows a block. Returns NULL when out of memory; the old block then stays valid. */
static struct arena_block *block_more(struct arena_block *b, size_t size)
{
    size_t before = sizeof *b + b->size;
    if (before >= source.min_size)
        return source.resize(b, before, size);
    if (size < source.min_size)
        return realloc(b, size);
    struct arena_block *moved = source.allocate(size);
    if (moved) {
        memcpy(moved, b, before);
        free(b);
    }
    return moved;
}

/* --- Limit per thread ------------------------------------------------------------- */

/* WebAssembly has one thread. Native code uses the compiler's default TLS model,
 * because an agent is loaded late into other processes, which have no static TLS left. */
#ifdef __wasm__
#define OF_THREAD
#else
#define OF_THREAD _Thread_local
#endif

static OF_THREAD struct arena_bound *bound;

struct arena_bound *arena_count_in(struct arena_bound *to)
{
    struct arena_bound *before = bound;
    bound = to;
    return before;
}

static bool within_limit(uint64_t more)
{
    if (!bound || (more < INT64_MAX / 2 && bound->held + (int64_t)more <= bound->most))
        return true;
    bound->refused = true;
    return false;
}

static void count_held(struct arena *a, size_t before, size_t now)
{
    a->total += now - before;
    if (bound)
        bound->held += (int64_t)now - (int64_t)before;
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
    if (size < SIZE_MAX - sizeof *b && within_limit(size))
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
    if (size < SIZE_MAX - sizeof *old && within_limit(size - before))
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
    struct arena_chunk *c = within_limit(size) ? block_new(size, false) : NULL;
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
    /* a size of 0 still gets an address of its own */
    size = (size + !size + 7) & ~(size_t)7;
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

void *arena_enlarge(struct arena *a, void *items, size_t *cap, size_t count, size_t size)
{
    if (a->failed || count > SIZE_MAX / 4 / size)
        return arena_fail(a);
    size_t room = *cap * 2 > count ? *cap * 2 : count;
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
