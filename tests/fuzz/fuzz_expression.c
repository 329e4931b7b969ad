/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes DWARF expressions: any bytes end within the step limit, with the same result
 * each time. */
#include "fuzz.h"
#include "unwind/expression.h"

FUZZ_ONE_WAY("expression")

struct reads {
    unsigned count;
};

static bool memory(void *context, uint64_t address, unsigned size, uint64_t *value)
{
    struct reads *reads = context;
    CHECK(size == 1 || size == 2 || size == 4 || size == 8);
    *value = address * 31 + size;
    return ++reads->count % 16 != 15;
}

static bool reg(void *context, uint64_t number, uint64_t *value)
{
    struct reads *reads = context;
    reads->count++;
    *value = number << 12;
    return number < 40;
}

int fuzz_one(const uint8_t *data, size_t size)
{
    struct str code = {(const char *)data, size};
    uint64_t first = 42, one = 0, two = 0;
    for (int with_first = 0; with_first < 2; with_first++) {
        struct reads a = {0}, b = {0};
        struct expression_access access = {.context = &a, .memory = memory, .reg = reg};
        bool ok = expression_evaluate(code, &access, with_first ? &first : NULL, &one);
        CHECK(a.count <= EXPRESSION_STEPS_MAX);
        access.context = &b;
        CHECK(expression_evaluate(code, &access, with_first ? &first : NULL, &two) == ok);
        CHECK(one == two && a.count == b.count);
    }
    struct expression_access nothing = {.context = NULL};
    expression_evaluate(code, &nothing, NULL, &one);
    return 0;
}
