/* SPDX-License-Identifier: Apache-2.0 */
/* The array of events: threads and processes by ID, and what each event becomes: a
 * span, a mark, or a piece of a V8 profile. */
#include "base/array.h"
#include "import/trace_event_parts.h"

/* Maximum number of V8 profiles in a trace; real traces have one for each process. Each
 * takes memory, and the search is linear. */
#define PROFILES_MAX 1024

/* --- Tables ----------------------------------------------------------------------- */

/* These compare with the current event. */
static bool same_track(const void *context, uint32_t id)
{
    const struct trace *t = context;
    const struct track *a = &t->tracks[id];
    const struct record *e = &t->record;
    return a->pid == e->pid && a->tid == e->tid && a->pid_text == e->pid_text &&
           a->tid_text == e->tid_text;
}

static bool same_process(const void *context, uint32_t id)
{
    const struct trace *t = context;
    const struct process *a = &t->processes[id];
    return a->pid == t->record.pid && a->pid_text == t->record.pid_text;
}

/* The track of the current event, made on first use; 0 if out of memory. */
uint32_t trace_event_track(struct trace *t)
{
    const struct record *e = &t->record;
    uint32_t hash = (uint32_t)(hash_mix((uint64_t)e->pid ^ HASH_A, HASH_B) ^
                               hash_mix((uint64_t)e->tid ^ HASH_C, HASH_D) ^
                               hash_pair(e->pid_text, e->tid_text));
    if (!index_reserve(&t->track_index, &t->arena, 1))
        return 0;
    struct index_slot *slot = index_find(&t->track_index, hash, same_track, t);
    if (slot->id)
        return slot->id;
    if (!ARRAY_RESERVE(&t->arena, t->tracks, t->track_cap, t->track_count + 1))
        return 0;
    t->tracks[t->track_count] = (struct track){.pid = e->pid,
                                               .tid = e->tid,
                                               .pid_text = e->pid_text,
                                               .tid_text = e->tid_text,
                                               .last = INT64_MIN,
                                               .last_mark = INT64_MIN};
    index_fill(&t->track_index, slot, hash, (uint32_t)t->track_count);
    return (uint32_t)t->track_count++;
}

static struct index_slot *find_process(struct trace *t, uint32_t *hash)
{
    const struct record *e = &t->record;
    if (!index_reserve(&t->process_index, &t->arena, 1))
        return NULL;
    *hash = (uint32_t)hash_mix((uint64_t)e->pid ^ HASH_A, HASH_B ^ e->pid_text);
    return index_find(&t->process_index, *hash, same_process, t);
}

static void name_process(struct trace *t, struct str name)
{
    uint32_t hash;
    if (!ARRAY_RESERVE(&t->arena, t->processes, t->process_cap, t->process_count + 1))
        return;
    struct index_slot *slot = find_process(t, &hash);
    if (!slot)
        return;
    if (!slot->id) {
        t->processes[t->process_count] =
            (struct process){.pid = t->record.pid, .pid_text = t->record.pid_text};
        index_fill(&t->process_index, slot, hash, (uint32_t)t->process_count++);
    }
    t->processes[slot->id].name = builder_string(t->b, name);
}

/* Makes the model's thread of a track. Its name is its own name, its ID if that is a
 * text, or the name of its process. */
thread_id trace_event_thread(struct trace *t, const struct track *track)
{
    uint32_t hash;
    t->record.pid = track->pid;
    t->record.pid_text = track->pid_text;
    struct index_slot *slot = find_process(t, &hash);
    string_id name = track->name;
    if (!name)
        name = track->tid_text;
    if (!name && slot && slot->id)
        name = t->processes[slot->id].name;
    if (!name)
        name = track->pid_text;
    return builder_thread(t->b, track->pid, track->tid,
                          profile_string(t->b->profile, name));
}

/* --- Reading events ---------------------------------------------------------------- */

static frame_id frame_of(struct trace *t)
{
    struct record *e = &t->record;
    return builder_frame(t->b,
                         &(struct frame){
                             .name = builder_string(t->b, output_contents(&e->name)),
                             .file = builder_string(t->b, output_contents(&e->file)),
                             .line = e->line,
                         });
}

void trace_event_add_span(struct trace *t, struct span span)
{
    struct span *added = ARRAY_APPEND(&t->arena, t->spans, t->span_count, t->span_cap);
    if (!added)
        return;
    *added = span;
    t->lasting |= span.end > span.start;
}

/* An event without a duration: used only if no event of the trace has one. */
static void add_instant(struct trace *t, uint32_t track)
{
    struct instant *instants;
    if (t->lasting) {
        t->instant_count = 0;
        return;
    }
    instants = arena_grow(&t->arena, t->instants, &t->instant_cap, t->instant_count + 1,
                          sizeof *instants);
    if (!instants)
        return;
    t->instants = instants;
    instants[t->instant_count++] = (struct instant){t->record.time, frame_of(t), track};
}

/* "Source" and its detail "vector.h" become "Source vector.h". Clang's names begin with a capital
 * letter; a detail of other programs is not always a part of what ran. */
