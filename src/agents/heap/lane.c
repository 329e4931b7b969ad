/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/heap/lane.h"
#include "agents/heap/code_maps.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#if __has_include(<sys/single_threaded.h>) /* glibc 2.32 */
#include <sys/single_threaded.h>
#define SINGLE_THREADED
#endif

/* Room that is left free for signal handlers that interrupt a record. */
#define MARGIN (4 * (uint64_t)HEAP_RECORD_MAX)

/* The time that a full lane waits for the collector. If the collector reads nothing in that time,
 * the lane does not wait again until the collector reads. */
#define WAIT_NS 200000
#define WAIT_SECONDS 10

/* After chroot, the file cannot be opened again: that is tried after twice as many records
 * each time, up to 2 to the power of this number. */
#define SKIPS_MAX_LOG 20

struct heap_shared *heap_shared;

struct thread_lane {
    struct heap_lane *lane; /* NULL: none yet */
    char *ring;             /* mapped twice */
    uint64_t reserved;      /* bytes reserved for records; some may be incomplete */
    uint64_t limit;         /* of `reserved`, from the last known tail */
    uint64_t stalled_at;    /* the tail where waiting was given up, + 1 */
    uint32_t generation;
    uint32_t depth; /* records being written: more than one in signal handlers */
    uint32_t failures, skips; /* of mapping a lane; records until the next attempt */
    bool is_starting;         /* a lane is being claimed */
    bool gave_up;             /* no lane was free in time: no more waiting for one */
};

static __thread struct thread_lane own;

/* The page of `alive` is zeroed in the child of a fork. */
static uint32_t *alive;
static uint32_t generation;
static uint32_t process;
static bool is_confined, is_ended;

void lane_confine(void)
{
    __atomic_store_n(&is_confined, true, __ATOMIC_RELEASE);
}

void lane_end(void)
{
    lane_confine();
    __atomic_store_n(&is_ended, true, __ATOMIC_RELEASE);
}

bool lane_is_confined(void)
{
    return __atomic_load_n(&is_confined, __ATOMIC_ACQUIRE);
}

/* --- The shared memory ------------------------------------------------------------- */

static void *map_shared(int fd, void *at, uint64_t offset, uint64_t size)
{
    long address = syscall(SYS_mmap, at, size, PROT_READ | PROT_WRITE,
                           MAP_SHARED | (at ? MAP_FIXED : 0), fd, offset);
    return address == -1 ? NULL : (void *)address; /* NOLINT(performance-no-int-to-ptr) */
}

static void *map_private(uint64_t size)
{
    long address = syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return address == -1 ? NULL : (void *)address; /* NOLINT(performance-no-int-to-ptr) */
}

/* The program may close the file at any time, so it is opened for each lane. If the file
 * has no path that this process may open, all of it is mapped once, and `path` is empty. */
static char path[64];

static int open_shared(void)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
}

/* The mappings of lanes, by their numbers. They remain when a thread ends, and are those
 * of the same lanes in the child of a fork. Only the thread that has claimed a lane uses
 * its element. */
static char *rings[HEAP_LANES];

#define RING_SIZE (2 * HEAP_LANE_SIZE + sizeof(struct lane_private))

static bool map_lane(char *ring, uint64_t offset)
{
    int fd = open_shared();
    bool is_mapped = fd >= 0 && map_shared(fd, ring, offset, HEAP_LANE_SIZE) &&
                     map_shared(fd, ring + HEAP_LANE_SIZE, offset, HEAP_LANE_SIZE);
    if (fd >= 0)
        syscall(SYS_close, fd);
    return is_mapped;
}

/* An old size of 0 makes another mapping of the same shared memory (mremap(2)). */
static bool map_lane_again(char *ring, uint64_t offset)
{
    char *lane = (char *)heap_shared + offset;
    for (int i = 0; i < 2; i++)
        if (syscall(SYS_mremap, lane, 0, HEAP_LANE_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED,
                    ring + i * HEAP_LANE_SIZE) == -1)
            return false;
    return true;
}

