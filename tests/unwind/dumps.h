/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the stack dumps of a recording as jobs, for tests and benchmarks of src/unwind,
 * which must not depend on stoke's own reader of perf.data.
 *
 * Supports little more than the output of `perf record --call-graph dwarf` with one
 * event, in file mode. The maps of a process are those at its end. */
#ifndef STOKE_TESTS_DUMPS_H
#define STOKE_TESTS_DUMPS_H

#include "base/arena.h"
#include "unwind/unwind.h"

struct dump_object {
    const char *path;
    struct str bytes; /* content of the file; empty if it does not exist */
    uint64_t id;      /* its device and inode */
};

struct dump_process {
    uint32_t pid;
    space_id space;
};

struct dumps {
    struct arena arena;
    struct spaces spaces;
    struct dump_object *objects; /* [0] is unused */
    size_t object_count, object_cap;
    const struct unwind_table **tables; /* by object */
    struct dump_process *processes;
    size_t process_count, process_cap;
    struct unwind_job *jobs;
    uint32_t *pids;  /* of the jobs */
    uint64_t *times; /* of the jobs */
    size_t count, cap, pid_cap, time_cap;
    uint64_t frames_room; /* per job */
};

/* Exits if the file is not such a recording. */
void dumps_read(struct dumps *d, const char *path);

/* Makes the tables of all objects; false when out of memory. */
bool dumps_tables(struct dumps *d);

/* For struct unwind_objects, with the dumps as its context. */
const struct unwind_table *dumps_table(void *dumps, object_id object);

struct dump_process *dumps_process(struct dumps *d, uint32_t pid);

#endif
