/* SPDX-License-Identifier: Apache-2.0 */
#include "import/json_input.h"

void json_warn(struct json *j, struct builder *b, const char *what)
{
    struct json_place place = json_place(j);
    builder_warn(b, what, place.line, place.column, place.text);
}

bool json_index(struct json *j, uint32_t *out)
{
    uint64_t v;
    if (!json_u64(j, &v) || v >= UINT32_MAX)
        return false;
    *out = (uint32_t)v;
    return true;
}

bool json_input_end(struct json *j, struct builder *b, uint64_t before)
{
    bool any = b->profile->facts.samples > before;
    bool ok = !j->failed || (j->broken && any);
    if (ok && j->broken)
        json_warn(j, b, "the JSON text is damaged, what follows is left out");
    if (ok && j->cut)
        json_warn(j, b, "the JSON text ends too early");
    b->profile->facts.incomplete |= ok && (j->broken || j->cut);
    if (builder_failed(b))
        ok = error_memory(j->err);
    json_deinit(j);
    return ok;
}
