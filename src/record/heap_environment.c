/* SPDX-License-Identifier: Apache-2.0 */
#include "record/heap_environment.h"
#include "base/format.h"
#include "base/heap_format.h"
#include <stdlib.h>
#include <string.h>

bool heap_environment_set(struct heap_environment *e, const char *library,
                          const char *memory, struct error *err)
{
    char preload[8192];
    const char *before = getenv("LD_PRELOAD");
    bool is_set = before && before[0];
    size_t length = format_text(preload, sizeof preload, "%s%s%s", library,
                                is_set ? ":" : "", is_set ? before : "");
    *e = (struct heap_environment){0};
    if (length + 1 >= sizeof preload)
        return error_set(err, "LD_PRELOAD is too long");
    if (before && !(e->preload = strdup(before)))
        return error_memory(err);
    setenv("LD_PRELOAD", preload, 1);
    setenv(HEAP_VARIABLE, memory, 1);
    return true;
}

void heap_environment_restore(struct heap_environment *e)
{
    unsetenv(HEAP_VARIABLE);
    if (e->preload)
        setenv("LD_PRELOAD", e->preload, 1);
    else
        unsetenv("LD_PRELOAD");
    free(e->preload);
    e->preload = NULL;
}
