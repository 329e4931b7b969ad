/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the frames of a thread: unwinds its native stack, names it, and merges it with the
 * interpreted one. */
#include "base/array.h"
#include "engine/stacks_parts.h"

/* Maximum number of native return addresses of one stack. */
#define NATIVE_MAX INTERPRETER_FRAMES_MAX

/* The native frames of a thread, named. */
struct native {
    struct stacks_frame *frames;
    size_t count, cap;
    enum interpreter_native *roles;
    uint64_t *addresses; /* of inlined functions: only the outermost one has it */
    size_t role_cap, address_cap;
};

/* --- Native frames ------------------------------------------------------------------ */

/* Unwinds; the job's arrays are in the reader's arena. */
static bool unwind(struct stacks_reader *r, const struct stacks_capture *c,
                   struct unwind_job *job)
{
    /* a frame takes 16 bytes at least */
    size_t room = c->stack.len / 16 + 2;
    *job = (struct unwind_job){.machine = c->registers.machine,
                               .spaces = &r->spaces,
                               .space = r->space,
                               .registers = c->registers.values,
                               .recorded = c->registers.present,
                               .stack = c->stack,
                               .room = room < NATIVE_MAX ? room : NATIVE_MAX};
    job->addresses = arena_zalloc(&r->arena, job->room, sizeof *job->addresses);
    job->signals = arena_zalloc(&r->arena, (job->room + 31) / 32, sizeof *job->signals);
    if (!job->addresses || !job->signals)
        return false;
    r->symbols.seam.unwind(r->symbols.seam.context, 0, job, 1);
    return true;
}

static bool is_call(const struct unwind_job *job, size_t i)
{
    return !(job->signals[i / 32] >> (i % 32) & 1);
}

/* The mapping of a frame; NULL: the address is not mapped. */
static const struct address_map *map_of(const struct unwind_job *job, size_t i)
{
    return space_find(job->spaces, job->space, job->addresses[i] - is_call(job, i));
}

/* The role of a function of the runtime. */
static enum interpreter_native role_of(const struct stacks_reader *r, struct str function)
{
    return function.len ? r->out->runtime.interpreter->native(function) : NATIVE_UNNAMED;
}

static bool add_native(struct stacks_reader *r, struct native *n,
                       const struct stacks_frame *frame, bool of_runtime)
{
    if (!ARRAY_RESERVE(&r->arena, n->frames, n->cap, n->count + 1) ||
        !ARRAY_RESERVE(&r->arena, n->roles, n->role_cap, n->count + 1) ||
        !ARRAY_RESERVE(&r->arena, n->addresses, n->address_cap, n->count + 1))
        return false;
    n->addresses[n->count] = frame->kind == STACKS_INLINED ? 0 : frame->address;
    n->roles[n->count] = of_runtime ? role_of(r, frame->function) : NATIVE_WORK;
    n->frames[n->count++] = *frame;
    return true;
}

/* Adds the functions of one address: inlined ones first. */
static bool add_address(struct stacks_reader *r, struct native *n, uint64_t address,
                        const struct address_map *map, const struct name_job *named,
                        bool is_interpreted)
{
    const struct stacks_module *m = map ? &r->modules[map->tag] : NULL;
    struct stacks_frame frame = {.function = STR(""),
                                 .file = STR(""),
                                 .module = m ? m->file.path : STR(""),
                                 .address = address};
    bool of_runtime =
        is_interpreted && m && str_equal(m->file.path, r->out->runtime_module);
    if (named->count == 0)
        return add_native(r, n, &frame, of_runtime);
    for (size_t i = 0; i < named->count; i++) {
        const struct resolved_frame *f = &named->frames[i];
        frame.kind = i + 1 < named->count ? STACKS_INLINED : STACKS_NATIVE;
        frame.function = arena_str(&r->out->arena, f->name);
        frame.file = arena_str(&r->out->arena, f->file);
        frame.line = f->file.len ? f->line : 0;
        if (!add_native(r, n, &frame, of_runtime))
            return false;
    }
    return true;
}

static bool name_frames(struct stacks_reader *r, const struct unwind_job *job,
                        bool is_interpreted, struct native *n)
{
    const struct resolver *resolver = &r->symbols.seam;
    struct name_job *jobs = arena_zalloc(&r->arena, job->count + 1, sizeof *jobs);
    if (!jobs)
        return false;
    for (size_t i = 0; i < job->count; i++) {
        const struct address_map *map = map_of(job, i);
        jobs[i].object = map ? map->object : 0;
        jobs[i].address = map ? job->addresses[i] - map->start + map->offset : 0;
        jobs[i].is_call = is_call(job, i);
    }
    resolver->name(resolver->context, jobs, job->count);
    for (size_t i = 0; i < job->count; i++)
        if (!add_address(r, n, job->addresses[i], map_of(job, i), &jobs[i],
                         is_interpreted))
            return false;
    return true;
}

/* --- Both --------------------------------------------------------------------------- */

static struct stacks_frame interpreted_frame(const struct interpreter_frame *f)
{
    return (struct stacks_frame){.kind = STACKS_INTERPRETED,
                                 .function = f->function,
                                 .file = f->file,
                                 .line = f->line,
                                 .module = STR("")};
}

static bool merge(struct stacks_reader *r, struct stacks_thread *t,
                  const struct native *n, const struct interpreter_stack *interpreted)
{
    size_t room = n->count + interpreted->count + 1;
    struct merged_frame *merged = arena_zalloc(&r->arena, room, sizeof *merged);
    t->frames = arena_zalloc(&r->out->arena, room, sizeof *t->frames);
    if (!merged || !t->frames)
        return false;
    if (r->out->runtime.interpreter)
        interpreter_settle(r->out->runtime.interpreter, n->roles, n->count);
    bool is_whole = t->native == UNWIND_WHOLE;
    if (interpreted->count && interpreted->frames[0].pc)
        t->merge = interpreter_merge_chain(n->roles, n->addresses, n->count, is_whole,
                                           interpreted, merged, &t->count);
    else
        t->merge = interpreter_merge(r->out->runtime.interpreter, n->roles, n->count,
                                     is_whole, interpreted, merged, &t->count);
    for (size_t i = 0; i < t->count; i++)
        t->frames[i] = merged[i].is_interpreted
                           ? interpreted_frame(&interpreted->frames[merged[i].index])
                           : n->frames[merged[i].index];
    return true;
}

bool stacks_make_frames(struct stacks_reader *r, struct stacks_thread *thread,
                        const struct stacks_capture *capture)
{
    struct unwind_job job = {0};
    struct native n = {0};
    if (thread->result != STACKS_READ)
        return true;
    if (!ARRAY_RESERVE(&r->arena, n.frames, n.cap, 1))
        return false;
    thread->native = UNWIND_CUT;
    if (!r->request->interpreted) {
        if (!unwind(r, capture, &job) ||
            !name_frames(r, &job, thread->is_interpreted, &n))
            return false;
        thread->native = job.end;
    }
    return merge(r, thread, &n, &capture->interpreted);
}
