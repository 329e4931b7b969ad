/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes tracepoint formats with any text, applied to any bytes. The input is the
 * format up to the first zero byte, and then the raw data of a sample. */
#include "fuzz.h"
#include "perf/tracepoint.h"

FUZZ_ONE_WAY("tracepoint")

int fuzz_one(const uint8_t *data, size_t size)
{
    struct str input = {(const char *)data, size};
    struct str text = str_head(input, str_find(input, 0));
    struct str raw = str_skip(input, text.len + 1);
    struct arena arena = ARENA_INIT;
    struct output o = OUTPUT_BUFFER;
    struct tracepoint_format f;
    CHECK(tracepoint_format_read(&f, text, &arena));
    for (int big = 0; big < 2; big++)
        tracepoint_format_print(&f, raw, big, &o);
    CHECK(!o.failed);
    output_deinit(&o);
    arena_deinit(&arena);
    return 0;
}
