/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/tracer.h"
#include "base/array.h"
#include "trace/tracer_parts.h"

bool tracer_init(struct tracer *t, const struct trace_binary *binaries, size_t count,
                 bool keeps)
{
    *t = (struct tracer){
        .keeps = keeps, .arena = ARENA_INIT, .credit = TRACE_ECALL_FRAMES};
    bool ok = trace_tree_init(&t->tree);
    ok = trace_tree_init(&t->trial) && ok;
    return ok && trace_code_init(&t->code, &t->arena, binaries, count);
}

void tracer_deinit(struct tracer *t)
{
    trace_code_deinit(&t->code);
    trace_tree_deinit(&t->tree);
    trace_tree_deinit(&t->trial);
    arena_deinit(&t->arena);
}

/* --- Counts ------------------------------------------------------------------------- */

static void keep_stretch(struct tracer *t, struct trace_count spent)
{
    struct trace_stretch *item =
        ARRAY_APPEND(&t->arena, t->stretches, t->stretch_count, t->stretch_cap);
    if (!item)
        return;
    *item = (struct trace_stretch){t->since, spent.cycles, spent.instructions, t->leaf};
}

void tracer_charge(struct tracer *t)
{
    struct trace_count spent = {t->now - t->since, t->counted - t->counted_since};
    if (t->is_muted) {
        t->uncounted += spent.instructions;
    } else if (spent.cycles || spent.instructions) {
        trace_tree_add(tracer_tree(t), t->leaf, spent);
        if (t->keeps)
            keep_stretch(t, spent);
    }
    t->since = t->now;
    t->counted_since = t->counted;
}

#define INLINED_MAX 64 /* deeper inlined calls are left out */

/* Not inlined: its array would add stack protection to tracer_leaf, which most steps
 * call. */
static __attribute__((noinline)) trace_node find_leaf(struct tracer *t,
                                                      const struct trace_frame *f,
                                                      trace_location_id location)
{
    const struct trie_node *locations = t->code.locations.nodes;
    uint32_t inlined[INLINED_MAX];
    size_t count = 0;
    for (; locations[location].parent; location = locations[location].parent)
        if (count < INLINED_MAX)
            inlined[count++] = locations[location].key;
    if (locations[location].key != f->function)
        return f->node; /* code of a label continues the function */
    trace_node leaf = f->node;
    while (count > 0)
        leaf = trace_tree_child(tracer_tree(t), leaf, inlined[--count]);
    return leaf;
}

trace_node tracer_leaf(struct tracer *t, const struct trace_frame *f,
                       trace_location_id location)
{
    if (!t->code.locations.nodes[location].parent)
        return f->node;
    struct trace_leaf *cached = &t->leaves[(f->node * 31 + location) % TRACE_LEAF_CACHE];
    if (cached->node != f->node || cached->location != location)
        *cached = (struct trace_leaf){f->node, find_leaf(t, f, location), location};
    return cached->leaf;
}

/* The stack changed, or the location in its innermost function. */
static void settle(struct tracer *t, trace_location_id location)
{
    trace_node leaf = tracer_leaf(t, tracer_top(t), location);
    t->location = location;
    if (leaf == t->leaf)
        return;
    tracer_charge(t);
    t->leaf = leaf;
}

/* --- One instruction after the other ----------------------------------------------- */

/* The target of the jump or call. */
static bool leads_to(const struct trace_site *s, uint64_t from, uint64_t to)
{
    return to == from + (uint64_t)(int64_t)s->displacement;
}

/* A function that switches stacks can return by any register. */
static bool leaves_by_register(struct tracer *t, const struct trace_step *s)
{
    return tracer_switches(t) && s->from_site->kind == INSTRUCTION_JUMP_REGISTER &&
           (s->function != tracer_top(t)->function || s->to == tracer_top(t)->returns);
}

/* A jump that saves its return address, to the entry of a function: a call. */
static bool calls_by_jump(const struct trace_step *s)
{
    return (s->from_site->flags & TRACE_SITE_LINKS) &&
           (s->to_site->flags & TRACE_SITE_ENTRY);
}

/* x5 is a link register, but compilers also use it for other pointers: Go calls closures
 * by it. A coroutine swap continues after a call. A return never leads to the start of a
 * function. */
static bool calls_by_link(struct tracer *t, const struct trace_step *s)
{
    return s->from_site->kind == INSTRUCTION_SWAP && s->to != tracer_top(t)->returns &&
           ((s->to_site->flags & TRACE_SITE_ENTRY) || !tracer_call_before(t, s));
}

