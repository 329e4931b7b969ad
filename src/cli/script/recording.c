/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of a recording, printed as they come.
 *
 * The head of a sample is printed when it is read, into a buffer of its own, for its
 * bytes are then about to go. Its stack comes later. Stacks wait until there are enough
 * to ask for the names of all that is new in them at once; then heads and stacks go out.
 * The first few are not kept waiting for many. */
#include "cli/script/script.h"
#include <stdlib.h>

#define WAITING_FIRST 256
#define WAITING_MOST 65536
#define PLACES_MOST ((size_t)4 << 20)

/* What a sample is printed with but for its stack. Slots are used again, with the memory
 * they have. */
struct slot {
    struct output text; /* the head, then what stands behind the stack */
    size_t head_size;
    uint32_t fields;
    bool has_chain, is_sample;
    uint32_t next_free;
};

/* A sample whose stack is known. */
struct item {
    uint32_t slot;
    uint32_t count, unwound;
    size_t first; /* among the places that wait */
};

struct script_recording {
    const struct script_settings *settings;
    struct script_choice *choice;
    struct output *out;
    struct perf_taker taker;
    struct arena arena;
    struct slot *slots; /* [0] is none */
    size_t slot_count, slot_cap;
    uint32_t free_slot;
    struct item *items;
    size_t item_count, item_cap, wait_for;
    frame_id *places;
    size_t place_count, place_cap;
    uint32_t *fields; /* by event: those it is printed with, and FIELDS_KNOWN */
    size_t field_count, field_cap;
    size_t event_width;
    uint32_t missing;
    uint64_t first_time;
    bool failed;
};

#define FIELDS_KNOWN ((uint32_t)1 << 31)

/* --- Heads ------------------------------------------------------------------------- */

static uint32_t take_slot(struct script_recording *r)
{
    uint32_t number = r->free_slot;
    if (number) {
        r->free_slot = r->slots[number].next_free;
        r->slots[number].text.used = 0;
        return number;
    }
    size_t at = r->slot_count ? r->slot_count : 1;
    struct slot *slots = at < UINT32_MAX ? arena_grow(&r->arena, r->slots, &r->slot_cap,
                                                      at + 1, sizeof *slots)
                                         : NULL;
    if (!slots)
        return 0;
    r->slots = slots;
    slots[at] = (struct slot){.text = OUTPUT_KEEP};
    r->slot_count = at + 1;
    return (uint32_t)at;
}

static void give_slot(struct script_recording *r, uint32_t number)
{
    r->slots[number].next_free = r->free_slot;
    r->free_slot = number;
}

/* What samples of the event are printed with. */
static uint32_t fields_of(struct script_recording *r, const struct perf_data *d,
                          const struct perf_event *e)
{
    size_t at = (size_t)(e - d->events);
    uint32_t missing;
    if (at >= r->field_count) {
        uint32_t *fields = arena_grow(&r->arena, r->fields, &r->field_cap, d->event_count,
                                      sizeof *fields);
        if (!fields)
            return 0;
        memset(fields + r->field_count, 0,
               (d->event_count - r->field_count) * sizeof *fields);
        r->fields = fields;
        r->field_count = d->event_count;
    }
    if (!r->fields[at]) {
        r->fields[at] =
            FIELDS_KNOWN | script_fields_of(&r->settings->fields, d, e, &missing);
        r->missing |= missing;
    }
    return r->fields[at];
}

/* The room for the name: perf's is the longest one's, as it is when the first is printed.
 */
static size_t width_of_events(struct script_recording *r, const struct perf_data *d)
{
    size_t width = r->event_width;
    for (size_t i = 0; r->event_width == 0 && i < d->event_count; i++)
        width = d->events[i].name.len > width ? d->events[i].name.len : width;
    return r->event_width = width;
}

/* The name of a thread, as the builder has it. */
static struct str comm_of(struct perf_profile *p, uint32_t pid, uint32_t tid)
{
    if (pid == PERF_ID_NONE && tid == PERF_ID_NONE)
        return STR(":-1");
    thread_id thread = perf_profile_thread(p, pid, tid);
    const struct profile *profile = p->b->profile;
    return profile_string(profile, profile->threads[thread].name);
}

