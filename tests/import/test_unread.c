/* SPDX-License-Identifier: Apache-2.0 */
#include "import/unread.h"
#include "unit.h"

static void is_known(struct str head, const char *what)
{
    const struct unread_format *format = unread_format_of(head);
    assert_non_null(format);
    assert_non_null(strstr(format->what, what));
    assert_true(strlen(format->hint) > 10);
}

static void files_of_other_tools_are_known(void **state)
{
    (void)state;
    is_known(STR("v8-version,11,3,244,8,-node.38,0\n"), "node --prof");
    is_known(STR("Statistical profiling result from v8.log, (108 ticks"),
             "--prof-process");
    is_known(STR("{\"snapshot\":{\"meta\":{\"node_fields\":"), "heap snapshot");
    is_known(STR("\x04\x08{\x10:\x0cversion"), "stackprof");
    is_known(STR("gmon\1\0\0\0"), "gmon.out");
    is_known(STR("\177ELF\2\1\1\0\0\0 CORE\0"), "core dump");
    is_known(STR("\177ELF\2\1\1\0"), "program");
    is_known(STR("go 1.22 trace\0\0\0"), "execution trace");
    is_known(STR("JAVA PROFILE 1.0.2\0\0\0\0\x08"), "heap dump");
    is_known(STR(" Percent |\tSource code & Disassembly of a for cycles (3 samples)\n"),
             "perf annotate");
    is_known(STR("==1== Lackey, an example Valgrind tool\n==1== "), "lackey");
    is_known(STR("digraph profile {\n"), "Graphviz");
    is_known(STR("<?xml version=\"1.0\"?>\n<svg width=\"1\">"), "SVG");
}

static void reports_are_known(void **state)
{
    (void)state;
    is_known(STR("\nSorted summary for file /srv/x\n"), "perf annotate");
    is_known(STR("\n Performance counter stats for './w':\n"), "perf stat");
    is_known(STR("# started on Thu Nov 26 14:56:03 2026\n\n175.10,msec,task-clock"),
             "perf stat");
    is_known(STR("{\"counter-value\" : \"134.2\", \"unit\" : \"msec\"}\n"), "perf stat");
    is_known(STR("# Event 'cycles'\n#\n# Baseline  Delta Abs  Shared Object\n"),
             "perf diff");
    is_known(STR("\nAggregated stats:\n           TOTAL events:        100\n"),
             "records");
    is_known(STR("#      pid      tid     ppid  comm\n"), "processes");
    is_known(STR("\n0x108@w.data [0x50]: event: 69\n.\n. ... raw event: size 80 bytes\n"),
             "dump");
    is_known(STR("\n ---\n  Task                  |   Runtime ms  | Switches |"),
             "perf sched latency");
    is_known(STR("  *A0         780.235774 secs A0 => migration/0:18\n"), "perf sched");
    is_known(STR("\n Summary of events:\n\n ls (2), 290 events, 97.3%\n"), "perf trace");
    is_known(STR("     0.062 ( 0.024 ms): ls/24668 brk() = 0x5590\n"), "perf trace");
    is_known(STR("% time     seconds  usecs/call     calls    errors syscall\n"),
             "strace");
    is_known(STR("File: x\nType: cpu\n      flat  flat%   sum%        cum   cum%\n"),
             "pprof");
    is_known(
        STR("   ncalls  tottime  percall  cumtime  percall filename:lineno(function)"),
        "Python");
    is_known(STR("Total: 151 samples\n      39  25.8%  25.8%       39  25.8% f\n"),
             "google-pprof");
    is_known(STR("Total: 590ms\nROUTINE ======================== main.work in /m.go\n"),
             "listing");
    is_known(STR("--- symbol\nbinary=/srv/x\n"), "google-pprof");
    is_known(STR("jdk.ExecutionSample {\n  startTime = 15:18:13.532\n"), "jfr print");
    is_known(
        STR("{\n  \"recording\": {\n    \"events\": [{\n      \"type\": \"jdk.CPULoad\""),
        "jfr print");
    is_known(STR("JOB \"h +RTS -hc\"\nDATE \"Thu\"\nSAMPLE_UNIT \"seconds\"\n"), "GHC");
    is_known(STR("File `gmon.out' (version 1) contains:\n"), "gprof");
    is_known(STR("Nettrace\x14\0\0\0!FastSerialization.1"), ".NET");
    is_known(STR("\x81rforpl\xff\x08\0"), "LLVM");
    is_known(STR("\xfflprofi\x81\x0b\0"), "LLVM");
    is_known(STR("adcg*33B"), "gcc");
    is_known(STR("==1== Helgrind, a thread error detector\n"), "threads");
    is_known(STR("<?xml version=\"1.0\"?>\n\n<valgrindoutput>\n"), "XML");
    is_known(STR("-----\nI1 cache: \nEvents recorded:  Ir\n"), "cg_annotate");
}

static void archives_are_known(void **state)
{
    char head[512] = "a.folded";
    (void)state;
    assert_null(unread_format_of((struct str){head, sizeof head}));
    memcpy(head + 257, "ustar", 5);
    is_known((struct str){head, sizeof head}, "tar");
}

static void other_files_are_not(void **state)
{
    (void)state;
    assert_null(unread_format_of(STR("")));
    assert_null(unread_format_of(STR("\0\0\0\0")));
    assert_null(unread_format_of(STR("a;b 1\n")));
    assert_null(unread_format_of(STR("JAVA PROFILE 1.0.1, created Mon")));
    assert_null(unread_format_of(STR("a page about <svg and <html\n")));
}

int main(void)
{
    static const struct CMUnitTest units[] = {
        UNIT(files_of_other_tools_are_known),
        UNIT(reports_are_known),
        UNIT(archives_are_known),
        UNIT(other_files_are_not),
    };
    return UNITS_RUN(units);
}
