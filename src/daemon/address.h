/* SPDX-License-Identifier: Apache-2.0 */
/* Where the HTTP server of a running daemon is: a file beside its store that only its user can
 * read, with its address and its token. */
#ifndef STOKE_DAEMON_ADDRESS_H
#define STOKE_DAEMON_ADDRESS_H

#include "base/error.h"

#define DAEMON_TOKEN_SIZE 257 /* with the null */

struct daemon_address {
    char address[64];              /* ADDRESS:PORT, for clients on this machine */
    char token[DAEMON_TOKEN_SIZE]; /* empty: requests need none */
    bool is_encrypted;             /* HTTPS */
    int64_t pid;                   /* of a daemon that was found */
};

/* Sets the address that clients use for a server that listens on `listen`. */
void daemon_address_set(struct daemon_address *a, const char *listen, unsigned port);

/* Writes the file. Returns a descriptor for daemon_address_remove; -1 with err set on
 * failure. */
int daemon_address_write(const struct daemon_address *a, const char *store,
                         struct error *err);
void daemon_address_remove(const char *store, int fd); /* -1 is allowed */

/* Finds the running daemon of this user that writes that store and serves it. */
bool daemon_address_find(struct daemon_address *a, const char *store);

/* Fills in a new token. False if there are no random bytes. */
bool daemon_address_make_token(char token[DAEMON_TOKEN_SIZE]);

#endif
