/* SPDX-License-Identifier: Apache-2.0 */
/* stoke script: prints the samples of a recording as text, in perf script's layout. */
#include "cli/script/script.h"
#include "base/visible.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/perf.h"
#include "cli/options/transforms.h"
#include "os/file.h"
#include "os/terminal.h"

#define OFF(field) offsetof(struct script_settings, field)

static const struct option script_options[] = {
    {"fields", 'F', "LIST",
     "fields to print: comm,tid,pid,time,cpu,event,ip,sym,dso,addr,symoff,srcline,period,"
     "weight,phys_addr,misc,brstack,iregs,uregs,data_src,ins_lat,retire_lat,cgroup,flags,"
     "data_page_size,code_page_size,synth,callindent; or +FIELD and -FIELD; for one type "
     "of "
     "events TYPE:LIST",
     OPTION_PARSED, OFF(fields), .parse = script_fields_parse},
    {"max-stack", 0, "N", "maximum number of frames per stack", OPTION_INT,
     OFF(max_stack), .least = 1, .most = UINT32_MAX},
    {"hide-call-graph", 'G', NULL, "only the innermost frame, on the line of the sample",
     OPTION_FLAG, OFF(no_chain)},
    {"event", 0, "LIST", "only these events; * and ? are wildcards", OPTION_PARSED,
     OFF(wishes.events), .parse = script_events_parse},
    {"comms", 'c', "LIST", "only threads with these names", OPTION_STRING,
     OFF(wishes.comms)},
    {"symbols", 'S', "LIST",
     "only samples whose innermost function has one of these names", OPTION_STRING,
     OFF(wishes.symbols)},
    {"dsos", 0, "LIST",
     "only samples whose innermost function is in one of these modules", OPTION_STRING,
     OFF(wishes.dsos)},
    {"pid", 0, "LIST", "only these processes: 7,12-15", OPTION_PARSED, OFF(wishes.pids),
     .parse = transforms_parse_numbers},
    {"tid", 0, "LIST", "only these threads", OPTION_PARSED, OFF(wishes.tids),
     .parse = transforms_parse_numbers},
    {"cpu", 'C', "LIST", "only these CPUs", OPTION_PARSED, OFF(wishes.cpus),
     .parse = transforms_parse_numbers},
    {"time", 0, "START,STOP",
     "only from START to STOP: 12.5 (s, by the recording's clock), +1.5, 20%; or "
     "shares: 10%-20%,30%-40%, 10%/2 (the second tenth)",
     OPTION_PARSED, OFF(wishes.times), .parse = script_times_parse},
    {"ns", 0, NULL, "print times in nanoseconds", OPTION_FLAG, OFF(clock.ns)},
    {"reltime", 0, NULL, "print times since the first sample", OPTION_FLAG,
     OFF(clock.relative)},
    {"deltatime", 0, NULL, "print times since the previous sample", OPTION_FLAG,
     OFF(clock.delta)},
    {"header", 0, NULL, "recordings: first print the facts of the header", OPTION_FLAG,
     OFF(header)},
    {"header-only", 0, NULL, "recordings: only print the facts of the header",
     OPTION_FLAG, OFF(header_only)},
    {"graft", 0, NULL,
     "continue truncated stacks with the usual callers in their thread (inferred)",
     OPTION_FLAG, OFF(graft)},
    {"full-source-path", 0, NULL, "print whole paths of source files", OPTION_FLAG,
     OFF(full_paths)},
    {"dump-raw-trace", 'D', NULL,
     "recordings: also print all records with their bytes and fields", OPTION_FLAG,
     OFF(dump)},
    {"show-mmap-events", 0, NULL, "recordings: also print mappings", OPTION_FLAG,
     OFF(shows_maps)},
    {"show-task-events", 0, NULL,
     "recordings: also print starts, ends and names of threads", OPTION_FLAG,
     OFF(shows_tasks)},
    {"show-lost-events", 0, NULL, "recordings: also print where samples were lost",
     OPTION_FLAG, OFF(shows_lost)},
    {"show-switch-events", 0, NULL, "recordings: also print switches of threads",
     OPTION_FLAG, OFF(shows_switches)},
    {"show-namespace-events", 0, NULL, "recordings: also print namespaces of processes",
     OPTION_FLAG, OFF(shows_namespaces)},
    {"show-cgroup-events", 0, NULL, "recordings: also print control groups", OPTION_FLAG,
     OFF(shows_cgroups)},
    {"input", 'i', "FILE", "input file, like FILE (repeatable)", OPTION_LIST,
     OFF(inputs)},
    {"output", 'o', "FILE", "output file (default: standard output)", OPTION_STRING,
     OFF(output)},
    {0}};

static const struct option_group script_groups[] = {
    {"options", script_options, 0},
    {"input", load_options, OFF(load)},
    {"options of perf script", perf_script_options, 0},
    {0}};

/* --- The command ------------------------------------------------------------------- */

