/* SPDX-License-Identifier: Apache-2.0 */
#include "model/unwind_gaps.h"
#include <string.h>

/* Names are part of messages, pictures and pages, so only plain characters are taken. */
static char plain(char c)
{
    return c < ' ' || c > '~' || strchr("<>&\"'", c) ? '?' : c;
}

void unwind_gaps_add(struct unwind_gaps *g, struct str path, uint64_t stacks)
{
    struct unwind_gap new = {.stacks = stacks};
    struct str name = path.len ? str_basename(path) : STR("code without a file");
    for (size_t i = 0; i < name.len && i < UNWIND_GAP_NAME_MAX; i++)
        new.file[i] = plain(name.ptr[i]);
    g->stacks += stacks;
    for (unsigned i = 0; i < g->count; i++) {
        if (strcmp(g->files[i].file, new.file) == 0) {
            g->files[i].stacks += stacks;
            return;
        }
    }
    if (g->count < UNWIND_GAPS_MAX)
        g->files[g->count++] = new;
}

void unwind_gaps_merge(struct unwind_gaps *g, const struct unwind_gaps *from)
{
    uint64_t named = 0;
    for (unsigned i = 0; i < from->count; i++) {
        unwind_gaps_add(g, str_of(from->files[i].file), from->files[i].stacks);
        named += from->files[i].stacks;
    }
    g->stacks += from->stacks - named;
}

const struct unwind_gap *unwind_gaps_most(const struct unwind_gaps *g)
{
    const struct unwind_gap *most = NULL;
    for (unsigned i = 0; i < g->count; i++)
        if (!most || g->files[i].stacks > most->stacks)
            most = &g->files[i];
    return most;
}