static bool returns_by_link(struct tracer *t, const struct trace_step *s)
{
    if (s->from_site->kind != INSTRUCTION_RETURN)
        return false;
    bool jumps = instruction_base(s->from_site->bits) == REGISTER_T0 &&
                 (s->to_site->flags & TRACE_SITE_ENTRY) && !tracer_switches(t);
    return !jumps || tracer_find_return(t, s->to) > 1;
}

static void transfer_register(struct tracer *t, const struct trace_step *s)
{
    if (tracer_interrupted(t, s))
        return;
    if (s->from_site->kind == INSTRUCTION_CALL_REGISTER || calls_by_jump(s) ||
        calls_by_link(t, s))
        tracer_call(t, s, s->from + s->from_site->length);
    else if (s->from_site->kind == INSTRUCTION_SWAP)
        tracer_swap(t, s);
    else if (returns_by_link(t, s) || leaves_by_register(t, s))
        tracer_return(t, s);
    else
        tracer_flow(t, s);
}

/* A jump or call that does not continue at its target was interrupted there. */
static void transfer_interrupted(struct tracer *t, const struct trace_step *s)
{
    uint64_t target = s->from + (uint64_t)(int64_t)s->from_site->displacement;
    struct trace_site scratch;
    const struct trace_site *site =
        trace_code_find_beside(&t->code, target, s->from_site, &scratch);
    struct trace_step first = *s, second = *s;
    first.to = second.next = target;
    first.to_site = site;
    first.function = trace_site_function(&t->code, site);
    if (s->from_site->kind == INSTRUCTION_CALL || calls_by_jump(&first))
        tracer_call(t, &first, s->from + s->from_site->length);
    else
        tracer_flow(t, &first);
    settle(t, site->location);
    tracer_stray(t, &second);
}

/* A jump and link within a function, which only reads the PC: the code at the target
 * uses the link as a value before a return by it is possible. */
static bool reads_pc(struct tracer *t, const struct trace_step *s)
{
    const struct trace_site *site = s->to_site;
    uint64_t pc = s->to;
    uint32_t link = s->from_site->length == 2 ? 1 : s->from_site->bits >> 7 & 31;
    if (s->function != tracer_top(t)->function || (site->flags & TRACE_SITE_ENTRY))
        return false;
    for (unsigned i = 0; i < TRACE_AHEAD_OF_LINK && site->kind == INSTRUCTION_PLAIN;
         i++) {
        if (instruction_reads(site->bits, link))
            return true;
        pc += site->length;
        site = trace_code_find(&t->code, pc);
    }
    return false;
}

static void transfer_once(struct tracer *t, const struct trace_step *s)
{
    const struct trace_site *from = s->from_site;
    bool leads = leads_to(from, s->from, s->to);
    switch ((enum instruction_kind)from->kind) {
    case INSTRUCTION_UNKNOWN:
        tracer_unknown(t, s);
        return;
    case INSTRUCTION_PLAIN:
    case INSTRUCTION_BRANCH:
    case INSTRUCTION_ENVIRONMENT:
        if ((from->advance && s->to == s->from + from->advance) ||
            (from->kind == INSTRUCTION_BRANCH && leads))
            tracer_flow(t, s);
        else
            tracer_stray(t, s);
        return;
    case INSTRUCTION_JUMP:
    case INSTRUCTION_CALL:
        if (!leads)
            transfer_interrupted(t, s);
        else if (from->kind == INSTRUCTION_CALL ? !reads_pc(t, s) : calls_by_jump(s))
            tracer_call(t, s, s->from + from->length);
        else
            tracer_flow(t, s);
        return;
    case INSTRUCTION_TRAP_RETURN:
        tracer_trap_return(t, s);
        return;
    case INSTRUCTION_JUMP_REGISTER:
    case INSTRUCTION_CALL_REGISTER:
    case INSTRUCTION_RETURN:
    case INSTRUCTION_SWAP:
        transfer_register(t, s);
        return;
    }
}

void tracer_repeat(struct tracer *t, const struct trace_step *s)
{
    t->repeat_site = *s->from_site;
    t->repeat = *s;
    t->repeat.from_site = &t->repeat_site;
    t->repeats = true;
}

/* A step is repeated after an open question about it was answered: twice at most. */
#define REPEATS_MAX 4

