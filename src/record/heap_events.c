/* SPDX-License-Identifier: Apache-2.0 */
/* The live bytes at the peak are found in one pass, as in import/heaptrack.c: when a
 * site's live bytes change for the first time after the largest peak so far, they are
 * saved with the number of that peak. */
#include "record/heap_events.h"
#include "base/array.h"
#include "base/hash.h"
#include "record/heap_rules.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RECORDER STR("/" HEAP_LIBRARY)
#define LATE_RECORDER STR("/" HEAP_LATE_LIBRARY)
#define PROCESSES_MOST 1000000

/* The slot of a block, if all were empty. */
static size_t home_of(const struct heap_blocks *b, uint64_t address)
{
    return hash_mix(address ^ HASH_A, HASH_B) & b->mask;
}

/* --- Records ------------------------------------------------------------------------ */

uint64_t heap_event_time(struct str bytes)
{
    uint64_t when;
    if (bytes.len < sizeof when)
        return 0;
    memcpy(&when, bytes.ptr, sizeof when);
    return when >> HEAP_KIND_BITS;
}

static size_t read_long(struct heap_entry *event, struct str bytes)
{
    struct heap_record head;
    if (bytes.len < sizeof head)
        return 0;
    memcpy(&head, bytes.ptr, sizeof head);
    if (head.length < sizeof head || head.length % 8 || head.length > bytes.len)
        return 0;
    event->flags = head.flags;
    event->stack = 0;
    event->address = head.address;
    event->size = head.size;
    event->payload = str_skip(str_head(bytes, head.length), sizeof head);
    return head.length;
}

size_t heap_event_read(struct heap_entry *event, struct str bytes)
{
    uint64_t words[3];
    if (bytes.len < 2 * sizeof *words)
        return 0;
    memcpy(words, bytes.ptr, 2 * sizeof *words);
    event->kind = words[0] & ((1U << HEAP_KIND_BITS) - 1);
    event->time = words[0] >> HEAP_KIND_BITS;
    if (event->kind >= HEAP_LONG)
        return read_long(event, bytes);
    event->flags = words[1] & HEAP_UNTRACKED_BIT ? HEAP_UNTRACKED : 0;
    event->stack = words[1] >> HEAP_ADDRESS_BITS & (HEAP_STACKS - 1);
    event->address = words[1] & HEAP_ADDRESS_MASK;
    event->size = 0;
    event->payload = STR("");
    if (event->kind != HEAP_ALLOCATED)
        return 2 * sizeof *words;
    if (bytes.len < sizeof words)
        return 0;
    memcpy(&event->size, bytes.ptr + 2 * sizeof *words, sizeof event->size);
    return sizeof words;
}

void heap_events_prefetch(const struct heap_events *e, const struct heap_origin *from,
                          const struct heap_entry *r)
{
    const struct heap_process *p =
        from->process ? &e->processes[from->process - 1] : NULL;
    if (p && p->blocks.slots && r->kind < HEAP_STACK)
        __builtin_prefetch(&p->blocks.slots[home_of(&p->blocks, r->address)], 1);
}

void heap_origin_reset(struct heap_origin *from, uint32_t pid)
{
    uint32_t *groups = from->groups;
    if (groups)
        memset(groups, 0, HEAP_STACKS * sizeof *groups);
    *from = (struct heap_origin){.pid = pid, .groups = groups};
}

void heap_origin_deinit(struct heap_origin *from)
{
    free(from->groups);
    from->groups = NULL;
}

/* --- Live blocks -------------------------------------------------------------------- */

static size_t slot_of(const struct heap_blocks *b, uint64_t address)
{
    size_t at = home_of(b, address);
    while (b->slots[at].address && b->slots[at].address != address)
        at = (at + 1) & b->mask;
    return at;
}

