/* SPDX-License-Identifier: Apache-2.0 */
#include "record/targets.h"
#include "base/array.h"
#include "base/number.h"
#include "os/machine.h"
#include "os/mapping.h"
#include "os/proc.h"
#include <stdlib.h>

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Sorts them and removes duplicates; returns how many remain. */
static size_t unique(uint32_t *items, size_t count)
{
    size_t count_left = 0;
    if (count)
        qsort(items, count, sizeof *items, by_number);
    for (size_t i = 0; i < count; i++)
        if (count_left == 0 || items[count_left - 1] != items[i])
            items[count_left++] = items[i];
    return count_left;
}

/* --- Threads ----------------------------------------------------------------------- */

static void add_thread(void *context, uint32_t tid)
{
    struct record_threads *t = context;
    if (ARRAY_RESERVE_HEAP(t->items, t->cap, t->count + 1))
        t->items[t->count++] = tid;
    else
        t->failed = true;
}

bool record_threads_find(struct record_threads *t, const uint32_t *pids, size_t pid_count,
                         const uint32_t *tids, size_t tid_count, struct error *err)
{
    for (size_t i = 0; i < pid_count; i++) {
        if (os_process_threads(pids[i], add_thread, t))
            continue;
        error_set(err, "there is no process %u", pids[i]);
        return error_hint(err, "ps lists the processes");
    }
    for (size_t i = 0; i < tid_count; i++)
        add_thread(t, tids[i]);
    t->count = unique(t->items, t->count);
    return !t->failed || error_memory(err);
}

/* --- Descendants ------------------------------------------------------------------- */

struct process {
    uint32_t pid, parent;
    bool added;
};

struct process_list {
    struct process *items;
    size_t count, cap;
    bool failed;
};

static void list_process(void *context, struct str name)
{
    struct process_list *list = context;
    uint64_t pid;
    if (!number_parse_u64(name, &pid) || pid >= UINT32_MAX)
        return;
    uint32_t parent = os_process_parent((uint32_t)pid);
    if (parent == 0)
        return;
    if (ARRAY_RESERVE_HEAP(list->items, list->cap, list->count + 1))
        list->items[list->count++] =
            (struct process){.pid = (uint32_t)pid, .parent = parent};
    else
        list->failed = true;
}

static int by_parent(const void *a, const void *b)
{
    const struct process *x = a, *y = b;
    return (x->parent > y->parent) - (x->parent < y->parent);
}

/* The index of the first child in the list, which is in order of parents. */
static size_t first_child(const struct process_list *list, uint32_t parent)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->items[middle].parent < parent)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool record_threads_of_descendants(struct record_threads *t, const uint32_t *pids,
                                   size_t pid_count, struct error *err)
{
    struct process_list list = {0};
    struct record_threads family = {0};
    uint32_t own = os_own_pid();
    for (size_t i = 0; i < pid_count; i++)
        add_thread(&family, pids[i]);
    os_folder_each("/proc", list_process, &list);
    if (list.count)
        qsort(list.items, list.count, sizeof *list.items, by_parent);
    for (size_t i = 0; i < family.count; i++) {
        uint32_t parent = family.items[i];
        for (size_t k = first_child(&list, parent);
             k < list.count && list.items[k].parent == parent; k++) {
            struct process *child = &list.items[k];
            if (child->added || child->pid == own)
                continue;
            child->added = true;
            add_thread(&family, child->pid);
            os_process_threads(child->pid, add_thread, t);
        }
    }
    bool ok = !list.failed && !family.failed && !t->failed;
    free(list.items);
    record_threads_free(&family);
    t->count = unique(t->items, t->count);
    return ok || error_memory(err);
}

/* --- Names and users --------------------------------------------------------------- */

struct name_search {
    struct record_threads *pids;
    struct str name;
    uint32_t own;
};

static void add_if_named(void *context, struct str file)
{
    struct name_search *s = context;
    uint64_t pid;
    if (number_parse_u64(file, &pid) && pid < UINT32_MAX && pid != s->own &&
        os_process_is_named((uint32_t)pid, s->name))
        add_thread(s->pids, (uint32_t)pid);
}

