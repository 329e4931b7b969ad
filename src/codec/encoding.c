/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/encoding.h"
#include "base/bytes.h"

enum encoding encoding_of(struct str head)
{
    static const struct {
        const char *bytes;
        enum encoding encoding;
    } known[] = {
        {"\x1f\x8b", ENCODING_GZIP},
        {"\x28\xb5\x2f\xfd", ENCODING_ZSTD},
        {"\xfd"
         "7zXZ",
         ENCODING_XZ},
        {"BZh", ENCODING_BZIP2},
        {"PK\x03\x04", ENCODING_ZIP},
        {"\xef\xbb\xbf", ENCODING_UTF8},
        {"\xff\xfe", ENCODING_UTF16_LE},
        {"\xfe\xff", ENCODING_UTF16_BE},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_starts(head, str_of(known[i].bytes)))
            return known[i].encoding;
    return ENCODING_NONE;
}

bool zip_has_trace(struct str head)
{
    struct bytes b = bytes_of(head, false);
    bytes_seek(&b, 26);
    size_t name = bytes_u16(&b);
    return !b.failed && str_has(str_part(head, ZIP_HEAD_SIZE, name), STR(".trace/"));
}
