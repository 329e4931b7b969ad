/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/notes.h"
#include "base/format.h"
#include "base/number.h"
#include "base/utf8.h"
#include "os/durable.h"
#include <string.h>

#define FILE_MAX ((size_t)DAEMON_NOTES_MAX * (DAEMON_NOTE_BYTES + 64))

/* --- The file ------------------------------------------------------------------------- */

static void set_file(struct daemon_notes *n, const char *store)
{
    struct str path = str_of(store);
    size_t name = path.len;
    while (name && path.ptr[name - 1] != '/')
        name--;
    if (store_location_is_address(store) || name + 2 > sizeof n->folder ||
        path.len - name + sizeof ".notes" > sizeof n->name)
        return;
    format_text(n->folder, sizeof n->folder, "%.*s", STR_ARG(str_head(path, name)));
    if (name == 0)
        format_text(n->folder, sizeof n->folder, ".");
    format_text(n->name, sizeof n->name, "%.*s.notes", STR_ARG(str_skip(path, name)));
}

/* Whether it is one line of text. */
static bool is_text(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 0x7f)
            return false;
    return text.len && text.len <= DAEMON_NOTE_BYTES && utf8_valid(text) == text.len;
}

static void read_line(struct daemon_notes *n, struct str line)
{
    struct daemon_note note;
    struct str number = str_cut(&line, ' '), time = str_cut(&line, ' ');
    if (n->count == DAEMON_NOTES_MAX || !number_parse_u64(number, &note.number) ||
        !number_parse_u64(time, &note.time) || !is_text(line) || note.number <= n->last ||
        note.number == UINT64_MAX)
        return;
    note.text = arena_str(&n->arena, line);
    n->last = note.number;
    n->items[n->count++] = note;
}

static void read_file(struct daemon_notes *n)
{
    struct str rest = STR("");
    struct error ignored; /* there may be no file yet */
    if (n->name[0] &&
        !os_durable_read(n->folder, n->name, FILE_MAX, &n->arena, &rest, &ignored))
        return;
    while (rest.len) {
        size_t end = str_find(rest, '\n');
        read_line(n, str_head(rest, end));
        rest = str_skip(rest, end + 1);
    }
}

static bool write_file(const struct daemon_notes *n, const struct daemon_note *items,
                       size_t count, struct error *err)
{
    struct output o = OUTPUT_BUFFER;
    for (size_t i = 0; i < count; i++)
        output_format(&o, "%llu %llu %.*s\n", (unsigned long long)items[i].number,
                      (unsigned long long)items[i].time, STR_ARG(items[i].text));
    bool ok = o.failed ? error_memory(err)
                       : os_durable_write(n->folder, n->name, output_contents(&o), err);
    output_deinit(&o);
    return ok;
}

bool daemon_notes_init(struct daemon_notes *n, const char *store)
{
    n->items = arena_zalloc(&n->arena, DAEMON_NOTES_MAX + 1, sizeof *n->items);
    if (!n->items || !os_lock_init(&n->lock))
        return false;
    set_file(n, store);
    read_file(n);
    return !n->arena.failed;
}

void daemon_notes_deinit(struct daemon_notes *n)
{
    os_lock_deinit(&n->lock);
    arena_deinit(&n->arena);
}

/* --- Changes -------------------------------------------------------------------------- */

static bool check(const struct daemon_notes *n, struct error *err)
{
    if (n->name[0])
        return true;
    error_set(err, "notes cannot be stored on a server");
    return error_hint(err, "use a store that is a file");
}

/* Memory of removed notes is freed by the copy of those that stay. */
static bool replace(struct daemon_notes *n, const struct daemon_note *from, size_t count,
                    struct error *err)
{
    struct arena arena = ARENA_INIT;
    struct daemon_note *items = arena_zalloc(&arena, DAEMON_NOTES_MAX + 1, sizeof *items);
    for (size_t i = 0; items && i < count; i++) {
        items[i] = from[i];
        items[i].text = arena_str(&arena, from[i].text);
    }
    if (arena.failed || !items || !write_file(n, items, count, err)) {
        bool failed = arena.failed || !items;
        arena_deinit(&arena);
        return failed ? error_memory(err) : false;
    }
    arena_deinit(&n->arena);
    n->arena = arena;
    n->items = items;
    n->count = count;
    return true;
}

bool daemon_notes_add(struct daemon_notes *n, uint64_t time, struct str text,
                      struct error *err)
{
    if (!is_text(text)) {
        error_set(err, "a note is one line of text");
        return error_hint(err, "at most %d bytes", DAEMON_NOTE_BYTES);
    }
    os_lock_acquire(&n->lock);
    bool ok = check(n, err);
    if (ok) {
        size_t dropped = n->count == DAEMON_NOTES_MAX;
        n->items[n->count] = (struct daemon_note){n->last + 1, time, text};
        ok = replace(n, n->items + dropped, n->count + 1 - dropped, err);
        n->last += ok;
    }
    os_lock_release(&n->lock);
    return ok;
}

static bool remove_number(struct daemon_notes *n, uint64_t number, struct error *err)
{
    size_t at = 0;
    while (at < n->count && n->items[at].number != number)
        at++;
    if (at == n->count)
        return error_set(err, "note %llu does not exist", (unsigned long long)number);
    struct daemon_note removed = n->items[at];
    memmove(n->items + at, n->items + at + 1, (n->count - at - 1) * sizeof *n->items);
    if (replace(n, n->items, n->count - 1, err))
        return true;
    memmove(n->items + at + 1, n->items + at, (n->count - at - 1) * sizeof *n->items);
    n->items[at] = removed;
    return false;
}

bool daemon_notes_remove(struct daemon_notes *n, uint64_t number, struct error *err)
{
    os_lock_acquire(&n->lock);
    bool ok = check(n, err) && remove_number(n, number, err);
    os_lock_release(&n->lock);
    return ok;
}

void daemon_notes_write(struct daemon_notes *n, const struct store_span *span,
                        struct output *out)
{
    struct json_writer w = {.out = out};
    json_begin(&w, JSON_OBJECT);
    json_put_key(&w, "notes");
    json_begin(&w, JSON_ARRAY);
    os_lock_acquire(&n->lock);
    for (size_t i = 0; i < n->count; i++) {
        const struct daemon_note *note = &n->items[i];
        if (note->time < span->from / STORE_SECOND ||
            note->time > span->to / STORE_SECOND)
            continue;
        json_begin(&w, JSON_OBJECT);
        json_member_u64(&w, "number", note->number);
        json_member_u64(&w, "time", note->time);
        json_member_str(&w, "text", note->text);
        json_end(&w, JSON_OBJECT);
    }
    os_lock_release(&n->lock);
    json_end(&w, JSON_ARRAY);
    json_end(&w, JSON_OBJECT);
}
