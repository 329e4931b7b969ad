/* SPDX-License-Identifier: Apache-2.0 */
#include "base/format.h"
#include "lepd/session.h"
#include "unit.h"

/* Takes all output of the session, in pieces of `piece` bytes. */
static void take(struct lepd_session *s, struct output *to, size_t piece)
{
    struct str pieces[LEPD_PIECES];
    while (lepd_session_output(s, pieces) > 0) {
        struct str part = str_head(pieces[0], piece);
        output_str(to, part);
        lepd_session_sent(s, part.len);
    }
}

/* Sends `text` in pieces; supplies "RESULT\n" for each method that has no constant. */
static struct output exchange(const char *text, size_t piece)
{
    struct lepd_session s = LEPD_SESSION_INIT;
    struct output got = OUTPUT_BUFFER;
    struct str rest = str_of(text);
    struct lepd_text *result = lepd_text_create(STR("RESULT\n"));
    while (rest.len && !s.ends) {
        struct str part = str_head(str_head(rest, piece), lepd_session_room(&s));
        lepd_session_receive(&s, part);
        rest = str_skip(rest, part.len);
        take(&s, &got, piece);
        while (s.waiting) {
            lepd_session_supply(&s, result);
            take(&s, &got, piece);
        }
    }
    assert_false(s.failed);
    lepd_session_deinit(&s);
    assert_int_equal(result->references, 1);
    lepd_text_release(result);
    return got;
}

static void expect(const char *request, const char *reply)
{
    static const size_t sizes[] = {1, 2, 7, 100000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct output got = exchange(request, sizes[i]);
        assert_str(output_contents(&got), reply);
        output_deinit(&got);
    }
}

#define HELLO "{\n\t\"result\":\t\"Hello!lepdendstring\"\n}\n"
#define MISSING                                                                   \
    "{\n\t\"error\":\t{\n\t\t\"code\":\t-32601,\n\t\t\"message\":\t\"Method not " \
    "found.\"\n\t}"
#define INVALID                                                                         \
    "{\n\t\"error\":\t{\n\t\t\"code\":\t-32600,\n\t\t\"message\":\t\"The JSON sent is " \
    "not a "                                                                            \
    "valid Request object.\"\n\t}"
#define BROKEN                                                                      \
    "{\n\t\"error\":\t{\n\t\t\"code\":\t-32700,\n\t\t\"message\":\t\"Parse error. " \
    "Invalid "                                                                      \
    "JSON was received by the server.\"\n\t}\n}\n"

static void replies_have_the_form_that_lepv_reads(void **state)
{
    (void)state;
    expect("{\"method\": \"SayHello\"}", HELLO);
    expect("{\"method\":\"SayHello\",\"id\":7,\"params\":[]}",
           "{\n\t\"result\":\t\"Hello!lepdendstring\",\n\t\"id\":\t7\n}\n");
    expect(
        "{\"id\":\"a\\\"\\u0007b\",\"params\":{\"method\":1},\"method\":\"SayHello\"}",
        "{\n\t\"result\":\t\"Hello!lepdendstring\",\n\t\"id\":\t\"a\\\"\\u0007b\"\n}\n");
    expect("{\"method\":\"GetProcStat\"}",
           "{\n\t\"result\":\t\"RESULT\\nlepdendstring\"\n}\n");
    expect("{\"method\":\"Nothing\"}", MISSING "\n}\n");
    expect("{\"method\":\"Nothing\",\"id\":1.50}", MISSING ",\n\t\"id\":\t1.50\n}\n");
}

static void requests_are_pipelined(void **state)
{
    (void)state;
    expect("{\"method\":\"SayHello\"}{\"method\":\"GetProcStat\",\"id\":1}\r\n"
           "{\"method\":\"X\"} {\"method\":\"SayHello\"}",
           HELLO
           "{\n\t\"result\":\t\"RESULT\\nlepdendstring\",\n\t\"id\":\t1\n}\n" MISSING
           "\n}\n" HELLO);
}

static void other_json_is_not_a_request(void **state)
{
    (void)state;
    static const char *const requests[] = {"{}",
                                           "[]",
                                           "[1,{\"method\":\"SayHello\"}]",
                                           "5 ",
                                           "-1.5e3,",
                                           "true ",
                                           "\"a]}\"",
                                           "{\"method\":5}",
                                           "{\"method\":\"SayHello\",\"id\":{}}"};
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        struct output got = exchange(requests[i], 3);
        if (!str_starts(output_contents(&got), STR(INVALID)))
            fail_msg("%s: %.*s", requests[i], STR_ARG(output_contents(&got)));
        output_deinit(&got);
    }
}

static void broken_json_ends_the_connection(void **state)
{
    (void)state;
    static const char *const requests[] = {"hello",
                                           "}",
                                           "]",
                                           "{]",
                                           "{\"method\" \"x\"}",
                                           "{\"method\":\"SayHello\",}",
                                           "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
                                           "\x80",
                                           "{\"a\":1 2}",
                                           "tru ",
                                           "-- "};
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        expect(requests[i], BROKEN);
    expect("{\"method\":\"SayHello\"}x{\"method\":\"SayHello\"}", HELLO BROKEN);
}

