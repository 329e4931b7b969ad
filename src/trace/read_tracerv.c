/* SPDX-License-Identifier: Apache-2.0 */
/* TracerV's text: one instruction per line.
 *
 *   Cycle: 0000000000000337 I1: 0000000000010014
 *
 * The cycle is decimal, the address hexadecimal; numbers of slots may be missing. */
#include "base/number.h"
#include "trace/reader.h"

#define LINE_MAX ((size_t)4096)
#define LINE_SIZE ((size_t)45) /* of a line in TracerV's own layout, with its end */
#define ADDRESS_DIGITS ((size_t)16)

/* --- Lines in TracerV's own layout -------------------------------------------------- */

#define EACH(byte) (0x0101010101010101u * (uint64_t)(byte))

static uint64_t load(const char *text)
{
    uint64_t x;
    memcpy(&x, text, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x;
}

/* Sets the top bit of each byte that is at least `low`; all bytes are below 0x80. */
static uint64_t at_least(uint64_t x, unsigned low)
{
    return x + EACH(0x80 - low);
}

/* Eight decimal digits, the first in the lowest byte: digits become pairs, pairs become
 * fours, fours become eight. */
static bool take_decimal(const char *text, uint64_t *value)
{
    uint64_t x = load(text);
    uint64_t good = at_least(x, '0') & ~at_least(x, '9' + 1) & ~x;
    if ((good & EACH(0x80)) != EACH(0x80))
        return false;
    x -= EACH('0');
    x = x * 10 + (x >> 8);
    x = (((x & 0x000000ff000000ff) * 0x000f424000000064) +
         (((x >> 16) & 0x000000ff000000ff) * 0x0000271000000001)) >>
        32;
    *value = x;
    return true;
}

static bool take_hexadecimal(const char *text, uint64_t *value)
{
    uint64_t x = load(text), low = x | EACH(0x20);
    uint64_t digit = at_least(low, '0') & ~at_least(low, '9' + 1);
    uint64_t letter = at_least(low, 'a') & ~at_least(low, 'f' + 1);
    uint64_t printed = ((x | x >> 1) & EACH(0x20)) << 2; /* bit 5 or 6 of a byte is set */
    if (((digit | letter) & ~x & printed & EACH(0x80)) != EACH(0x80))
        return false;
    x = __builtin_bswap64((x & EACH(0x0f)) + (x >> 6 & EACH(1)) * 9);
    x = (x | x >> 4) & 0x00ff00ff00ff00ff;
    x = (x | x >> 8) & 0x0000ffff0000ffff;
    *value = (x | x >> 16) & 0xffffffff;
    return true;
}

static bool take_line(const char *p, uint64_t *cycle, uint64_t *pc)
{
    uint64_t high, low, upper, lower;
    if (load(p) != load("Cycle: 0") && memcmp(p, "Cycle: ", 7) != 0)
        return false;
    if (p[23] != ' ' || p[24] != 'I' || p[26] != ':' || p[27] != ' ' || p[44] != '\n')
        return false;
    if (!take_decimal(p + 7, &high) || !take_decimal(p + 15, &low) ||
        !take_hexadecimal(p + 28, &upper) || !take_hexadecimal(p + 36, &lower))
        return false;
    *cycle = high * 100000000 + low;
    *pc = upper << 32 | lower;
    return true;
}

/* --- Any line ---------------------------------------------------------------------- */

static bool parse_line(struct str line, uint64_t *cycle, uint64_t *pc)
{
    struct str rest = line;
    if (!str_equal(str_word(&rest), STR("Cycle:")) ||
        !number_parse_u64(str_word(&rest), cycle))
        return false;
    struct str slot = str_word(&rest);
    if (slot.len < 3 || slot.ptr[0] != 'I' || slot.ptr[slot.len - 1] != ':')
        return false;
    return number_parse_hex(str_trim(rest), pc);
}

struct reading {
    struct trace_reader *r;
    uint64_t line;
    size_t digits; /* of the addresses */
};

/* The last address of a file without a line end may lack digits that the others have. */
static bool is_truncated(const struct reading *at, struct str line)
{
    size_t digits = line.len - str_rfind(line, ' ') - 1;
    return digits < (at->digits ? at->digits : ADDRESS_DIGITS);
}

static void read_line(struct reading *at, struct str line, bool cut)
{
    uint64_t cycle, pc;
    line = str_trim(line);
    if (line.len == 0 || line.ptr[0] == '#')
        return;
    bool good = parse_line(line, &cycle, &pc);
    if (good && !(cut && is_truncated(at, line))) {
        at->digits = line.len - str_rfind(line, ' ') - 1;
        trace_reader_add(at->r, pc, cycle);
        return;
    }
    trace_reader_flaw(at->r, cut ? "the last line is truncated" : "not a line of a trace",
                      at->line, 0, line);
}

/* --- All of them ------------------------------------------------------------------- */

/* Processes lines of the window as long as they have TracerV's own layout. */
static void take_lines(struct reading *at)
{
    struct trace_reader *r = at->r;
    struct source *in = r->in;
    const char *p = in->begin;
    size_t room = TRACE_BATCH - r->count, lines = (size_t)(in->end - p) / LINE_SIZE, i;
    uint64_t cycle, pc;
    for (i = 0; i < lines && i < room && take_line(p, &cycle, &pc); i++) {
        trace_reader_add(r, pc, cycle);
        p += LINE_SIZE;
    }
    at->line += i;
    at->digits = i ? ADDRESS_DIGITS : at->digits;
    in->begin += i * LINE_SIZE;
    in->offset += i * LINE_SIZE;
}

/* The next line, in any layout. False at the end. */
static bool next_line(struct reading *at, struct error *err, bool *failed)
{
    struct source *in = at->r->in;
    struct str window = str_span(in->begin, in->end);
    size_t end = str_find(window, '\n');
    while (end == window.len && !in->last && window.len < LINE_MAX) {
        if (!source_more(in, in->begin, err)) {
            *failed = true;
            return false;
        }
        window = str_span(in->begin, in->end);
        end = str_find(window, '\n');
    }
    if (window.len == 0)
        return false;
    at->line++;
    read_line(at, str_head(window, end), end == window.len);
    size_t used = end < window.len ? end + 1 : end;
    in->begin += used;
    in->offset += used;
    return true;
}

static bool tracerv_read(struct trace_reader *r, struct error *err)
{
    struct reading at = {r, r->has_clock ? 1 : 0, 0};
    bool failed = false;
    for (;;) {
        take_lines(&at);
        if (r->count < TRACE_BATCH && !next_line(&at, err, &failed))
            return !failed;
        if (r->count == TRACE_BATCH && !trace_reader_flush(r, err))
            return false;
    }
}

static int tracerv_probe(struct str head)
{
    uint64_t cycle, pc;
    struct str line = str_trim(str_cut(&head, '\n'));
    if (parse_line(line, &cycle, &pc))
        return 100;
    return str_starts(line, STR("Cycle: ")) ? 60 : 0;
}

const struct trace_format trace_format_tracerv = {
    .name = "tracerv",
    .summary = "TracerV text: Cycle: 0000000000000337 I1: 0000000000010014",
    .is_text = true,
    .probe = tracerv_probe,
    .read = tracerv_read,
};