static int64_t number_or_none(uint32_t id)
{
    return id == PERF_ID_NONE ? ID_NONE : (int64_t)id;
}

static bool wants(struct script_recording *r, const struct perf_profile *p,
                  const struct script_head *h, bool is_record)
{
    struct script_origin of = {.comm = h->comm,
                               .event = h->event,
                               .pid = h->pid,
                               .tid = h->tid,
                               .cpu = h->cpu,
                               .time = h->time,
                               .is_record = is_record};
    const struct perf_facts *facts = &p->data.facts;
    struct script_span span = {facts->time_first, facts->time_last,
                               facts->time_first &&
                                   facts->time_first <= facts->time_last};
    if (h->time < r->first_time)
        r->first_time = h->time;
    if (!span.known)
        span.first = r->first_time;
    return script_wants(r->choice, &of, &span);
}

static void write_sample(struct slot *slot, const struct script_head *h,
                         const struct perf_data *d, const struct perf_sample *s)
{
    struct output *o = &slot->text;
    uint32_t fields = h->fields;
    script_write_head(o, h);
    if (fields & FIELD_PERIOD)
        output_format(o, "%10llu ", (unsigned long long)s->period);
    script_write_event(o, h);
    if (fields & FIELD_TRACE && s->event->format)
        tracepoint_format_print(s->event->format, s->raw, d->big_endian, o);
    if (fields & FIELD_ADDR)
        output_format(o, "%16llx", (unsigned long long)s->address);
    if (fields & FIELD_WEIGHT)
        output_format(o, "%16llu", (unsigned long long)s->weight);
    slot->head_size = o->used;
    if (fields & FIELD_BRSTACK)
        script_write_branches(o, s->branches);
    if (fields & FIELD_PHYS_ADDR)
        output_format(o, "%16llx", (unsigned long long)s->physical_address);
}

static bool take_sample(void *context, struct perf_profile *p,
                        const struct perf_sample *s, struct sample *sample)
{
    struct script_recording *r = context;
    const struct perf_event *e = &p->data.events[sample->event];
    struct script_head h = {.fields = fields_of(r, &p->data, e),
                            .event = e->name,
                            .event_width = width_of_events(r, &p->data),
                            .comm = comm_of(p, s->pid, s->tid),
                            .pid = number_or_none(s->pid),
                            .tid = number_or_none(s->tid),
                            .cpu = s->cpu,
                            .misc = s->mode,
                            .time = s->time};
    h.has_chain = s->has_chain && !r->settings->no_chain;
    if (!(h.fields & ~FIELDS_KNOWN) || !wants(r, p, &h, false))
        return false;
    sample->stack = take_slot(r);
    if (!sample->stack)
        return false;
    struct slot *slot = &r->slots[sample->stack];
    slot->fields = h.fields;
    slot->has_chain = h.has_chain;
    slot->is_sample = true;
    write_sample(slot, &h, &p->data, s);
    return true;
}

static bool shows_record(const struct script_settings *s, uint32_t type)
{
    switch (type) {
    case PERF_MMAP:
    case PERF_MMAP2:
        return s->shows_maps;
    case PERF_COMM:
    case PERF_FORK:
    case PERF_EXIT:
        return s->shows_tasks;
    case PERF_LOST:
    case PERF_LOST_SAMPLES:
        return s->shows_lost;
    default:
        return false;
    }
}

/* The name of the thread that a record is about, which need not be the one that wrote it.
 */
static struct str comm_of_record(struct perf_profile *p, const struct perf_record *record,
                                 const struct perf_identity *id)
{
    struct perf_map map;
    struct perf_task task;
    bool is_map = record->type == PERF_MMAP || record->type == PERF_MMAP2;
    bool is_task = record->type == PERF_COMM || record->type == PERF_FORK ||
                   record->type == PERF_EXIT;
    if (is_map && perf_map_of(&p->data, record, &map))
        return comm_of(p, map.pid, map.tid);
    if (is_task && perf_task_of(&p->data, record, &task))
        return comm_of(p, task.pid, task.tid);
    return comm_of(p, id->pid, id->tid);
}

