/* Values of options that stoke record and stoke top have alike: struct option's `parse`. */
#ifndef STOKE_CLI_RECORD_WORDS_H
#define STOKE_CLI_RECORD_WORDS_H

#include "base/error.h"

/* Samples a second, or "max": as many as the kernel gives. To an int64_t. */
bool record_parse_rate(const char *text, void *value, struct error *err);

/* A ring's size in bytes, to a uint64_t: "512K", "4M", or as perf has it a number of
 * pages; the next power of two. */
bool record_parse_ring(const char *text, void *value, struct error *err);

#endif
