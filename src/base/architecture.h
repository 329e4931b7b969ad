/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU architectures of recorded processes. */
#ifndef STOKE_BASE_ARCHITECTURE_H
#define STOKE_BASE_ARCHITECTURE_H

enum architecture { ARCH_UNKNOWN, ARCH_X86, ARCH_X86_64, ARCH_ARM, ARCH_ARM64 };

#endif