static void add_detail(struct trace *t)
{
    struct record *e = &t->record;
    struct str name = output_contents(&e->name);
    if (!e->detail.used || !name.len || name.ptr[0] < 'A' || name.ptr[0] > 'Z')
        return;
    output_char(&e->name, ' ');
    output_str(&e->name, output_contents(&e->detail));
    t->arena.failed |= e->name.failed;
}

static void add_complete(struct trace *t, struct track *track)
{
    const struct record *e = &t->record;
    int64_t duration = e->has_duration ? e->duration : e->thread_duration;
    if (!e->has_duration && !e->has_thread_duration) {
        json_warn(&t->json, t->b, "a complete event without a duration");
        return;
    }
    if (duration < 0) {
        json_warn(&t->json, t->b, "a negative duration");
        return;
    }
    int64_t end = e->time + duration;
    if (end > track->last)
        track->last = end;
    add_detail(t);
    trace_event_add_span(t, (struct span){.start = e->time,
                                          .end = end,
                                          .frame = frame_of(t),
                                          .track = (uint32_t)(track - t->tracks)});
}

static void add_mark(struct trace *t, struct track *track)
{
    const struct record *e = &t->record;
    bool end = e->phase == 'E';
    struct mark *added = ARRAY_APPEND(&t->arena, t->marks, t->mark_count, t->mark_cap);
    if (!added)
        return;
    if (e->time < track->last_mark)
        json_warn(&t->json, t->b, "events of a thread that are out of order");
    track->last_mark = e->time;
    if (e->time > track->last)
        track->last = e->time;
    uint32_t what = end ? builder_string(t->b, output_contents(&e->name)) : frame_of(t);
    *added = (struct mark){e->time, what, (uint32_t)(track - t->tracks), end};
}

static void add_metadata(struct trace *t)
{
    struct str what = output_contents(&t->record.name),
               name = output_contents(&t->record.args_name);
    if (name.len == 0)
        return;
    if (str_equal(what, STR("process_name"))) {
        name_process(t, name);
    } else if (str_equal(what, STR("thread_name"))) {
        uint32_t track = trace_event_track(t);
        if (track)
            t->tracks[track].name = builder_string(t->b, name);
    }
}

/* Adds the profile data of the current event to the profile's earlier data. */
static void add_profile(struct trace *t)
{
    const struct record *e = &t->record;
    struct str name = output_contents(&e->name);
    bool one = str_equal(name, STR("CpuProfile"));
    if (!one && !str_equal(name, STR("Profile")) && !str_equal(name, STR("ProfileChunk")))
        return;
    struct js_profile *p = t->profiles;
    size_t n = one ? t->profile_count : 0;
    while (n < t->profile_count && (p[n].pid != e->pid || p[n].id != e->id))
        n++;
    if (n == PROFILES_MAX) {
        json_warn(&t->json, t->b, "more profiles than are read");
        return;
    }
    p = arena_grow(&t->arena, p, &t->profile_cap, n + 1, sizeof *p);
    if (!p)
        return;
    t->profiles = p;
    if (n == t->profile_count) {
        p[n] = (struct js_profile){
            .pid = e->pid, .id = e->id, .track = trace_event_track(t)};
        v8_init(&p[n].profile, t->b, t->options);
        t->profile_count++;
    }
    v8_append(&p[n].profile, &t->chunk);
}

/* A sum of clang over all events of a name: {"name": "Total Source", "args": {"count": 3, "avg ms":
 * 12}}. It begins at 0 in a thread of its own, so it does not count as time of a thread. */
static bool is_sum(const struct record *e)
{
    return e->is_average && str_starts(output_contents(&e->name), STR("Total "));
}

static void read_event(struct trace *t)
{
    struct record *e = &t->record;
    if (!trace_event_record(t) || is_sum(e))
        return;
    if (e->has_profile)
        add_profile(t);
    if (e->phase == 'M')
        add_metadata(t);
    t->phases[(unsigned char)e->phase % 128]++;
    if (!e->phase || !strchr("XBE" INSTANT_PHASES, e->phase))
        return;
    if (!e->has_time) {
        json_warn(&t->json, t->b, "an event without a time");
        return;
    }
    uint32_t id = trace_event_track(t);
    if (id == 0)
        return;
    if (e->phase == 'X')
        add_complete(t, &t->tracks[id]);
    else if (e->phase != 'B' && e->phase != 'E')
        add_instant(t, id);
    else
        add_mark(t, &t->tracks[id]);
}

void trace_event_events(struct trace *t)
{
    struct json *j = &t->json;
    bool inside = false;
    if (!json_enter(j, JSON_ARRAY))
        return;
    while (json_item(j) && !t->arena.failed) {
        read_event(t);
        inside = j->cut;
    }
    t->unclosed = j->cut && !inside && !j->failed;
}

/* Adds V8's profiles, those with samples. */
void trace_event_add_profiles(struct trace *t)
{
    for (size_t i = 0; i < t->profile_count; i++) {
        struct js_profile *p = &t->profiles[i];
        thread_id thread = trace_event_thread(t, &t->tracks[p->track]);
        if (!t->arena.failed)
            v8_finish(&p->profile, thread);
        v8_deinit(&p->profile);
    }
}
