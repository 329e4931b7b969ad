/* SPDX-License-Identifier: Apache-2.0 */
#include "http/access.h"
#include "base/format.h"
#include "os/http.h"
#include "os/machine.h"

static const char *field(struct MHD_Connection *c, const char *name)
{
    const char *value = http_library->lookup_connection_value(c, MHD_HEADER_KIND, name);
    return value ? value : "";
}

/* True if the Host field is a name of this machine. */
static bool has_local_host(struct MHD_Connection *c)
{
    char head[512];
    struct http_request r;
    size_t length = format_text(head, sizeof head, "GET / HTTP/1.1\r\nHost: %s\r\n",
                                field(c, "Host"));
    return length + 1 < sizeof head && http_parse((struct str){head, length}, &r) &&
           r.host;
}

/* True if no page of another site makes the request. */
static bool has_own_origin(const struct http_access *a, struct MHD_Connection *c)
{
    char own[512];
    const char *origin = field(c, "Origin");
    format_text(own, sizeof own, "%s://%s", a->is_encrypted ? "https" : "http",
                field(c, "Host"));
    return !origin[0] || strcmp(origin, own) == 0;
}

static void cookie_name(const struct http_access *a, char *name, size_t size)
{
    format_text(name, size, "stoke-live-%u", a->port);
}

static bool is_token(const struct http_access *a, struct str given)
{
    return http_same_secret(given, str_of(a->token));
}

/* A token of the server, or of a tenant. All are compared, so that the time says nothing. */
static bool is_any_token(const struct http_access *a, struct str given,
                         const struct http_tenant **tenant)
{
    for (size_t i = 0; i < a->tenant_count; i++)
        if (http_same_secret(given, str_of(a->tenants[i].token)))
            *tenant = &a->tenants[i];
    return is_token(a, given) || *tenant;
}

static bool has_password(const struct http_access *a, struct MHD_Connection *c,
                         const struct http_tenant **tenant)
{
    char *password = NULL;
    char *user = http_library->basic_auth_get_username_password(c, &password);
    bool ok = password && is_any_token(a, str_of(password), tenant);
    http_library->free(user);
    http_library->free(password);
    return ok;
}

static bool has_token(const struct http_access *a, struct MHD_Connection *c,
                      const struct http_tenant **tenant)
{
    struct str given = str_of(field(c, "Authorization"));
    char name[32];
    if (!a->token)
        return true;
    if (str_starts(given, STR("Bearer ")))
        return is_any_token(a, str_skip(given, sizeof "Bearer " - 1), tenant);
    if (str_starts(given, STR("Basic ")))
        return has_password(a, c, tenant);
    cookie_name(a, name, sizeof name);
    const char *cookie = http_library->lookup_connection_value(c, MHD_COOKIE_KIND, name);
    return cookie && is_token(a, str_of(cookie));
}

unsigned http_access_check(const struct http_access *a, struct MHD_Connection *c,
                           const struct http_tenant **tenant, const char **why)
{
    *tenant = NULL;
    if (a->is_local && !has_local_host(c)) {
        *why = "Not served by this name: use localhost or 127.0.0.1.\n";
        return MHD_HTTP_MISDIRECTED_REQUEST;
    }
    if (!has_own_origin(a, c)) {
        *why = "Pages of other sites have no access.\n";
        return MHD_HTTP_FORBIDDEN;
    }
    if (has_token(a, c, tenant))
        return 0;
    *why = "The token is missing or wrong. In a browser: open /?token=TOKEN once.\n";
    return MHD_HTTP_UNAUTHORIZED;
}

bool http_access_invite(struct http_access *a, char text[HTTP_INVITE_SIZE])
{
    struct http_invite *i = &a->invites[a->invited++ % HTTP_INVITES];
    if (!os_random_text(text, HTTP_INVITE_SIZE))
        return false;
    i->until = os_clock_monotonic() + HTTP_INVITE_SECONDS * (uint64_t)1000000000;
    format_text(i->text, sizeof i->text, "%s", text);
    return true;
}

/* Each works once. */
static bool is_invited(struct http_access *a, struct str given)
{
    uint64_t now = os_clock_monotonic();
    for (size_t at = 0; at < HTTP_INVITES; at++) {
        struct http_invite *i = &a->invites[at];
        if (!i->text[0] || now > i->until || !http_same_secret(given, str_of(i->text)))
            continue;
        i->text[0] = '\0';
        return true;
    }
    return false;
}

bool http_access_by_address(struct http_access *a, struct MHD_Connection *c, char *cookie,
                            size_t size)
{
    char name[32];
    const char *given =
        http_library->lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "token");
    if (!a->token || !given ||
        !(is_token(a, str_of(given)) || is_invited(a, str_of(given))))
        return false;
    cookie_name(a, name, sizeof name);
    size_t length =
        format_text(cookie, size, "%s=%s; Path=/; HttpOnly; SameSite=Strict%s", name,
                    a->token, a->is_encrypted ? "; Secure" : "");
    return length + 1 < size;
}