static bool blocks_grow(struct heap_blocks *b)
{
    struct heap_blocks larger = {.mask = b->slots ? 2 * b->mask + 1 : 255,
                                 .count = b->count};
    if (b->slots && b->count * 3 < (b->mask + 1) * 2)
        return true;
    larger.slots = arena_zalloc(&larger.arena, larger.mask + 1, sizeof *larger.slots);
    if (!larger.slots) {
        arena_deinit(&larger.arena);
        return false;
    }
    for (size_t i = 0; b->slots && i <= b->mask; i++)
        if (b->slots[i].address)
            larger.slots[slot_of(&larger, b->slots[i].address)] = b->slots[i];
    arena_deinit(&b->arena);
    *b = larger;
    return true;
}

static struct heap_block *block_find(const struct heap_blocks *b, uint64_t address)
{
    struct heap_block *found = b->slots ? &b->slots[slot_of(b, address)] : NULL;
    return found && found->address && address ? found : NULL;
}

/* Removes the block; the blocks after it that belong nearer to their hashes move up. */
static void block_remove(struct heap_blocks *b, struct heap_block *block)
{
    size_t hole = (size_t)(block - b->slots);
    for (size_t at = (hole + 1) & b->mask; b->slots[at].address;
         at = (at + 1) & b->mask) {
        size_t home = home_of(b, b->slots[at].address);
        if (((at - home) & b->mask) < ((at - hole) & b->mask))
            continue;
        b->slots[hole] = b->slots[at];
        hole = at;
    }
    b->slots[hole].address = 0;
    b->count--;
}

/* --- Totals ------------------------------------------------------------------------- */

/* How many allocations the sample stands for. */
static double weight_of(const struct heap_events *e, uint64_t size)
{
    double mean = (double)e->sample_bytes;
    return e->sample_bytes && size ? -1 / expm1(-(double)size / mean) : 1;
}

/* Bytes of all allocations that the sample stands for. */
static double weighted(const struct heap_events *e, uint64_t size)
{
    return nearbyint((double)size * weight_of(e, size));
}

static uint64_t size_of(const struct heap_block *block)
{
    return (uint64_t)block->size_high << 32 | block->size_low;
}

static double bytes_of(const struct heap_events *e, const struct heap_block *block)
{
    return weighted(e, size_of(block));
}

/* What happens at a site now. */
static struct heap_slice *slice_at(struct heap_events *e, uint32_t site, uint64_t time)
{
    struct heap_slice *slice =
        heap_timeline_at(&e->timeline, site, time, &e->sites[site].slice);
    e->failed |= !slice;
    return slice ? slice : &e->no_slice;
}

/* A block begins (sign 1) or ends (-1). */
static void change_live(struct heap_events *e, const struct heap_block *block, int sign)
{
    uint32_t number = block->site;
    struct heap_site *site = &e->sites[number];
    double bytes = sign * bytes_of(e, block);
    if (site->peak != e->peak) {
        site->at_peak = site->live;
        site->blocks_at_peak = site->live_blocks;
    }
    site->peak = e->peak;
    site->live += bytes;
    site->live_blocks += (uint64_t)(int64_t)sign;
    e->live += bytes;
    if (!e->is_finishing)
        slice_at(e, number, e->now)->change += bytes;
}

static void note_peak(struct heap_events *e)
{
    if (e->live <= e->most)
        return;
    e->most = e->live;
    e->peak++;
    e->peak_time = e->now;
}

/* --- Processes ---------------------------------------------------------------------- */

static void end_process(struct heap_events *e, struct heap_process *p)
{
    for (size_t i = 0; p->blocks.slots && i <= p->blocks.mask; i++) {
        const struct heap_block *block = &p->blocks.slots[i];
        if (!block->address)
            continue;
        double bytes = bytes_of(e, block);
        change_live(e, block, -1);
        e->sites[block->site].leaked += bytes;
        struct heap_slice *slice = slice_at(e, block->site, block->time);
        slice->leaked += bytes;
        slice->leaked_samples++;
    }
    arena_deinit(&p->blocks.arena);
    p->blocks = (struct heap_blocks){.slots = NULL};
    space_drop(&e->spaces, p->space);
    space_drop(&e->spaces, p->listed);
    p->space = p->listed = 0;
    p->lists = 0;
    p->is_ended = true;
}

