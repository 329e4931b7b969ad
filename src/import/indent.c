/* SPDX-License-Identifier: Apache-2.0 */
#include "import/indent.h"
#include "base/array.h"

/* In a tree of callers, the innermost open row is the outermost caller. */
static stack_id callers_stack(const struct indent *t)
{
    stack_id stack = 0;
    for (size_t i = t->count; i-- > 0;)
        stack = builder_push(t->b, stack, t->rows[i].frame);
    return stack;
}

static void close_last(struct indent *t)
{
    const struct indent_row *row = &t->rows[t->count - 1];
    if (row->rest < -row->doubt)
        builder_warn(t->b, "a row with a smaller total than the rows below it", 0, 0,
                     STR(""));
    if (row->rest > row->doubt && !row->silent)
        builder_add(t->b,
                    &(struct sample){.time = TIME_NONE,
                                     .thread = t->thread,
                                     .cpu = CPU_NONE,
                                     .event = t->event,
                                     .stack = t->callers ? callers_stack(t) : row->stack,
                                     .count = t->samples ? (uint64_t)row->rest : 1,
                                     .weight = row->rest});
    t->count--;
}

void indent_close(struct indent *t, size_t column)
{
    while (t->count && t->rows[t->count - 1].column >= column)
        close_last(t);
}

stack_id indent_stack(const struct indent *t)
{
    return t->count ? t->rows[t->count - 1].stack : 0;
}

stack_id indent_open(struct indent *t, size_t column, frame_id frame)
{
    indent_close(t, column);
    struct indent_row row = {.column = column, .frame = frame};
    if (!t->callers)
        row.stack = builder_push(t->b, indent_stack(t), frame);
    struct indent_row *added = ARRAY_APPEND(&t->arena, t->rows, t->count, t->cap);
    if (!added)
        return 0;
    *added = row;
    return row.stack;
}

void indent_total(struct indent *t, double total, double doubt)
{
    if (t->count == 0)
        return;
    struct indent_row *row = &t->rows[t->count - 1];
    row->rest = total;
    row->doubt = doubt;
    if (t->count == 1)
        return;
    row[-1].rest -= total;
    row[-1].doubt += doubt;
}

void indent_end(struct indent *t, double total, double doubt)
{
    if (t->count == 0)
        return;
    double callees = t->rows[t->count - 1].rest, doubts = t->rows[t->count - 1].doubt;
    indent_total(t, total, doubt);
    t->rows[t->count - 1].rest += callees;
    t->rows[t->count - 1].doubt += doubts;
}

void indent_silence(struct indent *t)
{
    if (t->count)
        t->rows[t->count - 1].silent = true;
}

void indent_deinit(struct indent *t)
{
    indent_close(t, 0);
    builder_end_scratch(t->b, &t->arena);
    t->rows = NULL;
    t->count = t->cap = 0;
}
