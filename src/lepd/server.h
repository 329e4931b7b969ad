/* SPDX-License-Identifier: Apache-2.0 */
/* The LEPD server: connections (os/stream_server.h), sessions (session.h), and workers that
 * make the texts.
 *
 * One thread serves all connections. Texts are made by two other threads: one for those
 * that take less than a few ms, which also reads the metrics each second, and one for
 * slow ones. A text is shared by all clients that ask for it at the same time, so a flood
 * of requests costs no more than a request. */
#ifndef STOKE_LEPD_SERVER_H
#define STOKE_LEPD_SERVER_H

#include "base/error.h"
#include "model/profile.h"

#define LEPD_ADDRESS "127.0.0.1:12307"
#define LEPD_CLIENTS_MAX 16384

struct lepd_server;

/* Listens and starts the threads. The address must be one of this machine's own loopback
 * addresses, because the protocol has no authentication, unless `any_address` is true. NULL
 * with err set on failure. */
struct lepd_server *lepd_server_start(const char *address, bool any_address,
                                      struct error *err);

/* Ends all connections and threads. NULL is allowed. */
void lepd_server_stop(struct lepd_server *s);

unsigned lepd_server_port(const struct lepd_server *s);

/* Whether a client asked for samples within the last 30 s: else lepd_server_publish need
 * not be called. */
bool lepd_server_needs_samples(struct lepd_server *s);

/* Takes the samples of the last second; destroys them when they are not needed any more. */
void lepd_server_publish(struct lepd_server *s, struct profile *p);

#endif
