/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations that fail when told to, and a count of those that live. The program is
 * linked with --wrap for malloc, calloc, realloc and free, so this is about stoke's own
 * calls and not about those inside of libraries. */
#ifndef STOKE_TESTS_FAIL_H
#define STOKE_TESTS_FAIL_H

#include <stdbool.h>

/* From now on the n-th allocation fails (1 is the next one), and with `and_all_after`
 * those behind it too. 0: none fails. */
void fail_at(unsigned long n, bool and_all_after);

unsigned long fail_seen(void);  /* allocations asked for since fail_at */
unsigned long fail_count(void); /* and how many of them failed */
long fail_living(void);         /* allocations not yet freed */

#endif
