/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sort.h"
#include "web/core/label_process.h"
#include "web/core/tracks.h"
#include "web/core/waits.h"

/* --- Order ------------------------------------------------------------------------- */

#define BYTES 256

struct sorting {
    const struct waits *w;
    const struct shown *s;
    enum wait_sort by;
    uint8_t ranks[BYTES]; /* of the characters */
};

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* People expect names in the order of dictionaries, which is also that of JavaScript's
 * localeCompare: signs, digits, then letters without regard to their case. Bytes that are
 * not ASCII remain after them. */
static void rank_characters(uint8_t *ranks)
{
    static const char order[] = "\t\n\v\f\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"
                                "0123456789abcdefghijklmnopqrstuvwxyz";
    for (unsigned c = 0; c < BYTES; c++)
        ranks[c] = c < BYTES / 2 ? 0 : (uint8_t)c;
    for (unsigned i = 0; order[i]; i++)
        ranks[(uint8_t)order[i]] = (uint8_t)(i + 1);
    for (unsigned c = 'A'; c <= 'Z'; c++)
        ranks[c] = ranks[c - 'A' + 'a'];
}

/* Of texts that differ only in case, the one with the first small letter is first. */
static int compare_text(const uint8_t *ranks, struct str a, struct str b)
{
    int by_case = 0;
    for (size_t i = 0; i < a.len && i < b.len; i++) {
        int left = ranks[(uint8_t)a.ptr[i]], right = ranks[(uint8_t)b.ptr[i]];
        if (left != right)
            return left - right;
        if (!by_case)
            by_case = is_upper(a.ptr[i]) - is_upper(b.ptr[i]);
    }
    return a.len != b.len ? (a.len > b.len) - (a.len < b.len) : by_case;
}

static struct str reason_name(uint8_t reason)
{
    static const char *const names[] = {"running", "lock", "disk",
                                        "network", "cpu",  "sleep"};
    return str_of(names[reason]);
}

/* The number of the text of the column: of a thread, reason, label or frame. */
static uint32_t text_id(enum wait_sort by, const struct wait_group *g)
{
    switch (by) {
    case WAITS_THREAD:
        return g->thread;
    case WAITS_REASON:
        return g->reason;
    case WAITS_FUNCTION:
        return g->function;
    default:
        return g->waker;
    }
}

static struct str text_of(const struct sorting *o, uint32_t id)
{
    const struct paths *paths = &o->s->paths;
    const struct profile *p = o->s->p;
    switch (o->by) {
    case WAITS_THREAD:
        return profile_string(p, p->threads[id].name);
    case WAITS_REASON:
        return reason_name((uint8_t)id);
    case WAITS_FUNCTION:
        return strings_get(&paths->labels, id);
    default:
        return id ? strings_get(&paths->labels, paths->label_of_frame[id]) : STR("");
    }
}

static bool text_before(const void *context, uint32_t a, uint32_t b)
{
    const struct sorting *o = context;
    return compare_text(o->ranks, text_of(o, a), text_of(o, b)) < 0;
}

/* The rank of each text among those of the groups, by its number; equal texts have the same
 * one. NULL if out of memory. */
static uint32_t *rank_texts(const struct sorting *o, struct arena *a)
{
    const struct waits *w = o->w;
    uint32_t most = 0, rank = 0;
    size_t count = 0;
    for (size_t i = 0; i < w->count; i++)
        most =
            text_id(o->by, &w->groups[i]) > most ? text_id(o->by, &w->groups[i]) : most;
    uint32_t *by_id = arena_zalloc(a, (size_t)most + 1, sizeof *by_id);
    uint32_t *texts = arena_alloc(a, 2 * (w->count + 1) * sizeof *texts);
    if (!by_id || !texts)
        return NULL;
    for (size_t i = 0; i < w->count; i++) {
        uint32_t id = text_id(o->by, &w->groups[i]);
        if (!by_id[id])
            texts[count++] = id;
        by_id[id] = 1;
    }
    sort_u32(texts, count, texts + count, text_before, o);
    for (size_t i = 0; i < count; i++) {
        rank += i && text_before(o, texts[i - 1], texts[i]);
        by_id[texts[i]] = rank;
    }
    return by_id;
}

