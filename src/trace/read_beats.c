/* SPDX-License-Identifier: Apache-2.0 */
/* TracerV's test output: one beat of 512 bits per line, as 128 hexadecimal digits, the
 * most significant first. So the cycle is last; before it are the instructions 0 to 6.
 * Bit 63 marks a valid instruction. */
#include "base/lines.h"
#include "base/number.h"
#include "trace/reader.h"

#define WORDS 8
#define DIGITS ((size_t)16)
#define VALID ((uint64_t)1 << 63)

/* Word 0 first. */
static bool parse_beat(struct str line, uint64_t words[WORDS])
{
    if (line.len != WORDS * DIGITS)
        return false;
    for (size_t i = 0; i < WORDS; i++) {
        struct str digits = str_head(str_skip(line, (WORDS - 1 - i) * DIGITS), DIGITS);
        if (digits.ptr[1] == 'x' || !number_parse_hex(digits, &words[i]))
            return false;
    }
    return true;
}

static void add_beat(struct trace_reader *r, const uint64_t words[WORDS])
{
    for (size_t i = 1; i < WORDS; i++)
        if (words[i] & VALID)
            trace_reader_add(r, words[i] & ~VALID, words[0]);
}

static bool beats_read(struct trace_reader *r, struct error *err)
{
    struct lines lines = lines_of(r->in, err);
    struct str line;
    uint64_t words[WORDS];
    lines.number = r->has_clock;
    while (lines_next(&lines, &line)) {
        line = str_trim(line);
        if (line.len == 0 || line.ptr[0] == '#')
            continue;
        if (parse_beat(line, words))
            add_beat(r, words);
        else
            trace_reader_flaw(
                r, lines.cut ? "the last line is truncated" : "not a line of a trace",
                lines.number, 0, line);
        if (r->count + WORDS > TRACE_BATCH && !trace_reader_flush(r, err))
            return false;
    }
    return !lines.failed;
}

static int beats_probe(struct str head)
{
    uint64_t words[WORDS];
    return parse_beat(str_trim(str_cut(&head, '\n')), words) ? 95 : 0;
}

const struct trace_format trace_format_beats = {
    .name = "beats",
    .summary = "TracerV's test output: 128 hexadecimal digits a line, a beat of 512 bits",
    .is_text = true,
    .probe = beats_probe,
    .read = beats_read,
};