/* Changes the stack for an instruction and the one that follows it. */
static void transfer(struct tracer *t, const struct trace_step *s)
{
    struct trace_step again;
    for (unsigned i = 0; i < REPEATS_MAX && !tracer_failed(t); i++) {
        t->repeats = false;
        if (!t->load.is_on || !tracer_change_stack(t, s))
            transfer_once(t, s);
        if (!t->repeats)
            return;
        again = t->repeat; /* rare; a copy for each step would cost more than all else */
        s = &again;
    }
}

/* The first instruction, and the first one after a gap. */
static void begin(struct tracer *t, const struct trace_step *s)
{
    bool is_first = t->task_count == 0;
    if (is_first)
        t->current = tracer_new_task(t);
    if (t->task_count == 0)
        return;
    if (is_first)
        tracer_task(t)->is_boot =
            (trace_code_boots(s->to) &&
             (t->code.functions[s->function].flags & TRACE_FUNCTION_UNKNOWN)) ||
            (s->to_site->flags & TRACE_SITE_START);
    if (t->on_trial.is_on)
        tracer_decide(t);
    size_t at = tracer_task(t)->count ? tracer_find_function(t, s->function) : 0;
    if (at)
        tracer_pop_to(t, at);
    else
        tracer_begin_stack(t, tracer_task(t), s->function);
}

/* From the last instruction to the one at `pc`. */
static void step(struct tracer *t, uint64_t pc, const struct trace_site *to)
{
    struct trace_step s = {.from = t->pc,
                           .to = pc,
                           .from_site = t->site,
                           .to_site = to,
                           .function = trace_site_function(&t->code, to)};
    bool unknown = to->kind == INSTRUCTION_UNKNOWN;
    if (!t->site)
        begin(t, &s);
    else if (!unknown || t->site->kind != INSTRUCTION_UNKNOWN ||
             to->location != t->location || tracer_is_sigreturn(t, t->pc)) {
        s.next = t->site->advance ? t->pc + t->site->advance : 0;
        transfer(t, &s);
    }
    if (tracer_failed(t))
        return;
    settle(t, to->location);
    t->pc = pc;
    t->site = to;
}

/* If several programs share the addresses, the program is determined when they are
 * entered, and does not change until they are left. */
static void choose_program(struct tracer *t, const uint64_t *pcs, size_t count)
{
    bool inside = t->site && trace_code_is_shared(&t->code, t->pc);
    if (!inside)
        trace_code_choose(&t->code, pcs, count,
                          t->task_count ? tracer_task(t)->program : 0);
}

/* The site at an address; a function begins there if a call by register leads to it. */
static const struct trace_site *find_site(struct tracer *t, uint64_t pc)
{
    const struct trace_site *site = trace_code_find(&t->code, pc);
    if (t->site && t->site->kind == INSTRUCTION_CALL_REGISTER &&
        !(site->flags & TRACE_SITE_ENTRY))
        trace_code_call_page(&t->code, pc);
    return site;
}

/* Most instructions follow the one before in the same location: then this check is
 * all. */
void tracer_take(struct tracer *t, const uint64_t *pcs, const uint64_t *cycles,
                 size_t count)
{
    uint64_t counted = t->counted;
    for (size_t i = 0; i < count && !tracer_failed(t); i++) {
        t->now = cycles[i];
        t->counted = counted + i;
        if (!t->site && t->task_count == 0)
            t->since = t->now;
        if (trace_code_is_shared(&t->code, pcs[i]))
            choose_program(t, pcs + i, count - i);
        step(t, pcs[i], find_site(t, pcs[i]));
        if (tracer_failed(t))
            return;
        if (trace_code_is_shared(&t->code, pcs[i]))
            tracer_task(t)->program = t->code.program;
        const struct trace_site *site = t->site;
        uint64_t pc = t->pc;
        trace_location_id location = t->location;
        for (; i + 1 < count && site->advance; i++) {
            const struct trace_site *next = site + site->advance / 2;
            pc += site->advance;
            if (pcs[i + 1] != pc || next->location != location)
                break; /* an unknown site has no location yet */
            site = next;
        }
        if (site != t->site) {
            t->site = site;
            t->pc = pcs[i];
        }
    }
    if (count)
        t->now = cycles[count - 1];
    t->counted = counted + count;
}

