/* SPDX-License-Identifier: Apache-2.0 */
#include "base/number.h"
#include "store/clickhouse/parts.h"
#include <stdlib.h>

#define RECORD_MAX ((size_t)64 << 20)
#define STATUS_OK 200
#define STATUS_DENIED 401

/* Errors of the server (dbms/src/Common/ErrorCodes.cpp, stable numbers). */
enum {
    NO_TABLE = 60,
    NO_DATABASE = 81,
    READ_ONLY = 164,
    NO_USER = 192,
    BAD_PASSWORD = 193
};

bool clickhouse_connect(struct clickhouse_client *c, const struct clickhouse_address *a,
                        const int *stops, struct error *err)
{
    char user[sizeof a->user + 32], key[sizeof a->password + 32];
    struct os_web_settings s = {.address = a->origin,
                                .authorities = a->authorities[0] ? a->authorities : NULL,
                                .is_local = a->is_local,
                                .stops = stops,
                                .fields = {user, a->password[0] ? key : NULL}};
    format_text(user, sizeof user, "X-ClickHouse-User: %s", a->user);
    format_text(key, sizeof key, "X-ClickHouse-Key: %s", a->password);
    c->address = a;
    c->web = os_web_open(&s, err);
    return c->web != NULL;
}

void clickhouse_disconnect(struct clickhouse_client *c)
{
    os_web_close(c->web);
    c->web = NULL;
}

/* --- Failures --------------------------------------------------------------------------- */

/* "Code: 60, e.displayText() = DB::Exception: Table s.t doesn't exist., e.what() = ..." */
static struct str reason_of(const char *text, unsigned *code)
{
    struct str reason = str_trim(str_of(text)), head = STR("Code: ");
    static const char mark[] = "Exception: ";
    uint64_t number = 0;
    if (str_starts(reason, head)) {
        struct str digits = str_skip(reason, head.len);
        size_t length = 0;
        while (length < digits.len && byte_is_digit(digits.ptr[length]))
            length++;
        if (number_parse_u64(str_head(digits, length), &number))
            *code = (unsigned)number;
    }
    size_t at = str_search(reason, str_of(mark));
    if (at < reason.len)
        reason = str_skip(reason, at + sizeof mark - 1);
    return str_head(reason, str_search(reason, STR(", e.what()")));
}

static bool refused(const struct clickhouse_client *c, const struct os_web_answer *answer,
                    struct clickhouse_failure *failure, struct error *err)
{
    struct clickhouse_failure ignored = {0};
    failure = failure ? failure : &ignored;
    struct str reason = reason_of(answer->text, &failure->code);
    error_set(err, "%s: %.*s (status %u)", c->address->origin,
              STR_ARG(reason.len ? reason : STR("no reason")), answer->status);
    switch (failure->code) {
    case NO_TABLE:
    case NO_DATABASE:
        return error_hint(err, "stoke store init --store ADDRESS creates the tables");
    case READ_ONLY:
        return error_hint(err, "use a user that may write");
    case NO_USER:
    case BAD_PASSWORD:
        break;
    default:
        if (answer->status != STATUS_DENIED)
            return false;
    }
    return error_hint(err,
                      "check the user, and the password in STOKE_CLICKHOUSE_PASSWORD or "
                      "?password-file=FILE");
}

/* --- Requests --------------------------------------------------------------------------- */

/* Statements are constants; everything but letters and digits is written as %XX. */
static void put_escaped(struct output *o, const char *text)
{
    for (; *text; text++) {
        if (byte_is_word(*text))
            output_char(o, *text);
        else
            output_format(o, "%%%02x", (unsigned char)*text);
    }
}

static bool post(struct clickhouse_client *c, bool in_database, const char *statement,
                 struct os_web_call *call, struct clickhouse_failure *failure,
                 struct error *err)
{
    struct output path = OUTPUT_BUFFER;
    struct os_web_answer answer = {0};
    output_text(&path, "/?wait_end_of_query=1");
    if (in_database)
        output_format(&path, "&database=%s", c->address->database);
    if (statement) {
        output_text(&path, "&query=");
        put_escaped(&path, statement);
    }
    output_char(&path, '\0');
    call->path = path.bytes;
    bool ok = !path.failed ? os_web_post(c->web, call, &answer, err) : error_memory(err);
    output_deinit(&path);
    if (failure)
        failure->is_unsent = answer.is_unsent;
    if (!ok)
        return answer.is_unsent
                   ? error_hint(err, "is the server running, and the address right?")
                   : false;
    return answer.status == STATUS_OK || refused(c, &answer, failure, err);
}

bool clickhouse_run(struct clickhouse_client *c, bool in_database, const char *sql,
                    struct error *err)
{
    struct os_web_call call = {.body = str_of(sql)};
    return post(c, in_database, NULL, &call, NULL, err);
}

bool clickhouse_insert(struct clickhouse_client *c, const char *statement,
                       struct str packed, struct clickhouse_failure *failure,
                       struct error *err)
{
    struct os_web_call call = {.body = packed, .is_packed = true};
    *failure = (struct clickhouse_failure){0};
    return post(c, true, statement, &call, failure, err);
}

/* --- Results ---------------------------------------------------------------------------- */

struct result {
    clickhouse_record *record;
    void *context;
    struct error *err;
    char *bytes; /* that were received and not read */
    size_t used, cap;
    bool failed;
};

/* Reads all whole records. */
static bool read_records(struct result *r)
{
    struct bytes b = bytes_of((struct str){r->bytes, r->used}, false);
    const char *whole = b.at;
    while (b.at < b.end) {
        if (!r->record(r->context, &b, r->err))
            return false;
        if (b.failed)
            break;
        whole = b.at;
    }
    size_t rest = (size_t)(b.end - whole);
    memmove(r->bytes, whole, rest);
    r->used = rest;
    return rest <= RECORD_MAX ||
           error_set(r->err, "the server sent a record that is too long");
}

static bool receive(void *context, struct str bytes)
{
    struct result *r = context;
    size_t want = r->used + bytes.len;
    if (want > r->cap) {
        size_t cap = want * 2;
        char *grown = realloc(r->bytes, cap);
        if (!grown) {
            r->failed = true;
            return error_memory(r->err);
        }
        r->bytes = grown;
        r->cap = cap;
    }
    memcpy(r->bytes + r->used, bytes.ptr, bytes.len);
    r->used = want;
    r->failed = !read_records(r);
    return !r->failed;
}

bool clickhouse_query(struct clickhouse_client *c, const char *sql,
                      clickhouse_record *record, void *context, struct error *err)
{
    struct error own;
    struct result r = {.record = record, .context = context, .err = &own};
    struct os_web_call call = {.body = str_of(sql), .take = receive, .context = &r};
    bool ok = post(c, true, NULL, &call, NULL, err);
    if (r.failed)
        *err = own;
    else if (ok && r.used)
        ok = error_set(err, "%s: the reply is truncated", c->address->origin);
    free(r.bytes);
    return ok && !r.failed;
}

static bool take_number(void *context, struct bytes *b, struct error *err)
{
    (void)err;
    uint64_t number = bytes_u64(b);
    if (!b->failed)
        *(uint64_t *)context = number;
    return true;
}

bool clickhouse_number(struct clickhouse_client *c, const char *sql, uint64_t *number,
                       struct error *err)
{
    *number = 0;
    return clickhouse_query(c, sql, take_number, number, err);
}
