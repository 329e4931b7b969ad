/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/zip.h"

#define END_SIZE 22
#define COMMENT_MAX 65535
#define ENTRY STR("PK\x01\x02")

bool zip_init(struct zip *z, struct str bytes)
{
    *z = (struct zip){.bytes = bytes, .directory = bytes_of(STR(""), false)};
    size_t reach = END_SIZE + COMMENT_MAX;
    struct str tail = str_skip(bytes, bytes.len > reach ? bytes.len - reach : 0);
    size_t at = str_rsearch(tail, STR("PK\x05\x06"));
    if (at + END_SIZE > tail.len)
        return false;
    struct bytes end = bytes_of(str_skip(tail, at), false);
    bytes_skip(&end, 12);
    uint64_t size = bytes_u32(&end), offset = bytes_u32(&end);
    z->directory = bytes_of(str_part(bytes, offset, size), false);
    return true;
}

/* The data begins after the local header, whose name and extra field may have other
 * lengths. */
static struct str packed_at(const struct zip *z, uint64_t offset, uint64_t size)
{
    struct bytes b = bytes_of(z->bytes, false);
    bytes_seek(&b, offset);
    bool sound = str_equal(bytes_take(&b, 4), STR("PK\x03\x04"));
    bytes_skip(&b, 22);
    uint64_t name = bytes_u16(&b), extra = bytes_u16(&b);
    bytes_skip(&b, name + extra);
    return sound ? bytes_take(&b, size) : STR("");
}

bool zip_next(struct zip *z, struct zip_file *f)
{
    struct bytes *b = &z->directory;
    if (!str_equal(bytes_take(b, 4), ENTRY))
        return false;
    bytes_skip(b, 4);
    unsigned flags = bytes_u16(b);
    f->method = flags & 1 ? UINT16_MAX : bytes_u16(b);
    if (flags & 1)
        bytes_skip(b, 2);
    bytes_skip(b, 8);
    uint64_t packed = bytes_u32(b);
    f->size = bytes_u32(b);
    uint64_t name = bytes_u16(b), extra = bytes_u16(b), comment = bytes_u16(b);
    bytes_skip(b, 8);
    uint64_t offset = bytes_u32(b);
    f->path = bytes_take(b, name);
    bytes_skip(b, extra + comment);
    f->packed = packed_at(z, offset, packed);
    return !b->failed;
}
