/* SPDX-License-Identifier: Apache-2.0 */
/* Detects how a file is compressed or encoded as a whole, from its first bytes. The
 * command line (codec/decode.h) and the page (web/core) use it. */
#ifndef STOKE_CODEC_ENCODING_H
#define STOKE_CODEC_ENCODING_H

#include "base/str.h"

#define ENCODING_HEAD 6  /* bytes that encoding_of needs */
#define ZIP_HEAD_SIZE 30 /* size of a zip's local file header, without the file name */
#define ZIP_NAMES_SIZE 4096

enum encoding {
    ENCODING_NONE,
    ENCODING_GZIP,
    ENCODING_ZSTD,
    ENCODING_XZ,
    ENCODING_BZIP2,
    ENCODING_ZIP,
    ENCODING_UTF8, /* with a byte order mark */
    ENCODING_UTF16_LE,
    ENCODING_UTF16_BE,
};

enum encoding encoding_of(struct str head);

/* Whether a zip contains an Instruments archive, so that its importer needs the whole
 * zip. `head` contains the header of the first file and its name. */
bool zip_has_trace(struct str head);

/* Whether a zip is a capture of Very Sleepy. `head` contains the headers of the first
 * files; ZIP_NAMES_SIZE bytes are enough for what Very Sleepy writes. */
bool zip_has_sleepy(struct str head);

/* Whether an importer reads the zip as a whole. */
static inline bool zip_is_profile(struct str head)
{
    return zip_has_trace(head) || zip_has_sleepy(head);
}

#endif
