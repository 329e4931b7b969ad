/* stoke fold: stacks of any format to folded lines. */
#include "cli/command.h"
#include "cli/load.h"
#include "cli/message.h"
#include "cli/save.h"
#include "cli/view.h"

struct fold_settings {
    struct load_settings load;
    struct view_settings view;
    const char *output;
    bool pid, tid, kernel, jit, all, addresses, lines;
};

#define OFF(field) offsetof(struct fold_settings, field)

static const struct option fold_options[] = {
    {"pid", 0, NULL, "tell processes apart: comm-PID", OPTION_FLAG, OFF(pid)},
    {"tid", 0, NULL, "tell threads apart: comm-PID/TID", OPTION_FLAG, OFF(tid)},
    {"kernel", 0, NULL, "mark kernel functions with _[k]", OPTION_FLAG, OFF(kernel)},
    {"jit", 0, NULL, "mark functions of a JIT with _[j]", OPTION_FLAG, OFF(jit)},
    {"all", 0, NULL, "both marks", OPTION_FLAG, OFF(all)},
    {"addrs", 0, NULL, "unknown functions with their address", OPTION_FLAG,
     OFF(addresses)},
    {"srcline", 0, NULL, "functions with their source lines, where the input has them",
     OPTION_FLAG, OFF(lines)},
    {"inline", 0, NULL, "accepted: inlined functions that the input tells are there",
     OPTION_IGNORED},
    {"context", 0, NULL, "accepted, as --inline is", OPTION_IGNORED},
    {"output", 'o', "FILE", "write there (default: standard output)", OPTION_STRING,
     OFF(output)},
    {0}};

static const struct option_group fold_groups[] = {
    {"options", fold_options, 0},
    {"what is folded", view_options, OFF(view)},
    {"input", load_options, OFF(load)},
    {0}};

static int fold_run(void *settings, int file_count, char **files)
{
    struct fold_settings *s = settings;
    struct error err = {.place = PLACE_NONE};
    struct export_options options = {0};
    options.tree.threads = s->tid ? THREAD_TID : s->pid ? THREAD_PID : THREAD_COMM;
    options.tree.label.kernel = s->kernel || s->all;
    options.tree.label.jit = s->jit || s->all;
    options.tree.label.addresses = s->addresses;
    options.tree.label.lines = s->lines;
    s->load.import.addresses = s->addresses;
    s->load.import.lines = s->lines;
    view_prepare(&s->view, &s->load);
    s->view.transform.threads = options.tree.threads;
    struct profile *p = load_profiles(&s->load, file_count, files, &err);
    p = view_apply(&s->view, p, &err);
    bool ok = p && load_choose_event(p, NULL, s->load.quiet, &options.tree.event, &err) &&
              save_profile(exporter_named(STR("folded")), p, &options,
                           s->output ? s->output : "-", &err);
    profile_destroy(p);
    if (!ok)
        message_error(&err);
    return ok ? STATUS_OK : STATUS_FAILED;
}

const struct command command_fold = {
    .name = "fold",
    .summary = "stacks of any format to folded lines",
    .usage = "[OPTION...] [FILE...]",
    .examples = "  perf script | stoke fold > out.folded\n",
    .groups = fold_groups,
    .settings_size = sizeof(struct fold_settings),
    .run = fold_run,
};
