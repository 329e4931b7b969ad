/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/format.h"
#include "base/number.h"
#include "lepd/texts.h"

static double quotient(double a, double b)
{
    return b > 0 ? a / b : 0;
}

/* Writes a row in the layout of sysstat before version 12, which LEPV reads by the number of
 * the column: averages since boot, as `iostat` prints without an interval. */
static void put_disk(const struct lepd_machine *m, struct output *o, const struct disk *d)
{
    double seconds = m->now->uptime > 0 ? m->now->uptime : 1;
    double c[DISK_COUNTERS];
    for (size_t i = 0; i < DISK_COUNTERS; i++)
        c[i] = (double)d->counters[i];
    double requests = c[DISK_READS] + c[DISK_WRITES];
    output_format(o, "%-13.*s %8.2f %8.2f %7.2f %7.2f", STR_ARG(d->name),
                  c[DISK_READS_MERGED] / seconds, c[DISK_WRITES_MERGED] / seconds,
                  c[DISK_READS] / seconds, c[DISK_WRITES] / seconds);
    output_format(o, " %8.2f %8.2f %8.2f %8.2f", c[DISK_SECTORS_READ] / 2 / seconds,
                  c[DISK_SECTORS_WRITTEN] / 2 / seconds,
                  quotient(c[DISK_SECTORS_READ] + c[DISK_SECTORS_WRITTEN], requests),
                  (c[DISK_READ_TIME] + c[DISK_WRITE_TIME] + c[DISK_DISCARD_TIME] +
                   c[DISK_FLUSH_TIME]) /
                      1000 / seconds);
    output_format(o, " %7.2f %7.2f %7.2f %6.2f %6.2f\n",
                  quotient(c[DISK_READ_TIME] + c[DISK_WRITE_TIME], requests),
                  quotient(c[DISK_READ_TIME], c[DISK_READS]),
                  quotient(c[DISK_WRITE_TIME], c[DISK_WRITES]),
                  quotient(c[DISK_BUSY_TIME], requests),
                  c[DISK_BUSY_TIME] / 10 / seconds);
}

/* True for a disk, false for a partition. */
static bool is_whole(const struct lepd_machine *m, struct str name)
{
    struct output text = OUTPUT_BUFFER;
    char path[256];
    size_t length = format_text(path, sizeof path, "/sys/block/%.*s/stat", STR_ARG(name));
    for (size_t i = sizeof "/sys/block/" - 1; i + 5 < length; i++)
        if (path[i] == '/')
            path[i] = '!'; /* as in /sys: cciss/c0d0 */
    bool whole = m->file(m->context, path, &text);
    output_deinit(&text);
    return whole;
}

bool lepd_write_iostat(const struct lepd_machine *m, struct output *o)
{
    const struct disks *disks = &m->now->disks;
    lepd_write_sysstat_line(m, o);
    output_text(o, "\nDevice:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s"
                   " avgrq-sz avgqu-sz   await r_await w_await  svctm  %util\n");
    for (size_t i = 0; i < disks->count; i++) {
        const struct disk *d = &disks->items[i];
        if (d->counters[DISK_READS] + d->counters[DISK_WRITES] && is_whole(m, d->name))
            put_disk(m, o, d);
    }
    return true;
}

/* --- df --------------------------------------------------------------------------- */

#define MOUNTS_MAX 4096

struct mount {
    struct str source, path;
    struct lepd_filesystem space;
};

struct mounts {
    struct arena arena;
    struct mount *items;
    size_t count, cap;
};

/* A field of /proc/mounts, in which \040 stands for a space. */
static struct str unescape(struct arena *a, struct str s)
{
    char *out = arena_alloc(a, s.len + 1);
    size_t n = 0;
    if (!out)
        return STR("");
    for (size_t i = 0; i < s.len; i++) {
        const char *c = s.ptr + i;
        if (*c == '\\' && s.len - i > 3 && c[1] >= '0' && c[1] < '4' &&
            byte_is_digit(c[2]) && byte_is_digit(c[3])) {
            out[n++] = (char)((c[1] - '0') * 64 + (c[2] - '0') * 8 + (c[3] - '0'));
            i += 3;
        } else {
            out[n++] = *c;
        }
    }
    out[n] = '\0';
    return (struct str){out, n};
}

/* Adds a filesystem that has blocks. Of several mounts of one, the one with the shortest
 * path counts, as in df. */
static void add_mount(const struct lepd_machine *m, struct mounts *mounts,
                      struct str line)
{
    struct mount mount, *slot = NULL;
    mount.source = unescape(&mounts->arena, str_word(&line));
    mount.path = unescape(&mounts->arena, str_word(&line));
    if (mount.path.len == 0 || !m->filesystem(m->context, mount.path.ptr, &mount.space) ||
        !mount.space.size)
        return;
    for (size_t i = 0; i < mounts->count && !slot; i++)
        if (mounts->items[i].space.device == mount.space.device)
            slot = &mounts->items[i];
    if (slot && slot->path.len <= mount.path.len)
        return;
    if (!slot)
        slot = ARRAY_APPEND(&mounts->arena, mounts->items, mounts->count, mounts->cap);
    if (slot)
        *slot = mount;
}

static size_t digits(uint64_t v)
{
    char room[NUMBER_TEXT_MAX];
    return number_write_u64(v, room);
}

struct widths {
    int source, size, used, usable;
};

static void widen(int *width, size_t length)
{
    if ((size_t)*width < length)
        *width = (int)length;
}

static void put_mount(struct output *o, const struct mount *mount, const struct widths *w)
{
    const struct lepd_filesystem *s = &mount->space;
    uint64_t all = s->used + s->usable;
    output_format(o, "%-*.*s %*llu %*llu %*llu", w->source, STR_ARG(mount->source),
                  w->size, (unsigned long long)s->size, w->used,
                  (unsigned long long)s->used, w->usable, (unsigned long long)s->usable);
    if (all)
        output_format(o, " %3llu%%",
                      (unsigned long long)((s->used * 100 + all - 1) / all));
    else
        output_text(o, "    -");
    output_format(o, " %.*s\n", STR_ARG(mount->path));
}

static void put_mounts(struct output *o, const struct mounts *mounts)
{
    struct widths w = {14, 9, 8, 9};
    for (size_t i = 0; i < mounts->count; i++) {
        widen(&w.source, mounts->items[i].source.len);
        widen(&w.size, digits(mounts->items[i].space.size));
        widen(&w.used, digits(mounts->items[i].space.used));
        widen(&w.usable, digits(mounts->items[i].space.usable));
    }
    output_format(o, "%-*s %*s %*s %*s Use%% Mounted on\n", w.source, "Filesystem",
                  w.size, "1K-blocks", w.used, "Used", w.usable, "Available");
    for (size_t i = 0; i < mounts->count; i++)
        put_mount(o, &mounts->items[i], &w);
}

bool lepd_write_df(const struct lepd_machine *m, struct output *o)
{
    struct output text = OUTPUT_BUFFER;
    struct mounts mounts = {.arena = ARENA_INIT};
    bool ok = m->file(m->context, "/proc/mounts", &text);
    struct str rest = output_contents(&text);
    for (size_t i = 0; rest.len && i < MOUNTS_MAX; i++)
        add_mount(m, &mounts, str_cut(&rest, '\n'));
    put_mounts(o, &mounts);
    ok &= !mounts.arena.failed;
    arena_deinit(&mounts.arena);
    output_deinit(&text);
    return ok;
}
