/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks of Tachyon, the sampler of Python 3.15 (profiling.sampling --collapsed):
 *
 *   tid:4711;shop.py:main:11;shop.py:add:5;<GC> 12
 *
 * The first versions wrote no thread. */
#include "base/number.h"
#include "import/python_folded.h"

static bool take_thread(struct str *rest, struct python_thread *thread)
{
    struct str after = *rest, field = str_cut(&after, ';');
    uint64_t tid;
    if (!str_starts(field, STR("tid:")) || !number_parse_u64(str_skip(field, 4), &tid) ||
        tid > INT64_MAX)
        return false;
    thread->tid = (int64_t)tid;
    *rest = after;
    return true;
}

static struct python_frame frame_of(struct str text, struct output *o)
{
    (void)o;
    return python_frame_colons(text);
}

static const struct python_folded form = {take_thread, frame_of};

static bool tachyon_read(struct source *in, const struct import_options *options,
                         struct builder *b, struct error *err)
{
    return python_folded_read(&form, in, options, b, err);
}

/* More than folded stacks, of which these are a special case. */
static int tachyon_probe(struct str head)
{
    return python_folded_is(&form, head) ? 80 : 0;
}

const struct importer import_tachyon = {
    .name = "tachyon",
    .suffixes = "",
    .summary = "folded stacks of Tachyon (Python 3.15's profiling.sampling)",
    .probe = tachyon_probe,
    .read = tachyon_read,
};
