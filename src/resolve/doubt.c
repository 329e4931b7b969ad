/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/doubt.h"
#include "base/format.h"
#include "os/file.h"
#include "os/machine.h"
#include <string.h>

#define PAGE ((uint64_t)4096)

/* A file that is mapped from its beginning may be mapped with the memory behind it. */
static bool is_too_small(const struct object_wanted *w, uint64_t size)
{
    uint64_t length = w->end - w->start, pages = (size + PAGE - 1) / PAGE * PAGE;
    return w->offset && (w->offset >= pages || length > pages - w->offset);
}

static bool is_other_host(const struct object_wanted *w, char host[256])
{
    struct os_machine machine;
    os_machine_read(&machine);
    memcpy(host, machine.host, sizeof machine.host);
    return w->host.len && !str_equal(w->host, str_of(machine.host));
}

/* What differs, or NULL. Below --symfs lies a copy, which has an inode and a date of its
 * own. */
static const char *difference(const struct object *o, const struct resolve_settings *s)
{
    const struct object_wanted *w = &o->wanted;
    struct os_file_facts now;
    if (!os_file_facts(&now, o->file.path))
        return NULL;
    if (is_too_small(w, now.size))
        return "it is smaller than what was mapped";
    if (s->find.symfs)
        return NULL;
    if (w->inode && w->inode != now.inode)
        return "its inode is not the recorded one";
    if (w->written && now.changed > w->written)
        return "it was changed after the recording";
    return NULL;
}

bool object_doubt(const struct object *o, const struct resolve_settings *s,
                  char room[DOUBT_MAX])
{
    char host[256];
    const struct object_wanted *w = &o->wanted;
    bool asked = o->named || o->knows;
    if (w->kind != FRAME_USER || w->build_id.len || !asked || o->result != FIND_FOUND ||
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
