/* SPDX-License-Identifier: Apache-2.0 */
/* V8's CPU and heap profiles, as Chrome DevTools, node --cpu-prof and --heap-prof, and
 * inspectors write them:
 *
 *   {"nodes": [{"id": 1, "callFrame": {"functionName": "f", "url": "a.js",
 *               "lineNumber": 3, ...}, "children": [2]}, ...],
 *    "startTime": 1000, "endTime": 9000, "samples": [1, 2, 2], "timeDeltas": [9, 8, 9]}
 *
 * Before 2017 the nodes were nested, under "head", and there were "timestamps". Heap
 * profiles are still nested; each node has a "selfSize". Times are microseconds, lines
 * count from 0. The time in (program) and (garbage collector) is added to the stack
 * that they interrupted; (idle) is idle. */
#include "import/json_input.h"
#include "import/v8_profile.h"

/* Nested trees use two levels of JSON per frame: as deep as a stack may be. */
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

static int cpuprofile_probe(struct str head)
{
    static const struct json_rule rules[] = {
        {0, '{', {0}, {"\"traceEvents\"", "\"selfSize\""}}, /* a trace, a heap profile */
        {80, '{', {"\"functionName\"", "\"nodes\""}},
        {80, '{', {"\"functionName\"", "\"head\""}, {"\"hitCount\"", "\"samples\""}},
        {50, '{', {"\"functionName\"", "\"head\""}},
        {0}};
    return json_probe(head, rules);
}

static int heapprofile_probe(struct str head)
{
    static const struct json_rule rules[] = {
        {0, '{', {"\"traceEvents\""}},
        {80, '{', {"\"functionName\"", "\"head\"", "\"selfSize\""}},
        {0}};
    return json_probe(head, rules);
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
    .empty = "the profile has no allocations",
    .probe = heapprofile_probe,
    .shape = SHAPE_JSON,
    .read = v8_read,
};
