/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"
#include "unwind/expression.h"

static bool memory(void *context, uint64_t address, unsigned size, uint64_t *value)
{
    (void)context;
    *value = address + size;
    return address < 0x10000;
}

static bool reg(void *context, uint64_t number, uint64_t *value)
{
    (void)context;
    *value = number * 0x100;
    return number < 17;
}

static const struct expression_access access = {
    .memory = memory, .reg = reg, .bias = 0x7000000};

#define FAILED 0xdeadbeefdeadbeefu

static uint64_t value_of(struct str code)
{
    uint64_t value;
    return expression_evaluate(code, &access, NULL, &value) ? value : FAILED;
}

#define assert_value(code, expected) \
    assert_true(value_of(STR(code)) == (uint64_t)(expected))

static void constants(void **state)
{
    (void)state;
    assert_value("\x30", 0);
    assert_value("\x4f", 31);
    assert_value("\x08\xff", 255);
    assert_value("\x09\xff", -1);
    assert_value("\x0a\xfe\xff", 0xfffe);
    assert_value("\x0b\xfe\xff", -2);
    assert_value("\x0c\xfe\xff\xff\xff", 0xfffffffe);
    assert_value("\x0d\xfe\xff\xff\xff", -2);
    assert_value("\x0e\x01\0\0\0\0\0\0\x80", 0x8000000000000001);
    assert_value("\x10\x82\x01", 130);
    assert_value("\x11\x7e", -2);
    assert_value("\x03\x10\0\0\0\0\0\0\0", 0x7000010); /* with the load address */
}

static void arithmetic_is_signed_where_dwarf_says_so(void **state)
{
    (void)state;
    assert_value("\x11\x7a\x33\x1b", -2);                          /* -6 / 3 */
    assert_value("\x0e\0\0\0\0\0\0\0\x80\x09\xff\x1b", INT64_MIN); /* wraps */
    assert_value("\x37\x33\x1d", 1);                               /* 7 mod 3 */
    assert_value("\x33\x34\x1e", 12);
    assert_value("\x33\x34\x1c", -1);
    assert_value("\x33\x34\x22", 7);
    assert_value("\x33\x23\x05", 8);
    assert_value("\x11\x7a\x19", 6);  /* abs */
    assert_value("\x36\x1f", -6);     /* neg */
    assert_value("\x30\x20", -1);     /* not */
    assert_value("\x3c\x3a\x1a", 8);  /* and */
    assert_value("\x3c\x3a\x21", 14); /* or */
    assert_value("\x3c\x3a\x27", 6);  /* xor */
    assert_value("\x31\x3f\x24", 32768);
    assert_value("\x31\x08\x40\x24", 0); /* by 64 */
    assert_value("\x09\xf0\x32\x26", -4);
    assert_value("\x09\xf0\x08\xff\x26", -1);
    assert_value("\x09\xff\x08\x3f\x25", 1);
    assert_value("\x09\xff\x31\x2d", 1); /* -1 < 1 */
    assert_value("\x31\x31\x29", 1);
    assert_value("\x31\x32\x2a", 0);
    assert_value("\x31\x32\x2b", 0);
    assert_value("\x31\x32\x2c", 1);
    assert_value("\x31\x32\x2e", 1);
}

static void stack_registers_and_memory(void **state)
{
    (void)state;
    assert_value("\x31\x32\x12\x22\x22", 5);     /* dup */
    assert_value("\x31\x32\x13", 1);             /* drop */
    assert_value("\x31\x32\x14", 1);             /* over */
    assert_value("\x31\x32\x33\x15\x02", 1);     /* pick */
    assert_value("\x31\x32\x16\x1c", 1);         /* swap: 2 - 1 */
    assert_value("\x31\x32\x33\x17\x1c\x1c", 4); /* rot: 3 - (1 - 2) */
    assert_value("\x77\x08", 0x708);
    assert_value("\x92\x10\x7f", 0xfff);
    assert_value("\x77\x08\x06", 0x710);
    assert_value("\x77\x08\x94\x02", 0x70a);
    assert_value("\x77\x08\x94\x03", FAILED);
    assert_value("\x96\x31\x9f\xff", 1); /* bytes after the end are not read */
    assert_value("\x92\x11\0", FAILED);
    assert_value("\x0c\0\0\x01\0\x06", FAILED);
}

static void jumps_and_limits(void **state)
{
    uint64_t first = 42, value = 0;
    char deep[EXPRESSION_STACK_MAX + 1];
    (void)state;
    assert_value("\x31\x30\x28\x02\0\x23\x01\x23\x05", 7); /* bra on 0 continues */
    assert_value("\x31\x31\x28\x02\0\x23\x01\x23\x05", 6);
    assert_value("\x31\x2f\x02\0\x23\x01\x23\x05", 6);
    assert_value("\x31\x2f\xfd\xff", FAILED); /* endless */
    assert_value("\x31\x2f\xf0\xff", FAILED); /* before the beginning */
    assert_value("\x31\x2f\x10\0", FAILED);   /* after the end */
    assert_value("\x30\x31\x30\x1b", FAILED); /* by 0 */
    assert_value("\x31\x22", FAILED);
    assert_value("", FAILED);
    assert_value("\x08", FAILED);
    assert_value("\x05", FAILED); /* not an operation */
    memset(deep, 0x31, sizeof deep);
    assert_true(value_of((struct str){deep, sizeof deep}) == FAILED);
    assert_true(value_of((struct str){deep, sizeof deep - 1}) == 1);
    assert_true(expression_evaluate(STR("\x23\x08"), &access, &first, &value));
    assert_int_equal(value, 50);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(constants),
        UNIT(arithmetic_is_signed_where_dwarf_says_so),
        UNIT(stack_registers_and_memory),
        UNIT(jumps_and_limits),
    };
    return UNITS_RUN(units);
}
