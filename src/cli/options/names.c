/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options/names.h"

#define OFF(field) offsetof(struct names_settings, field)

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
    {0}};

void names_prepare(const struct names_settings *s, enum thread_style otherwise,
                   struct load_settings *load, struct transforms_settings *t,
                   struct export_options *options)
{
    struct calltree_options *tree = &options->tree;
    if (t->options.base.count && otherwise == THREAD_COMM)
        otherwise = THREAD_NONE; /* stacks start at the function, as in a folded file */
    tree->threads = s->tid ? THREAD_TID : s->pid ? THREAD_PID : otherwise;
    tree->label.kernel = s->kernel || s->all;
    tree->label.jit = s->jit || s->all;
    tree->label.addresses = s->addresses;
    tree->label.lines = s->lines;
    load->import.addresses |= s->addresses;
    load->import.lines |= s->lines;
    t->options.threads = tree->threads;
}
