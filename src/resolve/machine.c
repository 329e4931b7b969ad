/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/machine.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "base/shelf.h"
#include "base/sort.h"
#include "resolve/doubt.h"
#include <stdlib.h>

/* Jobs of a thread at a time: few enough that none waits long for the last. */
#define NAME_SHARE 512

/* What a hand of the crew has to itself. */
struct hand {
    struct arena arena;         /* the texts and frames handed out */
    struct unwind_cache *cache; /* the arena's */
    struct namer *namer;        /* while names are asked for */
};

/* An object, and whether it is being made ready to be asked for names, or left. */
struct entry {
    struct errand errand;
    struct object *object;
    const struct resolve_settings *settings;
    bool is_under_way; /* the errand */
    bool is_ready;     /* atomic: the errand that is under way is done */
    bool is_left;
};

struct machine_resolver {
    const struct resolve_settings *settings;
    struct shelf entries; /* of objects, by their numbers; [0] is none */
    struct idmap dumps;   /* by process: where the object of its jitdump will stand */
    struct arena arena;
    struct os_crew *os_crew;
    struct crew crew;
    struct hand *hands;
};

static struct entry *entry_at(const struct machine_resolver *m, size_t id)
{
    return shelf_at(&m->entries, (uint32_t)id, sizeof(struct entry));
}

struct machine_resolver *machine_resolver_create(const struct resolve_settings *settings)
{
    struct machine_resolver *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->settings = settings;
    m->os_crew = os_crew_create(settings->threads ? settings->threads : os_core_count());
    if (m->os_crew) {
        m->crew = os_crew_seam(m->os_crew);
        m->hands = calloc(m->crew.hands, sizeof *m->hands);
    }
    if (m->hands && shelf_add(&m->entries, &m->arena, sizeof(struct entry)))
        return m;
    machine_resolver_destroy(m);
    return NULL;
}

/* Waits until the object is ready, or left, if it is to be. */
static void finish_errand(struct machine_resolver *m, struct entry *entry)
{
    if (entry->is_under_way)
        crew_finish(&m->crew, &entry->errand);
    entry->is_under_way = false;
}

static void finish_errands(struct machine_resolver *m)
{
    for (size_t i = 1; i < m->entries.count; i++)
        finish_errand(m, entry_at(m, i));
}

void machine_resolver_destroy(struct machine_resolver *m)
{
    if (!m)
        return;
    finish_errands(m);
    for (size_t i = 1; i < m->entries.count; i++) {
        struct entry *entry = entry_at(m, i);
        if (!entry->is_left)
            object_keep_names(entry->object);
        object_destroy(entry->object);
    }
    for (unsigned i = 0; m->hands && i < m->crew.hands; i++)
        arena_deinit(&m->hands[i].arena);
    os_crew_destroy(m->os_crew);
    free(m->hands);
    arena_deinit(&m->arena);
    free(m);
}

/* What runs in memory without a file is told by the jitdump of the process, which may be
 * mapped later. */
static void join_jitdump(struct machine_resolver *m, struct object *o)
{
    bool is_jit = o->wanted.kind == FRAME_JIT;
    if (!is_jit && !o->is_dump)
        return;
    uint64_t *at = idmap_put(&m->dumps, &m->arena, (uint64_t)o->wanted.pid);
    struct object **dump = at ? (struct object **)(uintptr_t)*at : NULL;
    if (at && !dump)
        dump = arena_zalloc(&m->arena, 1, sizeof(struct object *));
    if (!dump)
        return;
    *at = (uint64_t)(uintptr_t)dump;
    if (is_jit)
        o->own_dump = dump;
    else if (!*dump)
        __atomic_store_n(dump, o, __ATOMIC_RELEASE);
}

static object_id resolver_object(void *context, const struct object_wanted *wanted)
{
    struct machine_resolver *m = context;
    struct object *o = object_create(wanted);
    struct entry *entry = o ? shelf_add(&m->entries, &m->arena, sizeof *entry) : NULL;
    if (!entry) {
        object_destroy(o);
        return 0;
    }
    *entry = (struct entry){.object = o, .settings = m->settings};
    join_jitdump(m, o);
    return (object_id)(m->entries.count - 1);
}

