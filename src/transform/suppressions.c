/* SPDX-License-Identifier: Apache-2.0 */
#include "transform/suppressions.h"
#include "base/array.h"
#include "base/format.h"

struct parser {
    struct suppressions *to;
    struct str rest;
    struct str line; /* the current one, without white space at its ends */
    uint64_t number;
    struct suppression_line lines[SUPPRESSION_LINES_MAX];
    size_t count;
};

/* The next line that is neither empty nor a comment. */
static bool next_line(struct parser *p)
{
    while (p->rest.len) {
        p->line = str_trim(str_cut(&p->rest, '\n'));
        p->number++;
        if (p->line.len && p->line.ptr[0] != '#')
            return true;
    }
    return false;
}

static bool invalid(const struct parser *p, const char *what, struct error *err)
{
    error_set(err, "%s", what);
    error_hint(err, "leak:NAME, or { } with a name, Memcheck:Leak, and fun:NAME lines");
    return error_at_line(err, p->number, 1, p->line);
}

/* Adds a suppression with the lines that were read. */
static bool add(struct parser *p, struct str name, bool is_stack, struct error *err)
{
    struct suppressions *s = p->to;
    struct suppression_line *lines = arena_alloc(&s->arena, p->count * sizeof *lines);
    if (!lines || !ARRAY_RESERVE(&s->arena, s->items, s->cap, s->count + 1))
        return error_memory(err);
    memcpy(lines, p->lines, p->count * sizeof *lines);
    s->items[s->count++] = (struct suppression){
        .name = name, .is_stack = is_stack, .lines = lines, .count = p->count};
    return true;
}

/* The template as a pattern for whole names. */
static struct str whole_pattern(struct arena *a, struct str name)
{
    bool is_at_start = str_starts(name, STR("^")), is_at_end = str_ends(name, STR("$"));
    struct str inner = str_skip(name, is_at_start);
    size_t size = inner.len + 3;
    char *text = arena_alloc(a, size);
    if (!text)
        return STR("");
    if (is_at_end && inner.len)
        inner.len--;
    size_t length = format_text(text, size, "%s%.*s%s", is_at_start ? "" : "*",
                                STR_ARG(inner), is_at_end ? "" : "*");
    return (struct str){text, length};
}

/* "leak:NAME"; other checks of the sanitizers have other words. */
static bool read_template(struct parser *p, struct error *err)
{
    struct str name = p->line, check = str_cut(&name, ':');
    if (check.len == p->line.len || name.len == 0)
        return invalid(p, "not a suppression", err);
    if (!str_equal(check, STR("leak")))
        return true;
    p->lines[0] =
        (struct suppression_line){SUPPRESSION_ANY, whole_pattern(&p->to->arena, name)};
    p->count = 1;
    return add(p, name, false, err);
}

/* --- Valgrind's syntax -------------------------------------------------------------- */

static bool read_frame(struct parser *p, struct error *err)
{
    static const struct {
        const char *word;
        enum suppression_kind kind;
    } kinds[] = {{"fun", SUPPRESSION_FUNCTION},
                 {"obj", SUPPRESSION_MODULE},
                 {"src", SUPPRESSION_SOURCE}};
    struct str pattern = p->line, word = str_cut(&pattern, ':');
    struct suppression_line line = {SUPPRESSION_FRAMES, STR("")};
    bool is_known = str_equal(p->line, STR("..."));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!str_equal(word, str_of(kinds[i].word)) || pattern.len == 0)
            continue;
        line = (struct suppression_line){kinds[i].kind, pattern};
        is_known = true;
    }
    if (!is_known)
        return invalid(p, "not a line of a suppression", err);
    if (p->count == SUPPRESSION_LINES_MAX)
        return invalid(p, "a suppression with too many lines", err);
    p->lines[p->count++] = line;
    return true;
}

/* "Memcheck,Addrcheck:Leak" */
static bool is_of_leaks(struct str line)
{
    struct str check = line, tools = str_cut(&check, ':');
    return str_search(tools, STR("Memcheck")) < tools.len &&
           str_equal(str_trim(check), STR("Leak"));
}

/* After "{". */
static bool read_block(struct parser *p, struct error *err)
{
    if (!next_line(p))
        return invalid(p, "a suppression without an end", err);
    struct str name = p->line;
    bool is_used = next_line(p) && is_of_leaks(p->line), ok = true;
    p->count = 0;
    while (ok && next_line(p) && !str_equal(p->line, STR("}")))
        if (is_used && !str_starts(p->line, STR("match-leak-kinds:")))
            ok = read_frame(p, err);
    if (!ok)
        return false;
    if (!str_equal(p->line, STR("}")))
        return invalid(p, "a suppression without an end", err);
    return !is_used || p->count == 0 || add(p, name, true, err);
}

bool suppressions_add(struct suppressions *s, struct str text, struct error *err)
{
    struct parser p = {.to = s, .rest = text};
    while (next_line(&p)) {
        bool ok =
            str_equal(p.line, STR("{")) ? read_block(&p, err) : read_template(&p, err);
        if (!ok)
            return false;
    }
    return true;
}

void suppressions_deinit(struct suppressions *s)
{
    arena_deinit(&s->arena);
    *s = (struct suppressions){.count = 0};
}
