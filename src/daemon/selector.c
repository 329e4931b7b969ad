/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/selector.h"
#include "base/regex.h"
#include "model/sample_labels.h"

#define SERVICE_NAME STR("service_name")

enum comparison { EQUAL, NOT_EQUAL, MATCH, NOT_MATCH };

struct selector_matcher {
    struct str key, value;
    enum comparison comparison;
    struct regex regex;
};

/* --- Parsing ------------------------------------------------------------------------ */

static bool is_key_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '.';
}

static struct str cut_key(struct str *text)
{
    size_t n = 0;
    while (n < text->len && is_key_byte(text->ptr[n]))
        n++;
    struct str key = str_head(*text, n);
    *text = str_skip(*text, n);
    return key;
}

static bool cut_operator(struct str *text, enum comparison *out)
{
    static const char *const texts[] = {"=~", "!~", "!=", "="};
    static const enum comparison operators[] = {MATCH, NOT_MATCH, NOT_EQUAL, EQUAL};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (str_starts(*text, str_of(texts[i]))) {
            *out = operators[i];
            *text = str_skip(*text, strlen(texts[i]));
            return true;
        }
    return false;
}

/* A quoted text; a backslash quotes the next byte. */
static bool cut_value(struct str *text, struct arena *a, struct str *out)
{
    if (text->len == 0 || text->ptr[0] != '"')
        return false;
    char *room = arena_alloc(a, text->len);
    size_t used = 0, i = 1;
    for (; room && i < text->len && text->ptr[i] != '"'; i++) {
        if (text->ptr[i] == '\\' && i + 1 < text->len)
            i++;
        room[used++] = text->ptr[i];
    }
    if (!room || i == text->len)
        return false;
    *out = (struct str){room, used};
    *text = str_skip(*text, i + 1);
    return true;
}

static bool add_matcher(struct selector *s, struct str *rest)
{
    struct selector_matcher *m = &s->items[s->count];
    *rest = str_trim(*rest);
    m->key = cut_key(rest);
    *rest = str_trim(*rest);
    bool ok = m->key.len && cut_operator(rest, &m->comparison);
    *rest = str_trim(*rest);
    ok = ok && cut_value(rest, s->arena, &m->value);
    if (ok && (m->comparison == MATCH || m->comparison == NOT_MATCH))
        ok = regex_init(&m->regex, s->arena, m->value);
    s->count += ok;
    *rest = str_trim(*rest);
    return ok;
}

bool selector_add(struct selector *s, struct str text, struct error *err)
{
    struct str rest = str_trim(text);
    if (!s->items)
        s->items = arena_zalloc(s->arena, SELECTOR_MATCHERS_MAX, sizeof *s->items);
    if (!s->items)
        return error_memory(err);
    size_t brace = str_find(rest, '{');
    s->name = str_trim(str_head(rest, brace));
    rest = str_skip(rest, brace);
    if (rest.len == 0)
        return true;
    rest = str_trim(str_skip(rest, 1));
    bool ok = true;
    while (ok && rest.len && rest.ptr[0] != '}') {
        ok = s->count < SELECTOR_MATCHERS_MAX && add_matcher(s, &rest);
        if (rest.len && rest.ptr[0] == ',')
            rest = str_trim(str_skip(rest, 1));
    }
    if (ok && rest.len == 1 && rest.ptr[0] == '}')
        return !s->arena->failed || error_memory(err);
    error_set(err, "invalid selector '%.*s'", STR_ARG(str_head(text, 200)));
    return error_hint(err, "{service_name=\"web\", process=~\"a.*\"}");
}

/* --- Matching ----------------------------------------------------------------------- */

static struct str *values_of_key(const struct profile *p, struct str key, struct arena *a)
{
    struct str *out = arena_zalloc(a, p->label_set_count + 1, sizeof *out);
    label_id *labels = p->label_sets ? label_sets_find(p, key, a) : NULL;
    for (size_t i = 0; out && labels && i < p->label_set_count; i++) {
        struct output text = OUTPUT_BUFFER;
        if (!labels[i])
            continue;
        sample_label_write(&text, p, labels[i]);
        out[i] = arena_str(a, output_contents(&text));
        output_deinit(&text);
    }
    return a->failed ? NULL : out;
}

struct str *selector_values(const struct profile *p, struct str key, struct arena *a)
{
    if (!str_equal(key, SERVICE_NAME))
        return values_of_key(p, key, a);
    struct str *services = values_of_key(p, STR("service"), a);
    struct str *processes = values_of_key(p, STR("process"), a);
    for (size_t i = 0; services && processes && i < p->label_set_count; i++)
        if (services[i].len == 0)
            services[i] = processes[i];
    return processes ? services : NULL;
}

static bool matches(struct selector_matcher *m, struct str value)
{
    switch (m->comparison) {
    case EQUAL:
        return str_equal(value, m->value);
    case NOT_EQUAL:
        return !str_equal(value, m->value);
    case MATCH:
        return regex_matches(&m->regex, value);
    case NOT_MATCH:
        return !regex_matches(&m->regex, value);
    }
    return false;
}

static void retain(struct profile *p, const bool *keep)
{
    size_t count = 0;
    for (size_t i = 0; i < p->sample_count; i++) {
        label_set_id set = profile_labels(p, i);
        if (!keep[set])
            continue;
        p->samples[count] = p->samples[i];
        if (p->sample_labels)
            p->sample_labels[count] = set;
        count++;
    }
    p->sample_count = count;
}

bool selector_apply(const struct selector *s, struct profile *p)
{
    struct arena a = {0};
    bool *keep = arena_zalloc(&a, p->label_set_count + 1, sizeof *keep);
    for (size_t i = 0; keep && i <= p->label_set_count; i++)
        keep[i] = true;
    for (size_t m = 0; keep && m < s->count; m++) {
        const struct str *values = selector_values(p, s->items[m].key, &a);
        if (!values)
            break;
        for (size_t i = 0; i <= p->label_set_count; i++)
            keep[i] &= matches(&s->items[m], values[i]);
    }
    bool ok = !a.failed && keep;
    if (ok)
        retain(p, keep);
    arena_deinit(&a);
    return ok;
}
