/* SPDX-License-Identifier: Apache-2.0 */
/* Names of functions for samples that never end, with little memory and CPU time.
 *
 * It is the resolver of the daemon's reader. A function that is known by file and range is
 * answered immediately. Other addresses are collected; from time to time a child process at idle
 * priority and with few rights (os/restriction.h) reads the symbol tables, writes the names into
 * shared memory and ends, so that a file is read rarely, and none of its memory stays. A file that makes three children crash is left
 * out from then on. Functions of the kernel are read once.
 *
 * Until an address has a name, its samples are stored by build ID and offset; the name
 * follows for the store: daemon_names_late. */
#ifndef STOKE_DAEMON_NAMES_H
#define STOKE_DAEMON_NAMES_H

#include "model/resolver.h"
#include "os/child.h"
#include "resolve/kernel_functions.h"
#include "store/store.h"

struct daemon_names_request;
struct daemon_names_file;
struct daemon_names_answers;

struct daemon_names {
    struct resolver seam; /* for the reader; valid as long as this */

    /* Private. */
    struct arena arena;              /* of files, functions and frames */
    struct daemon_names_file *files; /* [0] is unused */
    size_t file_count, file_cap;
    struct index index;
    size_t pending;         /* addresses without an answer */
    uint64_t pending_since; /* ns */
    struct os_child child;
    struct daemon_names_answers *answers; /* shared with the child; NULL: none runs */
    uint64_t paid;                        /* ns: up to here, children used the time */
    uint64_t next;                        /* ns: no child starts before */
    struct kernel_functions kernel;
    bool kernel_asked, kernel_ready, kernel_reading;
    bool learned;
    struct arena late_arena;
    struct store_name *late;
    size_t late_count, late_cap;
};

void daemon_names_init(struct daemon_names *n);
void daemon_names_deinit(struct daemon_names *n);

/* Forgets the functions if they need too much memory. No reader may exist. */
void daemon_names_trim(struct daemon_names *n);

/* Takes the answers of the child, and starts one if it is needed. True if there are new
 * names since the last call: ask again for what had none. Call it regularly. */
bool daemon_names_turn(struct daemon_names *n, uint64_t now);

/* A window is stored: addresses that are still without a name are in it. */
void daemon_names_stored(struct daemon_names *n);

/* Names since the last daemon_names_forget_late of functions that were stored without one. */
const struct store_name *daemon_names_late(const struct daemon_names *n, size_t *count);
void daemon_names_forget_late(struct daemon_names *n);

#endif
