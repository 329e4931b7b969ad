/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the requests in a stream of bytes.
 *
 * A LEPD request is a bare JSON object: neither a length nor a line end follows. So the end
 * of a request is the bracket that closes it. The framer reads each byte once, however the
 * bytes are split. */
#ifndef STOKE_LEPD_FRAME_H
#define STOKE_LEPD_FRAME_H

#include "base/str.h"

/* Maximum nesting of a request. */
#define LEPD_DEPTH_MAX 32

struct lepd_framer {
    size_t depth; /* of open brackets */
    bool begun;   /* a value has begun */
    bool in_string, escaped;
};

enum lepd_frame {
    LEPD_FRAME_MORE,   /* all bytes were read; the value is not complete */
    LEPD_FRAME_DONE,   /* a value ends after *used bytes */
    LEPD_FRAME_BROKEN, /* this cannot be JSON */
};

/* Reads bytes up to the end of a value, and sets *used to their number. White space before
 * a value belongs to it. After LEPD_FRAME_DONE the framer is ready for the next value. */
enum lepd_frame lepd_frame_find(struct lepd_framer *f, struct str bytes, size_t *used);

#endif
