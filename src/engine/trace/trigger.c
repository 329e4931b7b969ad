/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/trace/trigger.h"
#include "base/format.h"
#include "base/number.h"
#include "os/mapping.h"

#define CONFIG_MAX ((size_t)1 << 20)

/* --- FireSim's configuration ----------------------------------------------------------
 *
 * [tracing] of config_runtime.ini, "tracing:" of config_runtime.yaml: one key per line. --- */

enum { KEY_SELECTOR, KEY_START, KEY_END, KEY_ENABLE, KEYS };
static const char *const keys[KEYS] = {"selector", "start", "end", "enable"};

struct config {
    /* as FireSim interprets them; ptr NULL: the key is missing */
    struct str values[KEYS];
    struct str written[KEYS]; /* as in the file */
    uint64_t lines[KEYS];
    char texts[KEYS][32]; /* numbers as YAML interprets them */
    bool is_yaml;
};

/* A line without its comment: '#' after a space, or ';' in an .ini. */
static struct str without_comment(struct str line, bool is_yaml)
{
    for (size_t i = 0; i < line.len; i++) {
        bool first = i == 0 || line.ptr[i - 1] == ' ' || line.ptr[i - 1] == '\t';
        if (first && (line.ptr[i] == '#' || (line.ptr[i] == ';' && !is_yaml)))
            return str_head(line, i);
    }
    return line;
}

static bool is_digit_of(char c, unsigned base)
{
    unsigned digit = byte_is_digit(c) ? (unsigned)(c - '0')
                     : (c | 0x20) >= 'a' && (c | 0x20) <= 'f'
                         ? (unsigned)((c | 0x20) - 'a') + 10
                         : 99;
    return digit < base;
}

/* An unquoted number as YAML 1.1 reads it: 0x hexadecimal, 0b binary, a leading 0 octal,
 * '_' between digits. False if YAML reads it as text. */
static bool yaml_number(struct str text, uint64_t *value)
{
    unsigned base = 10;
    if (text.len > 1 && text.ptr[0] == '0') {
        bool hex = text.ptr[1] == 'x', binary = text.ptr[1] == 'b';
        base = hex ? 16 : binary ? 2 : 8;
        text = str_skip(text, hex || binary ? 2 : 1);
    }
    *value = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '_')
            continue;
        if (!is_digit_of(c, base))
            return false;
        unsigned digit =
            byte_is_digit(c) ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;
        if (*value > (UINT64_MAX - digit) / base)
            return false;
        *value = *value * base + digit;
    }
    return text.len > 0;
}

static struct str unquoted(struct str value)
{
    char quote = value.len > 1 ? value.ptr[0] : 0;
    bool quoted = (quote == '"' || quote == '\'') && value.ptr[value.len - 1] == quote;
    return quoted ? str_head(str_skip(value, 1), value.len - 2) : value;
}

static void set_value(struct config *c, int key, struct str value, uint64_t line)
{
    uint64_t number;
    struct str plain = unquoted(value);
    c->lines[key] = line;
    c->written[key] = value;
    c->values[key] = plain;
    if (c->is_yaml && plain.len == value.len && yaml_number(value, &number)) {
        size_t n = format_text(c->texts[key], sizeof c->texts[key], "%llu",
                               (unsigned long long)number);
        if (!str_equal((struct str){c->texts[key], n}, value))
            c->values[key] = (struct str){c->texts[key], n};
    }
}

static void read_config_line(struct config *c, struct str line, uint64_t number,
                             bool *inside)
{
    bool indented = line.len && (line.ptr[0] == ' ' || line.ptr[0] == '\t');
    struct str rest = str_trim(without_comment(line, c->is_yaml));
    if (rest.len == 0)
        return;
    if (c->is_yaml ? !indented : rest.ptr[0] == '[') {
        *inside = str_equal(rest, c->is_yaml ? STR("tracing:") : STR("[tracing]"));
        return;
    }
    size_t colon = str_find(rest, ':'), equals = str_find(rest, '=');
    size_t at = c->is_yaml || colon < equals ? colon : equals;
    struct str key = str_trim(str_head(rest, at));
    for (int i = 0; *inside && at < rest.len && i < KEYS; i++)
        if (str_equal(key, str_of(keys[i])))
            set_value(c, i, str_trim(str_skip(rest, at + 1)), number);
}

/* Reports numbers that FireSim interprets differently from their text. */
static void explain(const struct config *c, const char *path, int key, unsigned selector,
                    const struct engine_report *report)
{
    struct str written = c->written[key], value = c->values[key];
    bool by_cycle = selector == TRACE_BY_CYCLE;
    /* 0x10 as a cycle is 16 either way; as an address it is read as hexadecimal again. */
    bool means_it = by_cycle && str_starts(written, STR("0x"));
    if (str_equal(unquoted(written), value) || means_it)
        return;
    engine_note(report,
                "%s:%llu: %s: %.*s is, without quotes, the number %.*s to YAML, which "
                "FireSim then reads as %s: put it in quotes",
                path, (unsigned long long)c->lines[key], keys[key], STR_ARG(written),
                STR_ARG(value), by_cycle ? "decimal" : "hexadecimal digits");
}

