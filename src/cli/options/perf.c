/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options/perf.h"

#define IGNORED(name, letter)                           \
    {                                                   \
        (name), (letter), NULL, NULL, OPTION_IGNORED, 0 \
    }
#define IGNORED_VALUE(name, letter, arg)                 \
    {                                                    \
        (name), (letter), (arg), NULL, OPTION_IGNORED, 0 \
    }
#define INSTEAD(name, letter_, text)                                                     \
    {                                                                                    \
        .names = (name), .letter = (letter_), .kind = OPTION_REPLACED, .instead = (text) \
    }

#define BY_PERF "record with perf record; stoke reads its file"
#define BY_INFO "stoke info FILE"
#define BY_BRANCHES "stoke script -F brstack prints the branches of each sample"
#define BY_HITS "--count-samples counts samples, not periods; stoke report --percentage"
#define BY_SWITCH \
    "--time START,STOP; stoke script --event NAME prints the times of an event"
#define BY_STACKS "--call-graph fp or dwarf records longer stacks than the LBR has"
#define BY_GUESTS "perf script with this option: other commands read its text"
#define BY_SCRIPT "perf script with this option prints these records"
#define BY_ACCESSES "stoke script -F addr,data_src prints each access"
#define BY_TRACE "stoke trace reads instruction traces"

const struct option perf_record_options[] = {
    /* every recording has these, or none */
    IGNORED("timestamp", 'T'),
    IGNORED("timestamp-boundary", 0),
    IGNORED("period", 'P'),
    IGNORED("raw-samples", 'R'),
    IGNORED("sample-cpu", 0),
    IGNORED("sample-identifier", 0),
    IGNORED("running-time", 0),
    IGNORED("no-buildid", 'B'),
    IGNORED("no-buildid-cache", 'N'),
    IGNORED("buildid-all", 0),
    IGNORED("buildid-mmap", 0),
    /* how perf reads its rings */
    IGNORED("aio", 0),
    IGNORED("threads", 0),
    IGNORED("no-buffering", 0),
    IGNORED("no-bpf-event", 0),
    IGNORED("verbose", 'v'),
    IGNORED_VALUE("realtime", 'r', "N"),
    IGNORED_VALUE("affinity", 0, "MODE"),
    IGNORED_VALUE("mmap-flush", 0, "N"),
    IGNORED_VALUE("num-thread-synthesize", 0, "N"),
    IGNORED_VALUE("proc-map-timeout", 0, "MS"),
    /* processes are read when they are first sampled, at no cost before */
    IGNORED_VALUE("synth", 0, "WHICH"),

    INSTEAD("", 'S',
            "--snapshot and kill -USR2 for samples; for instruction traces, " BY_PERF),
    INSTEAD("latency", 0, "--off-cpu, then stoke report --latency"),
    INSTEAD("off-cpu-thresh", 0, "--off-cpu records all waits, whatever they last"),
    INSTEAD("sample-mem-info", 0, BY_PERF),
    INSTEAD("switch-output", 0,
            "--rotate 10m starts a new file after each time; --snapshot writes one at "
            "SIGUSR2"),
    INSTEAD("switch-output-event", 0, "--snapshot, and kill -USR2 when the event occurs"),
    INSTEAD("switch-max-files", 0, "--rotate 10m --keep N"),
    INSTEAD("overwrite", 0, "--snapshot keeps the latest samples in memory"),
    INSTEAD("tail-synthesize", 0, "--snapshot keeps the latest samples in memory"),
    INSTEAD("timestamp-filename", 0, "-o \"perf.data.$(date +%Y%m%d%H%M%S)\""),
    INSTEAD("control", 0, "--delay MS, --duration S, or --snapshot and kill -USR2"),
    INSTEAD("group", 0, "braces: -e '{cycles,instructions}'"),
    INSTEAD("switch-events", 0, "--off-cpu records waits, with their stacks"),
    INSTEAD("all-cgroups", 0, "--cgroup PATH records one control group"),
    INSTEAD("stat", 's', "stoke report --sort pid,tid"),
    INSTEAD("kernel-callchains", 0, "--all-kernel samples kernel code only"),
    INSTEAD("user-callchains", 0, "--all-user samples user code only"),
    INSTEAD("vmlinux", 0, "stoke report --vmlinux FILE: names are read later"),
    INSTEAD("debuginfod", 0, "DEBUGINFOD_URLS; stoke report asks these servers"),
    INSTEAD("branch-any", 'b', BY_PERF),
    INSTEAD("branch-filter", 'j', BY_PERF),
    INSTEAD("data", 'd', BY_PERF),
    INSTEAD("phys-data", 0, BY_PERF),
    INSTEAD("data-page-size", 0, BY_PERF),
    INSTEAD("code-page-size", 0, BY_PERF),
    INSTEAD("weight", 'W', BY_PERF),
    INSTEAD("transaction", 0, BY_PERF),
    INSTEAD("intr-regs", 'I', BY_PERF),
    INSTEAD("user-regs", 0, BY_PERF),
    INSTEAD("namespaces", 0, BY_PERF),
    INSTEAD("kcore", 0, BY_PERF),
    INSTEAD("aux-sample", 0, BY_PERF),
    INSTEAD("no-samples", 'n', "stoke stat counts events without samples"),
    INSTEAD("clang-opt", 0, "-e TRACEPOINT --filter TEXT: stoke compiles no scripts"),
    INSTEAD("clang-path", 0, "-e TRACEPOINT --filter TEXT: stoke compiles no scripts"),
    INSTEAD("dry-run", 0, "the command true checks the options: stoke record ... true"),
    INSTEAD("exclude-perf", 0, "stoke report --drop-comm stoke"),
    INSTEAD("setup-filter", 0, "--filter TEXT after each tracepoint of -e"),
    {0}};

