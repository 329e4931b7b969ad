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

#define TENANTS_FILE_MAX ((size_t)1 << 18)

/* Letters, digits and "-", "." and "_": a text that is the same in every language of labels. */
static bool is_label_text(struct str s, size_t most)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_'))
            return false;
    }
    return s.len > 0 && s.len <= most;
}

/* A line TOKEN KEY=VALUE. The text of the token gets a null at its end. */
static bool parse_tenant(char *line, size_t length, struct http_tenant *t)
{
    struct str rest = {line, length};
    struct str token = str_cut(&rest, ' ');
    struct str value = str_trim(rest), key = str_cut(&value, '=');
    if (token.len < HTTP_TOKEN_MIN || token.len == length || !is_label_text(key, 128) ||
        !is_label_text(value, 128))
        return false;
    line[token.len] = '\0';
    *t = (struct http_tenant){line, key, value};
    return true;
}

static bool is_taken(const struct http_tenant *tenants, size_t count, const char *token)
{
    bool taken = strcmp(tenants[count].token, token) == 0;
    for (size_t i = 0; i < count; i++)
        taken |= strcmp(tenants[i].token, tenants[count].token) == 0;
    return taken;
}

bool secret_read_tenants(const char *path, const char *token,
                         const struct http_tenant **tenants, size_t *count,
                         struct error *err)
{
    static char text[TENANTS_FILE_MAX];
    static struct http_tenant list[SECRET_TENANTS_MAX];
    struct str all = os_read_text(path, text, sizeof text - 1);
    *tenants = list;
    *count = 0;
    if (all.len == 0 || all.len == sizeof text - 1)
        return error_set(err, "'%s' cannot be read, is empty, or is too large", path);
    for (size_t number = 1, at = 0; at < all.len; number++) {
        const char *end = memchr(text + at, '\n', all.len - at);
        size_t length = end ? (size_t)(end - text) - at : all.len - at;
        char *line = text + at;
        at += length + 1;
        if (str_trim((struct str){line, length}).len == 0 || line[0] == '#')
            continue;
        if (*count == SECRET_TENANTS_MAX)
            return error_set(err, "'%s' has more than %d tenants", path,
                             SECRET_TENANTS_MAX);
        if (!parse_tenant(line, length, &list[*count])) {
            error_set(err, "line %zu of '%s' names no tenant", number, path);
            return error_hint(err, "TOKEN KEY=VALUE; a token has at least %d characters",
                              HTTP_TOKEN_MIN);
        }
        if (is_taken(list, *count, token))
            return error_set(err, "the token in line %zu of '%s' is taken", number, path);
        ++*count;
    }
    return *count || error_set(err, "'%s' names no tenant", path);
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