/* By any hand, of objects that it was told of. */
static struct object *object_of(const struct machine_resolver *m, object_id id)
{
    return id ? entry_at(m, id)->object : NULL;
}

static void make_ready(struct errand *e, unsigned hand)
{
    struct entry *entry = (struct entry *)(void *)e;
    (void)hand;
    object_known_names(entry->object, entry->settings);
    if (!name_cache_has_any(&entry->object->names))
        object_names(entry->object, entry->settings);
    __atomic_store_n(&entry->is_ready, true, __ATOMIC_RELEASE);
}

/* Lets the crew do it with the object. */
static void start_errand(struct machine_resolver *m, struct entry *entry,
                         void (*work)(struct errand *e, unsigned hand))
{
    entry->errand = (struct errand){.work = work, .can_wait = true};
    entry->is_ready = false;
    entry->is_under_way = true;
    crew_start(&m->crew, &entry->errand);
}

static void resolver_expect(void *context, object_id id)
{
    struct machine_resolver *m = context;
    struct entry *entry = entry_at(m, id);
    if (id == 0 || entry->is_under_way || entry->is_left || entry->object->named ||
        m->crew.hands == 1)
        return;
    start_errand(m, entry, make_ready);
}

static void leave_object(struct errand *e, unsigned hand)
{
    struct object *o = ((struct entry *)(void *)e)->object;
    (void)hand;
    object_keep_names(o);
    object_close_files(o);
}

static void resolver_leave(void *context)
{
    struct machine_resolver *m = context;
    finish_errands(m);
    for (size_t i = 1; i < m->entries.count && m->crew.hands > 1; i++) {
        struct entry *entry = entry_at(m, i);
        if (entry->is_left || !entry->object->knows)
            continue;
        entry->is_left = true;
        start_errand(m, entry, leave_object);
    }
}

/* --- Unwinding --------------------------------------------------------------------- */

static const struct unwind_table *table_of(void *context, object_id id)
{
    struct machine_resolver *m = context;
    struct object *o = object_of(m, id);
    return o ? object_unwind_table(o, m->settings) : NULL;
}

static void no_frames(struct unwind_job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        jobs[i].count = 0;
        jobs[i].end = UNWIND_NO_TABLE;
    }
}

static void resolver_unwind(void *context, unsigned hand, struct unwind_job *jobs,
                            size_t count)
{
    struct machine_resolver *m = context;
    struct hand *h = &m->hands[hand];
    struct unwind_objects objects = {.table = table_of, .context = m};
    if (!h->cache)
        h->cache = unwind_cache_create(&h->arena);
    if (h->cache)
        unwind_batch(h->cache, &objects, jobs, count);
    else
        no_frames(jobs, count);
}

/* --- Names ------------------------------------------------------------------------- */

/* Addresses of one object, in order. */
struct share {
    struct errand errand; /* answers them */
    struct naming *naming;
    struct entry *entry;
    uint32_t *jobs; /* numbers */
    struct dwarf_query *queries;
    size_t count;
    struct share *next; /* piece of the object, or none */

    /* Of the first one of an object: */
    bool is_known; /* what is kept was answered */
    size_t asked;  /* the first of its jobs, which were not kept */
};

struct naming {
    struct machine_resolver *m;
    struct name_job *jobs;
    struct share *shares; /* one an object */
    size_t share_count, share_cap;
    bool failed; /* atomic: memory was short, and some were not answered for that */
    struct arena scratch;
};

static bool add_share(struct naming *n, const struct share *share)
{
    struct share *shares = arena_grow(&n->scratch, n->shares, &n->share_cap,
                                      n->share_count + 1, sizeof *shares);
    if (!shares)
        return false;
    n->shares = shares;
    shares[n->share_count++] = *share;
    return true;
}

