/* SPDX-License-Identifier: Apache-2.0 */
#include "import/json_input.h"

static size_t count_present(struct str text, const char *const words[4], size_t *present)
{
    size_t count = 0;
    *present = 0;
    for (; count < 4 && words[count]; count++)
        *present += str_has(text, str_of(words[count]));
    return count;
}

static bool applies(const struct json_rule *rule, struct str text)
{
    size_t all, any;
    if (text.len == 0 || text.ptr[0] != rule->open)
        return false;
    if (count_present(text, rule->all, &all) != all)
        return false;
    return count_present(text, rule->any, &any) == 0 || any > 0;
}

int json_probe(struct str head, const struct json_rule *rules)
{
    struct str text = str_trim_left(head);
    for (; rules->open; rules++)
        if (applies(rules, text))
            return rules->score;
    return 0;
}

void json_warn(struct json *j, struct builder *b, const char *what)
{
    struct json_location location = json_location(j);
    builder_warn(b, what, location.line, location.column, location.text);
}

bool json_index(struct json *j, uint32_t *out)
{
    uint64_t v;
    if (!json_u64(j, &v) || v >= UINT32_MAX)
        return false;
    *out = (uint32_t)v;
    return true;
}

bool json_next_object(struct json *j)
{
    while (json_item(j))
        if (json_enter(j, JSON_OBJECT))
            return true;
    return false;
}

string_id json_name(struct json *j, struct builder *b)
{
    struct str s;
    return json_string(j, &s) ? builder_string(b, s) : 0;
}

bool json_input_end(struct json *j, struct builder *b, uint64_t before)
{
    bool any = b->profile->facts.samples > before;
    bool ok = !j->failed || (j->broken && any);
    if (ok && j->broken)
        json_warn(j, b, "the JSON text is damaged; the rest is skipped");
    if (ok && j->cut)
        json_warn(j, b, "the JSON text is truncated");
    b->profile->facts.incomplete |= ok && (j->broken || j->cut);
    if (builder_failed(b))
        ok = error_memory(j->err);
    json_deinit(j);
    return ok;
}
