/* The page unpacks files before the core reads them; what is packed inside of a file (the
 * records of perf record -z) it cannot. Readers take that for shortness of memory, so it
 * is remembered for who tells the user. */
#include "base/decode.h"
#include "web/core/core.h"

static bool asked;

bool zstd_was_asked(struct error *err)
{
    bool was = asked;
    asked = false;
    if (!was)
        return false;
    error_set(err, "recordings packed by perf record -z are not read in the browser");
    error_hint(err, "'stoke convert' reads them: to a .stoke or .html file");
    return true;
}

bool unpacker_init(struct unpacker *u, struct error *err)
{
    *u = (struct unpacker){0};
    asked = true;
    return error_memory(err);
}

void unpacker_deinit(struct unpacker *u)
{
    (void)u;
}

bool unpacker_take(struct unpacker *u, struct str *packed, char *into, size_t room,
                   size_t *got)
{
    (void)u;
    (void)packed;
    (void)into;
    (void)room;
    *got = 0;
    return false;
}
