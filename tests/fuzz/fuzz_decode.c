/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes unpacking: everything readable is read, and the text does not depend on the
 * size of the bites. With damaged data, the length of the text before the fault may
 * vary: zstd does not report what it unpacked in the failing call. */
#include "base/hash.h"
#include "base/output.h"
#include "bites.h"
#include "codec/decode.h"
#include "fuzz.h"

/* A small input may unpack to a large one: this much is sufficient. */
#define ENOUGH ((size_t)8 << 20)

/* True if everything was read without a flaw. */
static bool unpack(struct source *raw, struct output *out)
{
    struct decoder d;
    struct error err = {.message = ""};
    bool ok = decoder_init(&d, raw, &err), more = ok;
    while (more && out->used < ENOUGH) {
        output_bytes(out, d.source.begin, (size_t)(d.source.end - d.source.begin));
        more = !d.source.last;
        ok = source_more(&d.source, d.source.end, &err);
        more &= ok;
    }
    CHECK(ok || err.message[0]);
    ok &= d.flaw == NULL;
    decoder_deinit(&d);
    return ok;
}

FUZZ_ONE_WAY("decode")

int fuzz_one(const uint8_t *data, size_t size)
{
    struct str bytes = {(const char *)data, size};
    struct bites pipe = {.text = bytes.ptr, .length = size, .bite = 1 + size / 64};
    struct source memory = source_of(bytes, STR("memory"));
    struct source piped = source_reading(bites_read, &pipe, STR("pipe"));
    struct output one = OUTPUT_BUFFER, two = OUTPUT_BUFFER;
    bool ok = unpack(&memory, &one);
    CHECK(unpack(&piped, &two) == ok);
    size_t shared = one.used < two.used ? one.used : two.used;
    CHECK(!ok || shared >= ENOUGH || one.used == two.used);
    CHECK(shared == 0 || memcmp(one.bytes, two.bytes, shared) == 0);
    output_deinit(&one);
    output_deinit(&two);
    source_deinit(&memory);
    source_deinit(&piped);
    return 0;
}
