/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/scrape_config.h"
#include "base/array.h"
#include "base/number.h"

#define ADDRESS_MAX 255

struct parsing {
    struct scrape_config *c;
    uint32_t interval; /* of `global`, s */
    size_t
        labels_at; /* the column of `labels:`, whose members are to the right; 0: none */
    size_t targets_at; /* the same of `targets:` */
    struct error *err;
};

static const char *const names[SCRAPE_PROFILES] = {"profile",   "allocs", "heap",
                                                   "goroutine", "mutex",  "block"};

const char *scrape_profile_name(enum scrape_profile profile)
{
    return names[profile];
}

/* --- Values ----------------------------------------------------------------------------- */

static struct str unquoted(struct str s)
{
    s = str_trim(s);
    if (s.len >= 2 && (s.ptr[0] == '\'' || s.ptr[0] == '"') &&
        s.ptr[s.len - 1] == s.ptr[0])
        return (struct str){s.ptr + 1, s.len - 2};
    return s;
}

/* The line without a comment, which begins with '#' at the start or after a space. */
static struct str without_comment(struct str line)
{
    char quote = '\0';
    for (size_t i = 0; i < line.len; i++) {
        char c = line.ptr[i];
        if (quote)
            quote = c == quote ? '\0' : quote;
        else if (c == '\'' || c == '"')
            quote = c;
        else if (c == '#' && (i == 0 || line.ptr[i - 1] == ' '))
            return str_head(line, i);
    }
    return line;
}

/* Cuts "key: value" or "key:". */
static bool cut_key(struct str text, struct str *key, struct str *value)
{
    *value = text;
    *key = str_cut(value, ':');
    bool is_key =
        key->len && key->len < text.len && (value->len == 0 || value->ptr[0] == ' ');
    *value = str_trim(*value);
    return is_key;
}

static bool parse_interval(struct parsing *p, struct str text, uint32_t *seconds)
{
    static const char letters[] = "smh";
    static const uint64_t units[] = {1, 60, 3600};
    uint64_t count = 0;
    text = unquoted(text);
    const char *letter = text.len > 1 ? strchr(letters, text.ptr[text.len - 1]) : NULL;
    if (letter && *letter && number_parse_u64(str_head(text, text.len - 1), &count) &&
        count <= SCRAPE_INTERVAL_MOST) {
        count *= units[letter - letters];
        *seconds = (uint32_t)count;
        if (count >= SCRAPE_INTERVAL_LEAST && count <= SCRAPE_INTERVAL_MOST)
            return true;
    }
    return error_set(p->err, "invalid scrape_interval '%.*s': 5s to 1h", STR_ARG(text));
}

static bool add_target(struct parsing *p, struct str text)
{
    struct scrape_config *c = p->c;
    struct str address = unquoted(text);
    bool is_valid = address.len <= ADDRESS_MAX && str_find(address, ':') < address.len;
    for (size_t i = 0; i < address.len; i++)
        is_valid &= (address.ptr[i] >= '0' && address.ptr[i] <= '9') ||
                    (address.ptr[i] >= 'a' && address.ptr[i] <= 'z') ||
                    (address.ptr[i] >= 'A' && address.ptr[i] <= 'Z') ||
                    str_find(STR(".:-_[]"), address.ptr[i]) < 6;
    if (!is_valid)
        return error_set(p->err, "invalid target '%.*s': HOST:PORT", STR_ARG(address));
    if (c->target_count == SCRAPE_TARGETS_MAX)
        return error_set(p->err, "more than %d targets", SCRAPE_TARGETS_MAX);
    struct scrape_target *t =
        ARRAY_APPEND(&c->arena, c->targets, c->target_count, c->target_cap);
    if (!t)
        return error_memory(p->err);
    *t = (struct scrape_target){address, c->job_count - 1, c->label_count - 1};
    return true;
}

static bool add_profile(struct parsing *p, struct str text)
{
    struct str name = unquoted(text);
    for (unsigned i = 0; i < SCRAPE_PROFILES; i++)
        if (str_equal(name, str_of(names[i]))) {
            p->c->jobs[p->c->job_count - 1].profiles |= 1U << i;
            return true;
        }
    error_set(p->err, "unknown profile '%.*s'", STR_ARG(name));
    return error_hint(p->err, "one of: profile, allocs, heap, goroutine, mutex, block");
}

/* The members of [a, b]. */
static bool parse_list(struct parsing *p, struct str text,
                       bool (*add)(struct parsing *, struct str))
{
    if (text.len < 2 || text.ptr[0] != '[' || text.ptr[text.len - 1] != ']')
        return error_set(p->err, "a list in brackets is missing");
    struct str rest = {text.ptr + 1, text.len - 2};
    while (str_trim(rest).len)
        if (!add(p, str_cut(&rest, ',')))
            return false;
    return true;
}

