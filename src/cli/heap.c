/* SPDX-License-Identifier: Apache-2.0 */
/* stoke heap: records where a program allocates memory. */
#include "engine/heap.h"
#include "analysis/measure.h"
#include "base/number.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/save.h"
#include "cli/options/suppressions.h"
#include "os/machine.h"
#include "os/wait.h"
#include "transform/transform.h"
#include <stdlib.h>

#define NS 1e9
#define SAMPLE_MOST ((uint64_t)1 << 40)

struct heap_settings {
    struct engine_heap_settings heap;
    const char *output;
    struct suppressions *suppressions;
    uint64_t sample_bytes, seed, pid;
    double duration;
    bool full, quiet;
};

#define OFF(field) offsetof(struct heap_settings, field)

/* "64K" */
static bool parse_bytes(const char *text, void *value, struct error *err)
{
    struct str number = str_of(text);
    const char *units = "KMG", *unit = NULL;
    uint64_t v, factor = 1;
    if (number.len > 1)
        unit = strchr(units, number.ptr[number.len - 1]);
    if (unit) {
        factor = UINT64_C(1) << (10 * (unit - units + 1));
        number.len--;
    }
    if (number_parse_u64(number, &v) && v > 0 && v <= SAMPLE_MOST / factor) {
        *(uint64_t *)value = v * factor;
        return true;
    }
    error_set(err, "invalid size '%s'", text);
    return error_hint(err, "in bytes, or 64K, 1M, up to 1024G");
}

static bool parse_seed(const char *text, void *value, struct error *err)
{
    if (number_parse_u64(str_of(text), value))
        return true;
    error_set(err, "invalid seed '%s'", text);
    return error_hint(err, "a whole number");
}

static bool parse_pid(const char *text, void *value, struct error *err)
{
    if (number_parse_u64(str_of(text), value) && *(uint64_t *)value > 0 &&
        *(uint64_t *)value < os_pid_max())
        return true;
    error_set(err, "invalid process id '%s'", text);
    return error_hint(err, "a number from 1 to %u, as ps shows it", os_pid_max() - 1);
}

static const struct option heap_options[] = {
    {"pid", 'p', "PID", "record a running process, and leave it as it was", OPTION_PARSED,
     OFF(pid), .parse = parse_pid},
    {"duration", 0, "S", "with --pid: end after S seconds", OPTION_NUMBER, OFF(duration),
     .least = 0.001, .most = 1e9},
    {"full", 0, NULL, "record every allocation and release", OPTION_FLAG, OFF(full)},
    {"sample", 0, "BYTES",
     "record one allocation per BYTES on average (default: 512K; suffixes K, M, G)",
     OPTION_PARSED, OFF(sample_bytes), .parse = parse_bytes},
    {"seed", 0, "N", "seed of the random distances between samples, to repeat them",
     OPTION_PARSED, OFF(seed), .parse = parse_seed},
    {"output", 'o', "FILE",
     "output file (default: heap.stoke); its suffix selects the format", OPTION_STRING,
     OFF(output)},
    {"lines", 0, NULL, "record source lines", OPTION_FLAG, OFF(heap.lines)},
    {"no-inline", 0, NULL, "do not resolve inlined functions", OPTION_FLAG,
     OFF(heap.symbols.no_inline)},
    {"demangle", 0, "HOW", "how to demangle C++ and Rust names (default: simple)",
     OPTION_CHOICE, OFF(heap.symbols.demangle), demangle_choices},
    {"no-debuginfod", 0, NULL, "do not query the servers in $DEBUGINFOD_URLS",
     OPTION_FLAG, OFF(heap.symbols.no_debuginfod)},
    {"suppressions", 0, "FILE",
     "exclude the leaks that FILE suppresses: leak:NAME lines, or valgrind's "
     "(repeatable)",
     OPTION_PARSED, OFF(suppressions), .parse = suppressions_parse},
    {"quiet", 'q', NULL, "no summary and no warnings", OPTION_FLAG, OFF(quiet)},
    {0}};

static const struct option_group heap_groups[] = {{"options", heap_options, 0}, {0}};

/* --- The command ------------------------------------------------------------------- */

#define FEW_SAMPLES 30 /* the largest shares are within a factor of two or so */

static void print_counts(const struct heap_settings *s,
                         const struct engine_heap_result *r)
{
    const char *what = s->full ? "allocation" : "sample";
    struct measure m = measure_for(UNIT_BYTES, r->most, false);
    char bytes[MEASURE_TEXT_MAX];
    int length = (int)measure_write(&m, r->most, bytes);
    message_note("%llu %s%s in %zu %s; %.*s %s live at the peak%s; %s",
                 (unsigned long long)r->allocations, what, r->allocations == 1 ? "" : "s",
                 r->processes, r->processes == 1 ? "process" : "processes", length, bytes,
                 m.unit, s->full ? "" : " (estimated)", s->output);
    if (!s->full && r->allocations < FEW_SAMPLES)
        message_note("few samples: --full records every allocation, a smaller --sample "
                     "more of them");
}

