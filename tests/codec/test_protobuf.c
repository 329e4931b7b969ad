/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/protobuf.h"
#include "unit.h"

#define BYTES(literal) ((struct str){(literal), sizeof(literal) - 1})

/* Reads the only field of a message. */
static struct proto_field only_field(struct str message)
{
    struct proto_reader r = proto_of(message);
    struct proto_field f;
    assert_true(proto_next(&r, &f));
    assert_int_equal(proto_offset(&r), message.len);
    struct proto_field none;
    assert_false(proto_next(&r, &none));
    assert_false(r.failed);
    return f;
}

static void every_wire_type_is_read(void **state)
{
    (void)state;
    struct proto_field f = only_field(BYTES("\x08\x96\x01"));
    assert_int_equal(f.number, 1);
    assert_int_equal(f.wire, PROTO_VARINT);
    assert_int_equal(f.value, 150);
    f = only_field(BYTES("\x11\x01\x02\x03\x04\x05\x06\x07\x88"));
    assert_int_equal(f.number, 2);
    assert_true(f.value == 0x8807060504030201u);
    f = only_field(BYTES("\x1d\x01\x02\x03\x84"));
    assert_int_equal(f.number, 3);
    assert_int_equal(f.value, 0x84030201u);
    f = only_field(BYTES("\x22\x03"
                         "abc"));
    assert_int_equal(f.number, 4);
    assert_str(f.bytes, "abc");
    f = only_field(BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
    assert_true(f.value == UINT64_MAX);
}

static void assert_fails(struct str message, uint64_t offset)
{
    struct proto_reader r = proto_of(message);
    struct proto_field f;
    while (proto_next(&r, &f))
        ;
    assert_true(r.failed);
    assert_int_equal(proto_offset(&r), offset);
    assert_false(proto_next(&r, &f));
}

static void invalid_fields_fail_at_their_offset(void **state)
{
    (void)state;
    assert_fails(BYTES("\x08"), 0);             /* truncated */
    assert_fails(BYTES("\x08\x01\x08\x80"), 2); /* truncated */
    assert_fails(BYTES("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"), 0); /* 11 */
    assert_fails(BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), 0); /* 65 bits */
    assert_fails(BYTES("\x22\x04"
                       "abc"),
                 0); /* length beyond the end */
    assert_fails(BYTES("\x22\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                       "a"),
                 0);
    assert_fails(BYTES("\x11\x01\x02"), 0);
    assert_fails(BYTES("\x1d\x01\x02"), 0);
    assert_fails(BYTES("\x08\x01\x03\x01"), 2); /* a group */
    assert_fails(BYTES("\x06"), 0);             /* wire type 6 */
    assert_fails(BYTES("\x02\x01"
                       "a"),
                 0);                                        /* field 0 */
    assert_fails(BYTES("\xfa\xff\xff\xff\xff\x7f\x00"), 0); /* a field number too large */
}

static void numbers_are_read_packed_and_alone(void **state)
{
    (void)state;
    struct str messages[] = {BYTES("\x0a\x04\x01\x96\x01\x03"),
                             BYTES("\x08\x01\x08\x96\x01\x08\x03")};
    for (size_t i = 0; i < 2; i++) {
        struct proto_reader r = proto_of(messages[i]);
        struct proto_field f;
        uint64_t v, sum = 0, count = 0;
        while (proto_next(&r, &f))
            while (proto_number(&f, &v)) {
                sum += v;
                count++;
            }
        assert_int_equal(sum, 154);
        assert_int_equal(count, 3);
    }
    struct proto_field f = only_field(BYTES("\x0a\x03\x01\x02\x80"));
    uint64_t v;
    assert_true(proto_number(&f, &v));
    assert_true(proto_number(&f, &v));
    assert_false(proto_number(&f, &v));
}

static void written_messages_are_read(void **state)
{
    (void)state;
    struct output inner = OUTPUT_BUFFER, out = OUTPUT_BUFFER;
    uint64_t values[] = {1, 127, 128, 16384, UINT32_MAX, UINT64_MAX >> 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        proto_put_u64(&inner, (uint32_t)i + 1, values[i]);
    proto_put_u64(&inner, 99, 0);
    proto_put_bytes(&out, 100, output_contents(&inner));
    proto_put_str(&out, 536870911, STR("caf\xc3\xa9 \xff"));
    struct proto_reader r = proto_of(output_contents(&out));
    struct proto_field f, g;
    assert_true(proto_next(&r, &f));
    assert_int_equal(f.number, 100);
    struct proto_reader in = proto_inside(&r, &f);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        assert_true(proto_next(&in, &g));
        assert_int_equal(g.number, i + 1);
        assert_true(g.value == values[i]);
    }
    assert_false(proto_next(&in, &g));
    assert_false(in.failed);
    assert_true(proto_next(&r, &f));
    assert_int_equal(f.number, 536870911);
    assert_str(f.bytes, "caf\xc3\xa9 \xef\xbf\xbd");
    assert_false(proto_next(&r, &f));
    output_deinit(&inner);
    output_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(every_wire_type_is_read),
        UNIT(invalid_fields_fail_at_their_offset),
        UNIT(numbers_are_read_packed_and_alone),
        UNIT(written_messages_are_read),
    };
    return UNITS_RUN(units);
}
