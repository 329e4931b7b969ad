/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/doubt.h"
#include "base/format.h"
#include "os/file.h"
#include "os/machine.h"
#include <string.h>

#define PAGE ((uint64_t)4096)

/* The last page may extend beyond the end of the file, and a mapping from offset 0 may
 * include the memory after it. */
static bool is_too_small(const struct object_request *w, uint64_t size)
{
    uint64_t length = w->end - w->start, pages = (size + PAGE - 1) / PAGE * PAGE;
    return w->offset && (w->offset >= pages || length > pages - w->offset);
}

static bool is_other_host(const struct object_request *w, char host[256])
{
    struct os_machine machine;
    os_machine_read(&machine);
    memcpy(host, machine.host, sizeof machine.host);
    return w->host.len && !str_equal(w->host, str_of(machine.host));
}

/* The difference, or NULL. Files below --symfs are copies, whose inode and date
 * differ. */
static const char *difference(const struct object *o, const struct resolve_settings *s)
{
    const struct object_request *w = &o->request;
    struct os_file_facts now;
    if (!os_file_facts(&now, o->file.path))
        return NULL;
    if (is_too_small(w, now.size))
        return "it is smaller than the recorded mapping";
    if (s->find.symfs)
        return NULL;
    if (w->inode && w->inode != now.inode)
        return "its inode differs from the recorded one";
    if (w->written && now.changed > w->written)
        return "it was modified after the recording";
    return NULL;
}

bool object_doubt(const struct object *o, const struct resolve_settings *s,
                  char room[DOUBT_MAX])
{
    char host[256];
    const struct object_request *w = &o->request;
    bool named = o->named || o->cache_opened;
    if (w->kind != FRAME_USER || w->build_id.len || !named || o->result != FIND_FOUND ||
        o->file.path.len == 0)
        return false;
    const char *what = difference(o, s);
    bool other_host = !what && !s->find.symfs && is_other_host(w, host);
    if (!what && !other_host)
        return false;
    size_t used = format_text(room, DOUBT_MAX,
                              "names in %.*s may be wrong: the recording has no build ID "
                              "of it, and ",
                              STR_ARG(str_head(w->path, DOUBT_MAX / 2)));
    if (what)
        format_text(room + used, DOUBT_MAX - used, "%s", what);
    else
        format_text(room + used, DOUBT_MAX - used, "was made on %.*s, this is %s",
                    STR_ARG(str_head(w->host, 64)), host);
    return true;
}
