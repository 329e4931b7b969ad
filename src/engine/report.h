/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of the engine while it works. The caller supplies the functions: the command
 * line prints, a daemon logs, a test counts. The engine itself never prints. */
#ifndef STOKE_ENGINE_REPORT_H
#define STOKE_ENGINE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

/* Each function may be NULL: then nothing is reported in this way. They are called in
 * the thread that called the engine. */
struct engine_report {
    void *context;

    /* One line for the user, without a line end. The text may contain control
     * characters from an input: whoever writes it to a terminal escapes them. Valid
     * during the call. */
    void (*note)(void *context, const char *text);

    /* How many bytes of `what` are done; total 0: unknown. done() follows the last
     * call. */
    void (*progress)(void *context, const char *what, uint64_t done, uint64_t total);
    void (*done)(void *context);
};

/* Results of a load besides the profile. All false at first. */
struct load_result {
    bool incomplete; /* an input ended early or is damaged: the profile has the rest */
    bool truncated;  /* a file was truncated by another process while it was read */
};

/* Reports nothing. */
extern const struct engine_report engine_silent;

void engine_note(const struct engine_report *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void engine_progress(const struct engine_report *r, const char *what, uint64_t done,
                     uint64_t total);
void engine_done(const struct engine_report *r);

#endif
