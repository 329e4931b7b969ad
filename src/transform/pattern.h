/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns over the names of frames: POSIX extended regular expressions, and some syntax
 * of Perl and Go: a leading "(?i)" (ignores case), "(?:...)", "\d" and "\D".
 *
 * A pattern matches the name of a frame as it is shown. For kernel, inlined, JIT and
 * waker frames, it also matches the name with the suffix ("_\[k\]$"). An unknown function
 * is [module]. */
#ifndef STOKE_TRANSFORM_PATTERN_H
#define STOKE_TRANSFORM_PATTERN_H

#include "base/glob.h"
#include "transform/transform.h"

/* False, with the error and its position in err, if `text` is not a valid pattern. */
bool pattern_check(const char *text, struct error *err);

/* By frame: one bit for each pattern (or name, see struct transform_words) that matches
 * it. Each distinct name is matched once. NULL, with err set, for an invalid pattern or
 * when out of memory. */
uint32_t *pattern_match_frames(struct arena *a, const struct profile *p,
                               const struct transform_words *patterns, struct error *err);

/* The same by module, over the modules' names without directories; 0 for module 0. */
uint32_t *pattern_match_modules(struct arena *a, const struct profile *p,
                                const struct transform_words *patterns,
                                struct error *err);

#endif
