/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/home.h"
#include "base/format.h"
#include "os/file.h"
#include "os/machine.h"
#include "os/proc.h"
#include <stdlib.h>

#define MESSAGES_MOST 2000 /* bytes of a program's last messages that the page shows */

static void refuse(struct os_server_reply *reply, const char *status,
                   const struct error *err)
{
    struct json_writer w = {.out = &reply->text};
    reply->status = status;
    json_begin(&w, JSON_OBJECT);
    json_member_str(&w, "error", str_of(err->message));
    json_member_str(&w, "hint", str_of(err->hint));
    json_end(&w, JSON_OBJECT);
}

#define INVALID "400 Bad Request"
#define CONFLICT "409 Conflict"

/* --- This machine --------------------------------------------------------------------- */

/* "Debian GNU/Linux 12 (bookworm)"; empty if it is unknown. */
static struct str system_name(char *room, size_t size)
{
    struct str text = os_read_text("/etc/os-release", room, size),
               key = STR("PRETTY_NAME=");
    while (text.len) {
        struct str line = str_cut(&text, '\n');
        if (!str_starts(line, key))
            continue;
        line = str_skip(line, key.len);
        if (line.len > 1 && str_starts(line, STR("\"")))
            line = (struct str){line.ptr + 1, line.len - 2};
        return line;
    }
    return STR("");
}

static void answer_home(struct engine_home *h, struct os_server_reply *reply)
{
    char room[4096];
    struct os_machine m;
    struct json_writer w = {.out = &reply->text};
    char *folder = realpath(".", NULL);
    uint32_t user;
    os_machine_read(&m);
    json_begin(&w, JSON_OBJECT);
    json_member_str(&w, "host", str_of(m.host));
    json_member_u64(&w, "cpus", os_cpus_online(NULL));
    json_member_u64(&w, "memory", m.memory);
    json_member_str(&w, "system", system_name(room, sizeof room));
    json_member_str(&w, "folder", str_of(folder ? folder : ""));
    json_put_key(&w, "root");
    json_put_bool(&w, os_process_user(os_own_pid(), &user) && user == 0);
    json_put_key(&w, "recent");
    home_files_read(&h->files);
    home_abouts_turn(&h->abouts, &h->files);
    home_files_write(&h->files, &h->abouts, &w);
    json_end(&w, JSON_OBJECT);
    free(folder);
}

/* --- Recording ------------------------------------------------------------------------ */

static const struct home_request_limits any = {.path = NULL};

static void answer_plan(struct os_server_reply *reply, struct str body)
{
    struct error err = {0};
    struct home_request r;
    struct output line = OUTPUT_BUFFER;
    struct json_writer w = {.out = &reply->text};
    if (home_request_read(&r, body, &any, &err)) {
        home_request_write(&r, &line);
        json_begin(&w, JSON_OBJECT);
        json_member_str(&w, "command", output_contents(&line));
        json_member_str(&w, "title", str_of(r.title));
        json_end(&w, JSON_OBJECT);
    } else {
        refuse(reply, INVALID, &err);
    }
    output_deinit(&line);
    home_request_deinit(&r);
}

/* The last messages of a program; if it ended without any, how it ended. */
static void write_messages(struct json_writer *w, const struct os_job *j, bool stopped)
{
    char room[128];
    struct str text = str_trim(os_job_messages(j));
    if (text.len > MESSAGES_MOST)
        text = str_skip(text, text.len - MESSAGES_MOST);
    if (text.len == 0 && stopped)
        text = STR("It was stopped before the first sample.");
    else if (text.len == 0 && j->child.status > 128)
        text =
            (struct str){room, format_text(room, sizeof room,
                                           "Signal %d ended the program: is the memory "
                                           "short?",
                                           j->child.status - 128)};
    json_member_str(w, "messages", text);
}

