/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/local_resolver_parts.h"
#include <stdlib.h>

struct entry *local_resolver_entry(const struct local_resolver *m, size_t id)
{
    return segmented_array_at(&m->entries, (uint32_t)id, sizeof(struct entry));
}

struct local_resolver *local_resolver_create(const struct resolve_settings *settings)
{
    struct local_resolver *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->settings = settings;
    m->unpacked.limits = settings->find.limits;
    m->os_thread_pool =
        os_thread_pool_create(settings->threads ? settings->threads : os_core_count());
    if (m->os_thread_pool) {
        m->pool = os_thread_pool_interface(m->os_thread_pool);
        m->workers = calloc(m->pool.workers, sizeof *m->workers);
    }
    if (m->workers && segmented_array_add(&m->entries, &m->arena, sizeof(struct entry)))
        return m;
    local_resolver_destroy(m);
    return NULL;
}

void local_resolver_destroy(struct local_resolver *m)
{
    if (!m)
        return;
    local_resolver_finish_all(m);
    for (size_t i = 1; i < m->entries.count; i++) {
        struct entry *entry = local_resolver_entry(m, i);
        if (!entry->is_closed)
            object_write_cache(entry->object);
        object_destroy(entry->object);
    }
    for (unsigned i = 0; m->workers && i < m->pool.workers; i++)
        arena_deinit(&m->workers[i].arena);
    os_thread_pool_destroy(m->os_thread_pool);
    free(m->workers);
    arena_deinit(&m->arena);
    free(m);
}

/* --- Tasks of objects -------------------------------------------------------------- */

void local_resolver_start(struct local_resolver *m, struct entry *entry,
                          void (*work)(struct pool_task *e, unsigned worker))
{
    entry->task = (struct pool_task){.work = work, .can_wait = true};
    entry->is_loaded = false;
    entry->has_task = true;
    thread_pool_start(&m->pool, &entry->task);
}

void local_resolver_finish(struct local_resolver *m, struct entry *entry)
{
    if (entry->has_task)
        thread_pool_finish(&m->pool, &entry->task);
    entry->has_task = false;
}

void local_resolver_finish_all(struct local_resolver *m)
{
    for (size_t i = 1; i < m->entries.count; i++)
        local_resolver_finish(m, local_resolver_entry(m, i));
}

static void prefetch_object(struct pool_task *e, unsigned worker)
{
    struct entry *entry = (struct entry *)(void *)e;
    (void)worker;
    object_open_cache(entry->object, entry->settings);
    if (!name_cache_has_entries(&entry->object->names))
        object_load_names(entry->object, entry->settings);
    __atomic_store_n(&entry->is_loaded, true, __ATOMIC_RELEASE);
}

static void close_object(struct pool_task *e, unsigned worker)
{
    struct object *o = ((struct entry *)(void *)e)->object;
    (void)worker;
    object_write_cache(o);
    object_close_files(o);
}

/* --- The interface ----------------------------------------------------------------- */

/* Links the generated code of a process with its jitdump, which may be mapped later. */
static void link_jitdump(struct local_resolver *m, struct object *o)
{
    bool is_jit = o->request.kind == FRAME_JIT;
    if (!is_jit && !o->is_dump)
        return;
    uint64_t *at = idmap_put(&m->dumps, &m->arena, (uint64_t)o->request.pid);
    struct object **dump = at ? (struct object **)(uintptr_t)*at : NULL;
    if (at && !dump)
        dump = arena_zalloc(&m->arena, 1, sizeof(struct object *));
    if (!dump)
        return;
    *at = (uint64_t)(uintptr_t)dump;
    if (is_jit)
        o->process_dump = dump;
    else if (!*dump)
        __atomic_store_n(dump, o, __ATOMIC_RELEASE);
}

static object_id resolver_object(void *context, const struct object_request *request)
{
    struct local_resolver *m = context;
    struct object *o = object_create(request);
    struct entry *entry =
        o ? segmented_array_add(&m->entries, &m->arena, sizeof *entry) : NULL;
    if (!entry) {
        object_destroy(o);
        return 0;
    }
    *entry = (struct entry){.object = o, .settings = m->settings};
    o->unpacked = &m->unpacked;
    link_jitdump(m, o);
    return (object_id)(m->entries.count - 1);
}

/* Any worker may call this for objects that it cache_opened. */
static struct object *object_of(const struct local_resolver *m, object_id id)
{
    return id ? local_resolver_entry(m, id)->object : NULL;
}

