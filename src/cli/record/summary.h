/* SPDX-License-Identifier: Apache-2.0 */
/* What stoke record says of a recording. */
#ifndef STOKE_CLI_RECORD_SUMMARY_H
#define STOKE_CLI_RECORD_SUMMARY_H

#include "record/session.h"

/* "61.2 kB", "4.1 MB" */
const char *record_size_text(uint64_t bytes, char room[32]);

/* The line of a recording under way. */
void record_tell_progress(const struct record_session *s);

/* What was recorded, where it is, and what to be careful about. With `drawn` no file is
 * named. */
void record_tell_summary(const struct record_session *s, bool drawn);

#endif