/* The jobs' numbers, those of one object together. */
static struct sort_key *order_jobs(struct naming *n, size_t count)
{
    struct sort_key *order = arena_alloc(&n->scratch, 2 * (count + 1) * sizeof *order);
    if (!order || count >= UINT32_MAX)
        return NULL;
    for (uint32_t i = 0; i < count; i++) {
        n->jobs[i].frames = NULL;
        n->jobs[i].count = 0;
        order[i] = (struct sort_key){n->jobs[i].object, i};
    }
    sort_keys(order, count, order + count);
    return order;
}

/* One share an object. */
static bool group_jobs(struct naming *n, size_t count)
{
    const struct sort_key *order = order_jobs(n, count);
    uint32_t *jobs = arena_alloc(&n->scratch, (count + 1) * sizeof *jobs);
    struct dwarf_query *queries = arena_zalloc(&n->scratch, count + 1, sizeof *queries);
    if (!order || !jobs || !queries)
        return false;
    for (size_t from = 0, to; from < count; from = to) {
        object_id id = (object_id)order[from].key;
        for (to = from; to < count && order[to].key == id; to++)
            jobs[to] = order[to].id;
        struct share share = {.naming = n,
                              .entry = entry_at(n->m, id),
                              .jobs = jobs + from,
                              .queries = queries + from,
                              .count = to - from};
        if (id && !add_share(n, &share))
            return false;
    }
    return true;
}

/* Answers what is kept, and leaves the rest of the jobs in the share. */
static void answer_known(struct naming *n, struct share *s)
{
    struct object *o = s->entry->object;
    struct arena *arena = &n->m->hands[0].arena;
    size_t left = 0;
    if (s->is_known)
        return;
    s->is_known = true;
    object_known_names(o, n->m->settings);
    for (size_t i = 0; i < s->count; i++) {
        uint32_t number = s->jobs[i];
        if (!name_cache_find(&o->names, &n->jobs[number], arena))
            s->jobs[left++] = number;
    }
    s->count = s->asked = left;
}

/* Where the call is that returns to an address. A signal handler returns to the first
 * instruction of a trampoline, which no call is in front of, and so may a stack that was
 * made by hand: where a function begins at the address and none ends there, it is the
 * address itself. */
static uint64_t call_address(const struct object *o, uint64_t address)
{
    struct symbol symbol;
    bool begins =
        o->has_symbols && !symbol_table_find(&o->symbols, address - 1, &symbol) &&
        symbol_table_find(&o->symbols, address, &symbol) && symbol.address == address;
    return begins ? address : address - 1;
}

/* The share's addresses, turned into those of its object's tables and put in order. What
 * is asked for is where the call is, not where it returns to. */
static void make_queries(struct naming *n, struct share *s)
{
    const struct object *o = s->entry->object;
    for (size_t i = 0; i < s->count; i++) {
        const struct name_job *job = &n->jobs[s->jobs[i]];
        uint64_t address;
        bool inside = object_address(o, job->address, &address);
        if (inside && job->is_call)
            address = call_address(o, address);
        s->queries[i] =
            (struct dwarf_query){.address = inside ? address : 0, .tag = s->jobs[i]};
    }
    if (o->has_dwarf || o->has_go)
        dwarf_order(&o->dwarf, s->queries, s->count);
}

/* Makes an object ready for what is not known of it. */
static void prepare_share(struct naming *n, struct share *s)
{
    answer_known(n, s);
    if (s->count == 0)
        return;
    object_names(s->entry->object, n->m->settings);
    make_queries(n, s);
}

/* A text of the reader's or the file's, remembered by where it lies: the names of one
 * file come again and again. */
struct kept_text {
    const char *from;
    size_t length;
    struct str text;
};

#define KEPT_TEXTS 1024

struct namer {
    const struct resolve_settings *settings;
    struct arena *arena; /* what is handed out */
    struct output scratch;
    struct kept_text names[KEPT_TEXTS];
    struct kept_text readers[KEPT_TEXTS]; /* what goes with the reader */
};