/* A process that has ended by now ended before the new one started; only the order of
 * processes that run at the same time is unknown. */
void heap_events_end_dead(struct heap_events *e)
{
    for (size_t i = 1; e->runs && i < e->process_count; i++) {
        struct heap_process *p = &e->processes[i];
        if (!p->is_ended && !e->runs(e->context, p->pid))
            end_process(e, p);
    }
}

static void start_process(struct heap_events *e, struct heap_origin *from,
                          uint64_t rule_space)
{
    uint64_t *latest = idmap_put(&e->by_pid, &e->arena, from->pid);
    if (!latest || e->process_count >= PROCESSES_MOST ||
        !ARRAY_RESERVE(&e->arena, e->processes, e->process_cap, e->process_count + 1)) {
        e->failed = true;
        return;
    }
    if (*latest && !e->processes[*latest - 1].is_ended)
        end_process(e, &e->processes[*latest - 1]); /* exec */
    heap_events_end_dead(e);
    e->processes[e->process_count++] =
        (struct heap_process){.pid = from->pid, .rule_space = rule_space};
    *latest = e->process_count;
    from->process = (uint32_t)*latest;
}

static struct heap_process *process_of(struct heap_events *e, struct heap_origin *from)
{
    const uint64_t *latest = from->process ? NULL : idmap_find(&e->by_pid, from->pid);
    if (latest)
        from->process = (uint32_t)*latest;
    struct heap_process *p = from->process ? &e->processes[from->process - 1] : NULL;
    return p && !p->is_ended ? p : NULL;
}

static void name_thread(struct heap_events *e, struct heap_origin *from, uint64_t tid,
                        struct str payload)
{
    struct str name = str_head(payload, str_find(payload, 0));
    from->thread = builder_thread(&e->raw, from->pid, (int64_t)(tid & UINT32_MAX), name);
}

/* --- Files -------------------------------------------------------------------------- */

static object_id object_of(const struct heap_events *e, const struct heap_process *p,
                           const struct heap_entry *r, const struct heap_code *code,
                           struct str path)
{
    struct object_request request = {
        .path = path,
        .pid = p->pid,
        .kind = str_starts(path, STR("//anon")) ? FRAME_JIT : FRAME_USER,
        .start = r->address,
        .end = r->address + r->size,
        .offset = code->offset,
        .major = code->major,
        .minor = code->minor,
        .inode = code->inode,
    };
    return e->resolver ? e->resolver->object(e->resolver->context, &request) : 0;
}

static uint32_t file_of(struct heap_events *e, const struct heap_process *p,
                        const struct heap_entry *r, const struct heap_code *code,
                        struct str path)
{
    bool is_private = str_starts(path, STR("//anon"));
    uint64_t key = hash_bytes(path.ptr, path.len) ^
                   hash_ids((int64_t)code->inode, is_private ? p->pid : 0);
    uint64_t *number = idmap_put(&e->file_numbers, &e->arena, key);
    if (!number || !ARRAY_RESERVE(&e->arena, e->files, e->file_cap, e->file_count + 1))
        return 0;
    if (*number == 0) {
        *number = e->file_count;
        e->files[e->file_count++] = (struct heap_file){
            .path = arena_str(&e->arena, path),
            .object = object_of(e, p, r, code, path),
            .is_recorder = str_ends(path, RECORDER) || str_ends(path, LATE_RECORDER)};
    }
    return (uint32_t)*number;
}

static void map_code(struct heap_events *e, struct heap_process *p,
                     const struct heap_entry *r)
{
    struct heap_code code;
    struct str payload = r->payload;
    if (payload.len < sizeof code) {
        e->damaged++;
        return;
    }
    memcpy(&code, payload.ptr, sizeof code);
    struct str path = str_skip(payload, sizeof code);
    path = str_head(path, str_find(path, 0));
    uint32_t file = file_of(e, p, r, &code, path.len ? path : STR("//anon"));
    if (!file)
        return;
    struct address_map map = {.start = r->address,
                              .end = r->address + r->size,
                              .offset = code.offset,
                              .object = e->files[file].object,
                              .tag = file};
    p->space = space_add(&e->spaces, p->space, &map);
    if (p->lists)
        p->listed = space_add(&e->spaces, p->listed, &map);
}

