/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the samples of a recording while it is read.
 *
 * The head of a sample is formatted into its own buffer when it is read, because its
 * bytes are only valid then. Its stack follows later: names are requested for many
 * stacks at once, and then heads and stacks are printed. The first batches are small, so
 * that output starts early. */
#include "base/array.h"
#include "cli/script/dump.h"
#include "cli/script/script.h"
#include <stdlib.h>

#define WAITING_FIRST 256
#define WAITING_MOST 65536
#define LOCATIONS_MOST ((size_t)4 << 20)
#define DUMPED_MOST ((size_t)4 << 20) /* bytes of dumped records that wait */

/* The text of a sample except its stack. Slots are reused with their memory. */
struct slot {
    struct output text; /* the head without the time, then the text after the stack */
    size_t head_size, time_at;
    uint64_t time;
    uint32_t fields;
    bool has_chain, is_sample;
    uint32_t next_free;
};

/* A sample whose stack is known. */
struct item {
    uint32_t slot;
    uint32_t count, unwound;
    size_t first; /* index in the waiting locations */
};

struct script_recording {
    const struct script_settings *settings;
    struct script_choice *choice;
    struct output *out;
    struct perf_consumer consumer;
    struct arena arena;
    struct slot *slots; /* [0] is none */
    size_t slot_count, slot_cap;
    uint32_t free_slot;
    struct item *items;
    size_t item_count, item_cap, wait_for;
    location_id *locations;
    size_t location_count, location_cap;
    uint32_t *fields; /* by event: the fields that are printed, and FIELDS_KNOWN */
    size_t field_count, field_cap;
    size_t event_width, source_width, dumped;
    uint32_t missing;
    uint64_t first_time;
    struct script_clock clock;
    bool failed, wrote_header; /* of this recording */
};

#define FIELDS_KNOWN ((uint32_t)1 << 31)

static void write_waiting(struct script_recording *r, struct perf_profile *p);

/* --- Heads ------------------------------------------------------------------------- */

static uint32_t allocate_slot(struct script_recording *r)
{
    uint32_t number = r->free_slot;
    if (number) {
        r->free_slot = r->slots[number].next_free;
        r->slots[number].text.used = 0;
        return number;
    }
    size_t at = r->slot_count ? r->slot_count : 1;
    if (at >= UINT32_MAX || !ARRAY_RESERVE(&r->arena, r->slots, r->slot_cap, at + 1))
        return 0;
    r->slots[at] = (struct slot){.text = OUTPUT_BUFFER};
    r->slot_count = at + 1;
    return (uint32_t)at;
}

static void release_slot(struct script_recording *r, uint32_t number)
{
    r->slots[number].next_free = r->free_slot;
    r->free_slot = number;
}

/* The fields that are printed of samples of the event. */
static uint32_t fields_of(struct script_recording *r, const struct perf_data *d,
                          const struct perf_event *e)
{
    size_t at = (size_t)(e - d->events);
    uint32_t missing;
    if (at >= r->field_count) {
        if (!ARRAY_RESERVE_ZEROED(&r->arena, r->fields, r->field_cap, d->event_count))
            return 0;
        r->field_count = d->event_count;
    }
    if (!r->fields[at]) {
        r->fields[at] =
            FIELDS_KNOWN | script_fields_of(&r->settings->fields, d, e, &missing);
        r->missing |= missing;
    }
    return r->fields[at];
}

/* The width of the name: as in perf, the longest name when the first sample is
 * printed. */
static size_t width_of_events(struct script_recording *r, const struct perf_data *d)
{
    size_t width = r->event_width;
    for (size_t i = 0; r->event_width == 0 && i < d->event_count; i++)
        width = d->events[i].name.len > width ? d->events[i].name.len : width;
    return r->event_width = width;
}

static int64_t number_or_none(uint32_t id)
{
    return id == PERF_ID_NONE ? ID_NONE : (int64_t)id;
}

