/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/check.h"

/* The pipe form of perf.data is not written. */
static bool check_output(const struct record_command_settings *s, struct error *err)
{
    if (strcmp(s->output, "-") != 0)
        return true;
    error_set(err, "a recording is not written to standard output");
    return error_hint(err, "-o FILE, and then stoke script FILE");
}

/* What files are made and kept. */
static bool check_files(const struct record_command_settings *s,
                        const struct record_drawing *drawing, struct error *err)
{
    if (drawing->exporter && (s->max_size || s->rotate || s->snapshot)) {
        error_set(err, "what is drawn at once goes to one file, and all of it");
        return error_hint(err, "-o FILE.data, and then stoke flamegraph FILE.data");
    }
    if (s->keep && (!s->rotate || s->snapshot)) {
        error_set(err, "--keep is for files that rotate");
        return error_hint(err, "--rotate 10m --keep %lld", (long long)s->keep);
    }
    return true;
}

/* A wait's stack is kept until the wait is over: dumps are too large for that. */
static bool check_off_cpu(const struct record_command_settings *s, struct error *err)
{
    if ((s->off_cpu || s->wakers) && s->keep_dumps) {
        error_set(err, "--keep-stacks keeps no dumps of waits (--off-cpu)");
        return error_hint(err, "without --keep-stacks: the chains are made of them");
    }
    if (s->wakers && s->sampling.stacks.how == RECORD_STACKS_LBR) {
        error_set(err, "wakers (--wakers) are not recorded with -g lbr");
        return error_hint(err, "-g fp or -g dwarf");
    }
    return true;
}

static bool check_targets(const struct record_command_settings *s, bool command,
                          struct error *err)
{
    const struct sampling_targets *w = &s->targets;
    bool some = sampling_names_some(w);
    if (!some && !command && !w->everyone && !w->cgroup && !w->cpus.count) {
        error_set(err, "nobody is named to be recorded");
        return error_hint(
            err, "stoke record COMMAND..., or -a (all), or -p PID with --duration S");
    }
    if (!some || !command)
        return true;
    error_set(err, "a command and processes that run (-p, -t) cannot be recorded "
                   "together");
    return error_hint(err, "--duration S ends the recording of processes");
}

bool record_check(const struct record_command_settings *s,
                  const struct record_drawing *drawing, bool command, struct error *err)
{
    return check_output(s, err) && check_files(s, drawing, err) &&
           check_off_cpu(s, err) && sampling_check(&s->sampling, err) &&
           check_targets(s, command, err);
}
