/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to the user on standard error, and plain tables on standard output. No other
 * file prints messages.
 *
 * Control characters in names and lines of an input are made visible, so that a file
 * cannot control the terminal. Messages have colour only if standard error is a terminal
 * and NO_COLOR is not set. */
#ifndef STOKE_CLI_MESSAGE_H
#define STOKE_CLI_MESSAGE_H

#include "engine/report.h"
#include "model/profile.h"
#include <stdio.h>

/* Prints "stoke: error: FILE:LINE:COLUMN: message", the line with a caret, "try: hint". */
void message_error(const struct error *err);

/* Prints the warnings of a profile, one line each, with its count and first location.
 * `file` is the input's name if there is only one input, otherwise NULL. */
void message_warnings(const struct profile *p, const char *file);

/* Writes what standard output has buffered. False, with a message, if any of it could not be
 * written. */
bool message_output_done(void);

/* Prints lines to standard output. Control characters except newline and tab are made
 * visible. False if writing fails. */
bool message_lines(struct str text);

/* The same to another stream. */
bool message_put(struct str text, FILE *to);

/* Prints a note: "stoke: ..." */
void message_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Shows progress of reading in one line of the terminal, updated at most ten times per
 * second; does nothing if standard error is not a terminal or if all is done. total 0:
 * unknown.
 * message_progress_end clears the line. */
void message_progress(const char *what, uint64_t done, uint64_t total);
void message_progress_end(void);

/* Prints the engine's notes and progress with the functions above. */
extern const struct engine_report message_report;

/* Shows any text in the progress line, immediately; only on a terminal. */
void message_progress_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
