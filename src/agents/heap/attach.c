/* SPDX-License-Identifier: Apache-2.0 */
/* The start of the library that a running process loads. Stoke calls stoke_heap_attach in
 * it, on one of its threads, and stoke_heap_detach at the end. The library remains loaded:
 * the program may have read the address of a hook, and a thread may be in one. */
#include "agents/heap/got.h"
#include "agents/heap/hooks.h"
#include "agents/heap/lane.h"
#include "agents/heap/sample.h"
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* --- The dynamic linker's functions ------------------------------------------------- */

/* Their result depends on the object that calls them, so they must see the program's
 * return address: the hooks check for new objects, and then jump. These functions wait for
 * the dynamic linker's lock anyway, so got_replace may do it here. */
static __attribute__((used)) void find_new_objects(void)
{
    int before = errno;
    if (lane_is_on() && got_is_outdated())
        (void)got_replace();
    errno = before;
}

static __attribute__((used)) void *real_dlopen, *real_dlmopen, *real_dlsym, *real_dlvsym;

/* The arguments are in registers, which are saved. */
#define HOOK_BY_JUMP(name)                      \
    void hook_##name(void);                     \
    __asm__(".text\n\t"                         \
            ".type hook_" #name ", @function\n" \
            "hook_" #name ":\n\t"               \
            ".cfi_startproc\n\t"                \
            "endbr64\n\t"                       \
            "pushq %rdi\n\t"                    \
            ".cfi_adjust_cfa_offset 8\n\t"      \
            "pushq %rsi\n\t"                    \
            ".cfi_adjust_cfa_offset 8\n\t"      \
            "pushq %rdx\n\t"                    \
            ".cfi_adjust_cfa_offset 8\n\t"      \
            "call find_new_objects\n\t"         \
            "popq %rdx\n\t"                     \
            ".cfi_adjust_cfa_offset -8\n\t"     \
            "popq %rsi\n\t"                     \
            ".cfi_adjust_cfa_offset -8\n\t"     \
            "popq %rdi\n\t"                     \
            ".cfi_adjust_cfa_offset -8\n\t"     \
            "jmp *real_" #name "(%rip)\n\t"     \
            ".cfi_endproc\n\t"                  \
            ".size hook_" #name ", . - hook_" #name)

HOOK_BY_JUMP(dlopen);
HOOK_BY_JUMP(dlmopen);
HOOK_BY_JUMP(dlsym);
HOOK_BY_JUMP(dlvsym);

static const struct {
    const char *name;
    void (*hook)(void);
    void **real;
} jumps[] = {{"dlopen", hook_dlopen, &real_dlopen},
             {"dlmopen", hook_dlmopen, &real_dlmopen},
             {"dlsym", hook_dlsym, &real_dlsym},
             {"dlvsym", hook_dlvsym, &real_dlvsym}};

/* --- The functions ------------------------------------------------------------------ */

static void *libc;

void *hooks_find(const char *name)
{
    return libc ? dlsym(libc, name) : NULL;
}

void hooks_ready(void)
{
}

/* A function that another library defines is not replaced: that of this program are then
 * not the C library's, and releasing their memory with its functions would be wrong. */
static bool add(const char *name, uintptr_t hook, uintptr_t real, bool *is_other)
{
    struct got_function f = {name, real, hook};
    if (!real)
        return true;
    if (!got_is_of_library(&f)) {
        *is_other = true;
        return true;
    }
    return got_add(&f);
}

static enum heap_attach prepare(void)
{
    static enum heap_attach result;
    bool is_other = false, ok = true;
    if (result)
        return result;
    libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    if (!libc)
        return HEAP_ATTACH_OTHER_MALLOC;
    hooks_start();
    for (const struct hook *h = hooks; h->name; h++)
        ok = ok && add(h->name, (uintptr_t)h->function, (uintptr_t)hooks_find(h->name),
                       &is_other);
    for (size_t i = 0; i < sizeof jumps / sizeof *jumps; i++) {
        *jumps[i].real = hooks_find(jumps[i].name);
        ok = ok && add(jumps[i].name, (uintptr_t)jumps[i].hook, (uintptr_t)*jumps[i].real,
                       &is_other);
    }
    result = is_other ? HEAP_ATTACH_OTHER_MALLOC
             : ok     ? HEAP_ATTACHED
                      : HEAP_ATTACH_NO_MEMORY;
    return result;
}

static enum heap_attach attach(int fd)
{
    enum heap_attach result = prepare();
    if (result != HEAP_ATTACHED)
        return result;
    if (lane_is_used())
        return HEAP_ATTACH_BUSY;
    struct heap_shared *shared = lane_map(fd);
    if (!shared || !sample_start(shared->sample_bytes, shared->seed) ||
        !lane_attach(shared))
        return HEAP_ATTACH_NO_MEMORY;
    if (got_replace())
        return HEAP_ATTACHED;
    shared->is_closed = 1;
    (void)got_restore();
    return HEAP_ATTACH_PROTECTED;
}

EXPORT uint64_t stoke_heap_attach(int fd);
EXPORT uint64_t stoke_heap_detach(void);

uint64_t stoke_heap_attach(int fd)
{
    int before = errno;
    enum heap_attach result = attach(fd);
    errno = before;
    return result;
}

uint64_t stoke_heap_detach(void)
{
    int before = errno;
    if (heap_shared)
        __atomic_store_n(&heap_shared->is_closed, 1, __ATOMIC_RELEASE);
    size_t left = got_restore();
    errno = before;
    return left;
}
