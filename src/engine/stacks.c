/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/stacks.h"
#include "base/array.h"
#include "base/format.h"
#include "engine/stacks_parts.h"
#include "os/machine.h"
#include "os/proc.h"

/* Threads may start while others are read: how often they are listed. */
#define LISTS_MAX 3

/* The threads of the process that were not read yet. */
struct list {
    struct stacks_reader *reader;
    struct idmap known;
    int64_t *tids;
    size_t count, cap;
};

static void add_thread(void *context, uint32_t tid)
{
    struct list *list = context;
    uint64_t *known = idmap_put(&list->known, &list->reader->arena, tid);
    int64_t *added = known && !*known ? ARRAY_APPEND(&list->reader->arena, list->tids,
                                                     list->count, list->cap)
                                      : NULL;
    if (added) {
        *known = 1;
        *added = tid;
    }
}

static bool read_threads(struct stacks_reader *r, struct error *err)
{
    struct list list = {.reader = r};
    size_t done = 0;
    for (unsigned i = 0; i < LISTS_MAX; i++) {
        os_process_threads((uint32_t)r->out->pid, add_thread, &list);
        for (; done < list.count; done++)
            if (!stacks_capture_thread(r, list.tids[done], err))
                return false;
    }
    if (r->arena.failed)
        return error_memory(err);
    return r->out->count > 0 ||
           error_set(err, "process %lld has ended", (long long)r->out->pid);
}

#define FRAMES_MOST ((size_t)1 << 22) /* of a core file */

/* Files that are others than when the core was written, so that frames are missing. */
static void note_files(struct stacks_reader *r)
{
    struct resolve_report report = {0};
    local_resolver_report(r->symbols.machine, &report);
    r->out->changed_files = report.changed;
    r->out->missing_files = report.missing;
    r->out->changed_path = arena_str(&r->out->arena, report.changed_path);
    r->out->missing_path = arena_str(&r->out->arena, report.missing_path);
}

/* In a core file many threads may share one deep stack. The last ones are left out then. */
static bool make_frames(struct stacks_reader *r)
{
    struct stacks *s = r->out;
    size_t frames = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (r->request->core && frames > FRAMES_MOST) {
            s->rejected += s->count - i;
            s->count = i;
            return true;
        }
        if (!stacks_make_frames(r, &s->threads[i], &r->captures[i]))
            return false;
        frames += s->threads[i].count;
    }
    return true;
}

static bool read_all(struct stacks_reader *r, struct error *err)
{
    struct stacks *s = r->out;
    if (!symbols_init(&r->symbols, &r->request->symbols, true, 0, err) ||
        !(r->request->core ? stacks_open_core(r, err) : stacks_read_process(r, err)) ||
        !stacks_find_runtime(r, err))
        return false;
    if (r->request->interpreted && !s->runtime.interpreter) {
        error_set(err, "%.*s",
                  STR_ARG(s->refused.len ? s->refused : STR("no interpreter was found")));
        return error_hint(err, "native stacks are shown without --native no");
    }
    if (!(r->request->core ? stacks_capture_core(r, err) : read_threads(r, err)))
        return false;
    if (!make_frames(r))
        return error_memory(err);
    if (r->request->core)
        note_files(r);
    return !s->arena.failed || error_memory(err);
}

/* The command line of a process; that of another one cannot be read, which is no error. */
static struct str command_of(int64_t pid, struct arena *arena)
{
    char path[64], room[1024];
    format_text(path, sizeof path, "/proc/%lld/cmdline", (long long)pid);
    struct str text = os_read_text(path, room, sizeof room);
    for (size_t i = 0; i < text.len; i++)
        if (room[i] == 0)
            room[i] = ' ';
    return arena_str(arena, str_trim_right(text));
}

static bool choose_process(struct stacks_reader *r, struct error *err)
{
    int64_t requested = r->request->pid;
    uint32_t pid = requested > 0 && requested <= UINT32_MAX
                       ? os_thread_process((uint32_t)requested)
                       : 0;
    if (pid == 0)
        return error_set(err, "there is no process %lld", (long long)requested);
    if (pid == os_own_pid())
        return error_set(err, "process %u is this one", pid);
    r->process = r->out->pid = pid;
    r->out->command = command_of(pid, &r->out->arena);
    return true;
}

bool stacks_read(struct stacks *s, const struct stacks_request *request,
                 struct error *err)
{
    struct stacks_reader r = {.out = s, .request = request};
    *s = (struct stacks){.native_is_absent = request->interpreted,
                         .refused = STR(""),
                         .runtime_module = STR(""),
                         .core = STR(""),
                         .changed_path = STR(""),
                         .missing_path = STR("")};
    r.mapping = OS_MAPPING_NONE;
    if (!request->core && !choose_process(&r, err))
        return false;
    bool ok = read_all(&r, err);
    stacks_close_modules(&r);
    symbols_deinit(&r.symbols);
    spaces_deinit(&r.spaces);
    arena_deinit(&r.arena);
    os_mapping_close(&r.mapping);
    return ok;
}

void stacks_deinit(struct stacks *s)
{
    arena_deinit(&s->arena);
}

/* --- A profile ---------------------------------------------------------------------- */

static frame_id profile_frame(struct builder *b, const struct stacks_frame *f)
{
    struct frame frame = {.name = builder_string(b, f->function),
                          .file = builder_string(b, f->file),
                          .line = f->line,
                          .kind = f->kind == STACKS_INLINED ? FRAME_INLINED : FRAME_USER};
    if (f->module.len)
        frame.module = builder_module(b, f->module, STR(""));
    return builder_frame(b, &frame);
}

struct profile *stacks_profile(const struct stacks *s, struct error *err)
{
    struct builder b;
    if (!builder_init(&b, BUILD_COUNT)) {
        builder_deinit(&b);
        error_memory(err);
        return NULL;
    }
    event_id event = builder_event(&b, STR("threads"), UNIT_COUNT);
    for (size_t i = 0; i < s->count; i++) {
        const struct stacks_thread *t = &s->threads[i];
        builder_path_clear(&b);
        for (size_t f = 0; f < t->count; f++)
            builder_path_add(&b, profile_frame(&b, &t->frames[f]));
        struct sample sample = {.time = TIME_NONE,
                                .thread = builder_thread(&b, s->pid, t->tid, t->name),
                                .cpu = CPU_NONE,
                                .event = event,
                                .stack = builder_path_from_leaf(&b),
                                .count = 1,
                                .weight = 1};
        builder_add(&b, &sample);
    }
    b.profile->facts.command = builder_string(&b, s->command);
    struct profile *p = builder_finish(&b, err);
    builder_deinit(&b);
    return p;
}