/* Stacks that other threads put meanwhile are in the code of before, or in the new. */
static void begin_list(struct heap_events *e, struct heap_process *p, uint64_t rule_space)
{
    if (p->lists == 0) {
        space_drop(&e->spaces, p->listed);
        p->listed = 0;
    }
    p->lists++;
    p->rule_space = rule_space;
}

static void end_list(struct heap_events *e, struct heap_process *p)
{
    if (p->lists == 0 || --p->lists)
        return;
    space_drop(&e->spaces, p->space);
    p->space = p->listed;
    p->listed = 0;
}

/* --- Stacks ------------------------------------------------------------------------- */

static uint32_t location_of(struct heap_events *e, const struct heap_process *p,
                            uint64_t pc, bool is_call)
{
    const struct address_map *map = space_find(&e->spaces, p->space, pc - is_call);
    uint32_t file = map ? map->tag : 0;
    bool by_address = map && str_starts(e->files[file].path, STR("//anon"));
    uint64_t address = map && !by_address ? pc - map->start + map->offset : pc;
    uint64_t key = hash_ids((int64_t)address, (int64_t)file << 1 | is_call);
    uint64_t *number = idmap_put(&e->location_numbers, &e->arena, key);
    if (!number ||
        !ARRAY_RESERVE(&e->arena, e->locations, e->location_cap, e->location_count + 1))
        return 0;
    if (*number == 0) {
        *number = e->location_count;
        e->locations[e->location_count++] = (struct heap_location){
            .file = file, .pc = pc, .address = address, .is_call = is_call};
    }
    return (uint32_t)*number;
}

/* Makes the stack of addresses, leaf first, without the recorder's own frames. */
static stack_id stack_of(struct heap_events *e, const struct heap_process *p,
                         size_t count)
{
    bool is_recorder = true;
    builder_path_clear(&e->raw);
    for (size_t i = 0; i < count; i++) {
        bool is_call = !(e->signals[i / 32] >> (i % 32) & 1);
        uint32_t location = location_of(e, p, e->addresses[i], is_call);
        is_recorder &= location && e->files[e->locations[location].file].is_recorder;
        if (location && !is_recorder)
            builder_path_add(&e->raw, location);
    }
    return builder_path_from_leaf(&e->raw);
}

/* Provides the rule for an address, if it is not there yet. */
static void provide_rule(struct heap_events *e, const struct heap_process *p,
                         uint64_t address)
{
    struct unwind_rule rule;
    const struct address_map *map = space_find(&e->spaces, p->space, address);
    if (!map || !e->rules || !e->resolver->rule ||
        heap_rules_have(e->rules, address, p->rule_space))
        return;
    if (e->resolver->rule(e->resolver->context, map->object,
                          address - map->start + map->offset, &rule))
        heap_rules_add(e->rules, address, p->rule_space, &rule);
}

static void provide_rules(struct heap_events *e, const struct heap_process *p,
                          size_t count, uint64_t missing)
{
    for (size_t i = 0; i < count; i++) {
        bool is_call = !(e->signals[i / 32] >> (i % 32) & 1);
        provide_rule(e, p, e->addresses[i] - is_call);
    }
    provide_rule(e, p, missing);
}

