/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of the kernel's structures from a description of types. */
#include "os/kernel_fields.h"
#include "unit.h"
#include <linux/btf.h>
#include <stdlib.h>

#define NAMES "\0task_struct\0mm\0pid\0inner\0"
enum { TASK = 1, MM = 13, PID = 16, INNER = 20 };

struct description {
    struct btf_header head;
    struct btf_type number;
    uint32_t number_bits;
    struct btf_type inner; /* without a name: { inner, mm } */
    struct btf_member inner_members[2];
    struct btf_type task; /* { pid, without a name } */
    struct btf_member task_members[2];
    char names[sizeof NAMES];
};

static struct description make(void)
{
    struct description d = {
        .head = {.magic = BTF_MAGIC, .version = 1, .hdr_len = sizeof d.head},
        .number = {.info = BTF_KIND_INT << 24, .size = 4},
        .inner = {.info = BTF_KIND_STRUCT << 24 | 2, .size = 16},
        .inner_members = {{INNER, 1, 0}, {MM, 1, 64}},
        .task = {.name_off = TASK, .info = BTF_KIND_STRUCT << 24 | 2, .size = 32},
        .task_members = {{PID, 1, 0}, {0, 2, 128}},
    };
    memcpy(d.names, NAMES, sizeof NAMES);
    d.head.type_len = (uint32_t)(offsetof(struct description, names) - sizeof d.head);
    d.head.str_off = d.head.type_len;
    d.head.str_len = sizeof d.names;
    return d;
}

static bool find(const struct description *d, size_t size, const char *member,
                 uint32_t *offset)
{
    struct os_kernel_field field = {.structure = "task_struct", .member = member};
    struct error err = {0};
    char *copy = malloc(size + 1); /* of that size: a read beyond its end is found */
    memcpy(copy, d, size);
    bool ok = os_kernel_fields_of((struct str){copy, size}, &field, 1, &err);
    free(copy);
    *offset = field.offset;
    assert_true(ok || err.message[0]);
    return ok;
}

static void test_found(void **state)
{
    (void)state;
    struct description d = make();
    uint32_t offset;
    assert_true(find(&d, sizeof d, "pid", &offset));
    assert_int_equal(offset, 0);
    assert_true(find(&d, sizeof d, "mm", &offset));
    assert_int_equal(offset, 24);
    assert_false(find(&d, sizeof d, "tgid", &offset));
}

/* Truncated at each byte, and with each byte changed: an answer or an error, nothing else. */
static void test_hostile(void **state)
{
    (void)state;
    struct description d = make();
    uint32_t offset;
    size_t whole = offsetof(struct description, names) + sizeof d.names;
    for (size_t size = 0; size < whole; size++)
        assert_false(find(&d, size, "mm", &offset));
    for (size_t at = 0; at < sizeof d; at++)
        for (unsigned value = 0; value < 256; value += 15) {
            struct description changed = d;
            ((unsigned char *)&changed)[at] ^= (unsigned char)(value + 1);
            find(&changed, sizeof changed, "mm", &offset);
        }
}

int main(void)
{
    static const struct CMUnitTest units[] = {UNIT(test_found), UNIT(test_hostile)};
    return UNITS_RUN(units);
}