/* Compares each text only a few times: there are fewer of them than groups. */
static bool sort_by_text(struct waits *w, const struct sorting *o)
{
    struct arena scratch = ARENA_INIT;
    const uint32_t *by_id = rank_texts(o, &scratch);
    struct sort_key *keys = arena_alloc(&scratch, 2 * (w->count + 1) * sizeof *keys);
    bool ok = by_id && keys;
    for (size_t i = 0; ok && i < w->count; i++) {
        uint32_t group = w->usual[i];
        keys[i] = (struct sort_key){by_id[text_id(o->by, &w->groups[group])], group};
    }
    if (ok)
        sort_keys(keys, w->count, keys + w->count);
    for (size_t i = 0; ok && i < w->count; i++)
        w->order[i] = keys[i].id;
    arena_deinit(&scratch);
    return ok;
}

static double figure_of(const struct sorting *o, const struct wait_group *g)
{
    if (o->by == WAITS_TIMES)
        return (double)g->count;
    return o->by == WAITS_LONGEST ? g->longest : g->total;
}

static bool figure_before(const void *context, uint32_t a, uint32_t b)
{
    const struct sorting *o = context;
    return figure_of(o, &o->w->groups[a]) > figure_of(o, &o->w->groups[b]);
}

bool waits_sort(struct waits *w, const struct shown *s, enum wait_sort by,
                struct error *err)
{
    struct sorting o = {.w = w, .s = s, .by = by};
    if (w->by == by)
        return true;
    w->by = by;
    memcpy(w->order, w->usual, w->count * sizeof *w->order);
    if (by == WAITS_USUAL)
        return true;
    if (by < WAITS_THREAD) {
        sort_u32(w->order, w->count, w->scratch, figure_before, &o);
        return true;
    }
    rank_characters(o.ranks);
    if (sort_by_text(w, &o))
        return true;
    w->by = WAITS_USUAL;
    return error_memory(err);
}

/* --- Reply ------------------------------------------------------------------------- */

static void put_waker(struct json_writer *w, const struct shown *s, frame_id waker)
{
    const struct frame *frame = &s->p->frames[waker];
    string_id label = s->paths.label_of_frame[waker];
    json_member_str(w, "waker", strings_get(&s->paths.labels, label));
    if (frame->address && !frame->module)
        json_member_u64(w, "waker_tid", frame->address);
}

static void put_group(struct json_writer *w, const struct shown *s,
                      const struct wait_group *g)
{
    const struct thread *t = &s->p->threads[g->thread];
    json_begin(w, JSON_OBJECT);
    json_member_str(w, "name", profile_string(s->p, t->name));
    if (has_id(t->pid))
        json_member_double(w, "pid", (double)t->pid);
    if (t->tid != ID_NONE)
        json_member_double(w, "tid", (double)t->tid);
    json_member_str(w, "reason", reason_name(g->reason));
    json_member_u64(w, "label", g->function);
    json_member_str(w, "function", strings_get(&s->paths.labels, g->function));
    if (g->waker)
        put_waker(w, s, g->waker);
    if (g->reason != ACTIVITY_CPU && g->kind[0]) /* it does not wait for the lock then */
        json_member_str(w, "lock_kind", str_of(g->kind));
    if (g->lock)
        json_member_str(w, "lock", profile_string(s->p, s->p->labels[g->lock].text));
    if (g->file)
        json_member_str(w, "file", profile_string(s->p, s->p->labels[g->file].text));
    json_member_u64(w, "count", g->count);
    json_member_double(w, "total", g->total);
    json_member_double(w, "longest", g->longest);
    json_member_double(w, "begin", g->begin);
    json_end(w, JSON_OBJECT);
}

void reply_waits(struct json_writer *w, const struct waits *waits, const struct shown *s,
                 uint32_t from)
{
    json_begin(w, JSON_OBJECT);
    json_member_u64(w, "count", waits->count);
    json_member_double(w, "most", waits->most);
    json_put_key(w, "woken");
    json_put_bool(w, waits->woken);
    json_put_key(w, "rows");
    json_begin(w, JSON_ARRAY);
    for (size_t i = from; i < waits->count && i - from < WAITS_A_REPLY; i++)
        put_group(w, s, &waits->groups[waits->order[i]]);
    json_end(w, JSON_ARRAY);
    json_end(w, JSON_OBJECT);
}
