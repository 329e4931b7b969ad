/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/json.h"
#include "cli/stacks/stacks.h"

static void put_frame(struct json_writer *w, const struct stacks_frame *f)
{
    static const char *const kinds[] = {"native", "inlined", "interpreted"};
    json_put_line(w);
    json_begin(w, JSON_OBJECT);
    json_member_str(w, "kind", str_of(kinds[f->kind]));
    json_member_str(w, "function", f->function);
    if (f->file.len)
        json_member_str(w, "file", f->file);
    if (f->line)
        json_member_u64(w, "line", f->line);
    if (f->module.len)
        json_member_str(w, "module", f->module);
    if (f->address)
        json_member_u64(w, "address", f->address);
    json_end(w, JSON_OBJECT);
}

static void put_thread(struct json_writer *w, const struct stacks *s,
                       const struct stacks_thread *t)
{
    const char *call = os_call_name(t->state.call), *doubt = stacks_doubt(s, t);
    json_put_line(w);
    json_begin(w, JSON_OBJECT);
    json_member_u64(w, "tid", (uint64_t)t->tid);
    json_member_str(w, "name", t->name);
    json_member_str(w, "state", str_of(stacks_state(t)));
    if (t->state.call != OS_CALL_NONE)
        json_member_u64(w, "system_call_number", (uint64_t)t->state.call);
    if (call)
        json_member_str(w, "system_call", str_of(call));
    json_put_key(w, "holds_gil");
    json_put_bool(w, t->holds_lock);
    json_put_key(w, "interpreted");
    json_put_bool(w, t->is_interpreted);
    if (doubt)
        json_member_str(w, "doubt", str_of(doubt));
    json_member_u64(w, "paused_ns", t->paused);
    json_put_key(w, "frames");
    json_begin(w, JSON_ARRAY);
    for (size_t i = 0; i < t->count; i++)
        put_frame(w, &t->frames[i]);
    json_end(w, JSON_ARRAY);
    json_end(w, JSON_OBJECT);
}

bool stacks_write_json(const struct stacks *s, struct output *out)
{
    struct json_writer w = {.out = out};
    json_begin(&w, JSON_OBJECT);
    json_member_u64(&w, "pid", (uint64_t)s->pid);
    json_member_str(&w, "command", s->command);
    if (s->core.len) {
        json_member_str(&w, "core", s->core);
        if (stacks_signal(s->signal)) {
            json_member_str(&w, "signal", str_of(stacks_signal(s->signal)));
            json_member_u64(&w, "signal_tid", (uint64_t)s->threads[0].tid);
        }
        json_member_u64(&w, "missing_bytes", s->missing);
        json_member_u64(&w, "rejected_notes", s->rejected);
        json_member_u64(&w, "changed_files", s->changed_files);
        json_member_u64(&w, "missing_files", s->missing_files);
    }
    if (s->runtime.interpreter) {
        json_put_key(&w, "runtime");
        json_begin(&w, JSON_OBJECT);
        json_member_str(&w, "name", str_of(s->runtime.interpreter->name));
        json_member_str(&w, "version", str_of(s->runtime.version));
        json_member_str(&w, "module", s->runtime_module);
        json_member_str(&w, "offsets", str_of(s->runtime.offsets));
        json_end(&w, JSON_OBJECT);
    }
    if (s->refused.len)
        json_member_str(&w, "refused", s->refused);
    json_put_key(&w, "threads");
    json_begin(&w, JSON_ARRAY);
    for (size_t i = 0; i < s->count; i++)
        put_thread(&w, s, &s->threads[i]);
    json_end(&w, JSON_ARRAY);
    json_end(&w, JSON_OBJECT);
    output_char(out, '\n');
    return !out->failed;
}