static void take_record(void *context, struct perf_profile *p,
                        const struct perf_record *record)
{
    struct script_recording *r = context;
    if (!shows_record(r->settings, record->type) || p->data.event_count == 0)
        return;
    int64_t at = perf_event_of(&p->data, record);
    const struct perf_event *e = &p->data.events[at < 0 ? 0 : at];
    struct perf_identity id = perf_identity(&p->data, record);
    struct script_head h = {.fields = fields_of(r, &p->data, e),
                            .has_chain = e->sample_type & PERF_SAMPLE_CALLCHAIN &&
                                         !r->settings->no_chain,
                            .event = STR(""),
                            .comm = comm_of_record(p, record, &id),
                            .pid = number_or_none(id.pid),
                            .tid = number_or_none(id.tid),
                            .cpu = id.cpu == PERF_ID_NONE ? 0 : id.cpu,
                            .misc = record->misc,
                            .time = id.time};
    uint32_t slot = wants(r, p, &h, true) ? take_slot(r) : 0;
    if (!slot)
        return;
    r->slots[slot].is_sample = false;
    script_write_head(&r->slots[slot].text, &h);
    if (script_write_record(&r->slots[slot].text, &p->data, record))
        perf_stacks_turn(p, &(struct sample){.stack = slot});
    else
        give_slot(r, slot);
}

/* --- Stacks ------------------------------------------------------------------------ */

/* A place in the way that perf shows it: files' by their offset in the file, all else,
 * and what stands alone on its line, as the processor had it. Callers from a dump stand
 * at their call. */
static struct script_frame frame_of(const struct perf_profile *p, frame_id number,
                                    bool in_chain, bool unwound)
{
    const struct perf_place *place = &p->places.items[number];
    const struct perf_file *file = &p->files[place->file];
    bool by_offset = in_chain && !file->by_address && place->file != FILE_NONE;
    uint64_t back = unwound && place->is_call;
    return (struct script_frame){.address =
                                     (by_offset ? place->address : place->pc) - back,
                                 .module = file->module,
                                 .name = file->symbol,
                                 .file = STR("")};
}

static void name_frame(struct script_frame *f, const struct name_job *job, size_t i,
                       uint64_t back)
{
    const struct resolved_frame *at = &job->frames[i],
                                *outer = &job->frames[job->count - 1];
    f->name = at->name;
    f->file = at->file;
    f->line = at->line;
    f->inlined = at->kind == FRAME_INLINED;
    f->offset = outer->offset - back;
    f->has_offset = outer->name.len;
}

static const struct name_job *names_of(const struct perf_profile *p, frame_id place)
{
    static const struct name_job none;
    return place < p->named_count ? &p->jobs[place] : &none;
}

/* The functions at a place: those inlined, then the one they are in. */
static void write_place(struct script_recording *r, const struct perf_profile *p,
                        const struct slot *slot, frame_id number, bool unwound,
                        int64_t *left)
{
    const struct name_job *job = names_of(p, number);
    struct script_frame f = frame_of(p, number, true, unwound);
    uint64_t back = unwound && p->places.items[number].is_call;
    for (size_t i = 0; i<job->count && * left> 0; i++, --*left) {
        name_frame(&f, job, i, back);
        script_write_frame(r->out, slot->fields, true, &f);
    }
    if (job->count || *left <= 0)
        return;
    script_write_frame(r->out, slot->fields, true, &f);
    --*left;
}

/* The function where the sample was, behind its head. */
static void write_alone(struct script_recording *r, const struct perf_profile *p,
                        const struct slot *slot, frame_id number)
{
    const struct name_job *job = names_of(p, number);
    struct script_frame f = frame_of(p, number, false, false);
    if (job->count)
        name_frame(&f, job, job->count - 1, 0);
    output_char(r->out, ' ');
    script_write_frame(r->out, slot->fields, false, &f);
}

