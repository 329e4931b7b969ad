/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out what the newest recordings contain, one after the other, each in a process of
 * its own: a file may be hostile, and the server answers meanwhile. */
#include "base/source.h"
#include "engine/home_parts.h"
#include "os/file.h"
#include "os/machine.h"

#define TIME_MAX 10000000000 /* ns for a file, also on a busy machine */
#define RESULT_MAX 65536     /* bytes that are accepted from the process */

void home_abouts_init(struct home_abouts *a, struct os_wait *wait)
{
    *a = (struct home_abouts){.wait = wait, .job = OS_JOB_NONE};
}

void home_abouts_deinit(struct home_abouts *a)
{
    os_job_close(&a->job);
    for (size_t i = 0; i < a->count; i++)
        output_deinit(&a->items[i].text);
    *a = (struct home_abouts){.job = OS_JOB_NONE};
}

static bool is_of(const struct home_about *about, const struct home_file *f)
{
    return strcmp(about->id, f->id) == 0 && about->size == f->size &&
           about->changed == f->changed;
}

struct str home_abouts_of(const struct home_abouts *a, const struct home_file *f)
{
    for (size_t i = 0; i < a->count; i++)
        if (is_of(&a->items[i], f))
            return output_contents(&a->items[i].text);
    return STR("");
}

/* A free item, or the oldest one. */
static struct output *item_of(struct home_abouts *a, const struct home_file *f)
{
    struct home_about *to = &a->items[a->next];
    a->next = (a->next + 1) % HOME_ABOUTS_MAX;
    if (a->count < HOME_ABOUTS_MAX)
        a->count++;
    else
        output_deinit(&to->text);
    *to = (struct home_about){
        .size = f->size, .changed = f->changed, .text = OUTPUT_BUFFER};
    memcpy(to->id, f->id, sizeof to->id);
    return &to->text;
}

/* Whether the process wrote one complete document. */
static bool is_json(struct str text)
{
    struct error err;
    struct source source = source_of(text, STR("a description"));
    struct json j;
    json_init(&j, &source, false, &err);
    j.depth_max = 4;
    json_skip(&j);
    bool ok = text.len && str_starts(text, STR("{")) && json_finish(&j);
    json_deinit(&j);
    source_deinit(&source);
    return ok;
}

static int work(void *context)
{
    const struct home_abouts *a = context;
    struct error err;
    struct os_output to;
    if (!os_output_open(&to, "-", &err))
        return 1;
    struct output out = os_output_stream(&to);
    home_contents_write(&a->file, &out);
    bool ok = os_output_close(&to, &out, &err);
    output_deinit(&out);
    return !ok;
}

/* Stores the result of the process. */
static void store(struct home_abouts *a, bool late)
{
    struct error err;
    struct os_mapping m = OS_MAPPING_NONE;
    struct output *to = item_of(a, &a->file);
    bool ok = !late && a->job.child.status == 0 && os_job_result(&a->job, &m, &err) &&
              m.bytes.len < RESULT_MAX && is_json(m.bytes);
    output_str(to, ok     ? m.bytes
                   : late ? STR("{\"large\":true}")
                          : STR("{\"error\":\"it cannot be read\"}"));
    os_mapping_close(&m);
    os_job_close(&a->job);
    a->works = false;
}

static void start_next(struct home_abouts *a, const struct home_files *files)
{
    struct error err;
    for (size_t i = 0; i < files->count && i < HOME_DESCRIBED; i++) {
        if (home_abouts_of(a, &files->items[i]).len)
            continue;
        a->file = files->items[i];
        a->began = os_clock_monotonic();
        a->works = os_job_run(&a->job, work, a, a->wait, &err);
        if (!a->works)
            os_job_close(&a->job); /* the page asks again */
        return;
    }
}

void home_abouts_turn(struct home_abouts *a, const struct home_files *files)
{
    if (a->works) {
        bool ended = os_job_ended(&a->job);
        if (!ended && os_clock_monotonic() - a->began < TIME_MAX)
            return;
        store(a, !ended);
    }
    start_next(a, files);
}
