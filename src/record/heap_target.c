/* SPDX-License-Identifier: Apache-2.0 */
#include "record/heap_target.h"
#include "base/format.h"
#include "base/heap_format.h"
#include "os/mapping.h"
#include "os/proc.h"
#include "os/wait.h"
#include "symbol/symtab.h"
#include <string.h>

/* --- Its files ---------------------------------------------------------------------- */

/* Executable mappings that matter. */
struct modules {
    struct heap_target *target;
    struct os_code libc; /* its path is in `path` */
    char path[4096];
    bool is_musl, is_preloaded;
};

static void guard(struct heap_target *t, const struct os_code *code)
{
    if (t->guarded_count < HEAP_GUARDED_MAX)
        t->guarded[t->guarded_count++] = (struct heap_range){code->start, code->end};
}

static bool is_libc(struct str name)
{
    return str_equal(name, STR("libc.so.6")) ||
           (str_starts(name, STR("libc-2.")) && str_ends(name, STR(".so")));
}

static bool is_linker(struct str name)
{
    return str_equal(name, STR("ld-linux-x86-64.so.2")) ||
           (str_starts(name, STR("ld-2.")) && str_ends(name, STR(".so")));
}

static void see_module(void *context, const struct os_code *code)
{
    struct modules *m = context;
    struct heap_target *t = m->target;
    struct str name = str_basename(code->path);
    struct heap_range range = {code->start, code->end};
    if (is_libc(name) && !m->libc.end) {
        m->libc = *code;
        format_text(m->path, sizeof m->path, "/proc/%u/root%.*s", t->pid,
                    STR_ARG(code->path));
        t->libc = range;
        guard(t, code);
    } else if (is_linker(name)) {
        t->linker = range;
        guard(t, code);
    } else if (str_equal(name, STR(HEAP_LATE_LIBRARY))) {
        t->library = range;
        guard(t, code);
    }
    m->is_musl |= str_starts(name, STR("ld-musl-"));
    m->is_preloaded |= str_equal(name, STR(HEAP_LIBRARY));
}

static bool check_modules(const struct modules *m, struct error *err)
{
    uint32_t pid = m->target->pid;
    if (m->is_musl) {
        error_set(err, "process %u uses the C library musl", pid);
        return error_hint(err, "only programs of the GNU C library can be recorded");
    }
    if (!m->libc.end || !m->target->linker.end) {
        error_set(err, "process %u does not use the GNU C library as a shared library",
                  pid);
        return error_hint(err, "static programs cannot be recorded");
    }
    if (m->is_preloaded) {
        error_set(err, "process %u is recorded since its start", pid);
        return error_hint(err, "by stoke heap COMMAND");
    }
    return true;
}

/* --- Its functions ------------------------------------------------------------------ */

/* Finds a function of the C library in the process. */
static bool find_function(struct elf *e, uint64_t bias, const char *name, uint64_t *at)
{
    if (!symtab_find(e, str_of(name), at))
        return false;
    *at += bias;
    return true;
}

static bool find_functions(struct heap_target *t, struct elf *e,
                           const struct os_code *libc, struct error *err)
{
    uint64_t bias;
    if (e->machine != ELF_X86_64 || !e->is_64) {
        error_set(err, "process %u is not a 64-bit program for x86-64", t->pid);
        return error_hint(err, "its heap cannot be recorded");
    }
    if (!elf_load_bias(e, libc->start, libc->offset, &bias))
        return error_set(err, "process %u: its C library is damaged", t->pid);
    if (find_function(e, bias, "dlopen", &t->open) &&
        find_function(e, bias, "dlerror", &t->error_text) &&
        find_function(e, bias, "__errno_location", &t->code.errno_location))
        return true;
    error_set(err, "process %u: its C library is older than glibc 2.34", t->pid);
    return error_hint(err, "stoke heap COMMAND can record it from its start");
}

static bool read_libc(struct heap_target *t, const struct modules *m, struct error *err)
{
    struct os_mapping file = OS_MAPPING_NONE;
    struct arena arena = ARENA_INIT;
    struct elf e;
    bool ok = os_mapping_open_inode(&file, m->path, m->libc.major, m->libc.minor,
                                    m->libc.inode, err) &&
              elf_init(&e, file.bytes, &arena, err) &&
              find_functions(t, &e, &m->libc, err);
    arena_deinit(&arena);
    os_mapping_close(&file);
    return ok;
}

#define PART 4096

/* Finds an instruction "syscall" in the code of the C library. */
static bool find_system_call(struct heap_target *t, struct error *err)
{
    char part[PART];
    for (uint64_t at = t->libc.start; at + PART <= t->libc.end; at += PART) {
        if (!os_process_read(t->pid, at, part, sizeof part))
            break;
        size_t offset = str_search((struct str){part, PART}, STR("\x0f\x05"));
        if (offset < PART) {
            t->code.system_call = at + offset;
            return true;
        }
    }
    return error_set(err, "process %u: cannot read the code of its C library", t->pid);
}

