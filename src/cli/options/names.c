/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options/names.h"

#include <string.h>

#define OFF(field) offsetof(struct names_settings, field)

/* -v is the option for messages of inferno's programs, and sets variables of
 * stackcollapse-perf-sched.awk. */
static bool parse_variable(const char *text, void *value, struct error *err)
{
    struct names_sched *sched = value;
    struct str rest = str_of(text), name = str_cut(&rest, '=');
    bool on = rest.len && !str_equal(rest, STR("0"));
    if (strspn(text, "v") == strlen(text)) /* -v, -vv */
        return true;
    if (str_equal(name, STR("record_tid")))
        sched->tid = on;
    else if (str_equal(name, STR("record_wake_stack")))
        sched->wakers = on;
    else if (str_equal(name, STR("recurse")))
        sched->chains = on;
    else {
        error_set(err, "unknown variable '%s'", text);
        return error_hint(err, "recurse=1, record_wake_stack=1 or record_tid=1, of "
                               "stackcollapse-perf-sched.awk");
    }
    return true;
}

const struct option names_options[] = {
    {"pid", 0, NULL, "separate processes: comm-PID", OPTION_FLAG, OFF(pid)},
    {"tid", 0, NULL, "separate threads: comm-PID/TID", OPTION_FLAG, OFF(tid)},
    {"kernel", 0, NULL, "mark kernel functions with _[k]", OPTION_FLAG, OFF(kernel)},
    {"jit", 0, NULL, "mark JIT-compiled functions with _[j]", OPTION_FLAG, OFF(jit)},
    {"all", 0, NULL, "same as --kernel --jit", OPTION_FLAG, OFF(all)},
    {"addrs", 0, NULL, "show the address of unknown functions", OPTION_FLAG,
     OFF(addresses)},
    {"srcline", 0, NULL, "add source lines to functions, if the input has them",
     OPTION_FLAG, OFF(lines)},
    {"inline", 0, NULL, "accepted and ignored: inlined functions are always shown",
     OPTION_IGNORED},
    {"context", 0, NULL, "accepted and ignored", OPTION_IGNORED},
    {"no-comm,no-include-tname", 0, NULL, "merge the stacks of all threads", OPTION_FLAG,
     OFF(no_comm)},
    {"include-tname", 0, NULL, NULL, OPTION_CLEAR, OFF(no_comm)},
    {"include-tid", 0, NULL, "Java thread dumps: names of threads with their numbers",
     OPTION_FLAG, OFF(thread_numbers)},
    {"no-modules", 0, NULL, "VTune: functions without their modules", OPTION_FLAG,
     OFF(bare_names)},
    {"size", 0, NULL, "VTune, memory: sizes instead of numbers of allocations",
     OPTION_FLAG, OFF(sizes)},
    {"wakers", 0, NULL, "perf sched: stacks of waits continue with the waker's stack",
     OPTION_FLAG, OFF(sched.wakers)},
    {"wake-chains", 0, NULL, "the same, and with that of the waker's waker, and so on",
     OPTION_FLAG, OFF(sched.chains)},
    {"verbose", 'v', "VARIABLE", NULL, OPTION_PARSED, OFF(sched), .parse = parse_variable,
     .fallback = ""},
    /* of range-perf.pl */
    {"timeraw", 0, NULL, NULL, OPTION_REPLACED,
     .instead = "--time START,STOP: times of the input's clock"},
    {"timezerosecs", 0, NULL, NULL, OPTION_REPLACED,
     .instead = "--start +S and --end +S: seconds from the first sample"},
    {0}};

void names_prepare(const struct names_settings *s, enum thread_style otherwise,
                   struct load_settings *load, struct transforms_settings *t,
                   struct export_options *options)
{
    struct calltree_options *tree = &options->tree;
    if (t->options.base.count && otherwise == THREAD_COMM)
        otherwise = THREAD_NONE; /* stacks start at the function, as in a folded file */
    if (s->no_comm)
        otherwise = THREAD_NONE;
    tree->threads = s->tid || s->sched.tid ? THREAD_TID : s->pid ? THREAD_PID : otherwise;
    tree->label.kernel = s->kernel || s->all;
    tree->label.jit = s->jit || s->all;
    tree->label.addresses = s->addresses;
    tree->label.lines = s->lines;
    load->import.addresses |= s->addresses;
    load->import.lines |= s->lines;
    load->import.samples |= s->counts;
    load->import.thread_numbers = s->thread_numbers;
    load->import.bare_names = s->bare_names;
    load->import.wakers = s->sched.wakers || s->sched.chains;
    load->import.wake_chains = s->sched.chains;
    if (s->sizes && t->options.filter.events.count == 0)
        t->options.filter.events.items[t->options.filter.events.count++] =
            "Allocation Size";
    t->options.threads = tree->threads;
}
