#include "fail.h"
#include <stddef.h>

static unsigned long seen, failing, failures;
static bool all_after;
static long live;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *old);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *old);

void fail_at(unsigned long n, bool and_all_after)
{
    seen = failures = 0;
    failing = n;
    all_after = and_all_after;
}

unsigned long fail_seen(void)
{
    return seen;
}

unsigned long fail_count(void)
{
    return failures;
}

long fail_live_count(void)
{
    return live;
}

static bool fails(void)
{
    seen++;
    bool yes = failing && (all_after ? seen >= failing : seen == failing);
    failures += yes;
    return yes;
}

void *__wrap_malloc(size_t size)
{
    void *made = fails() ? NULL : __real_malloc(size);
    live += made != NULL;
    return made;
}

void *__wrap_calloc(size_t count, size_t size)
{
    void *made = fails() ? NULL : __real_calloc(count, size);
    live += made != NULL;
    return made;
}

void *__wrap_realloc(void *old, size_t size)
{
    void *made = fails() ? NULL : __real_realloc(old, size);
    live += made && !old;
    return made;
}

void __wrap_free(void *old)
{
    live -= old != NULL;
    __real_free(old);
}
