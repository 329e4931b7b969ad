/* SPDX-License-Identifier: Apache-2.0 */
/* V8's profiles of the processor and of the heap, as Chrome's tools, node --cpu-prof and
 * --heap-prof, and inspectors write them:
 *
 *   {"nodes": [{"id": 1, "callFrame": {"functionName": "f", "url": "a.js",
 *               "lineNumber": 3, ...}, "children": [2]}, ...],
 *    "startTime": 1000, "endTime": 9000, "samples": [1, 2, 2], "timeDeltas": [9, 8, 9]}
 *
 * Before 2017 the nodes were inside each other, under "head", and there were
 * "timestamps"; the heap's still are, each with its "selfSize". Times are microseconds,
 * lines count from 0. The time in (program) and (garbage collector) is put on the stack
 * that was left for it; (idle) is idle. */
#include "import/json_input.h"
#include "import/v8_profile.h"

/* Trees inside each other, two levels of JSON each: as deep as a stack may be. */
#define DEPTH_MAX 1000000

static bool v8_read(struct source *in, const struct import_options *options,
                    struct builder *b, struct error *err)
{
    uint64_t before = b->profile->facts.samples;
    struct v8_profile v;
    struct json json;
    struct str key;
    json_init(&json, in, true, err);
    json.depth_max = DEPTH_MAX;
    v8_init(&v, b, options);
    if (json_enter(&json, JSON_OBJECT))
        while (json_key(&json, &key) && !v.arena.failed)
            if (!v8_member(&v, &json, key))
                json_skip(&json);
    v8_finish(&v, 0);
    v8_deinit(&v);
    return json_input_end(&json, b, before);
}

static bool has_frames(struct str text)
{
    return str_starts(text, STR("{")) && str_has(text, STR("\"functionName\"")) &&
           !str_has(text, STR("\"traceEvents\""));
}

static int cpuprofile_probe(struct str head)
{
    struct str text = str_trim_left(head);
    if (!has_frames(text) || str_has(text, STR("\"selfSize\"")))
        return 0;
    if (str_has(text, STR("\"nodes\"")))
        return 80;
    if (!str_has(text, STR("\"head\""))) /* the heap's have it, too */
        return 0;
    return str_has(text, STR("\"hitCount\"")) || str_has(text, STR("\"samples\"")) ? 80
                                                                                   : 50;
}

static int heapprofile_probe(struct str head)
{
    struct str text = str_trim_left(head);
    bool heap = str_has(text, STR("\"head\"")) && str_has(text, STR("\"selfSize\""));
    return has_frames(text) && heap ? 80 : 0;
}

const struct importer import_cpuprofile = {
    .name = "cpuprofile",
    .suffixes = "cpuprofile",
    .summary = "V8 CPU profiles (Chrome, Node --cpu-prof), old and new",
    .probe = cpuprofile_probe,
    .shape = SHAPE_JSON,
    .read = v8_read,
};

const struct importer import_heapprofile = {
    .name = "heapprofile",
    .suffixes = "heapprofile",
    .summary = "V8 sampling heap profiles (Chrome, Node --heap-prof)",
    .probe = heapprofile_probe,
    .shape = SHAPE_JSON,
    .read = v8_read,
};
