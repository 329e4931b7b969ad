/* SPDX-License-Identifier: Apache-2.0 */
/* Windows become blocks. Names and stacks are sent once a day by each writer: rows refer to them
 * by their content hashes, so those of several writers are the same. */
#include "base/array.h"
#include "base/sha256.h"
#include "codec/encode.h"
#include "model/content_hash.h"
#include "model/sample_labels.h"
#include "store/clickhouse/parts.h"
#include "store/rows.h"
#include "store/series.h"

#define KNOWN_MAX ((size_t)400000) /* items of a day that a writer remembers */
#define ROWS_MAX \
    ((size_t)100000) /* of a part: the server inserts it at once or not at all */

/* A window while it is written. */
struct making {
    struct clickhouse_store *s;
    const struct store_window *w;
    const struct profile *p;
    struct arena arena;
    struct content_hashes hashes;
    struct store_row *rows;
    uint64_t day, part; /* of the rows that are written; parts so far */
    struct output tables[CLICKHOUSE_TABLES];
    uint32_t counts[CLICKHOUSE_TABLES];
    struct output *names, *samples; /* the blocks */
};

void clickhouse_forget(struct clickhouse_store *s)
{
    arena_deinit(&s->known.arena);
    s->known = (struct clickhouse_known){.day = 0};
}

static uint64_t hash64(const struct content_hash *hash)
{
    struct bytes b =
        bytes_of((struct str){(const char *)hash->bytes, sizeof hash->bytes}, false);
    return bytes_u64(&b);
}

/* Whether an item is new on this day; then it counts as known. */
static bool is_new(struct making *m, struct idmap *map, uint64_t id)
{
    uint64_t *known = idmap_put(map, &m->s->known.arena, id);
    bool new = known && !*known;
    if (new)
        *known = 1;
    return new;
}

/* --- Parts ------------------------------------------------------------------------------ */

/* Packs what was collected for a table. */
static bool end_part(struct making *m, enum clickhouse_table table,
                     struct clickhouse_part *part, struct output *block,
                     struct error *err)
{
    struct output packed = OUTPUT_BUFFER;
    struct encoder e = {0};
    if (!m->counts[table])
        return true;
    bool ok = encoder_init_gzip(&e, &packed, err);
    if (ok) {
        output_str(&e.output, output_contents(&m->tables[table]));
        ok = encoder_finish(&e) && !m->tables[table].failed && !packed.failed;
        ok = ok || error_memory(err);
    }
    part->table = table;
    part->day = (uint32_t)m->day;
    part->rows = m->counts[table];
    part->packed = output_contents(&packed);
    if (ok && block->used == 0)
        clickhouse_block_begin(block);
    if (ok)
        clickhouse_block_add(block, part);
    m->tables[table].used = 0;
    m->counts[table] = 0;
    encoder_deinit(&e);
    output_deinit(&packed);
    return ok;
}

static struct output *begin_row(struct making *m, enum clickhouse_table table)
{
    m->counts[table]++;
    clickhouse_put(&m->tables[table], m->day, 2);
    return &m->tables[table];
}

/* --- Names and stacks ------------------------------------------------------------------- */

static void put_frame(struct making *m, frame_id id)
{
    const struct frame *f = &m->p->frames[id];
    const struct module *module = &m->p->modules[f->module];
    uint64_t hash = hash64(&m->hashes.frames[id]);
    if (!is_new(m, &m->s->known.frames, hash))
        return;
    struct output *o = begin_row(m, CLICKHOUSE_FRAMES);
    clickhouse_put(o, hash, 8);
    clickhouse_put(o, f->kind, 1);
    clickhouse_put_text(o, profile_string(m->p, f->name));
    clickhouse_put_text(o, profile_string(m->p, module->path));
    clickhouse_put_text(o, profile_string(m->p, module->build_id));
    clickhouse_put_text(o, profile_string(m->p, f->file));
    clickhouse_put(o, f->line, 4);
    clickhouse_put(o, f->offset, 8);
}