static void answer_recording(const struct engine_home *h, struct os_server_reply *reply)
{
    struct json_writer w = {.out = &reply->text};
    char id[HOME_ID_SIZE] = "", *path = NULL;
    /* the status is that of a recorded command */
    bool ok = h->has_recorded && os_output_exists(h->request.path);
    uint64_t end = h->records ? os_clock_monotonic() : h->ended;
    if (ok && (path = realpath(h->request.path, NULL)))
        home_file_id(id, path);
    free(path);
    json_begin(&w, JSON_OBJECT);
    json_member_str(&w, "state",
                    str_of(h->records        ? h->stops ? "ending" : "recording"
                           : ok              ? "recorded"
                           : h->has_recorded ? "failed"
                                             : "none"));
    if (h->records || h->has_recorded) {
        json_member_str(&w, "title", str_of(h->request.title));
        json_member_str(&w, "name", str_of(h->request.path));
        json_member_double(&w, "seconds", (double)(end - h->began) / 1e9);
        json_member_double(&w, "duration", h->request.duration);
        write_messages(&w, &h->recording, h->stops);
    }
    if (id[0])
        json_member_str(&w, "file", str_of(id));
    json_end(&w, JSON_OBJECT);
}

static void answer_record(struct engine_home *h, struct os_server_reply *reply,
                          struct str body)
{
    struct error err = {0};
    struct home_request r;
    if (h->records) {
        error_set(&err, "a recording of %s is in progress", h->request.title);
        error_hint(&err, "stop it first");
        refuse(reply, CONFLICT, &err);
        return;
    }
    if (!home_request_read(&r, body, &any, &err)) {
        home_request_deinit(&r);
        refuse(reply, INVALID, &err);
        return;
    }
    os_job_close(&h->recording);
    home_request_deinit(&h->request);
    h->request = r;
    h->has_recorded = h->stops = false;
    h->began = os_clock_monotonic();
    h->records = os_job_execute(&h->recording, r.argv, h->settings.wait, &err);
    if (h->records)
        answer_recording(h, reply);
    else
        refuse(reply, CONFLICT, &err);
}

static void answer_stop(struct engine_home *h, struct os_server_reply *reply)
{
    if (h->records && !h->stops) {
        os_job_stop(&h->recording);
        h->stops = true;
    }
    answer_recording(h, reply);
}

/* --- Pages of recordings -------------------------------------------------------------- */

static int make(void *context)
{
    const struct engine_home *h = context;
    return h->settings.make_page(h->settings.context, h->made.path,
                                 h->before.path[0] ? h->before.path : NULL);
}

static void answer_opening(const struct engine_home *h, struct os_server_reply *reply)
{
    struct json_writer w = {.out = &reply->text};
    bool ok = h->has_made && h->making.child.status == 0;
    json_begin(&w, JSON_OBJECT);
    json_member_str(&w, "state",
                    str_of(h->makes      ? "opening"
                           : ok          ? "opened"
                           : h->has_made ? "failed"
                                         : "none"));
    json_member_str(&w, "file", str_of(h->made.id));
    json_member_str(&w, "name", str_basename(str_of(h->made.path)));
    if (h->before.path[0])
        json_member_str(&w, "before", str_of(h->before.id));
    if (h->has_made)
        write_messages(&w, &h->making, false);
    json_end(&w, JSON_OBJECT);
}

/* The files of a request, by their ids; empty: none. */
struct asked {
    char file[HOME_ID_SIZE], before[HOME_ID_SIZE];
};

/* {"file": ID, "before": ID} */
static bool read_asked(struct str body, struct asked *to, struct error *err)
{
    struct source source = source_of(body, STR("the request"));
    struct json j;
    struct str key, text;
    bool wrong = false;
    *to = (struct asked){.file = ""};
    json_init(&j, &source, false, err);
    j.depth_max = 4;
    if (json_enter(&j, JSON_OBJECT))
        while (json_key(&j, &key)) {
            char *id = str_equal(key, STR("file"))     ? to->file
                       : str_equal(key, STR("before")) ? to->before
                                                       : NULL;
            if (!id)
                json_skip(&j);
            else if (json_string(&j, &text)) /* a longer one is of no file */
                format_text(id, HOME_ID_SIZE, "%.*s",
                            STR_ARG(text.len < HOME_ID_SIZE ? text : STR("?")));
            else
                wrong = true;
        }
    bool found = json_finish(&j) && to->file[0] && !wrong;
    if (!found && !j.failed)
        error_set(err, "the request names no file");
    json_deinit(&j);
    source_deinit(&source);
    return found;
}

static bool find_file(struct engine_home *h, const char *id, struct home_file *to,
                      struct error *err)
{
    const struct home_file *file = home_files_find(&h->files, str_of(id));
    if (file) {
        *to = *file;
        return true;
    }
    error_set(err, "the file is not among the recent recordings any more");
    return error_hint(err, "choose it with Open a file");
}

