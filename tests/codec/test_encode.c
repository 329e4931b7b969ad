/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/decode.h"
#include "codec/encode.h"
#include "unit.h"

static bool never(void *context, const char *bytes, size_t length)
{
    (void)context, (void)bytes, (void)length;
    return false;
}

/* Compresses and unpacks text, and returns the compressed length. */
static size_t round_trip(struct str text)
{
    struct output packed = OUTPUT_BUFFER;
    struct encoder e;
    struct decoder d;
    struct error err;
    struct str got;
    assert_true(encoder_init_gzip(&e, &packed, &err));
    output_str(&e.output, text);
    assert_true(encoder_finish(&e));
    encoder_deinit(&e);
    struct source raw = source_of(output_contents(&packed), STR("x"));
    assert_true(decoder_init(&d, &raw, &err));
    assert_string_equal(d.what, "gzip");
    assert_true(source_all(&d.source, &got, &err));
    assert_true(str_equal(got, text));
    decoder_deinit(&d);
    size_t length = packed.used;
    output_deinit(&packed);
    return length;
}

static void packed_text_is_unpacked(void **state)
{
    (void)state;
    size_t size = 5u << 20;
    char *text = malloc(size);
    uint32_t noise = 1;
    assert_true(round_trip(STR("")) > 0);
    assert_true(round_trip(STR("a")) > 0);
    memset(text, 'a', size);
    assert_true(round_trip((struct str){text, size}) < size / 100);
    for (size_t i = 0; i < size; i++)
        text[i] = (char)((noise = noise * 1664525 + 1013904223) >> 24);
    round_trip((struct str){text, size});
    free(text);
}

static void a_failing_output_is_reported(void **state)
{
    (void)state;
    struct output to = {.flush = never};
    struct encoder e;
    struct error err;
    assert_true(encoder_init_gzip(&e, &to, &err));
    uint32_t noise = 1;
    for (size_t i = 0; i < 1u << 20; i++)
        output_char(&e.output, (char)((noise = noise * 1664525 + 1013904223) >> 24));
    assert_false(encoder_finish(&e));
    encoder_deinit(&e);
    output_deinit(&to);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(packed_text_is_unpacked),
        UNIT(a_failing_output_is_reported),
    };
    return UNITS_RUN(units);
}
