/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the files of a zip archive in memory, from its central directory. Archives in
 * several parts, encrypted files, and files of 4 GiB and more are not supported. */
#ifndef STOKE_CODEC_ZIP_H
#define STOKE_CODEC_ZIP_H

#include "base/bytes.h"

#define ZIP_STORED 0
#define ZIP_DEFLATED 8
#define ZIP_SIZE_UNKNOWN UINT32_MAX

struct zip {
    struct str bytes;
    struct bytes directory; /* from the next file on */
    bool scanned;           /* the directory is missing: see zip_scan */
};

struct zip_file {
    struct str path;
    struct str packed;
    unsigned method; /* ZIP_STORED, ZIP_DEFLATED, or an unsupported method */
    uint32_t size;   /* unpacked; ZIP_SIZE_UNKNOWN only after zip_scan */
};

/* False if the bytes do not end with a central directory. They must outlive it. */
bool zip_init(struct zip *z, struct str bytes);

/* For an archive without its end: lists the files by the headers before their data. The
 * last file may be truncated. */
void zip_scan(struct zip *z, struct str bytes);

/* The next file or folder (whose path ends with a slash), in directory order. False at
 * the end. */
bool zip_next(struct zip *z, struct zip_file *f);

/* Whether a path is `name`, which is in lower case; the case of the path is ignored. */
bool zip_path_is(struct str path, struct str name);

#endif