static void long_requests_are_refused(void **state)
{
    (void)state;
    struct lepd_session s = LEPD_SESSION_INIT;
    struct str pieces[LEPD_PIECES];
    lepd_session_receive(&s, STR("{\"method\":\""));
    while (lepd_session_room(&s))
        lepd_session_receive(&s,
                             STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
    assert_true(s.ends && !s.failed);
    assert_int_equal(lepd_session_output(&s, pieces), 1);
    assert_str(pieces[0], BROKEN);
    lepd_session_deinit(&s);
}

/* A client that sends requests and reads no replies cannot make the session grow. */
static void replies_are_bounded(void **state)
{
    (void)state;
    struct lepd_session s = LEPD_SESSION_INIT;
    struct str pieces[LEPD_PIECES];
    size_t received = 0;
    static const char request[] = "{\"method\":\"SayHello\"}";
    while (lepd_session_room(&s) >= sizeof request) {
        lepd_session_receive(&s, STR(request));
        received++;
    }
    assert_int_equal(lepd_session_output(&s, pieces), 1);
    assert_true(pieces[0].len < 2 * LEPD_REPLIES_MAX);
    struct output got = OUTPUT_BUFFER;
    take(&s, &got, 1000);
    assert_int_equal(got.used, received * (sizeof HELLO - 1)); /* none is lost */
    output_deinit(&got);
    lepd_session_deinit(&s);
}

/* An idle connection has no buffers. */
static void idle_sessions_hold_nothing(void **state)
{
    (void)state;
    struct lepd_session s = LEPD_SESSION_INIT;
    struct output got = OUTPUT_BUFFER;
    lepd_session_receive(&s, STR("{\"method\":\"SayHello\"}"));
    take(&s, &got, 1000);
    assert_null(s.input.bytes);
    assert_null(s.before.bytes);
    assert_null(s.after.bytes);
    output_deinit(&got);
    lepd_session_deinit(&s);
}

static void unavailable_results(void **state)
{
    (void)state;
    struct lepd_session s = LEPD_SESSION_INIT;
    struct output got = OUTPUT_BUFFER;
    lepd_session_receive(&s, STR("{\"method\":\"GetProcSlabinfo\"}"
                                 "{\"method\":\"GetProcSlabinfo\",\"id\":2}"));
    assert_string_equal(s.waiting->name, "GetProcSlabinfo");
    lepd_session_supply(&s, NULL);
    assert_non_null(s.waiting);
    lepd_session_supply(&s, NULL);
    assert_null(s.waiting);
    take(&s, &got, 1000);
    assert_str(output_contents(&got), "{\n}\n{\n\t\"id\":\t2\n}\n");
    output_deinit(&got);
    lepd_session_deinit(&s);
}

/* LEPV receives pieces of 2,048 bytes and needs the end in one of them. */
static void the_end_is_in_one_piece(void **state)
{
    (void)state;
    static char text[5000];
    memset(text, 'x', sizeof text);
    for (size_t length = 0; length < sizeof text; length++) {
        struct output o = OUTPUT_BUFFER;
        lepd_reply_begin(&o, length, "");
        output_bytes(&o, text, length);
        size_t end = o.used;
        lepd_reply_end(&o, "");
        assert_int_equal(end / LEPD_CLIENT_PIECE, (o.used - 1) / LEPD_CLIENT_PIECE);
        if (length < 2000)
            assert_true(str_starts(output_contents(&o), STR("{\n\t\"result\":\t\"")));
        output_deinit(&o);
    }
}

static void text_is_escaped(void **state)
{
    (void)state;
    struct output o = OUTPUT_BUFFER;
    lepd_escape(&o, (struct str){"a\"\\\n\t\x01\x1b\0\xc3\xa9\xff\xe2\x82", 13});
    assert_str(output_contents(&o), "a\\\"\\\\\\n\\t\\u0001\\u001b\\u0000\xc3\xa9"
                                    "\xef\xbf\xbd\xef\xbf\xbd");
    output_deinit(&o);
}

static void all_methods_of_lepd(void **state)
{
    (void)state;
    static const char *const names[] = {"SayHello",       "GetProcVmallocinfo",
                                        "GetCmdMpstat-I", "GetCmdPerfFlame",
                                        "GetCmdCgtop",    "GetCpuInfo"};
    struct output got = exchange("{\"method\":\"ListAllMethod\"}", 1000);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_true(str_has(output_contents(&got), str_of(names[i])));
    assert_true(str_has(output_contents(&got), STR(" lepdendstring")));
    output_deinit(&got);
    assert_int_equal(lepd_method_count, 32);
    assert_null(lepd_method_find(STR("")));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        UNIT(replies_have_the_form_that_lepv_reads),
        UNIT(requests_are_pipelined),
        UNIT(other_json_is_not_a_request),
        UNIT(broken_json_ends_the_connection),
        UNIT(long_requests_are_refused),
        UNIT(replies_are_bounded),
        UNIT(idle_sessions_hold_nothing),
        UNIT(unavailable_results),
        UNIT(the_end_is_in_one_piece),
        UNIT(text_is_escaped),
        UNIT(all_methods_of_lepd),
    };
    return UNITS_RUN(tests);
}
