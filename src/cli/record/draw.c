/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/draw.h"
#include "base/format.h"
#include "base/number.h"
#include "cli/message.h"
#include "cli/options/load.h"
#include "cli/options/save.h"
#include "cli/record/summary.h"
#include "os/task.h"

/* --- What is to be drawn ----------------------------------------------------------- */

/* Known for pictures, or for packed files, but not written here: a recording under such a
 * name would be a surprise. */
static const char *const not_written[] = {"pdf", "png", "jpg", "jpeg", "gif", "webp",
                                          "ps",  "eps", "tif", "tiff", "bmp", "gz",
                                          "zst", "xz",  "bz2", "zip",  NULL};

static struct str lower_case(const char *text, char *room, size_t size)
{
    size_t length = format_text(room, size, "%s", text);
    for (size_t i = 0; i < length; i++)
        if (room[i] >= 'A' && room[i] <= 'Z')
            room[i] = (char)(room[i] - 'A' + 'a');
    return (struct str){room, length};
}

static bool check_suffix(struct str name, const char *output, struct error *err)
{
    struct str suffix = str_skip(name, str_rfind(name, '.'));
    for (size_t i = 0; not_written[i]; i++) {
        if (suffix.len == 0 || !str_equal(str_skip(suffix, 1), str_of(not_written[i])))
            continue;
        error_set(err, "%s: stoke writes no .%s", output, not_written[i]);
        return error_hint(err, ".svg, .html, .folded, .folded.gz, ... are drawn ('stoke "
                               "help formats' lists them); .data is a recording");
    }
    return true;
}

/* Whether the recording can be beside the output: not beside a device. */
static void choose_data(struct record_drawing *d)
{
    if (!os_output_is_placed(d->output))
        return;
    format_text(d->data, sizeof d->data, "%s.data", d->output);
    if (os_output_is_there(d->data))
        format_text(d->data, sizeof d->data, "%s.%lld.data", d->output,
                    (long long)os_task_own());
}

bool record_drawing_choose(struct record_drawing *d, const char *output, bool bundle,
                           struct error *err)
{
    char room[4096];
    struct str name = lower_case(output, room, sizeof room), gz = STR(".gz");
    const struct exporter *stoke = exporter_named(STR("stoke"));
    *d = (struct record_drawing){.output = output};
    d->exporter = exporter_for_file(name);
    if (!d->exporter && str_ends(name, gz))
        d->exporter = exporter_for_file(str_head(name, name.len - gz.len));
    if (bundle && d->exporter && d->exporter != stoke) {
        error_set(err, "--bundle writes a .stoke, and %s is %s", output,
                  d->exporter->name);
        return error_hint(err, "--bundle -o FILE.stoke, or -o %s alone", output);
    }
    if (bundle)
        d->exporter = stoke;
    if (!d->exporter)
        return check_suffix(name, output, err);
    d->packed = save_packs(d->exporter, name);
    choose_data(d);
    return true;
}

/* --- Drawing ----------------------------------------------------------------------- */

struct drawing_work {
    const struct record_drawing *drawing;
    const struct record_session *session;
};

/* Draws the recording, as stoke convert does. */
static bool draw(const struct drawing_work *w, struct error *err)
{
    const struct record_drawing *d = w->drawing;
    const struct exporter *e = d->exporter;
    bool is_bundle = e == exporter_named(STR("stoke"));
    struct load_settings load = {.keep = e->wants_time, .quiet = d->quiet};
    struct export_options options = {.title = STR("")};
    struct os_output_manner manner = {
        .is_private = is_bundle, .keeps_old = is_bundle, .owner = os_invoking_person()};
    char path[4200], *files[] = {path};
    options.tree.threads = e->whole ? THREAD_TID : THREAD_COMM;
    load.events_apart = load.import.addresses = load.import.every_address =
        load.import.lines = e->whole;
    format_text(path, sizeof path, "%s", record_session_path(w->session));
    struct profile *p = load_profiles(&load, 1, files, err);
    if (p && !e->whole)
        load_note_event(p, d->quiet);
    bool ok = p && save_profile_as(e, p, &options, d->output, d->packed, &manner, err);
    profile_destroy(p);
    return ok;
}

static int draw_apart(void *context)
{
    struct error err = {.place = PLACE_NONE};
    if (draw(context, &err))
        return 0;
    message_error(&err);
    return 1;
}

/* In a process of its own: whatever happens to it, by a signal or for want of memory, it
 * is this one that is left to tell. */
static bool draw_watched(struct drawing_work *w, struct os_wait *wait, struct error *err)
{
    struct os_child child;
    bool stopped = false;
    if (!os_child_work(&child, draw_apart, w, err))
        return false;
    while (!os_child_ended(&child)) {
        if (!(os_wait_for(wait, -1) & OS_WAIT_STOP))
            continue;
        os_child_kill(&child);
        stopped = true;
    }
    if (child.status == 0)
        return true;
    os_output_clean(w->drawing->output, child.pid);
    if (stopped || child.status > 128)
        return error_set(err, "drawing was ended by a signal: there is no new %s",
                         w->drawing->output);
    return error_set(err, "%s could not be drawn", w->drawing->output);
}

/* Nothing is drawn of nothing. */
static bool nothing_to_draw(const struct record_drawing *d, bool whole, struct error *err)
{
    if (d->data[0])
        os_data_file_remove(d->data);
    if (!whole)
        return false;
    error_set(err, "there is nothing to draw: %s",
              os_output_is_there(d->output) ? "the file of that name is left as it was"
                                            : "no file was written");
    format_text(err->file, sizeof err->file, "%s", d->output);
    return error_hint(err, "record for longer, or more often: -F 999");
}

static bool tell_kept(const struct record_drawing *d, struct error *err)
{
    if (!d->data[0])
        return false;
    char why[sizeof err->message];
    format_text(why, sizeof why, "%s", err->message);
    error_set(err, "%s; the recording is kept in %s", why, d->data);
    return error_hint(err, "stoke convert %s --to %s -o %s", d->data, d->exporter->name,
                      d->output);
}

bool record_drawing_make(const struct record_drawing *d, struct record_session *session,
                         bool whole, struct error *err)
{
    struct drawing_work work = {d, session};
    char size[32];
    if (record_files_kept(&session->files).samples == 0)
        return nothing_to_draw(d, whole, err);
    if (!whole || !draw_watched(&work, &session->wait, err))
        return tell_kept(d, err);
    if (d->data[0])
        os_data_file_remove(d->data);
    uint64_t bytes = os_output_size(d->output);
    if (!d->quiet && bytes)
        message_note("%s is %s, %s", d->output,
                     d->exporter == exporter_named(STR("stoke")) ? "written" : "drawn",
                     record_size_text(bytes, size));
    return true;
}
