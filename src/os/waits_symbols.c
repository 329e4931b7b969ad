/* SPDX-License-Identifier: Apache-2.0 */
#include "os/waits_symbols.h"
#include "base/format.h"
#include "base/number.h"

#define FINISH_SWITCH STR("finish_task_switch")

/* The function, also if a compiler made a variant of it; not the part for rare cases, which it
 * moves away: "finish_task_switch.isra.0.cold". */
static bool ends_switch(struct str name)
{
    struct str suffix = str_skip(name, FINISH_SWITCH.len);
    return str_starts(name, FINISH_SWITCH) && (!suffix.len || suffix.ptr[0] == '.') &&
           !str_has(suffix, STR(".cold"));
}

/* Without rights, all addresses are 0; a kprobe needs the name only. */
static void read_line(struct waits_symbols *s, struct str line)
{
    struct str address_text = str_cut(&line, ' ');
    struct str type = str_cut(&line, ' '), name = str_cut(&line, '\t');
    uint64_t address;
    bool is_code = str_equal(type, STR("t")) || str_equal(type, STR("T"));
    if (is_code && ends_switch(name) && name.len < sizeof s->finish_switch)
        format_text(s->finish_switch, sizeof s->finish_switch, "%.*s", STR_ARG(name));
    if (!number_parse_hex(address_text, &address) || !address)
        return;
    if (str_equal(name, STR("__schedule")))
        s->schedule_start = address;
    else if (s->schedule_start && address > s->schedule_start &&
             (!s->schedule_end || address < s->schedule_end))
        s->schedule_end = address;
}

void waits_symbols_read(struct waits_symbols *s, struct str lines)
{
    while (lines.len)
        read_line(s, str_cut(&lines, '\n'));
}
