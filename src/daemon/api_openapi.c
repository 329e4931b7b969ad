/* SPDX-License-Identifier: Apache-2.0 */
/* The description of the HTTP interface (OpenAPI 3.1), from the tables of routes and arguments. */
#include "codec/json.h"
#include "daemon/api_parts.h"

struct argument {
    const char *name, *type, *summary;
};

static const struct argument arguments[] = {
#define ARGUMENT(name, type, summary) {name, type, summary},
#include "daemon/api_arguments.def"
#undef ARGUMENT
};

static void put_text(struct json_writer *w, const char *key, const char *text)
{
    json_member_str(w, key, str_of(text));
}

static void begin_member(struct json_writer *w, const char *key, enum json_kind kind)
{
    json_put_key(w, key);
    json_begin(w, kind);
}

/* --- Arguments -------------------------------------------------------------------------- */

/* The next argument of a list of names; NULL at the end. */
static const struct argument *next_argument(struct str *list, bool *several)
{
    *list = str_trim(*list);
    struct str name = str_cut(list, ' '), end = STR("[]");
    *several = str_ends(name, end);
    if (*several)
        name.len -= end.len;
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++)
        if (str_equal(name, str_of(arguments[i].name)))
            return &arguments[i];
    return NULL;
}

static void put_schema(struct json_writer *w, const struct argument *a, bool several)
{
    if (several) {
        put_text(w, "type", "array");
        begin_member(w, "items", JSON_OBJECT);
    }
    put_text(w, "type", a->type);
    if (several)
        json_end(w, JSON_OBJECT);
}

static void put_parameters(struct json_writer *w, const struct api_route *route)
{
    const struct argument *a;
    struct str list = str_of(route->arguments);
    bool several;
    begin_member(w, "parameters", JSON_ARRAY);
    if (strchr(route->path, '*')) {
        json_begin(w, JSON_OBJECT);
        put_text(w, "name", "method");
        put_text(w, "in", "path");
        json_put_key(w, "required");
        json_put_bool(w, true);
        begin_member(w, "schema", JSON_OBJECT);
        put_text(w, "type", "string");
        json_end(w, JSON_OBJECT);
        json_end(w, JSON_OBJECT);
    }
    while (!str_starts(list, STR("{")) && (a = next_argument(&list, &several))) {
        json_begin(w, JSON_OBJECT);
        put_text(w, "name", a->name);
        put_text(w, "in", "query");
        put_text(w, "description", a->summary);
        begin_member(w, "schema", JSON_OBJECT);
        put_schema(w, a, several);
        json_end(w, JSON_OBJECT);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
}

/* The body of a POST: an object in JSON. */
static void put_body(struct json_writer *w, struct str list)
{
    const struct argument *a;
    bool several;
    if (!str_starts(list, STR("{")))
        return;
    list = str_head(str_skip(list, 1), list.len - 2);
    begin_member(w, "requestBody", JSON_OBJECT);
    begin_member(w, "content", JSON_OBJECT);
    begin_member(w, "application/json", JSON_OBJECT);
    begin_member(w, "schema", JSON_OBJECT);
    put_text(w, "type", "object");
    begin_member(w, "properties", JSON_OBJECT);
    while ((a = next_argument(&list, &several))) {
        begin_member(w, a->name, JSON_OBJECT);
        put_text(w, "description", a->summary);
        put_schema(w, a, several);
        json_end(w, JSON_OBJECT);
    }
    for (int i = 0; i < 5; i++)
        json_end(w, JSON_OBJECT);
}

/* --- Routes ----------------------------------------------------------------------------- */

static void put_response(struct json_writer *w, const char *status,
                         const char *description, const char *type)
{
    begin_member(w, status, JSON_OBJECT);
    put_text(w, "description", description);
    begin_member(w, "content", JSON_OBJECT);
    begin_member(w, type, JSON_OBJECT);
    for (int i = 0; i < 3; i++)
        json_end(w, JSON_OBJECT);
}

/* The asterisk at the end becomes {method}. */
static void put_path(struct json_writer *w, const char *path)
{
    char name[128];
    size_t length = strlen(path);
    bool all = path[length - 1] == '*';
    format_text(name, sizeof name, "%.*s%s", (int)(length - all), path,
                all ? "{method}" : "");
    json_put_key(w, name);
}

static void put_route(struct json_writer *w, const struct api_route *route)
{
    put_path(w, route->path);
    json_begin(w, JSON_OBJECT);
    begin_member(w, strcmp(route->method, "GET") == 0 ? "get" : "post", JSON_OBJECT);
    put_text(w, "operationId", route->name);
    put_text(w, "summary", route->summary);
    put_parameters(w, route);
    put_body(w, str_of(route->arguments));
    begin_member(w, "responses", JSON_OBJECT);
    put_response(w, "200", "the reply", route->type);
    put_response(w, "default", "what failed, and what to try", "text/plain");
    for (int i = 0; i < 3; i++)
        json_end(w, JSON_OBJECT);
}

void api_openapi(struct daemon_api *api, const struct http_query *q, struct http_reply *r)
{
    struct json_writer w = {.out = &r->body};
    (void)q;
    r->type = "application/json";
    json_begin(&w, JSON_OBJECT);
    put_text(&w, "openapi", "3.1.0");
    begin_member(&w, "info", JSON_OBJECT);
    put_text(&w, "title", api->recording ? "stoke daemon" : "stoke server");
    put_text(&w, "version", STOKE_VERSION);
    json_end(&w, JSON_OBJECT);
    begin_member(&w, "paths", JSON_OBJECT);
    for (size_t i = 0; api_route_at(i); i++)
        if (api_serves(api, api_route_at(i)))
            put_route(&w, api_route_at(i));
    json_end(&w, JSON_OBJECT);
    json_end(&w, JSON_OBJECT);
}
