/* SPDX-License-Identifier: Apache-2.0 */
#include "base/format.h"
#include "engine/home_parts.h"
#include "os/file.h"
#include "os/host.h"
#include "os/machine.h"
#include "os/proc.h"

#define EVENT_MAX 200
#define RATE_MAX 100000
#define DURATION_MAX 86400.0
#define COMMAND_MAX (HOME_ARGUMENTS_MAX - 32) /* the others are options */

/* The settings as they arrive. */
struct settings {
    struct arena *arena;
    struct str target, event, stacks;
    uint32_t pids[HOME_PIDS_MAX];
    size_t pid_count;
    struct str command[COMMAND_MAX];
    size_t command_count;
    double rate, duration;
    bool off_cpu, children, heap;
};

static bool read_text(struct json *j, struct arena *a, size_t most, struct str *out)
{
    struct str text;
    if (!json_string(j, &text) || text.len > most || memchr(text.ptr, '\0', text.len))
        return false;
    *out = arena_str(a, text);
    return out->len == text.len;
}

static bool read_pids(struct json *j, struct settings *s)
{
    uint64_t pid;
    if (!json_enter(j, JSON_ARRAY))
        return false;
    while (json_item(j)) {
        if (!json_u64(j, &pid) || pid == 0 || pid > INT32_MAX ||
            s->pid_count == HOME_PIDS_MAX)
            return false;
        s->pids[s->pid_count++] = (uint32_t)pid;
    }
    return true;
}

static bool read_command(struct json *j, struct settings *s)
{
    if (!json_enter(j, JSON_ARRAY))
        return false;
    while (json_item(j))
        if (s->command_count == COMMAND_MAX ||
            !read_text(j, s->arena, HOME_ARGUMENT_MAX, &s->command[s->command_count++]))
            return false;
    return true;
}

static bool read_member(struct json *j, struct str key, struct settings *s)
{
    if (str_equal(key, STR("target")))
        return read_text(j, s->arena, 16, &s->target);
    if (str_equal(key, STR("pids")))
        return read_pids(j, s);
    if (str_equal(key, STR("command")))
        return read_command(j, s);
    if (str_equal(key, STR("event")))
        return read_text(j, s->arena, EVENT_MAX, &s->event);
    if (str_equal(key, STR("stacks")))
        return read_text(j, s->arena, 16, &s->stacks);
    if (str_equal(key, STR("rate")))
        return json_number(j, &s->rate);
    if (str_equal(key, STR("duration")))
        return json_number(j, &s->duration);
    if (str_equal(key, STR("off_cpu")))
        return json_bool(j, &s->off_cpu);
    if (str_equal(key, STR("children")))
        return json_bool(j, &s->children);
    if (str_equal(key, STR("heap")))
        return json_bool(j, &s->heap);
    return false;
}

static bool read_settings(struct settings *s, struct str body, struct error *err)
{
    struct source source = source_of(body, STR("the request"));
    struct json j;
    struct str key;
    char name[32] = "";
    bool ok = true;
    json_init(&j, &source, false, err);
    j.depth_max = 4;
    bool object = json_enter(&j, JSON_OBJECT);
    while (ok && object && json_key(&j, &key)) {
        format_text(name, sizeof name, "%.*s", STR_ARG(key));
        ok = read_member(&j, str_of(name), s);
    }
    bool whole = ok && object && json_finish(&j);
    if (!ok && !j.failed)
        error_set(err, "the setting '%s' is unknown, or its value is invalid", name);
    else if (!object && !j.failed)
        error_set(err, "the settings are not an object in JSON");
    json_deinit(&j);
    source_deinit(&source);
    return whole;
}

/* --- Checks --------------------------------------------------------------------------- */

static bool is_one_of(struct str text, const char *const *names)
{
    for (; *names; names++)
        if (str_equal(text, str_of(*names)))
            return true;
    return false;
}

static bool check_event(struct str event, struct error *err)
{
    for (size_t i = 0; i < event.len; i++)
        if (!byte_is_word(event.ptr[i]) && !strchr(":/=,.-", event.ptr[i]))
            return error_set(err, "the name of the event is invalid");
    return !str_starts(event, STR("-")) ||
           error_set(err, "the name of the event is invalid");
}

