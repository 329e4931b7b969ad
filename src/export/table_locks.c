/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of locks: who waited for them, and who held them meanwhile, as text, CSV or JSON. */
#include "analysis/locks.h"
#include "base/visible.h"
#include "export/table_parts.h"

#define CALLERS_MOST 4 /* shown after a function */
#define ROWS_USUAL 5   /* per lock and side */
#define INDENT "    "

static const char *const sides[LOCKS_SIDES] = {"waited", "held"};

struct layout {
    const struct locks *l;
    const struct table_options *o;
    struct output *out;
    struct measure measure;
};

static struct str label_text(const struct locks *l, const struct locks_lock *lock)
{
    return profile_string(l->p, l->p->labels[lock->label].text);
}

static struct str thread_text(const struct locks *l, const struct locks_row *row)
{
    struct str name = profile_string(l->p, row->thread);
    return name.len ? name : STR("[unknown]");
}

static struct str function_text(const struct profile *p, frame_id frame)
{
    struct str name = profile_string(p, p->frames[frame].name);
    return name.len ? name : STR("[unknown]");
}

/* Writes "lookup < handle < worker". */
static void write_stack(const struct locks *l, const struct locks_row *row,
                        struct output *out)
{
    const struct profile *p = l->p;
    stack_id at = row->stack;
    output_str(out, function_text(p, p->stacks[at].frame));
    for (int i = 0; i < CALLERS_MOST && p->stacks[at].parent; i++) {
        at = p->stacks[at].parent;
        output_text(out, " < ");
        output_str(out, function_text(p, p->stacks[at].frame));
    }
}

static double share(double part, double all)
{
    return all > 0 ? 100 * part / all : 0;
}

static uint64_t whole(double weight)
{
    return weight > 0 ? (uint64_t)weight : 0;
}

/* --- Text -------------------------------------------------------------------------- */

static void write_weight(const struct layout *t, double weight, int width)
{
    char digits[MEASURE_TEXT_MAX];
    size_t length = measure_write(&t->measure, weight, digits);
    output_format(t->out, "%*.*s %s", width, (int)length, digits, t->measure.unit);
}

static void write_share(const struct layout *t, double percent)
{
    const char *colour = table_percent_colour(t->o, percent);
    char text[32];
    format_text(text, sizeof text, "%.1f%%", percent);
    output_format(t->out, "%s%6s%s", colour, text, colour[0] ? TABLE_COLOUR_END : "");
}

static void write_text(const struct layout *t, struct str text, size_t before)
{
    size_t width = t->o->width > before + 20 ? t->o->width - before : 0;
    if (width)
        visible_print_cut(t->out, text, width);
    else
        visible_print(t->out, text);
    output_char(t->out, '\n');
}

static void write_row(const struct layout *t, const struct locks_row *row, double all,
                      const char *side)
{
    struct output text = OUTPUT_BUFFER;
    output_format(t->out, INDENT "%-6s ", side);
    write_share(t, share(row->weight, all));
    write_weight(t, row->weight, 11);
    output_format(t->out, " %8llu  ", (unsigned long long)row->count);
    output_str(&text, thread_text(t->l, row));
    output_text(&text, ": ");
    write_stack(t->l, row, &text);
    t->out->failed |= text.failed;
    write_text(t, output_contents(&text), 45);
    output_deinit(&text);
}

static void write_side(const struct layout *t, const struct locks_lock *lock,
                       enum locks_side side)
{
    const struct locks *l = t->l;
    double all = lock->weight[LOCKS_WAITED], rest = 0;
    uint32_t limit = t->o->limit ? t->o->limit : ROWS_USUAL, shown = 0;
    unsigned long long more = 0;
    for (uint32_t r = lock->rows[side]; r; r = l->rows[r].next) {
        const struct locks_row *row = &l->rows[r];
        if (shown < limit && share(row->weight, all) >= t->o->percent_limit) {
            write_row(t, row, all, shown++ ? "" : sides[side]);
            continue;
        }
        more++;
        rest += row->weight;
    }
    if (more) {
        output_format(t->out, INDENT "%-6s ", shown ? "" : sides[side]);
        write_share(t, share(rest, all));
        write_weight(t, rest, 11);
        output_format(t->out, "           and %llu more\n", more);
    }
}

/* Waits without a known holder: the lock was free, and the woken thread did not run yet; or the
 * holder released it after a timeout, or after the recording. */
static void write_unheld(const struct layout *t, const struct locks_lock *lock)
{
    double all = lock->weight[LOCKS_WAITED], rest = all - lock->weight[LOCKS_HELD];
    if (share(rest, all) < 0.05)
        return;
    output_text(t->out, INDENT "       ");
    write_share(t, share(rest, all));
    write_weight(t, rest, 11);
    output_text(t->out,
                "           by no known thread: released, until the next one ran\n");
}

static void write_lock(const struct layout *t, const struct locks_lock *lock)
{
    const struct locks *l = t->l;
    output_char(t->out, '\n');
    write_share(t, share(lock->weight[LOCKS_WAITED], l->weight[LOCKS_WAITED]));
    write_weight(t, lock->weight[LOCKS_WAITED], 11);
    unsigned long long waits = lock->count[LOCKS_WAITED];
    output_format(t->out, " in %llu %s  ", waits, waits == 1 ? "wait" : "waits");
    visible_print(t->out, label_text(l, lock));
    if (lock->kind[0])
        output_format(t->out, " (%s)", lock->kind);
    output_char(t->out, '\n');
    write_side(t, lock, LOCKS_WAITED);
    write_side(t, lock, LOCKS_HELD);
    write_unheld(t, lock);
}

