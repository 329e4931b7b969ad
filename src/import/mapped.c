/* SPDX-License-Identifier: Apache-2.0 */
#include "import/mapped.h"
#include "base/array.h"
#include "base/number.h"
#include "base/sort.h"
#include "model/name.h"

bool mapped_init(struct mapped *m, struct builder *b,
                 const struct import_options *options)
{
    *m = (struct mapped){.b = b, .options = options};
    if (!builder_init(&m->raw, BUILD_COUNT))
        return false;
    builder_set_limits(&m->raw, b->limits);
    return true;
}

void mapped_deinit(struct mapped *m)
{
    builder_deinit(&m->raw);
    arena_deinit(&m->arena);
}

/* --- Maps ----------------------------------------------------------------------------- */

/* Makes the module of a map, and asks the resolver for its file. */
static void use_map(const struct mapped *m, struct map_range *map)
{
    const struct resolver *r = m->options->resolver;
    struct str path = profile_string(m->b->profile, map->path);
    struct object_request request = {.path = path,
                                     .build_id = STR(""),
                                     .pid = ID_NONE,
                                     .kind = module_kind(path),
                                     .start = map->start,
                                     .end = map->end,
                                     .offset = map->offset,
                                     .written = m->options->written,
                                     .host = STR(""),
                                     .release = STR(""),
                                     .jit_map = STR("")};
    if (map->is_used)
        return;
    map->is_used = true;
    map->module = builder_module(m->b, path, STR(""));
    map->object = r ? r->object(r->context, &request) : 0;
}

bool mapped_line(struct mapped *m, struct str line)
{
    struct map_range map = {0};
    struct str range = str_word(&line), end = range;
    struct str start = str_cut(&end, '-');
    bool is_short = str_ends(end, STR(":"));
    end.len -= is_short;
    if (!number_parse_hex(start, &map.start) || !number_parse_hex(end, &map.end) ||
        map.start >= map.end)
        return false;
    struct str permissions = is_short ? STR("x") : str_word(&line);
    if (!is_short && !number_parse_hex(str_word(&line), &map.offset))
        return false;
    if (!is_short) {
        str_word(&line); /* device */
        str_word(&line); /* inode */
    }
    struct str path = str_trim(line);
    if (!str_has(permissions, STR("x")) || !path.len)
        return true;
    struct map_range *added = ARRAY_APPEND(&m->arena, m->maps, m->map_count, m->map_cap);
    map.path = builder_string(m->b, path);
    if (added)
        *added = map;
    return true;
}

/* --- Stacks --------------------------------------------------------------------------- */

/* The line of a raw frame whose address is not a return address. */
#define LINE_OF_INSTRUCTION 1

static bool is_call(const struct mapped *m, frame_id f)
{
    return m->raw.profile->frames[f].line != LINE_OF_INSTRUCTION;
}

void mapped_call(struct mapped *m, uint64_t address)
{
    struct frame frame = {.kind = FRAME_USER, .address = address};
    builder_path_add(&m->raw, builder_frame(&m->raw, &frame));
}

void mapped_instruction(struct mapped *m, uint64_t address)
{
    struct frame frame = {
        .kind = FRAME_USER, .address = address, .line = LINE_OF_INSTRUCTION};
    builder_path_add(&m->raw, builder_frame(&m->raw, &frame));
}

stack_id mapped_stack(struct mapped *m)
{
    stack_id stack = builder_path_from_leaf(&m->raw);
    builder_path_clear(&m->raw);
    return stack;
}

stack_id mapped_result(const struct mapped *m, stack_id collected)
{
    return m->stacks[collected];
}

/* --- Names ---------------------------------------------------------------------------- */

static bool map_before(const void *context, uint32_t a, uint32_t b)
{
    const struct map_range *maps = context;
    return maps[a].start < maps[b].start;
}

static bool sort_maps(struct mapped *m)
{
    m->order = arena_alloc(&m->arena, (2 * m->map_count + 1) * sizeof *m->order);
    if (!m->order)
        return false;
    for (uint32_t i = 0; i < m->map_count; i++)
        m->order[i] = i;
    sort_u32(m->order, m->map_count, m->order + m->map_count, map_before, m->maps);
    return true;
}

/* The index of the map with the instruction, or the call before that address, + 1; 0: none. */
static uint32_t find_map(const struct mapped *m, uint64_t address, bool call)
{
    size_t low = 0, high = m->map_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m->maps[m->order[middle]].start < address + !call)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t found = low ? m->order[low - 1] : 0;
    return low && address + !call <= m->maps[found].end ? found + 1 : 0;
}

static const struct map_range *map_of(const struct mapped *m, frame_id f)
{
    return m->map_of_frame[f] ? &m->maps[m->map_of_frame[f] - 1] : NULL;
}

static uint64_t offset_of(const struct mapped *m, frame_id f)
{
    const struct map_range *map = map_of(m, f);
    return map ? m->raw.profile->frames[f].address - map->start + map->offset : 0;
}

