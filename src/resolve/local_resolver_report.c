/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/doubt.h"
#include "resolve/local_resolver_parts.h"

static void report_first(size_t *count, struct str *first, struct str path)
{
    if (path.len && (*count)++ == 0)
        *first = path;
}

/* Adds the missing sources of an object's names. */
static void report_parts(const struct object *o, struct resolve_report *r)
{
    bool is_jit = o->request.kind == FRAME_JIT;
    const struct object *dump = is_jit && o->process_dump ? *o->process_dump : NULL;
    r->kernel_hidden |= o->is_hidden;
    if (o->request.kind == FRAME_KERNEL && o->named && !o->has_symbols && !o->is_hidden &&
        str_starts(o->request.path, STR("[kernel.kallsyms]"))) {
        r->kernel_unknown = true;
        r->kernel_release = o->request.release;
    }
    bool unread =
        o->is_dump ? o->jit_state == 1 : is_jit && o->named && !o->has_symbols && !dump;
    if (unread)
        report_first(&r->unread, &r->unread_why, o->refused);
    report_first(&r->unsplit, &r->unsplit_path, o->split.missing);
    report_first(&r->unshared, &r->unshared_path, o->missing_alternate);
}

void local_resolver_report(const struct local_resolver *m, struct resolve_report *r)
{
    *r = (struct resolve_report){.missing = 0};
    for (size_t i = 1; i < m->entries.count; i++) {
        const struct object *o = local_resolver_entry(m, i)->object;
        bool is_file = o->request.path.len && o->request.path.ptr[0] == '/' &&
                       o->request.kind == FRAME_USER && !o->is_dump;
        report_parts(o, r);
        if (!o->named || !is_file || o->has_symbols || o->has_dwarf)
            continue;
        if (o->result == FIND_NONE && r->missing++ == 0)
            r->missing_path = o->request.path;
        if (o->result == FIND_OTHER && r->changed++ == 0)
            r->changed_path = o->request.path;
    }
}

bool local_resolver_truncated(struct local_resolver *m)
{
    bool truncated = false;
    local_resolver_finish_all(m); /* tasks may still close files */
    for (size_t i = 1; i < m->entries.count; i++) {
        const struct object *o = local_resolver_entry(m, i)->object;
        truncated |= object_was_truncated(o) || os_mapping_was_truncated(&o->text);
    }
    return truncated;
}

void local_resolver_doubts(const struct local_resolver *m,
                           void (*each)(void *context, const char *why), void *context)
{
    char doubt[DOUBT_MAX], incomplete[INCOMPLETE_MAX];
    for (size_t i = 1; i < m->entries.count; i++) {
        const struct object *o = local_resolver_entry(m, i)->object;
        if (object_doubt(o, m->settings, doubt))
            each(context, doubt);
        if (object_incomplete(o, incomplete))
            each(context, incomplete);
    }
}

bool local_resolver_is_stripped(const struct local_resolver *m, struct str path,
                                bool *has_build_id)
{
    for (size_t i = 1; i < m->entries.count; i++) {
        const struct object *o = local_resolver_entry(m, i)->object;
        *has_build_id = o->has_build_id;
        if (o->is_stripped && str_equal(o->request.path, path))
            return true;
    }
    return false;
}