/* Another function can begin in the middle of a block, or an inlined call. */
static void flow_in_block(struct tracer *t, uint64_t from, const struct trace_site *site)
{
    struct trace_step s = {.from = from,
                           .to = from + site->length,
                           .from_site = site,
                           .to_site = site + 1,
                           .function = trace_site_function(&t->code, site + 1)};
    tracer_flow(t, &s);
    settle(t, site[1].location);
}

bool trace_block_ready(struct tracer *t, struct trace_block *b)
{
    uint32_t turns = 0;
    for (uint32_t i = 1; i < b->count; i++)
        turns += b->sites[i].location != b->sites[i - 1].location;
    b->turn = turns ? arena_alloc(&t->arena, turns * sizeof *b->turn) : NULL;
    if (turns && !b->turn)
        return false;
    b->turn_count = 0;
    b->function = trace_site_function(&t->code, b->sites);
    b->from[0] = b->from[1] = NULL;
    b->last = b->pc;
    for (uint32_t i = 1; i < b->count; b->last += b->sites[i++ - 1].length)
        if (b->sites[i].location != b->sites[i - 1].location)
            b->turn[b->turn_count++] =
                (struct trace_turn){i, (uint32_t)(b->last - b->pc), b->sites[i].location,
                                    trace_site_function(&t->code, b->sites + i)};
    return true;
}

/* From an instruction of a block in which another function begins, or an inlined call. */
static void walk_block(struct tracer *t, const struct trace_block *b, uint32_t first,
                       uint32_t count)
{
    const struct trace_site *site = b->sites + first, *last = site + count - 1;
    uint64_t pc = t->pc;
    for (; site < last && !tracer_failed(t); site++) {
        t->now++;
        t->counted++;
        if (site[1].location != t->location)
            flow_in_block(t, pc, site);
        pc += site->length;
    }
    t->counted++;
    t->pc = pc;
    t->site = last;
}

/* From the last instruction to the first of the block. */
static enum trace_way find_way(const struct tracer *t, const struct trace_block *b)
{
    const struct trace_site *from = t->site, *to = b->sites;
    bool jumps = from->kind == INSTRUCTION_BRANCH || from->kind == INSTRUCTION_JUMP ||
                 from->kind == INSTRUCTION_CALL;
    bool leads = jumps && leads_to(from, t->pc, b->pc);
    bool twice = t->code.functions[b->function].flags & TRACE_FUNCTION_TWICE;
    if (from->kind == INSTRUCTION_PLAIN || from->kind == INSTRUCTION_BRANCH)
        leads |= from->advance && b->pc == t->pc + from->advance;
    if (to->kind == INSTRUCTION_UNKNOWN || (from->flags & TRACE_SITE_LINKS))
        return TRACE_WAY_OTHER;
    if (from->kind == INSTRUCTION_CALL_REGISTER)
        return twice ? TRACE_WAY_OTHER : TRACE_WAY_CALLS_REGISTER;
    if (!leads)
        return TRACE_WAY_OTHER;
    if (from->kind == INSTRUCTION_CALL) {
        bool local = !(to->flags & TRACE_SITE_ENTRY);
        return twice || local ? TRACE_WAY_OTHER : TRACE_WAY_CALLS;
    }
    return to->location == from->location ? TRACE_WAY_STAYS : TRACE_WAY_FLOWS;
}

static enum trace_way way_of(const struct tracer *t, struct trace_block *b)
{
    if (b->from[0] == t->site)
        return b->way[0];
    if (b->from[1] == t->site)
        return b->way[1];
    b->from[1] = b->from[0];
    b->way[1] = b->way[0];
    b->from[0] = t->site;
    return b->way[0] = (uint8_t)find_way(t, b);
}

/* A return to the call of the function; false for all other returns. */
static bool return_block(struct tracer *t, const struct trace_block *b)
{
    const struct trace_task *task = tracer_task(t);
    const struct trace_frame *top = tracer_top(t);
    if (top->returns != b->pc || b->pc == 0 || task->count < 2 || task->beyond ||
        tracer_switches(t))
        return false;
    t->report.returns++;
    tracer_pop_to(t, task->count - 1);
    return true;
}

static bool has_vectors(const struct tracer *t)
{
    return t->vector_count || (t->shared && t->shared->vector_count);
}

