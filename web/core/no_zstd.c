/* The page unpacks files before the core reads them; what is packed inside of a file (the
 * records of perf record -z) it cannot. */
#include "base/decode.h"

bool unpacker_init(struct unpacker *u, struct error *err)
{
    *u = (struct unpacker){0};
    error_set(err, "recordings packed by perf record -z are not read in the browser");
    return error_hint(err, "'perf script' or 'stoke convert' unpacks them");
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
