/* SPDX-License-Identifier: Apache-2.0 */
/* Writes functions with their samples, for users and for programs. */
#include "analysis/measure.h"
#include "base/array.h"
#include "base/visible.h"
#include "cli/annotate/annotate.h"
#include "codec/json.h"
#include "export/exporter.h"
#include "model/name.h"
#include "os/mapping.h"

/* Number of lines or instructions that are shown before and after a sampled one. */
#define NEAR_LINES 2
#define NEAR_CODE 3

#define HOT 5.0  /* percent */
#define WARM 0.5 /* as in src/export/table_text.c */

/* --- Source files ------------------------------------------------------------------ */

/* A source file, opened at the first request. */
struct opened_source {
    struct os_mapping mapping; /* of a file on this machine */
    struct str text;
    uint32_t *starts; /* of the lines, and the end */
    uint32_t count;   /* of the lines */
    bool opened, found;
};

/* The files of a function, by their numbers. */
struct sources {
    const struct annotations *a;
    const struct annotation *f;
    struct opened_source *items;
    struct arena arena;
};

static struct sources sources_of(const struct annotations *a, const struct annotation *f)
{
    struct sources s = {.a = a, .f = f, .arena = ARENA_INIT};
    s.items = arena_zalloc(&s.arena, f->files.count + 1, sizeof *s.items);
    return s;
}

static void close_sources(struct sources *s)
{
    for (size_t i = 0; s->items && i < s->f->files.count; i++)
        if (s->items[i].opened)
            os_mapping_close(&s->items[i].mapping);
    arena_deinit(&s->arena);
}

static void find_lines(struct opened_source *t, struct arena *arena)
{
    struct str rest = t->text;
    size_t cap = 0;
    while (rest.len && rest.len < UINT32_MAX) {
        if (!ARRAY_RESERVE(arena, t->starts, cap, t->count + 2)) {
            t->count = 0;
            return;
        }
        t->starts[t->count++] = (uint32_t)(rest.ptr - t->text.ptr);
        str_cut(&rest, '\n');
        t->starts[t->count] = (uint32_t)t->text.len;
    }
}

static void open_file(struct opened_source *t, struct str name)
{
    char path[4096];
    struct error ignored;
    if (name.len >= sizeof path)
        return;
    format_text(path, sizeof path, "%.*s", STR_ARG(name));
    t->found = os_mapping_open(&t->mapping, path, &ignored);
    t->text = t->mapping.bytes;
}

/* A bundle names files of another machine: those of this one are not read. */
static void find_bundled(struct opened_source *t, const struct annotations *a,
                         struct str name)
{
    for (size_t i = 0; i < a->source_count && !t->found; i++) {
        t->found = str_equal(a->sources[i].name, name);
        t->text = t->found ? a->sources[i].text : STR("");
    }
}

/* NULL when out of memory. */
static const struct opened_source *file_text(struct sources *s, uint32_t file)
{
    struct str name = strings_get(&s->f->files, file);
    struct opened_source *t = s->items ? &s->items[file] : NULL;
    if (!t || t->opened)
        return t;
    *t = (struct opened_source){
        .opened = true, .mapping = OS_MAPPING_NONE, .text = STR("")};
    if (s->f->is_bundled)
        find_bundled(t, s->a, name);
    else
        open_file(t, name);
    find_lines(t, &s->arena);
    return t;
}

static struct str source_line(const struct opened_source *t, uint32_t line)
{
    if (!t || line == 0 || line > t->count)
        return STR("");
    struct str text = str_head(t->text, t->starts[line]);
    return str_trim_right(str_skip(text, t->starts[line - 1]));
}

/* --- For users --------------------------------------------------------------------- */

struct writer {
    struct output *out;
    bool colour;
    const struct annotations *a;
    const struct annotation *f;
    struct sources *sources;
    bool whole, counts, weights;
};

static double share(double part, double whole)
{
    return whole > 0 ? part * 100 / whole : 0;
}

static const char *figure_heading(const struct writer *w)
{
    return w->counts ? "samples" : w->weights ? " period" : "  share";
}

static void write_headings(const struct writer *w)
{
    output_char(w->out, '\n');
    for (size_t i = 0; i <= w->f->other_count; i++)
        output_format(w->out, "%s%s", i ? "  " : "", figure_heading(w));
}

/* The samples of the other events at item `at` of an array of the function. */
static const struct annotated *others_at(const struct writer *w,
                                         const struct annotated *others, size_t at)
{
    return w->f->other_count ? others + at * w->f->other_count : NULL;
}

