/* SPDX-License-Identifier: Apache-2.0 */
/* Several threads of one process load at the same time: files of several formats,
 * compressed and uncompressed, with their own limits. Each result equals that of a
 * single load. */
#include "engine/load.h"
#include "unit.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 3

static const char *const inputs[] = {
    "folded/plain.in",    "perf/inlined.in",     "perf-data/file.in",
    "pprof/cpu.in",       "speedscope/plain.in", "perf-data/compressed.in",
    "callgrind/plain.in",
};
#define INPUTS (sizeof inputs / sizeof *inputs)

/* The compared data of a profile. */
struct digest {
    size_t loaded, stacks, frames, samples, threads, warnings;
    double weight;
    uint64_t names;
};

static struct digest load(const char *name, bool small, struct load_result *result)
{
    char path[4096], *files[] = {path};
    struct error err = {.message = ""};
    struct load_settings s = {.threads = 2, .result = result};
    struct digest d = {0};
    if (small) {
        s.limits = limits_times(1);
        s.limits.depth = 2;
        s.limits.frames = 4;
    }
    s.symbols.no_debuginfod = true;
    s.symbols.kallsyms = "/dev/null";
    snprintf(path, sizeof path, "%s/import/%s", TESTS_FOLDER, name);
    struct profile *p = engine_load(&s, 1, files, &engine_silent, &err);
    if (!p)
        return d;
    d = (struct digest){.loaded = 1,
                        .stacks = p->stack_count,
                        .frames = p->frame_count,
                        .samples = p->sample_count,
                        .threads = p->thread_count,
                        .warnings = p->facts.warning_count};
    for (size_t i = 0; i < p->sample_count; i++)
        d.weight += p->samples[i].weight;
    for (size_t i = 0; i < p->frame_count; i++) {
        struct str text = profile_string(p, p->frames[i].name);
        for (size_t k = 0; k < text.len; k++)
            d.names = d.names * 31 + (unsigned char)text.ptr[k];
    }
    profile_destroy(p);
    return d;
}

static struct digest alone[2][INPUTS];

struct worker {
    pthread_t thread;
    size_t first;
    bool small;
    unsigned different, loads;
    struct load_result result;
};

static void *load_all(void *context)
{
    struct worker *w = context;
    for (size_t i = 0; i < ROUNDS * INPUTS; i++) {
        size_t n = (w->first + i) % INPUTS;
        struct digest d = load(inputs[n], w->small, &w->result);
        w->different += memcmp(&d, &alone[w->small][n], sizeof d) != 0;
        w->loads++;
    }
    return NULL;
}

static void threads_load_what_one_loads(void **state)
{
    struct worker workers[2] = {{.first = 0, .small = false},
                                {.first = INPUTS / 2, .small = true}};
    (void)state;
    for (size_t i = 0; i < INPUTS; i++) {
        struct load_result none = {.incomplete = false};
        alone[0][i] = load(inputs[i], false, &none);
        alone[1][i] = load(inputs[i], true, &none);
        if (!alone[0][i].loaded)
            fail_msg("%s cannot be loaded", inputs[i]);
    }
    assert_true(alone[1][0].stacks < alone[0][0].stacks); /* the limits are in force */
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, load_all, &workers[i]),
                         0);
    for (size_t i = 0; i < 2; i++)
        pthread_join(workers[i].thread, NULL);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(workers[i].loads, ROUNDS * INPUTS);
        assert_int_equal(workers[i].different, 0);
        assert_false(workers[i].result.truncated);
    }
}

int main(void)
{
    const struct CMUnitTest units[] = {UNIT(threads_load_what_one_loads)};
    return UNITS_RUN(units);
}
