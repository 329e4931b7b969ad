/* SPDX-License-Identifier: Apache-2.0 */
/* The raw samples of rbspy, a sampling profiler for Ruby (record --raw-file), which are compressed
 * by gzip: the version, a header from version 2 on, and a line of JSON per sample.
 *
 *   rbspy02
 *   {"sample_rate":100,"rbspy_version":"0.27.0","start_time":{...}}
 *   {"trace":[{"name":"add","relative_path":"cart.rb","absolute_path":"/srv/cart.rb",
 *     "lineno":40}, ...],"pid":42,"thread_id":7,"time":{"secs_since_epoch":..,
 *     "nanos_since_epoch":..},"on_cpu":true}
 *
 * The leaf is the first frame. In versions 0 and 1, a sample is the array of frames. Every sample
 * has weight 1. */
#include "base/number.h"
#include "import/importer.h"
#include "import/json_input.h"

#define MAGIC "rbspy0"

struct rbspy {
    struct builder *b;
    const struct import_options *options;
    struct lines lines;
    event_id event;
    bool failed; /* out of memory */
};

/* A sample being read. */
struct rbspy_sample {
    int64_t pid, tid;
    uint64_t seconds, nanoseconds;
    bool has_trace, has_time;
};

static void read_frame(struct rbspy *r, struct json *j)
{
    struct frame f = {0};
    struct str key;
    string_id relative = 0, absolute = 0;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key)) {
        if (str_equal(key, STR("name")))
            f.name = import_label(r->b, json_name(j, r->b));
        else if (str_equal(key, STR("relative_path")))
            relative = json_name(j, r->b);
        else if (str_equal(key, STR("absolute_path")))
            absolute = json_name(j, r->b);
        else if (!str_equal(key, STR("lineno")) || !json_index(j, &f.line))
            json_skip(j);
    }
    f.file = r->options->lines ? (absolute ? absolute : relative) : 0;
    f.line = r->options->lines ? f.line : 0;
    builder_path_add(r->b, builder_frame(r->b, &f));
}

static void read_trace(struct rbspy *r, struct json *j, struct rbspy_sample *s)
{
    builder_path_clear(r->b);
    if (!json_enter(j, JSON_ARRAY))
        return;
    s->has_trace = true;
    while (json_item(j))
        read_frame(r, j);
}

static void read_time(struct json *j, struct rbspy_sample *s)
{
    struct str key;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key)) {
        if (str_equal(key, STR("secs_since_epoch")))
            s->has_time = json_u64(j, &s->seconds) && s->seconds < UINT32_MAX * 4ULL;
        else if (!str_equal(key, STR("nanos_since_epoch")) ||
                 !json_u64(j, &s->nanoseconds))
            json_skip(j);
    }
}

static void read_fields(struct rbspy *r, struct json *j, struct rbspy_sample *s)
{
    struct str key;
    uint64_t id;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key)) {
        bool is_pid = str_equal(key, STR("pid"));
        if (str_equal(key, STR("trace")))
            read_trace(r, j, s);
        else if (str_equal(key, STR("time")))
            read_time(j, s);
        else if (!is_pid && !str_equal(key, STR("thread_id")))
            json_skip(j);
        else if (json_u64(j, &id) && id <= INT64_MAX)
            *(is_pid ? &s->pid : &s->tid) = (int64_t)id;
    }
}

static void add_sample(struct rbspy *r, const struct rbspy_sample *s)
{
    uint64_t time = s->seconds * 1000000000 + s->nanoseconds % 1000000000;
    if (r->b->path.count == 0)
        builder_path_add(r->b, builder_frame(r->b, &(struct frame){0}));
    builder_add(r->b,
                &(struct sample){.time = s->has_time ? time : TIME_NONE,
                                 .thread = builder_thread(r->b, s->pid, s->tid, STR("")),
                                 .cpu = CPU_NONE,
                                 .event = r->event,
                                 .stack = builder_path_from_leaf(r->b),
                                 .count = 1,
                                 .weight = 1});
}

/* False if the line is not a sample. */
static bool read_sample(struct rbspy *r, struct str line)
{
    struct json j;
    struct error ignored;
    struct source source = source_of(line, STR("")), *in = r->lines.source;
    struct rbspy_sample s = {.pid = ID_NONE, .tid = ID_NONE};
    source.limits = in->limits;
    json_init(&j, &source, false, &ignored);
    if (json_peek(&j) == JSON_ARRAY)
        read_trace(r, &j, &s);
    else
        read_fields(r, &j, &s);
    bool ok = json_finish(&j) && s.has_trace;
    r->failed |= j.failed && !j.broken;
    json_deinit(&j);
    source_deinit(&source);
    if (ok)
        add_sample(r, &s);
    return ok;
}

static bool rbspy_read(struct source *in, const struct import_options *options,
                       struct builder *b, struct error *err)
{
    struct rbspy r = {.b = b,
                      .options = options,
                      .lines = lines_of(in, err),
                      .event = builder_event(b, STR("samples"), UNIT_COUNT)};
    struct str line;
    bool has_header = false;
    while (!builder_failed(b) && !r.failed && lines_next(&r.lines, &line)) {
        if (r.lines.number == 1 && str_starts(line, STR(MAGIC)))
            has_header = line.len == sizeof MAGIC && line.ptr[line.len - 1] >= '2';
        else if (r.lines.number == 2 && has_header)
            continue;
        else if (str_trim(line).len && !read_sample(&r, line))
            builder_warn(b, "not a sample of rbspy", r.lines.number, 1, line);
    }
    if (r.failed)
        return error_memory(err);
    if (r.lines.cut)
        b->profile->facts.incomplete = true;
    return !r.lines.failed;
}

static int rbspy_probe(struct str head)
{
    struct str line = str_trim_right(str_cut(&head, '\n'));
    return line.len == sizeof MAGIC && str_starts(line, STR(MAGIC)) ? 97 : 0;
}

const struct importer import_rbspy = {
    .name = "rbspy",
    .suffixes = "",
    .summary = "rbspy raw samples of Ruby programs",
    .probe = rbspy_probe,
    .read = rbspy_read,
};