static bool check_process(uint32_t pid, struct error *err)
{
    if (!os_process_runs(pid))
        return error_set(err, "no process %u", pid);
    if (pid == os_own_pid())
        return error_set(err, "stoke cannot record its own heap");
    if (os_process_own_pid(pid) != pid) {
        error_set(err, "process %u is in another PID namespace, such as a container",
                  pid);
        return error_hint(err, "run stoke there");
    }
    if (os_process_filters_calls(pid)) {
        error_set(err, "process %u has a filter of system calls (seccomp)", pid);
        return error_hint(err, "it could end a process that loads a library; record it "
                               "from its start, with stoke heap COMMAND");
    }
    if (os_process_has_shadow_stack(pid))
        return error_set(err,
                         "process %u has a shadow stack, which permits no call from "
                         "outside",
                         pid);
    if (os_process_is_stopped(pid)) {
        error_set(err, "process %u is stopped", pid);
        return error_hint(err, "continue it first: kill -CONT %u", pid);
    }
    return true;
}

#define START_TRIES 200
#define START_MS 10

/* The dynamic linker has not loaded the C library yet. */
static bool is_starting(const struct modules *m)
{
    return m->target->linker.end && !m->libc.end;
}

static bool read_modules(struct modules *m, struct heap_target *t, uint32_t pid)
{
    *m = (struct modules){.target = t};
    *t = (struct heap_target){.pid = pid};
    return os_process_code(pid, pid, see_module, m) > 0;
}

/* Finds the modules; waits for some seconds for those of a process that starts now. */
static bool find_modules(struct modules *m, struct heap_target *t, uint32_t pid,
                         struct error *err)
{
    for (int i = 0; i < START_TRIES && (i == 0 || is_starting(m)); i++) {
        if (i > 0)
            os_sleep(START_MS);
        if (!read_modules(m, t, pid)) {
            error_set(err, "cannot read the memory map of process %u", pid);
            return error_hint(err, "run as the user of the process or as root");
        }
    }
    return true;
}

static bool examine(struct heap_target *t, uint32_t pid, struct error *err)
{
    struct modules m;
    return check_process(pid, err) && find_modules(&m, t, pid, err) &&
           check_modules(&m, err) && read_libc(t, &m, err) && find_system_call(t, err);
}

#define EXAMINE_TRIES 20

/* What is read of a process that executes another program meanwhile is of both. */
bool heap_target_examine(struct heap_target *t, uint32_t pid, struct error *err)
{
    for (int i = 1; i < EXAMINE_TRIES; i++) {
        struct error ignored;
        if (examine(t, pid, &ignored))
            return true;
        os_sleep(START_MS);
    }
    return examine(t, pid, err);
}

/* --- Its threads -------------------------------------------------------------------- */

static bool is_in(const struct heap_range *r, uint64_t address)
{
    return address >= r->start && address < r->end;
}

static bool is_guarded(const struct heap_target *t, uint64_t address)
{
    for (size_t i = 0; i < t->guarded_count; i++)
        if (is_in(&t->guarded[i], address))
            return true;
    return false;
}

/* Whether the instruction before an address is "syscall". */
static bool is_behind_call(const struct heap_target *t, uint64_t address)
{
    char code[2];
    return os_process_read(t->pid, address - 2, code, sizeof code) &&
           memcmp(code, "\x0f\x05", 2) == 0;
}

/* The words of a signal frame (struct sigcontext of the kernel): the instruction pointer
 * of the interrupted code is two words before the segment selectors, which are always
 * the same in user code. */
#define SELECTORS UINT64_C(0x002b000000000033)
#define WORDS 512
#define STACK_PARTS 256 /* 1 MiB */

/* Whether a signal handler on this stack has interrupted guarded code. Words that only
 * look like it do no harm: another time or another thread is found. */
static bool interrupts_guarded(const struct heap_target *t, uint64_t stack)
{
    uint64_t words[WORDS + 2] = {0}; /* the first two are the last of the part before */
    stack &= ~(uint64_t)7;
    for (int part = 0; part < STACK_PARTS; part++) {
        uint64_t end = (stack | 4095) + 1;
        size_t count = (size_t)(end - stack) / sizeof *words;
        if (!os_process_read(t->pid, stack, words + 2, count * sizeof *words))
            return false;
        for (size_t i = 2; i < count + 2; i++)
            if (words[i] == SELECTORS && is_guarded(t, words[i - 2]) &&
                !is_behind_call(t, words[i - 2]))
                return true;
        words[0] = words[count];
        words[1] = words[count + 1];
        stack = end;
    }
    return false;
}

/* In perf's numbering. */
#define REGISTER_SI 4
#define REGISTER_IP 8

/* Locks wait by FUTEX_WAIT, everything else by FUTEX_WAIT_BITSET (nptl's
 * futex-internal.c). */
#define FUTEX_OPERATION 127
#define FUTEX_WAIT_BITSET 9

/* System calls that the guarded code does not wait in, except for futex. */
static bool is_usual_call(int64_t number, const struct os_registers *r)
{
    const char *name = os_call_name(number);
    if (!name)
        return false;
    if (strcmp(name, "futex") == 0)
        return (r->values[REGISTER_SI] & FUTEX_OPERATION) == FUTEX_WAIT_BITSET;
    return strcmp(name, "openat") != 0 && strcmp(name, "fcntl") != 0;
}

