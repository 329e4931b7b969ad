/* SPDX-License-Identifier: Apache-2.0 */
/* Whether AddressSanitizer checks this program: everything takes several times as long. */
#ifndef STOKE_TESTS_SANITIZED_H
#define STOKE_TESTS_SANITIZED_H

#ifndef __has_feature /* defined by clang */
#define __has_feature(feature) 0
#endif
#if defined __SANITIZE_ADDRESS__ || __has_feature(address_sanitizer)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#endif
