/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the client if stoke is built without libcurl. */
#include "os/web_client.h"

struct os_web_client *os_web_open(const struct os_web_settings *settings,
                                  struct error *err)
{
    (void)settings;
    error_set(err, "this stoke was built without libcurl, which makes requests by HTTP");
    error_hint(err, "install libcurl4-openssl-dev and build stoke again");
    return NULL;
}

void os_web_close(struct os_web_client *c)
{
    (void)c;
}

bool os_web_post(struct os_web_client *c, const struct os_web_call *call,
                 struct os_web_answer *answer, struct error *err)
{
    (void)c, (void)call;
    *answer = (struct os_web_answer){0};
    return error_set(err, "this stoke was built without libcurl");
}