static void print_summary(const struct heap_settings *s,
                          const struct engine_heap_result *r, const struct profile *p)
{
    if (r->processes == 0 && s->pid) {
        message_note("process %llu ended before it was recorded",
                     (unsigned long long)s->pid);
        return;
    }
    if (r->processes == 0) {
        message_note("'%s' did not load the recorder: static programs, and those that "
                     "change their user, cannot be recorded",
                     s->heap.collect.command[0]);
        return;
    }
    message_warnings(p, NULL);
    print_counts(s, r);
    if (r->python_arenas)
        message_note(ENGINE_HEAP_PYTHON_NOTE);
    if (s->pid && r->unknown)
        message_note("%llu releases of blocks from before the recording are ignored",
                     (unsigned long long)r->unknown);
    if (s->pid && !r->left.message[0])
        message_note("process %llu runs as before; libstoke_heap_attach.so stays in its "
                     "memory, unused",
                     (unsigned long long)s->pid);
    if (r->lost)
        message_note("%llu records did not fit and are lost",
                     (unsigned long long)r->lost);
}

static void print_attached(uint32_t pid)
{
    message_note("recording the heap of process %u; Ctrl-C ends it", pid);
}

static struct profile *suppress(struct heap_settings *s, struct profile *p,
                                struct error *err)
{
    struct transform_options options = {.suppressions = s->suppressions};
    const struct transform *emptied;
    p = transform_apply(&options, p, &emptied, err);
    if (s->suppressions)
        s->suppressions->is_quiet = s->quiet;
    suppressions_report(p ? s->suppressions : NULL);
    return p;
}

static bool record_heap(struct heap_settings *s, int *status, struct error *err)
{
    struct engine_heap_result result = {.status = 0};
    struct export_options options = {0};
    *status = STATUS_USAGE;
    const struct exporter *e =
        save_choose_exporter(NULL, s->output, exporter_named(STR("folded")), err);
    if (!e)
        return false;
    *status = STATUS_FAILED;
    if (!os_output_check(s->output, err))
        return false;
    struct profile *p =
        engine_heap(&s->heap, &result, s->quiet ? &engine_silent : &message_report, err);
    p = suppress(s, p, err);
    bool ok = p != NULL;
    if (p && result.left.message[0])
        message_error(&result.left);
    if (p && !s->quiet)
        print_summary(s, &result, p);
    ok = ok && save_profile(e, p, &options, s->output, err);
    profile_destroy(p);
    if (ok)
        *status = result.status;
    return ok;
}

static bool check_settings(const struct heap_settings *s, int word_count,
                           struct error *err)
{
    if (word_count == 0 && !s->pid) {
        error_set(err, "no command is given");
        return error_hint(err, "stoke heap ./program, or -p PID");
    }
    if (word_count && s->pid)
        return error_set(err, "a command and --pid exclude each other");
    if (s->duration > 0 && !s->pid) {
        error_set(err, "--duration is for --pid");
        return error_hint(err, "a command is recorded until it ends");
    }
    if (s->full && s->sample_bytes)
        return error_set(err, "--full and --sample exclude each other");
    return true;
}

static int heap_run(void *settings, int word_count, char **words)
{
    struct heap_settings *s = settings;
    struct error err = {.location = LOCATION_NONE};
    int status = STATUS_USAGE;
    if (!check_settings(s, word_count, &err)) {
        message_error(&err);
        return STATUS_USAGE;
    }
    os_wait_block_signals();
    words[word_count] = NULL;
    s->output = s->output ? s->output : "heap.stoke";
    s->heap.collect.command = words;
    s->heap.collect.pid = (uint32_t)s->pid;
    s->heap.collect.attached = s->quiet ? NULL : print_attached;
    s->heap.collect.duration = (uint64_t)(s->duration * NS);
    s->heap.collect.seed = s->seed;
    if (!s->full)
        s->heap.collect.sample_bytes =
            s->sample_bytes ? s->sample_bytes : ENGINE_HEAP_SAMPLE_BYTES;
    if (!record_heap(s, &status, &err))
        message_error(&err);
    return status;
}

const struct command command_heap = {
    .name = "heap",
    .summary = "record where a program allocates memory",
    .usage = "[OPTION...] [-p PID | [--] COMMAND...]",
    .examples = "  stoke heap ./program\n"
                "  stoke heap -p 412 --duration 10\n"
                "  stoke heap --full -o heap.svg ./program\n",
    .groups = heap_groups,
    .settings_size = sizeof(struct heap_settings),
    .runs_command = true,
    .small_pages = true,
    .run = heap_run,
};