/* The frames of a stack, the outermost last. */
static void put_stack(struct making *m, stack_id id)
{
    uint64_t hash = hash64(&m->hashes.stacks[id]), depth = 0;
    if (id == 0 || !is_new(m, &m->s->known.stacks, hash))
        return;
    for (stack_id at = id; at; at = m->p->stacks[at].parent, depth++)
        put_frame(m, m->p->stacks[at].frame);
    struct output *o = begin_row(m, CLICKHOUSE_STACKS);
    clickhouse_put(o, hash, 8);
    for (; depth >= 0x80; depth >>= 7)
        output_char(o, (char)(depth | 0x80));
    output_char(o, (char)depth);
    for (stack_id at = id; at; at = m->p->stacks[at].parent)
        clickhouse_put(o, hash64(&m->hashes.frames[m->p->stacks[at].frame]), 8);
}

/* The first value of a label; or empty. */
static struct str label_of(const struct profile *p, label_set_id set, struct str key)
{
    for (; set; set = p->label_sets[set].parent) {
        const struct sample_label *l = &p->labels[p->label_sets[set].label];
        if (!l->is_number && str_equal(profile_string(p, l->key), key))
            return profile_string(p, l->text);
    }
    return STR("");
}

/* The same in all processes: the first bytes of SHA-256. */
static uint64_t series_hash(struct str text)
{
    struct sha256 h;
    unsigned char digest[SHA256_SIZE];
    sha256_begin(&h);
    sha256_add(&h, text.ptr, text.len);
    sha256_end(&h, digest);
    struct bytes b = bytes_of((struct str){(const char *)digest, 8}, false);
    return bytes_u64(&b);
}

static void put_series(struct making *m, const struct store_series *series)
{
    if (!is_new(m, &m->s->known.series, series->id))
        return;
    const struct profile *p = m->p;
    struct output *o = begin_row(m, CLICKHOUSE_SERIES);
    clickhouse_put(o, series->id, 8);
    clickhouse_put_text(o, label_of(p, series->labels, STR("host")));
    clickhouse_put_text(o, label_of(p, series->labels, STR("service")));
    clickhouse_put_text(o, profile_string(p, p->events[series->event].name));
    clickhouse_put_text(o, series->bytes);
}

static void put_late_names(struct making *m)
{
    for (size_t i = 0; i < m->w->name_count; i++) {
        const struct store_name *n = &m->w->names[i];
        struct output *o = begin_row(m, CLICKHOUSE_NAMES);
        clickhouse_put_text(o, n->path);
        clickhouse_put_text(o, n->build_id);
        clickhouse_put(o, n->start, 8);
        clickhouse_put(o, n->end, 8);
        clickhouse_put_text(o, n->name);
    }
}

/* --- Metrics ---------------------------------------------------------------------------- */

static bool put_metrics(struct making *m, const struct store_metric_block *block,
                        struct error *err)
{
    struct output data = OUTPUT_BUFFER;
    bool ok = store_metrics_encode(block, &data, err);
    m->day = block->start / CLICKHOUSE_DAY;
    if (ok) {
        struct output *o = begin_row(m, CLICKHOUSE_METRICS);
        clickhouse_put_text(o, str_of(m->s->host));
        clickhouse_put(o, block->step, 4);
        clickhouse_put(o, block->start, 4);
        clickhouse_put(o, m->s->writer, 8);
        clickhouse_put(o, m->s->windows, 8);
        clickhouse_put_text(o, output_contents(&data));
        ok = end_part(m, CLICKHOUSE_METRICS, &(struct clickhouse_part){0}, m->names, err);
    }
    output_deinit(&data);
    return ok;
}

/* --- Samples ---------------------------------------------------------------------------- */

static uint64_t second_of(const struct store_window *w, uint64_t time)
{
    return time >= w->start && time < w->end ? time / STORE_SECOND
                                             : w->start / STORE_SECOND;
}

static bool end_samples(struct making *m, uint64_t samples, struct error *err)
{
    struct clickhouse_part part = {
        .block = m->s->writer + (m->s->windows << 16) + m->part,
        .start = m->w->start,
        .end = m->w->end,
        .rate = m->w->rate,
        .samples = samples,
        .lost = m->part ? 0 : m->w->lost,
    };
    m->part++;
    return end_part(m, CLICKHOUSE_SAMPLES, &part, m->samples, err);
}

