/* SPDX-License-Identifier: Apache-2.0 */
/* stoke fold: stacks of any format to folded lines. */
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/load.h"
#include "cli/options/names.h"
#include "cli/options/save.h"
#include "cli/options/view.h"
#include "os/parallel.h"

struct fold_settings {
    struct load_settings load;
    struct view_settings view;
    struct names_settings names;
    const char *output;
};

#define OFF(field) offsetof(struct fold_settings, field)

static const struct option fold_options[] = {{"output", 'o', "FILE",
                                              "write there (default: standard output)",
                                              OPTION_STRING, OFF(output)},
                                             {0}};

static const struct option_group fold_groups[] = {
    {"options", fold_options, 0},
    {"names", names_options, OFF(names)},
    {"what is folded", view_options, OFF(view)},
    {"input", load_options, OFF(load)},
    {0}};

static int fold_run(void *settings, int file_count, char **files)
{
    struct fold_settings *s = settings;
    struct error err = {.place = PLACE_NONE};
    struct export_options options = {0};
    names_prepare(&s->names, THREAD_COMM, &s->load, &s->view, &options);
    s->load.modules_alike = true;
    view_prepare(&s->view, &s->load);
    struct profile *p = NULL;
    if (load_inputs(NULL, &file_count, &files, &err))
        p = load_profiles(&s->load, file_count, files, &err);
    p = view_apply(&s->view, p, &err);
    if (p)
        load_note_event(p, s->load.quiet);
    struct os_crew *crew = engine_load_crew(&s->load);
    struct crew seam = crew ? os_crew_seam(crew) : (struct crew){.hands = 1};
    options.crew = &seam;
    bool ok = p && save_profile(exporter_named(STR("folded")), p, &options,
                                s->output ? s->output : "-", &err);
    os_crew_destroy(crew);
    profile_destroy(p);
    if (!ok)
        message_error(&err);
    return ok ? STATUS_OK : STATUS_FAILED;
}

const struct command command_fold = {
    .name = "fold",
    .summary = "stacks of any format to folded lines",
    .usage = "[OPTION...] [FILE...]",
    .examples = "  stoke fold perf.data > out.folded\n"
                "  perf script | stoke fold > out.folded\n",
    .groups = fold_groups,
    .settings_size = sizeof(struct fold_settings),
    .run = fold_run,
};
