/* SPDX-License-Identifier: Apache-2.0 */
/* Short requests to a server of this machine. */
#ifndef STOKE_OS_HTTP_CLIENT_H
#define STOKE_OS_HTTP_CLIENT_H

#include "base/error.h"

struct os_http_call {
    const char *address; /* ADDRESS:PORT */
    const char *method, *path;
    const char *token; /* empty: none */
};

struct os_http_answer {
    unsigned status;
    struct str body; /* in `room` */
    char room[16384];
};

/* Sends the request and waits for the reply, at most 10 s for each part of it. Returns false
 * with err set if there is none, or if it is too large. */
bool os_http_ask(const struct os_http_call *call, struct os_http_answer *answer,
                 struct error *err);

#endif
