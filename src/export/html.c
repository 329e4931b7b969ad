/* SPDX-License-Identifier: Apache-2.0 */
/* A page that explores the profile, in one file: the viewer (web/) and the profile. It
 * can be opened from a disk, refers to nothing outside of itself, and can be moved.
 *
 * The profile is embedded as a .stoke file (base/stoke_format.h), gzip in base64. */
#include "base/utf8.h"
#include "codec/encode.h"
#include "codec/json.h"
#include "export/exporter.h"
#include "export/html_page.h"

#define MARK "<!--stoke:data-->" /* in the page: the profile is written after it */

/* Encodes bytes as base64: three become four. */
struct base64 {
    struct output *to;
    unsigned char held[3];
    size_t count;
};

static void put_group(struct base64 *b)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits =
        (uint32_t)b->held[0] << 16 | (uint32_t)b->held[1] << 8 | (uint32_t)b->held[2];
    char text[4] = {digits[bits >> 18], digits[bits >> 12 & 63],
                    b->count > 1 ? digits[bits >> 6 & 63] : '=',
                    b->count > 2 ? digits[bits & 63] : '='};
    output_bytes(b->to, text, sizeof text);
    *b = (struct base64){.to = b->to};
}

static bool base64_flush(void *context, const char *bytes, size_t length)
{
    struct base64 *b = context;
    for (size_t i = 0; i < length; i++) {
        b->held[b->count++] = (unsigned char)bytes[i];
        if (b->count == 3)
            put_group(b);
    }
    return !b->to->failed;
}

/* Writes the bytes of `write`, compressed, in base64. */
static bool write_packed(bool (*write)(const struct profile *,
                                       const struct export_options *, struct output *,
                                       struct error *),
                         const struct profile *p, const struct export_options *options,
                         struct output *out, struct error *err)
{
    struct base64 base64 = {.to = out};
    struct output packed = {.flush = base64_flush, .context = &base64};
    struct encoder encoder;
    bool served = options->home || options->live; /* to a browser that waits for it */
    if (!(served ? encoder_init_gzip_fast(&encoder, &packed, err)
                 : encoder_init_gzip(&encoder, &packed, err)))
        return false;
    bool ok = write(p, options, &encoder.output, err);
    if (ok && !(encoder_finish(&encoder) && output_finish(&packed)) && !out->failed)
        ok = error_memory(err);
    if (base64.count)
        put_group(&base64);
    encoder_deinit(&encoder);
    output_deinit(&packed);
    return ok;
}

/* [["name", "text"], ...] */
static bool write_sources(const struct profile *p, const struct export_options *options,
                          struct output *out, struct error *err)
{
    struct json_writer w = {.out = out};
    (void)p;
    (void)err;
    json_begin(&w, JSON_ARRAY);
    for (size_t i = 0; i < options->source_count; i++) {
        json_begin(&w, JSON_ARRAY);
        json_put_str(&w, options->sources[i].name);
        json_put_str(&w, options->sources[i].text);
        json_end(&w, JSON_ARRAY);
    }
    json_end(&w, JSON_ARRAY);
    return true;
}

/* Text of an attribute. */
static void put_attribute(struct output *out, struct str text)
{
    struct output clean = OUTPUT_BUFFER;
    utf8_print(&clean, text);
    for (size_t i = 0; i < clean.used; i++) {
        char c = clean.bytes[i];
        if (c == '"' || c == '&' || c == '<' || c == '>')
            output_format(out, "&#%d;", c);
        else
            output_char(out, c);
    }
    out->failed |= clean.failed;
    output_deinit(&clean);
}

static bool put_one_profile(const struct profile *p, const char *id, struct str title,
                            const struct export_options *options, struct output *out,
                            struct error *err)
{
    output_format(out, "<script type=\"application/octet-stream\" id=\"%s\" data-name=\"",
                  id);
    put_attribute(out, title);
    output_text(out, "\" data-state=\"\">");
    bool ok = write_packed(exporter_named(STR("stoke"))->write, p, options, out, err);
    output_text(out, "</script>");
    return ok;
}

/* The page reads the profile first, then the one that it is compared with. */
static bool put_profile(const struct profile *p, const struct export_options *options,
                        struct output *out, struct error *err)
{
    struct str title = options->title.len ? options->title : STR("profile");
    const struct profile *before = options->before;
    return put_one_profile(p, "profile", title, options, out, err) &&
           (!before || put_one_profile(before, "profile-before", options->before_title,
                                       options, out, err));
}

static bool write_assembly(const struct profile *p, const struct export_options *options,
                           struct output *out, struct error *err)
{
    (void)p;
    (void)err;
    output_str(out, options->assembly);
    return true;
}

/* The texts beside the profile. */
static bool put_code(const struct profile *p, const struct export_options *options,
                     struct output *out, struct error *err)
{
    bool ok = true;
    if (options->source_count) {
        output_text(out, "<script type=\"application/octet-stream\" id=\"sources\">");
        ok = write_packed(write_sources, p, options, out, err);
        output_text(out, "</script>");
    }
    if (ok && options->assembly.len) {
        output_text(out, "<script type=\"application/octet-stream\" id=\"assembly\">");
        ok = write_packed(write_assembly, p, options, out, err);
        output_text(out, "</script>");
    }
    return ok;
}

static void put_callgraph(struct output *out)
{
    output_text(out, "<script type=\"text/plain\" id=\"graphviz\">");
    output_str(out, str_span(viewer_graphviz, viewer_graphviz_end));
    output_text(out, "</script>");
}

/* The beginning of the page. The mark says which server it comes from, to which it may
 * then connect; NULL: it is a file. */
static void put_head(struct str head, const char *mark, struct output *out)
{
    struct str policy = STR("default-src 'none';");
    size_t at = str_search(head, policy);
    if (!mark || at == head.len) {
        output_str(out, head);
        return;
    }
    at += policy.len;
    output_str(out, str_head(head, at));
    output_text(out, " connect-src 'self';");
    output_str(out, str_skip(head, at));
    output_format(out, "<script type=\"text/plain\" id=\"%s\"></script>", mark);
}

bool html_put_page(const struct profile *p, const struct export_options *options,
                   struct output *out, struct error *err)
{
    struct str page = str_span(viewer_page, viewer_page_end);
    size_t mark = str_search(page, STR(MARK));
    if (mark == page.len) {
        error_set(err, "this stoke was built without its viewer");
        return error_hint(
            err,
            "'tools/deps viewer && make' in the source folder builds it with the viewer");
    }
    mark += sizeof MARK - 1;
    const char *server = options->live ? "live" : options->home ? "home" : NULL;
    put_head(str_head(page, mark), server, out);
    if (p && !put_profile(p, options, out, err))
        return false;
    if (!put_code(p, options, out, err))
        return false;
    if (options->with_callgraph)
        put_callgraph(out);
    output_str(out, str_skip(page, mark));
    return true;
}

const struct exporter export_html = {
    .name = "html",
    .suffixes = "html",
    .summary = "a page that explores the profile in a browser, in one file",
    .needs_time = true,
    .cuts = true,
    .whole = true,
    .pairs = true,
    .titled = true,
    .write = html_put_page,
};
