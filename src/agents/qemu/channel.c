/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/qemu/channel.h"
#include "agents/qemu/writer.h"
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct channel *channel;

bool channel_init(void)
{
    int flags = MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | (channel ? MAP_FIXED : 0);
    void *memory =
        mmap(channel, sizeof(struct channel), PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    channel = memory;
    channel->blocks.bytes = channel->block_bytes;
    channel->blocks.size = BLOCK_FEED_SIZE;
    channel->maps.bytes = channel->map_bytes;
    channel->maps.size = MAP_FEED_SIZE;
    return true;
}

/* Not FUTEX_PRIVATE: two processes use it. */
static void futex_wait(_Atomic uint32_t *word, uint32_t seen)
{
    struct timespec most = {.tv_nsec = CHANNEL_TICK_NS};
    syscall(SYS_futex, word, FUTEX_WAIT, seen, &most, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void channel_ring_bell(void)
{
    atomic_fetch_add(&channel->bell, 1);
    futex_wake(&channel->bell);
}

void channel_await_bell(uint32_t heard)
{
    futex_wait(&channel->bell, heard);
}

void channel_await_tail(_Atomic uint32_t *tail, uint32_t seen,
                        _Atomic uint32_t *is_awaited)
{
    channel_ring_bell();
    atomic_store(is_awaited, 1);
    futex_wait(tail, seen);
    if (atomic_load(tail) == seen && writer_is_gone())
        atomic_store(&channel->is_failed, 1);
}

void channel_move_tail(_Atomic uint32_t *tail, uint32_t to, _Atomic uint32_t *is_awaited)
{
    atomic_store(tail, to);
    if (atomic_exchange(is_awaited, 0))
        futex_wake(tail);
}

static uint32_t feed_copy(struct feed *f, uint32_t at, const void *from, size_t size)
{
    size_t offset = at & (f->size - 1);
    size_t first = size < f->size - offset ? size : f->size - offset;
    memcpy(f->bytes + offset, from, first);
    memcpy(f->bytes, (const char *)from + first, size - first);
    return at + (uint32_t)size;
}

void feed_put(struct feed *f, const void *head, size_t head_size, const void *body,
              size_t body_size)
{
    static const char zeros[4];
    size_t pad = -body_size & 3, size = head_size + body_size + pad;
    uint32_t at = atomic_load_explicit(&f->head, memory_order_relaxed);
    for (;;) {
        uint32_t tail = atomic_load_explicit(&f->tail, memory_order_acquire);
        if (atomic_load(&channel->is_failed))
            return;
        if (f->size - (at - tail) >= size)
            break;
        channel_await_tail(&f->tail, tail, &f->is_awaited);
    }
    at = feed_copy(f, at, head, head_size);
    at = feed_copy(f, at, body, body_size);
    at = feed_copy(f, at, zeros, pad);
    atomic_store_explicit(&f->head, at, memory_order_release);
}
