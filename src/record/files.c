/* SPDX-License-Identifier: Apache-2.0 */
#include "record/files.h"
#include "base/format.h"
#include "os/machine.h"
#include <stdlib.h>

static struct record_part *part_now(struct record_files *f)
{
    return &f->parts[f->now];
}

static uint32_t file_limit(const struct record_files *f)
{
    return f->settings->limit ? f->settings->limit : RECORD_FILES_DEFAULT;
}

/* "FILE.7" */
static void number_path(const struct record_files *f, uint32_t number, char *room,
                        size_t size)
{
    format_text(room, size, "%s.%u", f->settings->path, number);
}

static bool create(struct record_files *f, struct os_data_file *file, struct error *err)
{
    const struct record_files_settings *set = f->settings;
    if (set->stream) {
        os_data_file_of_stream(file, set->stream);
        format_text(f->path, sizeof f->path, "%s", file->path);
        return true;
    }
    if (set->snapshot)
        return os_data_file_create_in_memory(file, err);
    if (!set->path)
        return os_data_file_create_hidden(file, err);
    if (set->rotate)
        number_path(f, ++f->number, f->path, sizeof f->path);
    else
        format_text(f->path, sizeof f->path, "%s", set->path);
    return os_data_file_create(file, f->path, &set->owner, err) &&
           (!f->named || os_data_file_name(file, err));
}

/* Whether a file that is written later can be created. */
static bool can_be_written(const struct record_files_settings *set, struct error *err)
{
    struct os_data_file file;
    struct error ignored;
    if (!os_data_file_create(&file, set->path, &set->owner, err))
        return false;
    os_data_file_close(&file, &ignored);
    return true;
}

static bool begin(struct record_files *f, uint64_t now, struct error *err)
{
    struct record_part *p = part_now(f);
    p->began = now;
    if (!create(f, &p->file, err))
        return false;
    if (!f->settings->snapshot)
        os_data_file_write_behind(&p->file);
    return perf_data_writer_init(&p->writer, &p->file, f->head, err);
}

bool record_files_open(struct record_files *f,
                       const struct record_files_settings *settings,
                       const struct perf_file_head *head, uint64_t now, struct error *err)
{
    *f = (struct record_files){.settings = settings, .head = head, .count = 1};
    for (size_t i = 0; i < RECORD_PARTS; i++)
        f->parts[i].file.fd = -1;
    if (settings->snapshot && !can_be_written(settings, err))
        return false;
    if (settings->rotate && !settings->snapshot) {
        f->ended = calloc(file_limit(f), sizeof *f->ended);
        if (!f->ended)
            return error_memory(err);
    }
    return begin(f, now, err);
}

bool record_files_name(struct record_files *f, struct error *err)
{
    const struct record_files_settings *set = f->settings;
    f->named = true;
    if (set->path && (set->rotate || set->snapshot))
        f->retired = os_data_file_retire(set->path);
    return os_data_file_name(&part_now(f)->file, err);
}

static bool close_part(struct record_part *p, struct error *err)
{
    perf_data_writer_deinit(&p->writer);
    bool ok = os_data_file_close(&p->file, err);
    *p = (struct record_part){.file.fd = -1};
    return ok;
}

bool record_files_close(struct record_files *f, struct error *err)
{
    struct error first;
    bool ok = true;
    for (size_t i = 0; i < f->count; i++) {
        if (close_part(&f->parts[i], &first) || !ok)
            continue;
        *err = first;
        ok = false;
    }
    f->count = 0;
    free(f->ended);
    f->ended = NULL;
    return ok;
}

static uint64_t bytes_now(const struct record_files *f)
{
    return f->count ? perf_data_writer_bytes(&f->parts[f->now].writer) : 0;
}

bool record_files_full(const struct record_files *f)
{
    const struct record_files_settings *set = f->settings;
    return set->most && !set->rotate && !set->snapshot && bytes_now(f) >= set->most;
}

/* The start and end of a file or part. */
static uint64_t span_of(const struct record_files_settings *set)
{
    return set->snapshot ? set->rotate / RECORD_PARTS : set->rotate;
}

uint64_t record_files_due_at(const struct record_files *f)
{
    uint64_t span = span_of(f->settings);
    return span ? f->parts[f->now].began + span : 0;
}

bool record_files_due(const struct record_files *f, uint64_t now)
{
    const struct record_files_settings *set = f->settings;
    uint64_t due = record_files_due_at(f);
    if (!set->rotate && !set->snapshot)
        return false;
    uint64_t parts = set->snapshot ? RECORD_PARTS : file_limit(f);
    return (due && now >= due) || (set->most && bytes_now(f) >= set->most / parts);
}

static uint64_t bytes_in_parts(const struct record_files *f)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < f->count; i++)
        bytes += perf_data_writer_bytes(&f->parts[i].writer);
    return bytes;
}

/* Frees the oldest parts while memory exceeds the limit: parts that filled quickly are
 * larger than others. */
