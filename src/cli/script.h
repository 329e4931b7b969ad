/* What the files of `stoke script` share. */
#ifndef STOKE_CLI_SCRIPT_H
#define STOKE_CLI_SCRIPT_H

#include "cli/load.h"
#include "cli/script_text.h"
#include "transform/transform.h"

struct script_times {
    struct time_point start, end;
};

struct script_settings {
    struct load_settings load;
    struct script_fields fields;
    const char *input, *output;
    const char *comms, *events; /* names with commas between them, or NULL */
    struct number_set pids, tids, cpus;
    struct script_times times;
    int64_t max_stack;
    bool no_chain, shows_maps, shows_tasks, shows_lost;
};

/* Whose a sample is. */
struct script_origin {
    struct str comm, event;
    int64_t pid, tid; /* or ID_NONE */
    uint32_t cpu;     /* or CPU_NONE */
    uint64_t time;    /* or TIME_NONE */
};

/* Whether samples of it are to be printed; the input's samples are from `first` to
 * `last`. */
bool script_wants(const struct script_settings *s, const struct script_origin *of,
                  uint64_t first, uint64_t last);

/* Prints the samples of recordings as they are read: a taker. */
struct script_recording;

/* NULL when memory is short. */
struct script_recording *script_recording_create(const struct script_settings *s,
                                                 struct output *o);
void script_recording_destroy(struct script_recording *r);
const struct perf_taker *script_recording_taker(const struct script_recording *r);

/* What could not be done: false, with err set, where memory was short. Fields that were
 * asked for and not recorded: *missing. */
bool script_recording_check(const struct script_recording *r, uint32_t *missing,
                            struct error *err);

/* Prints the samples of a profile, which is what other inputs become. */
void script_write_profile(const struct script_settings *s, const struct profile *p,
                          struct output *o);

#endif
