/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of home.h: processes, files, and requests to record. */
#ifndef STOKE_ENGINE_HOME_PARTS_H
#define STOKE_ENGINE_HOME_PARTS_H

#include "base/arena.h"
#include "codec/json.h"
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

struct home_file {
    char path[4096];
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
void home_files_write(const struct home_files *f, struct json_writer *w);

/* The file of that id in a list that is read again; NULL if there is none. */
const struct home_file *home_files_find(struct home_files *f, struct str id);
void home_files_deinit(struct home_files *f);

/* Makes the id of a path. */
void home_file_id(char id[HOME_ID_SIZE], const char *path);

/* Remembers that the user opened a file. Failures are not reported. */
void home_files_remember(const char *path);

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
 * BOOL, "children": BOOL, "duration": SECONDS}. Processes that have ended are omitted.
 * Returns false with err set if the settings are invalid, or if no process runs. */
bool home_request_read(struct home_request *r, struct str body,
                       const struct home_request_limits *limits, struct error *err);

/* Writes the command line, quoted for a shell. */
void home_request_write(const struct home_request *r, struct output *o);
void home_request_deinit(struct home_request *r);

#endif
