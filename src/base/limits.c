/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"

#define PIECE_MOST ((uint64_t)SIZE_MAX / 2)

#define AT_MOST(value, most) ((value) < (most) ? (value) : (most))

const struct limits limits_default = {.depth = LIMIT_DEPTH,
                                      .frames = LIMIT_FRAMES,
                                      .line = LIMIT_LINE,
                                      .ratio = LIMIT_RATIO,
                                      .unpacked = LIMIT_UNPACKED,
                                      .block_ratio = LIMIT_BLOCK_RATIO,
                                      .file_ratio = LIMIT_FILE_RATIO,
                                      .piece = AT_MOST(LIMIT_PIECE, PIECE_MOST),
                                      .memory = LIMIT_MEMORY,
                                      .expansion = LIMIT_EXPANSION,
                                      .expanded = LIMIT_EXPANDED};

struct limits limits_times(unsigned factor)
{
    uint64_t times = factor ? factor : UINT32_MAX; /* no product overflows */
    uint64_t frames = LIMIT_FRAMES * times, piece = LIMIT_PIECE * times;
    return (struct limits){.depth = AT_MOST(LIMIT_DEPTH * times, UINT32_MAX),
                           .frames = AT_MOST(frames, UINT32_MAX),
                           .line = LIMIT_LINE * times,
                           .ratio = LIMIT_RATIO * times,
                           .unpacked = LIMIT_UNPACKED * times,
                           .block_ratio = LIMIT_BLOCK_RATIO * times,
                           .file_ratio = LIMIT_FILE_RATIO * times,
                           .piece = AT_MOST(piece, PIECE_MOST),
                           .memory = LIMIT_MEMORY * times,
                           .expansion = LIMIT_EXPANSION * times,
                           .expanded = LIMIT_EXPANDED * times};
}
