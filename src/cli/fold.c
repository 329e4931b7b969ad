/* SPDX-License-Identifier: Apache-2.0 */
/* stoke fold: converts profiles to folded stacks. */
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/load.h"
#include "cli/options/names.h"
#include "cli/options/save.h"
#include "cli/options/transforms.h"
#include "os/thread_pool.h"

struct fold_settings {
    struct load_settings load;
    struct transforms_settings transforms;
    struct names_settings names;
    const char *output;
};

#define OFF(field) offsetof(struct fold_settings, field)

static const struct option fold_options[] = {
    {"output", 'o', "FILE", "write to FILE (default: standard output)", OPTION_STRING,
     OFF(output)},
    {"", 'n', "N", NULL, OPTION_INT, OFF(load.threads), .least = 0, .most = 4096},
    /* of stackcollapse-xdebug.php */
    {"", 'c', NULL, NULL, OPTION_FLAG, OFF(names.counts)},
    {"", 't', NULL, NULL, OPTION_IGNORED, 0},
    /* of inferno-collapse-ghcprof; its --time is the default */
    {"ticks", 0, NULL, NULL, OPTION_SET, OFF(load.import.ghc), .value = GHC_TICKS},
    {"bytes", 0, NULL, NULL, OPTION_SET, OFF(load.import.ghc), .value = GHC_BYTES},
    {0}};

static const struct option_group fold_groups[] = {
    {"options", fold_options, 0},
    {"names", names_options, OFF(names)},
    {"filters and transforms", transforms_options, OFF(transforms)},
    {"input", load_options, OFF(load)},
    {0}};

/* A line needs a name: a sample without a frame has the thread's, if threads are shown. */
static void note_unnamed(const struct profile *p, enum thread_style threads)
{
    double all = 0, unnamed = 0;
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        if (s->event != 1)
            continue;
        all += s->weight;
        if (!s->stack && (threads == THREAD_NONE || !s->thread))
            unnamed += s->weight;
    }
    if (unnamed > 0)
        message_note("samples without a stack are left out: %.2f%% of the total",
                     100 * unnamed / all);
}

static int fold_run(void *settings, int file_count, char **files)
{
    struct fold_settings *s = settings;
    struct error err = {.location = LOCATION_NONE};
    struct export_options options = {0};
    names_prepare(&s->names, THREAD_COMM, &s->load, &s->transforms, &options);
    s->load.modules_alike = true;
    transforms_prepare(&s->transforms, &s->load);
    struct profile *p = NULL;
    if (load_inputs(&s->load, NULL, &file_count, &files, &err))
        p = load_profiles(&s->load, file_count, files, &err);
    p = transforms_apply(&s->transforms, p, &err);
    if (p) {
        load_note_event(p, s->load.quiet);
        if (!s->load.quiet)
            note_unnamed(p, options.tree.threads);
    }
    struct os_thread_pool *pool = engine_load_thread_pool(&s->load);
    struct thread_pool threads =
        pool ? os_thread_pool_interface(pool) : (struct thread_pool){.workers = 1};
    options.pool = &threads;
    bool ok = p && save_profile(exporter_named(STR("folded")), p, &options,
                                s->output ? s->output : "-", &err);
    os_thread_pool_destroy(pool);
    profile_destroy(p);
    return command_status(ok, &err);
}

const struct command command_fold = {
    .name = "fold",
    .summary = "convert profiles to folded stacks",
    .usage = "[OPTION...] [FILE...]",
    .examples = "  stoke fold perf.data > out.folded\n"
                "  perf script | stoke fold > out.folded\n",
    .groups = fold_groups,
    .settings_size = sizeof(struct fold_settings),
    .result = offsetof(struct fold_settings, load.result),
    .run = fold_run,
};