static stack_id unwind(struct heap_events *e, const struct heap_process *p,
                       struct str payload)
{
    /* perf's numbers of the registers in enum heap_register (perf_regs.h) */
    static const uint8_t perf[HEAP_REGISTERS] = {8, 7, 6, 1, 20, 21, 22, 23};
    struct heap_stack stack;
    uint64_t registers[UNWIND_REGISTERS_MAX] = {0};
    struct unwind_job job = {.machine = ARCH_X86_64,
                             .spaces = &e->spaces,
                             .space = p->space,
                             .registers = registers,
                             .addresses = e->addresses,
                             .signals = e->signals,
                             .room = UNWIND_FRAMES_MAX};
    if (!e->resolver || payload.len < sizeof stack)
        return 0;
    memcpy(&stack, payload.ptr, sizeof stack);
    for (unsigned i = 0; i < HEAP_REGISTERS; i++) {
        registers[perf[i]] = stack.registers[i];
        job.recorded |= UINT64_C(1) << perf[i];
    }
    job.stack = str_skip(payload, sizeof stack);
    memset(e->signals, 0, sizeof e->signals);
    e->resolver->unwind(e->resolver->context, 0, &job, 1);
    e->truncated += unwind_is_truncated(job.end);
    provide_rules(e, p, job.count, stack.missing);
    return stack_of(e, p, job.count);
}

/* The stack that the library has unwound. */
static stack_id read_stack(struct heap_events *e, const struct heap_process *p,
                           const struct heap_entry *r)
{
    size_t count = r->payload.len / sizeof *e->addresses;
    if (count > HEAP_FRAMES_MAX)
        count = HEAP_FRAMES_MAX;
    memset(e->signals, 0, sizeof e->signals);
    memcpy(e->addresses, r->payload.ptr, count * sizeof *e->addresses);
    for (size_t i = 0; i < count; i++) {
        if (e->addresses[i] & HEAP_EXACT)
            e->signals[i / 32] |= UINT32_C(1) << (i % 32);
        e->addresses[i] &= ~HEAP_EXACT;
    }
    e->truncated += (r->flags & HEAP_TRUNCATED) != 0;
    return stack_of(e, p, count);
}

/* --- Allocations -------------------------------------------------------------------- */

/* 0 when out of memory. */
static uint32_t group_of(struct heap_events *e, thread_id thread, stack_id stack)
{
    uint64_t *number =
        idmap_put(&e->group_numbers, &e->arena, (uint64_t)thread << 32 | stack);
    if (!number || !ARRAY_RESERVE(&e->arena, e->groups, e->group_cap, e->group_count + 1))
        return 0;
    if (*number == 0) {
        *number = e->group_count;
        e->groups[e->group_count++] =
            (struct heap_group){.thread = thread, .stack = stack};
    }
    return (uint32_t)*number;
}

static uint32_t new_site(struct heap_events *e, const struct heap_group *group,
                         unsigned size_class)
{
    size_t count = e->site_count;
    if (!ARRAY_RESERVE(&e->arena, e->sites, e->site_cap, count + 1) ||
        !ARRAY_RESERVE(&e->arena, e->releases, e->release_cap, count + 1))
        return 0;
    e->sites[count] = (struct heap_site){
        .thread = group->thread, .stack = group->stack, .size_class = size_class};
    e->releases[count] = (struct heap_releases){.bytes = {0}};
    e->site_count++;
    return (uint32_t)count;
}

/* 0 when out of memory. */
static uint32_t site_of(struct heap_events *e, uint32_t group, uint64_t size)
{
    unsigned size_class = heap_size_class(size);
    uint32_t *site = &e->groups[group].sites[size_class];
    if (group && !*site)
        *site = new_site(e, &e->groups[group], size_class);
    return group ? *site : 0;
}

/* A block is removed if it is not newer than the record. */
static bool release(struct heap_events *e, struct heap_process *p, uint64_t address,
                    uint64_t time, struct heap_block *released)
{
    struct heap_block *block = block_find(&p->blocks, address);
    if (!block || block->time > time)
        return false;
    *released = *block;
    change_live(e, block, -1);
    block_remove(&p->blocks, block);
    return true;
}

static void add_block(struct heap_events *e, struct heap_process *p,
                      const struct heap_block *block)
{
    if (!block->address)
        return;
    if (!blocks_grow(&p->blocks)) {
        e->failed = true;
        return;
    }
    struct heap_block *slot = &p->blocks.slots[slot_of(&p->blocks, block->address)];
    if (slot->address)
        change_live(e, slot, -1); /* the record of its release was lost */
    else
        p->blocks.count++;
    *slot = *block;
    change_live(e, block, 1);
    note_peak(e);
}

