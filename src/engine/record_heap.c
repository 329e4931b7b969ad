/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/record_heap.h"
#include "base/format.h"
#include "engine/heap.h"
#include "engine/save.h"
#include "os/data_file.h"
#include "os/file.h"
#include "os/proc.h"
#include "os/wait.h"

#define CONTROL_SIZE 4096
#define POLL_MS 1

struct record_heap_control {
    bool is_written;
    bool python_arenas; /* as in struct engine_heap_result */
    size_t processes;   /* that were recorded */
    struct error error; /* if it is not written */
};

_Static_assert(sizeof(struct record_heap_control) <= CONTROL_SIZE, "it fits");

/* --- The collector ------------------------------------------------------------------ */

struct collecting {
    const struct record_heap_settings *settings;
    struct record_heap *heap;
    uint32_t caller;
};

static bool collect_heap(const struct collecting *c, struct error *err)
{
    char *const none[] = {NULL};
    struct record_heap_control *control = c->heap->control;
    struct engine_heap_settings settings = {.symbols = c->settings->symbols};
    struct engine_heap_result result = {0};
    struct export_options options = {0};
    settings.collect = (struct heap_collect_settings){
        .command = none,
        .memory = &c->heap->memory,
        .caller = c->caller,
        .sample_bytes = c->settings->sample_bytes,
    };
    struct profile *p = engine_heap(&settings, &result, &engine_silent, err);
    control->processes = result.processes;
    control->python_arenas = result.python_arenas;
    bool ok =
        p && save_profile(exporter_named(STR("stoke")), p, &options, c->heap->path, err);
    profile_destroy(p);
    return ok;
}

static int collect(void *context)
{
    const struct collecting *c = context;
    os_child_leave_group();
    os_wait_block_signals();
    c->heap->control->is_written = collect_heap(c, &c->heap->control->error);
    return c->heap->control->is_written ? 0 : 1;
}

/* --- The recorder ------------------------------------------------------------------- */

/* The program must find the memory prepared when it starts. */
static bool wait_for_collector(struct record_heap *h, struct error *err)
{
    const struct heap_shared *shared =
        os_shared_memory_map(&h->memory, 0, HEAP_LANES_AT, 1, err);
    if (!shared)
        return false;
    bool runs = true;
    while (runs && __atomic_load_n(&shared->magic, __ATOMIC_ACQUIRE) != HEAP_MAGIC) {
        os_sleep(POLL_MS);
        runs = !os_child_ended(&h->collector);
    }
    os_shared_memory_unmap((void *)(uintptr_t)shared, HEAP_LANES_AT, 1);
    if (!runs)
        *err = h->control->error;
    return runs;
}

static void choose_path(struct record_heap *h, const char *output)
{
    format_text(h->path, sizeof h->path, "%s.heap.stoke", output);
    if (os_output_exists(h->path))
        format_text(h->path, sizeof h->path, "%s.%lld.heap.stoke", output,
                    (long long)os_own_pid());
}

bool record_heap_start(struct record_heap *h, const struct record_heap_settings *settings,
                       struct error *err)
{
    char library[4200];
    struct collecting c = {settings, h, os_own_pid()};
    *h = (struct record_heap){.memory.fd = -1, .control_memory.fd = -1};
    choose_path(h, settings->output);
    if (os_invoking_user().other) {
        error_set(err, "--heap records programs of the same user only");
        return error_hint(err, "run stoke without sudo, or in a shell of root");
    }
    if (!engine_heap_library(HEAP_LIBRARY, library, sizeof library, err) ||
        !os_shared_memory_create(&h->memory, HEAP_SHARED_SIZE, err) ||
        !os_shared_memory_create(&h->control_memory, CONTROL_SIZE, err))
        return false;
    h->control = os_shared_memory_map(&h->control_memory, 0, CONTROL_SIZE, 1, err);
    if (!h->control || !os_child_run(&h->collector, collect, &c, err) ||
        !wait_for_collector(h, err))
        return false;
    h->is_set = heap_environment_set(&h->before, library, h->memory.path, err);
    return h->is_set;
}

void record_heap_restore(struct record_heap *h)
{
    if (h->is_set)
        heap_environment_restore(&h->before);
    h->is_set = false;
}

bool record_heap_finish(struct record_heap *h, struct error *err)
{
    os_child_terminate(&h->collector);
    os_child_wait(&h->collector);
    h->is_made = h->control->is_written && h->control->processes;
    h->python_arenas = h->is_made && h->control->python_arenas;
    if (h->is_made)
        return true;
    if (!h->control->is_written && h->control->error.message[0]) {
        *err = h->control->error;
        return false;
    }
    if (!h->control->is_written)
        return error_set(err, "the process that records the heap has ended");
    error_set(err, "the program did not load the recorder of the heap");
    return error_hint(err, "static programs, and those that change their user, do not");
}

void record_heap_close(struct record_heap *h)
{
    record_heap_restore(h);
    if (h->collector.pid && !h->collector.ended) {
        os_child_terminate(&h->collector);
        os_child_wait(&h->collector);
    }
    if (!h->is_made)
        os_data_file_remove(h->path);
    os_shared_memory_unmap(h->control, CONTROL_SIZE, 1);
    os_shared_memory_close(&h->control_memory);
    os_shared_memory_close(&h->memory);
}