static bool drop_oldest(struct record_files *f, struct error *err)
{
    bool ok = true;
    for (size_t i = 1; ok && i < f->count && bytes_in_parts(f) > f->settings->most; i++)
        ok = close_part(&f->parts[(f->now + i) % f->count], err);
    return ok;
}

/* Completes a part in memory, and starts the next one, which replaces the oldest. */
static bool next_part(struct record_files *f, struct error *err)
{
    if (!perf_data_writer_part(record_files_writer(f), err))
        return false;
    perf_data_writer_deinit(record_files_writer(f));
    if (f->settings->most && !drop_oldest(f, err))
        return false;
    f->now = (f->now + 1) % RECORD_PARTS;
    if (f->count < RECORD_PARTS)
        f->count++;
    return close_part(part_now(f), err);
}

static struct record_retained retained_now(struct record_files *f)
{
    const struct perf_data_writer *w = record_files_writer(f);
    return (struct record_retained){perf_data_writer_in_file(w),
                                    perf_data_writer_bytes(w)};
}

/* Completes a file, and removes the oldest one if the next would be too many. */
static bool next_file(struct record_files *f, struct error *err)
{
    char oldest[4128];
    if (!perf_data_writer_finish(record_files_writer(f), err))
        return false;
    f->bytes_before += bytes_now(f);
    f->ended[f->number % file_limit(f)] = retained_now(f);
    if (!close_part(part_now(f), err))
        return false;
    if (f->number >= file_limit(f)) {
        number_path(f, f->number - file_limit(f) + 1, oldest, sizeof oldest);
        os_data_file_remove(oldest);
    }
    return true;
}

/* The start of the next file: the time at which it was due, so that delays do not add
 * up. */
static uint64_t beginning(const struct record_files *f, uint64_t now)
{
    uint64_t due = record_files_due_at(f);
    return due && now >= due && now - due < span_of(f->settings) ? due : now;
}

bool record_files_switch(struct record_files *f, uint64_t now, struct error *err)
{
    uint64_t begins = beginning(f, now);
    bool ok = (f->settings->snapshot ? next_part(f, err) : next_file(f, err)) &&
              begin(f, begins, err);
    struct perf_data_writer *w = record_files_writer(f);
    if (!ok &&
        !w->failed) { /* the writer rejects further records, and reports the reason */
        w->failed = true;
        w->why = *err;
    }
    return ok;
}

/* Whether a part overlaps the time span that a snapshot covers. */
static bool is_in_span(const struct record_files *f, size_t part, uint64_t now)
{
    const struct record_part *next = &f->parts[(part + 1) % f->count];
    if (f->parts[part].file.fd < 0)
        return false;
    return part == f->now || !f->settings->rotate ||
           now - next->began <= f->settings->rotate;
}

/* Joins the parts into one file, oldest first. */
static bool join(struct record_files *f, struct os_data_file *file, struct error *err)
{
    struct perf_data_writer w = {.file = NULL};
    uint64_t now = os_clock_monotonic();
    bool ok = perf_data_writer_part(record_files_writer(f), err) &&
              perf_data_writer_init(&w, file, f->head, err);
    for (size_t i = 1; ok && i <= f->count; i++) {
        size_t part = (f->now + i) % f->count;
        if (is_in_span(f, part, now))
            ok = perf_data_writer_join(&w, &f->parts[part].writer, err);
    }
    ok = ok && perf_data_writer_finish(&w, err);
    f->last = (struct record_retained){perf_data_writer_in_file(&w),
                                       perf_data_writer_bytes(&w)};
    perf_data_writer_deinit(&w);
    return ok;
}

static bool write_all(struct record_files *f, struct error *err)
{
    struct os_data_file file;
    struct error at_end;
    bool ok = os_data_file_create(&file, f->path, &f->settings->owner, err) &&
              os_data_file_name(&file, err) && join(f, &file, err);
    if (os_data_file_close(&file, &at_end) || !ok)
        return ok;
    *err = at_end;
    return false;
}

bool record_files_snapshot(struct record_files *f, struct error *err)
{
    number_path(f, ++f->number, f->path, sizeof f->path);
    return write_all(f, err);
}

bool record_files_finish(struct record_files *f, struct error *err)
{
    if (!f->settings->snapshot)
        return perf_data_writer_finish(record_files_writer(f), err);
    format_text(f->path, sizeof f->path, "%s", f->settings->path);
    return write_all(f, err);
}

uint64_t record_files_bytes(const struct record_files *f)
{
    return f->bytes_before + bytes_in_parts(f);
}

uint32_t record_files_first(const struct record_files *f)
{
    return f->number > file_limit(f) ? f->number - file_limit(f) + 1 : 1;
}

struct record_retained record_files_retained(const struct record_files *f)
{
    struct record_retained retained = f->last;
    if (f->settings->snapshot || !f->count)
        return retained;
    retained.samples = perf_data_writer_in_file(&f->parts[f->now].writer);
    retained.bytes = bytes_now(f);
    for (uint32_t i = record_files_first(f); f->ended && i < f->number; i++) {
        retained.samples += f->ended[i % file_limit(f)].samples;
        retained.bytes += f->ended[i % file_limit(f)].bytes;
    }
    return retained;
}
