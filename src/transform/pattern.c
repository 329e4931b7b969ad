/* SPDX-License-Identifier: Apache-2.0 */
#include "transform/pattern.h"
#include "base/array.h"
#include <regex.h>

/* --- From the user's syntax to the syntax of regcomp ------------------------------- */

/* The end of the bracket expression that opens at `at`: after its ']', or s.len. */
static size_t skip_class(struct str s, size_t at)
{
    at++;
    at += at < s.len && s.ptr[at] == '^';
    at += at < s.len && s.ptr[at] == ']';
    while (at < s.len && s.ptr[at] != ']') {
        char kind = at + 1 < s.len ? s.ptr[at + 1] : 0;
        if (s.ptr[at] == '[' && (kind == ':' || kind == '.' || kind == '=')) {
            char close[2] = {kind, ']'};
            at += 2;
            at += str_search(str_skip(s, at), (struct str){close, 2}) + 2;
        } else {
            at++;
        }
    }
    return at < s.len ? at + 1 : s.len;
}

/* Writes the pattern in POSIX syntax, zero-terminated. */
static void translate(struct output *o, struct str s)
{
    size_t at = 0;
    while (at < s.len) {
        struct str rest = str_skip(s, at);
        size_t length = 1;
        if (str_starts(rest, STR("(?:"))) {
            output_char(o, '(');
            at += 3;
            continue;
        }
        if (str_starts(rest, STR("\\d")) || str_starts(rest, STR("\\D"))) {
            output_text(o, rest.ptr[1] == 'd' ? "[0-9]" : "[^0-9]");
            at += 2;
            continue;
        }
        if (rest.ptr[0] == '[')
            length = skip_class(s, at) - at;
        else if (rest.ptr[0] == '\\' && rest.len > 1)
            length = 2;
        output_bytes(o, rest.ptr, length);
        at += length;
    }
    output_char(o, 0);
}

/* --- Errors in a pattern ----------------------------------------------------------- */

/* The position of a parenthesis without its partner; s.len if there is none. */
static size_t find_unpaired(struct str s)
{
    size_t depth = 0, at = 0, open = s.len;
    while (at < s.len) {
        char c = s.ptr[at];
        if (c == '[') {
            size_t end = skip_class(s, at);
            if (end == s.len && s.ptr[s.len - 1] != ']')
                return at;
            at = end;
            continue;
        }
        if (c == '(' && depth++ == 0)
            open = at;
        if (c == ')' && depth-- == 0)
            return at;
        at += c == '\\' ? 2 : 1;
    }
    return depth ? open : s.len;
}

/* A repetition without an operand. */
static size_t find_stray_repetition(struct str s)
{
    for (size_t at = 0; at < s.len;) {
        char c = s.ptr[at], before = at ? s.ptr[at - 1] : '|';
        bool repeats = c == '*' || c == '+' || c == '?' || c == '{';
        if (repeats && (before == '|' || before == '('))
            return at;
        at = c == '[' ? skip_class(s, at) : at + (c == '\\' ? 2 : 1);
    }
    return s.len;
}

static bool bad_pattern(struct str s, const char *reason, struct error *err)
{
    size_t at = find_unpaired(s), perl = str_search(s, STR("(?"));
    if (perl < s.len && !str_starts(str_skip(s, perl), STR("(?:"))) {
        error_set(err, "invalid pattern '%.*s': '(?' in column %zu", STR_ARG(s),
                  perl + 1);
        return error_hint(err, "supported: (?:...), and (?i) at the beginning");
    }
    if (at == s.len)
        at = find_stray_repetition(s);
    if (at < s.len) {
        error_set(err, "invalid pattern '%.*s': %s, at the '%c' in column %zu",
                  STR_ARG(s), reason, s.ptr[at], at + 1);
        return error_hint(err, "'\\%c' for the character itself", s.ptr[at]);
    }
    return error_set(err, "invalid pattern '%.*s': %s", STR_ARG(s), reason);
}

/* Our own messages: the messages of C libraries differ. */
static const char *reason_of(int code)
{
    switch (code) {
    case REG_EBRACK:
        return "a '[' is not closed";
    case REG_EPAREN:
        return "round brackets are not balanced";
    case REG_EBRACE:
    case REG_BADBR:
        return "the repetition in '{}' is invalid";
    case REG_BADRPT:
        return "a repetition has nothing to repeat";
    case REG_ERANGE:
        return "a range ends before it begins";
    case REG_EESCAPE:
        return "the last '\\' escapes nothing";
    case REG_ECTYPE:
        return "unknown class of characters";
    case REG_ESUBREG:
        return "unknown group";
    default:
        return "it is not a POSIX extended regular expression";
    }
}

