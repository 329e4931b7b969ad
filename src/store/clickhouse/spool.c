/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that were not sent yet: a file each, named NUMBER.SECOND.samples or .names in hexadecimal
 * digits, where SECOND is when the window ended. */
#include "base/array.h"
#include "base/number.h"
#include "os/durable.h"
#include "os/file.h"
#include "os/file_lock.h"
#include "os/machine.h"
#include "store/clickhouse/parts.h"
#include <unistd.h>

#define NAME_SIZE 64
#define DROPPED "dropped" /* a file with the number of dropped blocks */

static void name_of(const struct clickhouse_file *f, char name[NAME_SIZE])
{
    format_text(name, NAME_SIZE, "%016llx.%010llx.%s", (unsigned long long)f->number,
                (unsigned long long)f->second, f->has_samples ? "samples" : "names");
}

/* --- Opening ---------------------------------------------------------------------------- */

static bool parse_name(struct str name, struct clickhouse_file *f)
{
    struct str number = str_cut(&name, '.'), second = str_cut(&name, '.');
    f->has_samples = str_equal(name, STR("samples"));
    return (f->has_samples || str_equal(name, STR("names"))) && number.len == 16 &&
           number_parse_hex(number, &f->number) && number_parse_hex(second, &f->second);
}

static void add_found(void *context, struct str name)
{
    struct clickhouse_spool *s = context;
    struct clickhouse_file f = {.was_tried = true};
    char path[2200];
    if (!parse_name(name, &f) || !ARRAY_RESERVE_HEAP(s->files, s->cap, s->count + 1))
        return;
    format_text(path, sizeof path, "%s/%.*s", s->address->spool, STR_ARG(name));
    f.bytes = os_output_size(path);
    s->bytes += f.bytes;
    s->files[s->count++] = f;
    if (f.number >= s->next)
        s->next = f.number + 1;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = ((const struct clickhouse_file *)a)->number;
    uint64_t y = ((const struct clickhouse_file *)b)->number;
    return (x > y) - (x < y);
}

static uint64_t read_dropped(const struct clickhouse_spool *s)
{
    char path[2200], room[32];
    uint64_t number = 0;
    format_text(path, sizeof path, "%s/" DROPPED, s->address->spool);
    return number_parse_u64(str_trim(os_read_text(path, room, sizeof room)), &number)
               ? number
               : 0;
}

bool clickhouse_spool_open(struct clickhouse_spool *s, const struct clickhouse_address *a,
                           struct error *err)
{
    char path[2200];
    *s = (struct clickhouse_spool){.address = a, .lock = -1, .next = 1};
    format_text(path, sizeof path, "%s/lock", a->spool);
    if (!os_lock_init(&s->guard))
        return error_memory(err);
    if (!os_make_folders(path, err) || (s->lock = os_file_lock_take(path, NULL, err)) < 0)
        return false;
    os_folder_each(a->spool, add_found, s);
    if (s->count)
        qsort(s->files, s->count, sizeof *s->files, by_number);
    s->dropped = read_dropped(s);
    return true;
}

void clickhouse_spool_close(struct clickhouse_spool *s)
{
    if (!s->address)
        return;
    os_file_lock_release(s->lock);
    os_lock_deinit(&s->guard);
    free(s->files);
    *s = (struct clickhouse_spool){.lock = -1};
}

/* --- Removing --------------------------------------------------------------------------- */

static void write_dropped(const struct clickhouse_spool *s)
{
    char text[32];
    struct error ignored;
    size_t length =
        format_text(text, sizeof text, "%llu\n", (unsigned long long)s->dropped);
    if (s->dropped)
        os_durable_write(s->address->spool, DROPPED, (struct str){text, length},
                         &ignored);
    else
        os_durable_remove(s->address->spool, DROPPED);
}

/* Removes the file at an index, which moves those before it. */
static void remove_at(struct clickhouse_spool *s, size_t at)
{
    char name[NAME_SIZE];
    name_of(&s->files[at], name);
    os_durable_remove(s->address->spool, name);
    s->bytes -= s->files[at].bytes;
    memmove(&s->files[s->first + 1], &s->files[s->first],
            (at - s->first) * sizeof *s->files);
    s->first++;
}

