/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/secrets.h"
#include "base/format.h"
#include "http/server.h"
#include "os/machine.h"

#define PEM_MAX 65536

bool secret_read_token(const char *path, char room[SECRET_TOKEN_SIZE], struct error *err)
{
    char text[SECRET_TOKEN_SIZE - 1];
    struct str token = str_trim(os_read_text(path, text, sizeof text));
    format_text(room, SECRET_TOKEN_SIZE, "%.*s", STR_ARG(token));
    if (token.len >= HTTP_TOKEN_MIN)
        return true;
    error_set(err, "'%s' has no token of at least %d characters", path, HTTP_TOKEN_MIN);
    return error_hint(err, "head -c 24 /dev/urandom | base64 >%s", path);
}

static bool read_pem(const char *path, char room[PEM_MAX], struct error *err)
{
    struct str text = os_read_text(path, room, PEM_MAX - 1);
    if (text.len == 0 || text.len >= PEM_MAX - 1) {
        error_set(err, "'%s' cannot be read, or is too large", path);
        return error_hint(err, "--cert and --key are files in PEM format");
    }
    room[text.len] = '\0';
    return true;
}

bool secret_read_certificate(const char *certificate, const char *key,
                             const char **certificate_text, const char **key_text,
                             struct error *err)
{
    static char rooms[2][PEM_MAX];
    *certificate_text = *key_text = NULL;
    if (!certificate != !key)
        return error_set(err, "--cert needs --key, and --key needs --cert");
    if (!certificate)
        return true;
    *certificate_text = rooms[0];
    *key_text = rooms[1];
    return read_pem(certificate, rooms[0], err) && read_pem(key, rooms[1], err);
}