static struct kept_text *kept_slot(struct kept_text *slots, struct str s)
{
    uint64_t mixed = hash_mix((uint64_t)(uintptr_t)s.ptr ^ HASH_A, s.len ^ HASH_B);
    return &slots[mixed % KEPT_TEXTS];
}

static struct str shown_name(struct namer *r, struct str name)
{
    struct kept_text *slot = kept_slot(r->names, name);
    if (name.len == 0)
        return STR("");
    if (slot->from != name.ptr || slot->length != name.len) {
        struct str shown = demangle(name, r->settings->demangle, &r->scratch);
        *slot = (struct kept_text){name.ptr, name.len, arena_str(r->arena, shown)};
    }
    return slot->text;
}

/* Paths and the names that it makes are the reader's, and go with it. */
static struct str kept_text(struct namer *r, struct str text)
{
    struct kept_text *slot = kept_slot(r->readers, text);
    if (text.len == 0)
        return STR("");
    if (slot->from != text.ptr || slot->length != text.len)
        *slot = (struct kept_text){text.ptr, text.len, arena_str(r->arena, text)};
    return slot->text;
}

static struct str function_name(struct namer *r, const struct dwarf_frame *f)
{
    return f->is_made ? kept_text(r, f->name) : shown_name(r, f->name);
}

/* How many functions are inlined at an address. Those without a name, which may stand in
 * a file that is not there, are no frames: what they are part of has its own. */
static size_t named_inlined(const struct namer *r, const struct dwarf_query *q)
{
    size_t count = 0;
    for (size_t i = 0; i + 1 < q->count && !r->settings->no_inline; i++)
        count += q->frames[i].name.len != 0;
    return count;
}

/* Before each function of the kernel stands padding that is never run, with a symbol of its
 * own (CONFIG_CALL_PADDING). So what seems to return right behind it was no call: there an
 * interrupt came, at the function's first instruction. */
static bool find_symbol(const struct object *o, uint64_t address, bool is_call,
                        struct symbol *symbol)
{
    struct symbol behind;
    if (!o->has_symbols || !symbol_table_find(&o->symbols, address, symbol))
        return false;
    if (is_call && str_starts(symbol->name, STR("__pfx_")) &&
        symbol_table_find(&o->symbols, address + 1, &behind) &&
        behind.address == address + 1)
        *symbol = behind;
    return true;
}

/* How far behind a function's beginning the job's address is; `found` is where it was
 * looked up. */
static uint64_t offset_in(const struct object *o, const struct name_job *job,
                          uint64_t found, uint64_t start)
{
    uint64_t address;
    return (object_address(o, job->address, &address) ? address : found) - start;
}

/* The frames of one address: those inlined, the innermost first, then the function that
 * the symbol table has there. */
static void answer(struct namer *r, const struct object *o, const struct dwarf_query *q,
                   struct name_job *job)
{
    struct symbol symbol;
    size_t inlined = named_inlined(r, q);
    bool has_symbol = find_symbol(o, q->address, job->is_call, &symbol);
    if (!has_symbol && q->count == 0)
        return;
    struct resolved_frame *frames = arena_alloc(r->arena, (inlined + 1) * sizeof *frames);
    if (!frames)
        return;
    for (size_t i = 0, at = 0; at < inlined; i++)
        if (q->frames[i].name.len)
            frames[at++] = (struct resolved_frame){function_name(r, &q->frames[i]),
                                                   kept_text(r, q->frames[i].file),
                                                   q->frames[i].line, FRAME_INLINED, 0};
    struct resolved_frame *outer = &frames[inlined];
    *outer = (struct resolved_frame){.name = STR(""), .kind = o->wanted.kind};
    if (q->count) {
        const struct dwarf_frame *last = &q->frames[q->count - 1];
        const struct dwarf_frame *place = inlined ? last : &q->frames[0];
        outer->name = has_symbol ? STR("") : function_name(r, last);
        outer->file = kept_text(r, place->file);
        outer->line = place->line;
    }
    if (has_symbol) {
        outer->name = shown_name(r, symbol.name);
        outer->offset = offset_in(o, job, q->address, symbol.address);
    }
    job->frames = frames;
    job->count = inlined + 1;
}