/* Removes processes that have ended; one must remain. */
static bool check_pids(struct settings *s, struct error *err)
{
    size_t count = s->pid_count, running = 0;
    if (count == 0)
        return error_set(err, "no process is chosen");
    for (size_t i = 0; i < count; i++)
        if (os_process_runs(s->pids[i]))
            s->pids[running++] = s->pids[i];
    s->pid_count = running;
    if (running)
        return true;
    error_set(err, "the chosen process%s ended", count > 1 ? "es have" : " has");
    return error_hint(err, "choose another one");
}

/* Of running processes, the heap is recorded alone: stoke heap -p. */
static bool check_heap(const struct settings *s, struct error *err)
{
    if (!s->heap || s->pid_count == 1)
        return true;
    error_set(err, "the heap of %zu processes cannot be recorded at once", s->pid_count);
    return error_hint(err, "choose one process");
}

static bool check(struct settings *s, struct error *err)
{
    static const char *const stacks[] = {"auto", "fp", "dwarf", "lbr", "none", NULL};
    if (!(s->rate >= 1 && s->rate <= RATE_MAX))
        return error_set(err, "the rate is not from 1 to %d Hz", RATE_MAX);
    if (!(s->duration >= 0 && s->duration <= DURATION_MAX))
        return error_set(err, "the duration is not from 0 to %d s", (int)DURATION_MAX);
    if (!is_one_of(s->stacks, stacks))
        return error_set(err, "the kind of stacks is unknown");
    if (!check_event(s->event, err))
        return false;
    if (str_equal(s->target, STR("machine")))
        return true;
    if (str_equal(s->target, STR("pids")))
        return check_pids(s, err) && check_heap(s, err);
    if (!str_equal(s->target, STR("command")))
        return error_set(err, "the target is unknown");
    if (s->command_count == 0 || s->command[0].len == 0)
        return error_set(err, "the command is missing");
    return !str_starts(s->command[0], STR("-")) ||
           error_set(err, "a command cannot begin with '-'");
}

static bool check_limits(const struct settings *s,
                         const struct home_request_limits *limits, struct error *err)
{
    if (limits->only_processes &&
        (!str_equal(s->target, STR("pids")) || s->event.len || s->heap))
        return error_set(err, "only processes can be recorded, with the default event");
    if (limits->rate > 0 && s->rate > limits->rate)
        return error_set(err, "the rate is not from 1 to %d Hz", (int)limits->rate);
    if (limits->seconds > 0 && !(s->duration > 0 && s->duration <= limits->seconds))
        return error_set(err, "the duration is not above 0, and at most %d s",
                         (int)limits->seconds);
    return true;
}

/* --- The command line ----------------------------------------------------------------- */

/* Arguments that are being added. */
struct arguments {
    struct home_request *r;
    size_t count;
    bool failed;
};

static void put(struct arguments *a, struct str text)
{
    char *copy = arena_alloc(&a->r->arena, text.len + 1);
    if (!copy || a->count + 1 >= HOME_ARGUMENTS_MAX) {
        a->failed = true;
        return;
    }
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    a->r->argv[a->count++] = copy;
}

static void put_number(struct arguments *a, double v)
{
    struct output o = OUTPUT_BUFFER;
    output_double(&o, v);
    put(a, output_contents(&o));
    output_deinit(&o);
}

static void put_pids(struct arguments *a, const struct settings *s)
{
    struct output o = OUTPUT_BUFFER;
    for (size_t i = 0; i < s->pid_count; i++)
        output_format(&o, "%s%u", i ? "," : "", s->pids[i]);
    put(a, STR("-p"));
    put(a, output_contents(&o));
    output_deinit(&o);
}

/* The target, as a title. */
static void set_title(struct home_request *r, const struct settings *s)
{
    char room[64] = "";
    struct str name = STR("machine");
    if (s->pid_count)
        name = os_thread_name(s->pids[0], s->pids[0], room, sizeof room);
    else if (s->command_count)
        name = str_basename(s->command[0]);
    format_text(r->title, sizeof r->title, "%.*s", STR_ARG(str_head(name, 64)));
}

