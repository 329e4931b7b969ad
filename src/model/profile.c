/* SPDX-License-Identifier: Apache-2.0 */
#include "model/profile.h"
#include <stdlib.h>

void profile_destroy(struct profile *p)
{
    if (!p)
        return;
    arena_deinit(&p->arena);
    free(p);
}

static void *copy_column(struct arena *a, const void *items, size_t count, size_t size)
{
    void *copy = arena_alloc(a, (count ? count : 1) * size);
    if (copy && count)
        memcpy(copy, items, count * size);
    return copy;
}

/* Copies the bytes of all strings into one block. */
static bool copy_strings(struct strings *to, const struct strings *from, struct arena *a)
{
    size_t slots = from->index.slots ? from->index.mask + 1 : 0, bytes = 0;
    for (size_t i = 0; i < from->count; i++)
        bytes += from->items[i].len;
    *to = *from;
    to->arena = a;
    to->cap = from->count;
    to->items = copy_column(a, from->items, from->count, sizeof *to->items);
    to->index.slots = copy_column(a, from->index.slots, slots, sizeof *to->index.slots);
    char *text = arena_alloc(a, bytes + 1);
    if (!to->items || !to->index.slots || !text)
        return false;
    for (size_t i = 1; i < to->count; i++) {
        struct str *s = &to->items[i];
        memcpy(text, s->ptr, s->len);
        s->ptr = text;
        text += s->len;
    }
    return true;
}

/* The profile may own the text of a warning. */
static bool copy_warnings(struct facts *facts, struct arena *a)
{
    for (unsigned i = 0; i < facts->warning_count; i++) {
        struct warning *w = &facts->warnings[i];
        w->what = copy_column(a, w->what, strlen(w->what) + 1, 1);
        if (!w->what)
            return false;
    }
    return true;
}

struct profile *profile_copy(const struct profile *p)
{
    struct profile *copy = malloc(sizeof *copy);
    if (!copy)
        return NULL;
    *copy = *p;
    struct arena *a = &copy->arena;
    *a = ARENA_INIT;
    copy->modules = copy_column(a, p->modules, p->module_count, sizeof *p->modules);
    copy->frames = copy_column(a, p->frames, p->frame_count, sizeof *p->frames);
    copy->stacks = copy_column(a, p->stacks, p->stack_count, sizeof *p->stacks);
    copy->threads = copy_column(a, p->threads, p->thread_count, sizeof *p->threads);
    copy->events = copy_column(a, p->events, p->event_count, sizeof *p->events);
    copy->calls = copy_column(a, p->calls, p->call_count, sizeof *p->calls);
    copy->samples = copy_column(a, p->samples, p->sample_count, sizeof *p->samples);
    if (p->sample_labels) {
        copy->labels = copy_column(a, p->labels, p->label_count, sizeof *p->labels);
        copy->label_sets =
            copy_column(a, p->label_sets, p->label_set_count, sizeof *p->label_sets);
        copy->sample_labels =
            copy_column(a, p->sample_labels, p->sample_count, sizeof *p->sample_labels);
    }
    if (copy_strings(&copy->strings, &p->strings, a) && copy_warnings(&copy->facts, a) &&
        !a->failed)
        return copy;
    profile_destroy(copy);
    return NULL;
}

event_id profile_find_event(const struct profile *p, struct str name)
{
    for (event_id e = 1; e < p->event_count; e++)
        if (str_equal(profile_string(p, p->events[e].name), name))
            return e;
    return 0;
}

/* vmlinux, vmlinux-6.1.0-13-amd64, vmlinux.debug */
static bool is_vmlinux(struct str path)
{
    struct str name = str_basename(path), vmlinux = STR("vmlinux");
    struct str rest = str_skip(name, vmlinux.len);
    return str_ends(name, vmlinux) ||
           (str_starts(name, vmlinux) && rest.len && strchr("-.", rest.ptr[0]));
}

/* ext4.ko, ext4.ko.xz; and BPF programs */
static bool is_kernel_code(struct str path)
{
    return is_vmlinux(path) || str_ends(path, STR(".ko")) || str_has(path, STR(".ko.")) ||
           str_starts(path, STR("bpf_prog_")) || str_starts(path, STR("bpf_trampoline_"));
}

enum frame_kind module_kind(struct str path)
{
    if (str_equal(path, STR("[unknown]")))
        return FRAME_USER;
    if (str_starts(path, STR("[guest")))
        return FRAME_GUEST;
    if (str_starts(path, STR("[")) || is_kernel_code(path))
        return FRAME_KERNEL;
    if ((str_has(path, STR("/perf-")) && str_ends(path, STR(".map"))) ||
        str_has(path, STR("/jitted-")))
        return FRAME_JIT;
    return FRAME_USER;
}

const char *unit_name(enum unit unit)
{
    static const char *const names[] = {"samples", "ns", "bytes",
                                        "cycles",  "ms", "events"};
    return names[unit];
}

static bool is_one_of(struct str name, const char *const *names, bool starts)
{
    for (; *names; names++)
        if (starts ? str_starts(name, str_of(*names)) : str_equal(name, str_of(*names)))
            return true;
    return false;
}

enum event_kind event_kind_of(struct str name, enum unit unit)
{
    static const char *const waiting[] = {"off-cpu", "offcpu-time", NULL};
    static const char *const live[] = {"live", "inuse_space", NULL};
    static const char *const on_cpu[] = {"cpu-clock", "task-clock", "cycles", "cpu",
                                         NULL};
    if (is_one_of(name, waiting, false))
        return EVENT_WAITING;
    if (unit == UNIT_CYCLES || is_one_of(name, on_cpu, true))
        return EVENT_ON_CPU;
    if (unit != UNIT_BYTES)
        return EVENT_OTHER;
    return is_one_of(name, live, false) ? EVENT_LIVE : EVENT_MEMORY;
}

event_id profile_default_event(const struct profile *p)
{
    size_t first = p->event_count;
    if (p->facts.differential && p->event_count > 2)
        return 2;
    for (size_t i = 0; i < p->sample_count && first > 1; i++)
        if (p->samples[i].weight != 0 && p->samples[i].event < first &&
            p->samples[i].event)
            first = p->samples[i].event;
    return first < p->event_count ? (event_id)first : p->event_count > 1;
}

event_id profile_find_kind(const struct profile *p, enum event_kind kind)
{
    for (size_t i = 1; i < p->event_count; i++)
        if (p->events[i].kind == (uint32_t)kind)
            return (event_id)i;
    return 0;
}