/* --- Keys ------------------------------------------------------------------------------- */

static bool begin_job(struct parsing *p, struct str name)
{
    struct scrape_config *c = p->c;
    struct scrape_job *j = ARRAY_APPEND(&c->arena, c->jobs, c->job_count, c->job_cap);
    if (!j)
        return error_memory(p->err);
    *j = (struct scrape_job){.name = unquoted(name), .interval = p->interval};
    return j->name.len || error_set(p->err, "the job has no name");
}

/* Targets with labels of their own. */
static bool begin_targets(struct parsing *p)
{
    struct scrape_config *c = p->c;
    struct ingest_labels *l =
        ARRAY_APPEND(&c->arena, c->labels, c->label_count, c->label_cap);
    if (!l)
        return error_memory(p->err);
    l->count = 0;
    return true;
}

static bool parse_job_key(struct parsing *p, struct str key, struct str value)
{
    struct scrape_job *j = &p->c->jobs[p->c->job_count - 1];
    if (str_equal(key, STR("scrape_interval")))
        return parse_interval(p, value, &j->interval);
    if (str_equal(key, STR("profiles")))
        return parse_list(p, value, add_profile);
    if (str_equal(key, STR("static_configs")) && !value.len)
        return true;
    if (!str_equal(key, STR("scheme")))
        return error_set(p->err, "unknown key '%.*s'", STR_ARG(key));
    j->is_https = str_equal(unquoted(value), STR("https"));
    return j->is_https || str_equal(unquoted(value), STR("http")) ||
           error_set(p->err, "invalid scheme '%.*s': http or https", STR_ARG(value));
}

static bool parse_key(struct parsing *p, bool is_item, size_t column, struct str key,
                      struct str value)
{
    bool is_targets = str_equal(key, STR("targets"));
    bool is_labels = str_equal(key, STR("labels")) && !value.len;
    if (is_item && str_equal(key, STR("job_name")))
        return begin_job(p, value);
    if (!p->c->job_count) {
        if (str_equal(key, STR("scrape_interval")))
            return parse_interval(p, value, &p->interval);
        return ((str_equal(key, STR("global")) ||
                 str_equal(key, STR("scrape_configs"))) &&
                !value.len) ||
               error_set(p->err, "unknown key '%.*s'", STR_ARG(key));
    }
    if (!is_targets && !is_labels)
        return parse_job_key(p, key, value);
    if (is_item && !begin_targets(p))
        return false;
    if (!p->c->label_count)
        return error_set(p->err, "'%.*s' is in no list", STR_ARG(key));
    *(is_labels ? &p->labels_at : &p->targets_at) = column;
    return is_labels || !value.len || parse_list(p, value, add_target);
}

static bool parse_line(struct parsing *p, struct str line)
{
    struct str text = str_trim_right(without_comment(line)), key, value;
    size_t column = 0;
    while (column < text.len && text.ptr[column] == ' ')
        column++;
    text = str_skip(text, column);
    if (!text.len || str_equal(text, STR("---")))
        return true;
    if (text.ptr[0] == '\t')
        return error_set(p->err, "a tab at the start of a line");
    bool is_item = str_starts(text, STR("- "));
    if (is_item && p->targets_at && column + 1 >= p->targets_at &&
        !cut_key(str_skip(text, 2), &key, &value))
        return add_target(p, str_skip(text, 2));
    if (!cut_key(is_item ? str_trim_left(str_skip(text, 2)) : text, &key, &value))
        return error_set(p->err, "no 'key: value'");
    column += 1 + 2 * (size_t)is_item; /* from 1 */
    if (p->labels_at && column > p->labels_at && !is_item)
        return ingest_put_label(&p->c->labels[p->c->label_count - 1], unquoted(key),
                                unquoted(value), p->err);
    p->labels_at = p->targets_at = 0;
    return parse_key(p, is_item, column, key, value);
}

bool scrape_config_parse(struct scrape_config *c, struct str text, struct error *err)
{
    struct parsing p = {.c = c, .interval = SCRAPE_INTERVAL_DEFAULT, .err = err};
    *c = (struct scrape_config){.arena = ARENA_INIT};
    for (size_t number = 1; text.len; number++) {
        struct str line = str_cut(&text, '\n');
        if (parse_line(&p, line))
            continue;
        char why[sizeof err->message];
        format_text(why, sizeof why, "%s", err->message);
        return error_set(err, "line %zu: %s", number, why);
    }
    for (size_t i = 0; i < c->job_count; i++)
        if (!c->jobs[i].profiles)
            c->jobs[i].profiles = 1U << SCRAPE_PROFILE;
    return c->target_count ||
           error_set(err, "no targets: add static_configs with targets");
}

void scrape_config_deinit(struct scrape_config *c)
{
    arena_deinit(&c->arena);
    *c = (struct scrape_config){.arena = ARENA_INIT};
}
