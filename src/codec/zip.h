/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the files of a zip archive in memory, from its central directory. Archives in
 * several parts, encrypted files, and files of 4 GiB and more are not supported. */
#ifndef STOKE_CODEC_ZIP_H
#define STOKE_CODEC_ZIP_H

#include "base/bytes.h"

#define ZIP_STORED 0
#define ZIP_DEFLATED 8

struct zip {
    struct str bytes;
    struct bytes directory; /* from the next file on */
};

struct zip_file {
    struct str path;
    struct str packed;
    unsigned method; /* ZIP_STORED, ZIP_DEFLATED, or an unsupported method */
    uint32_t size;   /* unpacked */
};

/* False if the bytes do not end with a central directory. They must outlive it. */
bool zip_init(struct zip *z, struct str bytes);

/* The next file or folder (whose path ends with a slash), in directory order. False at
 * the end. */
bool zip_next(struct zip *z, struct zip_file *f);

#endif
