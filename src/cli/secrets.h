/* SPDX-License-Identifier: Apache-2.0 */
/* Files with what an HTTP server needs: a token, a certificate and its private key. */
#ifndef STOKE_CLI_SECRETS_H
#define STOKE_CLI_SECRETS_H

#include "base/error.h"
#include "daemon/address.h"
#include "http/server.h"

#define SECRET_TOKEN_SIZE DAEMON_TOKEN_SIZE

/* Reads the token; `room` must outlive the server. */
bool secret_read_token(const char *path, char room[SECRET_TOKEN_SIZE], struct error *err);

#define SECRET_TENANTS_MAX 1024

/* Reads the tenants of a server: lines TOKEN KEY=VALUE. `*tenants` is static: call it once. `token`
 * is the server's, which no tenant has. */
bool secret_read_tenants(const char *path, const char *token,
                         const struct http_tenant **tenants, size_t *count,
                         struct error *err);

/* Reads both PEM files, which stay in memory. NULL names: there are none, and the texts become
 * NULL. Call it once. */
bool secret_read_certificate(const char *certificate, const char *key,
                             const char **certificate_text, const char **key_text,
                             struct error *err);

#endif
