/* SPDX-License-Identifier: Apache-2.0 */
/* Removes the parts of names that differ between builds, calls or types. */
#include "model/name.h"
#include "transform/rewrite.h"

struct stripping {
    const struct strip_options *o;
    string_id *renamed; /* by old name: the new name; 0: not made yet */
    struct output text, next;
};

/* lambda_0x7f00 -> lambda_0x... */
static void write_without_hex(struct output *o, struct str name)
{
    size_t at = 0;
    while (at < name.len) {
        if (!str_starts(str_skip(name, at), STR("0x")) || at + 2 == name.len ||
            !byte_is_hex(name.ptr[at + 2])) {
            output_char(o, name.ptr[at++]);
            continue;
        }
        output_text(o, "0x...");
        for (at += 2; at < name.len && byte_is_hex(name.ptr[at]);)
            at++;
    }
}

/* The length of the package of a method of Java: "java.util." of "java.util.Map.get(int)",
 * and "java/util/" of "java/util/Map.get". 0 if the name has none. */
static size_t package_length(struct str name)
{
    size_t end = str_find(name, '('), dot = str_rfind(str_head(name, end), '.');
    struct str class = str_head(name, dot);
    if (dot == end || dot == name.len)
        return 0;
    size_t last = str_rfind(class, '.');
    if (last == class.len) { /* but A$$Lambda/0x7f00 is a class */
        last = str_rfind(class, '/');
        if (last + 1 < class.len && byte_is_digit(class.ptr[last + 1]))
            return 0;
    }
    size_t length = last < class.len ? last + 1 : 0;
    struct str marks = STR("./-$@");
    for (size_t i = 0; i < length; i++)
        if (!byte_is_word(name.ptr[i]) && str_find(marks, name.ptr[i]) == marks.len)
            return 0;
    return length;
}

/* java.lang. -> j.l. */
static void write_initials(struct output *o, struct str package)
{
    for (size_t i = 0; i < package.len; i++)
        if (!byte_is_word(package.ptr[i]) || i == 0 || !byte_is_word(package.ptr[i - 1]))
            output_char(o, package.ptr[i]);
}

/* Writes the stripped name to s->text. */
static void strip_name(struct stripping *s, struct str name)
{
    struct str plain = label_without_suffix(name), mark = str_skip(name, plain.len);
    if (s->o->offsets)
        plain = name_without_offset(plain);
    if (s->o->arguments)
        plain = name_without_arguments(plain);
    s->text.used = s->next.used = 0;
    size_t package = s->o->initials || s->o->packages ? package_length(plain) : 0;
    if (!s->o->packages)
        write_initials(&s->text, str_head(plain, package));
    plain = str_skip(plain, package);
    if (s->o->templates) {
        name_write_without_templates(&s->next, plain);
        plain = output_contents(&s->next);
    }
    if (s->o->hex)
        write_without_hex(&s->text, plain);
    else
        output_str(&s->text, plain);
    output_str(&s->text, mark);
}

static frame_id copy_stripped(struct rewrite *r, frame_id old)
{
    struct stripping *s = r->context;
    string_id name = r->from->frames[old].name;
    if (name && !s->renamed[name]) {
        strip_name(s, profile_string(r->from, name));
        s->renamed[name] = builder_string(r->to, output_contents(&s->text));
    }
    struct str stripped = profile_string(r->to->profile, s->renamed[name]);
    return rewrite_copy_frame(r, old, &stripped);
}

static bool strip_requested(const struct transform_options *o)
{
    const struct strip_options *s = &o->strip;
    return s->arguments || s->templates || s->offsets || s->hex || s->initials ||
           s->packages;
}

static bool strip_run(const struct profile *from, const struct transform_options *o,
                      struct builder *to, struct error *err)
{
    struct rewrite r;
    struct stripping s = {.o = &o->strip};
    bool ok = rewrite_init(&r, from, to, err);
    if (ok) {
        s.renamed = arena_zalloc(&r.arena, from->strings.count, sizeof *s.renamed);
        r.context = &s;
        r.frame = copy_stripped;
        ok = s.renamed ? rewrite_run(&r, err) : error_memory(err);
    }
    if (ok && (s.text.failed || s.next.failed))
        ok = error_memory(err);
    output_deinit(&s.text);
    output_deinit(&s.next);
    rewrite_deinit(&r);
    return ok;
}

const struct transform transform_strip = {
    .name = "strip",
    .summary = "take arguments, templates, offsets and addresses off names",
    .requested = strip_requested,
    .run = strip_run,
};