/* The same as step, for the common cases; false for all others. */
static bool enter_block(struct tracer *t, struct trace_block *b)
{
    enum trace_way way;
    if (!t->site || t->load.is_on)
        return false;
    if (t->site->kind == INSTRUCTION_RETURN) {
        if (!return_block(t, b))
            return false;
    } else if ((way = way_of(t, b)) == TRACE_WAY_STAYS) {
        return true;
    } else if (way == TRACE_WAY_CALLS ||
               (way == TRACE_WAY_CALLS_REGISTER && !has_vectors(t))) {
        t->report.calls++;
        tracer_push(t, b->function, t->pc + t->site->length);
    } else if (way != TRACE_WAY_FLOWS || tracer_top(t)->function != b->function) {
        return false;
    }
    settle(t, b->sites->location);
    return true;
}

/* The rest of a whole block after its first instruction. */
static void turn_in_block(struct tracer *t, const struct trace_block *b)
{
    uint64_t now = t->now, counted = t->counted;
    for (uint32_t i = 0; i < b->turn_count && !tracer_failed(t); i++) {
        const struct trace_turn *turn = &b->turn[i];
        t->now = now + turn->at;
        t->counted = counted + turn->at;
        if (tracer_top(t)->function == turn->function)
            settle(t, turn->location);
        else
            flow_in_block(t, b->pc + turn->before, b->sites + turn->at - 1);
    }
    t->now = now + b->count - 1;
    t->counted = counted + b->count;
    t->pc = b->last;
    t->site = b->sites + b->count - 1;
}

static void take_whole(struct tracer *t, struct trace_block *b)
{
    if (!enter_block(t, b))
        step(t, b->pc, b->sites);
    turn_in_block(t, b);
}

void tracer_take_block(struct tracer *t, struct trace_block *b, uint32_t first,
                       uint32_t count, uint64_t now)
{
    uint64_t pc = b->pc;
    if (t->task_count == 0)
        t->since = now;
    t->now = now;
    if (count == b->count) {
        take_whole(t, b);
        return;
    }
    for (uint32_t i = 0; i < first; i++)
        pc += b->sites[i].length;
    step(t, pc, b->sites + first);
    if (!tracer_failed(t))
        walk_block(t, b, first, count);
}

/* Adds the cycles of a block for each repetition in the same stack. */
static void spend_again(struct tracer *t, const struct trace_block *b, uint32_t first,
                        uint32_t count, uint64_t times)
{
    for (uint32_t i = first, n = 1; i < first + count; i += n, n = 1) {
        while (i + n < first + count && b->sites[i + n].location == b->sites[i].location)
            n++;
        settle(t, b->sites[i].location);
        t->now += n * times;
        t->counted += n * times;
    }
    t->now--; /* for the last instruction */
}

bool tracer_take_again(struct tracer *t, struct trace_block *b, uint32_t first,
                       uint32_t count, uint64_t now, uint64_t times, uint64_t *steps)
{
    const uint64_t cost = b->turn_count ? count : 1;
    for (uint64_t i = 0; i < times && !tracer_failed(t); i++) {
        const struct trace_task *task = tracer_task(t);
        size_t depth = task->count;
        trace_node node = tracer_top(t)->node;
        uint32_t current = t->current;
        tracer_take_block(t, b, first, count, now);
        now += count;
        bool same = t->current == current && tracer_task(t)->count == depth &&
                    tracer_top(t)->node == node;
        bool too_long = !same && *steps < cost;
        *steps -= same || too_long ? 0 : cost;
        if ((!same && !too_long) || i + 1 == times)
            continue;
        t->now = now;
        spend_again(t, b, first, count, times - i - 1);
        return same;
    }
    return true;
}

void tracer_gap(struct tracer *t, uint64_t now)
{
    if (t->task_count == 0 || !t->site)
        return;
    t->now++;
    tracer_charge(t);
    t->now = t->since = now;
    t->site = NULL;
}

void tracer_mute(struct tracer *t, bool mute, uint64_t now)
{
    if (t->is_muted == mute)
        return;
    if (t->task_count && t->site) {
        t->now++;
        tracer_charge(t);
    }
    if (mute)
        t->counted_report = t->report;
    else
        t->report = t->counted_report;
    t->now = t->since = now;
    t->is_muted = mute;
}

void tracer_end(struct tracer *t)
{
    if (t->task_count == 0 || tracer_failed(t))
        return;
    if (t->site)
        t->now++;
    tracer_charge(t);
    if (t->on_trial.is_on)
        tracer_decide(t);
    if (t->is_muted)
        t->report = t->counted_report;
    t->report.instructions = tracer_instructions(t);
}
