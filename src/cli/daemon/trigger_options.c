/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/daemon/trigger_options.h"
#include "base/format.h"
#include "base/number.h"

/* The threshold of that kind and process is replaced if there is one. */
static bool add(struct daemon_trigger_settings *s, const struct daemon_threshold *t,
                struct error *err)
{
    size_t i = 0;
    while (i < s->count && (s->items[i].kind != t->kind ||
                            !str_equal(str_of(s->items[i].process), str_of(t->process))))
        i++;
    if (i == DAEMON_THRESHOLDS_MAX)
        return error_set(err, "more than %d thresholds", DAEMON_THRESHOLDS_MAX);
    s->items[i] = *t;
    s->count += i == s->count;
    return true;
}

static bool read_percent(struct str text, double most, double *out)
{
    if (str_ends(text, STR("%")))
        text.len--;
    return number_parse_double(text, out) && *out > 0 && *out <= most;
}

static bool add_percent(const char *text, void *value, enum daemon_threshold_kind kind,
                        struct error *err)
{
    struct daemon_threshold t = {.kind = kind};
    if (read_percent(str_of(text), 100, &t.most))
        return add(value, &t, err);
    error_set(err, "invalid part '%s'", text);
    return error_hint(err, "percent, such as 90%%, up to 100%%");
}

bool trigger_parse_cpu(const char *text, void *value, struct error *err)
{
    return add_percent(text, value, THRESHOLD_CPU, err);
}

bool trigger_parse_memory(const char *text, void *value, struct error *err)
{
    return add_percent(text, value, THRESHOLD_MEMORY, err);
}

bool trigger_parse_pressure_cpu(const char *text, void *value, struct error *err)
{
    return add_percent(text, value, THRESHOLD_PRESSURE_CPU, err);
}

bool trigger_parse_pressure_memory(const char *text, void *value, struct error *err)
{
    return add_percent(text, value, THRESHOLD_PRESSURE_MEMORY, err);
}

bool trigger_parse_pressure_io(const char *text, void *value, struct error *err)
{
    return add_percent(text, value, THRESHOLD_PRESSURE_IO, err);
}

static bool read_bytes(struct str text, double *out)
{
    static const char letters[] = "KMGT";
    const char *letter = text.len ? strchr(letters, text.ptr[text.len - 1]) : NULL;
    double factor = 1;
    uint64_t v;
    for (const char *c = letters; letter && c <= letter; c++)
        factor *= 1024;
    text.len -= letter != NULL;
    if (!number_parse_u64(text, &v) || v == 0)
        return false;
    *out = (double)v * factor;
    return true;
}

bool trigger_parse_process(const char *text, void *value, struct error *err)
{
    struct daemon_threshold t = {.kind = THRESHOLD_PROCESS_CPU};
    struct str all = str_of(text), name = str_head(all, str_rfind(all, '='));
    struct str limit = str_skip(all, name.len + 1);
    bool is_part = str_ends(limit, STR("%"));
    t.kind = is_part ? THRESHOLD_PROCESS_CPU : THRESHOLD_PROCESS_MEMORY;
    format_text(t.process, sizeof t.process, "%.*s", STR_ARG(name));
    if (name.len &&
        (is_part ? read_percent(limit, 1e6, &t.most) : read_bytes(limit, &t.most)))
        return add(value, &t, err);
    error_set(err, "invalid threshold '%s'", text);
    return error_hint(err, "NAME=150%% of one CPU, or NAME=2G of memory");
}
