/* SPDX-License-Identifier: Apache-2.0 */
/* Values that mean "unknown". */
#ifndef STOKE_BASE_NONE_H
#define STOKE_BASE_NONE_H

#include <stdint.h>

#define TIME_NONE UINT64_MAX
#define CPU_NONE UINT32_MAX
#define ID_NONE ((int64_t)-1) /* of a process or a thread */

/* Converts a computed or fractional time; TIME_NONE if it is out of range. */
static inline uint64_t time_of_ns(double nanoseconds)
{
    return nanoseconds >= 0 && nanoseconds < 1.8e19 ? (uint64_t)nanoseconds : TIME_NONE;
}

#endif
