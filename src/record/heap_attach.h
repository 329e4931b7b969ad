/* SPDX-License-Identifier: Apache-2.0 */
/* Attaches libstoke_heap_attach.so to a running process, and detaches it. A guardian, a
 * process of its own, does both: while it does, the caller reads records; and if the
 * caller is killed, the guardian detaches.
 *
 *   caller                    guardian
 *   heap_attach_start         examines the process, opens a file in memory in it
 *   heap_attach_file          waits
 *   heap_attach_go            loads the library, which starts recording
 *   heap_attach_state         waits, until heap_attach_stop or the end of the caller
 *   heap_attach_stop          detaches */
#ifndef STOKE_RECORD_HEAP_ATTACH_H
#define STOKE_RECORD_HEAP_ATTACH_H

#include "os/child.h"
#include "os/shared_memory.h"

enum heap_attach_state {
    HEAP_STATE_STARTING,
    HEAP_STATE_FILE, /* the file is open */
    HEAP_STATE_GO,   /* the caller has prepared the file */
    HEAP_STATE_RECORDING,
    HEAP_STATE_STOP, /* requested by the caller */
    HEAP_STATE_RESTORED,
    HEAP_STATE_FAILED, /* the process is as before */
    HEAP_STATE_LEFT, /* it could not be restored: the functions stay replaced, and idle */
};

struct heap_attachment {
    struct os_child guardian;
    struct os_shared_memory memory;
    struct heap_attach_control *control; /* shared with the guardian */
};

/* Call heap_attach_close in any case. */
bool heap_attach_start(struct heap_attachment *a, uint32_t pid, const char *library,
                       struct error *err);

/* Waits for the file, and opens it with that size. */
bool heap_attach_file(struct heap_attachment *a, struct os_shared_memory *file,
                      uint64_t size, struct error *err);
void heap_attach_go(struct heap_attachment *a);

/* A process that was forked while it is recorded: it is detached, too. At most
 * HEAP_ATTACH_PROCESSES are; false beyond. */
#define HEAP_ATTACH_PROCESSES 256
bool heap_attach_add(struct heap_attachment *a, uint32_t pid);

/* HEAP_STATE_FAILED and HEAP_STATE_LEFT: err is set. */
enum heap_attach_state heap_attach_state(struct heap_attachment *a, struct error *err);

/* Detaches, and waits until that is done. False, with err set, if the process could not be
 * restored. */
bool heap_attach_stop(struct heap_attachment *a, struct error *err);

/* Ends the guardian. It detaches if that was not done yet. */
void heap_attach_close(struct heap_attachment *a);

#endif