/* On lines of their own stand the frames of chains, and of what is more than one frame.
 */
static void write_stack(struct script_recording *r, const struct perf_profile *p,
                        const struct slot *slot, const struct item *item)
{
    const frame_id *places = r->places + item->first;
    int64_t left = r->settings->max_stack;
    bool alone = !slot->has_chain && item->count &&
                 (r->settings->no_chain || names_of(p, places[0])->count <= 1);
    if (alone) {
        write_alone(r, p, slot, places[0]);
        return;
    }
    output_char(r->out, '\n');
    for (size_t i = 0; i < item->count && left > 0; i++)
        write_place(r, p, slot, places[i], i + item->unwound >= item->count, &left);
}

static void write_item(struct script_recording *r, const struct perf_profile *p,
                       const struct item *item)
{
    const struct slot *slot = &r->slots[item->slot];
    struct str text = output_kept(&slot->text);
    if (!slot->is_sample) {
        output_str(r->out, text);
        return;
    }
    output_str(r->out, str_head(text, slot->head_size));
    if (slot->fields & FIELD_IP)
        write_stack(r, p, slot, item);
    output_str(r->out, str_skip(text, slot->head_size));
    output_char(r->out, '\n');
}

static void write_waiting(struct script_recording *r, struct perf_profile *p)
{
    perf_files_finish(p);
    if (p->resolver && p->places.count && !perf_places_name(p))
        r->failed = true;
    for (size_t i = 0; i < r->item_count; i++) {
        write_item(r, p, &r->items[i]);
        r->failed |= r->slots[r->items[i].slot].text.failed;
        give_slot(r, r->items[i].slot);
    }
    r->item_count = r->place_count = 0;
    if (r->wait_for < WAITING_MOST)
        r->wait_for *= 2;
}

static void take_stack(void *context, struct perf_profile *p, const struct sample *sample,
                       const frame_id *places, size_t count, size_t unwound)
{
    struct script_recording *r = context;
    struct item *items =
        arena_grow(&r->arena, r->items, &r->item_cap, r->item_count + 1, sizeof *items);
    if (items)
        r->items = items;
    frame_id *room = arena_grow(&r->arena, r->places, &r->place_cap,
                                r->place_count + count + 1, sizeof *room);
    if (room)
        r->places = room;
    if (!items || !room)
        return;
    if (count)
        memcpy(room + r->place_count, places, count * sizeof *room);
    items[r->item_count++] = (struct item){.slot = sample->stack,
                                           .count = (uint32_t)count,
                                           .unwound = (uint32_t)unwound,
                                           .first = r->place_count};
    r->place_count += count;
    if (r->item_count >= r->wait_for || r->place_count >= PLACES_MOST)
        write_waiting(r, p);
}

static void take_end(void *context, struct perf_profile *p)
{
    struct script_recording *r = context;
    write_waiting(r, p);
    r->field_count = 0; /* the next one has other events */
    r->first_time = TIME_NONE;
}

/* --- The whole --------------------------------------------------------------------- */

struct script_recording *script_recording_create(const struct script_settings *s,
                                                 struct script_choice *choice,
                                                 struct output *o)
{
    struct script_recording *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->settings = s;
    r->choice = choice;
    r->out = o;
    r->wait_for = WAITING_FIRST;
    r->first_time = TIME_NONE;
    r->taker = (struct perf_taker){.context = r,
                                   .record = take_record,
                                   .sample = take_sample,
                                   .stack = take_stack,
                                   .end = take_end};
    return r;
}

void script_recording_destroy(struct script_recording *r)
{
    for (size_t i = 1; r && i < r->slot_count; i++)
        output_deinit(&r->slots[i].text);
    if (r)
        arena_deinit(&r->arena);
    free(r);
}

const struct perf_taker *script_recording_taker(const struct script_recording *r)
{
    return &r->taker;
}

bool script_recording_check(const struct script_recording *r, uint32_t *missing,
                            struct error *err)
{
    *missing = r->missing;
    return !(r->failed || r->arena.failed) || error_memory(err);
}
