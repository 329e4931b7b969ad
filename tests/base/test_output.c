/* SPDX-License-Identifier: Apache-2.0 */
#include "base/output.h"
#include "unit.h"

struct sink {
    char *bytes;
    size_t used, calls;
    bool broken;
};

static bool sink_write(void *context, const char *bytes, size_t length)
{
    struct sink *s = context;
    s->calls++;
    if (s->broken)
        return false;
    s->bytes = realloc(s->bytes, s->used + length);
    memcpy(s->bytes + s->used, bytes, length);
    s->used += length;
    return true;
}

static void a_buffer_output_keeps_everything(void **state)
{
    (void)state;
    struct output o = OUTPUT_BUFFER;
    assert_str(output_contents(&o), "");
    output_text(&o, "a");
    output_char(&o, 'b');
    output_str(&o, STR("cd"));
    output_bytes(&o, "e", 1);
    output_bytes(&o, "", 0);
    output_u64(&o, 42);
    output_double(&o, 0.5);
    output_fixed(&o, 1, 2);
    output_format(&o, "<%s %d>", "x", 7);
    assert_str(output_contents(&o), "abcde420.51.00<x 7>");
    assert_true(output_finish(&o));
    output_deinit(&o);
}

/* Numbers are written in place: also where the buffer of a stream is nearly full. */
static void numbers_cross_the_end_of_a_buffer(void **state)
{
    (void)state;
    for (size_t before = 65400; before < 65540; before++) {
        struct sink sink = {0};
        struct output o = {.flush = sink_write, .context = &sink};
        for (size_t i = 0; i < before; i++)
            output_char(&o, 'x');
        output_u64(&o, UINT64_MAX);
        output_fixed(&o, -2.5, 1);
        output_short(&o, 0.25, 4);
        assert_true(output_finish(&o));
        output_deinit(&o);
        assert_int_equal(sink.used, before + 20 + 4 + 4);
        free(sink.bytes);
    }
}

static void a_stream_gets_every_byte_in_order(void **state)
{
    (void)state;
    struct sink sink = {0};
    struct output o = {.flush = sink_write, .context = &sink};
    size_t total = 0;
    char piece[70000];
    memset(piece, 'p', sizeof piece);
    for (size_t i = 0; i < 2000; i++) {
        size_t length = i % 100 == 0 ? sizeof piece : i % 37;
        output_bytes(&o, piece, length);
        output_char(&o, (char)('a' + i % 26));
        total += length + 1;
    }
    assert_true(output_finish(&o));
    assert_int_equal(sink.used, total);
    assert_true(sink.calls < 100);
    assert_true(o.cap < 300000);
    size_t at = 0;
    for (size_t i = 0; i < 2000; i++) {
        at += i % 100 == 0 ? sizeof piece : i % 37;
        assert_int_equal(sink.bytes[at++], 'a' + i % 26);
    }
    output_deinit(&o);
    free(sink.bytes);
}

static void a_failed_write_is_sticky(void **state)
{
    (void)state;
    struct sink sink = {.broken = true};
    struct output o = {.flush = sink_write, .context = &sink};
    output_text(&o, "text");
    assert_false(output_finish(&o));
    output_text(&o, "more");
    assert_false(output_finish(&o));
    assert_int_equal(sink.calls, 1);
    output_deinit(&o);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(a_buffer_output_keeps_everything),
        UNIT(numbers_cross_the_end_of_a_buffer),
        UNIT(a_stream_gets_every_byte_in_order),
        UNIT(a_failed_write_is_sticky),
    };
    return UNITS_RUN(units);
}