/* Code of a jitdump, by its version. */
static bool answer_jit(struct namer *r, const struct object *o, const struct jitdump *jit,
                       const struct dwarf_query *q, struct name_job *job)
{
    const struct jit_code *code = job->version
                                      ? &jit->codes[job->version - 1]
                                      : jitdump_find(jit, q->address, UINT64_MAX);
    struct resolved_frame *frame = code ? arena_alloc(r->arena, sizeof *frame) : NULL;
    if (!frame)
        return false;
    const struct jit_line *line = jitdump_line(jit, code, q->address);
    *frame =
        (struct resolved_frame){.name = shown_name(r, code->name),
                                .file = line ? kept_text(r, line->file) : STR(""),
                                .line = line ? line->line : 0,
                                .kind = FRAME_JIT,
                                .offset = offset_in(o, job, q->address, code->address)};
    job->frames = frame;
    job->count = 1;
    return true;
}

/* Answers from Go's own table what DWARF does not know. */
static void answer_go(struct go_reader *reader, const struct object *o,
                      const struct share *s)
{
    go_reader_init(reader, &o->go);
    for (size_t i = 0; o->has_go && i < s->count; i++)
        go_find(reader, &s->queries[i]);
}

/* False when memory is short. */
static bool answer_share(struct naming *n, struct namer *r, const struct share *s)
{
    struct dwarf_reader reader;
    struct error ignored;
    struct object *o = s->entry->object;
    const struct jitdump *jit = object_jitdump(o, n->m->settings);
    bool reads = o->has_dwarf && dwarf_reader_init(&reader, &o->dwarf, &ignored);
    bool found = reads && dwarf_find(&reader, s->queries, s->count, &ignored);
    for (size_t i = 0; reads && !found && i < s->count; i++)
        s->queries[i].count = 0;
    struct go_reader go;
    answer_go(&go, o, s);
    for (size_t i = 0; i < s->count; i++) {
        struct name_job *job = &n->jobs[s->queries[i].tag];
        bool dumped = jit && job->version <= jit->code_count;
        if (!dumped || !answer_jit(r, o, jit, &s->queries[i], job))
            answer(r, o, &s->queries[i], job);
    }
    bool short_of = go.arena.failed || go.results.failed;
    go_reader_deinit(&go);
    if (reads) {
        dwarf_reader_deinit(&reader);
        memset(r->readers, 0, sizeof r->readers); /* other texts may lie there now */
    }
    if (short_of)
        return false;
    return found || !o->has_dwarf;
}

static struct namer *namer_make(const struct resolve_settings *settings,
                                struct arena *arena)
{
    struct namer *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->settings = settings;
    r->arena = arena;
    r->scratch = OUTPUT_KEEP;
    return r;
}

static void namer_destroy(struct namer *r)
{
    if (r)
        output_deinit(&r->scratch);
    free(r);
}

static void name_share(struct errand *e, unsigned number)
{
    const struct share *s = (const struct share *)(const void *)e;
    struct machine_resolver *m = s->naming->m;
    struct hand *hand = &m->hands[number];
    if (!hand->namer)
        hand->namer = namer_make(m->settings, &hand->arena);
    if (!hand->namer || !answer_share(s->naming, hand->namer, s) || hand->arena.failed)
        __atomic_store_n(&s->naming->failed, true, __ATOMIC_RELAXED);
}

/* A piece of the share, the first `count` of it, as one of its own behind it. */
static bool cut_off(struct naming *n, struct share *s, size_t count)
{
    struct share *piece = arena_alloc(&n->scratch, sizeof *piece);
    if (!piece)
        return false;
    *piece = *s;
    piece->count = count;
    s->next = piece;
    s->queries += count;
    s->count -= count;
    return true;
}