static bool is_yes(struct str value)
{
    return str_equal(value, STR("yes")) || str_equal(value, STR("true")) ||
           str_equal(value, STR("1")) || str_equal(value, STR("on"));
}

/* --- The trigger ------------------------------------------------------------------- */

static bool parse_selector(struct str text, struct trace_trigger *t, struct error *err)
{
    uint64_t selector;
    if (!number_parse_u64(text, &selector) || selector > TRACE_BY_INSTRUCTION) {
        error_set(err, "invalid selector '%.*s'", STR_ARG(text));
        return error_hint(err, "0 everything, 1 cycles, 2 addresses, 3 instructions as "
                               "mask << 32 | value");
    }
    t->selector = (enum trace_selector)selector;
    return true;
}

/* A cycle is decimal, an address and an instruction are hexadecimal, as in FireSim. */
static bool parse_edge(const struct trace_trigger *t, const char *name, struct str text,
                       uint64_t *value, struct error *err)
{
    bool decimal = t->selector == TRACE_BY_CYCLE;
    if (decimal ? number_parse_u64(text, value) : number_parse_hex(text, value))
        return true;
    error_set(err, "invalid %s '%.*s': not a %s number", name, STR_ARG(text),
              decimal ? "decimal" : "hexadecimal");
    return error_hint(err, "with selector %u it is %s", (unsigned)t->selector,
                      decimal ? "a cycle of the base clock"
                      : t->selector == TRACE_BY_ADDRESS
                          ? "an address"
                          : "mask << 32 | value, such as ffffffff00008013");
}

static bool set_trigger(struct trace_trigger *t, const struct str values[KEYS],
                        struct error *err)
{
    struct str start = values[KEY_START], end = values[KEY_END];
    *t = (struct trace_trigger){.end = UINT64_MAX};
    if (!values[KEY_SELECTOR].ptr) {
        error_set(err, "a start or an end needs a selector");
        return error_hint(err, "--selector 1 by cycle, 2 by address, 3 by instruction");
    }
    if (!parse_selector(values[KEY_SELECTOR], t, err))
        return false;
    if (t->selector == TRACE_ALWAYS)
        return true;
    if (t->selector != TRACE_BY_CYCLE && !start.ptr) {
        error_set(err, "selector %u needs a start", (unsigned)t->selector);
        return error_hint(err, "--start %s",
                          t->selector == TRACE_BY_ADDRESS ? "80000000"
                                                          : "ffffffff00008013");
    }
    if (start.ptr && !parse_edge(t, "start", start, &t->start, err))
        return false;
    t->has_end = end.ptr && !str_equal(end, STR("-1"));
    return !t->has_end || parse_edge(t, "end", end, &t->end, err);
}

static bool read_config(struct config *c, struct str rest, const char *path,
                        struct error *err)
{
    bool inside = false;
    for (uint64_t line = 1; rest.len; line++)
        read_config_line(c, str_cut(&rest, '\n'), line, &inside);
    if (c->values[KEY_SELECTOR].ptr)
        return true;
    error_set(err, "there is no selector under 'tracing'");
    format_text(err->file, sizeof err->file, "%s", path);
    return error_hint(err, "a config_runtime.ini or .yaml of FireSim has one");
}

bool trace_trigger_read(struct trace_trigger *t, const struct trigger_settings *s,
                        const struct engine_report *report, struct error *err)
{
    struct os_mapping file = OS_MAPPING_NONE;
    struct config c = {.is_yaml = false};
    struct str values[KEYS];
    const char *given[] = {s->selector, s->start, s->end};
    bool ok = true;
    if (s->config) {
        struct str name = str_of(s->config);
        c.is_yaml = str_ends(name, STR(".yaml")) || str_ends(name, STR(".yml"));
        ok = os_mapping_open(&file, s->config, err) &&
             read_config(&c, file.bytes, s->config, err);
    }
    memcpy(values, c.values, sizeof values);
    for (int i = 0; i < KEY_ENABLE; i++)
        if (given[i])
            values[i] = str_of(given[i]);
    *t = (struct trace_trigger){.selector = TRACE_ALWAYS};
    bool asked = s->config || s->selector || s->start || s->end;
    ok = ok && (!asked || set_trigger(t, values, err));
    for (int i = KEY_START; ok && i <= KEY_END; i++)
        if (c.values[i].ptr && !given[i] && t->selector != TRACE_ALWAYS)
            explain(&c, s->config, i, t->selector, report);
    if (ok && c.values[KEY_ENABLE].ptr && !is_yes(c.values[KEY_ENABLE]))
        engine_note(report, "%s: tracing is not enabled in it", s->config);
    os_mapping_close(&file);
    return ok;
}

void trace_trigger_say(const struct trace_trigger *t, char *text, size_t size)
{
    char start[NUMBER_TEXT_MAX], end[NUMBER_TEXT_MAX] = "-1";
    bool decimal = t->selector == TRACE_BY_CYCLE;
    size_t n =
        decimal ? number_write_u64(t->start, start) : number_write_hex(t->start, start);
    size_t m = 2;
    if (t->has_end)
        m = decimal ? number_write_u64(t->end, end) : number_write_hex(t->end, end);
    format_text(text, size, "selector %u, start %.*s, end %.*s", (unsigned)t->selector,
                (int)n, start, (int)m, end);
}
