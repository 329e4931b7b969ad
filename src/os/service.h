/* SPDX-License-Identifier: Apache-2.0 */
/* A child process that answers questions about untrusted data: it runs under the restrictions of
 * restriction.h and has none of this process's other files open. If it crashes, or does
 * not answer in time, only its answer is missing. */
#ifndef STOKE_OS_SERVICE_H
#define STOKE_OS_SERVICE_H

#include "base/str.h"
#include "os/child.h"

#define OS_SERVICE_MAX ((size_t)32 << 10) /* bytes of a question, and of an answer */

/* All zeros: no child runs. */
struct os_service {
    struct os_child child;
    int socket;
    int limit; /* of the time for an answer, ms; os_service_start sets 10 s */
};

/* Writes the answer, at most OS_SERVICE_MAX bytes, into `into`; returns its length. */
typedef size_t os_service_answer(void *context, struct str question, char *into);

/* Starts the child, which calls `answer` for each question. */
bool os_service_start(struct os_service *s, os_service_answer *answer, void *context,
                      struct error *err);

/* Returns the length of the answer in `into`, which has room for OS_SERVICE_MAX bytes. 0 if
 * there is none: the child has ended, and os_service_start is needed again. */
size_t os_service_ask(struct os_service *s, struct str question, char *into);

/* Ends the child. */
void os_service_end(struct os_service *s);

#endif