static char *map_ring(uint64_t index)
{
    uint64_t offset = HEAP_LANES_AT + index * HEAP_LANE_SIZE;
    char *ring = map_private(RING_SIZE);
    bool is_mapped =
        ring && (path[0] ? map_lane(ring, offset) : map_lane_again(ring, offset));
    if (!is_mapped && ring)
        syscall(SYS_munmap, ring, RING_SIZE);
    return is_mapped ? ring : NULL;
}

static char *ring_of(uint64_t index)
{
    if (rings[index])
        madvise(rings[index] + 2 * HEAP_LANE_SIZE, sizeof(struct lane_private),
                MADV_DONTNEED);
    else
        rings[index] = map_ring(index);
    return rings[index];
}

static void pause_for(long nanoseconds)
{
    syscall(SYS_nanosleep, &(struct timespec){0, nanoseconds}, NULL);
}

static uint64_t seconds(void)
{
    struct timespec now = {0, 0};
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec;
}

/* --- Records ----------------------------------------------------------------------- */

/* Whether no other thread of the process runs. */
static inline bool is_alone(void)
{
#ifdef SINGLE_THREADED
    return __libc_single_threaded;
#else
    return false;
#endif
}

static inline uint64_t when(unsigned kind)
{
    struct timespec now;
    uint64_t time;
    if (__builtin_expect(heap_shared->has_ticks, 1)) {
        time = is_alone() ? heap_ticks_unordered() : heap_ticks();
    } else {
        clock_gettime(CLOCK_MONOTONIC, &now);
        time = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    }
    return (time - heap_shared->started) << HEAP_KIND_BITS | kind;
}

static bool fits(uint64_t need)
{
    return own.reserved + need + MARGIN * (own.depth == 0) <= own.limit;
}

static uint64_t read_tail(void)
{
    uint64_t tail = __atomic_load_n(&own.lane->tail, __ATOMIC_ACQUIRE);
    own.limit = tail + HEAP_LANE_SIZE;
    return tail;
}

static bool wait_for_room(uint64_t need, uint64_t tail)
{
    uint64_t since = seconds();
    for (int i = 1; !heap_shared->is_closed; i++) {
        pause_for(WAIT_NS);
        uint64_t before = tail;
        tail = read_tail();
        if (fits(need))
            return true;
        if (tail != before)
            since = seconds();
        bool is_gone = i % 64 == 0 && syscall(SYS_kill, heap_shared->collector, 0) != 0 &&
                       errno == ESRCH;
        if (is_gone || seconds() - since > WAIT_SECONDS)
            break;
    }
    own.stalled_at = tail + 1;
    return false;
}

/* The slow path of begin. Does not wait in a signal handler that interrupted a record.
 * errno remains what it was. */
static __attribute__((noinline)) bool finds_room(uint64_t need)
{
    uint64_t tail = read_tail();
    if (fits(need))
        return true;
    if (own.depth || own.stalled_at == tail + 1 || lane_is_confined())
        return false;
    int before = errno;
    bool is_found = wait_for_room(need, tail);
    errno = before;
    return is_found;
}

/* An addition that a signal handler cannot interrupt. */
static uint64_t reserve(uint64_t need)
{
    uint64_t at = need;
    __asm__ volatile("xaddq %0, %1" : "+r"(at), "+m"(own.reserved) : : "memory");
    return at;
}

