/* SPDX-License-Identifier: Apache-2.0 */
#include "import/unread.h"

#define TEXT(literal)                  \
    {                                  \
        (literal), sizeof(literal) - 1 \
    }
#define NO_TEXT TEXT("")
#define V8_LOG_HINT "node --prof-process --preprocess isolate-*-v8.log > v8.json"
#define DRAWN_HINT "name the profile that it was made from"

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
    /* words of 64 bits: 0, 3 header words, version 0 */
    {TEXT("\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), NO_TEXT,
     "a CPU profile of gperftools, which has addresses only",
     "google-pprof --collapsed PROGRAM FILE > out.folded"},
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
    {TEXT("=="), TEXT("Lackey, an example Valgrind tool"),
     "a report of valgrind's lackey, which has no functions",
     "valgrind --tool=callgrind PROGRAM"},
    {TEXT("digraph "), NO_TEXT, "a graph for Graphviz", DRAWN_HINT},
    {TEXT("<"), TEXT("<svg"), "a picture (SVG)", DRAWN_HINT},
    {TEXT("<"), TEXT("<html"), "an HTML page", DRAWN_HINT},
    {TEXT("----"), TEXT("Profile data file '"), "a report of callgrind_annotate",
     DRAWN_HINT},
    {TEXT("----"), TEXT("Massif arguments:"), "a report of ms_print", DRAWN_HINT},
};

const struct unread_format *unread_format_of(struct str head)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (str_starts(head, formats[i].begin) && str_has(head, formats[i].has))
            return &formats[i];
    return NULL;
}
