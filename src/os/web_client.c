/* SPDX-License-Identifier: Apache-2.0 */
#include "os/web_client.h"
#include "base/format.h"
#include <curl/curl.h>
#include <dlfcn.h>
#include <stdlib.h>

#define FILE_NAME "libcurl.so.4"
#define CONNECT_SECONDS 10L
#define SILENCE_SECONDS 60L

/* --- The library ---------------------------------------------------------------------- */

/* Its functions, without the prefix curl_. */
#define FUNCTIONS(X) \
    X(easy_cleanup)  \
    X(easy_getinfo)  \
    X(easy_init)     \
    X(easy_perform)  \
    X(easy_setopt)   \
    X(easy_strerror) \
    X(global_init)   \
    X(slist_append)  \
    X(slist_free_all)

struct library {
/* A parameter that is declared cannot be in parentheses. NOLINTNEXTLINE */
#define MEMBER(name) __typeof__(curl_##name) *name;
    FUNCTIONS(MEMBER)
#undef MEMBER
};

static const struct library *library;

/* POSIX returns functions as object pointers here, which C does not allow to convert. */
static bool find(void *handle, const char *name, void *function)
{
    void *found = dlsym(handle, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

static bool load(struct error *err)
{
    static struct library functions;
    if (library)
        return true;
    void *handle = dlopen(FILE_NAME, RTLD_NOW | RTLD_LOCAL);
    bool whole = handle != NULL;
#define FIND(name) whole = whole && find(handle, "curl_" #name, &functions.name);
    FUNCTIONS(FIND)
#undef FIND
    if (whole && functions.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) {
        library = &functions;
        return true;
    }
    const char *reason = dlerror();
    error_set(err, "cannot load %s, which makes requests by HTTP: %s", FILE_NAME,
              reason ? reason : "a function is missing");
    return error_hint(err, "install the package libcurl4");
}

/* --- A client ------------------------------------------------------------------------- */

struct os_web_client {
    CURL *handle;
    struct curl_slist *plain, *packed; /* the fields of requests */
    char address[512];
    const int *stops;
    const struct os_web_call *call; /* the current one */
    struct os_web_answer *answer;
    size_t text_used;
    char reason[CURL_ERROR_SIZE];
};

/* A reply other than 200 has the reason as text. */
static size_t receive(char *bytes, size_t size, size_t count, void *context)
{
    struct os_web_client *c = context;
    struct str got = {bytes, size * count};
    long status = 0;
    library->easy_getinfo(c->handle, CURLINFO_RESPONSE_CODE, &status);
    if (status == 200)
        return !c->call->take || c->call->take(c->call->context, got) ? got.len : 0;
    size_t room = sizeof c->answer->text - 1 - c->text_used;
    struct str part = str_head(got, room);
    memcpy(c->answer->text + c->text_used, part.ptr, part.len);
    c->text_used += part.len;
    c->answer->text[c->text_used] = '\0';
    return got.len;
}

static int watch(void *context, curl_off_t a, curl_off_t b, curl_off_t d, curl_off_t e)
{
    const struct os_web_client *c = context;
    (void)a, (void)b, (void)d, (void)e;
    return c->stops && __atomic_load_n(c->stops, __ATOMIC_RELAXED) != 0;
}

static bool add_field(struct curl_slist **list, const char *field)
{
    struct curl_slist *longer = library->slist_append(*list, field);
    if (longer)
        *list = longer;
    return longer != NULL;
}

/* "Expect" would cost a round trip for each body. */
static bool add_fields(struct os_web_client *c, const struct os_web_settings *s)
{
    struct curl_slist **lists[] = {&c->plain, &c->packed};
    bool ok = true;
    for (size_t i = 0; ok && i < 2; i++) {
        ok = add_field(lists[i], "Expect:") &&
             add_field(lists[i], "Content-Type: application/octet-stream");
        for (size_t k = 0; ok && k < OS_WEB_FIELDS_MAX && s->fields[k]; k++)
            ok = add_field(lists[i], s->fields[k]);
    }
    return ok && add_field(&c->packed, "Content-Encoding: gzip");
}

static void configure(struct os_web_client *c, const struct os_web_settings *s)
{
    CURL *h = c->handle;
    library->easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
    library->easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
    library->easy_setopt(h, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
    library->easy_setopt(h, CURLOPT_LOW_SPEED_LIMIT, 1L);
    library->easy_setopt(h, CURLOPT_LOW_SPEED_TIME, SILENCE_SECONDS);
    library->easy_setopt(h, CURLOPT_TCP_KEEPALIVE, 1L);
    library->easy_setopt(h, CURLOPT_ERRORBUFFER, c->reason);
    library->easy_setopt(h, CURLOPT_WRITEFUNCTION, receive);
    library->easy_setopt(h, CURLOPT_WRITEDATA, c);
    library->easy_setopt(h, CURLOPT_NOPROGRESS, 0L);
    library->easy_setopt(h, CURLOPT_XFERINFOFUNCTION, watch);
    library->easy_setopt(h, CURLOPT_XFERINFODATA, c);
    if (s->authorities)
        library->easy_setopt(h, CURLOPT_CAINFO, s->authorities);
    if (s->is_local)
        library->easy_setopt(h, CURLOPT_PROXY, "");
}

struct os_web_client *os_web_open(const struct os_web_settings *settings,
                                  struct error *err)
{
    struct os_web_client *c = NULL;
    if (!load(err))
        return NULL;
    c = calloc(1, sizeof *c);
    if (c && (c->handle = library->easy_init()) && add_fields(c, settings)) {
        format_text(c->address, sizeof c->address, "%s", settings->address);
        c->stops = settings->stops;
        configure(c, settings);
        return c;
    }
    os_web_close(c);
    error_memory(err);
    return NULL;
}

void os_web_close(struct os_web_client *c)
{
    if (!c)
        return;
    if (c->handle)
        library->easy_cleanup(c->handle);
    library->slist_free_all(c->plain);
    library->slist_free_all(c->packed);
    free(c);
}

/* --- A request ------------------------------------------------------------------------ */

static bool is_before_sending(CURLcode code)
{
    return code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_COULDNT_RESOLVE_HOST ||
           code == CURLE_COULDNT_CONNECT || code == CURLE_SSL_CONNECT_ERROR ||
           code == CURLE_PEER_FAILED_VERIFICATION;
}

static bool perform(struct os_web_client *c, const struct os_web_call *call,
                    struct os_web_answer *answer, struct error *err)
{
    char url[4096];
    size_t length = format_text(url, sizeof url, "%s%s", c->address, call->path);
    long status = 0;
    *answer = (struct os_web_answer){0};
    if (length + 1 >= sizeof url)
        return error_set(err, "the request is too long");
    c->call = call;
    c->answer = answer;
    c->text_used = 0;
    c->reason[0] = '\0';
    library->easy_setopt(c->handle, CURLOPT_URL, url);
    library->easy_setopt(c->handle, CURLOPT_HTTPHEADER,
                         call->is_packed ? c->packed : c->plain);
    CURLcode code = library->easy_perform(c->handle);
    if (code == CURLE_OK) {
        library->easy_getinfo(c->handle, CURLINFO_RESPONSE_CODE, &status);
        answer->status = (unsigned)status;
        return true;
    }
    answer->is_unsent = is_before_sending(code);
    return error_set(err, "%s: %s", c->address,
                     c->reason[0] ? c->reason : library->easy_strerror(code));
}

bool os_web_post(struct os_web_client *c, const struct os_web_call *call,
                 struct os_web_answer *answer, struct error *err)
{
    library->easy_setopt(c->handle, CURLOPT_POST, 1L);
    library->easy_setopt(c->handle, CURLOPT_POSTFIELDSIZE_LARGE,
                         (curl_off_t)call->body.len);
    library->easy_setopt(c->handle, CURLOPT_POSTFIELDS, call->body.ptr);
    return perform(c, call, answer, err);
}

bool os_web_get(struct os_web_client *c, const struct os_web_call *call,
                struct os_web_answer *answer, struct error *err)
{
    library->easy_setopt(c->handle, CURLOPT_HTTPGET, 1L);
    return perform(c, call, answer, err);
}
