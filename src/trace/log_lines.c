/* SPDX-License-Identifier: Apache-2.0 */
#include "base/number.h"
#include "model/profile.h"
#include "trace/log.h"

/* --- Words --------------------------------------------------------------------------- */

#define CORE_MAX 65535

/* Removes decimal digits from *rest and parses them. False if there are none, or too
 * many. */
static bool take_decimal(struct str *rest, uint64_t *value)
{
    size_t n = 0;
    while (n < rest->len && byte_is_digit(rest->ptr[n]))
        n++;
    struct str digits = str_head(*rest, n);
    *rest = str_skip(*rest, n);
    return number_parse_u64(digits, value);
}

/* Removes hexadecimal digits from *rest, and returns their number. */
static size_t take_hex(struct str *rest, uint64_t *value)
{
    size_t n = 0;
    while (n < rest->len && byte_is_hex(rest->ptr[n]))
        n++;
    if (n == 0 || n > 16 || !number_parse_hex(str_head(*rest, n), value))
        return 0;
    *rest = str_skip(*rest, n);
    return n;
}

static bool take(struct str *rest, struct str literal)
{
    if (!str_starts(*rest, literal))
        return false;
    *rest = str_skip(*rest, literal.len);
    return true;
}

static void take_spaces(struct str *rest)
{
    *rest = str_trim_left(*rest);
}

static bool take_core(struct str *rest, struct log_line *out)
{
    uint64_t core;
    if (!take_decimal(rest, &core) || core > CORE_MAX)
        return false;
    out->core = (int64_t)core;
    return true;
}

bool log_parse_memory(struct str rest, uint64_t *address)
{
    static const struct str marks[] = {
        {" mem ", 5}, {" PA:", 4}, {", load, ", 8}, {", store, ", 9}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t at = str_search(rest, marks[i]);
        if (at == rest.len)
            continue;
        struct str digits = str_skip(rest, at + marks[i].len);
        take(&digits, STR("0x"));
        return take_hex(&digits, address) > 0;
    }
    return false;
}

static void set_pc(struct log_line *out, uint64_t pc, size_t digits)
{
    out->pc = pc;
    out->is_32 = digits <= 8;
}

/* --- Spike --------------------------------------------------------------------------- */

/* "0x0000000080000000 (0x00000297)" */
static bool take_address_and_word(struct str *rest, struct log_line *out)
{
    uint64_t pc, bits;
    size_t digits;
    if (!take(rest, STR("0x")) || (digits = take_hex(rest, &pc)) == 0)
        return false;
    take_spaces(rest);
    if (!take(rest, STR("(0x")) || !take_hex(rest, &bits) || !take(rest, STR(")")))
        return false;
    set_pc(out, pc, digits);
    out->bits = (uint32_t)bits;
    out->rest = *rest;
    return true;
}

/* The part after "core   0: ". */
static enum log_kind parse_core_line(struct str rest, struct log_line *out)
{
    if (str_starts(rest, STR("0x")))
        return take_address_and_word(&rest, out) ? LOG_DISASSEMBLY : LOG_NOTE;
    if (take(&rest, STR("Executed "))) /* "Executed 3e8 times", in hexadecimal */
        return take_hex(&rest, &out->times) ? LOG_REPEAT : LOG_NOTE;
    bool has_privilege = rest.len > 2 && byte_is_digit(rest.ptr[0]) && rest.ptr[1] == ' ';
    if (!has_privilege)
        return LOG_NOTE; /* ">>>>  main", "exception trap_...", "tval 0x..." */
    rest = str_trim_left(str_skip(rest, 2));
    return take_address_and_word(&rest, out) ? LOG_INSTRUCTION : LOG_NOTE;
}

enum log_kind log_parse_spike(struct str line, struct log_line *out)
{
    struct str rest = str_trim_left(line);
    *out = (struct log_line){.core = ID_NONE};
    if (take(&rest, STR("core"))) {
        take_spaces(&rest);
        if (take(&rest, STR("INTERRUPT")))
            take_spaces(&rest);
        if (!take_core(&rest, out) || !take(&rest, STR(":")))
            return LOG_OTHER;
        take_spaces(&rest);
        return parse_core_line(rest, out);
    }
    bool has_privilege =
        rest.len > 2 && rest.ptr[0] >= '0' && rest.ptr[0] <= '3' && rest.ptr[1] == ' ';
    if (!has_privilege)
        return LOG_OTHER;
    rest = str_trim_left(str_skip(rest, 2));
    return take_address_and_word(&rest, out) ? LOG_INSTRUCTION : LOG_OTHER;
}

/* --- Columns ------------------------------------------------------------------------- */

#define COLUMNS_MAX 8

/* The first words of a line, without bars and trap marks. */
static size_t split(struct str line, struct str words[COLUMNS_MAX])
{
    size_t count = 0;
    while (count < COLUMNS_MAX) {
        struct str word = str_word(&line);
        if (word.len == 0)
            break;
        if (str_equal(word, STR("|")) || str_equal(word, STR("-->")) ||
            str_equal(word, STR("==>")))
            continue;
        words[count++] = word;
    }
    return count;
}

