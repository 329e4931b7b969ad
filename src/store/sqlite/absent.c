/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the SQLite store if stoke is built without the library. */
#include "store/store.h"

static bool open_store(struct store *s, const char *location, enum store_mode mode,
                       struct error *err)
{
    (void)s, (void)location, (void)mode;
    error_set(err, "this stoke was built without SQLite and cannot read or write stores");
    return error_hint(err, "install libsqlite3-dev and build stoke again");
}

static void close_store(struct store *s)
{
    (void)s;
}

const struct store_kind store_kind_sqlite = {.name = "sqlite",
                                             .size = sizeof(struct store),
                                             .open = open_store,
                                             .close = close_store};
