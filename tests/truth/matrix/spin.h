/* SPDX-License-Identifier: Apache-2.0 */
/* Work whose time is proportional to its count, at all levels of optimisation: a chain
 * of multiplications. It is one statement, so its samples have one line. */
#ifndef SPIN_H
#define SPIN_H

#define NOINLINE __attribute__((noinline))
#define INLINED inline __attribute__((always_inline))

#if defined(__x86_64__) || defined(__i386__)
#define CHAIN "imul %1,%1\n\timul %1,%1\n\timul %1,%1\n\timul %1,%1\n\t"
#define SPIN(count)                                                                      \
    do {                                                                                 \
        unsigned long left_ = (count), x_ = 3;                                           \
        __asm__ volatile("1:\t" CHAIN CHAIN "dec %0\n\tjnz 1b" : "+r"(left_), "+r"(x_)); \
    } while (0)
#elif defined(__aarch64__)
#define CHAIN "mul %1,%1,%1\n\tmul %1,%1,%1\n\tmul %1,%1,%1\n\tmul %1,%1,%1\n\t"
#define SPIN(count)                                                    \
    do {                                                               \
        unsigned long left_ = (count), x_ = 3;                         \
        __asm__ volatile("1:\t" CHAIN CHAIN "subs %0,%0,#1\n\tb.ne 1b" \
                         : "+r"(left_), "+r"(x_)                       \
                         :                                             \
                         : "cc");                                      \
    } while (0)
#endif

/* The parts of a round, in percent. Rounds have different lengths: with equal rounds
 * and equally distant samples, the shares would not be random. */
#define ROUNDS 700
#define PERCENT(share, scale) ((unsigned long)(share) * (scale))

static inline unsigned long next_scale(unsigned long long *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return 200 + (unsigned long)(*state >> 33) % 400;
}

/* In other.c. */
#ifdef __cplusplus
extern "C" {
#endif
extern void (*pointer)(unsigned long);
extern volatile unsigned long sink;
void rare(unsigned long scale, int never);
__attribute__((cold)) void unlikely(unsigned long scale);
#ifdef __cplusplus
}
#endif

#endif