/* Whether the stopped thread may call functions. `before` is its state before the stop. */
static bool is_free(const struct heap_target *t, const struct os_stopped *stopped,
                    const struct os_thread_state *before)
{
    struct os_registers r;
    if (stopped->signal || !os_stopped_registers(stopped, &r))
        return false;
    uint64_t ip = r.values[REGISTER_IP];
    struct os_thread_state now = os_thread_state(t->pid, stopped->tid);
    if (now.call == OS_CALL_NONE) {
        if (is_guarded(t, ip))
            return false;
    } else if (before->letter != 'S' || before->call != now.call ||
               !is_usual_call(now.call, &r) || is_in(&t->linker, ip) ||
               is_in(&t->library, ip)) {
        return false;
    }
    return !interrupts_guarded(t, r.stack_pointer);
}

static bool is_same(const struct heap_range *a, const struct heap_range *b)
{
    return a->start == b->start && a->end == b->end;
}

/* Whether the stopped process still executes the program that was examined: a child of a
 * shell may have been examined before its exec, which moves the C library. */
static bool is_current(const struct heap_target *t)
{
    struct modules m;
    struct heap_target now;
    return read_modules(&m, &now, t->pid) && is_same(&now.libc, &t->libc) &&
           is_same(&now.linker, &t->linker);
}

/* --- Choosing one ------------------------------------------------------------------- */

#define ROUNDS 400
#define REFUSALS 20 /* the kernel refuses, too, while a process executes a program */
#define PAUSE_MS 10
#define THREADS_MAX 64 /* of one round */

struct threads {
    uint32_t ids[THREADS_MAX];
    size_t count, seen, skipped;
};

static void add_thread(void *context, uint32_t tid)
{
    struct threads *l = context;
    if (l->seen++ >= l->skipped && l->count < THREADS_MAX)
        l->ids[l->count++] = tid;
}

enum choice { CHOICE_MADE, CHOICE_NONE, CHOICE_REFUSED, CHOICE_OUTDATED };

static enum choice try_thread(const struct heap_target *t, uint32_t tid,
                              struct os_stopped *stopped, struct error *err)
{
    struct os_thread_state before = os_thread_state(t->pid, tid);
    switch (os_stop_thread(stopped, tid, err)) {
    case OS_STOPPED:
        if (!is_free(t, stopped, &before)) {
            os_resume(stopped);
            return CHOICE_NONE;
        }
        if (is_current(t))
            return CHOICE_MADE;
        os_resume(stopped);
        return CHOICE_OUTDATED;
    case OS_STOP_REFUSED:
        return CHOICE_REFUSED;
    default:
        return CHOICE_NONE;
    }
}

static enum choice try_threads(const struct heap_target *t, const struct threads *list,
                               struct os_stopped *stopped, struct error *err)
{
    enum choice choice = CHOICE_NONE;
    for (size_t i = 0; i < list->count && choice == CHOICE_NONE; i++)
        choice = try_thread(t, list->ids[i], stopped, err);
    return choice;
}

bool heap_target_stop(struct heap_target *t, struct os_stopped *stopped,
                      struct error *err)
{
    struct threads list = {.count = 0};
    for (int round = 0, refusals = 0; round < ROUNDS; round++) {
        list = (struct threads){.skipped = list.skipped};
        if (!os_process_threads(t->pid, add_thread, &list))
            return error_set(err, "process %u has ended", t->pid);
        enum choice choice = try_threads(t, &list, stopped, err);
        if (choice == CHOICE_MADE)
            return true;
        if (choice == CHOICE_REFUSED && !os_process_runs(t->pid))
            return error_set(err, "process %u has ended", t->pid);
        if (choice == CHOICE_REFUSED && ++refusals == REFUSALS)
            return false;
        if (choice == CHOICE_OUTDATED && !heap_target_examine(t, t->pid, err))
            return false;
        list.skipped =
            list.seen > list.skipped + THREADS_MAX ? list.skipped + THREADS_MAX : 0;
        os_sleep(PAUSE_MS);
    }
    error_set(err,
              "no thread of process %u could be interrupted safely: all are in the C "
              "library",
              t->pid);
    return error_hint(err, "try again");
}

/* --- The library -------------------------------------------------------------------- */

bool heap_library_read(struct heap_library *l, const char *path, struct error *err)
{
    struct os_mapping file = OS_MAPPING_NONE;
    struct arena arena = ARENA_INIT;
    struct elf e;
    bool ok = os_mapping_open(&file, path, err) && elf_init(&e, file.bytes, &arena, err);
    if (ok && (!symtab_find(&e, STR(HEAP_ATTACH), &l->attach) ||
               !symtab_find(&e, STR(HEAP_DETACH), &l->detach)))
        ok = error_set(err, "%s belongs to another version of stoke", path);
    arena_deinit(&arena);
    os_mapping_close(&file);
    return ok;
}
