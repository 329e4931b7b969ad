/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the reader of ftrace's text: ftrace.c reads lines, events and their
 * stacks, ftrace_graph.c the tracer function_graph. */
#ifndef STOKE_IMPORT_FTRACE_H
#define STOKE_IMPORT_FTRACE_H

#include "import/stacktext.h"

#define FTRACE_CPUS_MAX 65536

/* A function that has not returned yet. */
struct ftrace_call {
    stack_id stack;
    double callees; /* ns in functions that it called */
};

/* The open calls of a thread. */
struct ftrace_calls {
    struct ftrace_call *items;
    size_t count, cap;
};

struct ftrace_graph {
    struct ftrace_calls *calls; /* by thread */
    size_t calls_cap;
    thread_id *threads; /* by CPU: which runs; 0: not known yet */
    size_t threads_cap;
    event_id event;
};

/* The fields of a line before its text. */
struct ftrace_entry {
    thread_id thread;
    uint32_t cpu;
    uint64_t time; /* ns, or TIME_NONE */
};

/* The last event of a CPU, whose stack may follow. */
struct ftrace_event {
    struct ftrace_entry entry;
    event_id event;            /* 0: none */
    frame_id function, caller; /* of the tracer function; 0: none */
};

struct ftrace_reader {
    struct stacktext t;          /* first */
    struct ftrace_event *events; /* by CPU */
    size_t events_cap, cpu_count;
    struct ftrace_event *open; /* whose stack is being read, or NULL */
    enum frame_kind kind;      /* of the frames of that stack */
    bool in_hist;              /* the stack is a key of a histogram */
    struct ftrace_graph graph;
};

/* The thread of "bash-812"; those of "<idle>-0" are different on each CPU. */
thread_id ftrace_thread(struct ftrace_reader *r, struct str task, uint32_t cpu);

/* A function of the kernel: "vfs_read", "ext4_readdir [ext4]", "kfree+0x1f/0x20". */
frame_id ftrace_function(struct ftrace_reader *r, struct str text);

/* Reads a line of function_graph: " 0)   1.382 us    |  kfree();". False if it is none. */
bool ftrace_graph_line(struct ftrace_reader *r, struct str line);

/* Reads the text of an entry of trace-cmd, after its name: "  1.382 us    |  kfree();". */
void ftrace_graph_entry(struct ftrace_reader *r, const struct ftrace_entry *entry,
                        struct str text);

/* Counts the calls that have not returned. */
void ftrace_graph_end(struct ftrace_reader *r);

#endif