/* Reserves the bytes of a record. Returns NULL if the buffer is full. */
static char *begin(uint64_t need)
{
    if (__builtin_expect(!fits(need), 0) && !finds_room(need)) {
        if (!heap_shared->is_closed)
            __atomic_fetch_add(&own.lane->lost, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    own.depth++;
    __atomic_store_n(&own.lane->is_busy, 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return own.ring + (reserve(need) & (HEAP_LANE_SIZE - 1));
}

/* Only the outermost record publishes: those of signal handlers follow it. A signal
 * between the stores is found by the comparison. */
static void publish(void)
{
    while (own.depth == 1) {
        __atomic_store_n(&own.lane->head, own.reserved, __ATOMIC_RELEASE);
        __atomic_store_n(&own.lane->is_busy, 0, __ATOMIC_RELEASE);
        own.depth = 0;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        if (own.lane->head == __atomic_load_n(&own.reserved, __ATOMIC_RELAXED))
            return;
        own.depth = 1;
    }
    own.depth--;
}

static size_t copy_memory(char *to, const struct lane_record *r)
{
    if (!r->is_guarded) {
        if (r->copied_size)
            memcpy(to, (const void *)(uintptr_t)r->copied, r->copied_size);
        return r->copied_size;
    }
    if (lane_is_confined())
        return 0;
    struct iovec into = {to, r->copied_size},
                 from = {(void *)(uintptr_t)r->copied, r->copied_size};
    long got = syscall(SYS_process_vm_readv, process, &into, 1, &from, 1, 0);
    return got > 0 ? (size_t)got : 0;
}

/* Puts a record into the thread's lane. */
static bool put_record(const struct lane_record *r)
{
    uint64_t need =
        (sizeof(struct heap_record) + r->fixed_size + r->copied_size + 7) & ~(uint64_t)7;
    char *to = begin(need);
    if (!to)
        return false;
    struct heap_record head = {.when = when(r->kind),
                               .length = (uint32_t)need,
                               .flags = r->flags,
                               .address = r->address,
                               .size = r->size};
    size_t before = sizeof head + r->fixed_size;
    memcpy(to, &head, sizeof head);
    if (r->fixed_size)
        memcpy(to + sizeof head, r->fixed, r->fixed_size);
    size_t copied = copy_memory(to + before, r);
    if (before + copied < need)
        memset(to + before + copied, 0, need - before - copied);
    publish();
    return true;
}

/* --- Claiming ---------------------------------------------------------------------- */

static struct heap_lane *claim_any(uint64_t *index)
{
    for (uint64_t i = 0; i < HEAP_LANES; i++) {
        uint32_t expected = HEAP_LANE_FREE;
        struct heap_lane *lane = &heap_shared->lanes[i];
        if (__atomic_load_n(&lane->state, __ATOMIC_RELAXED) == HEAP_LANE_FREE &&
            __atomic_compare_exchange_n(&lane->state, &expected, HEAP_LANE_CLAIMED, false,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            *index = i;
            return lane;
        }
    }
    return NULL;
}

static void put_thread_name(void)
{
    char name[24] = "";
    syscall(SYS_prctl, PR_GET_NAME, name);
    put_record(&(struct lane_record){
        .kind = HEAP_THREAD, .address = own.lane->tid, .fixed = name, .fixed_size = 16});
}

/* The collector frees the lanes of ended threads: waits for one, but only once. */
static struct heap_lane *claim_in_time(uint64_t *index)
{
    struct heap_lane *lane = claim_any(index);
    uint64_t since = lane || own.gave_up ? 0 : seconds();
    while (!lane && !own.gave_up && !heap_shared->is_closed) {
        pause_for(WAIT_NS);
        lane = claim_any(index);
        own.gave_up = !lane && seconds() - since > WAIT_SECONDS;
    }
    return lane;
}

static bool claim(void)
{
    uint64_t index = 0;
    struct heap_lane *lane = claim_in_time(&index);
    char *ring = lane ? ring_of(index) : NULL;
    if (!ring) {
        if (lane)
            __atomic_store_n(&lane->state, HEAP_LANE_FREE, __ATOMIC_RELEASE);
        if (own.failures < SKIPS_MAX_LOG)
            own.failures++;
        own.skips = lane ? (uint32_t)1 << own.failures : 0;
        return false;
    }
    lane->pid = process;
    lane->tid = (uint32_t)syscall(SYS_gettid);
    lane->claimed = __atomic_fetch_add(&heap_shared->claims, 1, __ATOMIC_RELAXED);
    lane->head = lane->tail = lane->lost = lane->is_busy = 0;
    own.lane = lane;
    own.ring = ring;
    own.reserved = own.stalled_at = 0;
    own.limit = HEAP_LANE_SIZE;
    own.depth = 0;
    __atomic_store_n(&lane->state, HEAP_LANE_USED, __ATOMIC_RELEASE);
    put_thread_name();
    return true;
}

/* Threads that are claiming a lane. */
static unsigned claiming;

static __attribute__((noinline)) bool finds_lane(void)
{
    if (own.generation != generation)
        own = (struct thread_lane){.generation = generation};
    if (own.lane)
        return true;
    if (own.is_starting || lane_is_confined())
        return false;
    if (own.skips) {
        own.skips--;
        return false;
    }
    int before = errno;
    own.is_starting = true;
    __atomic_fetch_add(&claiming, 1, __ATOMIC_SEQ_CST);
    bool is_claimed = claim();
    __atomic_fetch_sub(&claiming, 1, __ATOMIC_SEQ_CST);
    own.is_starting = false;
    errno = before;
    return is_claimed;
}

/* Whether the thread has a lane; claims one if it has none. errno remains what it was. */
static bool has_lane(void)
{
    if (__builtin_expect(own.generation == generation && own.lane, 1))
        return true;
    if (finds_lane())
        return true;
    __atomic_fetch_add(&heap_shared->lost, 1, __ATOMIC_RELAXED);
    return false;
}

bool lane_put(const struct lane_record *r)
{
    int before = errno;
    bool is_put = has_lane() && put_record(r);
    errno = before;
    return is_put;
}

void lane_put_short(enum heap_record_kind kind, uint64_t second, uint64_t size)
{
    bool is_long = kind == HEAP_ALLOCATED;
    uint64_t *to = has_lane() ? (uint64_t *)(void *)begin(is_long ? 24 : 16) : NULL;
    if (to) {
        to[0] = when(kind);
        to[1] = second;
        if (is_long)
            to[2] = size;
        publish();
    }
}

struct lane_private *lane_private(void)
{
    return has_lane() ? (struct lane_private *)(void *)(own.ring + 2 * HEAP_LANE_SIZE)
                      : NULL;
}

/* --- The process ------------------------------------------------------------------- */

static void announce(uint32_t parent)
{
    lane_put(&(struct lane_record){
        .kind = HEAP_PROCESS, .address = parent, .size = code_maps_space()});
    code_maps_put();
}

static void after_fork(void)
{
    int before = errno;
    uint32_t parent = process;
    *alive = 1;
    generation++;
    process = (uint32_t)syscall(SYS_getpid);
    code_maps_forked();
    announce(parent);
    errno = before;
}

uint32_t lane_generation(void)
{
    return generation;
}

bool lane_is_on(void)
{
    if (!heap_shared || __atomic_load_n(&heap_shared->is_closed, __ATOMIC_RELAXED) ||
        __atomic_load_n(&is_ended, __ATOMIC_RELAXED))
        return false;
    if (!*alive && lane_is_confined())
        return false;
    if (!*alive)
        after_fork();
    return true;
}

static bool is_valid(const struct heap_shared *shared)
{
    return shared && shared->magic == HEAP_MAGIC && shared->size == sizeof *shared &&
           !shared->is_closed;
}

static bool begin_process(struct heap_shared *shared)
{
    if (!alive)
        alive = map_private(4096);
    if (!alive)
        return false;
    madvise(alive, 4096, MADV_WIPEONFORK);
    *alive = 1;
    process = (uint32_t)syscall(SYS_getpid);
    heap_shared = shared;
    __atomic_store_n(&generation, generation + 1, __ATOMIC_RELEASE);
    code_maps_start();
    announce(0);
    return true;
}

void lane_start(void)
{
    const char *value = getenv(HEAP_VARIABLE);
    size_t length = value ? strlen(value) : 0;
    if (length == 0 || length >= sizeof path)
        return;
    memcpy(path, value, length + 1);
    int fd = open_shared();
    struct heap_shared *shared = fd >= 0 ? map_shared(fd, NULL, 0, HEAP_LANES_AT) : NULL;
    if (fd >= 0)
        syscall(SYS_close, fd);
    if (is_valid(shared))
        begin_process(shared);
}

bool lane_is_used(void)
{
    return __atomic_load_n(&claiming, __ATOMIC_SEQ_CST) != 0 ||
           (heap_shared && !heap_shared->is_closed &&
            (syscall(SYS_kill, heap_shared->collector, 0) == 0 || errno != ESRCH));
}

struct heap_shared *lane_map(int fd)
{
    struct heap_shared *shared = map_shared(fd, NULL, 0, HEAP_SHARED_SIZE);
    if (is_valid(shared))
        return shared;
    if (shared)
        syscall(SYS_munmap, shared, HEAP_SHARED_SIZE);
    return NULL;
}

bool lane_attach(struct heap_shared *shared)
{
    path[0] = 0;
    memset(rings, 0, sizeof rings);
    return begin_process(shared);
}