static bool put_rows(struct making *m, size_t count, struct error *err)
{
    uint64_t samples = 0;
    for (size_t i = 0; i < count; i++) {
        const struct store_row *row = &m->rows[i];
        uint64_t block = m->s->writer + (m->s->windows << 16) + m->part;
        struct output *o = begin_row(m, CLICKHOUSE_SAMPLES);
        clickhouse_put(o, row->second, 4);
        clickhouse_put(o, row->series, 8);
        clickhouse_put(o, row->stack, 8);
        clickhouse_put(o, block, 8);
        clickhouse_put(o, row->count, 8);
        clickhouse_put_double(o, row->weight);
        samples += row->count;
        if (m->counts[CLICKHOUSE_SAMPLES] == ROWS_MAX) {
            if (!end_samples(m, samples, err))
                return false;
            samples = 0;
        }
    }
    return !m->counts[CLICKHOUSE_SAMPLES] || end_samples(m, samples, err);
}

/* The samples of a day; their names and stacks before them. */
static bool put_day(struct making *m, struct store_series_table *series,
                    struct error *err)
{
    const struct profile *p = m->p;
    size_t count = 0;
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *sample = &p->samples[i];
        uint64_t second = second_of(m->w, sample->time);
        if (second / CLICKHOUSE_DAY != m->day)
            continue;
        struct store_series *s = store_series_find(series, sample, profile_labels(p, i));
        if (!s)
            return error_memory(err);
        if (!s->id)
            s->id = series_hash(s->bytes);
        put_series(m, s);
        put_stack(m, sample->stack);
        m->rows[count++] = (struct store_row){
            .series = s->id,
            .stack = sample->stack ? hash64(&m->hashes.stacks[sample->stack]) : 0,
            .second = second,
            .count = sample->count,
            .weight = sample->weight + sample->rest};
    }
    count = store_rows_merge(m->rows, count);
    for (enum clickhouse_table t = CLICKHOUSE_FRAMES; t <= CLICKHOUSE_NAMES; t++)
        if (!end_part(m, t, &(struct clickhouse_part){0}, m->names, err))
            return false;
    if (m->s->known.arena.failed)
        return error_memory(err);
    return put_rows(m, count, err);
}

static void begin_day(struct making *m, uint64_t day)
{
    struct clickhouse_known *k = &m->s->known;
    m->day = day;
    if (k->day != day || k->stacks.count + k->frames.count + k->series.count > KNOWN_MAX)
        clickhouse_forget(m->s);
    k->day = day;
}

static bool put_samples(struct making *m, struct error *err)
{
    struct store_series_table series = {.profile = m->p, .arena = &m->arena};
    uint64_t first = m->w->start / STORE_SECOND / CLICKHOUSE_DAY;
    uint64_t last = m->w->end / STORE_SECOND / CLICKHOUSE_DAY;
    m->rows = arena_zalloc(&m->arena, m->p->sample_count + 1, sizeof *m->rows);
    if (!m->rows)
        return error_memory(err);
    if (!content_hashes_init(&m->hashes, m->p, err))
        return false;
    for (uint64_t day = first; day <= last; day++) {
        begin_day(m, day);
        if (day == first)
            put_late_names(m);
        if (!put_day(m, &series, err))
            return false;
    }
    return true;
}

bool clickhouse_make_blocks(struct clickhouse_store *s, const struct store_window *w,
                            struct output *names, struct output *samples,
                            struct error *err)
{
    struct making m = {
        .s = s, .w = w, .p = w->profile, .names = names, .samples = samples};
    bool ok = true;
    s->windows++;
    for (size_t i = 0; ok && i < w->metric_count; i++)
        ok = w->metrics[i].count == 0 || put_metrics(&m, &w->metrics[i], err);
    ok = ok && (!m.p || put_samples(&m, err));
    if (ok && names->used)
        clickhouse_block_end(names);
    if (ok && samples->used)
        clickhouse_block_end(samples);
    ok = ok && ((!names->failed && !samples->failed) || error_memory(err));
    for (size_t i = 0; i < CLICKHOUSE_TABLES; i++)
        output_deinit(&m.tables[i]);
    content_hashes_deinit(&m.hashes);
    arena_deinit(&m.arena);
    return ok;
}
