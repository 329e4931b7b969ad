/* SPDX-License-Identifier: Apache-2.0 */
#include "http/pack.h"
#include "base/number.h"
#include "codec/encode.h"
#include <string.h>

#define BYTES_MIN 1024 /* less gains nothing */
#define LEVEL 3

/* "gzip;q=0" refuses it. */
static bool is_refused(struct str parameters)
{
    struct str q = str_trim(parameters);
    double value;
    return str_starts(q, STR("q=")) && number_parse_double(str_skip(q, 2), &value) &&
           value <= 0;
}

static bool accepts(const char *accepted, struct str name)
{
    struct str list = str_of(accepted);
    while (list.len) {
        struct str item = str_cut(&list, ',');
        struct str one = str_trim(str_cut(&item, ';'));
        if (str_equal(one, name))
            return !is_refused(item);
    }
    return false;
}

static bool pack_zstd(struct output *body, struct output *to)
{
    struct error err;
    struct packer p = {0};
    size_t bound = packer_bound(body->used);
    if (packer_init(&p, LEVEL, &err) && output_reserve(to, bound))
        to->used = packer_end(&p, output_contents(body), to->bytes, bound);
    packer_deinit(&p);
    return to->used > 0;
}

static bool pack_gzip(struct output *body, struct output *to)
{
    struct error err;
    struct encoder e = {0};
    bool ok = encoder_init_gzip(&e, to, &err);
    if (ok) {
        output_str(&e.output, output_contents(body));
        ok = encoder_finish(&e);
    }
    encoder_deinit(&e);
    return ok && !to->failed;
}

void http_pack(struct output *body, const char *type, const char *accepted,
               const char **encoding)
{
    struct output to = OUTPUT_BUFFER;
    bool ok = false;
    if (body->used < BYTES_MIN || strcmp(type, "application/octet-stream") == 0)
        return;
    if (accepts(accepted, STR("zstd"))) {
        ok = pack_zstd(body, &to);
        *encoding = "zstd";
    } else if (accepts(accepted, STR("gzip"))) {
        ok = pack_gzip(body, &to);
        *encoding = "gzip";
    }
    if (ok && to.used < body->used) {
        output_deinit(body);
        *body = to;
    } else {
        output_deinit(&to);
        *encoding = NULL;
    }
}
