/* SPDX-License-Identifier: Apache-2.0 */
#include "record/event_source.h"

#define EVENT_SOURCE(name, option, help) \
    extern const struct event_source event_source_##name;
#include "record/event_sources.def"
#undef EVENT_SOURCE

const struct event_source *const event_sources[EVENT_SOURCE_COUNT] = {
#define EVENT_SOURCE(name, option, help) &event_source_##name,
#include "record/event_sources.def"
#undef EVENT_SOURCE
};

bool event_sources_check(const struct event_source_setup *setup, struct error *err)
{
    for (size_t i = 0; i < EVENT_SOURCE_COUNT; i++)
        if (setup->request->on[i] && event_sources[i]->check &&
            !event_sources[i]->check(setup, err))
            return false;
    return true;
}
