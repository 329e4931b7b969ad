/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"
#include <stdlib.h>
#include <unistd.h>

#define STORE(name) extern const struct store_kind store_kind_##name;
#include "store/stores.def"
#undef STORE

#define STORE(name) &store_kind_##name,
static const struct store_kind *const kinds[] = {
#include "store/stores.def"
};
#undef STORE

/* A location without a known scheme is a file. */
static const struct store_kind *kind_of(const char *location)
{
    const struct store_kind *found = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *scheme = kinds[i]->scheme;
        if (scheme ? str_starts(str_of(location), str_of(scheme)) : !found)
            found = kinds[i];
    }
    return found;
}

bool store_location_is_address(const char *location)
{
    return kind_of(location)->scheme != NULL;
}

struct store *store_open(const char *location, enum store_mode mode, struct error *err)
{
    const struct store_kind *kind = kind_of(location);
    struct store *s = calloc(1, kind->size);
    if (!s) {
        error_memory(err);
        return NULL;
    }
    s->kind = kind;
    if (kind->open(s, location, mode, err))
        return s;
    store_close(s);
    return NULL;
}

void store_close(struct store *s)
{
    if (s)
        s->kind->close(s);
    free(s);
}

#define MACHINE "/var/lib/stoke/history.db"

const char *store_default_location(enum store_mode mode, char *room, size_t size)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (geteuid() == 0)
        format_text(room, size, "%s", MACHINE);
    else if (state && state[0] == '/')
        format_text(room, size, "%s/stoke/history.db", state);
    else
        format_text(room, size, "%s/.local/state/stoke/history.db", home ? home : "");
    if (mode == STORE_READ && access(room, R_OK) != 0)
        format_text(room, size, "%s", MACHINE);
    return room;
}
