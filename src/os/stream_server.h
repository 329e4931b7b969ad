/* SPDX-License-Identifier: Apache-2.0 */
/* A TCP server for many clients of a protocol of bytes.
 *
 * One thread serves all clients, and never waits for one of them: a client that sends
 * nothing, or does not receive, costs a slot and a descriptor. Each client gets a bounded
 * share of a turn. If all slots are used, a new client replaces the one that was idle for
 * the longest time. */
#ifndef STOKE_OS_STREAM_SERVER_H
#define STOKE_OS_STREAM_SERVER_H

#include "base/error.h"
#include <stdint.h>

#define OS_STREAM_PIECES 3

/* The protocol. A session is `size` bytes, zeroed. */
struct os_stream_protocol {
    size_t size;

    /* Frees what the session holds. */
    void (*end)(void *context, void *session);

    /* The number of bytes that it can receive now. */
    size_t (*room)(const void *session);
    void (*receive)(void *context, void *session, struct str bytes);

    /* The client sends no more. It still receives what it asked for. */
    void (*closed)(void *session);

    /* The bytes to be sent; returns the number of pieces. Then, how many were sent. */
    size_t (*output)(const void *session, struct str pieces[OS_STREAM_PIECES]);
    void (*sent)(void *context, void *session, size_t count);

    /* The connection ends when all output is sent; or immediately. */
    bool (*ends)(const void *session);
    bool (*failed)(const void *session);

    /* os_stream_server_wake was called: sessions may change. Call
     * os_stream_server_changed for each of these. */
    void (*woken)(void *context);
};

struct os_stream_server;
struct sockaddr_storage;

/* Listens at an address of the form 127.0.0.1:12307 or [::1]:0. At most `clients` at the
 * same time, or as many as files can be open. NULL with err set on failure. */
struct os_stream_server *os_stream_server_open(const char *address, size_t clients,
                                               const struct os_stream_protocol *protocol,
                                               void *context, struct error *err);
void os_stream_server_close(struct os_stream_server *s); /* NULL is allowed */

/* The port that it listens on. */
unsigned os_stream_server_port(const struct os_stream_server *s);

bool os_stream_address_is_valid(const char *address);

/* Reads such an address; false if it is invalid. */
bool os_stream_address_parse(const char *address, struct sockaddr_storage *out);

/* Returns true if the address is of this machine only. False also for invalid ones. */
bool os_stream_address_is_local(const char *address);

/* Serves until os_stream_server_stop is called, by another thread or a callback. */
void os_stream_server_run(struct os_stream_server *s);
void os_stream_server_stop(struct os_stream_server *s);

/* Makes the serving thread call `woken`. May be called by any thread. */
void os_stream_server_wake(struct os_stream_server *s);

/* The session has output or room now that it did not have. In callbacks only. */
void os_stream_server_changed(struct os_stream_server *s, void *session);

/* The number of clients. */
size_t os_stream_server_clients(const struct os_stream_server *s);

#endif
