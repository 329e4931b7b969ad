/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/zip.h"

#define END_SIZE 22
#define COMMENT_MAX 65535
#define ENTRY STR("PK\x01\x02")
#define FILE_HEADER STR("PK\x03\x04")
#define FLAG_ENCRYPTED 1u
#define FLAG_SIZES_FOLLOW 8u

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
    bool sound = str_equal(bytes_take(&b, 4), FILE_HEADER);
    bytes_skip(&b, 22);
    uint64_t name = bytes_u16(&b), extra = bytes_u16(&b);
    bytes_skip(&b, name + extra);
    return sound ? bytes_take(&b, size) : STR("");
}

void zip_scan(struct zip *z, struct str bytes)
{
    *z = (struct zip){
        .bytes = bytes, .directory = bytes_of(bytes, false), .scanned = true};
}

/* The sizes may be unknown when the header is written; they then follow the data, after
 * a signature that most tools write. */
static struct str packed_of_unknown_size(struct bytes *b)
{
    struct str rest = str_span(b->at, b->end);
    struct str packed = str_head(rest, str_search(rest, FILE_HEADER));
    bytes_skip(b, packed.len);
    return packed;
}

static bool next_scanned(struct zip *z, struct zip_file *f)
{
    struct bytes *b = &z->directory;
    if (!str_equal(bytes_take(b, 4), FILE_HEADER))
        return false;
    bytes_skip(b, 2);
    unsigned flags = bytes_u16(b), method = bytes_u16(b);
    bytes_skip(b, 8);
    uint64_t packed = bytes_u32(b);
    f->size = bytes_u32(b);
    uint64_t name = bytes_u16(b), extra = bytes_u16(b);
    f->path = bytes_take(b, name);
    f->method = flags & FLAG_ENCRYPTED ? UINT16_MAX : method;
    bytes_skip(b, extra);
    if (b->failed)
        return false;
    if (flags & FLAG_SIZES_FOLLOW) {
        f->size = ZIP_SIZE_UNKNOWN;
        f->packed = packed_of_unknown_size(b);
    } else {
        uint64_t left = bytes_left(b);
        f->packed = bytes_take(b, packed < left ? packed : left);
    }
    return true;
}

bool zip_next(struct zip *z, struct zip_file *f)
{
    struct bytes *b = &z->directory;
    if (z->scanned)
        return next_scanned(z, f);
    if (!str_equal(bytes_take(b, 4), ENTRY))
        return false;
    bytes_skip(b, 4);
    unsigned flags = bytes_u16(b);
    f->method = flags & FLAG_ENCRYPTED ? UINT16_MAX : bytes_u16(b);
    if (flags & FLAG_ENCRYPTED)
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

bool zip_path_is(struct str path, struct str name)
{
    for (size_t i = 0; i < path.len && i < name.len; i++) {
        char c = path.ptr[i];
        if ((c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c) != name.ptr[i])
            return false;
    }
    return path.len == name.len;
}