static bool has_samples(const struct writer *w, const struct annotated *samples,
                        const struct annotated *others)
{
    uint64_t count = samples->count;
    for (size_t i = 0; i < w->f->other_count; i++)
        count += others[i].count;
    return count != 0;
}

/* "* 45.21%", in colour if it is hot; nothing without samples. `whole` has the share 100%. */
static void write_share(const struct writer *w, const struct annotated *samples,
                        const struct annotated *whole)
{
    double percent = share(samples->weight, whole->weight);
    if (samples->count == 0) {
        output_text(w->out, "         ");
        return;
    }
    bool coloured = w->colour && percent >= WARM;
    if (coloured)
        output_text(w->out, percent >= HOT ? "\x1b[31m" : "\x1b[32m");
    if (w->counts)
        output_format(w->out, "%9llu", (unsigned long long)samples->count);
    else if (w->weights)
        output_format(w->out, "%9.0f", samples->weight);
    else
        output_format(w->out, "%c %6.2f%%", percent >= HOT ? '*' : ' ', percent);
    if (coloured)
        output_text(w->out, "\x1b[0m");
}

/* Expands tabs, so that columns are aligned. */
static void write_source(const struct writer *w, struct str text)
{
    while (text.len) {
        bool cut = str_find(text, '\t') < text.len;
        visible_print(w->out, str_cut(&text, '\t'));
        if (cut)
            output_text(w->out, "    ");
    }
}

/* The shares of all events; none without samples (NULL). */
static void write_shares(const struct writer *w, const struct annotated *samples,
                         const struct annotated *others)
{
    static const struct annotated nothing;
    const struct annotation *f = w->f;
    write_share(w, samples ? samples : &nothing, &f->samples);
    for (size_t i = 0; i < f->other_count; i++)
        write_share(w, samples ? &others[i] : &nothing, &f->others[i]);
}

/* A line; one without code is NULL. */
static void write_line(const struct writer *w, const struct opened_source *source,
                       uint32_t line, const struct annotated_line *code)
{
    const struct annotation *f = w->f;
    write_shares(w, code ? &code->samples : NULL,
                 code ? others_at(w, f->line_others, (size_t)(code - f->lines)) : NULL);
    output_format(w->out, " %7u  ", line);
    write_source(w, source_line(source, line));
    output_char(w->out, '\n');
}

/* The lines of the current file. */
struct line_range {
    const struct annotated_line *lines; /* those with code */
    size_t count;
    uint32_t last; /* shown; 0: none yet */
};

/* Writes the lines from `from` to `to` that are not yet shown; lines without code only
 * if the source is available. */
static void write_lines(const struct writer *w, const struct opened_source *source,
                        struct line_range *r, uint32_t from, uint32_t to)
{
    if (source->found && to > source->count)
        to = source->count > from ? source->count : from;
    if (from <= r->last)
        from = r->last + 1;
    if (from > to)
        return;
    if (r->last && from > r->last + 1)
        output_text(w->out, "             ...\n");
    for (uint32_t line = from; line <= to; line++) {
        while (r->count && r->lines->line < line) {
            r->lines++;
            r->count--;
        }
        bool has_code = r->count && r->lines->line == line;
        if (has_code || source->found)
            write_line(w, source, line, has_code ? r->lines : NULL);
    }
    r->last = to;
}

static bool is_sampled(const struct writer *w, const struct annotated_line *line)
{
    size_t at = (size_t)(line - w->f->lines);
    return has_samples(w, &line->samples, others_at(w, w->f->line_others, at));
}

/* The number of lines of one file, starting at `lines`. */
static size_t write_file(const struct writer *w, const struct annotated_line *lines,
                         size_t count)
{
    const struct opened_source *source = file_text(w->sources, lines[0].file);
    struct line_range range = {.lines = lines};
    bool sampled = false;
    while (range.count < count && lines[range.count].file == lines[0].file)
        sampled |= is_sampled(w, &lines[range.count++]);
    size_t of_file = range.count;
    if (!source || !(sampled || w->whole))
        return of_file;
    write_headings(w);
    output_text(w->out, "       line  ");
    visible_print(w->out, strings_get(&w->f->files, lines[0].file));
    output_text(w->out, source->found ? "\n" : " (not on this machine)\n");
    for (size_t i = 0; i < of_file; i++) {
        uint32_t line = lines[i].line;
        bool shown = w->whole || is_sampled(w, &lines[i]);
        uint32_t near = source->found ? NEAR_LINES : 0;
        if (shown)
            write_lines(w, source, &range, line > near ? line - near : 1,
                        line < UINT32_MAX - near ? line + near : line);
    }
    return of_file;
}

