/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine reports while it works. The caller supplies the functions: the command
 * line prints, a daemon writes a log, a test counts. The engine itself never prints. */
#ifndef STOKE_ENGINE_REPORT_H
#define STOKE_ENGINE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

/* Each function may be NULL: then nothing is reported that way. They are called in the
 * thread that called the engine. */
struct engine_report {
    void *context;

    /* One line for the user, without a line end. The text may hold bytes of an input that
     * a terminal obeys: who shows it escapes them. It is valid during the call. */
    void (*note)(void *context, const char *text);

    /* How much of `what` is done, in bytes; total 0: not known. done() follows the last
     * one. */
    void (*progress)(void *context, const char *what, uint64_t done, uint64_t total);
    void (*done)(void *context);
};

/* Reports nothing. */
extern const struct engine_report engine_silent;

void engine_note(const struct engine_report *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void engine_progress(const struct engine_report *r, const char *what, uint64_t done,
                     uint64_t total);
void engine_done(const struct engine_report *r);

#endif