const struct option perf_report_options[] = {
    IGNORED("force", 'f'),
    IGNORED("verbose", 'v'),
    IGNORED("tui", 0),
    IGNORED("gtk", 0),
    IGNORED("modules", 'm'),
    IGNORED("asm-raw", 0),
    IGNORED("source", 0),
    IGNORED("inline", 0),
    IGNORED("skip-empty", 0),
    IGNORED("demangle-kernel", 0),
    IGNORED("ignore-vmlinux", 0),
    IGNORED("show-ref-call-graph", 0),
    IGNORED("disable-order", 0), /* samples are sorted by time where it matters */
    IGNORED_VALUE("stdio-color", 0, "MODE"),
    IGNORED_VALUE("pretty", 0, "KEY"),
    IGNORED_VALUE("objdump", 0, "PATH"),
    IGNORED_VALUE("addr2line", 0, "PATH"),
    IGNORED_VALUE("disassembler-style", 'M', "STYLE"),
    IGNORED_VALUE("prefix", 0, "PREFIX"),
    IGNORED_VALUE("prefix-strip", 0, "N"),

    INSTEAD("ignore-callees", 0, "--show-from, --hide, or stoke view"),
    INSTEAD("symbol-filter", 0, "--symbol '*TEXT*'"),
    INSTEAD("show-info", 'I', BY_INFO),
    INSTEAD("stats", 0, BY_INFO),
    INSTEAD("tasks", 0, "stoke script --show-task-events"),
    INSTEAD("mmaps", 0, "stoke script --show-mmap-events"),
    INSTEAD("dump-raw-trace", 'D', "stoke script -D"),
    INSTEAD("raw-trace", 0, "stoke script"),
    INSTEAD("samples", 0, "stoke script"),
    INSTEAD("", 'T', "--sort pid,tid"),
    INSTEAD("itrace", 0, BY_TRACE),
    INSTEAD("branch-history", 0, BY_BRANCHES),
    INSTEAD("total-cycles", 0, BY_BRANCHES),
    INSTEAD("mem-mode", 0, "stoke script -F addr,weight,data_src prints each access"),
    INSTEAD("percent-type", 0, BY_HITS),
    INSTEAD("socket-filter", 0, "--cpu LIST; lscpu -p=cpu,socket lists the CPUs"),
    INSTEAD("switch-on", 0, BY_SWITCH),
    INSTEAD("switch-off", 0, BY_SWITCH),
    INSTEAD("show-on-off-events", 0, BY_SWITCH),
    INSTEAD("parallelism-filter", 0, "--latency weights samples by parallelism"),
    INSTEAD("show-cpu-utilization,showcpuutilization", 0,
            "--sort sym marks the kernel [k] and guests [g]"),
    INSTEAD("stitch-lbr", 0, BY_STACKS),
    {0}};

