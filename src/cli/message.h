/* SPDX-License-Identifier: Apache-2.0 */
/* What is said to the user on standard error, and plain tables on standard output. The
 * only place that says it.
 *
 * Names and lines of an input are cleaned before they are printed, so that no byte of a
 * file can steer the terminal. Colour only where standard error is a terminal and
 * NO_COLOR is not set. */
#ifndef STOKE_CLI_MESSAGE_H
#define STOKE_CLI_MESSAGE_H

#include "engine/report.h"
#include "model/profile.h"

/* "stoke: FILE:LINE:COLUMN: message", the line with a caret, "try: hint". */
void message_error(const struct error *err);

/* The warnings of a profile, one line each with its count and first place; nothing when
 * quiet. `file` is the input's name where there was one only, else NULL. */
void message_warnings(const struct profile *p, const char *file);

/* Lines for people, to standard output: ends of lines and tabs stay, all else that a
 * terminal obeys is made visible. False where they could not be written. */
bool message_lines(struct str text);

/* A remark: "stoke: ..." */
void message_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Progress of reading: updates one line on a terminal, at most ten times a second; does
 * nothing elsewhere. total 0: not known. message_progress_end wipes it. */
void message_progress(const char *what, uint64_t done, uint64_t total);
void message_progress_end(void);

/* The engine's notes and progress, shown with the functions above. */
extern const struct engine_report message_report;

/* The same line, for work that has more to tell: shown at once, on a terminal only. */
void message_progress_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
