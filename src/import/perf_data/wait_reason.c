/* SPDX-License-Identifier: Apache-2.0 */
#include "import/perf_data/wait_reason.h"

/* Prefixes of the functions that wait, of the kernel's and of the C library's: those that
 * wait themselves, then their callers. */
struct reason {
    const char *name;
    const char *const *functions; /* ended by NULL */
};

static const char *const kernel_io[] = {
    "io_schedule", "blk_",          "folio_wait", "wait_on_page", "pipe_read",
    "pipe_write",  "anon_pipe_",    "pipe_wait",  "do_poll",      "do_sys_poll",
    "ep_poll",     "do_epoll_wait", "do_select",  "core_sys_sel", "sk_wait_data",
    "wait_woken",  "inet_csk_acce", "unix_strea", "unix_dgram",   "__skb_wait_for",
    "n_tty_",      "jbd2_log_wait", "eventfd_re", "inotify_read", "io_cqring_wait",
    "tcp_",        "submit_bio_wa", "wb_wait_fo", "read_events",  "vfs_read",
    "vfs_write",   "vfs_fsync",     NULL};
static const char *const kernel_lock[] = {
    "futex_",        "do_futex",    "__mutex_lock", "mutex_lock", "rwsem_",
    "__rwsem_down_", "down_",       "__down_",      "rt_mutex_",  "do_semtimedop",
    "__do_semtimed", "flock_lock_", "percpu_down_", NULL};
static const char *const kernel_sleep[] = {"do_nanosleep", "hrtimer_nanosleep", "msleep",
                                           "usleep_range", NULL};
static const char *const kernel_preempted[] = {
    "exit_to_user_mode_loop", "preempt_schedule",       "irqentry_exit",
    "__cond_resched",         "do_sched_yield",         "__x64_sys_sched_yield",
    "raw_irqentry_exit",      "dynamic_preempt_schedu", NULL};

static const char *const user_io[] = {
    "read",          "write",      "pread",     "pwrite",    "readv",     "writev",
    "recv",          "send",       "poll",      "ppoll",     "select",    "pselect",
    "epoll_wait",    "accept",     "connect",   "fsync",     "fdatasync", "sync",
    "__libc_read",   "__GI___rea", "__GI___wr", "__libc_wr", "__poll",    "__select",
    "__libc_accept", NULL};
static const char *const user_lock[] = {
    "__lll_lock_wait", "__GI___lll_lock_wait", "__futex_",      "__GI___futex_",
    "pthread_",        "___pthread_",          "__pthread_",    "sem_wait",
    "futex_wait",      "__new_sem_",           "lll_lock_wait", NULL};
static const char *const user_sleep[] = {"nanosleep",
                                         "clock_nanosleep",
                                         "__nanosleep",
                                         "__clock_nanosleep",
                                         "__GI___clock_",
                                         "__GI___nanosleep",
                                         "usleep",
                                         "sleep",
                                         NULL};
static const char *const user_preempted[] = {"sched_yield", "__sched_yield", NULL};

static const struct reason of_kernel[] = {{"[sleep]", kernel_sleep},
                                          {"[lock]", kernel_lock},
                                          {"[io]", kernel_io},
                                          {"[preempted]", kernel_preempted},
                                          {NULL, NULL}};
static const struct reason of_user[] = {{"[sleep]", user_sleep},
                                        {"[lock]", user_lock},
                                        {"[io]", user_io},
                                        {"[preempted]", user_preempted},
                                        {NULL, NULL}};

/* Whether the function's name starts with `beginning`. If `whole`, only a version or a
 * compiler's suffix may follow: "read@GLIBC_2.2.5", "futex_wait.isra.0". */
static bool name_matches(struct str function, struct str beginning, bool whole)
{
    if (!str_starts(function, beginning))
        return false;
    struct str rest = str_skip(function, beginning.len);
    bool all =
        rest.len == 0 || rest.ptr[0] == '@' || rest.ptr[0] == '.' || rest.ptr[0] == '(';
    return !whole || all || beginning.ptr[beginning.len - 1] == '_' ||
           str_starts(beginning, STR("__"));
}

struct str wait_reason_of(struct str function, enum frame_kind kind)
{
    bool kernel = kind == FRAME_KERNEL;
    for (const struct reason *r = kernel ? of_kernel : of_user; r->name; r++)
        for (size_t i = 0; r->functions[i]; i++)
            if (name_matches(function, str_of(r->functions[i]), !kernel))
                return str_of(r->name);
    return STR("");
}
