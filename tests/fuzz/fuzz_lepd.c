/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes LEPD connections: the replies do not depend on how the bytes of the requests are
 * split, and a session's memory is bounded. */
#include "fuzz.h"
#include "lepd/session.h"
#include <string.h>

FUZZ_ONE_WAY("lepd")

#define BUFFERS_MAX (2 * (LEPD_REQUEST_MAX + LEPD_REPLIES_MAX))

static void take(struct lepd_session *s, struct output *to, size_t piece)
{
    struct str pieces[LEPD_PIECES];
    size_t count;
    while ((count = lepd_session_output(s, pieces)) > 0) {
        struct str part = str_head(pieces[0], piece);
        CHECK(count <= LEPD_PIECES && part.len > 0);
        output_str(to, part);
        lepd_session_sent(s, part.len);
    }
}

static void exchange(struct str bytes, size_t piece, struct output *to)
{
    struct lepd_session s = LEPD_SESSION_INIT;
    struct lepd_text *text = lepd_text_create(STR("text\n"));
    CHECK(text != NULL);
    while (bytes.len && !s.ends) {
        struct str part = str_head(str_head(bytes, piece), lepd_session_room(&s));
        CHECK(part.len > 0);
        lepd_session_receive(&s, part);
        bytes = str_skip(bytes, part.len);
        take(&s, to, piece);
        while (s.waiting) {
            lepd_session_supply(&s, s.waiting->is_slow ? NULL : text);
            take(&s, to, piece);
        }
        CHECK(s.input.used + s.before.used + s.after.used <= BUFFERS_MAX);
    }
    CHECK(!s.failed);
    lepd_session_deinit(&s);
    CHECK(text->references == 1);
    lepd_text_release(text);
}

int fuzz_one(const uint8_t *data, size_t size)
{
    struct str bytes = {(const char *)data, size};
    struct output one = OUTPUT_BUFFER, two = OUTPUT_BUFFER;
    exchange(bytes, 1 + size / 3, &one);
    exchange(bytes, 1, &two);
    CHECK(str_equal(output_contents(&one), output_contents(&two)));
    output_deinit(&one);
    output_deinit(&two);
    return 0;
}