/* Writes the source line of the following instructions if it differs from *last. */
static void write_location(const struct writer *w, uint64_t address, struct str function,
                           uint64_t *last)
{
    const struct annotated_row *row = annotation_row(w->f, address);
    uint64_t line = row ? (uint64_t)row->file << 32 | row->line : 0;
    if (line && line != *last) {
        output_text(w->out, "                     # ");
        visible_print(w->out, str_basename(strings_get(&w->f->files, row->file)));
        output_format(w->out, ":%u", row->line);
        if (function.len) {
            output_text(w->out, " in ");
            struct output name = OUTPUT_BUFFER;
            name_write_without_templates(&name, name_without_arguments(function));
            visible_print(w->out, output_contents(&name));
            output_deinit(&name);
        }
        struct str source =
            str_trim(source_line(file_text(w->sources, row->file), row->line));
        if (source.len) {
            output_text(w->out, "  ");
            write_source(w, source);
        }
        output_char(w->out, '\n');
    }
    *last = line;
}

/* True if there are samples near an instruction. *next is the first instruction with
 * samples from there on; it is updated. */
static bool is_near(const struct writer *w, size_t i, size_t *next)
{
    const struct annotation *f = w->f;
    while (*next < f->code_count &&
           (*next + NEAR_CODE < i || !has_samples(w, &f->code[*next].samples,
                                                  others_at(w, f->code_others, *next))))
        (*next)++;
    return *next < f->code_count && *next <= i + NEAR_CODE;
}

static void write_instructions(const struct writer *w)
{
    const struct annotation *f = w->f;
    uint64_t last = 0;
    size_t next = 0, shown = SIZE_MAX;
    for (size_t i = 0; i < f->code_count; i++) {
        if (!w->whole && !is_near(w, i, &next))
            continue;
        if (i && shown != i - 1) {
            output_text(w->out, "              ...\n");
            last = 0;
        }
        shown = i;
        write_location(w, f->code[i].address, f->code[i].function, &last);
        write_shares(w, &f->code[i].samples, others_at(w, f->code_others, i));
        output_format(w->out, " %9llx  ", (unsigned long long)f->code[i].address);
        write_source(w, f->code[i].text);
        output_char(w->out, '\n');
    }
    if (f->code_count && shown != f->code_count - 1)
        output_text(w->out, "              ...\n");
}

static void write_code(const struct writer *w)
{
    const struct annotation *f = w->f;
    uint64_t last = 0;
    write_headings(w);
    output_text(w->out, "    address  ");
    output_text(w->out, f->code_count ? "instruction" : "no instructions: ");
    visible_print(w->out, f->no_code);
    output_char(w->out, '\n');
    for (size_t i = 0; !f->code_count && i < f->address_count; i++) {
        write_location(w, f->addresses[i].address, STR(""), &last);
        write_shares(w, &f->addresses[i].samples, others_at(w, f->address_others, i));
        output_format(w->out, " %9llx\n", (unsigned long long)f->addresses[i].address);
    }
    write_instructions(w);
}

/* The samples that the function has of an event. */
static void write_sum(const struct writer *w, const struct annotated *samples,
                      const struct annotated_event *event)
{
    struct measure m = measure_for(event->unit, samples->weight, false);
    char weight[MEASURE_TEXT_MAX];
    size_t length = measure_write(&m, samples->weight, weight);
    output_format(w->out, "\n# %llu %s, %.*s", (unsigned long long)samples->count,
                  samples->count == 1 ? "sample" : "samples", (int)length, weight);
    output_format(w->out, "%s%s of ", m.unit[0] ? " " : "", m.unit);
    visible_print(w->out, event->name);
    output_format(w->out, ": %.2f%% of the recording's",
                  share(samples->weight, event->total));
}

static void write_head(const struct writer *w)
{
    const struct annotation *f = w->f;
    output_text(w->out, "# ");
    visible_print(w->out, f->symbol);
    output_text(w->out, " in ");
    visible_print(w->out, f->module.len ? f->module : STR("[unknown]"));
    write_sum(w, &f->samples,
              &(struct annotated_event){w->a->event, w->a->unit, w->a->total});
    for (size_t i = 0; i < f->other_count; i++)
        write_sum(w, &f->others[i], &w->a->others[i]);
    output_char(w->out, '\n');
    if (f->is_left_out)
        output_text(w->out, "# its code was left out of the bundle\n");
    else if (f->line_count == 0 && f->is_jit)
        output_text(w->out, "# a JIT made its code: no source lines are known\n");
    else if (f->line_count == 0)
        output_text(w->out, "# its file has no debug information: no source lines\n");
}

