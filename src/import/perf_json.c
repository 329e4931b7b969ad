/* SPDX-License-Identifier: Apache-2.0 */
/* What `perf data convert --to-json` writes (perf 5.14 and later):
 *
 *   {"linux-perf-json-version": 1,
 *    "headers": {"hostname": "a", "os-release": "6.1"},
 *    "samples": [{"timestamp": 19308785979, "pid": 98, "tid": 98, "cpu": 0, "comm": "sh",
 *                 "callchain": [{"ip": "0xffffffff8223b3a6", "symbol": "do_mmap",
 *                                "dso": "[kernel.kallsyms]"}, ...]}]}
 *
 * A call chain begins with the leaf. Samples have no event and no period, so each counts as one.
 * A sample of a tracepoint has the tracepoint's fields as further keys. */
#include "base/number.h"
#include "import/importer.h"
#include "import/json_input.h"
#include "import/perf_line.h"

struct perf_json {
    struct json json;
    struct builder *b;
    const struct import_options *options;
    event_id event;
    struct output ip, symbol, dso, comm;
};

/* A copy: the reader's text is valid until its next call only. */
static void read_text(struct json *j, struct output *out)
{
    struct str s;
    out->used = 0;
    if (json_text(j, &s))
        output_str(out, s);
}

static void read_frame(struct perf_json *p)
{
    struct json *j = &p->json;
    struct str key;
    p->ip.used = p->symbol.used = p->dso.used = 0;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key)) {
        if (str_equal(key, STR("ip")))
            read_text(j, &p->ip);
        else if (str_equal(key, STR("symbol")))
            read_text(j, &p->symbol);
        else if (str_equal(key, STR("dso")))
            read_text(j, &p->dso);
        else
            json_skip(j);
    }
    struct perf_frame_line line = {.pc = output_contents(&p->ip),
                                   .module = output_contents(&p->dso)};
    struct str symbol = output_contents(&p->symbol);
    if (str_starts(line.pc, STR("0x")))
        line.pc = str_skip(line.pc, 2);
    if (!line.module.len)
        line.module = STR("[unknown]");
    builder_path_add(p->b, perf_frame(p->b, p->options, &line,
                                      symbol.len ? symbol : STR("[unknown]"), false));
}

static void read_chain(struct perf_json *p)
{
    builder_path_clear(p->b);
    if (json_enter(&p->json, JSON_ARRAY))
        while (json_item(&p->json) && !builder_failed(p->b))
            read_frame(p);
}

static int64_t read_id(struct json *j)
{
    uint64_t id; /* perf writes -1 for an unknown task */
    return json_u64(j, &id) && id <= INT32_MAX ? (int64_t)id : ID_NONE;
}

static void read_sample(struct perf_json *p)
{
    struct json *j = &p->json;
    struct sample sample = {
        .time = TIME_NONE, .cpu = CPU_NONE, .event = p->event, .count = 1, .weight = 1};
    int64_t pid = ID_NONE, tid = ID_NONE;
    struct str key;
    builder_path_clear(p->b);
    p->comm.used = 0;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key) && !builder_failed(p->b)) {
        if (str_equal(key, STR("callchain")))
            read_chain(p);
        else if (str_equal(key, STR("comm")))
            read_text(j, &p->comm);
        else if (str_equal(key, STR("pid")))
            pid = read_id(j);
        else if (str_equal(key, STR("tid")))
            tid = read_id(j);
        else if (str_equal(key, STR("timestamp"))) {
            if (!json_u64(j, &sample.time))
                sample.time = TIME_NONE;
        } else if (!str_equal(key, STR("cpu")))
            json_skip(j);
        else if (!json_index(j, &sample.cpu))
            sample.cpu = CPU_NONE;
    }
    if (j->cut)
        return; /* a part of a stack would have wrong callers */
    sample.thread = builder_thread(p->b, pid, tid, output_contents(&p->comm));
    sample.stack = builder_path_from_leaf(p->b);
    builder_add(p->b, &sample);
}

static void read_headers(struct perf_json *p)
{
    struct json *j = &p->json;
    struct str key;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key)) {
        if (str_equal(key, STR("hostname")))
            p->b->profile->facts.host = json_name(j, p->b);
        else
            json_skip(j);
    }
}

static void read_file(struct perf_json *p)
{
    struct json *j = &p->json;
    struct str key;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key) && !builder_failed(p->b)) {
        if (str_equal(key, STR("headers")))
            read_headers(p);
        else if (!str_equal(key, STR("samples")))
            json_skip(j);
        else if (json_enter(j, JSON_ARRAY))
            while (json_item(j) && !builder_failed(p->b))
                read_sample(p);
    }
}

static bool perf_json_read(struct source *in, const struct import_options *options,
                           struct builder *b, struct error *err)
{
    struct perf_json p = {.b = b, .options = options};
    struct output *texts[] = {&p.ip, &p.symbol, &p.dso, &p.comm};
    uint64_t before = b->profile->facts.samples;
    p.event = builder_event(b, STR("samples"), UNIT_COUNT);
    json_init(&p.json, in, true, err);
    read_file(&p);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        b->profile->arena.failed |= texts[i]->failed;
        output_deinit(texts[i]);
    }
    return json_input_end(&p.json, b, before);
}

static int perf_json_probe(struct str head)
{
    static const struct json_rule rules[] = {
        {96, '{', {"\"linux-perf-json-version\""}, {0}}, {0}};
    return json_probe(head, rules);
}

const struct importer import_perf_json = {
    .name = "perf-json",
    .suffixes = "json",
    .summary = "JSON of perf data convert --to-json",
    .probe = perf_json_probe,
    .shape = SHAPE_JSON,
    .read = perf_json_read,
};