/* Gives the share to the crew, what is much for one hand in pieces. */
static void send_share(struct naming *n, struct share *s)
{
    const struct object *o = s->entry->object;
    if (s->count == 0)
        return;
    while (s->count > NAME_SHARE) {
        size_t cut =
            o->has_dwarf ? dwarf_cut(s->queries, s->count, NAME_SHARE) : NAME_SHARE;
        if (cut == s->count || !cut_off(n, s, cut))
            break;
    }
    for (struct share *piece = s; piece; piece = piece->next) {
        piece->errand = (struct errand){.work = name_share};
        crew_start(&n->m->crew, &piece->errand);
    }
}

static void read_names(struct errand *e, unsigned hand)
{
    struct entry *entry = (struct entry *)(void *)e;
    (void)hand;
    object_names(entry->object, entry->settings);
    __atomic_store_n(&entry->is_ready, true, __ATOMIC_RELEASE);
}

/* Whether the object is ready to be asked what is not known of it. Where it is to be read
 * first, the crew does that, beside others. */
static bool is_ready(struct naming *n, struct share *s)
{
    struct entry *entry = s->entry;
    if (entry->is_under_way && !__atomic_load_n(&entry->is_ready, __ATOMIC_ACQUIRE))
        return false;
    finish_errand(n->m, entry);
    answer_known(n, s);
    if (s->count == 0 || entry->object->named || n->m->crew.hands == 1)
        return true;
    start_errand(n->m, entry, read_names);
    return false;
}

/* Those objects first that are ready: the others' errands go on beside them. */
static void send_shares(struct naming *n)
{
    for (size_t i = 0; i < n->share_count; i++) {
        struct share *s = &n->shares[i];
        if (!is_ready(n, s))
            continue;
        prepare_share(n, s);
        send_share(n, s);
    }
    for (size_t i = 0; i < n->share_count; i++) {
        struct share *s = &n->shares[i];
        if (s->errand.work)
            continue;
        finish_errand(n->m, s->entry);
        prepare_share(n, s);
        send_share(n, s);
    }
}

/* Waits for the answers of an object. */
static void take_answers(struct naming *n, struct share *s)
{
    if (s->errand.work)
        crew_finish(&n->m->crew, &s->errand);
    for (struct share *piece = s->next; piece; piece = piece->next)
        crew_finish(&n->m->crew, &piece->errand);
}

/* Keeps the answers of an object for the next time. */
static void remember(const struct naming *n, const struct share *s)
{
    for (size_t i = 0; i < s->asked; i++)
        name_cache_add(&s->entry->object->names, &n->jobs[s->jobs[i]]);
}

static void resolver_name(void *context, struct name_job *jobs, size_t count)
{
    struct machine_resolver *m = context;
    struct naming n = {.m = m, .jobs = jobs, .scratch = ARENA_INIT};
    if (group_jobs(&n, count)) {
        send_shares(&n);
        for (size_t i = 0; i < n.share_count; i++)
            take_answers(&n, &n.shares[i]);
        for (size_t i = 0; !n.failed && i < n.share_count; i++)
            remember(&n, &n.shares[i]);
    }
    finish_errands(m);
    for (unsigned i = 0; i < m->crew.hands; i++) {
        namer_destroy(m->hands[i].namer);
        m->hands[i].namer = NULL;
    }
    arena_deinit(&n.scratch);
}

/* Versions are places among the codes of a jitdump, + 1. */
#define NO_CODE UINT32_MAX

static uint32_t resolver_version(void *context, object_id id, uint64_t address,
                                 uint64_t time)
{
    const struct machine_resolver *m = context;
    struct object *o = object_of(m, id);
    if (!o || o->wanted.kind != FRAME_JIT)
        return 0;
    const struct jitdump *jit = object_jitdump(o, m->settings);
    if (jit && jit->arch_timestamp)
        return 0;
    const struct jit_code *code = jit ? jitdump_find(jit, address, time) : NULL;
    return code ? (uint32_t)(code - jit->codes) + 1 : NO_CODE;
}

