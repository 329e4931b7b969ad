#include "base/memo.h"

bool memo_init(struct memo *m, struct arena *a, size_t pairs)
{
    m->entries = arena_zalloc(a, pairs * 2, sizeof *m->entries);
    m->mask = pairs - 1;
    return m->entries != NULL;
}
