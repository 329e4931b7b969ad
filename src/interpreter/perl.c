/* SPDX-License-Identifier: Apache-2.0 */
/* Perl 5.28 to 5.40, as a program and as a library. Of a program with threads, the first one. */
#include "interpreter/perl.h"
#include "base/format.h"

static const struct perl_layout layouts[] = {
    {28, 224, 240, 64, 96, false},
    {32, 224, 240, 72, 104, false},
    {34, 208, 224, 72, 104, false},
    {36, 208, 224, 72, 104, true},
};
#define NEWEST 40

/* --- The runtime -------------------------------------------------------------------- */

/* What the module of the runtime defines. */
struct symbols {
    uint64_t revision, version, subversion; /* one byte each */
    uint64_t interpreter; /* pointer to the structure of the first thread; or 0: */
    uint64_t statement, contexts; /* the fields of the structure are variables */
};

static bool find_symbols(const struct interpreter_access *a, size_t module,
                         struct symbols *s)
{
    *s = (struct symbols){0};
    if (!a->symbol(a->context, module, STR("PL_revision"), &s->revision) ||
        !a->symbol(a->context, module, STR("PL_version"), &s->version) ||
        !a->symbol(a->context, module, STR("PL_subversion"), &s->subversion))
        return false;
    if (a->symbol(a->context, module, STR("PL_curcop"), &s->statement) &&
        a->symbol(a->context, module, STR("PL_curstackinfo"), &s->contexts))
        return true;
    return a->symbol(a->context, module, STR("PL_curinterp"), &s->interpreter);
}

/* Finds the module that defines the runtime: the executable or a library. */
static bool find_module(struct interpreter_runtime *r, struct symbols *s)
{
    const struct interpreter_access *a = r->access;
    for (size_t i = 0; i < a->module_count; i++) {
        r->module = i;
        if ((i == 0 || str_has(str_basename(a->modules[i]), STR("perl"))) &&
            find_symbols(a, i, s))
            return true;
    }
    return false;
}

static bool find_layout(struct interpreter_runtime *r, struct memory *m,
                        const struct symbols *s, struct error *err)
{
    struct perl *perl = r->data;
    unsigned major = memory_u8(m, s->revision), minor = memory_u8(m, s->version);
    format_text(r->version, sizeof r->version, "%u.%u.%u", major, minor,
                memory_u8(m, s->subversion));
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].minor <= minor)
            perl->layout = &layouts[i];
    /* a version with an odd number is one of development: its layout changes within it */
    if (m->failed || major != 5 || !perl->layout || minor > NEWEST || minor % 2)
        return error_set(err, "Perl %s is not supported: 5.28 to 5.%d are", r->version,
                         NEWEST);
    format_text(r->offsets, sizeof r->offsets, "table for 5.%u", perl->layout->minor);
    return true;
}

static void make_walk(struct perl *perl, uint64_t state, uint32_t statement,
                      uint32_t contexts)
{
    const struct perl_layout *l = perl->layout;
    perl->walk = (struct interpreter_walk){
        .runtime = state,
        .form = INTERPRETER_WALK_CONTEXTS,
        .thread_frame = contexts,
        .thread_instruction = statement,
        .thread_tid = INTERPRETER_WALK_ABSENT,
        .cframe_frame = INTERPRETER_WALK_ABSENT,
        .frame_size = l->context_size,
        .frame_stride = l->context_size,
        .frame_code = l->context_code,
        .frame_instruction = PERL_CONTEXT_STATEMENT,
        .frame_owner = INTERPRETER_WALK_ABSENT,
        .frame_is_entry = INTERPRETER_WALK_ABSENT,
        .code_lines = PERL_CODE_ROOT,
        .code_first_line = PERL_CODE_GLOB,
        .instruction_line = PERL_STATEMENT_LINE,
        .instruction_file = PERL_STATEMENT_FILE,
    };
}

/* Sets the layout of the walk; false if the interpreter does not exist yet. */
static bool find_state(struct perl *perl, struct memory *m, const struct symbols *s)
{
    const struct perl_layout *l = perl->layout;
    perl->has_threads = s->interpreter != 0;
    if (!s->interpreter) {
        uint64_t first = s->statement < s->contexts ? s->statement : s->contexts;
        make_walk(perl, first, (uint32_t)(s->statement - first),
                  (uint32_t)(s->contexts - first));
        return true;
    }
    uint64_t state = memory_u64(m, s->interpreter);
    make_walk(perl, state, l->statement, l->contexts);
    return state && !m->failed;
}

static enum interpreter_found perl_find(struct interpreter_runtime *r, struct error *err)
{
    struct memory m = memory_of(r->access);
    struct symbols s;
    struct perl *perl = arena_zalloc(r->arena, 1, sizeof *perl);
    if (!perl) {
        error_memory(err);
        return INTERPRETER_REFUSED;
    }
    r->data = perl;
    if (!find_module(r, &s))
        return INTERPRETER_ABSENT;
    if (!find_layout(r, &m, &s, err))
        return INTERPRETER_REFUSED;
    return find_state(perl, &m, &s) ? INTERPRETER_FOUND : INTERPRETER_STARTING;
}

static bool perl_thread(const struct interpreter_runtime *r,
                        const struct interpreter_thread_ids *ids,
                        struct interpreter_thread *thread)
{
    const struct perl *perl = r->data;
    struct memory m = memory_of(r->access);
    uint64_t first = r->access->first_tid;
    if (first && ids->tid && ids->tid != first)
        return false;
    *thread = (struct interpreter_thread){.state = perl->walk.runtime};
    return memory_u64(&m, thread->state + perl->walk.thread_frame) != 0 &&
           memory_u64(&m, thread->state + perl->walk.thread_instruction) != 0;
}

/* --- The descriptor ----------------------------------------------------------------- */

static bool perl_walk_layout(const struct interpreter_runtime *r,
                             struct interpreter_walk *walk)
{
    const struct perl *perl = r->data;
    *walk = perl->walk;
    return true;
}

/* Operations that execute their block in a loop of their own, if native code called the
 * function: that loop continues a function. */
static const char *const continuing[] = {"Perl_pp_entertry", "Perl_pp_entertrycatch",
                                         "Perl_pp_entereval", "Perl_pp_require",
                                         "Perl_pp_dofile"};

/* Prefixes of functions between the loop and a function or another loop. */
static const char *const internal[] = {
    "Perl_pp_",   "Perl_call_",  "Perl_eval_", "Perl_amagic_call", "perl_run",
    "S_run_body", "S_call_body", "S_docatch",  "Perl_docatch",
};

static enum interpreter_native perl_native(struct str function)
{
    if (str_starts(function, STR("Perl_runops_")))
        return NATIVE_LOOP;
    for (size_t i = 0; i < sizeof continuing / sizeof *continuing; i++)
        if (str_equal(function, str_of(continuing[i])))
            return NATIVE_CONTINUES;
    for (size_t i = 0; i < sizeof internal / sizeof *internal; i++)
        if (str_starts(function, str_of(internal[i])))
            return NATIVE_INTERNAL;
    return NATIVE_WORK;
}

const struct interpreter interpreter_perl = {
    .name = "perl",
    .title = "Perl",
    .file = "perl",
    .prepares_calls = true,
    .find = perl_find,
    .thread = perl_thread,
    .stack = perl_stack,
    .native = perl_native,
    .layout = perl_walk_layout,
    .describe = perl_describe,
};
