/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options/suppressions.h"
#include "base/format.h"
#include "cli/message.h"
#include "os/mapping.h"

#define FILE_MAX_SIZE ((size_t)16 << 20)

/* The command line is parsed once, and its texts remain. */
static struct suppressions all;

static bool read_text(const char *file, struct str *text, struct error *err)
{
    struct os_mapping m = OS_MAPPING_NONE;
    if (!os_mapping_open(&m, file, err))
        return error_hint(err, "give a suppression file of LeakSanitizer or valgrind");
    bool fits = m.bytes.len <= FILE_MAX_SIZE;
    char *copy = fits ? arena_alloc(&all.arena, m.bytes.len + 1) : NULL;
    if (copy && m.bytes.len)
        memcpy(copy, m.bytes.ptr, m.bytes.len);
    *text = (struct str){copy, m.bytes.len};
    os_mapping_close(&m);
    if (!fits)
        return error_set(err, "the suppression file '%s' is too large", file);
    return copy || error_memory(err);
}

bool suppressions_parse(const char *file, void *value, struct error *err)
{
    struct str text = STR("");
    *(struct suppressions **)value = &all;
    if (!read_text(file, &text, err))
        return false;
    if (suppressions_add(&all, text, err))
        return true;
    format_text(err->file, sizeof err->file, "%s", file);
    return false;
}

void suppressions_report(struct suppressions *s)
{
    bool is_first = true;
    for (size_t i = 0; s && i < s->count; i++) {
        struct suppression *item = &s->items[i];
        if (item->stacks && !s->is_quiet) {
            if (is_first) {
                message_note("suppressions used:");
                message_note("stacks      bytes  template");
            }
            message_note("%6llu %10.0f  %.*s", (unsigned long long)item->stacks,
                         item->weight, STR_ARG(item->name));
            is_first = false;
        }
        item->stacks = 0;
        item->weight = 0;
    }
}