struct resolver machine_resolver_seam(struct machine_resolver *m)
{
    return (struct resolver){.context = m,
                             .crew = &m->crew,
                             .object = resolver_object,
                             .expect = resolver_expect,
                             .unwind = resolver_unwind,
                             .name = resolver_name,
                             .leave = resolver_leave,
                             .version = resolver_version};
}

struct object *machine_resolver_object(const struct resolver *seam, object_id id)
{
    if (!seam || seam->name != resolver_name)
        return NULL;
    struct machine_resolver *m = seam->context;
    finish_errands(m);
    return id < m->entries.count ? object_of(m, id) : NULL;
}

struct object *machine_resolver_tables(const struct resolver *seam, object_id id)
{
    struct object *o = machine_resolver_object(seam, id);
    if (o)
        object_names(o, ((const struct machine_resolver *)seam->context)->settings);
    return o;
}

bool machine_resolver_function(const struct resolver *seam, object_id id,
                               uint64_t address, uint64_t *start, uint64_t *end)
{
    const struct cfi_section *section;
    struct cfi_fde fde;
    struct object *o = machine_resolver_object(seam, id);
    const struct unwind_table *t =
        o ? object_unwind_table(
                o, ((const struct machine_resolver *)seam->context)->settings)
          : NULL;
    if (!t || !unwind_table_fde(t, address, &section, &fde))
        return false;
    *start = fde.start;
    *end = fde.end;
    return true;
}

static void report_first(size_t *count, struct str *first, struct str path)
{
    if (path.len && (*count)++ == 0)
        *first = path;
}

/* What an object's names would have come from, and was not there. */
static void report_parts(const struct object *o, struct resolve_report *r)
{
    bool is_jit = o->wanted.kind == FRAME_JIT;
    const struct object *dump = is_jit && o->own_dump ? *o->own_dump : NULL;
    r->kernel_hidden |= o->is_hidden;
    if (o->wanted.kind == FRAME_KERNEL && o->named && !o->has_symbols && !o->is_hidden &&
        str_starts(o->wanted.path, STR("[kernel.kallsyms]"))) {
        r->kernel_unknown = true;
        r->kernel_release = o->wanted.release;
    }
    bool unread =
        o->is_dump ? o->jit_state == 1 : is_jit && o->named && !o->has_symbols && !dump;
    if (unread)
        report_first(&r->unread, &r->unread_why, o->refused);
    report_first(&r->unsplit, &r->unsplit_path, o->split.missing);
    report_first(&r->unshared, &r->unshared_path, o->no_alternate);
}

void machine_resolver_report(const struct machine_resolver *m, struct resolve_report *r)
{
    *r = (struct resolve_report){.missing = 0};
    for (size_t i = 1; i < m->entries.count; i++) {
        const struct object *o = entry_at(m, i)->object;
        bool is_file = o->wanted.path.len && o->wanted.path.ptr[0] == '/' &&
                       o->wanted.kind == FRAME_USER && !o->is_dump;
        report_parts(o, r);
        if (!o->named || !is_file || o->has_symbols || o->has_dwarf)
            continue;
        if (o->result == FIND_NONE && r->missing++ == 0)
            r->missing_path = o->wanted.path;
        if (o->result == FIND_OTHER && r->changed++ == 0)
            r->changed_path = o->wanted.path;
    }
}

void machine_resolver_doubts(const struct machine_resolver *m,
                             void (*each)(void *context, const char *why), void *context)
{
    char why[DOUBT_MAX];
    for (size_t i = 1; i < m->entries.count; i++)
        if (object_doubt(entry_at(m, i)->object, m->settings, why))
            each(context, why);
}

bool machine_resolver_is_stripped(const struct machine_resolver *m, struct str path,
                                  bool *has_build_id)
{
    for (size_t i = 1; i < m->entries.count; i++) {
        const struct object *o = entry_at(m, i)->object;
        *has_build_id = o->has_build_id;
        if (o->is_stripped && str_equal(o->wanted.path, path))
            return true;
    }
    return false;
}