static bool is_selected(struct script_recording *r, const struct perf_profile *p,
                        const struct script_head *h, bool is_record)
{
    struct script_origin of = {.comm = h->comm,
                               .event = h->event,
                               .pid = h->pid,
                               .tid = h->tid,
                               .cpu = h->cpu,
                               .time = h->time,
                               .is_record = is_record};
    const struct perf_facts *facts = &perf_profile_data(p)->facts;
    struct script_span span = {facts->time_first, facts->time_last,
                               facts->time_first &&
                                   facts->time_first <= facts->time_last};
    if (h->time < r->first_time)
        r->first_time = h->time;
    if (!span.known)
        span.first = r->first_time;
    return script_wants(r->choice, &of, &span);
}

/* What the hardware measured of the instruction or of its access to memory. */
static void write_access(struct script_recording *r, struct output *o, uint32_t fields,
                         const struct perf_sample *s)
{
    bool parts = s->event->sample_type & PERF_SAMPLE_WEIGHT_STRUCT;
    if (fields & FIELD_ADDR)
        output_format(o, "%16llx", (unsigned long long)s->address);
    if (fields & FIELD_DATA_SRC)
        script_write_data_source(o, s->data_source, &r->source_width);
    if (fields & FIELD_WEIGHT)
        output_format(o, "%16llu",
                      (unsigned long long)(parts ? (uint32_t)s->weight : s->weight));
    if (fields & FIELD_INS_LAT)
        output_format(o, "%16u", (unsigned)(s->weight >> 32 & 0xffff));
    if (fields & FIELD_RETIRE_LAT)
        output_format(o, "%16u", (unsigned)(s->weight >> 48));
}

static void write_cgroup(struct output *o, const struct perf_profile *p,
                         const struct perf_sample *s)
{
    struct str path = perf_profile_cgroup(p, s->cgroup);
    output_char(o, ' ');
    output_str(o, path.len ? path : STR("unknown"));
}

static void write_sample(struct script_recording *r, struct slot *slot,
                         const struct script_head *h, const struct perf_profile *p,
                         const struct perf_sample *s)
{
    const struct perf_data *d = perf_profile_data(p);
    struct output *o = &slot->text;
    uint32_t fields = h->fields;
    script_write_head(o, h);
    if (fields & FIELD_PERIOD)
        output_format(o, "%10llu ", (unsigned long long)s->period);
    script_write_event(o, h);
    if (fields & FIELD_FLAGS) /* flags are of instruction traces: an empty column */
        output_format(o, "%24s", "");
    if (fields & FIELD_TRACE && s->event->format)
        tracepoint_format_print(s->event->format, s->raw, d->big_endian, o);
    write_access(r, o, fields, s);
    if (fields & FIELD_CGROUP)
        write_cgroup(o, p, s);
    slot->head_size = o->used;
    if (fields & FIELD_IREGS)
        script_write_registers(o, perf_machine(d, &s->interrupt), &s->interrupt);
    if (fields & FIELD_UREGS)
        script_write_registers(o, perf_machine(d, &s->user), &s->user);
    if (fields & FIELD_BRSTACK)
        script_write_branches(o, s->branches);
    if (fields & FIELD_PHYS_ADDR)
        output_format(o, "%16llx", (unsigned long long)s->physical_address);
    if (fields & FIELD_DATA_PAGE_SIZE)
        script_write_page_size(o, s->data_page_size);
    if (fields & FIELD_CODE_PAGE_SIZE)
        script_write_page_size(o, s->code_page_size);
}

/* The facts of a pipe are known when its first sample is read. */
static void write_header(struct script_recording *r, const struct perf_profile *p)
{
    if (r->wrote_header || !(r->settings->header || r->settings->header_only))
        return;
    r->wrote_header = true;
    perf_header_write(perf_profile_data(p), r->out);
}

