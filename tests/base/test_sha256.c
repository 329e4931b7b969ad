/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha256.h"
#include "unit.h"
#include <stdio.h>

#define LONGEST 200 /* three blocks and a part of one */

static const char *hex_of(const void *bytes, size_t first, size_t length)
{
    static char text[2 * SHA256_SIZE + 1];
    struct sha256 h;
    unsigned char digest[SHA256_SIZE];
    sha256_begin(&h);
    sha256_add(&h, bytes, first);
    sha256_add(&h, (const char *)bytes + first, length - first);
    sha256_end(&h, digest);
    for (size_t i = 0; i < SHA256_SIZE; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    return text;
}

/* FIPS 180-2, appendix B, and the empty message. */
static void the_examples_of_the_definition_are_right(void **state)
{
    (void)state;
    char *million = malloc(1000000);
    assert_non_null(million);
    memset(million, 'a', 1000000);
    assert_string_equal(
        hex_of("", 0, 0),
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_string_equal(
        hex_of("abc", 0, 3),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_string_equal(
        hex_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 0, 56),
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    assert_string_equal(
        hex_of(million, 0, 1000000),
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}

/* However a message is divided, and wherever it begins in memory. */
static void parts_of_any_length_give_the_same_hash(void **state)
{
    (void)state;
    char bytes[LONGEST + 1], whole[2 * SHA256_SIZE + 1];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 37 + 11);
    for (size_t length = 0; length <= LONGEST; length++) {
        snprintf(whole, sizeof whole, "%s", hex_of(bytes + 1, 0, length));
        for (size_t first = 1; first <= length; first++)
            assert_string_equal(hex_of(bytes + 1, first, length), whole);
    }
}

/* A byte at a time, which copies every block, is the same as all at once. */
static void single_bytes_give_the_same_hash(void **state)
{
    (void)state;
    char bytes[LONGEST];
    unsigned char digest[SHA256_SIZE];
    char text[2 * SHA256_SIZE + 1];
    struct sha256 h;
    sha256_begin(&h);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)(i * 91 + 3);
        sha256_add(&h, bytes + i, 1);
    }
    sha256_end(&h, digest);
    for (size_t i = 0; i < SHA256_SIZE; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(hex_of(bytes, 0, sizeof bytes), text);
}

int main(void)
{
    const struct CMUnitTest units[] = {UNIT(the_examples_of_the_definition_are_right),
                                       UNIT(parts_of_any_length_give_the_same_hash),
                                       UNIT(single_bytes_give_the_same_hash)};
    return UNITS_RUN(units);
}
