/* SPDX-License-Identifier: Apache-2.0 */
/* Makes allocations fail on request, and counts live ones. The program is linked with
 * --wrap for malloc, calloc, realloc and free, so this covers stoke's own calls and not
 * those inside libraries. */
#ifndef STOKE_TESTS_FAIL_H
#define STOKE_TESTS_FAIL_H

#include <stdbool.h>

/* Makes the n-th allocation from now on fail (1 is the next one), and with
 * `and_all_after` all later ones. 0: none fails. */
void fail_at(unsigned long n, bool and_all_after);

unsigned long fail_seen(void);  /* allocations since fail_at */
unsigned long fail_count(void); /* failed ones since fail_at */
long fail_live_count(void);     /* allocations not freed yet */

#endif
