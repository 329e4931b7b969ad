/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/metrics.h"
#include "metrics/rates.h"

#define MINUTE STORE_BLOCK_VALUES
#define GAP 5 /* seconds that one reading can stand for, when the machine is slow */

bool daemon_metrics_init(struct daemon_metrics *m)
{
    *m = (struct daemon_metrics){.has_before = false};
    return os_lock_init(&m->lock);
}

void daemon_metrics_deinit(struct daemon_metrics *m)
{
    for (size_t i = 0; i < DAEMON_METRIC_BLOCKS; i++)
        arena_deinit(&m->blocks[i].arena);
    metrics_deinit(&m->before);
    os_open_files_close(&m->files);
    os_lock_deinit(&m->lock);
}

/* --- Writing ------------------------------------------------------------------------ */

/* The block of that second; a new one takes the slot of the oldest. */
static struct daemon_metric_block *block_at(struct daemon_metrics *m, uint64_t second,
                                            uint32_t step)
{
    uint64_t length = (uint64_t)step * STORE_BLOCK_VALUES;
    uint64_t index = second / length;
    size_t slot = step == 1
                      ? index % DAEMON_METRIC_MINUTES
                      : DAEMON_METRIC_MINUTES + (size_t)(index % DAEMON_METRIC_HOURS);
    struct daemon_metric_block *b = &m->blocks[slot];
    if (b->block.start == index * length && b->block.step == step)
        return b;
    arena_deinit(&b->arena);
    *b = (struct daemon_metric_block){.block = {.start = index * length, .step = step}};
    return b;
}

struct writing {
    struct daemon_metrics *metrics;
    uint64_t from, to; /* seconds */
    size_t index;      /* of the next metric */
};

static void set(struct writing *w, uint64_t second, uint32_t step, struct str name,
                struct str unit, int64_t value)
{
    struct daemon_metric_block *b = block_at(w->metrics, second, step);
    struct store_metric *m = store_metric_put(&b->block, &b->arena, name, unit, w->index);
    if (m)
        m->values[second / step % STORE_BLOCK_VALUES] = value;
    b->changed = true;
}

static void put(void *context, const char *name, const char *unit, int64_t value)
{
    struct writing *w = context;
    for (uint64_t second = w->from; second <= w->to; second++)
        set(w, second, 1, str_of(name), str_of(unit), value);
    w->index++;
}

/* The mean of the values that a minute has so far. */
static int64_t mean(const struct store_metric *m)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < STORE_BLOCK_VALUES; i++)
        if (m->values[i] != STORE_NO_VALUE) {
            sum += (double)m->values[i];
            count++;
        }
    return count > 0 ? (int64_t)(sum / count + 0.5) : STORE_NO_VALUE;
}

/* Computes the values of the minutes that changed, before they are stored. */
static void add_minutes(struct daemon_metrics *m)
{
    for (size_t i = 0; i < DAEMON_METRIC_MINUTES; i++) {
        const struct store_metric_block *b = &m->blocks[i].block;
        struct writing w = {.metrics = m};
        for (; m->blocks[i].changed && w.index < b->count; w.index++)
            set(&w, b->start, MINUTE, b->items[w.index].name, b->items[w.index].unit,
                mean(&b->items[w.index]));
    }
}

static struct str read_text(void *context, const char *path, struct arena *a)
{
    struct daemon_metrics *m = context;
    struct output text = OUTPUT_BUFFER;
    struct str copy = STR("");
    if (os_open_files_read(&m->files, path, &text))
        copy = arena_str(a, output_contents(&text));
    output_deinit(&text);
    return copy;
}

bool daemon_metrics_turn(struct daemon_metrics *m, uint64_t time, uint64_t now)
{
    struct metrics read;
    uint64_t second = now / STORE_SECOND, last = m->before.wall / STORE_SECOND;
    struct writing w = {.metrics = m, .from = second, .to = second};
    if (m->has_before && second == last)
        return false;
    const struct metrics_source source = {.context = m, .read = read_text};
    if (!metrics_read(&read, &source, METRICS_BASIC, time, now)) {
        metrics_deinit(&read);
        return false;
    }
    os_lock_acquire(&m->lock);
    if (m->has_before) {
        const struct metrics_numbers to = {put, &w};
        if (second > last && second - last <= GAP)
            w.from = last + 1;
        metrics_rates(&m->before, &read, &to);
        m->began = m->began ? m->began : w.from;
    }
    metrics_deinit(&m->before);
    m->before = read;
    m->has_before = true;
    os_lock_release(&m->lock);
    return true;
}

void daemon_metrics_mark(struct daemon_metrics *m, uint64_t from, const char *name,
                         const char *unit, int64_t value)
{
    uint64_t last = m->before.wall / STORE_SECOND;
    struct writing w = {.metrics = m, .from = from, .to = last};
    if (last > from + MINUTE) /* the clock was set */
        w.from = last;
    os_lock_acquire(&m->lock);
    put(&w, name, unit, value);
    os_lock_release(&m->lock);
}

const struct store_metric_block *daemon_metrics_unstored(struct daemon_metrics *m,
                                                         size_t *count)
{
    *count = 0;
    os_lock_acquire(&m->lock);
    add_minutes(m);
    os_lock_release(&m->lock);
    for (size_t i = 0; i < DAEMON_METRIC_BLOCKS; i++)
        if (m->blocks[i].changed)
            m->unstored[(*count)++] = m->blocks[i].block;
    return m->unstored;
}

void daemon_metrics_stored(struct daemon_metrics *m)
{
    for (size_t i = 0; i < DAEMON_METRIC_BLOCKS; i++)
        m->blocks[i].changed = false;
}

/* --- Reading ------------------------------------------------------------------------ */

bool daemon_metrics_has(struct daemon_metrics *m, const struct store_span *span)
{
    os_lock_acquire(&m->lock);
    uint64_t now = m->before.wall / STORE_SECOND, from = span->from / STORE_SECOND;
    bool has = m->began && from >= m->began && from <= now &&
               now - from < (uint64_t)(DAEMON_METRIC_MINUTES - 1) * MINUTE;
    os_lock_release(&m->lock);
    return has;
}

void daemon_metrics_each(struct daemon_metrics *m, const struct store_span *span,
                         uint32_t step,
                         bool (*each)(void *context, const struct store_metric_block *b),
                         void *context)
{
    bool more = true;
    os_lock_acquire(&m->lock);
    for (size_t i = 0; more && i < DAEMON_METRIC_BLOCKS; i++) {
        const struct store_metric_block *b = &m->blocks[i].block;
        uint64_t end = b->start + (uint64_t)step * STORE_BLOCK_VALUES;
        if (b->count && b->step == step && b->start * STORE_SECOND < span->to &&
            end * STORE_SECOND > span->from)
            more = each(context, b);
    }
    os_lock_release(&m->lock);
}
