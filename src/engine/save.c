/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/save.h"
#include "base/visible.h"
#include "codec/encode.h"
#include "os/file.h"
#include "os/terminal.h"

bool save_packs(const struct exporter *e, struct str path)
{
    struct str suffixes = str_of(e->suffixes), gz = STR(".gz");
    struct str first = str_cut(&suffixes, ',');
    if (e->packed || str_ends(path, gz))
        return true;
    if (!str_ends(first, gz))
        return false;
    first = str_head(first, first.len - gz.len);
    return !(str_ends(path, first) && path.len > first.len &&
             path.ptr[path.len - first.len - 1] == '.');
}

void save_prepare_load(const struct exporter *e, struct load_settings *load)
{
    load->keep = e->needs_time;
    load->events_apart = e->whole;
    load->import.addresses = load->import.every_address = e->whole;
    load->import.lines = e->whole;
    load->import.cuts = e->cuts;
}

static bool write_packed(const struct exporter *e, const struct profile *p,
                         const struct export_options *options, struct output *out,
                         struct error *err)
{
    struct encoder encoder;
    if (!encoder_init_gzip(&encoder, out, err))
        return false;
    bool ok = e->write(p, options, &encoder.output, err);
    if (ok && !encoder_finish(&encoder) && !out->failed)
        ok = error_memory(err);
    encoder_deinit(&encoder);
    return ok;
}

/* To a terminal, which would interpret control characters in names. */
static bool write_visible(const struct exporter *e, const struct profile *p,
                          const struct export_options *options, struct output *out,
                          struct error *err)
{
    struct visible_filter filter;
    visible_filter_init(&filter, out);
    bool ok = e->write(p, options, &filter.output, err);
    if (ok && !visible_filter_finish(&filter) && !out->failed)
        ok = error_memory(err);
    visible_filter_deinit(&filter);
    return ok;
}

/* Whether samples are shown, and all have weight 0; or none is shown, although other events have
 * some. A table shows all events. */
static bool is_weightless(const struct exporter *e, const struct profile *p,
                          const struct export_options *options)
{
    bool one_event = !e->whole || options->table;
    bool any = p->sample_count > 0 && !options->table;
    event_id event, base;
    calltree_events(p, &options->tree, &event, &base);
    if (options->tree.weight == CALLTREE_SAMPLES)
        return false;
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        bool shown = !one_event || s->event == event || (base && s->event == base);
        if (shown && (s->weight < 0 || s->weight > 0))
            return false;
        any |= shown;
    }
    return any;
}

/* A profile without weights is written, but is an error. */
static bool check_weights(const struct exporter *e, const struct profile *p,
                          const struct export_options *options, struct error *err)
{
    if (!is_weightless(e, p, options))
        return true;
    error_set(err, "all weights are zero");
    if (p->event_count > 2 && !p->facts.differential)
        return error_hint(err,
                          "choose another event with --event; 'stoke info' lists them");
    return error_hint(err, "check the command that wrote the input");
}

bool save_profile_as(const struct exporter *e, const struct profile *p,
                     const struct export_options *options, const char *path, bool pack,
                     const struct os_output_options *manner, struct error *err)
{
    struct os_output file;
    if (!os_output_open(&file, path, err))
        return false;
    if (manner)
        os_output_set(&file, manner);
    struct output out = os_output_stream(&file);
    bool shown = !e->visible && os_terminal_of(file.fd).is_terminal;
    bool ok = pack    ? write_packed(e, p, options, &out, err)
              : shown ? write_visible(e, p, options, &out, err)
                      : e->write(p, options, &out, err);
    if (ok)
        ok = os_output_close(&file, &out, err);
    else
        os_output_abandon(&file);
    output_deinit(&out);
    return ok && check_weights(e, p, options, err);
}

bool save_profile(const struct exporter *e, const struct profile *p,
                  const struct export_options *options, const char *path,
                  struct error *err)
{
    return save_profile_as(e, p, options, path, save_packs(e, str_of(path)), NULL, err);
}