static bool on_sample(void *context, struct perf_profile *p, const struct perf_sample *s,
                      struct sample *sample)
{
    struct script_recording *r = context;
    const struct perf_data *d = perf_profile_data(p);
    const struct perf_event *e = &d->events[sample->event];
    struct script_head h = {.clock = &r->clock,
                            .fields = fields_of(r, d, e),
                            .event = e->name,
                            .event_width = width_of_events(r, d),
                            .comm = perf_profile_comm(p, s->pid, s->tid),
                            .pid = number_or_none(s->pid),
                            .tid = number_or_none(s->tid),
                            .cpu = s->cpu,
                            .misc = s->mode,
                            .time = s->time};
    write_header(r, p);
    h.has_chain = s->has_chain && !r->settings->no_chain;
    if (r->settings->header_only || !(h.fields & ~FIELDS_KNOWN) ||
        !is_selected(r, p, &h, false))
        return false;
    sample->stack = allocate_slot(r);
    if (!sample->stack)
        return false;
    struct slot *slot = &r->slots[sample->stack];
    slot->fields = h.fields;
    slot->time = h.time;
    h.time_at = &slot->time_at;
    slot->has_chain = h.has_chain;
    slot->is_sample = true;
    write_sample(r, slot, &h, p, s);
    return true;
}

/* Puts the text of a record between the samples. */
static void on_raw(void *context, struct perf_profile *p,
                   const struct perf_record *record)
{
    struct script_recording *r = context;
    write_header(r, p);
    uint32_t number = allocate_slot(r);
    if (!number)
        return;
    struct slot *slot = &r->slots[number];
    slot->is_sample = false;
    slot->fields = 0;
    script_dump_record(&slot->text, perf_profile_data(p), record);
    r->choice->has_output = true;
    r->dumped += slot->text.used;
    perf_profile_enqueue(p, &(struct sample){.stack = number});
    if (r->dumped < DUMPED_MOST)
        return;
    perf_profile_flush(p);
    write_waiting(r, p);
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
    case PERF_SWITCH:
    case PERF_SWITCH_CPU_WIDE:
        return s->shows_switches;
    case PERF_NAMESPACES:
        return s->shows_namespaces;
    case PERF_CGROUP:
        return s->shows_cgroups;
    default:
        return false;
    }
}

/* The name of the thread that a record describes; it may differ from the thread that
 * wrote the record. */
static struct str comm_of_record(struct perf_profile *p, const struct perf_record *record,
                                 const struct perf_identity *id)
{
    const struct perf_data *d = perf_profile_data(p);
    struct perf_mmap map;
    struct perf_task task;
    bool is_map = record->type == PERF_MMAP || record->type == PERF_MMAP2;
    bool is_task = record->type == PERF_COMM || record->type == PERF_FORK ||
                   record->type == PERF_EXIT;
    if (is_map && perf_map_of(d, record, &map))
        return perf_profile_comm(p, map.pid, map.tid);
    if (is_task && perf_task_of(d, record, &task))
        return perf_profile_comm(p, task.pid, task.tid);
    if (record->type == PERF_NAMESPACES) {
        struct bytes b = perf_body(d, record);
        uint32_t pid = bytes_u32(&b), tid = bytes_u32(&b);
        return perf_profile_comm(p, pid, tid);
    }
    return perf_profile_comm(p, id->pid, id->tid);
}

