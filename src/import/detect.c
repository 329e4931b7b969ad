/* SPDX-License-Identifier: Apache-2.0 */
#include "import/detect.h"
#include "base/format.h"
#include "base/utf8.h"
#include "import/folded.h"

/* Scores from here on mean that other formats do not have these features. */
#define SURE 60

void detection_init(struct detection *d)
{
    d->found = NULL;
    d->fed = 0;
    json_outline_init(&d->outline);
}

/* Whether all of the input is, or may still be, a single JSON text. */
static bool is_json(const struct json_outline *o)
{
    return !o->broken && o->key_count > 0;
}

bool detect(struct detection *d, struct str bytes, bool last, struct str name)
{
    struct json_outline *o = &d->outline;
    int score = 0;
    json_outline_feed(o, str_skip(bytes, d->fed));
    d->fed = bytes.len;
    if (o->key_count > 0) {
        d->found = importer_probe(json_outline_text(o), name, &score);
        if (score >= SURE)
            return true;
    }
    if (is_json(o) && !last && !o->ended)
        return false;
    if (is_json(o) || d->found)
        return true;
    if (!last && bytes.len < IMPORT_HEAD_SIZE)
        return false;
    d->found = importer_probe(str_head(bytes, IMPORT_HEAD_SIZE), name, &score);
    return true;
}

bool detect_some_folded(struct str head)
{
    struct folded_share share = folded_share(head);
    size_t text = utf8_valid(head);
    return share.stacks && !memchr(head.ptr, 0, head.len) && text + 4 > head.len;
}

/* --- Candidates -------------------------------------------------------------------- */

static enum import_shape shape_of(struct str head)
{
    struct str text = str_trim_left(head);
    if (memchr(head.ptr, 0, head.len) || utf8_valid(head) + 4 < head.len)
        return SHAPE_BINARY;
    if (str_starts(text, STR("{")) || str_starts(text, STR("[")))
        return SHAPE_JSON;
    return str_starts(text, STR("<")) ? SHAPE_XML : SHAPE_TEXT;
}

void detect_candidates(struct str head, struct str name, char *out, size_t size)
{
    static const char more[] = ", ... ('stoke help formats' lists them all)";
    enum import_shape shape = shape_of(head);
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; importers[i]; i++) {
        const struct importer *im = importers[i];
        if (im->shape != shape && !importer_has_suffix(im, name))
            continue;
        if (used + strlen(im->name) + 2 + sizeof more > size) {
            format_text(out + used, size - used, "%s", more);
            return;
        }
        used += format_text(out + used, size - used, "%s%s", used ? ", " : "", im->name);
    }
}