static bool is_decimal(struct str word, uint64_t *value)
{
    if (word.len > 1 && word.ptr[word.len - 1] == '|')
        word.len--;
    return number_parse_u64(word, value);
}

/* 0x and digits, or one of these numbers of digits. Returns the number of digits, or
 * 0. */
static size_t parse_hex_word(struct str word, size_t count, size_t other_count,
                             uint64_t *value)
{
    bool marked = word.len > 2 && word.ptr[0] == '0' && word.ptr[1] == 'x';
    size_t digits = marked ? word.len - 2 : word.len;
    bool fits = marked ? digits <= 16 : digits == count || digits == other_count;
    return fits && number_parse_hex(word, value) ? digits : 0;
}

static bool is_privilege(struct str word)
{
    struct str letters = STR("MSUDH");
    return word.len == 1 && str_find(letters, word.ptr[0]) < letters.len;
}

/* The part after the cycle: [privilege] address [flag or privilege] word. */
static bool parse_from_address(const struct str *words, size_t count,
                               struct log_line *out)
{
    uint64_t pc, bits;
    size_t i = 0, digits;
    if (i < count && is_privilege(words[i]))
        i++;
    if (i >= count || (digits = parse_hex_word(words[i++], 8, 16, &pc)) == 0)
        return false;
    bool has_flag = i < count && words[i].len == 1 &&
                    (is_privilege(words[i]) || byte_is_digit(words[i].ptr[0]));
    i += has_flag;
    if (i >= count)
        return false;
    struct str word = words[i];
    out->is_open = i + 1 == count && word.ptr[0] != '(';
    if (word.len > 2 && word.ptr[0] == '(' && word.ptr[word.len - 1] == ')')
        word = str_head(str_skip(word, 1), word.len - 2);
    size_t word_digits = parse_hex_word(word, 4, 8, &bits);
    if (!word_digits || bits >> 32)
        return false;
    out->is_open &= word_digits < 8;
    set_pc(out, pc, digits);
    out->bits = (uint32_t)bits;
    return true;
}

static bool is_heading(struct str line)
{
    return str_has(line, STR("PC")) &&
           (str_has(line, STR("Time")) || str_has(line, STR("Cycle")));
}

/* The cycle is the last decimal number before the address and the word. A number
 * before it is the time, or the number of the instruction. */
enum log_kind log_parse_columns(struct str line, struct log_line *out)
{
    struct str words[COLUMNS_MAX];
    size_t count = split(line, words);
    uint64_t cycle;
    *out = (struct log_line){.core = ID_NONE, .has_cycle = true};
    for (size_t i = count < 4 ? count : 4; i-- > 0;)
        if (is_decimal(words[i], &cycle) &&
            parse_from_address(words + i + 1, count - i - 1, out)) {
            out->cycle = cycle;
            out->rest = line;
            return LOG_INSTRUCTION;
        }
    bool is_rule = count > 0 && str_starts(words[0], STR("---"));
    return is_rule || is_heading(line) ? LOG_NOTE : LOG_OTHER;
}

/* --- Rocket -------------------------------------------------------------------------- */

enum log_kind log_parse_rocket(struct str line, struct log_line *out)
{
    struct str rest = str_trim_left(line);
    uint64_t pc, bits;
    *out = (struct log_line){.core = ID_NONE, .has_cycle = true};
    if (!take(&rest, STR("C")))
        return LOG_OTHER;
    take_spaces(&rest);
    if (!take_core(&rest, out) || !take(&rest, STR(":")))
        return LOG_OTHER;
    take_spaces(&rest);
    if (!take_decimal(&rest, &out->cycle))
        return LOG_OTHER;
    take_spaces(&rest);
    bool retired = str_starts(rest, STR("[1]"));
    if (!retired && !str_starts(rest, STR("[0]")))
        return LOG_OTHER;
    rest = str_skip(rest, str_search(rest, STR("pc=[")) + 4);
    size_t digits = take_hex(&rest, &pc);
    rest = str_skip(rest, str_search(rest, STR("inst=[")) + 6);
    if (!digits || !take_hex(&rest, &bits))
        return LOG_OTHER;
    set_pc(out, pc, digits);
    out->bits = (uint32_t)bits;
    return retired ? LOG_INSTRUCTION : LOG_NOTE;
}

/* --- QEMU's execlog ------------------------------------------------------------------ */

enum log_kind log_parse_execlog(struct str line, struct log_line *out)
{
    struct str rest = str_trim_left(line);
    uint64_t pc, bits;
    *out = (struct log_line){.core = ID_NONE};
    if (!take_core(&rest, out) || !take(&rest, STR(", 0x")) || !take_hex(&rest, &pc) ||
        !take(&rest, STR(", 0x")) || !take_hex(&rest, &bits) || !take(&rest, STR(",")))
        return LOG_OTHER;
    out->pc = pc; /* its digits do not show the width of the machine */
    out->bits = (uint32_t)bits;
    out->rest = rest;
    return LOG_INSTRUCTION;
}
