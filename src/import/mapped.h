/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of addresses in a file that also has the maps of its process, usually at its end, as
 * lines of /proc/PID/maps:
 *
 *   55d669a6f000-55d669a70000 r-xp 00001000 fe:00 10953071    /usr/bin/x
 *   40000000-40015000: /lib/ld-2.3.2.so                       the short form
 *
 * The stacks are collected first. mapped_finish asks the resolver for the names of all
 * addresses in one request and makes the stacks of the profile. */
#ifndef STOKE_IMPORT_MAPPED_H
#define STOKE_IMPORT_MAPPED_H

#include "import/importer.h"

/* A mapped file with code. */
struct map_range {
    uint64_t start, end, offset;
    string_id path;
    bool is_used; /* by an address: it has a module and an object */
    module_id module;
    object_id object;
};

struct mapped {
    struct builder *b;
    const struct import_options *options;
    struct builder raw; /* its frames are addresses */
    struct arena arena;
    struct map_range *maps;
    uint32_t *order; /* of the maps, by start */
    size_t map_count, map_cap;
    uint32_t *map_of_frame; /* by frame of `raw`: index + 1 */
    struct name_job *jobs;  /* by frame of `raw` */
    struct frame_run *runs;
    frame_id *frames;
    size_t frame_count, frame_cap;
    stack_id *stacks; /* by stack of `raw` */
};

/* False if out of memory; mapped_deinit may be called even then. */
bool mapped_init(struct mapped *m, struct builder *b,
                 const struct import_options *options);
void mapped_deinit(struct mapped *m);

/* Reads a line of the maps; maps without code or file are skipped. False if the line is none. */
bool mapped_line(struct mapped *m, struct str line);

/* Adds a return address to the current stack; the leaf is first. */
void mapped_call(struct mapped *m, uint64_t address);

/* The same for the address of an instruction that was interrupted. */
void mapped_instruction(struct mapped *m, uint64_t address);

/* Ends the current stack; its number among the collected ones. */
stack_id mapped_stack(struct mapped *m);

/* Names all addresses. False if out of memory. The innermost frames for which `drop`
 * returns true are left out, unless all of the stack would be. */
bool mapped_finish(struct mapped *m,
                   bool (*drop)(struct str module, struct str function));

/* The profile's stack for a collected one, after mapped_finish. */
stack_id mapped_result(const struct mapped *m, stack_id collected);

#endif
