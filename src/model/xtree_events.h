/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a heap profile as valgrind's --xtree-memory=full names them in the format of
 * callgrind, which describes each in a line "event: NAME : DESCRIPTION". */
#ifndef STOKE_MODEL_XTREE_EVENTS_H
#define STOKE_MODEL_XTREE_EVENTS_H

#include "model/profile.h"

struct xtree_event {
    const char *theirs, *description;
    const char *ours;
    enum unit unit;
};

static const struct xtree_event xtree_events[] = {
    {"curB", "currently allocated Bytes", "live", UNIT_BYTES},
    {"curBk", "currently allocated Blocks", "live blocks", UNIT_COUNT},
    {"totB", "total allocated Bytes", "allocated", UNIT_BYTES},
    {"totBk", "total allocated Blocks", "allocations", UNIT_COUNT},
    {"totFdB", "total Freed Bytes", "freed", UNIT_BYTES},
    {"totFdBk", "total Freed Blocks", "releases", UNIT_COUNT},
};

#define XTREE_EVENTS (sizeof xtree_events / sizeof *xtree_events)

#endif
