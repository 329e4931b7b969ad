/* SPDX-License-Identifier: Apache-2.0 */
/* Functions with what was sampled in them, for people and for programs. */
#include "base/json.h"
#include "base/visible.h"
#include "cli/annotate.h"
#include "model/measure.h"
#include "os/mapping.h"

/* Lines without code are shown between others, up to so many at a time. */
#define GAP_MOST 4

#define HOT 5.0  /* percent */
#define WARM 0.5 /* as in src/export/table_text.c */

/* --- Source files ------------------------------------------------------------------ */

/* A source file under way, which is read from line to line. */
struct source_text {
    struct os_mapping mapping;
    struct str rest;
    uint32_t next; /* the line that `rest` begins with */
    bool found;
};

static struct source_text open_source(struct str name)
{
    char path[4096];
    struct error ignored;
    struct source_text t = {.mapping = OS_MAPPING_NONE, .rest = STR(""), .next = 1};
    if (name.len >= sizeof path)
        return t;
    format_text(path, sizeof path, "%.*s", STR_ARG(name));
    t.found = os_mapping_open(&t.mapping, path, &ignored);
    t.rest = t.mapping.bytes;
    return t;
}

/* A line; not one before that asked for last. */
static struct str source_line(struct source_text *t, uint32_t line)
{
    struct str text = STR("");
    while (t->next <= line && t->rest.len) {
        text = str_cut(&t->rest, '\n');
        t->next++;
    }
    return t->next == line + 1 ? str_trim_right(text) : STR("");
}

/* --- For people -------------------------------------------------------------------- */

struct writer {
    struct output *out;
    bool colour;
    const struct annotations *a;
    const struct annotation *f;
    struct arena *arena;
};

static double share(double part, double whole)
{
    return whole > 0 ? part * 100 / whole : 0;
}

/* "* 45.21%", in colour where it is hot; nothing where there are no samples. */
static void write_share(const struct writer *w, const struct annotated *samples)
{
    double percent = share(samples->weight, w->f->samples.weight);
    if (samples->count == 0) {
        output_text(w->out, "         ");
        return;
    }
    bool coloured = w->colour && percent >= WARM;
    if (coloured)
        output_text(w->out, percent >= HOT ? "\x1b[31m" : "\x1b[32m");
    output_format(w->out, "%c %6.2f%%", percent >= HOT ? '*' : ' ', percent);
    if (coloured)
        output_text(w->out, "\x1b[0m");
}

/* Tabs are widened, so that columns stay columns. */
static void write_source(const struct writer *w, struct str text)
{
    while (text.len) {
        bool cut = str_find(text, '\t') < text.len;
        visible_print(w->out, str_cut(&text, '\t'));
        if (cut)
            output_text(w->out, "    ");
    }
}

static void write_line(const struct writer *w, struct source_text *source, uint32_t line,
                       const struct annotated *samples)
{
    write_share(w, samples);
    output_format(w->out, " %7u  ", line);
    write_source(w, source_line(source, line));
    output_char(w->out, '\n');
}

/* The lines of one file, from `lines` on; how many. */
static size_t write_file(const struct writer *w, const struct annotated_line *lines,
                         size_t count)
{
    static const struct annotated nothing;
    struct str path = strings_get(&w->f->files, lines[0].file);
    struct source_text source = open_source(path);
    output_text(w->out, "\n  share       line  ");
    visible_print(w->out, path);
    output_text(w->out, source.found ? "\n" : " (not on this machine)\n");
    size_t i = 0;
    for (; i < count && lines[i].file == lines[0].file; i++) {
        uint32_t last = i ? lines[i - 1].line : lines[i].line;
        if (source.found && lines[i].line - last <= GAP_MOST)
            for (uint32_t between = last + 1; between < lines[i].line; between++)
                write_line(w, &source, between, &nothing);
        else if (lines[i].line > last + 1)
            output_text(w->out, "             ...\n");
        write_line(w, &source, lines[i].line, &lines[i].samples);
    }
    os_mapping_close(&source.mapping);
    return i;
}

static void write_place(const struct writer *w, uint64_t address, uint64_t *last)
{
    const struct annotated_row *row = annotation_row(w->f, address);
    uint64_t place = row ? (uint64_t)row->file << 32 | row->line : 0;
    if (place && place != *last) {
        output_text(w->out, "  # ");
        visible_print(w->out, str_basename(strings_get(&w->f->files, row->file)));
        output_format(w->out, ":%u", row->line);
    }
    *last = place;
}

