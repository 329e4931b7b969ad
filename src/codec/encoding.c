/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/encoding.h"
#include "base/bytes.h"
#include "codec/zip.h"

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

/* The name of a zip's first file; empty if the header is truncated. */
static struct str zip_first_path(struct str head)
{
    struct bytes b = bytes_of(head, false);
    bytes_seek(&b, 26);
    size_t name = bytes_u16(&b);
    return b.failed ? STR("") : str_part(head, ZIP_HEAD_SIZE, name);
}

bool zip_has_trace(struct str head)
{
    return str_has(zip_first_path(head), STR(".trace/"));
}

/* Other programs also name a file "stats.txt", so another name must follow. */
bool zip_has_sleepy(struct str head)
{
    static const char *const sure[] = {"callstacks.txt", "ipcounts.txt", "minidump.dmp"};
    static const char *const second[] = {"Symbols.txt", "symbols.txt", "IPCounts.txt",
                                         "ipcounts.txt"};
    struct str path = zip_first_path(head);
    if (encoding_of(head) != ENCODING_ZIP)
        return false;
    for (size_t i = 0; i < sizeof sure / sizeof *sure; i++)
        if (zip_path_is(path, str_of(sure[i])))
            return true;
    if (str_starts(path, STR("Version ")) && str_ends(path, STR(" required")))
        return true;
    struct str rest = str_skip(head, ZIP_HEAD_SIZE + path.len);
    for (size_t i = 0; i < sizeof second / sizeof *second; i++)
        if (zip_path_is(path, STR("stats.txt")) && str_has(rest, str_of(second[i])))
            return true;
    return false;
}
