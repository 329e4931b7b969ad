/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of wallClockProfiler: every stack with its share of the samples and, in
 * newer versions, their number.
 *
 *   313 stack samples taken
 *
 *   81.789% ===================================== (256 samples)
 *           1: __read_nocancel   (at ../sysdeps/syscall-template.S:81)
 *           2: fseek   (at fseek.c:39)
 *          39:|   return result;
 *           3: main   (at testProf.cpp:41)
 *
 * If a report has a list of full stacks, only that list is read, because the text
 * before it has aggregated parts of the same stacks. Missing numbers of samples are
 * computed from the shares. If the report has no total number either, the shares are
 * the weights. */
#include "base/number.h"
#include "import/stacktext.h"
#include <math.h>

struct wcp_reader {
    struct stacktext text;
    bool all; /* the report has no list of full stacks, or it has begun */
    bool in_stack;
    double taken; /* the number of samples, or 0 */
};

static struct str full_stacks(void)
{
    return STR("Full stacks");
}

/* "81.789% ====== (256 samples)": the share in percent, and the number or 0. */
static bool parse_heading(struct str line, double *percent, double *samples)
{
    struct str rest = str_trim(line), share = str_cut(&rest, '%');
    uint64_t count;
    *samples = 0;
    rest = str_trim_left(rest);
    if (!str_starts(rest, STR("=====")) || !number_parse_double(share, percent) ||
        *percent < 0)
        return false;
    struct str number = str_skip(rest, str_find(rest, '(') + 1);
    if (number_parse_u64(str_head(number, str_find(number, ' ')), &count))
        *samples = (double)count;
    return true;
}

/* "1: main   (at testProf.cpp:41)" */
static bool parse_frame(struct str line, struct text_frame *f)
{
    struct str rest = str_trim(line), number = str_cut(&rest, ':');
    uint64_t position;
    size_t at = str_rsearch(rest, STR("(at "));
    if (!number_parse_u64(number, &position) || !str_starts(rest, STR(" ")))
        return false;
    *f = TEXT_FRAME;
    f->name = str_trim(str_head(rest, at));
    if (at == rest.len)
        return false;
    struct str location = str_skip(rest, at + 4);
    location = str_head(location, location.len - str_ends(location, STR(")")));
    location = stacktext_split_location(location, &f->line);
    if (f->line)
        f->file = location;
    return true;
}

static void begin_stack(struct wcp_reader *r, double percent, double samples)
{
    double weight = samples;
    if (weight <= 0 && r->taken > 0)
        weight = floor(percent * r->taken / 100 + 0.5);
    r->text.weight = weight > 0 ? weight : percent;
    r->in_stack = true;
}

static void wcp_line(struct stacktext *t, struct str line)
{
    struct wcp_reader *r = (struct wcp_reader *)t;
    struct text_frame f;
    double percent, samples;
    uint64_t taken;
    if (str_ends(line, STR(" stack samples taken"))) {
        struct str rest = line;
        if (number_parse_u64(str_word(&rest), &taken))
            r->taken = (double)taken;
    } else if (!r->all) {
        r->all = str_starts(line, full_stacks());
    } else if (str_trim(line).len == 0) {
        stacktext_end(t);
        r->in_stack = false;
    } else if (parse_heading(line, &percent, &samples)) {
        stacktext_end(t);
        begin_stack(r, percent, samples);
    } else if (r->in_stack && parse_frame(line, &f)) {
        if (!stacktext_add_known(t, line))
            stacktext_add(t, line, &f);
    }
}

static bool wcp_read(struct source *in, const struct import_options *options,
                     struct builder *b, struct error *err)
{
    struct wcp_reader r = {.text = {.weight = 1}};
    struct str all;
    if (!source_all(in, &all, err))
        return false;
    r.all = !str_starts(all, full_stacks()) && !str_has(all, STR("\nFull stacks"));
    return stacktext_read(&r.text, in, options, b, wcp_line, err);
}

static int wcp_probe(struct str head)
{
    struct str line;
    struct text_frame f;
    size_t headings = 0, frames = 0;
    double percent, samples;
    while (stacktext_probe_line(&head, &line)) {
        headings += parse_heading(line, &percent, &samples);
        frames += headings && parse_frame(line, &f);
    }
    return headings && frames ? 92 : 0;
}

const struct importer import_wcp = {
    .name = "wcp",
    .suffixes = "",
    .summary = "wallClockProfiler reports",
    .probe = wcp_probe,
    .read = wcp_read,
};
