/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/losses.h"
#include "analysis/measure.h"
#include "base/format.h"

static size_t write_line(const char *form, uint64_t count, char *room)
{
    static const struct measure counted = {1, 0, ""};
    char digits[MEASURE_TEXT_MAX + 1];
    digits[measure_write(&counted, (double)count, digits)] = 0;
    return count ? format_text(room, LOSS_LINE_MAX, form, digits) : 0;
}

size_t losses_unwind_gaps(const struct unwind_gaps *gaps, char room[LOSS_LINE_MAX])
{
    const struct unwind_gap *most = unwind_gaps_most(gaps);
    if (!most)
        return 0;
    if (gaps->count == 1)
        return format_text(room, LOSS_LINE_MAX, "no unwind information in %s",
                           most->file);
    return format_text(room, LOSS_LINE_MAX, "no unwind information in %s and %u more",
                       most->file, gaps->count - 1);
}

static size_t write_gaps(const struct unwind_gaps *gaps, char *room)
{
    char why[LOSS_LINE_MAX];
    size_t length = write_line(gaps->stacks == 1 ? "%s stack is truncated: "
                                                 : "%s stacks are truncated: ",
                               gaps->stacks, room);
    if (!length || !losses_unwind_gaps(gaps, why))
        return 0;
    return length + format_text(room + length, LOSS_LINE_MAX - length, "%s", why);
}

size_t losses_line(const struct facts *facts, unsigned i, char room[LOSS_LINE_MAX])
{
    if (i == 0)
        return write_line(facts->lost == 1 ? "the profiler lost %s sample"
                                           : "the profiler lost %s samples",
                          facts->lost, room);
    if (i == 2)
        return write_gaps(&facts->unwind_gaps, room);
    if (i == LOSS_GRAFTS)
        return write_line(facts->grafted == 1
                              ? "%s truncated stack continues with inferred callers"
                              : "%s truncated stacks continue with inferred callers",
                          facts->grafted, room);
    return write_line(facts->truncated == 1 ? "%s stack is truncated"
                                            : "%s stacks are truncated",
                      facts->truncated, room);
}