bool annotate_write_text(const struct annotations *a, const struct annotate_output *to)
{
    bool ok = true;
    for (size_t i = 0; i < a->count; i++) {
        const struct annotation *f = &a->items[i];
        struct sources sources = sources_of(a, f);
        struct writer w = {to->out,  to->colour, a,          f,
                           &sources, to->whole,  to->counts, to->weights};
        if (i)
            output_char(to->out, '\n');
        write_head(&w);
        for (size_t k = 0; k < f->line_count;)
            k += write_file(&w, f->lines + k, f->line_count - k);
        write_code(&w);
        ok = ok && !sources.arena.failed;
        close_sources(&sources);
    }
    return ok;
}

/* --- For programs ------------------------------------------------------------------ */

static void json_samples(struct json_writer *j, const struct annotated *samples)
{
    json_member_double(j, "weight", samples->weight);
    json_member_u64(j, "samples", samples->count);
}

static void json_lines(struct json_writer *j, const struct annotations *a,
                       const struct annotation *f)
{
    struct sources sources = sources_of(a, f);
    json_put_key(j, "lines");
    json_begin(j, JSON_ARRAY);
    for (size_t i = 0; i < f->line_count; i++) {
        const struct annotated_line *line = &f->lines[i];
        const struct opened_source *source = file_text(&sources, line->file);
        json_put_line(j);
        json_begin(j, JSON_OBJECT);
        json_member_str(j, "file", strings_get(&f->files, line->file));
        json_member_u64(j, "line", line->line);
        json_samples(j, &line->samples);
        if (source && source->found)
            json_member_str(j, "text", source_line(source, line->line));
        json_end(j, JSON_OBJECT);
    }
    close_sources(&sources);
    json_end(j, JSON_ARRAY);
}

static void json_instruction(struct json_writer *j, const struct annotation *f,
                             const struct annotated_code *code)
{
    const struct annotated_row *row = annotation_row(f, code->address);
    json_put_line(j);
    json_begin(j, JSON_OBJECT);
    json_member_u64(j, "address", code->address);
    json_samples(j, &code->samples);
    if (row) {
        json_member_str(j, "file", strings_get(&f->files, row->file));
        json_member_u64(j, "line", row->line);
    }
    if (code->function.len)
        json_member_str(j, "inlined", code->function);
    if (code->text.len)
        json_member_str(j, "text", code->text);
    json_end(j, JSON_OBJECT);
}

static void json_code(struct json_writer *j, const struct annotation *f)
{
    json_put_key(j, "instructions");
    json_begin(j, JSON_ARRAY);
    for (size_t i = 0; i < f->code_count; i++)
        json_instruction(j, f, &f->code[i]);
    for (size_t i = 0; !f->code_count && i < f->address_count; i++)
        json_instruction(j, f,
                         &(struct annotated_code){.address = f->addresses[i].address,
                                                  .text = STR(""),
                                                  .function = STR(""),
                                                  .samples = f->addresses[i].samples});
    json_end(j, JSON_ARRAY);
}

bool annotate_write_json(const struct annotations *a, bool lines, struct output *out)
{
    struct json_writer j = {.out = out};
    json_begin(&j, JSON_OBJECT);
    json_member_str(&j, "event", a->event);
    json_member_str(&j, "unit", str_of(unit_name(a->unit)));
    json_member_double(&j, "total", a->total);
    json_put_key(&j, "functions");
    json_begin(&j, JSON_ARRAY);
    for (size_t i = 0; i < a->count; i++) {
        json_put_line(&j);
        json_begin(&j, JSON_OBJECT);
        json_member_str(&j, "name", a->items[i].symbol);
        json_member_str(&j, "module", a->items[i].module);
        json_samples(&j, &a->items[i].samples);
        if (lines)
            json_lines(&j, a, &a->items[i]);
        json_code(&j, &a->items[i]);
        json_end(&j, JSON_OBJECT);
    }
    json_end(&j, JSON_ARRAY);
    json_end(&j, JSON_OBJECT);
    output_char(out, '\n');
    return true;
}
