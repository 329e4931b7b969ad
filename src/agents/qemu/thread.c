/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/qemu/thread.h"
#include "agents/qemu/api.h"
#include "agents/qemu/lane.h"
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool has_threads;
static __thread struct lane *current;

void thread_init(bool is_system)
{
    has_threads = !is_system;
}

struct lane *thread_lane(void)
{
    return current;
}

static const char *program_name(void)
{
    static _Atomic(const char *) name;
    const char *known = atomic_load(&name);
    if (known)
        return known;
    const char *path = qemu_plugin_path_to_binary();
    const char *slash = path ? strrchr(path, '/') : NULL;
    known = slash ? slash + 1 : path ? path : "";
    atomic_store(&name, known);
    return known;
}

/* The name of a thread is QEMU's until the guest sets one. */
static void name_of_thread(char *name)
{
    prctl(PR_GET_NAME, name);
    if (strncmp(name, "qemu-", 5) == 0) {
        const char *program = program_name();
        size_t length = strnlen(program, THREAD_NAME_SIZE - 1);
        memcpy(name, program, length);
        name[length] = 0;
    }
}

void thread_introduce(struct lane *l)
{
    char name[THREAD_NAME_SIZE] = "";
    l->fresh = false;
    if (has_threads) {
        current = l;
        name_of_thread(name);
    }
    lane_name(l, has_threads ? (uint32_t)syscall(SYS_gettid) : 0, name);
}

void thread_refresh_name(struct lane *l)
{
    char name[THREAD_NAME_SIZE] = "";
    name_of_thread(name);
    if (strncmp(name, l->thread_name, THREAD_NAME_SIZE) != 0)
        lane_name(l, l->thread, name);
}