static void write_code(const struct writer *w)
{
    struct annotated_code *code;
    struct error err = {.place = PLACE_NONE};
    size_t count;
    uint64_t last = 0;
    bool has_code = annotation_disassemble(w->f, &code, &count, w->arena, &err);
    output_text(w->out, "\n  share    address  ");
    output_text(w->out, has_code ? "instruction" : "no instructions: ");
    output_text(w->out, has_code ? "" : err.message);
    output_char(w->out, '\n');
    for (size_t i = 0; has_code && i < count; i++) {
        write_share(w, &code[i].samples);
        output_format(w->out, " %9llx  ", (unsigned long long)code[i].address);
        write_source(w, code[i].text);
        write_place(w, code[i].address, &last);
        output_char(w->out, '\n');
    }
    for (size_t i = 0; !has_code && i < w->f->address_count; i++) {
        const struct annotated_address *a = &w->f->addresses[i];
        write_share(w, &a->samples);
        output_format(w->out, " %9llx", (unsigned long long)a->address);
        write_place(w, a->address, &last);
        output_char(w->out, '\n');
    }
}

static void write_head(const struct writer *w)
{
    const struct annotation *f = w->f;
    struct measure m = measure_for(w->a->unit, f->samples.weight, false);
    char weight[MEASURE_TEXT_MAX];
    size_t length = measure_write(&m, f->samples.weight, weight);
    output_text(w->out, "# ");
    visible_print(w->out, f->symbol);
    output_text(w->out, " in ");
    visible_print(w->out, f->module.len ? f->module : STR("[unknown]"));
    output_format(w->out, "\n# %llu %s, %.*s", (unsigned long long)f->samples.count,
                  f->samples.count == 1 ? "sample" : "samples", (int)length, weight);
    output_format(w->out, "%s%s of ", m.unit[0] ? " " : "", m.unit);
    visible_print(w->out, w->a->event);
    output_format(w->out, ": %.2f%% of the recording's\n",
                  share(f->samples.weight, w->a->total));
    if (f->line_count == 0 && f->is_jit)
        output_text(w->out, "# a JIT made its code: no source lines are known\n");
    else if (f->line_count == 0)
        output_text(w->out, "# its file has no debug information: no source lines\n");
}

bool annotate_write_text(const struct annotations *a, const struct annotate_output *to)
{
    struct arena arena = ARENA_INIT;
    for (size_t i = 0; i < a->count; i++) {
        const struct annotation *f = &a->items[i];
        struct writer w = {to->out, to->colour, a, f, &arena};
        if (i)
            output_char(to->out, '\n');
        write_head(&w);
        for (size_t k = 0; k < f->line_count;)
            k += write_file(&w, f->lines + k, f->line_count - k);
        write_code(&w);
    }
    bool ok = !arena.failed;
    arena_deinit(&arena);
    return ok;
}

/* --- For programs ------------------------------------------------------------------ */

static void json_samples(struct json_writer *j, const struct annotated *samples)
{
    json_member_double(j, "weight", samples->weight);
    json_member_u64(j, "samples", samples->count);
}

static void json_lines(struct json_writer *j, const struct annotation *f)
{
    struct source_text source = {.mapping = OS_MAPPING_NONE, .rest = STR("")};
    json_put_key(j, "lines");
    json_begin(j, JSON_ARRAY);
    for (size_t i = 0; i < f->line_count; i++) {
        const struct annotated_line *line = &f->lines[i];
        if (i == 0 || line->file != f->lines[i - 1].file) {
            os_mapping_close(&source.mapping);
            source = open_source(strings_get(&f->files, line->file));
        }
        json_put_line(j);
        json_begin(j, JSON_OBJECT);
        json_member_str(j, "file", strings_get(&f->files, line->file));
        json_member_u64(j, "line", line->line);
        json_samples(j, &line->samples);
        if (source.found)
            json_member_str(j, "text", source_line(&source, line->line));
        json_end(j, JSON_OBJECT);
    }
    os_mapping_close(&source.mapping);
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
    if (code->text.len)
        json_member_str(j, "text", code->text);
    json_end(j, JSON_OBJECT);
}

static void json_code(struct json_writer *j, const struct annotation *f,
                      struct arena *arena)
{
    struct annotated_code *code;
    struct error ignored;
    size_t count;
    bool has_code = annotation_disassemble(f, &code, &count, arena, &ignored);
    json_put_key(j, "instructions");
    json_begin(j, JSON_ARRAY);
    for (size_t i = 0; has_code && i < count; i++)
        json_instruction(j, f, &code[i]);
    for (size_t i = 0; !has_code && i < f->address_count; i++)
        json_instruction(j, f,
                         &(struct annotated_code){f->addresses[i].address, STR(""),
                                                  f->addresses[i].samples});
    json_end(j, JSON_ARRAY);
}

bool annotate_write_json(const struct annotations *a, struct output *out)
{
    struct json_writer j = {.out = out};
    struct arena arena = ARENA_INIT;
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
        json_lines(&j, &a->items[i]);
        json_code(&j, &a->items[i], &arena);
        json_end(&j, JSON_OBJECT);
    }
    json_end(&j, JSON_ARRAY);
    json_end(&j, JSON_OBJECT);
    output_char(out, '\n');
    bool ok = !arena.failed;
    arena_deinit(&arena);
    return ok;
}
