/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/record_draw.h"
#include "base/format.h"
#include "engine/bundle.h"
#include "engine/load.h"
#include "engine/save.h"
#include "os/proc.h"

/* --- The format -------------------------------------------------------------------- */

/* Suffixes of images and archives that stoke does not write: users of these names do not
 * expect a recording. */
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
        error_set(err, "%s: stoke cannot write .%s", output, not_written[i]);
        return error_hint(err, ".svg, .html, .folded, .folded.gz, ... are drawn ('stoke "
                               "help formats' lists them); .data is a recording");
    }
    return true;
}

/* The recording is stored in the folder of the output, unless the output is a device. */
static void choose_data(struct record_drawing *d)
{
    if (!os_output_is_file(d->output))
        return;
    format_text(d->data, sizeof d->data, "%s.data", d->output);
    if (os_output_exists(d->data))
        format_text(d->data, sizeof d->data, "%s.%lld.data", d->output,
                    (long long)os_own_pid());
}

bool record_drawing_choose(struct record_drawing *d, const char *output, bool bundle,
                           struct error *err)
{
    char room[4096];
    struct str name = lower_case(output, room, sizeof room), gz = STR(".gz");
    const struct exporter *stoke = exporter_named(STR("stoke"));
    *d = (struct record_drawing){.output = output, .report = &engine_silent};
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
    d->with_code = bundle;
    if (!d->exporter)
        return check_suffix(name, output, err);
    d->packed = save_packs(d->exporter, name);
    choose_data(d);
    return true;
}

/* --- Drawing ----------------------------------------------------------------------- */

struct drawing_work {
    const struct record_drawing *drawing;
    const char *path; /* of the recording */
    bool is_empty;    /* it has no samples: there is only the profile beside it */
};

/* Reads the code of the recording's functions. Without it, the profile is still useful. */
static bool read_code(const struct record_drawing *d, const struct load_settings *load,
                      char **recording, struct code *code)
{
    struct error err = {.message = ""};
    struct annotation_keeping keeping = {.most = BUNDLE_MOST, .code = code};
    bool ok = bundle_read(&keeping, load, 1, recording, &err);
    if (ok)
        bundle_describe(&keeping, d->report);
    else
        engine_note(d->report, "the code of functions is not included: %s", err.message);
    return ok;
}

/* Draws the recording, as stoke convert does. */
static bool draw(const struct drawing_work *w, struct error *err)
{
    const struct record_drawing *d = w->drawing;
    const struct exporter *e = d->exporter;
    bool is_bundle = e == exporter_named(STR("stoke"));
    struct load_settings load = {0};
    struct export_options options = {.title = STR("")};
    struct os_output_options file_options = {
        .is_private = is_bundle, .makes_backup = is_bundle, .owner = os_invoking_user()};
    char path[4200], beside[4200], *files[] = {path, beside};
    options.tree.threads = e->whole ? THREAD_TID : THREAD_COMM;
    save_prepare_load(e, &load);
    format_text(path, sizeof path, "%s", w->path);
    format_text(beside, sizeof beside, "%s", d->beside ? d->beside : "");
    struct profile *p = engine_load(&load, d->beside && !w->is_empty ? 2 : 1,
                                    files + w->is_empty, d->report, err);
    if (p && d->loaded)
        d->loaded(d->context, p, path);
    struct code code = {.arena = ARENA_INIT};
    if (p && d->with_code && !w->is_empty && read_code(d, &load, files, &code))
        options.code = &code;
    bool ok =
        p && save_profile_as(e, p, &options, d->output, d->packed, &file_options, err);
    code_deinit(&code);
    profile_destroy(p);
    return ok;
}

static int draw_in_child(void *context)
{
    const struct drawing_work *w = context;
    struct error err = {.message = ""};
    if (draw(w, &err))
        return 0;
    if (w->drawing->failed)
        w->drawing->failed(w->drawing->context, &err);
    return 1;
}

/* In a separate process: if a signal ends it, or if memory allocation fails, this
 * process can still report the failure and retain the recording. */
static bool draw_watched(struct drawing_work *w, struct os_wait *wait, struct error *err)
{
    struct os_child child;
    bool stopped = false;
    if (!os_child_run(&child, draw_in_child, w, err))
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

static enum record_drawing_result nothing_to_draw(const struct record_drawing *d,
                                                  bool whole, struct error *err)
{
    if (d->data[0])
        os_data_file_remove(d->data);
    if (!whole)
        return RECORD_NOT_DRAWN;
    error_set(err, "nothing to draw: there are no samples, and %s",
              os_output_exists(d->output) ? "the existing file is unchanged"
                                          : "no file was written");
    format_text(err->file, sizeof err->file, "%s", d->output);
    error_hint(err, "record for longer, or more often: -F 999");
    return RECORD_NOT_DRAWN;
}

enum record_drawing_result record_drawing_make(const struct record_drawing *d,
                                               struct record_session *session, bool whole,
                                               struct error *err)
{
    struct drawing_work work = {.drawing = d, .path = record_session_path(session)};
    struct record_report r;
    record_session_report(session, &r);
    work.is_empty = r.files.samples == 0;
    if (work.is_empty && !d->beside)
        return nothing_to_draw(d, whole, err);
    if (!whole || !draw_watched(&work, record_session_wait(session), err))
        return d->data[0] ? RECORD_RETAINED : RECORD_NOT_DRAWN;
    if (d->data[0])
        os_data_file_remove(d->data);
    if (d->beside)
        os_data_file_remove(d->beside);
    return RECORD_DRAWN;
}