/* Samples go first: later ones need the names and stacks. False if nothing can be dropped. */
static bool drop_oldest(struct clickhouse_spool *s, bool *forgets)
{
    size_t from = s->first + s->is_sending, at = from;
    while (at < s->count && !s->files[at].has_samples)
        at++;
    if (at == s->count)
        at = from;
    if (at >= s->count)
        return false;
    if (s->files[at].has_samples)
        s->dropped++;
    else
        *forgets = true;
    remove_at(s, at);
    write_dropped(s);
    return true;
}

static bool is_too_old(const struct clickhouse_spool *s, uint64_t second)
{
    size_t at = s->first + s->is_sending;
    return at < s->count && s->files[at].second + s->address->spool_seconds < second;
}

/* --- Adding ----------------------------------------------------------------------------- */

/* Files before `first` are gone: their room is used again. */
static bool make_room(struct clickhouse_spool *s)
{
    if (s->first > 64 && s->first * 2 > s->count) {
        memmove(s->files, s->files + s->first, (s->count - s->first) * sizeof *s->files);
        s->count -= s->first;
        s->first = 0;
    }
    return ARRAY_RESERVE_HEAP(s->files, s->cap, s->count + 1);
}

bool clickhouse_spool_add(struct clickhouse_spool *s, struct str bytes, bool has_samples,
                          uint64_t second, bool *forgets, struct error *err)
{
    char name[NAME_SIZE];
    struct clickhouse_file f = {
        .second = second, .bytes = bytes.len, .has_samples = has_samples};
    os_lock_acquire(&s->guard);
    f.number = s->next++;
    while ((s->bytes + f.bytes > s->address->spool_bytes || is_too_old(s, second)) &&
           drop_oldest(s, forgets))
        continue;
    bool ok = make_room(s) || error_memory(err);
    os_lock_release(&s->guard);
    name_of(&f, name);
    ok = ok && os_durable_write(s->address->spool, name, bytes, err);
    os_lock_acquire(&s->guard);
    if (ok) {
        s->files[s->count++] = f;
        s->bytes += f.bytes;
    }
    os_lock_release(&s->guard);
    return ok;
}

/* --- Sending ---------------------------------------------------------------------------- */

bool clickhouse_spool_take(struct clickhouse_spool *s, struct clickhouse_file *file)
{
    os_lock_acquire(&s->guard);
    bool found = s->first < s->count;
    if (found)
        *file = s->files[s->first];
    s->is_sending = found;
    os_lock_release(&s->guard);
    return found;
}

bool clickhouse_spool_read(struct clickhouse_spool *s, const struct clickhouse_file *file,
                           struct arena *a, struct str *bytes, struct error *err)
{
    char name[NAME_SIZE];
    name_of(file, name);
    return os_durable_read(s->address->spool, name, CLICKHOUSE_BLOCK_MAX, a, bytes, err);
}

void clickhouse_spool_sent(struct clickhouse_spool *s)
{
    os_lock_acquire(&s->guard);
    remove_at(s, s->first);
    s->is_sending = false;
    os_lock_release(&s->guard);
}

void clickhouse_spool_damaged(struct clickhouse_spool *s)
{
    os_lock_acquire(&s->guard);
    s->dropped += s->files[s->first].has_samples;
    remove_at(s, s->first);
    write_dropped(s);
    s->is_sending = false;
    os_lock_release(&s->guard);
}

void clickhouse_spool_retry(struct clickhouse_spool *s, bool was_tried)
{
    os_lock_acquire(&s->guard);
    s->files[s->first].was_tried |= was_tried;
    s->is_sending = false;
    os_lock_release(&s->guard);
}

uint64_t clickhouse_spool_dropped(struct clickhouse_spool *s)
{
    os_lock_acquire(&s->guard);
    uint64_t dropped = s->dropped;
    os_lock_release(&s->guard);
    return dropped;
}

void clickhouse_spool_dropped_stored(struct clickhouse_spool *s, uint64_t dropped)
{
    if (!dropped)
        return;
    os_lock_acquire(&s->guard);
    s->dropped -= dropped;
    write_dropped(s);
    os_lock_release(&s->guard);
}