/* Compiles the pattern. The caller frees the regex if true is returned. */
static bool pattern_compile(const char *text, regex_t *regex, struct error *err)
{
    struct str s = str_of(text);
    struct output posix = OUTPUT_BUFFER;
    int flags = REG_EXTENDED | REG_NOSUB;
    if (s.len == 0)
        return error_set(err, "an empty pattern would match every name");
    if (str_starts(s, STR("(?i)"))) {
        s = str_skip(s, 4);
        flags |= REG_ICASE;
    }
    translate(&posix, s);
    if (posix.failed) {
        output_deinit(&posix);
        return error_memory(err);
    }
    /* Most libraries accept a lone ')' as a character; users mean a group. */
    size_t lone = find_unpaired(s);
    int code = lone < s.len && s.ptr[lone] == ')' ? REG_EPAREN
                                                  : regcomp(regex, posix.bytes, flags);
    output_deinit(&posix);
    if (code == REG_ESPACE)
        return error_memory(err);
    return code == 0 || bad_pattern(s, reason_of(code), err);
}

bool pattern_check(const char *text, struct error *err)
{
    regex_t regex;
    if (!pattern_compile(text, &regex, err))
        return false;
    regfree(&regex);
    return true;
}

/* --- Names -------------------------------------------------------------------------- */

struct matching {
    const struct transform_words *words;
    regex_t regexes[TRANSFORM_WORDS_MAX];
    size_t count; /* of the regexes */
    struct strings names;
    uint32_t *masks; /* by name */
    size_t cap;
    struct output text;
};

/* The words that equal the text. */
static uint32_t match_exactly(const struct transform_words *words, struct str text)
{
    uint32_t mask = 0;
    for (size_t i = 0; i < words->count; i++)
        if (str_equal(str_of(words->items[i]), text))
            mask |= (uint32_t)1 << i;
    return mask;
}

/* The patterns that match the text, which is zero-terminated here. */
static uint32_t match_text(struct matching *m, struct str name)
{
    uint32_t mask = 0;
    if (m->words->exact)
        return match_exactly(m->words, name);
    m->text.used = 0;
    for (size_t i = 0; i < name.len; i++)
        output_char(&m->text, name.ptr[i] ? name.ptr[i] : '?');
    output_char(&m->text, 0);
    for (size_t i = 0; !m->text.failed && i < m->count; i++)
        if (regexec(&m->regexes[i], m->text.bytes, 0, NULL, 0) == 0)
            mask |= (uint32_t)1 << i;
    return mask;
}

/* The patterns that match a name with or without its suffix. */
static uint32_t match_name(struct matching *m, struct str name)
{
    struct str plain = label_without_suffix(name);
    uint32_t mask = match_text(m, name);
    return plain.len == name.len ? mask : mask | match_text(m, plain);
}

static bool match_frames(struct matching *m, const struct profile *p, struct arena *a,
                         uint32_t *of_frame)
{
    static const struct label_style marked = {.kernel = true, .jit = true};
    struct output label = OUTPUT_BUFFER;
    for (frame_id f = 1; f < p->frame_count && !a->failed; f++) {
        size_t known = m->names.count;
        label.used = 0;
        label_frame(&label, p, f, &marked);
        string_id name = strings_add(&m->names, output_contents(&label));
        if (m->names.count > known) {
            if (!ARRAY_RESERVE(a, m->masks, m->cap, name + 1))
                break;
            m->masks[name] = match_name(m, output_contents(&label));
        }
        of_frame[f] = name ? m->masks[name] : 0;
    }
    bool ok = !label.failed && !m->text.failed && !a->failed;
    output_deinit(&label);
    return ok;
}

static bool compile_all(struct matching *m, struct error *err)
{
    const struct transform_words *words = m->words;
    bool ok = true;
    while (ok && !words->exact && m->count < words->count) {
        ok = pattern_compile(words->items[m->count], &m->regexes[m->count], err);
        m->count += ok;
    }
    return ok;
}

static void matching_deinit(struct matching *m)
{
    while (m->count > 0)
        regfree(&m->regexes[--m->count]);
    output_deinit(&m->text);
}

uint32_t *pattern_match_frames(struct arena *a, const struct profile *p,
                               const struct transform_words *patterns, struct error *err)
{
    struct matching m = {.words = patterns, .text = OUTPUT_BUFFER};
    struct arena names = ARENA_INIT;
    uint32_t *of_frame = arena_zalloc(a, p->frame_count, sizeof *of_frame);
    if (!of_frame) {
        error_memory(err);
        return NULL;
    }
    bool ok =
        (strings_init(&m.names, &names) || error_memory(err)) && compile_all(&m, err);
    if (ok)
        ok = match_frames(&m, p, &names, of_frame) || error_memory(err);
    matching_deinit(&m);
    arena_deinit(&names);
    return ok ? of_frame : NULL;
}

uint32_t *pattern_match_modules(struct arena *a, const struct profile *p,
                                const struct transform_words *patterns, struct error *err)
{
    struct matching m = {.words = patterns, .text = OUTPUT_BUFFER};
    uint32_t *of_module = arena_zalloc(a, p->module_count, sizeof *of_module);
    if (!of_module) {
        error_memory(err);
        return NULL;
    }
    bool ok = compile_all(&m, err);
    for (module_id i = 1; ok && i < p->module_count; i++)
        of_module[i] =
            match_text(&m, str_basename(profile_string(p, p->modules[i].path)));
    ok = ok && (!m.text.failed || error_memory(err));
    matching_deinit(&m);
    return ok ? of_module : NULL;
}
