/* SPDX-License-Identifier: Apache-2.0 */
/* stoke flamegraph: draws a flame graph as an interactive SVG. */
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/drawing.h"
#include "cli/options/load.h"
#include "cli/options/names.h"
#include "cli/options/save.h"
#include "cli/options/transforms.h"
#include "import/importer.h"
#include "os/file.h"

/* With fewer samples, narrow frames are not significant. */
#define SAMPLES_FEW 100

struct flamegraph_settings {
    struct load_settings load;
    struct transforms_settings transforms;
    struct drawing_settings drawing;
    struct names_settings names;
    const char *output;
};

#define OFF(field) offsetof(struct flamegraph_settings, field)

static const struct option flamegraph_options[] = {
    {"output", 'o', "FILE", "write to FILE (default: standard output)", OPTION_STRING,
     OFF(output)},
    {"", 'c', "NAME", NULL, OPTION_CHOICE, OFF(drawing.palette), palette_names},
    {0}};

static const struct option_group flamegraph_groups[] = {
    {"options", flamegraph_options, 0},
    {"names", names_options, OFF(names)},
    {"appearance", drawing_options, OFF(drawing)},
    {"filters and transforms", transforms_options, OFF(transforms)},
    {"input", load_options, OFF(load)},
    {0}};

/* Draws the error message, for users who open the image but do not see standard error. */
static void write_error_image(const struct flamegraph_settings *s,
                              const struct svg_options *svg, const struct error *err)
{
    struct os_output file;
    struct error ignored;
    if (!os_output_open(&file, s->output ? s->output : "-", &ignored))
        return;
    struct output out = os_output_stream(&file);
    svg_write_error(svg, str_of(err->message), &out);
    os_output_close(&file, &out, &ignored);
    output_deinit(&out);
}

static void warn(const struct profile *p, const struct export_options *options)
{
    event_id event, base;
    double samples = 0, sum = 0;
    calltree_events(p, &options->tree, &event, &base);
    bool counts = p->events[event].unit == UNIT_COUNT;
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        if (s->event != event)
            continue;
        sum += s->weight;
        samples += counts ? s->weight : (double)s->count;
    }
    if (sum != 0 && samples < SAMPLES_FEW && !import_counts_all(p))
        message_note("only %g sample%s: narrow frames are not significant", samples,
                     samples == 1 ? "" : "s");
    if (options->svg->total > 0 && options->svg->total < sum)
        message_note("--total %g is ignored: it is less than the sum %g",
                     options->svg->total, sum);
}

static bool draw(struct flamegraph_settings *s, struct drawing *d, struct profile *p,
                 struct export_options *options, struct error *err)
{
    bool read = p != NULL;
    if (read && !s->load.quiet) {
        load_note_event(p, false);
        warn(p, options);
    }
    bool drawn = read && save_profile(exporter_named(STR("svg")), p, options,
                                      s->output ? s->output : "-", err);
    if (!drawn && !s->output) /* do not overwrite a file with an error message */
        write_error_image(s, &d->svg, err);
    return drawn && drawing_finish(d, err);
}

static int flamegraph_run(void *settings, int file_count, char **files)
{
    struct flamegraph_settings *s = settings;
    struct error err = {.location = LOCATION_NONE};
    struct export_options options = {0};
    struct drawing d;
    bool ok = drawing_init(&d, &s->drawing, &options, &err);
    if (ok) {
        names_prepare(&s->names, THREAD_COMM, &s->load, &s->transforms, &options);
        s->load.keep = s->drawing.by_time;
        if (s->transforms.options.reverse && options.tree.order == CALLTREE_AS_READ)
            options.tree.order = (enum calltree_order)s->drawing.order;
        s->load.import.in_order = options.tree.order == CALLTREE_AS_READ;
        s->load.modules_alike = true;
        s->load.pipe_is_folded = true;
        transforms_prepare(&s->transforms, &s->load);
        struct profile *p = NULL;
        if (load_inputs(&s->load, NULL, &file_count, &files, &err))
            p = load_profiles(&s->load, file_count, files, &err);
        p = transforms_apply(&s->transforms, p, &err);
        ok = draw(s, &d, p, &options, &err);
        profile_destroy(p);
    }
    drawing_deinit(&d);
    return command_status(ok, &err);
}

static const struct flamegraph_settings flamegraph_defaults = {
    .drawing = DRAWING_DEFAULTS,
};

const struct command command_flamegraph = {
    .name = "flamegraph",
    .summary = "draw a flame graph as an interactive SVG",
    .usage = "[OPTION...] [FILE...]",
    .examples =
        "  stoke flamegraph perf.data > out.svg\n"
        "  perf script | stoke flamegraph > out.svg\n"
        "  stoke flamegraph --colors java --title 'Java, 60 s' out.folded -o a.svg\n",
    .groups = flamegraph_groups,
    .settings_size = sizeof(struct flamegraph_settings),
    .result = offsetof(struct flamegraph_settings, load.result),
    .defaults = &flamegraph_defaults,
    .run = flamegraph_run,
};