static bool request_names(struct mapped *m)
{
    const struct profile *raw = m->raw.profile;
    const struct resolver *r = m->options->resolver;
    m->map_of_frame = arena_zalloc(&m->arena, raw->frame_count, sizeof *m->map_of_frame);
    m->jobs = arena_zalloc(&m->arena, raw->frame_count, sizeof *m->jobs);
    if (!sort_maps(m) || !m->map_of_frame || !m->jobs)
        return false;
    for (frame_id f = 1; f < raw->frame_count; f++) {
        m->map_of_frame[f] = find_map(m, raw->frames[f].address, is_call(m, f));
        struct map_range *map =
            m->map_of_frame[f] ? &m->maps[m->map_of_frame[f] - 1] : NULL;
        if (map)
            use_map(m, map);
        m->jobs[f] = (struct name_job){.object = map ? map->object : 0,
                                       .address = offset_of(m, f),
                                       .is_call = is_call(m, f)};
    }
    if (r && raw->frame_count > 1)
        r->name(r->context, m->jobs + 1, raw->frame_count - 1);
    return true;
}

static void add_frame(struct mapped *m, const struct frame *frame)
{
    frame_id *added = ARRAY_APPEND(&m->arena, m->frames, m->frame_count, m->frame_cap);
    if (added)
        *added = builder_frame(m->b, frame);
}

/* The frame of an address, without a name. */
static struct frame plain_frame(const struct mapped *m, frame_id f, bool named)
{
    const struct import_options *o = m->options;
    const struct map_range *map = map_of(m, f);
    struct frame frame = {.kind = FRAME_USER};
    if (map) {
        frame.module = map->module;
        frame.kind = module_kind(profile_string(m->b->profile, map->path));
    }
    if (o->every_address || (!named && o->addresses))
        frame.address = m->raw.profile->frames[f].address;
    if (!named && map && (o->addresses || o->stable_offsets))
        frame.offset = offset_of(m, f) - (o->stable_offsets && is_call(m, f) ? 1 : 0);
    return frame;
}

/* The frames of an address, outermost first. */
static void add_frames(struct mapped *m, frame_id f)
{
    const struct name_job *job = &m->jobs[f];
    m->runs[f].first = (uint32_t)m->frame_count;
    for (size_t i = job->count; i-- > 0;) {
        const struct resolved_frame *at = &job->frames[i];
        struct frame frame = plain_frame(m, f, at->name.len > 0);
        if (at->kind == FRAME_INLINED)
            frame.kind = FRAME_INLINED;
        if (at->name.len)
            frame.name = builder_string(
                m->b, m->options->signatures ? at->name : name_tidy(at->name));
        if (m->options->lines && at->file.len) {
            frame.file = builder_string(m->b, at->file);
            frame.line = at->line;
        }
        add_frame(m, &frame);
    }
    if (job->count == 0) {
        struct frame frame = plain_frame(m, f, false);
        add_frame(m, &frame);
    }
    m->runs[f].count = (uint32_t)m->frame_count - m->runs[f].first;
}

/* --- The profile's stacks ------------------------------------------------------------- */

/* Whether all frames of an address are dropped. Frames need not have a module
 * (builder.modules_alike). */
static bool is_dropped(const struct mapped *m, frame_id f,
                       bool (*drop)(struct str module, struct str function))
{
    const struct profile *p = m->b->profile;
    const struct map_range *map = map_of(m, f);
    struct str path = map ? profile_string(p, map->path) : STR("");
    bool all = m->runs[f].count > 0;
    for (uint32_t i = 0; all && i < m->runs[f].count; i++) {
        frame_id frame = m->frames[m->runs[f].first + i];
        all = drop(path, profile_string(p, p->frames[frame].name));
    }
    return all;
}

/* Gives a stack whose innermost frames are dropped the result of its callers. A caller comes
 * before its callees. */
static bool drop_innermost(struct mapped *m,
                           bool (*drop)(struct str module, struct str function))
{
    const struct profile *raw = m->raw.profile;
    bool *dropped = arena_zalloc(&m->arena, raw->frame_count, sizeof *dropped);
    if (!dropped)
        return false;
    for (frame_id f = 1; f < raw->frame_count; f++)
        dropped[f] = is_dropped(m, f, drop);
    for (stack_id s = 1; s < raw->stack_count; s++)
        if (dropped[raw->stacks[s].frame] && m->stacks[raw->stacks[s].parent])
            m->stacks[s] = m->stacks[raw->stacks[s].parent];
    return true;
}

bool mapped_finish(struct mapped *m, bool (*drop)(struct str module, struct str function))
{
    const struct profile *raw = m->raw.profile;
    if (builder_failed(&m->raw) || builder_failed(m->b) || !request_names(m))
        return false;
    m->runs = arena_zalloc(&m->arena, raw->frame_count, sizeof *m->runs);
    m->stacks = arena_zalloc(&m->arena, raw->stack_count, sizeof *m->stacks);
    if (!m->runs || !m->stacks)
        return false;
    for (frame_id f = 1; f < raw->frame_count; f++)
        add_frames(m, f);
    m->b->profile->facts.truncated += raw->facts.truncated;
    if (m->arena.failed || builder_failed(m->b))
        return false;
    builder_map_runs(m->b, raw, m->runs, m->frames, m->stacks);
    return !builder_failed(m->b) && drop_innermost(m, drop);
}
