/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of a profile without process IDs: a store's samples have the name of the process as
 * the label "process". Each pair of a thread and such a label becomes a thread, whose process
 * has a number below ID_NONE, which stands for the name. The numbers are the same in all
 * profiles of the page, which shows and writes none of them. */
#ifndef STOKE_WEB_LABEL_PROCESS_H
#define STOKE_WEB_LABEL_PROCESS_H

#include "model/profile.h"

#define PROCESS_LABEL "process"

/* Has no effect if all threads have process IDs, or if no sample has the label. False when out of
 * memory. */
bool label_processes(struct profile *p);

/* The profile without such numbers; its threads are in the arena, all else is the profile's. NULL
 * threads: out of memory. */
struct profile without_process_numbers(const struct profile *p, struct arena *a);

/* Whether the process has a name instead of an ID. */
static inline bool is_label_process(int64_t pid)
{
    return pid < ID_NONE;
}

/* The number that stands for the name; ID_NONE without a name, or out of memory. */
int64_t label_process_number(struct str name);

/* Adds the names of such processes to the strings of the profile. False when out of memory. */
bool label_process_keep_names(struct profile *p);

/* The name of such a process in this profile; 0 if it has no such string. */
string_id label_process_name(const struct profile *p, int64_t pid);

/* Whether there is an ID to show. */
static inline bool has_id(int64_t id)
{
    return id > ID_NONE;
}

#endif