static void on_record(void *context, struct perf_profile *p,
                      const struct perf_record *record)
{
    struct script_recording *r = context;
    const struct perf_data *d = perf_profile_data(p);
    if (!shows_record(r->settings, record->type) || d->event_count == 0)
        return;
    int64_t at = perf_event_of(d, record);
    const struct perf_event *e = &d->events[at < 0 ? 0 : at];
    struct perf_identity id = perf_identity(d, record);
    struct script_head h = {.clock = &r->clock,
                            .fields = fields_of(r, d, e),
                            .has_chain = e->sample_type & PERF_SAMPLE_CALLCHAIN &&
                                         !r->settings->no_chain,
                            .event = STR(""),
                            .comm = comm_of_record(p, record, &id),
                            .pid = number_or_none(id.pid),
                            .tid = number_or_none(id.tid),
                            .cpu = id.cpu == PERF_ID_NONE ? 0 : id.cpu,
                            .misc = record->misc,
                            .record = record->type,
                            .time = id.time};
    uint32_t slot = is_selected(r, p, &h, true) ? allocate_slot(r) : 0;
    if (!slot)
        return;
    r->slots[slot].is_sample = false;
    r->slots[slot].fields = h.fields;
    r->slots[slot].time = h.time;
    h.time_at = &r->slots[slot].time_at;
    script_write_head(&r->slots[slot].text, &h);
    if (script_write_record(&r->slots[slot].text, d, record))
        perf_profile_enqueue(p, &(struct sample){.stack = slot});
    else
        release_slot(r, slot);
}

/* --- Stacks ------------------------------------------------------------------------ */

/* A location as perf shows it: in files by its offset; other locations, and a single one
 * on the line of its sample, by the sampled address. Callers from a dump are shown at
 * their call. */
static struct script_frame frame_of(const struct perf_location_info *l, bool in_chain,
                                    uint64_t back)
{
    bool by_offset = in_chain && !l->by_address;
    return (struct script_frame){.address = (by_offset ? l->address : l->pc) - back,
                                 .in_module = (l->by_address ? l->pc : l->address) - back,
                                 .module = l->module,
                                 .name = l->symbol,
                                 .offset = l->address - l->symbol_start - back,
                                 .has_offset = l->symbol_start != 0,
                                 .file = STR("")};
}

static void name_frame(const struct script_recording *r, struct script_frame *f,
                       const struct perf_location_info *l, size_t i, uint64_t back)
{
    const struct resolved_frame *at = &l->frames[i],
                                *outer = &l->frames[l->frame_count - 1];
    f->name = at->name;
    f->file = r->settings->full_paths ? at->file : str_basename(at->file);
    f->line = at->line;
    f->inlined = at->kind == FRAME_INLINED;
    f->offset = outer->offset - back;
    f->has_offset = outer->name.len;
}

/* The functions at a location: the inlined ones, then the one that contains them. */
static void write_location(struct script_recording *r, const struct perf_location_info *l,
                           const struct slot *slot, bool unwound, int64_t *left)
{
    uint64_t back = unwound && l->is_call;
    struct script_frame f = frame_of(l, true, back);
    for (size_t i = 0; i<l->frame_count && * left> 0; i++, --*left) {
        name_frame(r, &f, l, i, back);
        script_write_frame(r->out, slot->fields, true, &f);
    }
    if (l->frame_count || *left <= 0)
        return;
    script_write_frame(r->out, slot->fields, true, &f);
    --*left;
}

/* The function of the sample, on the line of its head. */
static void write_alone(struct script_recording *r, const struct perf_location_info *l,
                        const struct slot *slot)
{
    struct script_frame f = frame_of(l, false, 0);
    if (l->frame_count)
        name_frame(r, &f, l, l->frame_count - 1, 0);
    output_char(r->out, ' ');
    script_write_frame(r->out, slot->fields, false, &f);
}

/* Writes chains, and more than one frame, on separate lines. */
static void write_stack(struct script_recording *r, const struct perf_profile *p,
                        const struct slot *slot, const struct item *item)
{
    const location_id *path = r->locations + item->first;
    int64_t left = r->settings->max_stack;
    if (!slot->has_chain && item->count) {
        struct perf_location_info leaf = perf_profile_location(p, path[item->count - 1]);
        if (r->settings->no_chain || leaf.frame_count <= 1) {
            write_alone(r, &leaf, slot);
            return;
        }
    }
    output_char(r->out, '\n');
    for (size_t i = item->count; i-- > 0 && left > 0;) {
        struct perf_location_info l = perf_profile_location(p, path[i]);
        write_location(r, &l, slot, i < item->unwound, &left);
    }
}

