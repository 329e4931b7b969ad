/* SPDX-License-Identifier: Apache-2.0 */
/* The calls for formats: those that are read, and the export. */
#include "export/table.h"
#include "transform/transform.h"
#include "web/core/label_process.h"
#include "web/core/state.h"

/* Removes the marks of truncated stacks, which other formats do not have. NULL with
 * the error set. */
static struct profile *without_marks(void)
{
    const struct transform_options options = {.hide = {{TRUNCATED_MARK}, 1, true}};
    return transform_run(transform_named(STR("hide")), need_samples(), &options,
                         &core.err);
}

/* The profile of a page that is saved: the shown one, or one of those that are compared. NULL
 * for other formats. */
static const struct profile *profile_of_page(struct str format)
{
    if (str_equal(format, STR("page-after")))
        return core.opened[0];
    if (str_equal(format, STR("page-before")))
        return core.opened[1];
    return str_equal(format, STR("page")) ? need_samples() : NULL;
}

static bool write_profile(const struct exporter *e, const struct profile *p,
                          const struct export_options *options)
{
    struct arena threads = ARENA_INIT;
    struct profile written = without_process_numbers(p, &threads);
    bool ok = written.threads ? e->write(&written, options, &core.reply, &core.err) &&
                                    output_finish(&core.reply)
                              : error_memory(&core.err);
    arena_deinit(&threads);
    return ok;
}

/* The shown profile in a format that stoke writes; or a .stoke file with all marks, of the
 * profile of "page", "page-after" or "page-before". The reply is the file. */
int EXPORT(core_export)(const char *name, uint32_t length)
{
    static const struct table_options csv = {.form = TABLE_CSV};
    struct str format = {name, length};
    begin_reply();
    const struct profile *page = profile_of_page(format);
    bool table = str_equal(format, STR("csv"));
    const struct exporter *e = exporter_named(page    ? STR("stoke")
                                              : table ? STR("table")
                                                      : format);
    struct export_options options = {
        .table = &csv,
        .tree = {.event = core.shown.event,
                 .label = {.kernel = true, .jit = true},
                 .weight = core.shown.count ? CALLTREE_SAMPLES : CALLTREE_VALUE}};
    if (!need_samples())
        return end_reply(false);
    if (!e)
        return end_reply(error_set(&core.err, "no such format"));
    struct profile *plain = page ? NULL : without_marks();
    bool ok = (page || plain) && write_profile(e, plain ? plain : page, &options);
    profile_destroy(plain);
    return end_reply(ok);
}

/* The formats that stoke reads: JSON, for the page without a profile. */
int EXPORT(core_formats)(void)
{
    struct json_writer w = begin_reply();
    json_begin(&w, JSON_ARRAY);
    for (size_t i = 0; importers[i]; i++) {
        json_begin(&w, JSON_OBJECT);
        json_member_str(&w, "name", str_of(importers[i]->name));
        json_member_str(&w, "summary", str_of(importers[i]->summary));
        json_end(&w, JSON_OBJECT);
    }
    json_end(&w, JSON_ARRAY);
    return end_reply(true);
}