/* The same stack is put again if another thread has it, too, or if it had lost its number. */
static stack_id find_stack(struct heap_events *e, const struct heap_process *p,
                           const struct heap_entry *r)
{
    uint64_t *known = r->size ? idmap_put(&e->stack_numbers, &e->arena, r->size) : NULL;
    if (!known)
        return read_stack(e, p, r);
    if (!*known)
        *known = (uint64_t)read_stack(e, p, r) + 1;
    return (stack_id)(*known - 1);
}

/* A stack gets its number. */
static void number_stack(struct heap_events *e, struct heap_origin *from,
                         const struct heap_process *p, const struct heap_entry *r)
{
    if (r->address >= HEAP_STACKS) {
        e->damaged++;
        return;
    }
    if (!from->groups)
        from->groups = calloc(HEAP_STACKS, sizeof *from->groups);
    if (from->groups)
        from->groups[r->address] = group_of(e, from->thread, find_stack(e, p, r));
    else
        e->failed = true;
}

/* The group of an allocation; of an unknown stack if its number was never given. */
static uint32_t find_group(struct heap_events *e, const struct heap_origin *from,
                           const struct heap_process *p, const struct heap_entry *r)
{
    if (r->kind == HEAP_COPIED)
        return group_of(e, from->thread, unwind(e, p, r->payload));
    uint32_t group = from->groups ? from->groups[r->stack] : 0;
    if (group)
        return group;
    e->damaged++;
    return group_of(e, from->thread, 0);
}

static void allocate(struct heap_events *e, const struct heap_origin *from,
                     struct heap_process *p, const struct heap_entry *r)
{
    double weight = weight_of(e, r->size), bytes = weighted(e, r->size);
    uint32_t site = site_of(e, find_group(e, from, p, r), r->size);
    if (!site) {
        e->failed = true;
        return;
    }
    e->allocations++;
    e->sites[site].bytes += bytes;
    e->sites[site].count += weight;
    struct heap_slice *slice = slice_at(e, site, e->now);
    slice->bytes += bytes;
    slice->count += weight;
    slice->samples++;
    p->last = site + 1;
    p->last_address = r->address;
    if (r->flags & HEAP_UNTRACKED)
        e->untracked++;
    else
        add_block(e, p,
                  &(struct heap_block){.address = r->address,
                                       .time = r->time,
                                       .site = site,
                                       .size_high = (uint16_t)(r->size >> 32),
                                       .size_low = (uint32_t)r->size});
}

/* Counts a release of a block with a lifetime of that class; with -1, it did not happen. */
static void count_release(struct heap_events *e, const struct heap_block *block,
                          unsigned lifetime, int sign)
{
    struct heap_releases *releases = &e->releases[block->site];
    releases->bytes[lifetime] += sign * bytes_of(e, block);
    releases->count[lifetime] += sign * weight_of(e, size_of(block));
    releases->samples[lifetime] += (uint64_t)(int64_t)sign;
}

static unsigned lifetime_of(const struct heap_events *e, const struct heap_block *block,
                            uint64_t end)
{
    return heap_lifetime_class(end - block->time, e->unit_ns);
}

/* A block that is freed before any other event of its process was temporary. Between
 * samples there are other events, so samples cannot show it. */
static void free_block(struct heap_events *e, struct heap_process *p,
                       const struct heap_entry *r)
{
    struct heap_block block;
    bool is_known = release(e, p, r->address, r->time, &block);
    e->unknown += !is_known;
    if (is_known)
        count_release(e, &block, lifetime_of(e, &block, r->time), 1);
    if (is_known && !e->sample_bytes && p->last == block.site + 1 &&
        p->last_address == block.address) {
        e->sites[block.site].temporary += 1;
        slice_at(e, block.site, e->now)->temporary += 1;
    }
    p->last = 0;
}