const struct option perf_script_options[] = {
    IGNORED("force", 'f'),
    IGNORED("verbose", 'v'),
    IGNORED("all-cpus", 'a'),
    IGNORED("inline", 0),
    IGNORED("demangle-kernel", 0),
    IGNORED("show-kernel-path", 0),

    INSTEAD("show-info", 'I', "--header; perf script -I prints the topology"),
    INSTEAD("dump-unsorted-raw-trace", 0, "-D: sorted by time, with offsets in the file"),
    INSTEAD("script", 's', "a program that reads this text"),
    INSTEAD("gen-script", 'g', "a program that reads this text"),
    INSTEAD("list", 'l', "a program that reads this text"),
    INSTEAD("dlfilter", 0, "a program that reads this text"),
    INSTEAD("per-event-dump", 0, "--event NAME -o FILE, once for each event"),
    INSTEAD("itrace", 0, BY_TRACE),
    INSTEAD("insn-trace", 0, BY_TRACE),
    INSTEAD("call-trace", 0, BY_TRACE),
    INSTEAD("call-ret-trace", 0, BY_TRACE),
    INSTEAD("graph-function", 0, BY_TRACE),
    INSTEAD("dlarg", 0, "a program that reads this text"),
    INSTEAD("list-dlfilters", 0, "a program that reads this text"),
    IGNORED_VALUE("addr2line", 0, "PATH"),
    IGNORED("merge-callchains", 0),

    INSTEAD("addr-range", 0, "--symbols NAME,NAME: by function"),
    INSTEAD("debug-mode", 'd', BY_INFO ": what was lost"),
    INSTEAD("Latency", 'L', "a program that reads this text"),
    INSTEAD("max-blocks", 0, "-F brstack: all branches of a sample"),
    INSTEAD("guestmount", 0, BY_GUESTS),
    INSTEAD("guestkallsyms", 0, BY_GUESTS),
    INSTEAD("guestmodules", 0, BY_GUESTS),
    INSTEAD("guestvmlinux", 0, BY_GUESTS),
    INSTEAD("guest-code", 0, BY_GUESTS),
    INSTEAD("show-bpf-events", 0, BY_SCRIPT),
    INSTEAD("show-round-events", 0, BY_SCRIPT),
    INSTEAD("show-text-poke-events", 0, BY_SCRIPT),
    INSTEAD("show-on-off-events", 0, BY_SWITCH),
    INSTEAD("switch-on", 0, BY_SWITCH),
    INSTEAD("switch-off", 0, BY_SWITCH),
    INSTEAD("stitch-lbr", 0, BY_STACKS),
    INSTEAD("stop-bt", 0, "stoke report --skip-after NAME"),
    INSTEAD("xed", 0, BY_TRACE),
    {0}};

const struct option perf_annotate_options[] = {
    IGNORED("force", 'f'),
    IGNORED("verbose", 'v'),
    IGNORED("tui", 0),
    IGNORED("gtk", 0),
    IGNORED("stdio", 0),
    IGNORED("stdio2", 0),
    IGNORED("modules", 'm'),
    IGNORED("asm-raw", 0),
    IGNORED("source", 0),
    IGNORED("print-line", 'l'),
    IGNORED("full-paths", 'P'),
    IGNORED("skip-missing", 0),
    IGNORED("skip-empty", 0),
    IGNORED_VALUE("addr2line", 0, "PATH"),
    IGNORED("demangle-kernel", 0),
    IGNORED("ignore-vmlinux", 0),
    IGNORED_VALUE("stdio-color", 0, "MODE"),
    IGNORED_VALUE("objdump", 0, "PATH"),
    IGNORED_VALUE("prefix", 0, "PREFIX"),
    IGNORED_VALUE("prefix-strip", 0, "N"),

    INSTEAD("dump-raw-trace", 'D', "stoke script -D"),
    INSTEAD("itrace", 0, BY_TRACE),
    INSTEAD("percent-type", 0, BY_HITS),
    INSTEAD("data-type", 0, BY_ACCESSES),
    INSTEAD("type-stat", 0, BY_ACCESSES),
    INSTEAD("insn-stat", 0, BY_ACCESSES),
    INSTEAD("code-with-type", 0, BY_ACCESSES),
    INSTEAD("dsos", 'd', "the name of a function; 'stoke report -d NAME' lists them"),
    {0}};

#define BY_TABLE                                                                  \
    "--table, --csv and --json have the columns before, after and delta of each " \
    "function"

const struct option perf_diff_options[] = {
    IGNORED("force", 'f'),
    IGNORED("modules", 'm'),

    INSTEAD("baseline-only", 'b', BY_TABLE),
    INSTEAD("compute", 'c', BY_TABLE),
    INSTEAD("formula", 'F', BY_TABLE),
    INSTEAD("period", 'p', BY_TABLE),
    INSTEAD("order", 0, "--sort"),
    INSTEAD("dump-raw-trace", 'D', "stoke script -D"),
    INSTEAD("cycles-hist", 0, BY_TABLE),
    INSTEAD("stream", 0, "--tree"),
    INSTEAD("comms", 0, "--comm NAME"),
    INSTEAD("dsos", 'd', "--show-module NAME"),
    INSTEAD("symbols", 'S', "--show NAME"),
    INSTEAD("field-separator", 't', "--csv"),
    {0}};