/* False if the options exclude the function that the sample ends in. */
static bool is_function_selected(const struct script_recording *r,
                                 const struct perf_profile *p, const struct item *item)
{
    const struct script_wishes *w = &r->settings->wishes;
    if (!w->symbols && !w->dsos)
        return true;
    if (item->count == 0)
        return false;
    struct perf_location_info l =
        perf_profile_location(p, r->locations[item->first + item->count - 1]);
    struct str name = l.frame_count ? l.frames[l.frame_count - 1].name : l.symbol;
    return script_wants_function(w, name, l.module);
}

/* Writes the first bytes of a slot's text with the time among them. A time that is relative to
 * the line before is known only when it is known which lines are printed. */
static void write_head(struct script_recording *r, const struct slot *slot, size_t size)
{
    struct str text = str_head(output_contents(&slot->text), size);
    if (!(slot->fields & FIELD_TIME)) {
        output_str(r->out, text);
        return;
    }
    output_str(r->out, str_head(text, slot->time_at));
    script_write_time(r->out, &r->clock, slot->time);
    output_str(r->out, str_skip(text, slot->time_at));
}

static void write_item(struct script_recording *r, const struct perf_profile *p,
                       const struct item *item)
{
    const struct slot *slot = &r->slots[item->slot];
    struct str text = output_contents(&slot->text);
    if (!slot->is_sample) {
        write_head(r, slot, text.len);
        return;
    }
    if (!is_function_selected(r, p, item))
        return;
    write_head(r, slot, slot->head_size);
    if (slot->fields & FIELD_IP)
        write_stack(r, p, slot, item);
    output_str(r->out, str_skip(text, slot->head_size));
    output_char(r->out, '\n');
}

static void write_waiting(struct script_recording *r, struct perf_profile *p)
{
    r->failed |= !perf_profile_name(p);
    for (size_t i = 0; i < r->item_count; i++) {
        write_item(r, p, &r->items[i]);
        r->failed |= r->slots[r->items[i].slot].text.failed;
        release_slot(r, r->items[i].slot);
    }
    r->item_count = r->location_count = r->dumped = 0;
    if (r->wait_for < WAITING_MOST)
        r->wait_for *= 2;
}

static void on_stack(void *context, struct perf_profile *p, const struct sample *sample,
                     const location_id *locations, size_t count, size_t unwound)
{
    struct script_recording *r = context;
    if (!ARRAY_RESERVE(&r->arena, r->items, r->item_cap, r->item_count + 1) ||
        !ARRAY_RESERVE(&r->arena, r->locations, r->location_cap,
                       r->location_count + count + 1))
        return;
    if (count)
        memcpy(r->locations + r->location_count, locations, count * sizeof *locations);
    r->items[r->item_count++] = (struct item){.slot = sample->stack,
                                              .count = (uint32_t)count,
                                              .unwound = (uint32_t)unwound,
                                              .first = r->location_count};
    r->location_count += count;
    if (r->item_count >= r->wait_for || r->location_count >= LOCATIONS_MOST)
        write_waiting(r, p);
}

static void on_end(void *context, struct perf_profile *p)
{
    struct script_recording *r = context;
    write_waiting(r, p);
    write_header(r, p);
    r->wrote_header = false;
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
    r->clock = s->clock;
    r->consumer = (struct perf_consumer){.context = r,
                                         .raw = s->dump ? on_raw : NULL,
                                         .record = on_record,
                                         .sample = on_sample,
                                         .stack = on_stack,
                                         .end = on_end};
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

const struct perf_consumer *script_recording_consumer(const struct script_recording *r)
{
    return &r->consumer;
}

bool script_recording_check(const struct script_recording *r, uint32_t *missing,
                            struct error *err)
{
    *missing = r->missing;
    return !(r->failed || r->arena.failed) || error_memory(err);
}
