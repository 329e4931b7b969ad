/* SPDX-License-Identifier: Apache-2.0 */
#include "import/importer.h"
#include "base/format.h"
#include "base/output.h"
#include "model/frame_label.h"

#define IMPORTER(name) extern const struct importer import_##name;
#include "import/importers.def"
#undef IMPORTER

#define IMPORTER(name) &import_##name,
const struct importer *const importers[] = {
#include "import/importers.def"
    NULL};
#undef IMPORTER

const struct importer *importer_named(struct str name)
{
    for (size_t i = 0; importers[i]; i++)
        if (str_equal(str_of(importers[i]->name), name))
            return importers[i];
    return NULL;
}

/* In a sampled heap, an allocation counts for more than one. */
static bool is_complete_heap(const struct profile *p)
{
    event_id event = profile_find_event(p, STR("allocations"));
    double weight = 0, count = 0;
    for (size_t i = 0; event && i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        weight += s->event == event ? s->weight : 0;
        count += s->event == event ? (double)s->count : 0;
    }
    return count > 0 && weight < count + 0.5;
}

bool import_counts_all(const struct profile *p)
{
    const struct importer *format = importer_named(profile_string(p, p->facts.format));
    return (format && format->counts_all) || is_complete_heap(p);
}

bool importer_has_suffix(const struct importer *im, struct str name)
{
    struct str rest = str_of(im->suffixes);
    while (rest.len) {
        struct str suffix = str_cut(&rest, ',');
        if (name.len > suffix.len && str_ends(name, suffix) &&
            name.ptr[name.len - suffix.len - 1] == '.')
            return true;
    }
    return false;
}

static const struct importer *probe_all(struct str head, struct str name, int *score_out)
{
    const struct importer *best = NULL;
    int best_score = 0;
    for (size_t i = 0; importers[i]; i++) {
        int score = importers[i]->probe(head) * 2;
        if (score && importer_has_suffix(importers[i], name))
            score++;
        if (score > best_score) {
            best = importers[i];
            best_score = score;
        }
    }
    *score_out = best_score / 2;
    return best;
}

/* Some formats are known by their first line. Text that was copied or printed by a script can
 * have empty lines before it; binary formats can begin with the same bytes. */
const struct importer *importer_probe(struct str head, struct str name, int *score_out)
{
    const struct importer *found = probe_all(head, name, score_out);
    struct str text = str_trim_left(head);
    struct str blank = str_head(head, head.len - text.len);
    size_t lines = str_rfind(blank, '\n');
    if (found || lines == blank.len)
        return found;
    return probe_all(str_skip(head, lines + 1), name, score_out);
}

/* The input certainly has this format, but there are no samples in it. */
static bool no_samples(const struct importer *im, const struct facts *facts,
                       struct error *err)
{
    char lost[64] = "";
    if (facts->lost)
        format_text(lost, sizeof lost, ", %llu %s lost", (unsigned long long)facts->lost,
                    facts->lost == 1 ? "was" : "were");
    if (facts->warning_count) {
        error_set(err, "%s%s: %s", im->empty, lost, facts->warnings[0].what);
        err->location = facts->warnings[0].first;
    } else {
        error_set(err, "%s%s", im->empty, lost);
    }
    return error_hint(err, "'stoke info FILE' shows what was recorded");
}

static bool no_stacks(const struct importer *im, const struct facts *facts,
                      struct error *err)
{
    error_set(err, "no stacks found in this %s input", im->name);
    if (facts->warning_count) {
        error_set(err, "cannot read this as %s: %s", im->name, facts->warnings[0].what);
        err->location = facts->warnings[0].first;
    }
    return error_hint(err, "if it has another format, name it with --format");
}

string_id import_label(struct builder *b, string_id name)
{
    struct output text = OUTPUT_BUFFER;
    if (label_word_to_suffix(&text, profile_string(b->profile, name)) &&
        output_finish(&text))
        name = builder_string(b, output_contents(&text));
    output_deinit(&text);
    return name;
}

bool import_check(const struct importer *im, const struct import_options *options,
                  struct builder *b, uint64_t before, struct error *err)
{
    const struct facts *facts = &b->profile->facts;
    if (builder_failed(b))
        return error_memory(err);
    if (facts->samples == before && !(im->empty && options->empty))
        return im->empty ? no_samples(im, facts, err) : no_stacks(im, facts, err);
    b->profile->facts.foreign_lines |= !im->resolves_lines;
    if (!im->sets_format || !facts->format)
        b->profile->facts.format = builder_string(b, str_of(im->name));
    return true;
}

bool import_part(const struct importer *im, struct source *in,
                 const struct import_options *options, struct builder *b,
                 struct error *err)
{
    bool ok = im->read(in, options, b, err);
    struct input_location first = {.line = in->long_line, .offset = UINT64_MAX};
    builder_warn_location(
        b, "a skipped line, longer than the limit; --limits x8 raises the limit",
        in->long_lines, &first);
    return ok;
}

bool import_read(const struct importer *im, struct source *in,
                 const struct import_options *options, struct builder *b,
                 struct error *err)
{
    uint64_t before = b->profile->facts.samples;
    return import_part(im, in, options, b, err) &&
           import_check(im, options, b, before, err);
}