static void apply_move(struct heap_events *e, struct heap_origin *from,
                       struct heap_process *p, const struct heap_entry *r)
{
    if (r->kind == HEAP_MOVING) {
        from->is_moving = release(e, p, r->address, r->time, &from->moving);
        e->unknown += !from->is_moving;
        from->lifetime = from->is_moving ? lifetime_of(e, &from->moving, r->time) : 0;
        if (from->is_moving)
            count_release(e, &from->moving, from->lifetime, 1);
        p->last = 0;
    } else if (from->is_moving && from->moving.address == r->address) {
        count_release(e, &from->moving, from->lifetime, -1);
        add_block(e, p, &from->moving);
        from->is_moving = false;
    }
}

static void apply_in_process(struct heap_events *e, struct heap_origin *from,
                             const struct heap_entry *r)
{
    struct heap_process *p = process_of(e, from);
    if (!p) {
        e->damaged++;
        return;
    }
    switch (r->kind) {
    case HEAP_ALLOCATED:
    case HEAP_COPIED:
        allocate(e, from, p, r);
        break;
    case HEAP_FREED:
        free_block(e, p, r);
        break;
    case HEAP_MOVING:
    case HEAP_MOVE_FAILED:
        apply_move(e, from, p, r);
        break;
    case HEAP_STACK:
        number_stack(e, from, p, r);
        break;
    case HEAP_MAPPED_CODE:
        map_code(e, p, r);
        break;
    case HEAP_NO_CODE:
        begin_list(e, p, r->size);
        break;
    case HEAP_CODE_LISTED:
        end_list(e, p);
        break;
    default:
        e->damaged++;
    }
}

void heap_events_apply(struct heap_events *e, struct heap_origin *from,
                       const struct heap_entry *r)
{
    e->records++;
    e->now = r->time;
    if (e->failed)
        return;
    if (r->kind == HEAP_PROCESS)
        start_process(e, from, r->size);
    else if (r->kind == HEAP_THREAD)
        name_thread(e, from, r->address, r->payload);
    else
        apply_in_process(e, from, r);
    if (r->kind >= HEAP_LONG)
        e->failed |= e->arena.failed || e->spaces.arena.failed || builder_failed(&e->raw);
}

/* --- Start and end ------------------------------------------------------------------ */

bool heap_events_init(struct heap_events *e, const struct resolver *resolver,
                      uint64_t sample_bytes)
{
    memset(e, 0, sizeof *e);
    e->resolver = resolver;
    e->sample_bytes = sample_bytes;
    heap_timeline_init(&e->timeline);
    if (!builder_init(&e->raw, BUILD_COUNT) ||
        !ARRAY_RESERVE(&e->arena, e->files, e->file_cap, 1) ||
        !ARRAY_RESERVE(&e->arena, e->locations, e->location_cap, 1) ||
        !ARRAY_RESERVE(&e->arena, e->groups, e->group_cap, 1) ||
        !ARRAY_RESERVE(&e->arena, e->releases, e->release_cap, 1) ||
        !ARRAY_RESERVE(&e->arena, e->sites, e->site_cap, 1))
        return false;
    e->files[0] = (struct heap_file){.path = STR("")};
    e->locations[0] = (struct heap_location){.file = 0};
    e->sites[0] = (struct heap_site){.thread = 0};
    e->groups[0] = (struct heap_group){.thread = 0};
    e->releases[0] = (struct heap_releases){.bytes = {0}};
    e->unit_ns = 1;
    e->file_count = e->location_count = e->site_count = e->group_count = 1;
    return true;
}

void heap_events_finish(struct heap_events *e)
{
    e->is_finishing = true;
    for (size_t i = 0; i < e->process_count; i++)
        if (!e->processes[i].is_ended)
            end_process(e, &e->processes[i]);
}

void heap_events_deinit(struct heap_events *e)
{
    for (size_t i = 0; i < e->process_count; i++)
        arena_deinit(&e->processes[i].blocks.arena);
    heap_timeline_deinit(&e->timeline);
    spaces_deinit(&e->spaces);
    builder_deinit(&e->raw);
    arena_deinit(&e->arena);
}
