/* SPDX-License-Identifier: Apache-2.0 */
#include "import/unread.h"

#define TEXT(literal)                  \
    {                                  \
        (literal), sizeof(literal) - 1 \
    }
#define NO_TEXT TEXT("")
#define V8_LOG_HINT "node --prof-process --preprocess isolate-*-v8.log > v8.json"
#define DRAWN_HINT "name the profile that it was made from"
#define PERF_DATA_HINT "name the perf.data, or the output of perf script"
#define STAT_HINT "stoke record -e EVENT ./PROGRAM records the stacks of an event"
#define PPROF_HINT "name the profile itself, or the output of go tool pprof -traces"

/* If several apply, the first is used. The numbers are from each tool's source or
 * documentation. */
static const struct unread_format formats[] = {
    {TEXT("v8-version,"), NO_TEXT, "a log of node --prof", V8_LOG_HINT},
    {TEXT("Statistical profiling result from "), NO_TEXT,
     "a report of node --prof-process", V8_LOG_HINT},
    {TEXT("{\"snapshot\":{\"meta\""), NO_TEXT,
     "a heap snapshot of V8, which has objects and no stacks",
     "node --heap-prof writes where memory is allocated"},
    /* Marshal 4.8, a Hash */
    {TEXT("\x04\x08{"), NO_TEXT, "a dump of Ruby's Marshal, as stackprof writes it",
     "stackprof --json FILE > stackprof.json, recorded with 'raw: true'"},
    {TEXT("gmon"), NO_TEXT, "gprof's gmon.out, which has addresses only",
     "gprof PROGRAM FILE > out.gprof"},
    {TEXT("\177ELF"), TEXT("CORE\0"), "a core dump",
     "gdb -batch -ex 'thread apply all bt' PROGRAM FILE > stacks.txt"},
    {TEXT("\177ELF"), NO_TEXT, "a program or a library, not a profile",
     "stoke record ./PROGRAM"},
    {TEXT("\x17\x08\x44tracing"), NO_TEXT, "a trace of trace-cmd",
     "record the same events with stacks: stoke record -e EVENT"},
    {TEXT("go 1."), TEXT(" trace\0"), "an execution trace of Go",
     "go tool trace -pprof=sync FILE > out.pprof (or net, syscall, sched)"},
    {TEXT("JAVA PROFILE 1.0.2\0"), NO_TEXT,
     "a heap dump of Java, which has objects and no allocations",
     "jcmd PID JFR.start settings=profile duration=60s filename=out.jfr"},
    {TEXT("\x04\x22\x4d\x18"), NO_TEXT, "a file compressed with lz4",
     "unpack it first (lz4 -d) and name the unpacked file"},
    {TEXT("7z\xbc\xaf\x27\x1c"), NO_TEXT, "a 7z archive",
     "unpack it first and name the unpacked file"},
    {TEXT(" Percent"), TEXT("Disassembly of"), "a listing of perf annotate",
     "perf script > out.perf has the stacks, stoke annotate perf.data the listing"},
    {NO_TEXT, TEXT("\nSorted summary for file "), "a listing of perf annotate",
     "perf script > out.perf has the stacks, stoke annotate perf.data the listing"},
    {NO_TEXT, TEXT(" Performance counter stats for "),
     "a report of perf stat, which has counts and no stacks", STAT_HINT},
    {TEXT("# started on "), NO_TEXT,
     "a report of perf stat, which has counts and no stacks", STAT_HINT},
    {TEXT("{\"counter-value\" : "), NO_TEXT,
     "a report of perf stat, which has counts and no stacks", STAT_HINT},
    {TEXT("# Event '"), TEXT("# Baseline "), "a table of perf diff",
     "stoke diff BEFORE AFTER compares two recordings"},
    {NO_TEXT, TEXT("\nAggregated stats:\n"), "a list of perf's records",
     "stoke info perf.data shows what was recorded"},
    {TEXT("#      pid      tid     ppid  comm"), NO_TEXT, "a list of perf's processes",
     PERF_DATA_HINT},
    {NO_TEXT, TEXT("\n. ... raw event: size "), "a dump of perf's records (-D)",
     PERF_DATA_HINT},
    {NO_TEXT, TEXT("  Task                  |   Runtime ms  | "),
     "a table of perf sched latency", "perf sched timehist > out.sched"},
    {NO_TEXT, TEXT(" secs A0 => "), "a map of perf sched",
     "perf sched timehist > out.sched"},
    {NO_TEXT, TEXT(" Summary of events:\n"), "a summary of perf trace",
     "stoke record -e raw_syscalls:sys_enter records the stacks of system calls"},
    {TEXT(" "), TEXT(" ms): "), "a log of perf trace",
     "perf trace --call-graph dwarf prints stacks, which stoke reads"},
    {NO_TEXT, TEXT("% time     seconds  usecs/call     calls "), "a table of strace",
     "stoke record -e raw_syscalls:sys_enter records the stacks of system calls"},
    {NO_TEXT, TEXT("      flat  flat%   sum%        cum   cum%"), "a table of pprof",
     PPROF_HINT},
    {NO_TEXT, TEXT("   ncalls  tottime  percall  cumtime  percall "),
     "a table of Python's profiler",
     "python3 -m cProfile -o out.pstats PROGRAM, and name out.pstats"},
    {TEXT("Total: "), TEXT(" samples\n"), "a table of google-pprof", DRAWN_HINT},
    {TEXT("Total: "), TEXT("\nROUTINE ====="), "a listing of pprof", PPROF_HINT},
    {TEXT("--- symbol\n"), NO_TEXT, "the raw output of google-pprof", DRAWN_HINT},
    {TEXT("jdk."), TEXT("\n  startTime = "), "the output of jfr print",
     "name the recording (.jfr) itself"},
    {TEXT("{"), TEXT("\"type\": \"jdk."), "the output of jfr print",
     "name the recording (.jfr) itself"},
    {TEXT("JOB \""), TEXT("\nSAMPLE_UNIT "), "a heap profile of GHC, which has no stacks",
     "run the program with +RTS -p, and name PROGRAM.prof"},
    {TEXT("File `"), TEXT("' (version "), "a summary of gprof",
     "gprof PROGRAM FILE > out.gprof"},
    {TEXT("Nettrace"), NO_TEXT, "a trace of .NET",
     "dotnet-trace convert --format Speedscope FILE"},
    {TEXT("\x81rforpl\xff"), NO_TEXT, "a raw profile of LLVM, which has no stacks",
     "stoke record ./PROGRAM"},
    {TEXT("\xfflprofi\x81"), NO_TEXT, "a profile of LLVM, which has no stacks",
     "stoke record ./PROGRAM"},
    {TEXT("adcg"), NO_TEXT, "coverage data of gcc, which have no stacks",
     "stoke record ./PROGRAM"},
    {TEXT("=="), TEXT(", a thread error detector"), "a report of valgrind on threads",
     "valgrind --tool=callgrind PROGRAM"},
    {TEXT("<"), TEXT("<valgrindoutput>"), "a report of valgrind as XML",
     "valgrind --tool=callgrind PROGRAM, or --tool=massif, or --tool=dhat"},
    {TEXT("=="), TEXT("Lackey, an example Valgrind tool"),
     "a report of valgrind's lackey, which has no functions",
     "valgrind --tool=callgrind PROGRAM"},
    {TEXT("digraph "), NO_TEXT, "a graph for Graphviz", DRAWN_HINT},
    {TEXT("<"), TEXT("<svg"), "a picture (SVG)", DRAWN_HINT},
    {TEXT("<"), TEXT("<html"), "an HTML page", DRAWN_HINT},
    {TEXT("----"), TEXT("Profile data file '"), "a report of callgrind_annotate",
     DRAWN_HINT},
    {TEXT("----"), TEXT("Massif arguments:"), "a report of ms_print", DRAWN_HINT},
    {TEXT("----"), TEXT("\nEvents recorded:  "), "a report of cg_annotate", DRAWN_HINT},
};

#define TAR_MARK_AT 257

static bool is_tar(struct str head)
{
    return str_starts(str_skip(head, TAR_MARK_AT), STR("ustar"));
}

const struct unread_format *unread_format_of(struct str head)
{
    static const struct unread_format tar = {
        NO_TEXT, NO_TEXT, "an archive (tar)",
        "unpack it (tar xf), and name the files in it"};
    if (is_tar(head))
        return &tar;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (str_starts(head, formats[i].begin) && str_has(head, formats[i].has))
            return &formats[i];
    return NULL;
}
