/* SPDX-License-Identifier: Apache-2.0 */
/* What is in a zip archive that is at hand whole: its files, by the directory at its end.
 * Archives in several parts, encrypted files and those of 4 GiB and more are not read. */
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
    unsigned method; /* ZIP_STORED, ZIP_DEFLATED, or one that is not read */
    uint32_t size;   /* unpacked */
};

/* False where the bytes, which outlive it, end with no directory. */
bool zip_init(struct zip *z, struct str bytes);

/* The next file or folder (whose path ends with a slash) in the directory's order. False
 * at its end. */
bool zip_next(struct zip *z, struct zip_file *f);

#endif
