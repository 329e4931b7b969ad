/* SPDX-License-Identifier: Apache-2.0 */
/* The order of contexts over all lanes: a lane waits for contexts of other lanes that
 * happened before its own. */
#include "trace/qemu_reader.h"

/* Maximum number of bytes that wait: more than the rings of the plugin contain. */
#define WAITING_MAX ((size_t)64 << 20)

/* Numbers are counted modulo 2^32. */
static bool is_before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

void qemu_pass_context(struct qemu_reading *q, uint32_t number)
{
    if (!is_before(number, q->context))
        q->context = number + 1;
}

bool qemu_must_wait(const struct qemu_reading *q, const struct qemu_lane *lane)
{
    bool is_context = qemu_has_words(lane) && lane->words[0] > QEMU_RUN_GAP &&
                      lane->words[0] <= QEMU_RUN_LOAD;
    return is_context && lane->context_count == 0 &&
           is_before(q->context, lane->words[3]);
}

/* Stores the rest of the words. */
static void retain(struct qemu_reading *q, struct qemu_lane *lane, struct bytes *b)
{
    struct str rest = bytes_take(b, bytes_left(b));
    output_str(&lane->waiting, rest);
    q->waiting += rest.len;
}

/* The waiting lane with the first context; NULL if no lane waits. */
static struct qemu_lane *first_waiting(const struct qemu_reading *q)
{
    struct qemu_lane *first = NULL;
    for (size_t i = 0; i < q->lane_count; i++) {
        struct qemu_lane *lane = q->lanes[i];
        bool waits = lane->waiting.used > lane->waited || qemu_has_words(lane);
        if (waits && (!first || is_before(lane->words[3], first->words[3])))
            first = lane;
    }
    return first;
}

void qemu_read_waiting(struct qemu_reading *q, bool all)
{
    struct qemu_lane *lane;
    while ((lane = first_waiting(q)) != NULL) {
        if (qemu_must_wait(q, lane)) {
            if (!all && q->waiting <= WAITING_MAX)
                return;
            q->context = lane->words[3]; /* contexts before it are missing in the trace */
        }
        struct output *waiting = &lane->waiting;
        struct bytes b = bytes_of(
            (struct str){waiting->bytes + lane->waited, waiting->used - lane->waited},
            false);
        size_t before = bytes_left(&b);
        qemu_read_words(q, lane, &b);
        bool is_read = tracer_failed(&lane->core->tracer) || bytes_left(&b) < 4;
        size_t read = is_read ? before : before - bytes_left(&b);
        lane->waited += read;
        q->waiting -= read;
        if (is_read)
            waiting->used = lane->waited = 0;
        if (tracer_failed(&lane->core->tracer))
            lane->word_count = 0;
    }
}

bool qemu_read_runs(struct qemu_reading *q, struct qemu_lane *lane, struct bytes *b)
{
    if (qemu_must_wait(q, lane)) {
        retain(q, lane, b);
    } else {
        qemu_read_words(q, lane, b);
        if (qemu_must_wait(q, lane))
            retain(q, lane, b);
    }
    qemu_read_waiting(q, false);
    return !tracer_failed(&lane->core->tracer) && !lane->waiting.failed;
}
