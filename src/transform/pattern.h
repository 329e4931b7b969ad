/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns over the names of frames: POSIX extended regular expressions, with what people
 * bring along from Perl and Go understood as well: "(?i)" at the beginning (case does not
 * matter), "(?:...)", "\d" and "\D".
 *
 * A frame is matched by its name as it is shown, and, where it is marked as kernel,
 * inlined, JIT or waker, by the name with the mark behind it too ("_\[k\]$"). An unknown
 * function is [module]. */
#ifndef STOKE_TRANSFORM_PATTERN_H
#define STOKE_TRANSFORM_PATTERN_H

#include "base/glob.h"
#include "transform/transform.h"

/* Whether `text` is a pattern; err says what is wrong with it, and where. */
bool pattern_check(const char *text, struct error *err);

/* By frame: one bit for each of the patterns (or names, see struct transform_words) that
 * match it. Each distinct name is looked
 * at once. NULL, with err set, for a bad pattern or when memory is short. */
uint32_t *pattern_match_frames(struct arena *a, const struct profile *p,
                               const struct transform_words *patterns, struct error *err);

/* By module, the same over the modules' names without their folders; 0 for module 0. */
uint32_t *pattern_match_modules(struct arena *a, const struct profile *p,
                                const struct transform_words *patterns,
                                struct error *err);

#endif