static void resolver_prefetch(void *context, object_id id)
{
    struct local_resolver *m = context;
    struct entry *entry = local_resolver_entry(m, id);
    if (id == 0 || entry->has_task || entry->is_closed || entry->object->named ||
        m->pool.workers == 1)
        return;
    local_resolver_start(m, entry, prefetch_object);
}

static void resolver_release(void *context)
{
    struct local_resolver *m = context;
    local_resolver_finish_all(m);
    for (size_t i = 1; i < m->entries.count && m->pool.workers > 1; i++) {
        struct entry *entry = local_resolver_entry(m, i);
        if (entry->is_closed || !entry->object->cache_opened)
            continue;
        entry->is_closed = true;
        local_resolver_start(m, entry, close_object);
    }
}

static const struct unwind_table *table_of(void *context, object_id id)
{
    struct local_resolver *m = context;
    struct object *o = object_of(m, id);
    return o ? object_unwind_table(o, m->settings) : NULL;
}

static const struct unwind_table *table_at(void *context, object_id id, uint64_t offset)
{
    struct local_resolver *m = context;
    struct object *o = object_of(m, id);
    return o ? object_unwind_table_at(o, m->settings, offset) : NULL;
}

static void set_no_frames(struct unwind_job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        jobs[i].count = 0;
        jobs[i].end = UNWIND_NO_TABLE;
    }
}

static void resolver_unwind(void *context, unsigned worker, struct unwind_job *jobs,
                            size_t count)
{
    struct local_resolver *m = context;
    struct worker *w = &m->workers[worker];
    struct unwind_objects objects = {.table = table_of,
                                     .table_at =
                                         m->settings->few_addresses ? table_at : NULL,
                                     .context = m};
    if (!w->cache)
        w->cache = unwind_cache_create(&w->arena);
    if (w->cache)
        unwind_batch(w->cache, &objects, jobs, count);
    else
        set_no_frames(jobs, count);
}

static bool resolver_rule(void *context, object_id id, uint64_t offset,
                          struct unwind_rule *rule)
{
    struct local_resolver *m = context;
    uint64_t address;
    const struct unwind_table *t =
        m->settings->few_addresses ? table_at(m, id, offset) : table_of(m, id);
    if (!t || !unwind_table_address(t, offset, &address))
        return false;
    *rule = *unwind_table_find(t, address);
    return rule->cfa != CFA_NONE && rule->cfa != CFA_GENERAL;
}

static void resolver_name(void *context, struct name_job *jobs, size_t count)
{
    local_resolver_name(context, jobs, count);
}

/* A version is 1 + the index of a code in the jitdump. */
#define NO_CODE UINT32_MAX

static uint32_t resolver_version(void *context, object_id id, uint64_t address,
                                 uint64_t time)
{
    const struct local_resolver *m = context;
    struct object *o = object_of(m, id);
    if (!o || o->request.kind != FRAME_JIT)
        return 0;
    const struct jitdump *jit = object_jitdump(o, m->settings);
    if (jit && jit->arch_timestamp)
        return 0;
    const struct jit_code *code = jit ? jitdump_find(jit, address, time) : NULL;
    return code ? (uint32_t)(code - jit->codes) + 1 : NO_CODE;
}

struct resolver local_resolver_interface(struct local_resolver *m)
{
    return (struct resolver){.context = m,
                             .pool = &m->pool,
                             .object = resolver_object,
                             .prefetch = resolver_prefetch,
                             .unwind = resolver_unwind,
                             .rule = resolver_rule,
                             .name = resolver_name,
                             .release = resolver_release,
                             .version = resolver_version};
}

/* --- Access to objects ------------------------------------------------------------- */

struct object *local_resolver_object(const struct resolver *resolver, object_id id)
{
    if (!resolver || resolver->name != resolver_name)
        return NULL;
    struct local_resolver *m = resolver->context;
    local_resolver_finish_all(m);
    return id < m->entries.count ? object_of(m, id) : NULL;
}

struct object *local_resolver_tables(const struct resolver *resolver, object_id id)
{
    struct object *o = local_resolver_object(resolver, id);
    if (o)
        object_load_names(o,
                          ((const struct local_resolver *)resolver->context)->settings);
    return o;
}

bool local_resolver_function(const struct resolver *resolver, object_id id,
                             uint64_t address, uint64_t *start, uint64_t *end)
{
    const struct cfi_section *section;
    struct cfi_fde fde;
    struct object *o = local_resolver_object(resolver, id);
    const struct unwind_table *t =
        o ? object_unwind_table(
                o, ((const struct local_resolver *)resolver->context)->settings)
          : NULL;
    if (!t || !unwind_table_fde(t, address, &section, &fde))
        return false;
    *start = fde.start;
    *end = fde.end;
    return true;
}
