/* SPDX-License-Identifier: Apache-2.0 */
#include "base/visible.h"
#include "cli/stacks/stacks.h"

#define BOLD "\x1b[1m"
#define GREEN "\x1b[32m"
#define DIM "\x1b[2m"

struct writer {
    struct output *out;
    bool colour;
};

static void start(const struct writer *w, const char *colour)
{
    if (w->colour)
        output_text(w->out, colour);
}

static void stop(const struct writer *w)
{
    start(w, "\x1b[0m");
}

const char *stacks_state(const struct stacks_thread *t)
{
    switch (t->state.letter) {
    case STACKS_OF_CORE:
        return "in a core file";
    case 'R':
        return "running";
    case 'S':
        return t->state.call == OS_CALL_NONE ? "sleeping" : "waiting";
    case 'D':
        return "in uninterruptible sleep";
    case 'T':
        return "stopped";
    case 't':
        return "stopped by a debugger";
    case 'Z':
    case 'X':
        return "ended";
    default:
        return "in an unknown state";
    }
}

const char *stacks_signal(unsigned number)
{
    static const char *const names[32] = {
        [3] = "SIGQUIT",  [4] = "SIGILL", [5] = "SIGTRAP",  [6] = "SIGABRT",
        [7] = "SIGBUS",   [8] = "SIGFPE", [11] = "SIGSEGV", [24] = "SIGXCPU",
        [25] = "SIGXFSZ", [31] = "SIGSYS"};
    return number < 32 ? names[number] : NULL;
}

static const char *doubt_of_interpreter(const struct stacks_thread *t)
{
    if (!t->is_interpreted)
        return NULL;
    if (t->end == INTERPRETER_TORN)
        return "interpreted callers are missing: their frames were not consistent";
    if (t->end == INTERPRETER_TRUNCATED)
        return "interpreted callers are missing: the stack is too deep";
    if (t->merge == MERGE_DOUBTFUL)
        return "native and interpreted frames do not match: all native frames are listed "
               "first";
    return NULL;
}

const char *stacks_doubt(const struct stacks *s, const struct stacks_thread *t)
{
    if (t->result == STACKS_BUSY)
        return "no stack: the thread waits in the kernel and cannot be stopped";
    if (t->result == STACKS_FAILED)
        return "no stack: its registers are not readable (32-bit processes are not "
               "supported)";
    const char *doubt = doubt_of_interpreter(t);
    if (doubt || s->native_is_absent)
        return doubt;
    switch (t->native) {
    case UNWIND_WHOLE:
        return NULL;
    case UNWIND_TOO_DEEP:
    case UNWIND_CUT:
        return s->missing ? "native callers are missing: the core file is truncated"
                          : "native callers are missing: the stack is too large";
    default:
        return "native callers are missing: code without unwind information";
    }
}

static void write_location(const struct writer *w, const struct stacks_frame *f)
{
    struct str module = str_basename(f->module);
    if (f->file.len == 0 && module.len == 0)
        return;
    output_text(w->out, "  ");
    start(w, DIM);
    if (f->file.len) {
        visible_print(w->out, f->file);
        if (f->line)
            output_format(w->out, ":%u", f->line);
        if (module.len)
            output_char(w->out, ' ');
    }
    if (module.len) {
        output_char(w->out, '(');
        visible_print(w->out, module);
        output_char(w->out, ')');
    }
    stop(w);
}

static void write_frame(const struct writer *w, size_t number,
                        const struct stacks_frame *f)
{
    output_format(w->out, "%5zu  ", number);
    if (f->kind == STACKS_INTERPRETED)
        start(w, GREEN);
    if (f->function.len)
        visible_print(w->out, f->function);
    else if (f->kind == STACKS_INTERPRETED)
        output_text(w->out, "[unknown]");
    else
        output_format(w->out, "0x%llx", (unsigned long long)f->address);
    if (f->kind == STACKS_INTERPRETED)
        stop(w);
    write_location(w, f);
    if (f->kind == STACKS_INLINED)
        output_text(w->out, " inlined");
    output_char(w->out, '\n');
}

static void write_thread(const struct writer *w, const struct stacks *s,
                         const struct stacks_thread *t)
{
    const char *call = os_call_name(t->state.call), *doubt = stacks_doubt(s, t);
    output_char(w->out, '\n');
    start(w, BOLD);
    output_format(w->out, "thread %lld \"", (long long)t->tid);
    visible_print(w->out, t->name);
    output_format(w->out, "\": %s", stacks_state(t));
    if (call)
        output_format(w->out, " in %s", call);
    else if (t->state.call != OS_CALL_NONE)
        output_format(w->out, " in system call %lld", (long long)t->state.call);
    if (t->holds_lock)
        output_text(w->out, ", holds the GIL");
    stop(w);
    output_char(w->out, '\n');
    for (size_t i = 0; i < t->count; i++)
        write_frame(w, i, &t->frames[i]);
    if (doubt)
        output_format(w->out, "       [%s]\n", doubt);
}

static void write_core(const struct writer *w, const struct stacks *s)
{
    if (s->core.len == 0)
        return;
    output_text(w->out, "# core file ");
    visible_print(w->out, s->core);
    if (stacks_signal(s->signal))
        output_format(w->out, ": ended by %s in thread %lld", stacks_signal(s->signal),
                      (long long)s->threads[0].tid);
    output_char(w->out, '\n');
    if (s->missing)
        output_format(w->out, "# truncated: %llu bytes are missing\n",
                      (unsigned long long)s->missing);
    if (s->rejected)
        output_format(w->out, "# %zu notes are not valid\n", s->rejected);
    if (s->changed_files) {
        output_format(w->out, "# warning: %zu %s changed after the program started (",
                      s->changed_files,
                      s->changed_files == 1 ? "file has" : "files have");
        visible_print(w->out, s->changed_path);
        output_text(w->out, "): their functions have no names\n");
    }
    if (s->missing_files) {
        output_format(w->out, "# warning: %zu %s missing (", s->missing_files,
                      s->missing_files == 1 ? "file is" : "files are");
        visible_print(w->out, s->missing_path);
        output_text(w->out, ")\n");
    }
}

bool stacks_write_text(const struct stacks *s, bool colour, struct output *out)
{
    struct writer w = {out, colour};
    output_format(out, "# process %lld: ", (long long)s->pid);
    visible_print(out, s->command);
    output_char(out, '\n');
    write_core(&w, s);
    if (s->runtime.interpreter) {
        output_format(out, "# %s %s in ", s->runtime.interpreter->title,
                      s->runtime.version);
        visible_print(out, s->runtime_module);
        output_format(out, ", offsets: %s\n", s->runtime.offsets);
    } else if (s->refused.len) {
        output_text(out, "# native stacks only: ");
        visible_print(out, s->refused);
        output_char(out, '\n');
    }
    for (size_t i = 0; i < s->count; i++)
        write_thread(&w, s, &s->threads[i]);
    return !out->failed;
}
