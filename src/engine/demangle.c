/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/demangle.h"
#include "model/rust_name.h"
#include "transform/rewrite.h"

struct renaming {
    enum demangle how;
    string_id *renamed; /* by old name: the new profile's; 0 before first use */
    struct output demangled, joined, plain, text;
};

/* A part of a Rust name must begin with a letter or '_', so there is a '_' before an
 * escape, as in "a::_$u7b$$u7b$closure$u7d$$u7d$::h0123456789abcdef". */
static struct str without_underscores(struct renaming *n, struct str name)
{
    struct str mark = STR("::_$");
    if (!str_has(name, mark))
        return name;
    n->joined.used = 0;
    while (name.len) {
        size_t at = str_search(name, mark);
        output_str(&n->joined, str_head(name, at));
        name = str_skip(name, at);
        if (name.len) {
            output_text(&n->joined, "::$");
            name = str_skip(name, mark.len);
        }
    }
    return output_contents(&n->joined);
}

static struct str plain_name(struct renaming *n, struct str name)
{
    struct str demangled = demangle(name, n->how, &n->demangled);
    if (!str_equal(demangled, name))
        return demangled;
    struct str joined = without_underscores(n, name);
    struct str plain = rust_name(joined, &n->plain);
    return str_equal(plain, joined) ? name : plain;
}

/* The name to show, valid until the next call. */
static struct str new_name(struct renaming *n, struct str name)
{
    struct str bare = label_without_suffix(name), mark = str_skip(name, bare.len);
    struct str shown = plain_name(n, bare);
    if (str_equal(shown, bare) || shown.len == 0)
        return name;
    n->text.used = 0;
    output_str(&n->text, shown);
    output_str(&n->text, mark);
    return n->text.failed ? name : output_contents(&n->text);
}

static bool any_changes(struct renaming *n, const struct profile *p)
{
    for (frame_id f = 1; f < p->frame_count; f++) {
        struct str name = profile_string(p, p->frames[f].name);
        if (!str_equal(new_name(n, name), name))
            return true;
    }
    return false;
}

static frame_id copy_renamed(struct rewrite *r, frame_id old)
{
    struct renaming *n = r->context;
    string_id name = r->from->frames[old].name;
    if (name && !n->renamed[name])
        n->renamed[name] =
            builder_string(r->to, new_name(n, profile_string(r->from, name)));
    struct str shown = profile_string(r->to->profile, n->renamed[name]);
    return rewrite_copy_frame(r, old, &shown);
}

static bool rename_frames(struct renaming *n, const struct profile *from,
                          struct builder *to, struct error *err)
{
    struct rewrite r;
    bool ok = rewrite_init(&r, from, to, err);
    if (ok) {
        n->renamed = arena_zalloc(&r.arena, from->strings.count, sizeof *n->renamed);
        r.context = n;
        r.frame = copy_renamed;
        ok = n->renamed ? rewrite_run(&r, err) : error_memory(err);
    }
    rewrite_deinit(&r);
    return ok;
}

static struct profile *renamed_copy(struct renaming *n, const struct profile *from,
                                    struct error *err)
{
    struct builder b;
    struct profile *p = NULL;
    if (!builder_init(&b, from->all_samples ? BUILD_KEEP : BUILD_COUNT))
        error_memory(err);
    else {
        builder_merge_facts(&b, from);
        if (rename_frames(n, from, &b, err))
            p = builder_finish(&b, err);
    }
    builder_deinit(&b);
    return p;
}

struct profile *demangle_names(struct profile *p, enum demangle how, struct error *err)
{
    struct renaming n = {.how = how};
    if (p && any_changes(&n, p)) {
        struct profile *renamed = renamed_copy(&n, p, err);
        profile_destroy(p);
        p = renamed;
    }
    bool ok =
        !n.demangled.failed && !n.joined.failed && !n.plain.failed && !n.text.failed;
    output_deinit(&n.demangled);
    output_deinit(&n.joined);
    output_deinit(&n.plain);
    output_deinit(&n.text);
    if (ok || !p)
        return p;
    profile_destroy(p);
    error_memory(err);
    return NULL;
}