static void answer_open(struct engine_home *h, struct os_server_reply *reply,
                        struct str body)
{
    struct error err = {0};
    struct asked asked;
    struct home_file file, before = {.path = ""};
    if (!read_asked(body, &asked, &err)) {
        refuse(reply, INVALID, &err);
        return;
    }
    if (!find_file(h, asked.file, &file, &err) ||
        (asked.before[0] && !find_file(h, asked.before, &before, &err))) {
        refuse(reply, "404 Not Found", &err);
        return;
    }
    os_job_close(&h->making); /* the user changed the mind */
    h->made = file;
    h->before = before;
    h->has_made = false;
    h->makes = os_job_run(&h->making, make, h, h->settings.wait, &err);
    if (h->makes)
        answer_opening(h, reply);
    else
        refuse(reply, CONFLICT, &err);
}

/* Whether the page of these files is made: ID or ID/ID. */
static bool is_made(const struct engine_home *h, struct str ids)
{
    struct str file = str_cut(&ids, '/');
    return h->has_made && h->making.child.status == 0 &&
           str_equal(str_of(h->made.id), file) &&
           str_equal(str_of(h->before.path[0] ? h->before.id : ""), ids);
}

/* A page that is not made, or not any more: the page without a profile requests it. */
static void answer_view(const struct engine_home *h, struct str ids,
                        struct os_server_reply *reply)
{
    struct error err;
    bool ok = is_made(h, ids) && os_job_result(&h->making, &reply->file, &err);
    reply->type = "text/html; charset=utf-8";
    if (!ok)
        reply->lasting = h->settings.page;
}

/* --- Requests ------------------------------------------------------------------------- */

static bool answer_get(struct engine_home *h, struct str path,
                       struct os_server_reply *reply)
{
    struct str view = STR("/view/");
    if (str_equal(path, STR("/api/home")))
        answer_home(h, reply);
    else if (str_equal(path, STR("/api/processes")))
        output_str(&reply->text, home_processes_read(&h->processes));
    else if (str_equal(path, STR("/api/recording")))
        answer_recording(h, reply);
    else if (str_equal(path, STR("/api/opening")))
        answer_opening(h, reply);
    else if (str_starts(path, view))
        answer_view(h, str_skip(path, view.len), reply);
    else if (str_equal(path, STR("/home")))
        answer_view(h, STR(""), reply);
    else
        return false;
    return true;
}

static bool answer_post(struct engine_home *h, const struct os_server_request *request,
                        struct os_server_reply *reply)
{
    if (str_equal(request->path, STR("/api/plan")))
        answer_plan(reply, request->body);
    else if (str_equal(request->path, STR("/api/record")))
        answer_record(h, reply, request->body);
    else if (str_equal(request->path, STR("/api/stop")))
        answer_stop(h, reply);
    else if (str_equal(request->path, STR("/api/open")))
        answer_open(h, reply, request->body);
    else
        return false;
    return true;
}

static bool answer(void *context, const struct os_server_request *request,
                   struct os_server_reply *reply)
{
    struct engine_home *h = context;
    engine_home_turn(h);
    return request->post ? answer_post(h, request, reply)
                         : answer_get(h, request->path, reply);
}

static const char *const paths[] = {"/api/", "/view/", "/home", NULL};

void engine_home_open(struct engine_home *h, const struct engine_home_settings *settings)
{
    *h = (struct engine_home){.settings = *settings,
                              .pages = {paths, answer, h},
                              .processes = HOME_PROCESSES_NONE,
                              .recording = OS_JOB_NONE,
                              .making = OS_JOB_NONE};
    home_abouts_init(&h->abouts, settings->wait);
}

void engine_home_close(struct engine_home *h)
{
    os_job_close(&h->recording);
    os_job_close(&h->making);
    home_request_deinit(&h->request);
    home_processes_deinit(&h->processes);
    home_abouts_deinit(&h->abouts);
    home_files_deinit(&h->files);
}

void engine_home_turn(struct engine_home *h)
{
    if (h->records && os_job_ended(&h->recording)) {
        h->records = false;
        h->has_recorded = true;
        h->ended = os_clock_monotonic();
    }
    if (h->makes && os_job_ended(&h->making)) {
        h->makes = false;
        h->has_made = true;
    }
    if (h->abouts.works)
        home_abouts_turn(&h->abouts, &h->files);
}
