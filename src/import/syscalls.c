/* SPDX-License-Identifier: Apache-2.0 */
#include "import/syscalls.h"

void syscalls_begin(struct stacktext *t, struct str name)
{
    struct text_frame f = TEXT_FRAME;
    f.name = name;
    f.kind = FRAME_KERNEL;
    builder_path_add(t->b, stacktext_frame(t, &f));
}

void syscalls_end(struct syscalls *s, struct stacktext *t, struct str comm)
{
    struct builder *b = t->b;
    if (b->path.count == 0)
        return;
    if (s->duration >= 0 && !s->times)
        s->times = builder_event(b, STR("time in system calls"), UNIT_NANOSECONDS);
    if (!s->calls)
        s->calls = builder_event(b, STR("system calls"), UNIT_EVENTS);
    struct sample sample = {.time = s->time,
                            .cpu = CPU_NONE,
                            .event = s->calls,
                            .thread = builder_thread(b, ID_NONE, t->tid, comm),
                            .stack = builder_path_from_leaf(b),
                            .count = 1,
                            .weight = 1};
    builder_add(b, &sample);
    sample.event = s->times;
    sample.weight = s->duration;
    if (s->duration >= 0)
        builder_add_mapped(b, &sample);
    builder_path_clear(b);
}