bool record_processes_named(struct record_threads *pids, struct str name,
                            struct error *err)
{
    struct name_search s = {.pids = pids, .name = name, .own = os_own_pid()};
    size_t before = pids->count;
    os_folder_each("/proc", add_if_named, &s);
    if (pids->failed)
        return error_memory(err);
    if (pids->count > before)
        return true;
    error_set(err, "found no process named '%.*s'", STR_ARG(name));
    return error_hint(err,
                      "ps -e lists the processes; pgrep -f searches in command lines");
}

struct user_search {
    struct record_threads *threads;
    uint32_t user, own;
};

static void add_if_theirs(void *context, struct str name)
{
    struct user_search *s = context;
    uint64_t pid;
    uint32_t owner;
    if (number_parse_u64(name, &pid) && pid < UINT32_MAX && pid != s->own &&
        os_process_owner((int64_t)pid, &owner) && owner == s->user)
        os_process_threads((uint32_t)pid, add_thread, s->threads);
}

bool record_threads_of_user(struct record_threads *t, const char *user, struct error *err)
{
    struct user_search s = {.threads = t, .own = os_own_pid()};
    if (!os_user_named(user, &s.user)) {
        error_set(err, "there is no user '%s'", user);
        return error_hint(err, "a name of /etc/passwd, or a number");
    }
    os_folder_each("/proc", add_if_theirs, &s);
    t->count = unique(t->items, t->count);
    if (t->count == 0)
        return error_set(err, "the user '%s' has no processes", user);
    return !t->failed || error_memory(err);
}

void record_threads_free(struct record_threads *t)
{
    free(t->items);
    *t = (struct record_threads){0};
}

/* --- CPUs -------------------------------------------------------------------------- */

static bool no_list(struct str list, struct error *err)
{
    error_set(err, "invalid list of CPUs '%.*s'", STR_ARG(list));
    return error_hint(err, "0, or 0-3, or 0,2,4-7");
}

static bool is_online(uint64_t cpu, const uint32_t *online, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (online[i] == cpu)
            return true;
    return false;
}

static bool no_cpu(uint64_t cpu, struct error *err)
{
    char room[512];
    struct str online =
        str_trim(os_read_text("/sys/devices/system/cpu/online", room, sizeof room));
    error_set(err, "there is no CPU %llu", (unsigned long long)cpu);
    return error_hint(err, "this machine has CPUs %.*s", STR_ARG(online));
}

/* Removes "4" or "4-7" from the list; false if it starts with neither. */
static bool take_range(struct str *list, uint64_t *from, uint64_t *to)
{
    struct str last = str_trim(str_cut(list, ',')), first = str_cut(&last, '-');
    if (!number_parse_u64(first, from))
        return false;
    *to = *from;
    return last.len == 0 || (number_parse_u64(last, to) && *to >= *from);
}

static bool add_cpus(struct str list, const uint32_t *online, size_t online_count,
                     uint32_t *cpus, size_t *count, struct error *err)
{
    struct str rest = list;
    while (rest.len) {
        uint64_t from, to;
        if (!take_range(&rest, &from, &to))
            return no_list(list, err);
        for (; from <= to; from++) { /* ends at the first CPU that does not exist */
            if (!is_online(from, online, online_count))
                return no_cpu(from, err);
            if (*count == OS_CPUS_MAX)
                *count = unique(cpus, *count);
            if (*count < OS_CPUS_MAX)
                cpus[(*count)++] = (uint32_t)from;
        }
    }
    *count = unique(cpus, *count);
    return *count || no_list(list, err);
}

bool record_cpus_add(struct str list, uint32_t *cpus, size_t *count, struct error *err)
{
    uint32_t *online = malloc(OS_CPUS_MAX * sizeof *online);
    if (!online)
        return error_memory(err);
    bool ok = add_cpus(list, online, os_cpus_online(online), cpus, count, err);
    free(online);
    return ok;
}
