/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/message.h"
#include "analysis/losses.h"
#include "base/format.h"
#include "base/visible.h"
#include "os/terminal.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static size_t progress_shown; /* columns of the line of progress; 0: there is none */
static struct timespec progress_time;

static bool on_terminal(void)
{
    return isatty(STDERR_FILENO);
}

static bool coloured(void)
{
    return os_terminal_of(STDERR_FILENO).colour;
}

bool message_lines(struct str text)
{
    return message_put(text, stdout);
}

bool message_put(struct str text, FILE *to)
{
    struct visible_filter filter;
    struct output o = OUTPUT_BUFFER;
    visible_filter_init(&filter, &o);
    output_str(&filter.output, text);
    bool ok = visible_filter_finish(&filter) &&
              fwrite(o.bytes, 1, o.used, to) == o.used && fflush(to) == 0;
    visible_filter_deinit(&filter);
    output_deinit(&o);
    return ok;
}

/* Prints text with control characters made visible. */
static void put_clean(const char *text)
{
    struct output o = OUTPUT_BUFFER;
    visible_print(&o, str_of(text));
    if (o.used)
        fwrite(o.bytes, 1, o.used, stderr);
    output_deinit(&o);
}

static void put_location(const char *file, const struct input_location *location)
{
    if (file && file[0]) {
        put_clean(file);
        fputc(':', stderr);
    }
    if (location->line) {
        fprintf(stderr, "%llu:", (unsigned long long)location->line);
        if (location->column)
            fprintf(stderr, "%llu:", (unsigned long long)location->column);
    } else if (location->offset != UINT64_MAX) {
        fprintf(stderr, "byte %llu:", (unsigned long long)location->offset);
    }
    if ((file && file[0]) || location->line || location->offset != UINT64_MAX)
        fputc(' ', stderr);
}

/* Prints the input line and a caret below the column. */
static void put_caret(const struct input_location *location)
{
    if (!location->line || !location->text[0])
        return;
    fputs("  ", stderr);
    put_clean(location->text); /* a .stoke file can contain any bytes here */
    fputc('\n', stderr);
    if (location->caret && location->caret <= strlen(location->text) + 1)
        fprintf(stderr, "  %*s^\n", (int)location->caret - 1, "");
}

static void put_head(const char *kind, const char *colour)
{
    message_progress_end();
    fputs("stoke: ", stderr);
    if (kind)
        fprintf(stderr, coloured() ? "\x1b[%sm%s:\x1b[0m " : "%.0s%s: ", colour, kind);
}

void message_error(const struct error *err)
{
    put_head("error", "1;31");
    put_location(err->file, &err->location);
    put_clean(err->message);
    fputc('\n', stderr);
    put_caret(&err->location);
    if (err->hint[0]) {
        fputs("  try: ", stderr);
        put_clean(err->hint);
        fputc('\n', stderr);
    }
}

bool message_output_done(void)
{
    struct error err;
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    error_set(&err, "standard output: cannot write%s%s", errno ? ": " : "",
              errno ? strerror(errno) : ""); /* unknown if an earlier write failed */
    message_error(&err);
    return false;
}

static void put_losses(const struct facts *facts, const char *file)
{
    char line[LOSS_LINE_MAX];
    for (unsigned i = 0; i < LOSS_LINES; i++) {
        if (losses_line(facts, i, line) == 0)
            continue;
        put_head("warning", "1;35");
        put_location(file, &LOCATION_NONE);
        put_clean(line);
        fputc('\n', stderr);
    }
}

void message_warnings(const struct profile *p, const char *file)
{
    put_losses(&p->facts, file);
    for (unsigned i = 0; i < p->facts.warning_count; i++) {
        const struct warning *w = &p->facts.warnings[i];
        if (w->inferred)
            continue;
        put_head("warning", "1;35");
        put_location(file, &w->first);
        put_clean(w->what);
        if (w->count > 1)
            fprintf(stderr, " (and %llu more like it)", (unsigned long long)w->count - 1);
        fputc('\n', stderr);
        put_caret(&w->first);
    }
}

void message_note(const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    format_text_v(text, sizeof text, format, args);
    va_end(args);
    put_head(NULL, "");
    put_clean(text);
    fputc('\n', stderr);
}

/* Replaces the line of progress. A terminal without escape codes gets spaces over the rest of the
 * line before. */
static void show_progress(const char *text)
{
    size_t length = strlen(text);
    fputc('\r', stderr);
    put_clean(text);
    if (os_terminal_of(STDERR_FILENO).escapes)
        fputs("\x1b[K", stderr);
    else
        fprintf(stderr, "%*s",
                (int)(progress_shown > length ? progress_shown - length : 0), "");
    fflush(stderr);
    progress_shown = length;
}

void message_progress(const char *what, uint64_t done, uint64_t total)
{
    char text[256];
    struct timespec now;
    if (!on_terminal() || (total && done >= total))
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    long ms = (now.tv_sec - progress_time.tv_sec) * 1000 +
              (now.tv_nsec - progress_time.tv_nsec) / 1000000;
    if (progress_time.tv_sec == 0)
        progress_time = now; /* no progress for work shorter than 100 ms */
    if (ms < 100 || ms > 1000000)
        return;
    progress_time = now;
    size_t used = format_text(text, sizeof text, "%s: %.1f MB", what, (double)done / 1e6);
    if (total)
        format_text(text + used, sizeof text - used, " of %.1f (%.0f%%)",
                    (double)total / 1e6, 100.0 * (double)done / (double)total);
    show_progress(text);
}

void message_progress_end(void)
{
    if (progress_shown) {
        show_progress("");
        fputc('\r', stderr);
    }
    progress_shown = 0;
}

void message_progress_line(const char *format, ...)
{
    char text[256];
    va_list args;
    if (!on_terminal())
        return;
    va_start(args, format);
    format_text_v(text, sizeof text, format, args);
    va_end(args);
    show_progress(text);
}

static void report_note(void *context, const char *text)
{
    (void)context;
    message_note("%s", text);
}

static void report_progress(void *context, const char *what, uint64_t done,
                            uint64_t total)
{
    (void)context;
    message_progress(what, done, total);
}

static void report_done(void *context)
{
    (void)context;
    message_progress_end();
}

const struct engine_report message_report = {
    .note = report_note, .progress = report_progress, .done = report_done};
