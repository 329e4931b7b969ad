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

size_t losses_line(const struct facts *facts, unsigned i, char room[LOSS_LINE_MAX])
{
    if (i == 0)
        return write_line(facts->lost == 1 ? "the profiler lost %s sample"
                                           : "the profiler lost %s samples",
                          facts->lost, room);
    return write_line(facts->truncated == 1 ? "%s stack is cut short"
                                            : "%s stacks are cut short",
                      facts->truncated, room);
}
