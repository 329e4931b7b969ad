/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/check.h"

/* A stream is one recording, from its start to its end. */
static bool check_output(const struct record_command_settings *s, struct error *err)
{
    if (strcmp(s->output, "-") != 0 || !(s->rotate || s->snapshot || s->bundle))
        return true;
    error_set(err, "--rotate, --snapshot and --bundle need a file as output");
    return error_hint(err, "-o FILE");
}

static bool check_files(const struct record_command_settings *s,
                        const struct record_drawing *drawing, struct error *err)
{
    if (drawing->exporter && (s->max_size || s->rotate || s->snapshot)) {
        error_set(err, "--max-size, --rotate and --snapshot need a recording as output, "
                       "not a drawing");
        return error_hint(err, "-o FILE.data, and then stoke flamegraph FILE.data");
    }
    if (s->keep && (!s->rotate || s->snapshot)) {
        error_set(err, "--keep needs --rotate");
        return error_hint(err, "--rotate 10m --keep %lld", (long long)s->keep);
    }
    return true;
}

/* Only dumps can be stored. */
static bool check_dumps(const struct record_command_settings *s, struct error *err)
{
    if (!s->keep_dumps || record_stacks_dumped(s->sampling.stacks.kind))
        return true;
    error_set(err,
              "--keep-stacks stores stack dumps, which this recording does not have");
    return error_hint(err, "-g dwarf --keep-stacks");
}

static bool check_sources(const struct record_command_settings *s, struct error *err)
{
    struct perf_sampler_settings sampler = sampling_sampler(&s->sampling);
    struct event_source_setup setup = {
        .sampler = &sampler, .request = &s->sources, .keeps_dumps = s->keep_dumps};
    return event_sources_check(&setup, err);
}

static bool check_targets(const struct record_command_settings *s, bool command,
                          struct error *err)
{
    const struct sampling_targets *t = &s->targets;
    bool some = sampling_names_some(t);
    if (some || command || t->everyone || t->cgroup || t->cpus.count)
        return true;
    error_set(err, "nothing to record");
    return error_hint(
        err, "stoke record COMMAND..., or -a (all), or -p PID with --duration S");
}

static bool check_heap(const struct record_command_settings *s,
                       const struct record_drawing *drawing, bool command,
                       struct error *err)
{
    if (!s->heap && s->heap_full) {
        error_set(err, "--full is for --heap");
        return error_hint(err, "stoke record --heap --full ./program");
    }
    if (!s->heap)
        return true;
    if (!command) {
        error_set(err, "--heap needs a command to run");
        return error_hint(err, "stoke heap -p PID records a running process");
    }
    if (drawing->exporter && drawing->exporter->whole && drawing->data[0])
        return true;
    error_set(err, "--heap writes a profile of all events, which %s is not", s->output);
    return error_hint(err, "-o FILE.stoke");
}

bool record_check(const struct record_command_settings *s,
                  const struct record_drawing *drawing, bool command, struct error *err)
{
    return check_output(s, err) && check_files(s, drawing, err) && check_dumps(s, err) &&
           check_sources(s, err) && sampling_check(&s->sampling, err) &&
           check_targets(s, command, err) && check_heap(s, drawing, command, err);
}