/* The callers are inferred from all samples. */
static bool print_grafted(struct script_settings *s, struct script_choice *choice,
                          struct output *o, int file_count, char **files,
                          struct error *err)
{
    struct transforms_settings settings = {.options = {.graft = true}};
    transforms_prepare(&settings, &s->load);
    struct profile *p = load_profiles(&s->load, file_count, files, err);
    p = transforms_apply(&settings, p, err);
    if (p)
        script_write_profile(s, choice, p, o);
    bool ok = p != NULL;
    profile_destroy(p);
    return ok && script_choice_check(choice, err);
}

/* Reads and prints the input: recordings while they are read, other formats at the
 * end. */
static bool print_samples(struct script_settings *s, struct script_choice *choice,
                          struct output *o, int file_count, char **files,
                          struct error *err)
{
    uint32_t missing = 0;
    if (s->graft)
        return print_grafted(s, choice, o, file_count, files, err);
    struct script_recording *r = script_recording_create(s, choice, o);
    if (!r)
        return error_memory(err);
    s->load.consumer = script_recording_consumer(r);
    s->load.import.empty = s->dump || s->shows_maps || s->shows_tasks || s->shows_lost ||
                           s->header_only || s->shows_switches || s->shows_namespaces ||
                           s->shows_cgroups;
    struct profile *p = load_profiles(&s->load, file_count, files, err);
    if (p && p->facts.samples == 0 && !s->load.quiet && !s->header_only)
        message_note("the recording has no samples");
    bool ok = p && script_recording_check(r, &missing, err);
    if (ok)
        script_write_profile(s, choice, p, o);
    profile_destroy(p);
    script_recording_destroy(r);
    ok = ok && (s->header_only || script_choice_check(choice, err));
    if (missing && !s->load.quiet)
        message_note("the field '%s' is not in the recording's samples and is left out",
                     script_field_name(missing));
    return ok;
}

/* The output of the text. Control characters are escaped on a terminal. */
struct text_output {
    struct os_output file;
    struct output stream;
    struct visible_filter filter;
    bool filtered;
};

static bool open_output(struct text_output *t, const char *path, struct error *err)
{
    *t = (struct text_output){0};
    if (!os_output_open(&t->file, path, err))
        return false;
    t->stream = os_output_stream(&t->file);
    t->filtered = os_terminal_of(t->file.fd).is_terminal;
    if (t->filtered)
        visible_filter_init(&t->filter, &t->stream);
    return true;
}

/* Ends the output: completes the file, or removes it after a failure. */
static bool close_output(struct text_output *t, bool ok, struct error *err)
{
    if (t->filtered && !visible_filter_finish(&t->filter) && ok && !t->stream.failed)
        ok = error_memory(err);
    if (ok)
        ok = os_output_close(&t->file, &t->stream, err);
    else
        os_output_abandon(&t->file);
    visible_filter_deinit(&t->filter);
    output_deinit(&t->stream);
    return ok;
}

static bool print_to(struct script_settings *s, const char *path, int file_count,
                     char **files, struct error *err)
{
    struct text_output text;
    struct script_choice choice;
    if (!open_output(&text, path, err))
        return false;
    struct output *o = text.filtered ? &text.filter.output : &text.stream;
    bool ok = script_choice_init(&choice, &s->wishes) || error_memory(err);
    ok = ok && print_samples(s, &choice, o, file_count, files, err);
    script_choice_deinit(&choice);
    return close_output(&text, ok, err);
}

static int script_run(void *settings, int file_count, char **files)
{
    struct script_settings *s = settings;
    struct error err = {.location = LOCATION_NONE};
    if (s->clock.relative && s->clock.delta) {
        error_set(&err, "--reltime and --deltatime exclude each other");
        error_hint(&err,
                   "--reltime: since the first sample; --deltatime: since the last one");
        message_error(&err);
        return STATUS_USAGE;
    }
    for (unsigned t = 0; t < SCRIPT_TYPES; t++)
        s->load.import.lines |= (s->fields.shown[t] & FIELD_SRCLINE) != 0;
    s->load.keep = true;
    s->load.import.every_address = true;
    s->load.import.tracepoints = true;
    s->load.import.signatures = true;
    bool ok = load_inputs(&s->load, &s->inputs, &file_count, &files, &err) &&
              print_to(s, s->output ? s->output : "-", file_count, files, &err);
    return command_status(ok, &err);
}

static const struct script_settings script_defaults = {.fields = SCRIPT_FIELDS_DEFAULT,
                                                       .max_stack = INT64_MAX};

const struct command command_script = {
    .name = "script",
    .summary = "print the samples of a recording one by one",
    .usage = "[OPTION...] [FILE...]",
    .examples = "  stoke script | less\n"
                "  stoke script -F comm,tid,time,event,ip,sym perf.data\n"
                "  stoke script -F +srcline --time 10%,20% perf.data\n",
    .groups = script_groups,
    .settings_size = sizeof(struct script_settings),
    .result = offsetof(struct script_settings, load.result),
    .defaults = &script_defaults,
    .run = script_run,
};
