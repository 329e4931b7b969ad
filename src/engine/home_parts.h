/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of home.h: processes, files, and requests to record. */
#ifndef STOKE_ENGINE_HOME_PARTS_H
#define STOKE_ENGINE_HOME_PARTS_H

#include "base/arena.h"
#include "codec/json.h"
#include "os/job.h"
#include "os/mapping.h"

/* --- Processes ---------------------------------------------------------------------- */

#define HOME_PROCESSES_MAX 8192

struct home_process {
    uint32_t pid;
    uint64_t start, ticks; /* CPU time, in 1/100 s */
};

/* A reading of the processes' CPU time, by PID. */
struct home_processes {
    struct home_process *items;
    size_t count, cap;
    uint64_t time;
    struct output text; /* in JSON */
};

#define HOME_PROCESSES_NONE ((struct home_processes){.text = OUTPUT_BUFFER})

/* The processes that have memory, with the CPU time since the reading before. A reading is
 * retained for half a second: several pages get the same one. Valid until the next call. */
struct str home_processes_read(struct home_processes *p);
void home_processes_deinit(struct home_processes *p);

/* --- Files -------------------------------------------------------------------------- */

#define HOME_FILES_MAX 200
#define HOME_ID_SIZE 17
#define HOME_PATH_MAX 4096

struct home_abouts;

struct home_file {
    char path[HOME_PATH_MAX];
    char id[HOME_ID_SIZE]; /* of the path, for addresses */
    uint64_t size, changed;
    bool elsewhere; /* not in the current folder */
};

/* The profiles of the current folder and those opened recently, the newest first. */
struct home_files {
    struct home_file *items;
    size_t count;
};

/* Reads the list again. False if out of memory. */
bool home_files_read(struct home_files *f);

/* Each with "about", what it contains, if it is known; null while that is found out. */
void home_files_write(const struct home_files *f, const struct home_abouts *a,
                      struct json_writer *w);

/* The file of that id in a list that is read again; NULL if there is none. */
const struct home_file *home_files_find(struct home_files *f, struct str id);
void home_files_deinit(struct home_files *f);

/* Makes the id of a path. */
void home_file_id(char id[HOME_ID_SIZE], const char *path);

/* Remembers that the user opened a file. Failures are not reported. */
void home_files_remember(const char *path);

/* --- Their contents ------------------------------------------------------------------- */

#define HOME_DESCRIBED 12  /* files: those that the page shows */
#define HOME_ABOUTS_MAX 48 /* descriptions that are retained */

struct home_about {
    char id[HOME_ID_SIZE];
    uint64_t size, changed; /* of the described version of the file */
    struct output text;     /* JSON */
};

/* What the newest files contain. */
struct home_abouts {
    struct home_about items[HOME_ABOUTS_MAX];
    size_t count, next;
    struct os_wait *wait;
    struct os_job job; /* reads `file` */
    struct home_file file;
    uint64_t began; /* by os_clock_monotonic */
    bool works;
};

/* The struct must not be moved. */
void home_abouts_init(struct home_abouts *a, struct os_wait *wait);
void home_abouts_deinit(struct home_abouts *a);

/* Takes the result of the process that reads a file, and starts the next one. One that
 * takes too long is ended. */
void home_abouts_turn(struct home_abouts *a, const struct home_files *files);

/* A file's description; empty if it is not known yet. */
struct str home_abouts_of(const struct home_abouts *a, const struct home_file *f);

/* Writes what the file contains, as far as a little time suffices:
 *   {"format": TEXT, "host": TEXT, "command": TEXT, "program": TEXT, "processes": N,
 *    "events": [{"name": TEXT, "unit": TEXT, "total": N}...], "samples": N,
 *    "seconds": N, "cut": BOOL, "large": BOOL}
 * Unknown members are absent. "cut": the file ends early; "large": it was not read to its
 * end. Or {"error": TEXT}. Returns an exit status. */
int home_contents_write(const struct home_file *f, struct output *out);

/* --- Requests to record --------------------------------------------------------------- */

#define HOME_PIDS_MAX 1024
#define HOME_ARGUMENTS_MAX 256
#define HOME_ARGUMENT_MAX 4096 /* bytes */

struct home_request {
    struct arena arena;
    char **argv;     /* ends with NULL; argv[0] is this program */
    char path[4096]; /* the recording's file */
    char title[128]; /* the target */
    double duration; /* s; 0: until it is stopped */
};

/* What a request may ask for. Zeroed: whatever this program can record. */
struct home_request_limits {
    const char *path;     /* of the recording; NULL: a new name in the current folder */
    bool only_processes;  /* running ones, with the default event; no command */
    double rate, seconds; /* at most; 0: no limit but the program's */
};

/* Reads the settings of a recording: {"target": "pids" | "machine" | "command", "pids":
 * [N...], "command": [ARGUMENT...], "event": TEXT, "rate": N, "stacks": TEXT, "off_cpu":
 * BOOL, "children": BOOL, "heap": BOOL, "duration": SECONDS}. Of a command, the heap is
 * recorded too; of one running process, it is recorded alone. Processes that have ended are
 * omitted.
 * Returns false with err set if the settings are invalid, or if no process runs. */
bool home_request_read(struct home_request *r, struct str body,
                       const struct home_request_limits *limits, struct error *err);

/* Writes the command line, quoted for a shell. */
void home_request_write(const struct home_request *r, struct output *o);
void home_request_deinit(struct home_request *r);

#endif