static void write_all(const struct layout *t, struct str title)
{
    const struct locks *l = t->l;
    table_write_facts(t->out, l->p, title);
    output_text(t->out, "\n# waits for locks: ");
    write_weight(t, l->weight[LOCKS_WAITED], 0);
    output_format(t->out, " in %llu %s for %zu %s\n", (unsigned long long)l->waits,
                  l->waits == 1 ? "wait" : "waits", l->count - 1,
                  l->count == 2 ? "lock" : "locks");
    for (size_t i = 1; i < l->count; i++)
        write_lock(t, &l->items[l->order[i]]);
}

/* --- For programs ------------------------------------------------------------------ */

static void csv_row(const struct layout *t, const struct locks_lock *lock,
                    enum locks_side side, const struct locks_row *row)
{
    struct output text = OUTPUT_BUFFER;
    write_stack(t->l, row, &text);
    table_csv_text(t->out, label_text(t->l, lock));
    output_format(t->out, ",\"%s\",%s,", lock->kind, sides[side]);
    table_csv_text(t->out, thread_text(t->l, row));
    output_char(t->out, ',');
    table_csv_text(t->out, output_contents(&text));
    output_format(t->out, ",%llu,%llu\n", (unsigned long long)whole(row->weight),
                  (unsigned long long)row->count);
    t->out->failed |= text.failed;
    output_deinit(&text);
}

static void write_csv(const struct layout *t)
{
    const struct locks *l = t->l;
    output_text(t->out, "lock,kind,side,thread,function,ns,count\n");
    for (size_t i = 1; i < l->count; i++) {
        const struct locks_lock *lock = &l->items[l->order[i]];
        for (int side = 0; side < LOCKS_SIDES; side++)
            for (uint32_t r = lock->rows[side]; r; r = l->rows[r].next)
                csv_row(t, lock, (enum locks_side)side, &l->rows[r]);
    }
}

static void json_side(const struct layout *t, struct json_writer *w,
                      const struct locks_lock *lock, enum locks_side side)
{
    const struct profile *p = t->l->p;
    json_put_key(w, side == LOCKS_WAITED ? "waiters" : "holders");
    json_begin(w, JSON_ARRAY);
    for (uint32_t r = lock->rows[side]; r; r = t->l->rows[r].next) {
        const struct locks_row *row = &t->l->rows[r];
        json_begin(w, JSON_OBJECT);
        json_member_str(w, "thread", profile_string(p, row->thread));
        json_member_u64(w, "ns", whole(row->weight));
        json_member_u64(w, "count", row->count);
        json_put_key(w, "stack"); /* the function, then its callers */
        json_begin(w, JSON_ARRAY);
        for (stack_id at = row->stack; at; at = p->stacks[at].parent)
            json_put_str(w, function_text(p, p->stacks[at].frame));
        json_end(w, JSON_ARRAY);
        json_end(w, JSON_OBJECT);
        json_put_line(w);
    }
    json_end(w, JSON_ARRAY);
}

static void write_json(const struct layout *t)
{
    const struct locks *l = t->l;
    struct json_writer w = {.out = t->out};
    json_begin(&w, JSON_OBJECT);
    table_json_facts(&w, l->p);
    json_put_key(&w, "locks");
    json_begin(&w, JSON_ARRAY);
    for (size_t i = 1; i < l->count; i++) {
        const struct locks_lock *lock = &l->items[l->order[i]];
        json_begin(&w, JSON_OBJECT);
        json_member_str(&w, "lock", label_text(l, lock));
        json_member_str(&w, "kind", str_of(lock->kind));
        json_member_u64(&w, "waited_ns", whole(lock->weight[LOCKS_WAITED]));
        json_member_u64(&w, "waits", lock->count[LOCKS_WAITED]);
        json_member_u64(&w, "held_ns", whole(lock->weight[LOCKS_HELD]));
        json_side(t, &w, lock, LOCKS_WAITED);
        json_side(t, &w, lock, LOCKS_HELD);
        json_end(&w, JSON_OBJECT);
    }
    json_end(&w, JSON_ARRAY);
    json_end(&w, JSON_OBJECT);
    output_char(t->out, '\n');
}

bool table_write_locks(const struct profile *p, const struct export_options *options,
                       struct output *out, struct error *err)
{
    struct locks l;
    bool ok = locks_init(&l, p, err);
    if (ok && l.count == 1) {
        ok = error_set(err, "no waits for locks are recorded");
        error_hint(err, "stoke record --locks records them");
    } else if (ok) {
        const struct layout t = {
            .l = &l,
            .o = options->table,
            .out = out,
            .measure = measure_for(UNIT_NANOSECONDS, l.weight[LOCKS_WAITED], false)};
        if (t.o->form == TABLE_CSV)
            write_csv(&t);
        else if (t.o->form == TABLE_JSON)
            write_json(&t);
        else
            write_all(&t, options->title);
    }
    locks_deinit(&l);
    return ok;
}
