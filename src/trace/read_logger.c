/* SPDX-License-Identifier: Apache-2.0 */
/* The logger's text: one instruction per line, its address and its cycle, 16
 * hexadecimal digits each, with or without spaces between them. */
#include "base/lines.h"
#include "base/number.h"
#include "trace/reader.h"

#define DIGITS ((size_t)16)
#define VALID ((uint64_t)1 << 63)

static bool parse_word(struct str digits, uint64_t *word)
{
    return digits.len == DIGITS && digits.ptr[1] != 'x' && number_parse_hex(digits, word);
}

static bool parse_line(struct str line, uint64_t *pc, uint64_t *cycle)
{
    struct str second = str_trim_left(str_skip(line, DIGITS));
    if (!parse_word(str_head(line, DIGITS), pc) || !parse_word(second, cycle))
        return false;
    /* The valid bit may be present: then the other high bits of the address differ
     * from it. */
    if (*pc >> 40 == VALID >> 40)
        *pc &= ~VALID;
    return true;
}

static bool logger_read(struct trace_reader *r, struct error *err)
{
    struct lines lines = lines_of(r->in, err);
    struct str line;
    uint64_t pc, cycle;
    lines.number = r->has_clock;
    while (lines_next(&lines, &line)) {
        line = str_trim(line);
        if (line.len == 0 || line.ptr[0] == '#')
            continue;
        if (parse_line(line, &pc, &cycle))
            trace_reader_add(r, pc, cycle);
        else
            trace_reader_flaw(
                r, lines.cut ? "the last line is truncated" : "not a line of a trace",
                lines.number, 0, line);
        if (r->count == TRACE_BATCH && !trace_reader_flush(r, err))
            return false;
    }
    return !lines.failed;
}

static int logger_probe(struct str head)
{
    uint64_t pc, cycle;
    return parse_line(str_trim(str_cut(&head, '\n')), &pc, &cycle) ? 90 : 0;
}

const struct trace_format trace_format_logger = {
    .name = "logger",
    .summary = "the logger's text: address and cycle, 16 hexadecimal digits each",
    .is_text = true,
    .probe = logger_probe,
    .read = logger_read,
};