/* "NAME-20261124-143201.stoke", in this folder; no existing file is replaced. */
static bool choose_path(struct home_request *r, struct error *err)
{
    struct os_local_time t = os_local_time(os_clock_real());
    char name[128];
    size_t used = format_text(name, sizeof name, "%s", r->title);
    for (size_t i = 0; i < used; i++)
        if (!byte_is_word(name[i]) && !(i && strchr(".-+", name[i])))
            name[i] = '_';
    for (unsigned n = 1; n < 1000; n++) {
        char more[16] = "";
        if (n > 1)
            format_text(more, sizeof more, "-%u", n);
        format_text(r->path, sizeof r->path, "%s-%04u%02u%02u-%02u%02u%02u%s.stoke",
                    used ? name : "recording", t.year, t.month, t.day, t.hour, t.minute,
                    t.second, more);
        if (!os_output_exists(r->path))
            break;
    }
    if (os_output_check(r->path, err))
        return true;
    return error_hint(err, "start stoke view in a folder where you can write");
}

/* The options of stoke record, except the target. */
static void put_options(struct arguments *a, const struct settings *s)
{
    put(a, STR("-F"));
    put_number(a, s->rate);
    put(a, STR("-g"));
    put(a, s->stacks);
    if (s->event.len) {
        put(a, STR("-e"));
        put(a, s->event);
    }
    if (s->off_cpu)
        put(a, STR("--off-cpu"));
    if (s->heap && s->command_count)
        put(a, STR("--heap"));
    if (!s->children)
        put(a, STR("-i"));
}

static bool build(struct home_request *r, const struct settings *s, struct error *err)
{
    char program[4096];
    struct arguments a = {.r = r};
    bool heap = s->heap && s->pid_count;
    r->argv = arena_zalloc(&r->arena, HOME_ARGUMENTS_MAX, sizeof *r->argv);
    if (!r->argv)
        return error_memory(err);
    put(&a, os_own_program(program, sizeof program));
    put(&a, heap ? STR("heap") : STR("record"));
    if (!heap)
        put(&a, STR("--bundle"));
    put(&a, STR("-o"));
    put(&a, str_of(r->path));
    if (!heap)
        put_options(&a, s);
    if (s->duration > 0) {
        put(&a, STR("--duration"));
        put_number(&a, s->duration);
    }
    if (s->pid_count)
        put_pids(&a, s);
    else if (s->command_count)
        put(&a, STR("--"));
    else
        put(&a, STR("-a"));
    for (size_t i = 0; i < s->command_count; i++)
        put(&a, s->command[i]);
    return !a.failed || error_memory(err);
}

bool home_request_read(struct home_request *r, struct str body,
                       const struct home_request_limits *limits, struct error *err)
{
    struct settings *s;
    *r = (struct home_request){.arena = ARENA_INIT};
    s = arena_zalloc(&r->arena, 1, sizeof *s);
    if (!s)
        return error_memory(err);
    *s = (struct settings){.arena = &r->arena,
                           .target = STR(""),
                           .event = STR(""),
                           .stacks = STR("auto"),
                           .rate = 99,
                           .duration = 10,
                           .children = true};
    if (!read_settings(s, body, err) || !check_limits(s, limits, err) || !check(s, err))
        return false;
    /* settings of the other kinds of targets may be there too */
    if (!str_equal(s->target, STR("pids")))
        s->pid_count = 0;
    if (!str_equal(s->target, STR("command")))
        s->command_count = 0;
    r->duration = s->duration;
    set_title(r, s);
    if (limits->path)
        format_text(r->path, sizeof r->path, "%s", limits->path);
    return (limits->path || choose_path(r, err)) && build(r, s, err);
}

static void write_quoted(struct output *o, struct str text)
{
    bool plain = text.len > 0;
    for (size_t i = 0; i < text.len; i++)
        plain &= byte_is_word(text.ptr[i]) || strchr(",./:=+@%-", text.ptr[i]) != NULL;
    if (plain) {
        output_str(o, text);
        return;
    }
    output_char(o, '\'');
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '\'')
            output_text(o, "'\\''");
        else
            output_char(o, text.ptr[i]);
    output_char(o, '\'');
}

void home_request_write(const struct home_request *r, struct output *o)
{
    output_text(o, "stoke");
    for (char **argument = r->argv + 1; *argument; argument++) {
        output_char(o, ' ');
        write_quoted(o, str_of(*argument));
    }
}

void home_request_deinit(struct home_request *r)
{
    arena_deinit(&r->arena);
    *r = (struct home_request){.arena = ARENA_INIT};
}
